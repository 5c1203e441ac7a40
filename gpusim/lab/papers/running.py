"""The plan's runs: those that a store has are taken from it, the others are run side by side and kept at once."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpusim.base.follow import overall
from gpusim.base.formats import duration
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import AUTO
from gpusim.jobs.networks.library import INSTALLING, is_there
from gpusim.lab.papers.network_points import NetworkPoint
from gpusim.lab.papers.plan import PlannedPoint, ReproductionPlan, estimated, together
from gpusim.lab.papers.records import ReproductionResults, build_network_record, build_point_record
from gpusim.results.store.keeper import MatchingRun, PendingWork, RunTiming, StoreWriter, WorkInOtherProcess
from gpusim.study.sweep.executor import Executor
from gpusim.study.sweep.tasks import TaskResult
from workloads.vendor.libraries import VendorProduct

NOT_AS_EXPECTED = "the result is not NumPy's"


@dataclass
class PlanOutcome:
    """Outcome of running a plan."""

    found: int = 0
    """Number of points that the store already had."""
    ran: int = 0
    """Number of points that were run."""
    errors: dict[str, str] = field(default_factory=dict)
    """Messages by key of the failed points."""
    left_out: dict[str, VendorProduct] = field(default_factory=dict)
    """Points whose library is not installed, with the library's product."""
    seconds: float = 0.0
    """Total time of this run's processes in seconds."""
    wall_s: float = 0.0
    """Wall time in seconds."""

    def sentence(self, points: int) -> str:
        """Return a sentence such as '12 of 14 points: 8 ran, 4 were there; 1:30, processes 2:41'."""
        said = [f"{self.ran} ran", f"{self.found} were there"] + ([f"{len(self.errors)} failed"] if self.errors else [])
        said += [f"{len(self.left_out)} left out"] if self.left_out else []
        known = self.ran + self.found + len(self.errors)
        times = f"{duration(self.wall_s)}, processes {duration(self.seconds)}"
        return f"{known} of {points} points: {', '.join(said)}; {times}"


def stored(keeper: StoreWriter, planned: PlannedPoint) -> MatchingRun | None:
    """Return the point's run in the store; None without it."""
    return keeper.found(planned.work)


def collected(
    name: str,
    plan: ReproductionPlan,
    keeper: StoreWriter,
    errors: Mapping[str, str],
    options: Mapping[str, Any],
    earlier: ReproductionResults,
    paths: Collection[str] = (),
) -> ReproductionResults:
    """Return the results of each point that has a correct run in the store, or else was known earlier.

    Args:
        name: Name of the publication.
        plan: All its points.
        keeper: The store.
        errors: Messages of failed points, by key.
        options: Options of the runs.
        earlier: Results that were known before.
        paths: Metrics that figures of networks read.
    """
    points = {key: record for key, record in earlier.points.items() if key in plan.points}
    networks = {key: record for key, record in earlier.networks.items() if key in plan.points}
    for key, planned in plan.points.items():
        run = stored(keeper, planned)
        if run is None or run.exit_code:
            continue
        if isinstance(planned.point, NetworkPoint):
            of_network = build_network_record(run.content, paths, planned.point.batch)
            version = planned.version({launch.kernel for launch in of_network.launches})
            networks[key] = replace(of_network, version=version)
        else:
            of_product = build_point_record(run.content, run.seconds)
            points[key] = replace(of_product, version=planned.version({kernel for kernel, _ in of_product.launches}))
    return ReproductionResults(name, points, errors, options, networks)


def _note(planned: PlannedPoint, found: MatchingRun, ran: PlanOutcome) -> None:
    """Count a point whose run the store has."""
    if found.exit_code:
        ran.errors[planned.key] = NOT_AS_EXPECTED
    else:
        ran.found += 1


class PlanRunner:
    """Runs the missing points of a plan, the longest first, so that processes end together."""

    EVERY_S = 10.0

    def __init__(self, keeper: StoreWriter, executor: Executor, reporter: Reporter, interrupt: Interrupt) -> None:
        self._keeper, self._executor, self._reporter, self._interrupt = keeper, executor, reporter, interrupt
        self._done_s = self._all_s = self._start = self._said = 0.0
        self._elsewhere = PendingWork[PlannedPoint]()

    def run(self, plan: ReproductionPlan) -> PlanOutcome:
        """Run all missing points; an interrupt gives up those that are running."""
        ran, self._start = PlanOutcome(), time.monotonic()
        missing = list[PlannedPoint]()
        for planned in plan.points.values():
            run_found = stored(self._keeper, planned)
            if run_found is None:
                products = [planned_ for planned_ in planned.products if not is_there(planned_)]
                if products:
                    ran.left_out[planned.key] = products[0]
                else:
                    missing.append(planned)
            else:
                _note(planned, run_found, ran)
        missing = sorted(estimated(missing, self._reporter), key=lambda planned_: -planned_.seconds)
        self._said, self._all_s = time.monotonic(), plain_sum(planned_.seconds for planned_ in missing)
        if ran.left_out:
            self._say_left_out(ran.left_out)
        chooses = any(isinstance(one.point, NetworkPoint) and one.config.convolution == AUTO for one in missing)
        beside = ", beside that of measuring algorithms, which can be more" if chooses else ""
        count = f"{len(missing)} of {len(plan.points)} points to run"
        cost = duration(together(planned_.parts for planned_ in missing))
        self._reporter.say(f"{count}, about {cost} of processor time{beside}")
        try:
            for number, planned in enumerate(missing):
                while self._executor.full and not self._interrupt.asked:
                    self._collect(missing, ran)
                if self._interrupt.asked:
                    break
                self._begin(number, planned, ran)
            while (self._executor.running or self._elsewhere) and not self._interrupt.asked:
                self._collect(missing, ran)
                for number, planned in self._elsewhere.due(lambda: self._executor.full):
                    self._begin(number, planned, ran, is_announced=True)
        finally:
            self._executor.stop()
        ran.wall_s = time.monotonic() - self._start
        return ran

    def _begin(self, number: int, planned: PlannedPoint, ran: PlanOutcome, is_announced: bool = False) -> None:
        """Start a point's run, unless another process has done the same meanwhile, or does it.

        is_announced: That another process does it was reported before.
        """
        taken = self._keeper.take(planned.work)
        if isinstance(taken, MatchingRun):
            _note(planned, taken, ran)
            self._done_s += planned.seconds
        elif isinstance(taken, WorkInOtherProcess):
            self._elsewhere.add(number, planned)
            if not is_announced:
                self._reporter.say(f"{planned.key}: {taken.sentence}")
        else:
            self._executor.submit(number, planned.task(self._keeper.path))

    def _say_left_out(self, points: Mapping[str, VendorProduct]) -> None:
        libraries = sorted({product.library for product in points.values()})
        packages = " ".join(sorted({product.package for product in points.values()}))
        self._reporter.say(
            f"{len(points)} points are left out, as they were before: {' and '.join(libraries)} are not there:"
            f" {INSTALLING.format(packages=packages)}"
        )

    def _collect(self, missing: Sequence[PlannedPoint], ran: PlanOutcome) -> None:
        for number, done in self._executor.finished():
            planned = missing[number]
            self._keep(planned, done, ran)
            self._done_s += planned.seconds
            self._report(planned, len(missing), ran)

    def _keep(self, planned: PlannedPoint, done: TaskResult, ran: PlanOutcome) -> None:
        self._keeper.keep(planned.work, done.outcome, RunTiming(done.date, done.seconds, done.host))
        ran.seconds += done.seconds
        if done.outcome.state == "done" and done.outcome.exit_code == 0:
            ran.ran += 1
            return
        error = done.outcome.error or NOT_AS_EXPECTED
        ran.errors[planned.key] = error
        self._reporter.say(f"failed: {planned.key}: {error}")

    def _report(self, planned: PlannedPoint, count: int, ran: PlanOutcome) -> None:
        known, now = ran.ran + len(ran.errors), time.monotonic()
        overall(known, count, "points", planned.key)
        if now - self._said < self.EVERY_S and known < count:
            return
        self._said, spent = now, now - self._start
        left = spent * (self._all_s - self._done_s) / self._done_s
        self._reporter.say(f"{known}/{count} points, {duration(spent)}, {duration(left)} left: {planned.key}")
