"""What a GPU and its compaction engine must have in common."""

from gpusim.core.gpu_spec import GpuSpec
from spartan.engine_spec import EngineSpec


def check_share(gpu: GpuSpec, engine: EngineSpec) -> None:
    """ValueError where the engine cannot have its share of L2, or SIB and prefetch buffer exceed it.

    With no share they are SRAM of their own, which may have any size.
    """
    try:
        taken_kib = gpu.l2.size_kib - gpu.l2.cache_kib(engine.l2_taken)
    except ValueError as error:
        raise ValueError(f"engine.l2_share: {error}") from None
    if engine.l2_share and engine.sram_kib > taken_kib:
        raise ValueError(
            f"engine: sib_kib + prefetch_buffer_kib = {engine.sram_kib:g} KiB do not fit the part of L2 that "
            f"the engine takes ({taken_kib:g} KiB: l2_share {engine.l2_share:g} of gpu.l2.size_kib = "
            f"{gpu.l2.size_kib})"
        )
