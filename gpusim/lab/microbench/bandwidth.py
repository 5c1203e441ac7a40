"""Bandwidths with the whole GPU busy: L1, LDS, L2, DRAM.

Each is the difference of two launches that move different amounts, in bytes a cycle.
"""

from collections.abc import Callable

from gpusim.lab.microbench.bench import GROUP_WAVES, LANES, Bench, MicrobenchResults
from gpusim.lab.microbench.launches import ACCESS_BYTES, STEP_ACCESSES, full_load, lane_table, stream, timed_loop
from gpusim.model.core.facts import RunFacts

KIB = 1 << 10
FAR_STRIDE = 33 * KIB  # an odd number of KiB: a wavefront comes through the whole set before it is where it was
DRAM_BYTES = 12 << 20  # moved by a measured stream
MIN_SET_BYTES = 16 << 20
ARRAYS = {"read": 1, "write": 1, "copy": 2, "triad": 3}  # that a stream goes through; it writes the last
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


def dram_stream(bench: Bench, kernel: str, groups: int, least_bytes: int, between_bytes: int = 0) -> float:
    """Bytes a cycle of a stream through a set of 8 times L2 and at least 16 MiB; read and written, of all arrays.
    between_bytes: of other memory between an array and the next.

    It goes through the set once before, so that translations are cached as far as they can be, and comes to lines that
    L2 has long replaced.
    """
    set_bytes = max(MIN_SET_BYTES, 1 << (8 * bench.gpu.l2.size_kib * KIB - 1).bit_length())
    access = groups * GROUP_WAVES * ACCESS_BYTES
    step = STEP_ACCESSES * access
    once, more = -(-set_bytes // step), -(-least_bytes // step)

    def run(steps: int) -> RunFacts:
        memory = bench.memory()
        arrays = [memory.allocate(set_bytes, "array 0")]
        for number in range(1, 1 if kernel == "read" else max(2, ARRAYS[kernel])):
            if between_bytes:
                memory.allocate(between_bytes, "between")
            arrays.append(memory.allocate(set_bytes, f"array {number}"))
        apart = arrays[1].address - arrays[0].address if len(arrays) > 1 else 0
        ends = arrays[0], arrays[-1]
        return stream(bench, kernel, memory, *ends, steps, access, set_bytes - 1, groups, apart_bytes=apart)

    return ARRAYS[kernel] * more * step / bench.longer(run, once, once + more)


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Bytes a cycle and compute unit, GB/s, and shares of what the pins carry."""
    gpu = bench.gpu
    todo: dict[str, tuple[str, Callable[[], float]]] = {
        "l1": ("L1 reads", lambda: rate_kernel(bench, "load_dwordx4", 16, 2)),
        "lds": ("LDS reads", lambda: rate_kernel(bench, "lds_read_b64", 8, 4)),
        "scalar": ("scalar cache reads", lambda: rate_kernel(bench, "scalar_load_dwordx16", 1, 8)),
        "l2": ("L2 reads", lambda: l2_read(bench)),
        "dram_read": ("DRAM reads", lambda: dram_stream(bench, "read", full_load(gpu), DRAM_BYTES)),
        "dram_write": ("DRAM writes", lambda: dram_stream(bench, "write", full_load(gpu), DRAM_BYTES)),
        "dram_copy": ("DRAM copy, read and written", lambda: dram_stream(bench, "copy", full_load(gpu), DRAM_BYTES)),
        "dram_triad": (
            "DRAM triad of FP64, all three",
            lambda: dram_stream(bench, "triad", full_load(gpu), DRAM_BYTES),
        ),
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
