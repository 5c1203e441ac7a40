"""Launches of the kernels that several groups measure with: streams, and rates of instructions.

In a stream (workloads/microbench/streams.s) every wavefront reads or writes 1 KiB with each access. A rate
(rates.s) is what one more instruction in each wavefront's loop takes.
"""

import struct
from collections.abc import Sequence

import numpy as np

from gpusim.lab.microbench.bench import GROUP_WAVES, Bench
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.warm import WarmCaches
from isa.device_memory import Allocation, DeviceMemory

ACCESS_BYTES = 1024  # of a wavefront: 16 bytes a lane
STEP_ACCESSES = 4
EVERYTHING = 0xFFFFFFFF  # mask of a stream that never turns back
REPEAT = 32  # instructions of the shorter loop, as rates.s says


def stream(
    bench: Bench,
    kernel: str,
    memory: DeviceMemory,
    source: Allocation,
    target: Allocation,
    steps: int,
    stride: int,
    mask: int,
    workgroups: int | None = None,
    warm: WarmCaches | None = None,
) -> RunFacts:
    """Wavefront w touches offset (w * 1024 + i * stride) & mask in access i. workgroups: of four wavefronts each."""
    groups = full_load(bench.gpu) if workgroups is None else workgroups
    block = struct.pack("<QQIIII", source.address, target.address, stride, mask, steps, GROUP_WAVES)
    return bench.run(("streams", kernel), memory, block, groups, warm=warm)


def full_load(gpu: GpuSpec) -> int:
    """Workgroups of four wavefronts that fill every wavefront slot."""
    return gpu.cus * gpu.cu.waves_per_simd * SIMDS // GROUP_WAVES


def read_whole(bench: Bench, memory: DeviceMemory, held: Allocation, warm: WarmCaches) -> None:
    """Read an allocation of a multiple of 4 KiB once, so that L2 holds it as far as it can."""
    groups = held.size_bytes // (GROUP_WAVES * ACCESS_BYTES)
    stream(bench, "read", memory, held, held, 1, 0, EVERYTHING, groups, warm=warm)


def lane_table(memory: DeviceMemory, addresses: Sequence[int]) -> Allocation:
    """Upload a table of the 64 addresses that the lanes access."""
    return memory.upload(np.array(addresses, np.uint64), "lane addresses")


def timed_loop(
    bench: Bench,
    kernel: str,
    memory: DeviceMemory,
    table: Allocation,
    workgroups: int,
    waves: int = 4,
    gpu: GpuSpec | None = None,
    iterations: int = 16,
) -> float:
    """Cycles by which the launch gets longer for each instruction that every wavefront executes more.

    gpu: the machine, by default a single compute unit.
    """

    def run(long: int) -> RunFacts:
        block = struct.pack("<IIQ", iterations + 2 - long, long, table.address)
        return bench.run(("rates", kernel), memory, block, workgroups, waves, gpu=gpu or bench.one_cu)

    return bench.longer(run, 1, 1 + iterations) / (iterations * REPEAT)
