"""`gpusim.run_sweep`: a sweep, run from a script, and its points as a table."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, get_args

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.sweep import Method, Overrides, load_sweep
from gpusim.store.keeper import Keeper
from gpusim.store.project import store_to_read
from gpusim.store.reading import Results
from gpusim.store.sweeps import SweepTable
from gpusim.sweep.executor import executor_for
from gpusim.sweep.running import Sweep


def run_sweep(
    sweep: str | Path | Mapping[str, Any],
    *,
    axes: Mapping[str, Any] | None = None,
    sets: Mapping[str, Any] | None = None,
    method: Method | None = None,
    points: int | None = None,
    seed: int | None = None,
    metrics: Sequence[str] = (),
    store: str | Path | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    fresh: bool = False,
    retry: bool = False,
    quiet: bool = False,
) -> SweepTable:
    """Run the points of a sweep that a store lacks, as `gpusim sweep` does, and return all points that it then has.

    sweep: a sweep's file, a mapping such as one holds, or a configuration that `axes` vary; axes: values by path that
    are varied, each a list, or a range `{"low": …, "high": …, "steps": …}`; sets: values by path that all points have;
    method: "grid", "zip", "random", "sobol" or "search", the last three with `points` and `seed`; metrics: columns, by
    default kernel.cycles and kernel.time_us; store: None: the one that `gpusim.toml` names, or gpusim.db; jobs:
    processes, None: as many as processors; cluster: address of a Dask scheduler whose workers run the points; fresh:
    run all points again; retry: run those that failed again; quiet: no progress on standard error.

    A point that fails is a row of state "failed", and the rest goes on. Raise UserError before anything runs for a
    sweep that is not valid, and KeyboardInterrupt after Ctrl-C: points that have ended are stored, and the same call
    continues the sweep.
    """
    if jobs is not None and jobs < 1:
        raise UserError(f"jobs: {jobs} is not allowed: must be at least 1")
    if method is not None and method not in get_args(Method):
        raise UserError(f"method: {unknown_name('method', str(method), get_args(Method))}")
    given = str(sweep) if isinstance(sweep, Path) else sweep
    spec, document = load_sweep(given, Overrides((), method, points, seed, axes or {}, sets or {}))
    path = store_to_read(None if store is None else str(store))
    reporter = Reporter(quiet)
    with Interrupt() as interrupt, ExitStack() as stack:
        executor = executor_for(jobs, cluster, reporter)
        stack.callback(executor.stop)
        keeper = stack.enter_context(Keeper(path, fresh))
        interrupt.deferred = True
        running = Sweep(spec, document.path, keeper, executor, reporter, interrupt, retry, fresh)
        running.run()
        interrupt.deferred = False
    if interrupt.asked:
        raise KeyboardInterrupt
    with Results(path) as results:
        return results.sweep(running.number, *metrics)
