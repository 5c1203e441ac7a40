"""A sweep from its specification to a store that has all its points: what is there is not run again."""

import json
import math
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from gpusim.base.axis_roles import roles_of
from gpusim.base.errors import UserError
from gpusim.base.follow import overall
from gpusim.base.formats import duration
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.sweep import SweepSpec
from gpusim.results.store.keeper import (
    MatchingRun,
    PendingWork,
    RunClock,
    RunTiming,
    StoredResult,
    StoreWriter,
    WorkInOtherProcess,
)
from gpusim.results.store.outcome import RunOutcome, failed
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.work import RunDescription, identity_of
from gpusim.study.sweep.executor import Executor
from gpusim.study.sweep.objectives import Objectives, read
from gpusim.study.sweep.points import Point, list_points
from gpusim.study.sweep.search import Search
from gpusim.study.sweep.tasks import PointTask, TaskResult, check_paths, prepared


@dataclass
class SweepProgress:
    """Progress of a sweep: points by how they came to be known."""

    points: int
    """Points of the sweep."""
    stored: int = 0
    """Points that the store had."""
    found: int = 0
    """Points whose result another point or command gave meanwhile."""
    ran: int = 0
    """Points that were run."""
    failed: int = 0
    """Points that failed."""

    @property
    def known(self) -> int:
        """Points that have a run in the store."""
        return self.stored + self.found + self.ran + self.failed


@dataclass
class SweepRunner:
    """A sweep over a store."""

    spec: SweepSpec
    """Contents of the sweep's file."""
    file: Path
    """Path of the sweep's file; relative names start from its folder."""
    keeper: StoreWriter
    """Store of the results."""
    executor: Executor
    """Runs the points."""
    reporter: Reporter
    """Receives progress and messages."""
    interrupt: Interrupt
    """Tells whether the user has stopped the sweep."""
    retry: bool = False
    """Run failed points again."""
    fresh: bool = False
    """Run all points again."""
    number: int = 0
    """Number of the sweep in the store."""
    progress: SweepProgress = field(default_factory=lambda: SweepProgress(0))
    """Number of finished points."""

    def __post_init__(self) -> None:
        self._points: list[Point] = []
        self._waiting: dict[str, list[int]] = {}  # work that is being done → points that want it
        self._working: dict[int, RunDescription] = {}
        self._elsewhere = PendingWork[tuple[RunDescription, PointTask]]()

    def run(self) -> SweepProgress:
        """Run the missing points; an interrupt gives up those under way. Raise UserError before anything runs."""
        check_paths(self.spec)
        objectives, search = Objectives(self.spec), Search(self.spec) if self.spec.method == "search" else None
        points = list_points(self.spec) if search is None else []
        planned = len(points) if search is None else self.spec.points
        assert planned is not None
        self.number = self.keeper.sweep(self.identity, self.title, self.spec.model_dump(mode="json"), planned)
        chosen = self.keeper.chosen(self.number)
        if search is None:
            if len(chosen) < len(points):
                self.keeper.choose(self.number, 0, points)
        else:
            points = [search.point_of(stored) for stored in chosen]
        there = set() if self.fresh else self.keeper.points_there(self.number, self.retry)
        self.progress.points, self.progress.stored = planned, len(there)
        workload = [path for path, role in roles_of(self.spec.axes, self.spec.roles).items() if role == "workload"]
        self._said = _SweepReporter(self.reporter, self.progress, workload)
        try:
            while self._run(points, there) and search is not None and len(self._points) < planned:
                values = self._values(objectives)
                more = search.next(self._points, values)
                self.keeper.choose(self.number, len(self._points), more)
                points = [*self._points, *more]
                if not more:
                    self._said.ended(search.plateau(self._points, values), self.spec.search.patience)
                    self.progress.points = len(points)
                    break
        finally:
            self.executor.stop()
        return self.progress

    def _run(self, points: Sequence[Point], there: Collection[int]) -> bool:
        """Run the points that are new, except those in the store; return False where an interrupt came."""
        begun, self._points = len(self._points), list(points)
        self._said.asked([point for number, point in enumerate(points) if number >= begun and number not in there])
        for number in range(begun, len(points)):
            if number in there:
                continue
            prepared = self._prepared(number, points[number])  # before it waits: no worker then waits for this
            while self.executor.full and not self.interrupt.asked:
                self._collect()
            if self.interrupt.asked:
                return False
            if prepared is not None:
                self._begin(number, points[number], *prepared)
        while (self.executor.running or self._elsewhere) and not self.interrupt.asked:
            self._collect()
            for number, (work, task) in self._elsewhere.due(lambda: self.executor.full):
                self._begin(number, self._points[number], work, task)
        return not self.interrupt.asked

    def _values(self, objectives: Objectives) -> list[list[float] | None]:
        """Return the objectives' values at each point, as the store has them."""
        values_by_point: list[list[float] | None] = [None] * len(self._points)
        with StoreReader(self.keeper.path) as results:
            table, estimates = read(results, self.number, objectives)
            for row, values in zip(table, estimates, strict=True):
                if values is not None:
                    values_by_point[row["point"]] = [value for value, _ in values]
        return values_by_point

    @property
    def any_failed(self) -> bool:
        """Whether a point has failed, now or before."""
        return bool(self.keeper.points_there(self.number) - self.keeper.points_there(self.number, retry=True))

    @property
    def title(self) -> str:
        """The sweep's title for people."""
        return self.spec.title or f"{self.spec.kind} {Path(self.spec.varied).stem}: {', '.join(self.spec.axes)}"

    @property
    def identity(self) -> str:
        """A hash of the points, the same whatever the sweep's title, its file's place and its objectives."""
        others = {"title"} if self.spec.method == "search" else {"title", "objectives", "variant", "search", "roles"}
        said = {key: value for key, value in self.spec.model_dump(mode="json").items() if key not in others}
        said["axes"] = list(said["axes"].items())  # their order numbers the points
        return identity_of(json.dumps(said, sort_keys=True))

    def _prepared(self, number: int, point: Point) -> tuple[RunDescription, PointTask] | None:
        """Return a point's work and task; None if no configuration can be made of it, and it is stored as failed."""
        started = RunClock()
        try:
            return prepared(self.spec, point, self.file)
        except UserError as error:
            done = TaskResult(failed("; ".join(error.problems)), started.date, started.seconds)
            self._keep(self._without_configuration(point), done, [number])
            self.progress.failed += 1
            self._said.point(point, done.outcome, 0.0)
            return None

    def _begin(self, number: int, point: Point, work: RunDescription, task: PointTask) -> None:
        """Find a point's work in the store, or start its task, unless another process does the same."""
        if work.identity in self._waiting:
            self._waiting[work.identity].append(number)
            return
        taken = self.keeper.take(work)
        if isinstance(taken, MatchingRun):
            self.keeper.keep_point(self.number, [number], taken.number)
            self.progress.found += 1
            self._said.found(point)
        elif isinstance(taken, WorkInOtherProcess):
            self._said.elsewhere(point, taken)
            self._elsewhere.add(number, (work, task))
        else:
            self._waiting[work.identity], self._working[number] = [number], work
            self.executor.submit(number, task)

    def _collect(self) -> None:
        for number, done in self.executor.finished():
            if self.interrupt.asked:
                return
            work = self._working.pop(number)
            numbers = self._waiting.pop(work.identity)
            kept = self._keep(work, done, numbers)
            if done.outcome.state == "failed":
                self.progress.failed += len(numbers)
            elif not kept.added:
                self.progress.found += len(numbers)
            else:
                self.progress.ran += len(numbers)
            self._said.point(self._points[number], done.outcome, done.seconds)
            for other in numbers[1:]:  # which wanted the same work
                self._said.found(self._points[other])

    def _keep(self, work: RunDescription, done: TaskResult, numbers: Sequence[int]) -> StoredResult:
        return self.keeper.keep(work, done.outcome, RunTiming(done.date, done.seconds, done.host), self.number, numbers)

    def _without_configuration(self, point: Point) -> RunDescription:
        """Return the work of a point of which no configuration can be made."""
        given: Mapping[str, Any] = {"given": {**self.spec.sets, **point}}
        return RunDescription(self.spec.kind, self.spec.varied, given, (), "", repeatable=False)  # type: ignore[arg-type]


class _SweepReporter:
    """Reports progress, a line every few seconds and one for each point that fails."""

    EVERY_S = 5.0

    def __init__(self, reporter: Reporter, progress: SweepProgress, workload: Sequence[str]) -> None:
        self._reporter, self._progress, self._workload = reporter, progress, workload
        self._start = self._said = time.monotonic()
        self._holders: set[str] = set()  # other processes that do points' work, once told
        self._left: Counter[tuple[str, ...]] = Counter()  # points to be run, by workload
        self._taken: dict[tuple[str, ...], list[float]] = {}  # seconds of those that ran
        self.known()

    def asked(self, points: Sequence[Point]) -> None:
        """Note points that are to be run."""
        self._left.update(map(self._key, points))

    def found(self, point: Point) -> None:
        """Note a point that need not be run: an equal one was there."""
        self._left[self._key(point)] -= 1
        self.known()

    def elsewhere(self, point: Point, taken: WorkInOtherProcess) -> None:
        """Say, once of each process and moment, that a point is waited for which another process computes."""
        if taken.holder not in self._holders:
            self._reporter.say(f"{_label(point)}: {taken.sentence}")
        self._holders.add(taken.holder)

    def _key(self, point: Point) -> tuple[str, ...]:
        return tuple(repr(point[path]) for path in self._workload)

    def _share_left(self) -> float:
        """Return the work that is left over the work done: a workload's points take as long as its others did."""
        done = math.fsum(seconds for taken in self._taken.values() for seconds in taken)
        count = sum(map(len, self._taken.values()))
        usual = done / max(count, 1)
        left = (n * (fmean(self._taken[key]) if key in self._taken else usual) for key, n in self._left.items())
        return math.fsum(left) / done if done else 0.0

    def known(self, label: str = "") -> None:
        """Report how many points are known; label: of the last of them."""
        overall(self._progress.known, self._progress.points, "points", label)

    def ended(self, on_plateau: bool, patience: int) -> None:
        """Report why a search asks for no more points."""
        why = f"the last {patience} designs brought nothing better" if on_plateau else "no other point is allowed"
        self._reporter.say(f"the search ends after {self._progress.known} points: {why}")

    def point(self, point: Point, outcome: RunOutcome, seconds: float) -> None:
        """Report a point that has ended, after so many seconds; 0: it could not begin."""
        self._left[self._key(point)] -= 1
        if seconds and not self._taken:
            self._start = time.monotonic() - seconds  # what was compiled before is over
        if seconds:
            self._taken.setdefault(self._key(point), []).append(seconds)
        now, label = time.monotonic(), _label(point)
        self.known(label)
        if outcome.state == "failed":
            self._reporter.say(f"failed: {label}: {outcome.error}")
        if now - self._said < self.EVERY_S:
            return
        self._said = now
        known, points = self._progress.known, self._progress.points
        spent = now - self._start
        left = duration(spent * self._share_left())
        self._reporter.say(f"{known}/{points} points, {duration(spent)}, {left} left: {label}")


def _label(point: Point) -> str:
    return ", ".join(f"{path.rpartition('.')[2]}={value}" for path, value in point.items())
