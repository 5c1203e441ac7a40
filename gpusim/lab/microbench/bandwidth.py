"""Bandwidths with the whole GPU busy: L1, LDS, L2, DRAM.

Each is the difference of two launches that move different amounts, in bytes a cycle.
"""

import struct
from collections.abc import Callable
from functools import partial
from statistics import fmean

from gpusim.lab.microbench.bench import GROUP_WAVES, LANES, Bench, MicrobenchResults
from gpusim.lab.microbench.launches import ACCESS_BYTES, STEP_ACCESSES, full_load, lane_table, stream, timed_loop
from gpusim.model.core.facts import RunFacts

KIB = 1 << 10
FAR_STRIDE = 33 * KIB  # an odd number of KiB: a wavefront comes through the whole set before it is where it was
MOVED_L2S = 6  # sizes of L2 that a measured stream moves: what L2 holds at the end counts little
MIN_SET_BYTES = 16 << 20
# workloads/microbench/programs.cl: which of BabelStream's arrays a, b and c a program takes, in its arguments' order
ELEMENT_ARRAYS = {"copy": (0, 2), "triad": (0, 1, 2)}
ELEMENT_BYTES, VALUES, VALUE_BYTES = 8, 16, 16
ARRAY_BYTES = 256 << 20  # of BabelStream's arrays by default, which lie one after another
ELEMENT_STREAM_BYTES = (16 << 20, 32 << 20)  # of an array, in the two launches
READ_SIZES, READ_MORE_BYTES = (
    tuple(size << 20 for size in range(24, 40, 2)),
    32 << 20,
)  # of the two launches of a reading
L2_STEPS = (4, 8)


def l2_read(bench: Bench) -> float:
    """Bytes a cycle of the whole GPU reading a quarter of L2 again and again, past its L1 caches (glc)."""
    set_bytes = 1 << ((bench.gpu.l2.size_kib * KIB // 4).bit_length() - 1)
    memory = bench.memory()
    held = memory.allocate(set_bytes, "set")
    moved = (L2_STEPS[1] - L2_STEPS[0]) * STEP_ACCESSES * full_load(bench.gpu) * GROUP_WAVES * ACCESS_BYTES
    return moved / bench.longer(
        lambda steps: stream(bench, "read_l2", memory, held, held, steps, FAR_STRIDE, set_bytes - 1), *L2_STEPS
    )


def rate_kernel(bench: Bench, kernel: str, lane_bytes: int, iterations: int) -> float:
    """Bytes a cycle of the whole GPU, 64 times `lane_bytes` with each instruction, from one of the rate kernels."""
    groups = full_load(bench.gpu)
    memory = bench.memory()
    held = memory.allocate(4096, "data")
    base = 0 if kernel.startswith("lds") else held.address
    table = lane_table(memory, [base + lane_bytes * lane for lane in range(LANES)])
    per_instruction = timed_loop(bench, kernel, memory, table, groups, gpu=bench.gpu, iterations=iterations)
    return groups * GROUP_WAVES * LANES * lane_bytes / per_instruction


def resident_stream(bench: Bench, kernel: str) -> float:
    """Return the bytes a cycle of resident wavefronts that go through a set of 8 times L2 and at least 16 MiB.

    They go through the set once before, so that translations are cached as far as they can be, and come to lines that
    L2 has long replaced.

    Args:
        bench: The GPU to measure.
        kernel: 'read' or 'write'.

    Returns:
        Bytes a cycle of the whole GPU.
    """
    set_bytes = max(MIN_SET_BYTES, 1 << (8 * bench.gpu.l2.size_kib * KIB - 1).bit_length())
    groups = full_load(bench.gpu)
    access = groups * GROUP_WAVES * ACCESS_BYTES
    step = STEP_ACCESSES * access
    once, more = -(-set_bytes // step), -(-MOVED_L2S * bench.gpu.l2.size_kib * KIB // step)

    def run(steps: int) -> RunFacts:
        memory = bench.memory()
        array = memory.allocate(set_bytes, "array")
        return stream(bench, kernel, memory, array, array, steps, access, set_bytes - 1, groups)

    return more * step / bench.longer(run, once, once + more)


def element_stream(bench: Bench, kernel: str, apart_bytes: int = ARRAY_BYTES) -> float:
    """Return the bytes a cycle, read and written, of a program with an FP64 element a work-item, as BabelStream's.

    Args:
        bench: The GPU to measure.
        kernel: 'copy' (c = a) or 'triad' (a = b + 0.4 c).
        apart_bytes: From each of the arrays a, b and c to the next.

    Returns:
        Bytes a cycle of the whole GPU, between arrays of 32 and of 16 MiB.
    """

    def run(size_bytes: int) -> RunFacts:
        memory = bench.memory()
        arrays = [memory.allocate(apart_bytes, name).address for name in "abc"]  # one after another
        addresses = [arrays[number] for number in ELEMENT_ARRAYS[kernel]]
        block = struct.pack(f"<{len(addresses)}Q", *addresses)
        return bench.run(("programs", kernel), memory, block, size_bytes // (GROUP_WAVES * LANES * ELEMENT_BYTES))

    few, many = ELEMENT_STREAM_BYTES
    return len(ELEMENT_ARRAYS[kernel]) * (many - few) / bench.longer(run, few, many)


def strided_reads(bench: Bench) -> list[float]:
    """Return the bytes a cycle of a program whose work-items add up sixteen values of 16 bytes, as clpeak's does.

    Where its sixteen streams meet in DRAM depends on their distance: one reading of the same machine may be 15 % from
    the next one. So each reading has another size.

    Args:
        bench: The GPU to measure.

    Returns:
        A reading for each of READ_SIZES, in the order of the better mean: a work-item's values lie in its workgroup's
        block, or in one block each.
    """
    group_items = GROUP_WAVES * LANES

    def run(size_bytes: int, is_by_group: bool) -> RunFacts:
        memory = bench.memory()
        values, sums = (
            memory.allocate(size_bytes, "values"),
            memory.allocate(size_bytes // (VALUES * VALUE_BYTES) * 4, "sums"),
        )
        groups = size_bytes // (VALUES * VALUE_BYTES * group_items)
        order = (VALUES * group_items, group_items) if is_by_group else (group_items, groups * group_items)
        block = struct.pack("<QQII", values.address, sums.address, *order)
        return bench.run(("programs", "read_values"), memory, block, groups)

    def readings(is_by_group: bool) -> list[float]:
        timed = partial(run, is_by_group=is_by_group)
        return [READ_MORE_BYTES / bench.longer(timed, few, few + READ_MORE_BYTES) for few in READ_SIZES]

    return max(readings(True), readings(False), key=fmean)


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Bytes a cycle and compute unit, GB/s, and shares of what the pins carry."""
    gpu = bench.gpu
    todo: dict[str, tuple[str, Callable[[], float]]] = {
        "l1": ("L1 reads", lambda: rate_kernel(bench, "load_dwordx4", 16, 2)),
        "lds": ("LDS reads", lambda: rate_kernel(bench, "lds_read_b64", 8, 4)),
        "scalar": ("scalar cache reads", lambda: rate_kernel(bench, "scalar_load_dwordx16", 1, 8)),
        "l2": ("L2 reads", lambda: l2_read(bench)),
        "dram_read": ("DRAM reads, sixteen values a work-item", lambda: fmean(strided_reads(bench))),
        "dram_resident": ("DRAM reads of resident wavefronts", lambda: resident_stream(bench, "read")),
        "dram_write": ("DRAM writes", lambda: resident_stream(bench, "write")),
        "dram_copy": ("DRAM copy, read and written", lambda: element_stream(bench, "copy")),
        "dram_triad": ("DRAM triad of FP64, all three", lambda: element_stream(bench, "triad")),
    }
    limited = gpu.dram.model != "ideal" or gpu.dram.ideal_bandwidth_gb_s > 0
    for name in bench.each("bandwidth: whole GPU", todo):
        what, measured = todo[name]
        rate = measured()
        results.add(f"bandwidth.{name}", what, rate / gpu.cus, "B/cycle/CU")
        results.add(f"bandwidth.{name}_gb_s", what, rate * gpu.clock_ghz, "GB/s")
        if name == "l2":
            results.add("bandwidth.l2_channel", what, rate / gpu.l2.channels, "B/cycle/channel")
        if name.startswith("dram") and limited:
            share = 100 * rate * gpu.clock_hz / gpu.dram.bytes_per_s
            results.add(f"bandwidth.{name}_share", what, share, "% of pins")
