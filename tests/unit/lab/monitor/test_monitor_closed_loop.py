"""Is a training under each policy what adding it up iteration by iteration gives, and does every decision matter?"""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.closed_loop import (
    DENSE,
    ORACLE,
    SHAPE,
    SPARSE,
    THRESHOLD,
    SparsePass,
    TimedTraining,
    break_even,
    closed_loop,
)
from gpusim.lab.monitor.curves import Curves
from gpusim.lab.monitor.scheduler import MonitorError, Scheduler

LENGTH = 400
SETTINGS = MonitorSpec(
    initial_period=20, duration=4, first_iteration=10, hibernation_period_unit=80, sparse_threshold=0.3
)
# `early` pays from 60 % of zeros on, as its estimate says; `never` at no share
EARLY = SparsePass("early", "forward", 10.0, 0.6, (0.2, 0.6, 1.0), (16.0, 9.0, 4.0))
WEIGHTS = SparsePass("early", "backward_weights", 20.0, 0.7, (0.2, 1.0), (40.0, 10.0))
NEVER = SparsePass("never", "forward", 5.0, None, (0.2, 1.0), (9.0, 6.0))
TIMED = TimedTraining(100.0, (EARLY, WEIGHTS, NEVER), {"early": 0.5, "never": 0.25})


def curves() -> Curves:
    """A map that gets sparser in steps, one that stays at half, one that no layer has."""
    time = np.arange(LENGTH)
    lines = [np.select([time < 100, time < 250], [0.4, 0.65], 0.9), np.full(LENGTH, 0.5), np.zeros(LENGTH)]
    return Curves("made up", ("early", "never", "other"), time, np.stack(lines, axis=1))


def added_up(policy: str) -> tuple[float, float, float]:
    """Time, measuring's part of it and sparse iterations of the passes, one iteration after another."""
    held = curves()
    measured = {THRESHOLD: ("early", "never"), SHAPE: ("early",)}.get(policy, ())
    scheduler = Scheduler(measured, SETTINGS) if measured else None
    total = measuring = sparse = 0.0
    for iteration in range(LENGTH):
        total += TIMED.iteration_us
        for one in TIMED.passes:
            zeros = float(held.sparsity[iteration, held.maps.index(one.layer)])
            spent = float(np.interp(zeros, one.zeros, one.sparse_us))
            believed = scheduler.sparsity_list[one.layer].believed if scheduler and one.layer in measured else None
            level = {THRESHOLD: 0.3, SHAPE: one.break_even}.get(policy)
            taken = {DENSE: False, SPARSE: True, ORACLE: spent < one.dense_us}.get(
                policy, believed is not None and level is not None and believed >= level
            )
            sparse += taken
            total += spent - one.dense_us if taken else 0.0
        for name in scheduler.due(iteration) if scheduler else ():
            scheduler.record(iteration, name, float(held.sparsity[iteration, held.maps.index(name)]))
            measuring += TIMED.measuring_us[name]
    return total + measuring, measuring, sparse / (LENGTH * len(TIMED.passes))


@pytest.mark.parametrize("policy", [DENSE, SPARSE, THRESHOLD, SHAPE, ORACLE])
def test_a_training_is_the_sum_of_its_iterations(policy: str) -> None:
    found = {one.policy: one for one in closed_loop(TIMED, curves(), SETTINGS)}
    time_us, measuring_us, sparse = added_up(policy)
    assert found[policy].time_us == pytest.approx(time_us) and found[policy].measuring_us == pytest.approx(measuring_us)
    assert found[policy].sparse == pytest.approx(sparse)


def test_deciding_by_layer_lies_between_the_threshold_and_the_oracle() -> None:
    found = {one.policy: one for one in closed_loop(TIMED, curves(), SETTINGS)}
    assert found[ORACLE].time_us < found[SHAPE].time_us < found[THRESHOLD].time_us
    assert found[SHAPE].by_pass[2] == 0.0 < found[THRESHOLD].by_pass[2]
    assert found[ORACLE].misjudged == 0.0 < found[SHAPE].misjudged < found[THRESHOLD].misjudged
    assert found[SHAPE].changes == 2  # each pass that pays goes sparse once, and stays so


def test_an_estimate_that_is_off_costs_time_and_changes_nothing_else() -> None:
    """A break-even that is too low sends a layer to its sparse way where that is slower."""
    off = replace(TIMED, passes=(replace(EARLY, break_even=0.3), WEIGHTS, NEVER))
    right, wrong = ({one.policy: one for one in closed_loop(timed, curves(), SETTINGS)} for timed in (TIMED, off))
    assert wrong[SHAPE].time_us > right[SHAPE].time_us
    assert {n: one.time_us for n, one in wrong.items() if n != SHAPE} == {
        n: one.time_us for n, one in right.items() if n != SHAPE
    }


def test_how_far_a_line_is_off_is_stated() -> None:
    assert EARLY.interpolation_error == pytest.approx(10.0 / 9.0 - 1.0) and WEIGHTS.interpolation_error is None
    alone = closed_loop(replace(TIMED, passes=(EARLY,)), curves(), SETTINGS)
    sparse = next(one for one in alone if one.policy == SPARSE)
    spent = sum(float(np.interp(zeros, EARLY.zeros, EARLY.sparse_us)) for zeros in curves().sparsity[:, 0])
    assert sparse.doubt == pytest.approx((10.0 / 9.0 - 1.0) * spent / sparse.time_us)


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(MonitorError, match=r"early forward: zeros from 0.400 to 0.900; times are known from 0.5 to 1"):
        closed_loop(replace(TIMED, passes=(replace(EARLY, zeros=(0.5, 0.6, 1.0)),)), curves(), SETTINGS)
    with pytest.raises(MonitorError, match="made up: unknown map 'late'"):
        closed_loop(TimedTraining(1.0, (replace(EARLY, layer="late"),), {"late": 1.0}), curves())
    with pytest.raises(MonitorError, match="measuring_us: unknown layer 'early'"):
        TimedTraining(1.0, (EARLY,), {"never": 1.0})
    with pytest.raises(MonitorError, match="at least two are needed"):
        replace(EARLY, zeros=(0.5,), sparse_us=(1.0,))


def test_the_break_even_is_the_first_share_that_pays() -> None:
    assert break_even(10.0, lambda zeros: 20.0 - 20.0 * zeros) == pytest.approx(0.501)
    assert break_even(10.0, lambda zeros: 5.0) == 0.0
    assert break_even(10.0, lambda zeros: 10.0) is None
