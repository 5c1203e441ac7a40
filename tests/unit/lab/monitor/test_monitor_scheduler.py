"""When are maps measured, and what always holds of their periods and of the monitor's state?"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.algorithms import MonitorState
from gpusim.lab.monitor.curves import Curves, jumping, observed, rising, with_jump
from gpusim.lab.monitor.overhead import TABLE_6_6, expected_processes, hibernates_after
from gpusim.lab.monitor.replay import Replay, replay
from gpusim.lab.monitor.scheduler import MonitorError, Scheduler
from tests.support.daily import given_daily

SMALL = MonitorSpec(initial_period=4, hibernation_period_unit=32, duration=2, first_iteration=4, max_history_length=3)


def curves(*lines: np.ndarray) -> Curves:
    names = tuple(f"map{number}" for number in range(len(lines)))
    return Curves("test", names, np.arange(len(lines[0])), np.stack(lines, axis=1))


def flat(length: int, level: float = 0.6) -> np.ndarray:
    return np.full(length, level)


def test_with_table_6_2_a_stable_map_hibernates_after_20500_iterations_and_15_processes() -> None:
    assert hibernates_after() == (20_500, 15)
    done = replay(curves(flat(150_000)), MonitorSpec(duration=1))
    assert [(change.iteration, change.state) for change in done.transitions] == [(20_500, MonitorState.HIBERNATE)]
    starts = [process.start for process in done.maps[0].processes]
    assert starts[:15] == [*range(500, 5501, 500), 6500, 8500, 12500, 20500]
    assert np.all(np.diff(starts[14:]) == 10_000)


@pytest.mark.parametrize(("iterations", "whole", "counted"), [(50_000, 17, 17.95), (150_000, 27, 27.95)])
def test_processes_of_the_source_s_trainings(iterations: int, whole: int, counted: float) -> None:
    assert {held.iterations for held in TABLE_6_6.values()} >= {iterations}
    assert expected_processes(iterations) == pytest.approx(counted)  # about 18 and 28
    assert len(replay(curves(flat(iterations))).maps[0].processes) == whole  # the next begins 500 iterations later


def test_a_training_that_ends_before_hibernation_is_refused() -> None:
    with pytest.raises(ValueError, match="20500"):
        expected_processes(20_000)


def test_a_process_measures_its_duration_and_its_mean_is_believed_from_the_next_iteration() -> None:
    line = flat(12)
    line[5] = 0.8
    done = replay(curves(line), SMALL).maps[0]
    assert done.measured.tolist() == [4, 5, 8, 9]
    assert [process.sparsity for process in done.processes] == pytest.approx([0.7, 0.6])
    assert np.isnan(done.believed[:6]).all()
    assert done.believed[6:10] == pytest.approx([0.7] * 4)
    assert done.believed[10:] == pytest.approx([0.6] * 2)
    assert done.max_error == pytest.approx(0.1)
    assert done.mean_error == pytest.approx(0.4 / 6)


def test_fast_termination_saves_the_rest_of_a_process_and_leaves_the_others_theirs() -> None:
    done = replay(curves(flat(40, 0.6), flat(40, 0.2)), replace_settings(duration=3))
    dense, low = done.maps
    assert len(low.measured) == len(low.processes)
    assert len(dense.measured) == 3 * len(dense.processes)
    assert low.share_sparse == 0.0 and low.share_misjudged == 0.0


def replace_settings(**values: object) -> MonitorSpec:
    return MonitorSpec(**{**SMALL.model_dump(), **values})


def test_maps_have_periods_of_their_own() -> None:
    moving = np.linspace(0.3, 0.95, 60)  # by 0.13 within three processes
    restless = np.tile(np.repeat([0.95, 0.4], 4), 8)[:60]  # another level each period
    done = replay(curves(moving, restless), SMALL)
    assert done.state is MonitorState.ACTIVE
    assert done.maps[0].processes[-1].period > 4
    assert {process.period for process in done.maps[1].processes} == {4}


def test_a_jump_ends_hibernation_and_gives_all_maps_their_first_period() -> None:
    line = with_jump(flat(400), 200, -0.4)
    done = replay(curves(line, flat(400)), SMALL)
    states = [change.state for change in done.transitions]
    assert states[:2] == [MonitorState.HIBERNATE, MonitorState.ACTIVE] and done.transitions[1].by == "map0"
    woken = done.transitions[1].iteration
    assert woken >= 200
    jumped, calm = done.maps
    assert next(p.start for p in jumped.processes if p.start > woken) == woken + SMALL.initial_period
    # its process may have been under way; after it Algorithm 1 goes on with its history, which is whole
    under_way = next(p for p in calm.processes if p.last >= woken)
    assert under_way.start <= woken + SMALL.initial_period and under_way.period == 2 * SMALL.initial_period


def test_a_slow_drift_is_no_jump() -> None:
    line = np.linspace(0.4, 0.9, 2_000)
    assert [change.state for change in replay(curves(line), SMALL).transitions] == [MonitorState.HIBERNATE]


def test_hibernation_from_the_start_fills_the_history_there() -> None:
    settings_ = replace_settings(initial_period=32, first_iteration=0)
    scheduler = Scheduler(["a"], settings_)
    for number in range(5):
        for iteration in (32 * number, 32 * number + 1):
            assert scheduler.due(iteration) == ("a",)
            scheduler.record(iteration, "a", 0.5)
        assert scheduler.state is MonitorState.HIBERNATE
        assert len(scheduler.sparsity_list["a"].history) == min(number + 1, SMALL.max_history_length)


lines = st.lists(st.sampled_from((0.1, 0.25, 0.35, 0.5, 0.65, 0.95)), min_size=4, max_size=30).map(
    lambda levels: np.repeat(levels, 9)
)


@st.composite
def monitored(draw: st.DrawFn) -> tuple[Curves, MonitorSpec]:
    count, length = draw(st.integers(1, 3)), 9 * draw(st.integers(4, 30))
    drawn = [np.resize(draw(lines), length) for _ in range(count)]
    initial = draw(st.integers(2, 6))
    spec = MonitorSpec(
        initial_period=initial,
        duration=draw(st.integers(1, initial - 1)),
        hibernation_period_unit=draw(st.integers(initial, 40)),
        hibernation_units=draw(st.integers(1, 2)),
        first_iteration=draw(st.integers(0, 9)),
        max_history_length=draw(st.integers(1, 4)),
        fast_termination_threshold=draw(st.sampled_from((0.0, 0.3, 0.6))),
    )
    return curves(*drawn), spec


def naive_belief(done: Replay, number: int) -> list[float | None]:
    """Iteration by iteration."""
    ends = {process.last: process.sparsity for process in done.maps[number].processes}
    found: list[float | None] = []
    believed = None
    for iteration in range(done.length):
        found.append(believed)
        believed = ends.get(iteration, believed)
    return found


@given_daily(20, 60, monitored())
def test_what_always_holds(drawn: tuple[Curves, MonitorSpec]) -> None:
    true, spec = drawn
    done = replay(true, spec)
    for number, held in enumerate(done.maps):
        assert np.all(np.diff(held.measured) > 0)  # rising, and none twice
        assert held.measured.size <= len(held.truth)
        for process in held.processes:
            assert spec.initial_period <= process.period <= spec.hibernation_period
            assert 1 <= process.measurements <= spec.duration
            assert process.last == process.start + process.measurements - 1
            values = held.truth[process.start : process.last + 1]
            assert process.sparsity == pytest.approx(values.mean())
            assert np.all(values[:-1] >= spec.fast_termination_threshold)
            assert process.measurements == spec.duration or values[-1] < spec.fast_termination_threshold
        for before, after in pairwise(held.processes):
            assert before.last < after.start <= before.start + before.period
            doubled = {min(2 * period, spec.hibernation_period) for period in (before.period, spec.initial_period)}
            assert after.period in {before.period, spec.initial_period} | doubled
        naive = [float("nan") if b is None else b for b in naive_belief(done, number)]
        np.testing.assert_array_equal(held.believed, naive)
    states = [MonitorState.ACTIVE, *(change.state for change in done.transitions)]
    assert all(a is not b for a, b in pairwise(states))
    assert done.state is states[-1]


@given_daily(20, 60, monitored(), st.integers(0, 3))
def test_from_hibernation_a_jump_always_and_nothing_else_wakes(drawn: tuple[Curves, MonitorSpec], extra: int) -> None:
    true, spec = drawn
    scheduler = Scheduler(true.maps, spec)
    for iteration in range(true.length):
        for name in scheduler.due(iteration):
            row, before = scheduler.sparsity_list[name], scheduler.state
            history, count = row.history, len(row.processes)
            scheduler.record(iteration, name, float(true.line(name)[iteration]))
            if len(row.processes) == count or before is MonitorState.ACTIVE:
                continue
            full = len(history) == spec.max_history_length
            jumped = full and abs(row.believed - history[0]) >= spec.ssda_threshold
            assert (scheduler.state is MonitorState.ACTIVE) == jumped
            if jumped:
                assert {each.period for each in scheduler.sparsity_list.values()} == {spec.initial_period}
                assert all(each.due <= row.start + spec.initial_period for each in scheduler.sparsity_list.values())
        if scheduler.state is MonitorState.HIBERNATE:
            assert {each.period for each in scheduler.sparsity_list.values()} == {spec.hibernation_period}


def test_skipped_iterations_are_made_up_for() -> None:
    scheduler = Scheduler(["a"], SMALL)
    assert scheduler.due(3) == () and scheduler.due(50) == ("a",)
    scheduler.record(50, "a", 0.2)  # terminated fast: the process began here
    assert scheduler.next_iteration == 54


def test_the_observed_curves_end_in_hibernation_and_a_jump_wakes_them() -> None:
    assert replay(observed(25_000)).state is MonitorState.HIBERNATE
    done = replay(jumping())
    assert [change.state for change in done.transitions] == [MonitorState.HIBERNATE, MonitorState.ACTIVE]
    assert all(held.mean_error < 0.02 for held in done.maps)


def test_rising_curves_rise_and_stay() -> None:
    line = rising(1_000, 0.3, 0.7, 200)
    assert np.all(np.diff(line[:200]) > 0) and np.ptp(line[200:]) == 0.0
    assert line[0] == 0.3 and line[-1] == pytest.approx(0.7 - 0.4 * np.exp(-3.0))


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"duration": 500}, "fewer than the initial period's 500"),
        ({"initial_period": 20_000, "duration": 1}, "at least as many"),
        ({"dpaa_threshold": 1.5}, "less than or equal to 1"),
        ({"threshold": 0.3}, "threshold"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict[str, object], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        MonitorSpec(**values)


def test_wrong_use_is_named() -> None:
    with pytest.raises(MonitorError, match="no map"):
        Scheduler([])
    with pytest.raises(MonitorError, match="two maps are named 'a'"):
        Scheduler(["a", "b", "a"])
    scheduler = Scheduler(["conv1"], SMALL)
    with pytest.raises(MonitorError, match="did you mean 'conv1'"):
        scheduler.record(4, "conv", 0.5)
    with pytest.raises(MonitorError, match="due in 4"):
        scheduler.record(3, "conv1", 0.5)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(MonitorError, match="from 0 to 1"):
            scheduler.record(4, "conv1", wrong)


def test_level_shares_are_of_the_believed_sparsity() -> None:
    held = replay(curves(flat(100, 0.6)), SMALL).maps[0]
    shares = held.level_shares((0.0, 0.5, 0.7, 1.0))
    assert shares.tolist() == [0.06, 0.94, 0.0]
    with pytest.raises(ValueError, match="outside"):
        replace(held, believed=flat(100, 0.9)).level_shares((0.0, 0.5))
