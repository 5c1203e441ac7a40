"""Are missing points run, each once, kept at once, and found again?"""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusim.base.progress import Reporter
from gpusim.config import files
from gpusim.config.monitor import MonitorSpec
from gpusim.config.network_run import NetworkSettings, load_settings
from gpusim.jobs.estimates.run_costs import RunEstimate, estimate_network_run
from gpusim.jobs.networks.run import NetworkRunRequest, planned_iteration
from gpusim.lab.papers import plan
from gpusim.lab.papers.network_points import load_network_once
from gpusim.lab.papers.plan import _NO_ESTIMATE, _NO_MEMORY, ReproductionPlan, plan_points
from gpusim.lab.papers.publication import Reproduction
from gpusim.lab.papers.running import NOT_AS_EXPECTED, PlanOutcome, PlanRunner
from gpusim.model.energy.spec import EnergySpec
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.store.keeper import StoreWriter
from gpusim.results.store.outcome import RunOutcome, failed
from gpusim.study.sweep.tasks import JobTask, TaskResult
from spartan.engine_spec import EngineSpec
from tests.support.other_process import other_process
from tests.support.reproduction import loaded

ELSEWHERE = {
    "sparsity": 0.5,
    "layer_sparsity": {"conv2": 0.5},
    "engine": EngineSpec(sib_kib=16),
    "energy": EnergySpec(enabled=False),
    "monitor": MonitorSpec(initial_period=700),
    "sampling": SamplingSpec(error=0.2),
    "sparse_convolution": "ellpack_dib_fused",
    "sparse_gradients": True,
}
"""Other values of settings that planning takes to need no memory, or no other estimate."""


@pytest.mark.parametrize("setting", [*sorted(_NO_MEMORY), "convolution"])
def test_settings_that_planning_does_not_compare_need_no_memory(setting: str) -> None:
    settings = load_settings(files.opened("mi6", "gpus"), ["sparsity=0.25", "convolution=im2col_chunked"])
    other = settings.model_copy(update={setting: ELSEWHERE.get(setting, "winograd_2x2")})
    assert getattr(other, setting) != getattr(settings, setting)
    needed = [planned_iteration(load_network_once("alexnet"), each, 2, True)[0].bytes for each in (settings, other)]
    assert (needed[0] == needed[1]) == (setting in _NO_MEMORY)


@pytest.fixture(scope="module")
def estimated() -> tuple[NetworkSettings, RunEstimate]:
    """Settings and their estimate."""
    settings = load_settings(files.opened("mi6", "gpus"), ["sparsity=0.25", "convolution=im2col_chunked"])
    return settings, estimate(settings)


def estimate(settings: NetworkSettings) -> RunEstimate:
    wanted = NetworkRunRequest(2, True, layers="conv2:ip2", data="synthetic", verify=False, engine="on")
    return estimate_network_run(load_network_once("lenet"), settings, wanted)


@pytest.mark.parametrize("setting", [*sorted(_NO_ESTIMATE), "convolution"])
def test_settings_that_planning_does_not_compare_leave_the_estimate(
    setting: str, estimated: tuple[NetworkSettings, RunEstimate]
) -> None:
    settings, before = estimated
    other = settings.model_copy(update={setting: ELSEWHERE.get(setting, "winograd_2x2")})
    assert getattr(other, setting) != getattr(settings, setting)
    assert (before == estimate(other)) == (setting in _NO_ESTIMATE)


class Pretended:
    """An executor of one process that simulates nothing (gpusim.study.sweep.executor.Executor)."""

    def __init__(self, outcome: Callable[[JobTask], RunOutcome]) -> None:
        self.outcome, self.asked = outcome, list[JobTask]()
        self._waiting: list[tuple[int, JobTask]] = []

    @property
    def full(self) -> bool:
        return bool(self._waiting)

    @property
    def running(self) -> int:
        return len(self._waiting)

    def submit(self, key: int, task: JobTask) -> None:
        self.asked.append(task)
        self._waiting.append((key, task))

    def finished(self) -> list[tuple[int, TaskResult]]:
        held, self._waiting = self._waiting, []
        return [(key, TaskResult(self.outcome(task), "2020-01-01T00:00:00Z", 2.0)) for key, task in held]

    def stop(self) -> None:
        self._waiting = []


class Stop:
    """An interrupt (gpusim.base.interrupt.Interrupt) that a test asks for."""

    asked = False


def done(_: JobTask) -> RunOutcome:
    return RunOutcome({"records": [], "variants": []}, "done", 0)


def small(reproduction: Reproduction, exact: bool = False) -> ReproductionPlan:
    return plan_points(reproduction, {"cache": reproduction.figures["cache"]}, exact)


def run(tmp_path: Path, planned: ReproductionPlan, executor: Pretended, interrupt: Stop | None = None) -> PlanOutcome:
    with StoreWriter(tmp_path / "store.db") as keeper:
        return PlanRunner(keeper, executor, Reporter(quiet=True), interrupt or Stop()).run(planned)  # type: ignore[arg-type]


def test_how_many_points_are_estimated_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PLAIN_INTERVAL_S", 0.0)
    points, said = [*small(loaded(tmp_path)).points.values()], io.StringIO()
    assert [*plan.estimated(points, Reporter(stream=said))] == points
    assert said.getvalue().splitlines() == [f"estimating: {number} of 4 points" for number in range(1, 5)]


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    first = run(tmp_path, small(reproduction), Pretended(done))
    assert (first.ran, first.found, first.seconds) == (4, 0, 8.0)
    executor = Pretended(done)
    all_ = plan_points(reproduction, reproduction.figures)
    second = run(tmp_path, all_, executor)
    assert (second.ran, second.found) == (len(all_.points) - 4, 4) and len(executor.asked) == second.ran


def test_the_longest_come_first(tmp_path: Path) -> None:
    plan, executor = plan_points(reproduction := loaded(tmp_path), reproduction.figures), Pretended(done)
    run(tmp_path, plan, executor)
    seconds = {id(one.config): one.seconds for one in plan.points.values()}
    found = [seconds[id(task.arguments[0])] for task in executor.asked]
    assert found == sorted(found, reverse=True) and len(set(found)) > 1


def test_a_point_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    def outcome(task: JobTask) -> RunOutcome:
        return failed("no memory") if task.arguments[0].kernels.dense == "sgemm_4x4" else done(task)

    ran = run(tmp_path, small(loaded(tmp_path)), Pretended(outcome))
    assert ran.errors == {"one 1 any old": "no memory"} and ran.ran == 3
    again = Pretended(done)
    assert run(tmp_path, small(loaded(tmp_path)), again).found == 3 and len(again.asked) == 1


def test_a_wrong_result_is_an_error_now_and_later(tmp_path: Path) -> None:
    def outcome(task: JobTask) -> RunOutcome:
        return RunOutcome({"records": [], "variants": []}, "done", int(task.arguments[0].run.engine == "off"))

    plan = small(loaded(tmp_path), exact=True)
    wrong = {"one 1 any best": NOT_AS_EXPECTED, "one 1 any old": NOT_AS_EXPECTED}
    assert run(tmp_path, plan, Pretended(outcome)).errors == wrong
    assert run(tmp_path, plan, Pretended(done)).errors == wrong


def test_a_run_in_whole_does_not_stand_for_a_sampled_one(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    run(tmp_path, small(reproduction, exact=True), Pretended(done))
    assert run(tmp_path, small(reproduction), Pretended(done)).found == 0
    other = tmp_path / "other"
    other.mkdir()
    run(other, small(reproduction), Pretended(done))
    assert run(other, small(reproduction, exact=True), Pretended(done)).found == 0


@pytest.mark.parametrize("after", [1, 3])
def test_interrupted_it_keeps_what_has_ended_and_goes_on_later(tmp_path: Path, after: int) -> None:
    stop, seen = Stop(), []

    def outcome(task: JobTask) -> RunOutcome:
        seen.append(task)
        stop.asked = len(seen) == after
        return done(task)

    plan = small(loaded(tmp_path))
    assert run(tmp_path, plan, Pretended(outcome), stop).ran == after
    assert run(tmp_path, plan, Pretended(done)).found == after


def test_a_point_that_another_process_computes_is_waited_for_and_not_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan, executor = small(loaded(tmp_path)), Pretended(done)
    first = max(plan.points.values(), key=lambda one: one.seconds)
    held = RunOutcome({"records": [], "variants": []}, "done", 0)
    with (
        other_process(tmp_path / "store.db", first.work, held) as (child, _),
        StoreWriter(tmp_path / "store.db") as keeper,
    ):
        look = executor.finished

        def finished() -> list[tuple[int, TaskResult]]:
            if len(executor.asked) == len(plan.points) - 1 and not executor.running and not child.poll():
                child.send("keep it")
                assert child.poll(10)
            return look()

        executor.finished = finished  # type: ignore[method-assign]
        ran = PlanRunner(keeper, executor, Reporter(), Stop()).run(plan)  # type: ignore[arg-type]
    assert (ran.found, ran.ran, ran.errors) == (1, len(plan.points) - 1, {})
    assert capfd.readouterr().err.count(f"{first.key}: equal work is under way") == 1
