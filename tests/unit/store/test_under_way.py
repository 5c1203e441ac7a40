"""Does a process wait for the work that another one does, and for no longer than that one lives?"""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.sweep import SweepOverrides, load_sweep
from gpusim.results.store import keeper as keeping
from gpusim.results.store.keeper import MatchingRun, RunClock, StoreWriter, WorkInOtherProcess
from gpusim.results.store.outcome import failed
from gpusim.results.store.under_way import FOLDER
from gpusim.results.store.work import RunDescription
from gpusim.study.sweep.points import list_points
from gpusim.study.sweep.running import SweepRunner
from gpusim.study.sweep.tasks import TaskResult, prepared
from tests.support.other_process import DONE, other_process

WORK = RunDescription("run", "layer", {"gpu": {"name": "g"}}, (), "g")


def test_work_under_way_is_waited_for_and_its_result_taken(tmp_path: Path) -> None:
    store, said = tmp_path / "s.db", list[str]()
    with StoreWriter(store) as keeper, other_process(store, WORK) as (child, process):

        def hear(text: str) -> None:
            said.append(text)
            child.send("keep it")

        found = keeper.wait(WORK, hear)
        assert isinstance(found, MatchingRun) and found.number == 1
        assert len(said) == 1 and f"process {process.pid} on " in said[0] and ", since 20" in said[0]
        assert isinstance(keeper.take(WORK), MatchingRun)
        assert keeper.take(replace(WORK, title="layer", configuration={})) is None  # other work is nobody's
    assert not (tmp_path / FOLDER.format("s.db")).exists()


@pytest.mark.parametrize("end", ["killed", "failed"])
def test_who_is_killed_or_fails_holds_nobody_up(tmp_path: Path, end: str) -> None:
    store = tmp_path / "s.db"
    with StoreWriter(store) as keeper, other_process(store, WORK, failed("no")) as (child, process):

        def hear(_: str) -> None:
            if end == "killed":
                os.kill(process.pid, signal.SIGKILL)
            else:
                child.send("keep it")

        assert keeper.wait(WORK, hear) is None
    assert not (tmp_path / FOLDER.format("s.db")).exists()


def test_fresh_work_and_what_cannot_be_repeated_wait_for_nobody(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    with other_process(store, WORK), StoreWriter(store, fresh=True) as fresh, StoreWriter(store) as keeper:
        assert fresh.take(WORK) is None
        assert keeper.take(replace(WORK, repeatable=False)) is None
        assert isinstance(keeper.take(WORK), WorkInOtherProcess)


def test_without_a_place_for_locks_work_is_done_all_the_same(tmp_path: Path) -> None:
    """A folder that cannot be made stands for a full disk and for rights that lack."""
    store = tmp_path / "s.db"
    (tmp_path / FOLDER.format("s.db")).write_text("in the way")
    with StoreWriter(store) as keeper:
        assert keeper.take(WORK) is None
        assert keeper.keep(WORK, DONE, RunClock()).added


class Runs:
    """An executor that has done every task by the next look; submitted: their numbers; ended: called after two."""

    full = False

    def __init__(self) -> None:
        self.submitted, self._back = list[int](), list[int]()
        self.ended: Any = None

    @property
    def running(self) -> int:
        return len(self._back)

    def submit(self, key: int, _: Any) -> None:
        self.submitted.append(key)
        self._back.append(key)

    def finished(self) -> list[tuple[int, TaskResult]]:
        found, self._back = [(key, TaskResult(DONE, "2026-01-01T00:00:00Z", 1.0)) for key in self._back], []
        if found and len(self.submitted) == 2:
            self.ended()
        return found

    def stop(self) -> None:
        pass


@pytest.mark.parametrize("end", ["kept", "killed"])
def test_a_sweep_does_its_other_points_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], end: str
) -> None:
    store = tmp_path / "s.db"
    spec, document = load_sweep("layerB", SweepOverrides(("engine.sib_kib=4,8,16",)))
    work, _ = prepared(spec, list_points(spec)[0], document.path)
    monkeypatch.setattr(keeping, "LOOK_EVERY_S", 0.01)
    executor: Any = Runs()
    with other_process(store, work) as (child, process), StoreWriter(store) as keeper, Interrupt() as interrupt:
        sweep = SweepRunner(spec, document.path, keeper, executor, Reporter(), interrupt)

        def ended() -> None:
            if end == "killed":
                os.kill(process.pid, signal.SIGKILL)
            else:
                child.send("keep it")

        executor.ended = ended
        done = sweep.run()
    assert executor.submitted == ([1, 2] if end == "kept" else [1, 2, 0])
    assert (done.found, done.ran, done.known) == ((1, 2, 3) if end == "kept" else (0, 3, 3))
    assert f"sib_kib=4: equal work is under way: waiting for the result of process {process.pid} on " in (
        capfd.readouterr().err
    )
