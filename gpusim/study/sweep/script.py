"""`gpusim.Sweep` and `gpusim.run_sweep`: a sweep of a script, and its points as a table."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, get_args

from gpusim.base.axis_roles import roles_of
from gpusim.base.errors import UserError, unknown_name
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.sweep import Method, SweepOverrides, load_sweep
from gpusim.results.store.keeper import StoreWriter
from gpusim.results.store.project import store_to_read
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweeps import SweepTable
from gpusim.study.sweep import running
from gpusim.study.sweep.executor import executor_for
from gpusim.study.sweep.points import list_points
from gpusim.study.sweep.tasks import check_paths


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

    A point that fails is a row of state "failed", and the rest goes on. After Ctrl-C, points that have ended are
    stored, and the same call continues the sweep.

    Args:
        sweep: a sweep's file, a mapping such as one holds, or a configuration that `axes` vary.
        axes: values by path that are varied, each a list, or a range `{"low": …, "high": …, "steps": …}`.
        sets: values by path that all points have.
        method: "grid", "zip", "random", "sobol" or "search", the last three with `points` and `seed`.
        points: how many points are drawn.
        seed: of what is drawn.
        metrics: columns; by default kernel.cycles and kernel.time_us.
        store: the results' file; None: the one that `gpusim.toml` names, or gpusim.db.
        jobs: processes; None: as many as processors.
        cluster: address of a Dask scheduler whose workers run the points.
        fresh: run all points again.
        retry: run those that failed again.
        quiet: no progress on standard error.

    Returns:
        A row for each point and variant.

    Raises:
        UserError: the sweep is not valid; raised before anything runs.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    planned = Sweep(sweep, axes=axes, sets=sets, method=method, points=points, seed=seed)
    return planned.run(
        metrics=metrics, store=store, jobs=jobs, cluster=cluster, fresh=fresh, retry=retry, quiet=quiet
    )  # fmt: skip


class Sweep:
    """A sweep that has been read and checked, before anything of it runs.

    Args:
        sweep: as for `run_sweep`, like all that follow.
        axes: values by path that are varied.
        sets: values by path that all points have.
        method: how points are chosen.
        points: how many points are drawn.
        seed: of what is drawn.

    Attributes:
        specification: every value of its file.
        roles: what each axis is, by path.

    Raises:
        UserError: the sweep is not valid.
    """

    def __init__(
        self,
        sweep: str | Path | Mapping[str, Any],
        *,
        axes: Mapping[str, Any] | None = None,
        sets: Mapping[str, Any] | None = None,
        method: Method | None = None,
        points: int | None = None,
        seed: int | None = None,
    ) -> None:
        if method is not None and method not in get_args(Method):
            raise UserError(f"method: {unknown_name('method', str(method), get_args(Method))}")
        given = str(sweep) if isinstance(sweep, Path) else sweep
        self._spec, self._document = load_sweep(given, SweepOverrides((), method, points, seed, axes or {}, sets or {}))
        check_paths(self._spec)
        self.specification: dict[str, Any] = self._spec.model_dump(mode="json")
        self.roles = roles_of(self._spec.axes, self._spec.roles)

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points' values by axis, in order; those of a search follow from results: it raises UserError."""
        if self._spec.method == "search":
            raise UserError("points: those of method search follow from the results of those before")
        return [dict(point) for point in list_points(self._spec)]

    def run(
        self,
        *,
        metrics: Sequence[str] = (),
        store: str | Path | None = None,
        jobs: int | None = None,
        cluster: str | None = None,
        fresh: bool = False,
        retry: bool = False,
        quiet: bool = False,
    ) -> SweepTable:
        """Run the points that the store lacks, as `run_sweep` does.

        Args:
            metrics: columns; by default kernel.cycles and kernel.time_us.
            store: the results' file; None: the one that `gpusim.toml` names, or gpusim.db.
            jobs: processes; None: as many as processors.
            cluster: address of a Dask scheduler whose workers run the points.
            fresh: run all points again.
            retry: run those that failed again.
            quiet: no progress on standard error.

        Returns:
            A row for each point and variant that the store then has.

        Raises:
            UserError: an argument is not valid; raised before anything runs.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if jobs is not None and jobs < 1:
            raise UserError(f"jobs: {jobs} is not allowed: must be at least 1")
        path = store_to_read(None if store is None else str(store))
        reporter = Reporter(quiet)
        with Interrupt() as interrupt, ExitStack() as stack:
            executor = executor_for(jobs, cluster, reporter)
            stack.callback(executor.stop)
            keeper = stack.enter_context(StoreWriter(path, fresh))
            interrupt.deferred = True
            file = self._document.path
            under_way = running.SweepRunner(
                spec=self._spec,
                file=file,
                keeper=keeper,
                executor=executor,
                reporter=reporter,
                interrupt=interrupt,
                retry=retry,
                fresh=fresh,
            )
            under_way.run()
            interrupt.deferred = False
        if interrupt.asked:
            raise KeyboardInterrupt
        with StoreReader(path) as results:
            return results.sweep(under_way.number, *metrics)

    def __repr__(self) -> str:
        varied = ", ".join(f"{path} ({role})" for path, role in self.roles.items())
        return f"<sweep of {self._spec.kind} {Path(self._spec.varied).stem} over {varied}>"
