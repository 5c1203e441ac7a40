"""LDS bank conflicts: cycles of a ds_read_b32 over the stride between lanes, of reads and writes over the degree."""

from gpusim.lab.microbench.bench import Bench, MicrobenchResults
from gpusim.lab.microbench.launches import lane_table, timed_loop

BANKS = 32
WAVES = 4  # a SIMD: enough to keep the banks busy


def strided(stride: int) -> list[int]:
    """Byte addresses of 64 lanes, `stride` words apart; the second half of the wavefront repeats the first."""
    return [4 * stride * (lane % BANKS) for lane in range(64)]


def conflicting(degree: int) -> list[int]:
    """Byte addresses of 64 lanes of which `degree` of each half wavefront, and no more, meet in a bank."""
    return [4 * (lane % BANKS // degree + BANKS * (lane % BANKS % degree)) for lane in range(64)]


def access_cycles(
    bench: Bench, addresses: list[int], kernel: str = "lds_read_b32", waves: int = WAVES, iterations: int = 4
) -> float:
    """Return the cycles for which a ds_read_b32 or ds_write_b32 at these addresses occupies the LDS. waves: a SIMD."""
    memory = bench.memory()
    table = lane_table(memory, addresses)
    return timed_loop(bench, kernel, memory, table, waves, iterations=iterations) / (4 * waves)


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Curves over stride and degree 1 to 32, and the ends of the second."""
    axes = ("stride in words, or degree of conflict", "LDS cycles of a ds_read_b32 or ds_write_b32")
    steps = range(1, BANKS + 1)
    stride = [(n, access_cycles(bench, strided(n))) for n in bench.each("LDS: stride", steps)]
    degree = [(n, access_cycles(bench, conflicting(n))) for n in bench.each("LDS: degree of conflict", steps)]
    title, kernel = "LDS: degree of conflict, writes", "lds_write_b32"
    writes = [(n, access_cycles(bench, conflicting(n), kernel)) for n in bench.each(title, steps)]
    results.add_curve("by stride", "LDS bank conflicts", axes, stride)
    results.add_curve("by degree", "LDS bank conflicts", axes, degree)
    results.add_curve("writes by degree", "LDS bank conflicts", axes, writes)
    ends = dict(degree)
    results.add("lds.conflict_free", "ds_read_b32 without conflict", ends[1], "cycles/instruction")
    results.add("lds.conflict_2", "ds_read_b32, two lanes of a half meet in a bank", ends[2], "cycles/instruction")
    results.add("lds.conflict_32", "ds_read_b32, all lanes of a half meet in a bank", ends[32], "cycles/instruction")
    for degree_of, where in ((1, "without conflict"), (32, "all lanes of a half meet in a bank")):
        cycles = dict(writes)[degree_of]
        results.add(f"lds.write_conflict_{degree_of}", f"ds_write_b32, {where}", cycles, "cycles/instruction")
