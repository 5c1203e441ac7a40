"""Do Algorithms 1 and 2 do what Dong 2020 prints, but for the slips that are settled?"""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.lab.monitor.algorithms import MonitorState, dpaa, ends_process, ssda, updated

LENGTH, THRESHOLD, HIBERNATION = 4, 0.3, 800
sparsities = st.floats(0, 1).map(lambda s: round(s, 3))
histories = st.lists(sparsities, max_size=LENGTH).map(tuple)


class Printed:
    """Algorithm 1 line by line, on the state of one map, as the dissertation prints it."""

    def __init__(self, history: Sequence[float], period: int) -> None:
        self.history, self.active_period = list(history), period

    def dpaa(self, sparsity: float) -> None:
        if len(self.history) < LENGTH:
            self.history.append(sparsity)
        else:
            if abs(sparsity - self.history[0]) < THRESHOLD:
                self.active_period *= 2
            if self.active_period > HIBERNATION:
                self.active_period = HIBERNATION
            self.history = [*self.history[1:], sparsity]


@given(sparsities, histories, st.sampled_from((100, 200, 400, 500, 800)))
def test_dpaa_is_the_printed_one(sparsity: float, history: tuple[float, ...], period: int) -> None:
    printed = Printed(history, period)
    printed.dpaa(sparsity)
    found = dpaa(sparsity, history, LENGTH, THRESHOLD, period, HIBERNATION)
    assert (found.period, list(found.history)) == (printed.active_period, printed.history)


FULL = (0.5, 0.6, 0.6, 0.6)


@pytest.mark.parametrize(
    ("sparsity", "period", "then"), [(0.7, 100, 200), (0.7, 500, 800), (0.85, 100, 100), (0.1, 400, 400)]
)
def test_a_full_history_that_moved_little_doubles_the_period(sparsity: float, period: int, then: int) -> None:
    assert dpaa(sparsity, FULL, LENGTH, THRESHOLD, period, HIBERNATION) == (then, (0.6, 0.6, 0.6, sparsity))


def test_a_history_that_fills_leaves_the_period() -> None:
    assert dpaa(0.5, (0.5, 0.5), LENGTH, THRESHOLD, 100, HIBERNATION) == (100, (0.5, 0.5, 0.5))


@pytest.mark.parametrize(("periods", "then"), [((800, 800), MonitorState.HIBERNATE), ((800, 400), MonitorState.ACTIVE)])
def test_every_map_must_be_ready_before_any_hibernates(periods: tuple[int, ...], then: MonitorState) -> None:
    # and the history, which Algorithm 1 has just brought up to date, is left alone
    assert ssda(MonitorState.ACTIVE, periods, 0.0, FULL, LENGTH, THRESHOLD, HIBERNATION) == (then, FULL, False)


def test_a_jump_in_hibernation_begins_a_new_history_in_the_active_state() -> None:
    found = ssda(MonitorState.HIBERNATE, (800,), 0.9, FULL, LENGTH, THRESHOLD, HIBERNATION)
    assert found == (MonitorState.ACTIVE, (0.9,), True)


def test_the_threshold_itself_is_a_jump_and_no_stability() -> None:
    history = (0.25, 0.5, 0.5, 0.5)
    assert ssda(MonitorState.HIBERNATE, (800,), 0.75, history, LENGTH, 0.5, HIBERNATION).state is MonitorState.ACTIVE
    assert dpaa(0.75, history, LENGTH, 0.5, 100, HIBERNATION).period == 100


@given(sparsities, histories)
def test_a_process_in_hibernation_adds_one_entry(sparsity: float, history: tuple[float, ...]) -> None:
    found = ssda(MonitorState.HIBERNATE, (800,), sparsity, history, LENGTH, THRESHOLD, HIBERNATION)
    if found.reset:
        assert abs(sparsity - history[0]) >= THRESHOLD and len(history) == LENGTH
        assert (found.state, found.history) == (MonitorState.ACTIVE, (sparsity,))
    else:
        assert found.state is MonitorState.HIBERNATE
        assert found.history[-1] == sparsity
        assert len(found.history) == min(len(history) + 1, LENGTH)
        assert found.history == updated(history, sparsity, LENGTH)


@pytest.mark.parametrize(
    ("measurements", "ends"), [((0.5,), False), ((0.5, 0.29), True), ((0.3,), False), ((0.5, 0.5, 0.5), True)]
)
def test_a_process_ends_with_its_duration_or_below_the_threshold(measurements: tuple[float, ...], ends: bool) -> None:
    assert ends_process(measurements, duration=3, threshold=0.3) is ends
