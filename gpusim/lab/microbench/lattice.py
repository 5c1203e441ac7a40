"""A whole program bound by DRAM: a step of a D3Q19 lattice Boltzmann fluid in FP32, streamed in place.

Published of FluidX3D are updates a second of 256 x 256 x 256 cells, each of which reads and writes nineteen floats and
reads a byte. Its arrays lie as far apart here; a step is of a few planes, and counts by the difference of two steps.
The kernel (workloads/microbench/lattice.cl) is this project's own.
"""

import struct

from gpusim.lab.microbench.bench import LANES, Bench, MicrobenchResults
from gpusim.model.core.facts import RunFacts

SIDE = 256
ARRAYS = 19
APART_BYTES = 4 * SIDE**3
PLANES = (4, 8)
UPDATE_BYTES = 2 * 4 * ARRAYS + 1
RATE = 1.0  # 1 / relaxation time


def updates_per_cycle(bench: Bench) -> float:
    """Return how many cells the whole GPU updates a cycle."""

    def run(planes: int) -> RunFacts:
        cells = SIDE * SIDE * planes
        memory = bench.memory()
        parts = memory.allocate(ARRAYS * APART_BYTES, "parts of the cells")
        flags = memory.allocate(SIDE**3, "flags")
        block = struct.pack("<QQQIf", parts.address, flags.address, APART_BYTES // 4, planes, RATE)
        return bench.run(("lattice", "step_cells"), memory, block, cells // LANES, waves=1)

    few, many = PLANES
    return SIDE * SIDE * (many - few) / bench.longer(run, few, many)


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Add updates a second, and their share of what the pins carry."""
    gpu = bench.gpu
    for what in bench.each("lattice Boltzmann", ("D3Q19 lattice Boltzmann in FP32, a step in place",)):
        rate = updates_per_cycle(bench) * gpu.clock_hz
        results.add("lattice.updates", what, 1e-6 * rate, "MLUPs")
        if gpu.dram.model != "ideal" or gpu.dram.ideal_bandwidth_gb_s > 0:
            share = 100 * rate * UPDATE_BYTES / gpu.dram.bytes_per_s
            results.add("lattice.share", f"{what}; {UPDATE_BYTES} bytes each", share, "% of pins")
