"""Commands that measure the model or the simulator, with their options: `bench`, `microbench`, `correlate`,
`check-sampling`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from gpusim.base.interrupt import interrupt_python
from gpusim.cli.options import GpuOption, JobsOption, JsonOption, MarkdownOption, QuietOption, SetOption, StoreOptions
from gpusim.cli.sampling_options import ConfidenceOption, ErrorOption, shares


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
        bool, typer.Option("--perf-map", help="Name the core's functions for Linux's perf (see docs/performance.md).")
    ] = False,
) -> None:
    """Measure the simulator's speed on kernels that load one part of the machine each, beside the roofline."""
    import platformdirs

    from gpusim.base.outputs import check_outputs
    from gpusim.cli.bench import bench_command, list_command

    if list_:
        list_command()
        return
    kept = Path(platformdirs.user_data_dir("gpusim", appauthor=False)) / "bench.jsonl"
    check_outputs({"--history": history})
    interrupt_python()
    raise typer.Exit(bench_command(sets, only or [], history or kept, repeat, fail_below, perf_map))


def microbench(
    gpu: GpuOption = "mi6",
    *,
    sets: SetOption,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="latency, bandwidth, lds, issue, front_end, accesses, occupancy or atomics; repeatable. "
            "[default: all]",
        ),
    ] = None,
    json_file: JsonOption = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves into an .svg or .png (needs Matplotlib).")
    ] = None,
    markdown: MarkdownOption = False,
    quiet: QuietOption = False,
    storing: StoreOptions,
) -> None:
    """Measure the model's latencies, bandwidths and rates by machine code, beside published figures of GCN parts."""
    from gpusim.cli.microbench import microbench_command

    raise typer.Exit(microbench_command(gpu, sets, only or [], json_file, picture, markdown, quiet, storing))


@dataclass(frozen=True)
class CorrelateOptions:
    """Which points are run, under which values, and where the comparison goes."""

    kernels: Annotated[
        Path | None,
        typer.Option("--kernels", metavar="DIR", help="Folder with the kernels. [default: the installed package's]"),
    ] = None
    sets: SetOption = field(default_factory=list)
    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            metavar="TEXT",
            help="Only points whose label holds it, as 'TN 4096x'; repeatable.",
            default_factory=list,
            show_default=False,
        ),
    ] = field(default_factory=list)
    limit_gflop: Annotated[
        float,
        typer.Option("--limit", metavar="GFLOP", min=0.001, help="Larger products are run in part and extrapolated."),
    ] = 25.0
    fit: Annotated[bool, typer.Option("--fit", help="Fit what the table names; takes many times as long.")] = False
    earlier: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Run nothing: show and draw what --json has written."),
    ] = None
    jobs: JobsOption = None
    json_file: JsonOption = None
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw measured against modelled (.svg, .png; Matplotlib)."),
    ] = None
    markdown: MarkdownOption = False
    quiet: Annotated[bool, typer.Option("--quiet", help="Report no progress.")] = False


def correlate(
    options: CorrelateOptions,
    table: Annotated[
        str, typer.Argument(metavar="[TABLE]", help="Table of measured points: a shipped one or a file's path.")
    ] = "rocblas-r9nano",
) -> None:
    """Run points measured on a real card on the model, and compare: ratios, spread, error, rank correlation."""
    from gpusim.cli.correlate import correlate_command

    raise typer.Exit(correlate_command(table, options))


def check_sampling(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only cases whose name is, or begins with, this; repeatable."),
    ] = None,
    error: ErrorOption = None,
    confidence: ConfidenceOption = None,
    jobs: JobsOption = None,
    json_file: JsonOption = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw errors with their bars into an .svg or .png (needs Matplotlib)."),
    ] = None,
    markdown: MarkdownOption = False,
    update: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier result (--json): cases that --only leaves out are its."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases and exit.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Simulate a suite of launches in whole and sampled: errors, truths within their bars, instructions saved."""
    from gpusim.cli.check_sampling import check_sampling_command, list_command
    from gpusim.sampling.spec import SamplingSpec

    if list_:
        list_command()
        return
    spec = SamplingSpec.model_validate(shares(error, confidence))
    raise typer.Exit(check_sampling_command(only or [], spec, jobs, json_file, picture, markdown, quiet, update))
