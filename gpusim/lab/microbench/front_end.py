"""In front of issue: short loops wherever they lie, in all compute units of a shader array at once, and launches."""

import struct

from gpusim.lab.microbench.bench import LINE_BYTES, Bench, MicrobenchResults
from gpusim.model.core.gpu_spec import GpuSpec

DWORDS = range(LINE_BYTES // 4)  # where in a line the loop begins
PASSES = (4, 20)
LAUNCHED = (64, 192)  # wavefronts a compute unit: longer than the first fetch, for which they all wait, takes
WAVES = (1, 4, 16)  # wavefronts of a workgroup


def pass_cycles(bench: Bench, gpu: GpuSpec, dwords: int) -> float:
    """Cycles of a pass of the loop that begins `dwords` into a line, every wavefront slot of `gpu` at it."""
    groups = gpu.cus * gpu.cu.waves_per_simd
    kernel = ("front_end", f"loop_at_{dwords}")
    cycles = bench.longer(lambda n: bench.run(kernel, bench.memory(), struct.pack("<I", n), groups, gpu=gpu), *PASSES)
    return cycles / (PASSES[1] - PASSES[0])


def launches_per_cycle(bench: Bench, waves: int) -> float:
    """Wavefronts that the whole GPU launches in a cycle, in workgroups of `waves`, each of which ends at once."""
    few, many = (launched * bench.gpu.cus // waves for launched in LAUNCHED)
    kernel = ("front_end", "nothing")
    cycles = bench.longer(lambda groups: bench.run(kernel, bench.memory(), bytes(4), groups, waves), few, many)
    return (many - few) * waves / cycles


def measure(bench: Bench, results: MicrobenchResults) -> None:
    """Measure the loop's cycles by its place in a line, for a compute unit and an array; launches by workgroup size."""
    array = bench.gpu.model_copy(update={"shader_arrays": 1})
    axes = ("where in a line of 64 bytes the loop begins, in bytes", "cycles of a pass")
    alone = [(4 * n, pass_cycles(bench, bench.one_cu, n)) for n in bench.each("short loops: one compute unit", DWORDS)]
    whole = [(4 * n, pass_cycles(bench, array, n)) for n in bench.each("short loops: a shader array", DWORDS)]
    results.add_curve("one compute unit", "short loops", axes, alone)
    results.add_curve("all of a shader array", "short loops", axes, whole)
    what = "loop of 36 bytes, wavefront slots of a shader array full"
    best, worst = min(y for _, y in whole), max(y for _, y in whole)
    results.add("front_end.loop_best", f"{what}; where it lies best", best, "cycles/pass")
    results.add("front_end.loop_worst", f"{what}; where it lies worst", worst, "cycles/pass")
    beside = max(y / x for (_, x), (_, y) in zip(alone, whole, strict=True))
    results.add("front_end.loop_sharing", f"{what}; of one compute unit's time, at most", beside, "ratio")
    for waves in bench.each("launches", WAVES):
        rate = launches_per_cycle(bench, waves)
        name = f"front_end.launch_{waves}"
        results.add(name, f"wavefronts that end at once, workgroups of {waves}", rate, "wavefronts/cycle")
