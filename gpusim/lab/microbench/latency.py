"""Latencies by pointer chase: over working sets of the vector path, of the scalar path, and in LDS.

A step of the chase is one load and the wait for it, so its time is load-to-use latency as a single wavefront sees it,
rounded up to the SIMD's turns. Two chases of different lengths over the same chain are subtracted.
"""

import struct

import numpy as np

from gpusim.lab.microbench.bench import LINE_BYTES, Bench, MicrobenchResults
from gpusim.lab.microbench.launches import read_whole
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.warm import WarmCaches
from isa.device_memory import Allocation, DeviceMemory

PAGE_BYTES = 4096
WARM_STEPS = 2048  # before the measured ones: they fill L1, and reach every page of a small set
STEPS = 1024  # measured
MAX_PAGES = 4096  # of a large set that the unmeasured steps visit
FAR_SETS = 64  # times L2: a large working set, beyond what a first-level TLB reaches
SEED = 1
KIB, MIB = 1 << 10, 1 << 20


def set_sizes(gpu: GpuSpec, cache_kib: int) -> list[int]:
    """Working sets in bytes, from an eighth of the first-level cache to 256 times L2."""
    first, l2 = cache_kib * KIB, gpu.l2.size_kib * KIB
    most = min(256 * l2, gpu.memory_mib * MIB // 2)
    sizes = {first // 8, first // 4, first // 2, 3 * first // 4, first, 3 * first // 2}
    size = 2 * first
    while size <= most:
        sizes.add(size)
        size *= 2
    return sorted(sizes)


def chain(
    memory: DeviceMemory, size: int, cached: bool, rng: np.random.Generator, steps: int = STEPS
) -> tuple[Allocation, int]:
    """Make a closed chain of pointers through `size` bytes, which begins in the first line of the returned allocation.

    Returns also how many steps to take before the measured ones. cached: through every line of the set in random order.
    Otherwise the set is too large to be kept: the chain visits one random line of each page (of MAX_PAGES at most,
    evenly spread), which fills what caches translations, and then `steps` lines more, no line twice.
    """
    chained = memory.allocate(-(-size // PAGE_BYTES) * PAGE_BYTES, f"chain of {size} bytes")
    lines = size // LINE_BYTES
    if cached:
        order = np.concatenate(([0], 1 + rng.permutation(lines - 1)))
        before = min(2 * lines, WARM_STEPS)
    else:
        in_page, pages = PAGE_BYTES // LINE_BYTES, min(size // PAGE_BYTES, MAX_PAGES)
        spread = rng.permutation(pages) * (size // PAGE_BYTES) // pages
        first = np.concatenate(([0], spread * in_page + 1 + rng.integers(0, in_page - 1, pages)))
        more = rng.permutation(np.unique(rng.integers(0, lines, 4 * steps)))
        order = np.concatenate((first, more[~np.isin(more, first)][:steps]))
        before = len(first)
    words = memory.view(chained, np.uint64)
    here = order * (LINE_BYTES // 8)
    words[here] = chained.address + np.roll(order, -1).astype(np.uint64) * LINE_BYTES
    return chained, before


def step_cycles(bench: Bench, kernel: str, size: int, steps: int = STEPS) -> float:
    """Cycles of a step of `vector_chase` or `scalar_chase` over a working set of `size` bytes."""
    cached = size <= bench.gpu.l2.size_kib * KIB
    memory = bench.memory()
    chained, before = chain(memory, size, cached, np.random.default_rng(SEED), steps)
    table = memory.upload(np.array([chained.address], np.uint64), "start")

    def run(n: int) -> RunFacts:
        warm = WarmCaches()
        if cached:
            read_whole(bench, memory, chained, warm)
        return bench.run(("chase", kernel), memory, struct.pack("<QII", table.address, n, 0), 1, 1, warm=warm)

    return bench.longer(run, before, before + steps) / steps


def lds_step_cycles(bench: Bench, steps: int = STEPS) -> float:
    """Cycles of a dependent ds_read_b32."""
    memory, kernel = bench.memory(), ("chase", "lds_chase")
    cycles = bench.longer(lambda n: bench.run(kernel, memory, struct.pack("<QII", 0, n, 0), 1, 1), 1, 1 + steps)
    return cycles / steps


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Staircases of the vector and the scalar path, their plateaus, and LDS."""
    gpu = bench.gpu
    axes = ("working set in bytes", "load-to-use latency in cycles")
    l2 = gpu.l2.size_kib * KIB
    for path, kernel, cache in (
        ("vector", "vector_chase", gpu.l1.size_kib),
        ("scalar", "scalar_chase", gpu.scalar_cache.size_kib),
    ):
        title = f"latency: {path} pointer chase"
        points = [(size, step_cycles(bench, kernel, size)) for size in bench.each(title, set_sizes(gpu, cache))]
        results.add_curve(path, "latency", axes, points)
        by_size = dict(points)
        first, second = by_size[cache * KIB // 2], by_size[_largest(by_size, l2 // 4)]
        third = by_size[min(size for size in by_size if size > l2)]
        level = "L1" if path == "vector" else "the scalar cache"
        results.add(f"latency.{path}_first", f"{path} load that hits {level}", first, "cycles")
        results.add(f"latency.{path}_l2", f"{path} load that hits L2", second, "cycles")
        for name, where, cycles in (
            ("dram", "twice L2", third),
            ("far", f"{FAR_SETS} times L2", by_size[_largest(by_size, FAR_SETS * l2)]),
        ):
            what = f"{path} load from DRAM, working set of {where}"
            results.add(f"latency.{path}_{name}", what, cycles, "cycles")
            results.add(f"latency.{path}_{name}_ns", what, cycles / gpu.clock_ghz, "ns")
    results.add("latency.lds", "ds_read_b32", lds_step_cycles(bench), "cycles")


def _largest(sizes: dict[int, float], most: int) -> int:
    return max(size for size in sizes if size <= most)
