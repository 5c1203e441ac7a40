"""What becomes of a point that another process computes at the same time?"""

from pathlib import Path
from typing import Any

import pytest

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.sweep import SweepOverrides, load_sweep
from gpusim.results.store.keeper import RunTiming, StoreWriter
from gpusim.results.store.outcome import RunOutcome, failed
from gpusim.results.store.reading import StoreReader
from gpusim.study.sweep.points import list_points
from gpusim.study.sweep.running import SweepProgress, SweepRunner, _SweepReporter
from gpusim.study.sweep.tasks import TaskResult, prepared

DONE = TaskResult(RunOutcome({}, "done", 0), "2026-01-01T00:00:00Z", 1.0)


class Beside:
    """An executor that simulates nothing; while it has the first point, another process stores its run."""

    full = False

    def __init__(self, store: Path, work: Any) -> None:
        self.store, self.work, self.begun = store, work, []

    @property
    def running(self) -> int:
        return len(self.begun)

    def submit(self, key: int, task: Any) -> None:
        self.begun.append(key)

    def finished(self) -> list[tuple[int, TaskResult]]:
        with StoreWriter(self.store) as other:
            if other.found(self.work) is None:
                other.keep(self.work, DONE.outcome, RunTiming(DONE.date, 1.0, "another"))
        found, self.begun = [(key, DONE) for key in self.begun], []
        return found

    def stop(self) -> None:
        pass


def test_a_point_that_came_in_meanwhile_is_known_by_that_run(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    spec, document = load_sweep("layerB", SweepOverrides(("engine.sib_kib=4,8",)))
    work, _ = prepared(spec, list_points(spec)[0], document.path)
    with StoreWriter(store) as keeper, Interrupt() as interrupt:
        executor: Any = Beside(store, work)
        done = SweepRunner(spec, document.path, keeper, executor, Reporter(quiet=True), interrupt).run()
    assert (done.found, done.ran, done.known) == (1, 1, 2)
    with StoreReader(store) as results:
        assert results.run(1)["host"] == "another"
        assert [(row["number"], row["run"]) for row in results.table("points")] == [(0, 1), (1, 2)]


def test_what_is_left_is_reckoned_by_the_work_of_each_workload() -> None:
    """Two points of a slow layer took 3 s each, one of a fast layer 1 s; left are a slow one and three fast ones."""
    said = _SweepReporter(Reporter(quiet=True), SweepProgress(7), ["config"])
    slow, fast = {"config": "A"}, {"config": "C"}
    said.asked([slow] * 3 + [fast] * 4)
    for point, seconds in ((slow, 3.0), (slow, 3.0), (fast, 1.0)):
        said.point(point, failed("no"), seconds)
    assert said._share_left() == pytest.approx((3 + 3 * 1) / 7)
    said.found(fast)
    assert said._share_left() == pytest.approx((3 + 2 * 1) / 7)
