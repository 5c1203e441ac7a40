"""`gpusim sweep`."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, UserError, nearest
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.progress import Reporter
from gpusim.base.table import Table, columns
from gpusim.cli.options import CsvOption, FreshPoints, JobsOption, LiveOptions, QuietOption, StoreFile, several

if TYPE_CHECKING:
    from gpusim.config.files import Document
    from gpusim.config.sweep import SweepSpec
    from gpusim.results.store.reading import StoreReader
    from gpusim.results.store.table import QueryTable

EXIT_SOME_FAILED = 1


def _objective(name: str, how: str) -> Any:
    what = f"A metric, a path of the configuration, or a sum of such that is to be {how}; repeatable."
    return several(name, "WHAT", what)


MethodChoice = Literal["grid", "zip", "random", "sobol", "search"]


@dataclass(frozen=True)
class SweepOptions:
    """What is varied beside what the file says, where it runs, where it is kept. None: what the file says."""

    sets: Annotated[
        list[str], several("--set", "PATH=A,B,…", "Vary a value over these, or fix it to one; repeatable.")
    ] = field(default_factory=list)
    method: Annotated[MethodChoice | None, typer.Option("--method", help="How points are chosen.")] = None
    points: Annotated[
        int | None, typer.Option("--points", metavar="N", min=1, help="How many: random, sobol, search.")
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Of random, sobol, search.")] = None
    minimize: Annotated[list[str], _objective("--minimize", "small")] = field(default_factory=list)
    maximize: Annotated[list[str], _objective("--maximize", "large")] = field(default_factory=list)
    jobs: JobsOption = None
    perturb: Annotated[
        int | None,
        typer.Option(
            "--perturb",
            metavar="N",
            min=2,
            max=10_000,
            help="Run each point N times, each with another draw of the machine: values are means with an interval.",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Run the points on the workers of this Dask scheduler, such as tcp://host:8786 (extra 'cluster').",
        ),
    ] = None
    storing: StoreFile = None
    fresh: FreshPoints = False
    retry: Annotated[bool, typer.Option("--retry", help="Run points again that failed before.")] = False
    metrics: Annotated[
        list[str],
        several("--metric", "PATH", "Metric in the table; repeatable. [default: kernel.cycles, kernel.time_us]"),
    ] = field(default_factory=list)
    by_layer: Annotated[
        float | None,
        typer.Option(
            "--by-layer",
            metavar="PERCENT",
            min=0.0,
            max=1000.0,
            help="Of a network, one axis: each layer's time, and the lowest value that costs at most this.",
        ),
    ] = None
    csv_file: CsvOption = None
    listed: Annotated[bool, typer.Option("--list", help="List the points and exit.")] = False
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what the points would cost that the store lacks, and run none.")
    ] = False
    quiet: QuietOption = False


def sweep(
    file: Annotated[
        str, typer.Argument(metavar="SWEEP", help="A sweep's file, or a configuration that --set varies (layerB).")
    ],
    options: SweepOptions,
    live: LiveOptions,
) -> int:
    """Run a configuration with values varied, on all cores; stored point by point, so that it can go on later."""
    from gpusim.base.axis_roles import PERTURBATION
    from gpusim.config.sweep import SweepOverrides, load_sweep
    from gpusim.results.live.view import live_view
    from gpusim.results.store.project import store_to_read

    _check_metrics(options.metrics)
    overrides = SweepOverrides(
        tuple(options.sets),
        options.method,
        options.points,
        options.seed,
        axes={} if options.perturb is None else {PERTURBATION: list(range(options.perturb))},
        minimize=options.minimize,
        maximize=options.maximize,
    )
    spec, document = load_sweep(file, overrides)
    if options.by_layer is not None:
        from gpusim.study.sweep.by_layer import check

        check(spec)
    store = store_to_read(options.storing)
    check_outputs({"--csv": options.csv_file, "--store": store}, document.files)
    if options.listed:
        _list(spec)
        return 0
    if options.estimate:
        _estimate(spec, document, store)
        return 0
    reporter = Reporter(options.quiet)
    with live_view(live.live, f"sweep {spec.title or file}", reporter):
        return _run(spec, document, store, options, reporter)


def _run(spec: "SweepSpec", document: "Document", store: Path, options: SweepOptions, reporter: Reporter) -> int:
    from gpusim.results.store.keeper import StoreWriter  # imports what runs kernels: up to a second
    from gpusim.study.sweep.executor import executor_for
    from gpusim.study.sweep.running import SweepRunner

    with Interrupt() as interrupt, ExitStack() as stack:
        executor = executor_for(options.jobs, options.cluster, reporter)
        stack.callback(executor.stop)
        keeper = stack.enter_context(StoreWriter(store, options.fresh))
        interrupt.deferred = True
        sweep = SweepRunner(
            spec=spec,
            file=document.path,
            keeper=keeper,
            executor=executor,
            reporter=reporter,
            interrupt=interrupt,
            retry=options.retry,
            fresh=options.fresh,
        )
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
    if some_failed:
        reporter.say_if_quiet(f"gpusim: sweep {sweep.number} in {store}: some of its {progress.points} points failed")
    return EXIT_SOME_FAILED if some_failed else 0


def _check_metrics(names: Sequence[str]) -> None:
    """Raise UserError for a metric that no result has, before anything runs."""
    if not names:
        return
    from gpusim.results import metrics

    for name in names:
        if metrics.describe(name) is None:
            guess = nearest(name, (metric.path for metric in metrics.METRICS))
            hint = f"; did you mean '{guess}'?" if guess else ""
            raise UserError(f"--metric: unknown metric '{name}'{hint} (gpusim metrics lists them)")


def _list(spec: "SweepSpec") -> None:
    from gpusim.study.sweep.points import list_points
    from gpusim.study.sweep.tasks import check_paths

    if spec.method == "search":
        raise UserError("--list: the points of method search follow from the results of those before")
    check_paths(spec)
    rows = [(number, *point.values()) for number, point in enumerate(list_points(spec))]
    Table(columns("point", *spec.axes), rows).show(sys.stdout)


def _estimate(spec: "SweepSpec", document: "Document", store: Path) -> None:
    """Print what the missing points would cost, by value of each workload, and together."""
    from gpusim.base.axis_roles import roles_of
    from gpusim.jobs.estimates.run_costs import RunCost
    from gpusim.jobs.estimates.views import cost_table
    from gpusim.study.sweep.costs import estimated

    estimate = estimated(spec, document.path, store)
    roles = roles_of(spec.axes, spec.roles)
    groups: dict[str, list[RunCost]] = {}
    for point, cost in estimate.missing:
        name = ", ".join(str(value) for path, value in point.items() if roles[path] == "workload")
        groups.setdefault(f"points of {name}" if name else "points", []).append(cost)
    rows = [(f"{len(costs)} {name}", RunCost.total(costs)) for name, costs in groups.items()]
    if len(rows) > 1:
        rows.append(("together", RunCost.total([cost for costs in groups.values() for cost in costs])))
    cost_table(rows, estimate.notes).show(sys.stdout)
    print(f"{estimate.there} of {estimate.points} points are in the store and cost nothing")


def _show(number: int, spec: "SweepSpec", options: SweepOptions, reporter: Reporter) -> None:
    if options.by_layer is None:
        found, notes = _table(number, spec, options)
        table = found.table()
    else:
        table, notes = _by_layer(number, spec, options, options.by_layer / 100), []
    if options.csv_file is not None:
        put(options.csv_file, table.csv())
    if not options.quiet and options.csv_file != STANDARD_OUTPUT:
        table.show(sys.stdout)
    for line in notes:
        reporter.say(line)


def _by_layer(number: int, spec: "SweepSpec", options: SweepOptions, loss: float) -> Table:
    from gpusim.results.store.reading import open_store
    from gpusim.study.sweep.by_layer import check, load_layer_passes
    from gpusim.study.sweep.views import by_layer

    axis = check(spec)
    with open_store(options.storing) as results:
        return by_layer(load_layer_passes(results, number, axis), axis, loss)


def _table(number: int, spec: "SweepSpec", options: SweepOptions) -> "tuple[QueryTable, list[str]]":
    """Return the points as a table, and lines about them.

    With objectives, both say what these come to and which points are on the front.
    """
    from gpusim.results.store.reading import open_store

    with open_store(options.storing) as results:
        known = results.known_metrics()
        answers = _answers(results, number)
        metrics = [metric for metric in options.metrics if metric in known]
        unknown = [f"{metric}: does not apply to any point" for metric in options.metrics if metric not in known]
        if not spec.objectives:
            return results.sweep(number, *metrics), [*unknown, *answers]
        from gpusim.study.sweep.objectives import add_objective_columns

        table, more = add_objective_columns(results, number, spec, metrics)
        return table, [*unknown, *more, *answers]


def _answers(results: "StoreReader", number: int) -> list[str]:
    """Return in words what the sweep comes to; nothing of one whose points were not timed."""
    from gpusim.results.report.sweeps.answers import describe_best_designs, roles_line
    from gpusim.results.store.sweep_points import swept

    found = swept(results, number)
    if len(found.places) < 2 or not found.metric:
        return []
    return [
        *describe_best_designs(found),
        *([roles_line(found)] if found.with_role("workload", "environment", "repeat") else []),
    ]
