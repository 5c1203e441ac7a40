"""`gpusim sweep`."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter
from gpusim.cli.declared_results import SweepOptions
from gpusim.cli.options import LiveOptions
from gpusim.config.files import Document
from gpusim.config.sweep import Method, Overrides, SweepSpec, load_sweep
from gpusim.live.view import live_view
from gpusim.report import listing
from gpusim.store.project import store_to_read
from gpusim.store.reading import Results

if TYPE_CHECKING:
    from gpusim.sweep.executor import Executor

EXIT_SOME_FAILED = 1


def sweep_command(file: str, options: SweepOptions, live: LiveOptions) -> int:
    """Run what is missing of the sweep, and print its points; returns the exit code."""
    method: Method | None = options.method.value if options.method is not None else None  # type: ignore[assignment]
    spec, document = load_sweep(file, Overrides(tuple(options.sets), method, options.points, options.seed))
    store = store_to_read(options.storing)
    check_outputs({"--csv": options.csv_file, "--store": store}, document.files)
    if options.listed:
        _list(spec)
        return 0
    reporter = Reporter(options.quiet)
    with live_view(live.live, f"sweep {spec.title or file}", reporter):
        return _run(spec, document, store, options, reporter)


def _run(spec: SweepSpec, document: Document, store: Path, options: SweepOptions, reporter: Reporter) -> int:
    from gpusim.keeping.keeper import Keeper  # imports what runs kernels: up to a second
    from gpusim.sweep.running import Sweep

    with Interrupt() as interrupt, ExitStack() as stack:
        executor = _executor(options, reporter)
        stack.callback(executor.stop)
        keeper = stack.enter_context(Keeper(store, options.fresh))
        interrupt.deferred = True
        sweep = Sweep(spec, document.path, keeper, executor, reporter, interrupt, options.retry, options.fresh)
        progress = sweep.run()
        interrupt.deferred = False
        some_failed = sweep.any_failed
    _show(sweep.number, options)
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


def _executor(options: SweepOptions, reporter: Reporter) -> "Executor":
    """Where points are run; raises UserError where that cannot be reached."""
    if options.cluster is not None:
        from gpusim.sweep.cluster import DaskCluster

        if options.jobs is not None:
            raise UserError("--jobs, --cluster: the cluster's workers say how many points run at a time")
        return DaskCluster(options.cluster, reporter)
    from gpusim.sweep.executor import LocalProcesses

    return LocalProcesses(options.jobs if options.jobs is not None else default_jobs(), reporter)


def _list(spec: SweepSpec) -> None:
    from gpusim.sweep.points import points_of
    from gpusim.sweep.tasks import check_paths

    check_paths(spec)
    rows = [(number, *point.values()) for number, point in enumerate(points_of(spec))]
    listing.show(["point", *spec.axes], rows, sys.stdout)


def _show(number: int, options: SweepOptions) -> None:
    with Results(store_to_read(options.storing)) as results:
        table = results.sweep(number, *options.metrics)
    if options.csv_file is not None:
        text = listing.as_csv(table.columns, table.rows)
        if options.csv_file == STANDARD_OUTPUT:
            sys.stdout.write(text)
            return
        write_whole(options.csv_file, text)
    if not options.quiet:
        listing.show(table.columns, table.rows, sys.stdout)
