"""What a GPU and its compaction engine must have in common."""

from gpusim.core.gpu_spec import GpuSpec
from spartan.engine_spec import EngineSpec


def check_sram(gpu: GpuSpec, engine: EngineSpec) -> None:
    """ValueError where SIB and prefetch buffer exceed the part of L2 that the engine takes."""
    taken_kib = gpu.l2.engine_kib()
    if engine.sram_kib > taken_kib:
        raise ValueError(
            f"engine: sib_kib + prefetch_buffer_kib = {engine.sram_kib:g} KiB do not fit the part of L2 that "
            f"the engine takes ({taken_kib:g} KiB of gpu.l2.size_kib = {gpu.l2.size_kib})"
        )
