"""`gpusim correlate`: points measured on a real card beside the model."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import interrupt_python
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.pictures import check_format, require_matplotlib
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter, clock
from gpusim.cli.options import JobsOption, JsonOption, MarkdownOption, SetOption

if TYPE_CHECKING:
    from gpusim.config.measured import MeasuredTable, Point
    from gpusim.correlation.compare import Compared
    from gpusim.correlation.fit import Fitted
    from gpusim.correlation.predict import Prediction
    from gpusim.correlation.report import Restored


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
) -> int:
    """Run points measured on a real card on the model, and compare: ratios, spread, error, rank correlation."""
    from gpusim.config.exec import file_beside
    from gpusim.config.measured import load_measured, read_points

    measured, document = load_measured(table, options.sets)
    file = file_beside(measured.points, document.path)
    points = _chosen(read_points(file), options.only, file)
    check_outputs({"--json": options.json_file, "--picture": options.picture}, [*document.files, file])
    if options.picture is not None:
        check_format(options.picture)
        require_matplotlib("correlate")
    from gpusim.correlation.compare import Compared
    from gpusim.correlation.fit import fit
    from gpusim.correlation.kernels import kernel_files

    if options.earlier is not None:
        earlier = _earlier(options.earlier)
        chosen = {point.label for point in points}
        rows = [row for row in earlier.rows if row.prediction.point.label in chosen]
        if not rows:
            raise UserError(f"--from {options.earlier}: holds none of the {len(points)} points of {file} asked for")
        return _shown(measured, rows, earlier.fitted, earlier.partial, options)
    paths = kernel_files(measured.kernels, options.kernels)
    interrupt_python()
    run = _Runs(measured, points, paths, options)
    fitted = None
    try:
        if options.fit:
            run.points = _searched(points, measured)
            fitted = fit(measured.fit, run.all_of)
            run.points = points
            (predictions,), launch_us = run.all_of([fitted.values]), fitted.launch_us
        else:
            (predictions,), launch_us = run.all_of([{}]), measured.launch_us
    except KeyboardInterrupt:
        predictions, launch_us = run.done_so_far(), measured.launch_us
        if options.fit or not predictions:
            run.reporter.say("interrupted: nothing is reported")
            return EXIT_INTERRUPTED
    rows = [Compared(prediction, launch_us) for prediction in predictions]
    partial = len(rows) < len(points)
    if partial:
        run.reporter.say(f"interrupted: {len(rows)} of {len(points)} points")
    return _shown(measured, rows, fitted, partial, options)


def _shown(
    table: "MeasuredTable",
    rows: "Sequence[Compared]",
    fitted: "Fitted | None",
    partial: bool,
    options: CorrelateOptions,
) -> int:
    from gpusim.correlation import report
    from gpusim.report.document import as_json

    to_output = options.json_file == STANDARD_OUTPUT
    if options.json_file is not None:
        content = as_json(report.document(table, rows, fitted, partial))
        if to_output:
            sys.stdout.write(content)
        else:
            write_whole(options.json_file, content)
    if options.picture is not None:
        from gpusim.correlation.picture import picture

        write_whole(options.picture, picture(rows, table.title).file(options.picture.suffix.lower()))
    out = sys.stderr if to_output else sys.stdout
    if options.markdown:
        out.write(report.markdown(table, rows, fitted))
    else:
        report.show(table, rows, fitted, out)
    return EXIT_INTERRUPTED if partial else 0


def _earlier(path: Path) -> "Restored":
    from gpusim.correlation.report import restored

    try:
        return restored(json.loads(path.read_text(encoding="utf-8")))
    except UserError as error:
        raise UserError(f"--from {path}: {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"--from {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _chosen(points: "Sequence[Point]", only: Sequence[str], file: Path) -> "list[Point]":
    chosen = [p for p in points if not only or any(text in p.label for text in only)]
    if not chosen:
        raise UserError(f"--only {only[0]}: no point of {file} has it in its label, as {points[0].label}")
    return chosen


def _searched(points: "Sequence[Point]", table: "MeasuredTable") -> "list[Point]":
    most = table.fit.most_gflop
    chosen = [p for p in points if most is None or p.gflop <= most]
    if not chosen:
        raise UserError(f"fit.most_gflop: {most:g}: every point chosen has more work")
    return chosen


class _Runs:
    """The points under one or several sets of values, with progress."""

    def __init__(
        self, table: "MeasuredTable", points: "Sequence[Point]", paths: list[Path], options: CorrelateOptions
    ) -> None:
        self.table, self.points, self.paths, self.options = table, points, paths, options
        self.reporter = Reporter(options.quiet)
        self._done: dict[tuple[int, int], Prediction] = {}

    def all_of(self, values: Sequence[dict[str, Any]]) -> "list[list[Prediction]]":
        """Predictions of all points for each set of values, laid over the table's GPU."""
        from gpusim.correlation.predict import Conditions, predicted, replaced

        work, under = [], []
        for variant, held in enumerate(values):
            condition = Conditions.of(self.table, self.options.limit_gflop)
            for path, value in held.items():
                condition = condition.with_gpu(replaced(condition.gpu, path, value))
            work += [((variant, index), point) for index, point in enumerate(self.points)]
            under += [condition] * len(self.points)
        jobs = min(self.options.jobs or default_jobs(), len(work))
        change = self.table.kernels.multiply_accumulate
        self._done = {}
        start = time.monotonic()
        for key, prediction in predicted(work, under, self.paths, change, jobs):
            self._done[key] = prediction
            self.reporter.say(
                f"{len(self._done)}/{len(work)} points, {clock(time.monotonic() - start)}: {prediction.point.label}, "
                f"{prediction.time_us:.1f} us, measured {prediction.point.time_us:.1f} us"
            )
        return [[self._done[variant, index] for index in range(len(self.points))] for variant in range(len(values))]

    def done_so_far(self) -> "list[Prediction]":
        """Predictions of the points that were run, in the table's order."""
        return [self._done[key] for key in sorted(self._done)]
