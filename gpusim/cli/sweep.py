"""`gpusim sweep`."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from gpusim.base.errors import EXIT_INTERRUPTED, UserError, nearest
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.declared_results import SweepOptions
from gpusim.cli.options import LiveOptions
from gpusim.config.files import Document
from gpusim.config.sweep import Method, Overrides, SweepSpec, load_sweep
from gpusim.live.view import live_view
from gpusim.report import listing
from gpusim.store.project import store_to_read
from gpusim.store.reading import Results
from gpusim.store.table import Table

EXIT_SOME_FAILED = 1


def sweep_command(file: str, options: SweepOptions, live: LiveOptions) -> int:
    """Run what is missing of the sweep, and print its points; returns the exit code."""
    method: Method | None = options.method.value if options.method is not None else None  # type: ignore[assignment]
    _check_metrics(options.metrics)
    overrides = Overrides(
        tuple(options.sets),
        method,
        options.points,
        options.seed,
        minimize=options.minimize,
        maximize=options.maximize,
    )
    spec, document = load_sweep(file, overrides)
    store = store_to_read(options.storing)
    check_outputs({"--csv": options.csv_file, "--store": store}, document.files)
    if options.listed:
        _list(spec)
        return 0
    reporter = Reporter(options.quiet)
    with live_view(live.live, f"sweep {spec.title or file}", reporter):
        return _run(spec, document, store, options, reporter)


def _run(spec: SweepSpec, document: Document, store: Path, options: SweepOptions, reporter: Reporter) -> int:
    from gpusim.store.keeper import Keeper  # imports what runs kernels: up to a second
    from gpusim.sweep.running import Sweep
    from gpusim.sweep.where import executor_for

    with Interrupt() as interrupt, ExitStack() as stack:
        executor = executor_for(options.jobs, options.cluster, reporter)
        stack.callback(executor.stop)
        keeper = stack.enter_context(Keeper(store, options.fresh))
        interrupt.deferred = True
        sweep = Sweep(spec, document.path, keeper, executor, reporter, interrupt, options.retry, options.fresh)
        progress = sweep.run()
        interrupt.deferred = False
        some_failed = sweep.any_failed
    _show(sweep.number, spec, options, reporter)
    known = ", ".join(
        f"{count} {how}"
        for count, how in (
            (progress.ran, "ran"),
            (progress.stored, "were there"),
            (progress.found, "equal runs were there"),
            (progress.failed, "failed"),
        )
        if count
    )
    reporter.say(
        f"sweep {sweep.number} in {store}: {progress.known} of {progress.points} points"
        + (f": {known}" if known else "")
    )
    if interrupt.asked:
        reporter.say(f"{interrupt.reason}: the same command goes on")
        return EXIT_INTERRUPTED
    return EXIT_SOME_FAILED if some_failed else 0


def _check_metrics(asked: Sequence[str]) -> None:
    """Raise UserError for a metric that no result has, before anything runs."""
    if not asked:
        return
    from gpusim.results import metrics

    for name in asked:
        if metrics.describe(name) is None:
            guess = nearest(name, (metric.path for metric in metrics.METRICS))
            hint = f"; did you mean '{guess}'?" if guess else ""
            raise UserError(f"--metric: unknown metric '{name}'{hint} (gpusim metrics lists them)")


def _list(spec: SweepSpec) -> None:
    from gpusim.sweep.points import points_of
    from gpusim.sweep.tasks import check_paths

    if spec.method == "search":
        raise UserError("--list: the points of method search follow from the results of those before")
    check_paths(spec)
    rows = [(number, *point.values()) for number, point in enumerate(points_of(spec))]
    listing.show(["point", *spec.axes], rows, sys.stdout)


def _show(number: int, spec: SweepSpec, options: SweepOptions, reporter: Reporter) -> None:
    table, said = _table(number, spec, options)
    if options.csv_file is not None:
        text = listing.as_csv(table.columns, table.rows)
        if options.csv_file == STANDARD_OUTPUT:
            sys.stdout.write(text)
        else:
            write_whole(options.csv_file, text)
    if not options.quiet and options.csv_file != STANDARD_OUTPUT:
        listing.show(table.columns, table.rows, sys.stdout)
    for line in said:
        reporter.say(line)


def _table(number: int, spec: SweepSpec, options: SweepOptions) -> tuple[Table, list[str]]:
    """The points, and where there are objectives what they come to and which points are on the front, also in words."""
    with Results(store_to_read(options.storing)) as results:
        known = results.known_metrics()
        metrics = [metric for metric in options.metrics if metric in known]
        said = [f"{metric}: does not apply to any point" for metric in options.metrics if metric not in known]
        if not spec.objectives:
            return results.sweep(number, *metrics), said
        from gpusim.sweep.front import with_front

        table, more = with_front(results, number, spec, metrics)
        return table, [*said, *more]
