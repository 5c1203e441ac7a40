"""Atomic additions at L2, the whole GPU at it: on one address, on one a wavefront, on consecutive and on far ones."""

import struct

from gpusim.lab.microbench.bench import GROUP_WAVES, LANES, LINE_BYTES, Bench, MicrobenchResults
from gpusim.model.core.facts import RunFacts

WAVES = 2  # a SIMD
STEPS = (4, 12)
BODY = 4  # additions of a step, as streams.s says
# name -> (bytes from a wavefront's addresses to the next one's, bytes from lane to lane, what that is)
PATTERNS = {
    "one_address": (0, 0, "all lanes of all wavefronts on one dword"),
    "address_a_wavefront": (LINE_BYTES, 0, "the lanes of a wavefront on one dword, each wavefront another line"),
    "consecutive": (4 * LANES, 4, "each lane a dword of its own, consecutive"),
    "line_a_lane": (LANES * LINE_BYTES, LINE_BYTES, "each lane of each wavefront a line of its own"),
    "shared_lines": (0, LINE_BYTES, "each lane a line of its own, all wavefronts the same 64 lines"),
}


def additions_per_cycle(bench: Bench, kernel: str, pattern: str) -> float:
    """Lanes' additions a cycle of the whole GPU."""
    wave_stride, lane_stride, _ = PATTERNS[pattern]
    groups = bench.gpu.cus * min(WAVES, bench.gpu.cu.waves_per_simd)
    waves = groups * GROUP_WAVES
    memory = bench.memory()
    held = memory.allocate(waves * wave_stride + LANES * lane_stride + LINE_BYTES, "counters")

    def run(steps: int) -> RunFacts:
        block = struct.pack("<QIIII", held.address, wave_stride, lane_stride, steps, GROUP_WAVES)
        return bench.run(("streams", kernel), memory, block, groups)

    return (STEPS[1] - STEPS[0]) * BODY * waves * LANES / bench.longer(run, *STEPS)


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Additions a cycle, without and with a result."""
    cases = [(kernel, pattern) for kernel in ("atomic_add", "atomic_add_return") for pattern in PATTERNS]
    for kernel, pattern in bench.each("atomics at L2", cases):
        rate = additions_per_cycle(bench, kernel, pattern)
        suffix = ", with result" if kernel.endswith("return") else ""
        results.add(
            f"atomics.{kernel}_{pattern}", f"flat_atomic_add: {PATTERNS[pattern][2]}{suffix}", rate, "additions/cycle"
        )
