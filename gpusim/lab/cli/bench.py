"""`gpusim bench`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT, FIXED_2, GENERAL, PERCENT, PERCENT_0, SIGNED_1, scaled
from gpusim.base.interrupt import interrupt_python
from gpusim.base.outputs import check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.options import SetOption

if TYPE_CHECKING:
    from gpusim.lab.checks.bench.bench import BenchResult

EXIT_WORSE = 1


def bench(
    sets: SetOption,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Measure only this case; repeatable.")
    ] = None,
    history: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measurements are added here. [default: the user's data folder]")
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="N", help="Run each case N times and report the fastest.")] = 1,
    fail_below: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="End with code 1 if a case is slower than last by more than this."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases and exit.")] = False,
    perf_map: Annotated[
        bool,
        typer.Option(
            "--perf-map", help="Name the core's functions for Linux's perf (see docs/results/performance.md)."
        ),
    ] = False,
) -> int:
    """Measure the simulator's speed on kernels that load one part of the machine each, beside the roofline."""
    if list_:
        from gpusim.lab.checks.bench.cases import CASES

        width = max(len(case.name) for case in CASES)
        for case in CASES:
            print(f"{case.name.ljust(width)}  {case.bound.ljust(4)}  {case.what}")
        return 0
    check_outputs({"--history": history})
    interrupt_python()
    import platformdirs

    from gpusim.lab.checks.bench.bench import (
        append_history,
        change_percent,
        chosen_cases,
        comparable,
        load,
        measure,
        read_history,
        warm_up,
        write_core_map,
    )

    if repeat < 1:
        raise UserError(f"--repeat: {repeat} is not at least 1")
    if fail_below is not None and not 0.0 <= fail_below < 100.0:
        raise UserError(f"--fail-below: {GENERAL(fail_below)} is not a percentage from 0 to below 100")
    cases = chosen_cases(only or [])
    kept = history or Path(platformdirs.user_data_dir("gpusim", appauthor=False)) / "bench.jsonl"
    earlier = read_history(kept)
    config = load(sets)
    reporter = Reporter()
    compile_s = warm_up(config)
    print(f"start: {FIXED_2(compile_s)} s compiling or loading the core")
    if perf_map:
        print(f"functions of the core: {write_core_map()}")
    problems = []
    for case in cases:
        result = measure(case, config, repeat, compile_s=compile_s)
        before = comparable(earlier, result)
        print("\n".join(lines(result, before)), flush=True)
        if result.largest_bound != case.bound and not sets:
            problems.append(f"{case.name} is a case of the bound '{case.bound}', but bound by {result.largest_bound}")
        if before and fail_below is not None and change_percent(before[-1], result) < -fail_below:
            problems.append(f"{case.name} has become slower by more than {GENERAL(fail_below)} %")
        append_history(kept, result)
    print(f"added to {kept}")
    for problem in problems:
        reporter.say(f"gpusim: {problem}")
    return EXIT_WORSE if problems else 0


def lines(r: "BenchResult", before: list[dict[str, Any]]) -> list[str]:
    """Return the measurement as a person reads it.

    before: earlier measurements, the last of which it is compared with.
    """
    from gpusim.lab.checks.bench.bench import change_percent

    share = r.functional_cpu_s / r.cpu_s
    bounds = sorted(r.roofline.items(), key=lambda item: -item[1])
    out = [
        f"{r.case} ({r.bound}): {COUNT(r.instructions)} wavefront instructions, {COUNT(r.l1_lines)} L1 line"
        f" transactions, {COUNT(r.cycles)} cycles",
        f"  speed     {scaled(r.instructions_per_s)} instructions, {scaled(r.l1_lines_per_s)} L1 lines, "
        f"{scaled(r.cycles_per_s)} cycles per CPU second",
        f"  time      {FIXED_2(r.cpu_s)} s CPU ({FIXED_2(r.wall_s)} s real), of which functional execution"
        f" {PERCENT_0(share)} ({scaled(r.functional_instructions_per_s)} instructions/s alone);"
        f" {FIXED_2(r.setup_s)} s data and code object",
        "  roofline  " + ", ".join(f"{name} {PERCENT(cycles / r.cycles)}" for name, cycles in bounds),
    ]
    if before:
        change = change_percent(before[-1], r)
        out.append(f"  against   {before[-1]['date']}: {SIGNED_1(change)} % speed ({len(before)} earlier)")
    return out
