"""Launches of the stream kernels: every wavefront reads, copies or writes 1 KiB with each access."""

import struct

from gpusim.core.cu.spec import SIMDS
from gpusim.core.facts import RunFacts
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.warm import WarmCaches
from gpusim.microbench.bench import GROUP_WAVES, Bench
from isa.device_memory import Allocation, DeviceMemory

ACCESS_BYTES = 1024  # of a wavefront: 16 bytes a lane
STEP_ACCESSES = 4
EVERYTHING = 0xFFFFFFFF  # mask of a stream that never turns back


def stream(
    bench: Bench,
    kernel: str,
    memory: DeviceMemory,
    source: Allocation,
    target: Allocation,
    steps: int,
    stride: int,
    mask: int = EVERYTHING,
    workgroups: int | None = None,
    gpu: GpuSpec | None = None,
    warm: WarmCaches | None = None,
) -> RunFacts:
    """Wavefront w touches offset (w * 1024 + i * stride) & mask in access i. workgroups: of four wavefronts each."""
    groups = full_load(gpu or bench.gpu) if workgroups is None else workgroups
    block = struct.pack("<QQIIII", source.address, target.address, stride, mask, steps, GROUP_WAVES)
    return bench.run(("streams", kernel), memory, block, groups, gpu=gpu, warm=warm)


def full_load(gpu: GpuSpec) -> int:
    """Workgroups of four wavefronts that fill every wavefront slot."""
    return gpu.cus * gpu.cu.waves_per_simd * SIMDS // GROUP_WAVES


def read_whole(bench: Bench, memory: DeviceMemory, held: Allocation, warm: WarmCaches) -> None:
    """Read an allocation of a multiple of 4 KiB once, so that L2 holds it as far as it can."""
    groups = held.size_bytes // (GROUP_WAVES * ACCESS_BYTES)
    stream(bench, "read", memory, held, held, 1, 0, EVERYTHING, groups, warm=warm)
