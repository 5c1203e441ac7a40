"""The rate kernels: cycles of one more instruction in each wavefront's loop (see workloads/microbench/rates.s)."""

import struct
from collections.abc import Sequence

import numpy as np

from gpusim.core.gpu_spec import GpuSpec
from gpusim.microbench.bench import Bench
from isa.device_memory import Allocation, DeviceMemory

REPEAT = 32  # instructions of the shorter loop, as rates.s says


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
    cycles = []
    for short, long in ((iterations + 1, 1), (1, iterations + 1)):
        block = struct.pack("<IIQ", short, long, table.address)
        facts = bench.run(("rates", kernel), memory, block, workgroups, waves, gpu=gpu or bench.one_cu)
        cycles.append(facts.cycles)
    return (cycles[1] - cycles[0]) / (iterations * REPEAT)
