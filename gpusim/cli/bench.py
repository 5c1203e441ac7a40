"""`gpusim bench`."""

from pathlib import Path

from gpusim.bench import BenchResult, append_history, bench, read_history
from gpusim.jit import cache_dir, is_compiled
from gpusim.progress import Reporter, scaled


def bench_command(sets: list[str], history: Path) -> None:
    """Measure, print, compare with the last measurement of this machine, and add to the history."""
    earlier = read_history(history)
    reporter = Reporter()
    if not (is_compiled("isa") and is_compiled("timing")):
        reporter.say(f"compiling the core: once; kept in {cache_dir('timing').parent}")
    reporter.say("measuring: dense sgemm_4x4, functional plus timing, then functional alone")
    result = bench(sets)
    for line in lines(result):
        print(line)
    same = [e for e in earlier if (e["machine"], e["kernel"]) == (result.machine, result.kernel)]
    same = [e for e in same if (e["instructions"], e["cycles"]) == (result.instructions, result.cycles)] or same
    if same:
        change = result.instructions_per_s / same[-1]["instructions_per_s"] - 1
        print(f"against {same[-1]['date']}: {100 * change:+.1f} % instructions/s ({len(same)} earlier measurements)")
    append_history(history, result)
    print(f"added to {history}")


def lines(r: BenchResult) -> list[str]:
    """The measurement as a person reads it."""
    timing_s = max(0.0, r.cpu_s - r.functional_cpu_s)
    share = 100 * r.functional_cpu_s / r.cpu_s
    out = [
        f"{r.kernel}: {r.instructions:,} wavefront instructions, {r.cycles:,} cycles simulated",
        f"speed:      {scaled(r.instructions_per_s)} wavefront instructions per CPU second, "
        f"{scaled(r.cycles_per_s)} cycles per CPU second",
        f"time:       {r.cpu_s:.2f} s CPU ({r.wall_s:.2f} s real): functional execution {r.functional_cpu_s:.2f} s "
        f"({share:.0f} %), timing model {timing_s:.2f} s ({100 - share:.0f} %)",
        f"functional: {scaled(r.functional_instructions_per_s)} wavefront instructions per CPU second alone",
        f"start:      {r.compile_s:.2f} s compiling or loading the core, {r.setup_s:.2f} s data and code object",
        "roofline:   " + ", ".join(f"{k} {v:,.0f} ({100 * v / r.cycles:.0f} %)" for k, v in r.roofline.items()),
    ]
    return out
