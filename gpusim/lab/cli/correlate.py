"""`gpusim correlate`: points measured on a real card next to the model."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import INTERRUPTED
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.picture import check_format, require_matplotlib
from gpusim.cli.options import (
    ConfidenceOption,
    ErrorOption,
    JobCommandOptions,
    JobsOption,
    LiveOptions,
    MarkdownOption,
    StoreOptions,
    several,
    shares,
)

if TYPE_CHECKING:
    from gpusim.lab.silicon.measured import MeasuredPoint, MeasuredTable
    from gpusim.lab.silicon.report import SavedComparison

OF_MANY = "points are launched in several processes, and what is compared is their times"


@dataclass(frozen=True)
class CorrelateOptions:
    """Which points are run, under which values, and where the comparison goes."""

    kernels: Annotated[
        Path | None,
        typer.Option("--kernels", metavar="DIR", help="Folder with the kernels. [default: the installed package's]"),
    ] = None
    only: Annotated[
        list[str], several("--only", "TEXT", "Only points whose label holds it, as 'TN 4096x'; repeatable.")
    ] = field(default_factory=list)
    draw: Annotated[
        int | None,
        typer.Option("--draw", metavar="N", min=1, help="Of these only N, drawn at random; the seed decides which."),
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of what is drawn.")] = 1
    limit_gflop: Annotated[
        float,
        typer.Option(
            "--limit", metavar="GFLOP", min=0.001, help="Larger products are sampled, each with a half-width."
        ),
    ] = 25.0
    error: ErrorOption = None
    confidence: ConfidenceOption = None
    exact: Annotated[bool, typer.Option("--exact", help="Run all products whole, however large.")] = False
    budget_s: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="SECONDS",
            min=0.001,
            help="Leave out products that would take more processor time each; they are named, exit code 1.",
        ),
    ] = None
    gpu: Annotated[
        str | None,
        typer.Option(
            "--gpu",
            metavar="GPU",
            help="The card's model: a shipped one (mi6, r9nano) or a file. [default: the table's]",
        ),
    ] = None
    fit: Annotated[
        bool,
        typer.Option(
            "--fit", help="Fit what the table names; takes many times as long. With --from: launch times alone."
        ),
    ] = False
    earlier: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Run nothing: show and draw what --json has written.")
    ] = None
    jobs: JobsOption = None
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw measured against modelled (.svg, .png; Matplotlib)."),
    ] = None
    markdown: MarkdownOption = False


def correlate(
    asked: CorrelateOptions,
    options: JobCommandOptions,
    storing: StoreOptions,
    live: LiveOptions,
    table: Annotated[
        str,
        typer.Argument(
            metavar="[TABLE]", help="Table of measured points: a shipped one, a file's path, or a CSV file of points."
        ),
    ] = "rocblas-r9nano",
) -> int:
    """Run points measured on a real card on the model, and compare: ratios, spread, error, rank correlation."""
    from gpusim.base.processors import default_jobs
    from gpusim.cli.outcome import JobRequest, run_job
    from gpusim.config.exec import resolve_path
    from gpusim.config.files import shipped
    from gpusim.config.gpu import GPU_FOLDER
    from gpusim.lab.silicon.kernels import kernel_files, selection_file
    from gpusim.lab.silicon.measured import load_measured, read_table
    from gpusim.lab.silicon.neighbours import with_neighbours
    from gpusim.results.store.project import store_to_write

    sets = [*([f"gpu={asked.gpu}"] if asked.gpu is not None else []), *options.sets]
    if table.endswith(".csv") and not any(one.partition("=")[0].strip() == "gpu" for one in sets):
        models = ", ".join(name.removesuffix(".yaml") for name in shipped(GPU_FOLDER))
        raise UserError(f"{table}: --gpu GPU names the model of the card that was measured: {models}")
    measured, document = load_measured(table, sets)
    file = resolve_path(measured.points, document.path)
    # an earlier result says itself by which kernels its points were run
    selection = None if asked.earlier is not None else selection_file(measured.kernels, asked.kernels)
    points = choose_points(with_neighbours(read_table(measured, document, file, selection)), asked, file)
    files = list(dict.fromkeys([*document.files, file, *([] if selection is None else [selection])]))
    if asked.picture is not None:
        check_format(asked.picture)
        require_matplotlib("correlate")
    if asked.earlier is not None:
        check_outputs({"--json": options.json_file, "--picture": asked.picture}, files)
        return _again(measured, points, file, asked, options)
    from gpusim.jobs.kinds import make_job
    from gpusim.lab.silicon.job import CorrelationOptions, MeasuredJob
    from gpusim.model.sampling.spec import SamplingSpec

    well = shares(asked.error, asked.confidence)
    for option in well if asked.exact else ():
        raise UserError(f"--{option}: says how products above --limit are sampled, and --exact runs them whole")
    sampling = None if asked.exact else SamplingSpec.model_validate(well)
    paths = kernel_files(measured.kernels, asked.kernels)
    wanted = CorrelationOptions(
        limit_gflop=asked.limit_gflop,
        sampling=sampling,
        fits=asked.fit,
        budget_s=asked.budget_s,
        jobs=asked.jobs or default_jobs(),
        store=store_to_write(storing.store),
        fresh=storing.fresh,
    )
    job = make_job("correlate", measured, points, files, paths, wanted)
    assert isinstance(job, MeasuredJob)
    made = JobRequest(
        lambda _: job, job.work, files, {"--picture": asked.picture}, asked.markdown,
        also=lambda result: _draw(measured, result, asked.picture),
        shown=lambda result, out, as_page: _show(measured, result, out, as_page), not_launched=OF_MANY,
    )  # fmt: skip
    return run_job(made, options, storing, live)


def _again(
    table: "MeasuredTable",
    points: "Sequence[MeasuredPoint]",
    file: Path,
    asked: CorrelateOptions,
    options: JobCommandOptions,
) -> int:
    """Show and draw what an earlier run has written; returns the exit code that it had."""
    from gpusim.base.progress import Reporter
    from gpusim.lab.silicon.cost import no_measurement
    from gpusim.lab.silicon.job import fit_launch_overheads
    from gpusim.lab.silicon.report import SkippedPoint, document
    from gpusim.results.records.exit_code import EXIT_NOT_AS_EXPECTED
    from gpusim.results.report.document import as_json

    assert asked.earlier is not None
    earlier = _earlier(asked.earlier)
    chosen = {point.label for point in points}
    rows = [row for row in earlier.rows if row.prediction.point.label in chosen]
    if not rows:
        raise UserError(f"--from {asked.earlier}: holds none of the {len(points)} points of {file} asked for")
    not_run = [one for one in earlier.not_run if one.name in chosen]
    said = [(row.prediction.point, no_measurement(row.prediction.point, table.launches)) for row in rows]
    not_run += [SkippedPoint(point.label, point.kernel, why) for point, why in said if why]
    rows = [row for row, (_, why) in zip(rows, said, strict=True) if not why]
    if asked.fit:
        rows, fitted = fit_launch_overheads(table, rows)
        earlier = earlier._replace(fitted=fitted)
    result = document(table, earlier._replace(rows=rows, not_run=not_run))
    if options.json_file is not None:
        put(options.json_file, as_json(result))
    _draw(table, result, asked.picture)
    if asked.markdown or not options.quiet:
        _show(table, result, sys.stderr if options.json_file == STANDARD_OUTPUT else sys.stdout, asked.markdown)
    if not earlier.partial:
        return 0
    Reporter(options.quiet).say_if_quiet(f"gpusim: {asked.earlier}: {earlier.stopped_by}: the results are partial")
    return EXIT_INTERRUPTED if earlier.stopped_by in ("", INTERRUPTED) else EXIT_NOT_AS_EXPECTED


def _draw(table: "MeasuredTable", result: Mapping[str, Any], file: Path | None) -> None:
    """Draw a comparison, given as its JSON object, into a file, where one is asked for."""
    from gpusim.lab.silicon.report import restored

    rows = restored(result).rows
    if file is not None and rows:
        from gpusim.lab.silicon.picture import picture

        write_whole(file, picture(rows, table.title).file(file.suffix.lower()))


def _show(table: "MeasuredTable", result: Mapping[str, Any], out: TextIO, as_page: bool) -> None:
    """Print a comparison, given as its JSON object."""
    from gpusim.lab.silicon import views
    from gpusim.lab.silicon.report import restored

    correlation = restored(result)
    if not correlation.rows:
        print("no point was finished", file=out)
        if correlation.not_run:
            views.NOT_RUN.table(correlation.not_run).show(out)
    elif as_page:
        out.write(views.markdown(table, correlation))
    else:
        views.show(table, correlation, out)


def _earlier(path: Path) -> "SavedComparison":
    from gpusim.base.plain_data import read_json
    from gpusim.lab.silicon.report import restored

    return restored(read_json(path), f"--from {path}")


def choose_points(points: "Sequence[MeasuredPoint]", asked: CorrelateOptions, file: Path) -> "list[MeasuredPoint]":
    """Return the points that --only and --draw leave, in the table's order.

    Args:
        points: The table's points.
        asked: The command's options.
        file: The file of the points.

    Raises:
        UserError: No point is left, or fewer than are to be drawn.
    """
    only = asked.only
    chosen = [p for p in points if not only or any(text in p.label for text in only)]
    if not chosen:
        raise UserError(f"--only {only[0]}: no point of {file} has it in its label, as {points[0].label}")
    if asked.draw is None:
        return chosen
    if asked.draw > len(chosen):
        raise UserError(f"--draw {asked.draw}: more than the {len(chosen)} points of {file} to draw from")
    places = Random(asked.seed).sample(range(len(chosen)), asked.draw)
    return [chosen[place] for place in sorted(places)]
