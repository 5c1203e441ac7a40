"""The plan's runs: those that a store has are taken from it, the others are run side by side and kept at once."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpusim.base.follow import overall
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter, clock
from gpusim.base.sums import plain_sum
from gpusim.jobs.vendor import INSTALLING, is_there
from gpusim.reproduce.kept import Kept, Results, kept
from gpusim.reproduce.plan import Plan, Planned
from gpusim.store.keeper import Found, Keeper, Took
from gpusim.store.work import work_of_run
from gpusim.sweep.executor import Executor
from gpusim.sweep.tasks import Done, run_task
from workloads.vendor.libraries import VendorProduct

NOT_AS_EXPECTED = "the result is not NumPy's"


@dataclass
class Ran:
    """The outcome of a plan's points.

    found, ran: their numbers; errors: by point; left_out: points whose library is not installed, with its product;
    seconds: of the processes that ran now.
    """

    found: int = 0
    ran: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, VendorProduct] = field(default_factory=dict)
    seconds: float = 0.0
    wall_s: float = 0.0

    def sentence(self, points: int) -> str:
        """Return a sentence such as '12 of 14 points: 8 ran, 4 were there; 1:30, processes 2:41'."""
        said = [f"{self.ran} ran", f"{self.found} were there"] + ([f"{len(self.errors)} failed"] if self.errors else [])
        said += [f"{len(self.left_out)} left out"] if self.left_out else []
        known = self.ran + self.found + len(self.errors)
        return f"{known} of {points} points: {', '.join(said)}; {clock(self.wall_s)}, processes {clock(self.seconds)}"


def stored(keeper: Keeper, planned: Planned) -> Found | None:
    """Return the point's run in the store, one simulated in whole or else as configured; None without either."""
    sampling = planned.config.run.sampling
    if sampling is not None:
        run = planned.config.run.model_copy(update={"sampling": None, "verify": True})
        exact = keeper.found(work_of_run(planned.config.model_copy(update={"run": run})))
        if exact is not None and exact.exit_code == 0:
            return exact
    return keeper.found(planned.work)


def collected(
    name: str,
    plan: Plan,
    keeper: Keeper,
    errors: Mapping[str, str],
    said: Mapping[str, Any],
    earlier: Mapping[str, Kept],
) -> Results:
    """Return the results of each point that has a correct run in the store, or else was known earlier."""
    points = {key: earlier[key] for key in plan.points if key in earlier}
    for key, planned in plan.points.items():
        found = stored(keeper, planned)
        if found is not None and not found.exit_code:
            points[key] = kept(found.content, found.seconds)
    return Results(name, points, errors, said)


class Running:
    """Runs the missing points of a plan, the longest first, so that processes end together."""

    EVERY_S = 10.0

    def __init__(self, keeper: Keeper, executor: Executor, reporter: Reporter, interrupt: Interrupt) -> None:
        self._keeper, self._executor, self._reporter, self._interrupt = keeper, executor, reporter, interrupt
        self._done_s = self._all_s = self._start = self._said = 0.0

    def run(self, plan: Plan) -> Ran:
        """Run all missing points; an interrupt gives up those that are running."""
        ran, self._start = Ran(), time.monotonic()
        missing = []
        for planned in sorted(plan.points.values(), key=lambda one: -one.seconds):
            found = stored(self._keeper, planned)
            if found is None:
                products = [one for one in planned.config.vendor_products if not is_there(one)]
                if products:
                    ran.left_out[planned.point.key] = products[0]
                else:
                    missing.append(planned)
            elif found.exit_code:
                ran.errors[planned.point.key] = NOT_AS_EXPECTED
            else:
                ran.found += 1
        self._said, self._all_s = self._start, plain_sum(one.seconds for one in missing)
        if ran.left_out:
            self._say_left_out(ran.left_out)
        self._reporter.say(
            f"{len(missing)} of {len(plan.points)} points to run, about {clock(self._all_s)} of processor time"
        )
        try:
            for number, planned in enumerate(missing):
                while self._executor.full and not self._interrupt.asked:
                    self._collect(missing, ran)
                if self._interrupt.asked:
                    break
                self._executor.submit(number, run_task(planned.config, planned.work))
            while self._executor.running and not self._interrupt.asked:
                self._collect(missing, ran)
        finally:
            self._executor.stop()
        ran.wall_s = time.monotonic() - self._start
        return ran

    def _say_left_out(self, points: Mapping[str, VendorProduct]) -> None:
        libraries = sorted({product.library for product in points.values()})
        packages = " ".join(sorted({product.package for product in points.values()}))
        self._reporter.say(
            f"{len(points)} points are left out, as they were before: {' and '.join(libraries)} are not there:"
            f" {INSTALLING.format(packages=packages)}"
        )

    def _collect(self, missing: Sequence[Planned], ran: Ran) -> None:
        for number, done in self._executor.finished():
            planned = missing[number]
            self._keep(planned, done, ran)
            self._done_s += planned.seconds
            self._report(planned, len(missing), ran)

    def _keep(self, planned: Planned, done: Done, ran: Ran) -> None:
        self._keeper.keep(planned.work, done.outcome, Took(done.date, done.seconds, done.host))
        ran.seconds += done.seconds
        if done.outcome.state == "done" and done.outcome.exit_code == 0:
            ran.ran += 1
            return
        error = done.outcome.error or NOT_AS_EXPECTED
        ran.errors[planned.point.key] = error
        self._reporter.say(f"failed: {planned.point.key}: {error}")

    def _report(self, planned: Planned, count: int, ran: Ran) -> None:
        known, now = ran.ran + len(ran.errors), time.monotonic()
        overall(known, count, "points", planned.point.key)
        if now - self._said < self.EVERY_S and known < count:
            return
        self._said, spent = now, now - self._start
        left = spent * (self._all_s - self._done_s) / self._done_s
        self._reporter.say(f"{known}/{count} points, {clock(spent)}, {clock(left)} left: {planned.point.key}")
