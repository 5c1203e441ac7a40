"""Vector memory instructions that hit L1, by width and by where their lanes lie; and stores. One compute unit."""

import numpy as np

from gpusim.lab.microbench.bench import Bench, MicrobenchResults
from gpusim.lab.microbench.launches import lane_table, timed_loop

SEED = 1
SPREAD = 16  # elements by which a lane of the scattered pattern is displaced at most, as in perftest
WAVES = 4  # a SIMD
WIDTHS = {"dword": 4, "dwordx2": 8, "dwordx4": 16}


def patterns(lane_bytes: int) -> dict[str, list[int]]:
    """Byte offsets of 64 lanes: consecutive, displaced at random by up to 15 elements, and all the same."""
    rng = np.random.default_rng(SEED)
    shift = rng.integers(0, SPREAD, 64)
    return {
        "linear": [lane_bytes * lane for lane in range(64)],
        "random": [lane_bytes * (lane + int(shift[lane])) for lane in range(64)],
        "uniform": [0] * 64,
    }


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Cycles of the compute unit's vector memory path for each instruction, and their ratios."""
    cycles: dict[str, float] = {}
    cases = [(width, how) for width in WIDTHS for how in ("linear", "random", "uniform")]
    for width, how in bench.each("vector memory: L1 hits", cases):
        value = _cycles(bench, f"load_{width}", patterns(WIDTHS[width])[how])
        cycles[f"{width}_{how}"] = value
        results.add(f"loads.{width}_{how}", f"flat_load_{width}, {how} lanes, L1 hit", value, "cycles/instruction")
    for name, over, under in (
        ("dwordx2_to_dword", "dwordx2_linear", "dword_linear"),
        ("dwordx4_to_dword", "dwordx4_linear", "dword_linear"),
        ("random_to_linear", "dword_random", "dword_linear"),
        ("random_to_linear_x4", "dwordx4_random", "dwordx4_linear"),
    ):
        text = f"time of {over.replace('_', ' ')} over {under.replace('_', ' ')}"
        results.add(f"loads.{name}", text, cycles[over] / cycles[under], "ratio")
    apart = bench.gpu.l1.size_kib * 1024 // bench.gpu.l1.ways
    value = _cycles(bench, "load_dword", [apart * lane for lane in range(64)])
    results.add("loads.one_set", "flat_load_dword, 64 lines of one set of L1, L2 hit", value, "cycles/instruction")
    for width in bench.each("vector memory: stores", ("dword", "dwordx4")):
        value = _cycles(bench, f"store_{width}", patterns(WIDTHS[width])["linear"])
        results.add(f"stores.{width}", f"flat_store_{width}, linear lanes", value, "cycles/instruction")


def _cycles(bench: Bench, kernel: str, offsets: list[int]) -> float:
    memory = bench.memory()
    held = memory.allocate(max(offsets) + 4096, "data")
    table = lane_table(memory, [held.address + offset for offset in offsets])
    return timed_loop(bench, kernel, memory, table, WAVES, iterations=8) / (4 * WAVES)
