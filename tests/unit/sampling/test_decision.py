"""Does sampling go on as long as it should, and no longer: on machines that behave as simulated ones do?"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from gpusim.model.sampling.decision import IntervalMeasurements, SamplingDecision, following
from gpusim.model.sampling.grid import RemainingGrid
from gpusim.model.sampling.spec import SamplingSpec

RESIDENT, WINDOWS = 100, 8
Pace = Callable[[np.ndarray], np.ndarray]  # cycles an instruction, by waves that have passed


def sampled(waves: int, pace: Pace, spec: SamplingSpec, in_step: bool = False) -> tuple[float, float, float]:
    """A launch whose machine runs at that pace: estimated rate of what is skipped, its half-width, part simulated."""
    intervals: list[np.ndarray] = []
    counts, skips, ended = [0], [], False
    total = waves * RESIDENT
    tail = ceil((1 + spec.tail_rounds) * RESIDENT)
    while True:
        left = total - (2 + len(intervals)) * RESIDENT - sum(skips) - tail  # a wave ahead is dispatched
        if left < 0 and not ended:
            break
        at = 1 + len(intervals) + (np.arange(WINDOWS) + 0.5) / WINDOWS
        work = np.full(WINDOWS, 1000.0)
        intervals.append(np.stack([pace(at) * work, work], axis=1))
        counts[-1] += 1
        measured = IntervalMeasurements(np.array(intervals), tuple(counts), tuple(skips), 1.0, in_step=in_step)
        if ended:
            break
        then = following(measured, spec, RemainingGrid(total, left, RESIDENT, RESIDENT))
        if then.skip:
            skips.append(then.skip)
            counts.append(0)
        ended = then.enough
    if not skips:
        return 0, 0, 1
    measured = IntervalMeasurements(np.array(intervals), tuple(counts), tuple(skips), 1.0)
    first = measured.first(0, spec)
    found = measured.ratios(first, 0, spec)
    assert measured.weights(first, 0).sum() == pytest.approx(1)
    width = float(np.sqrt(found.squares(found.doubts, 0)) * found.values[0])
    return float(found.values[0]), width, 1 - sum(skips) / total


def steady(at: np.ndarray) -> np.ndarray:
    return np.ones(len(at))


def noisy(seed: int, spread: float) -> Pace:
    rng = np.random.default_rng(seed)
    return lambda at: 1 + spread * rng.standard_normal(len(at))


def test_a_steady_launch_takes_a_interval_here_and_one_elsewhere() -> None:
    rate, width, part = sampled(200, steady, SamplingSpec())
    assert rate == pytest.approx(1) and width <= 0.01
    assert part < 0.07


def test_workgroups_in_step_are_looked_at_for_longer_before_the_first_skip() -> None:
    assert 20 / 120 < sampled(120, steady, SamplingSpec(), in_step=True)[2] < 30 / 120
    assert 32 / 400 < sampled(400, steady, SamplingSpec(), in_step=True)[2] < 42 / 400, "not for ever"


def test_a_wanted_error_costs_what_it_is_worth() -> None:
    coarse, fine = (sampled(400, noisy(1, 0.03), SamplingSpec(error=error)) for error in (0.02, 0.004))
    assert coarse[2] < fine[2] < 0.5
    assert fine[1] * (1 - fine[2]) <= 0.004 * 1.01  # of the whole launch


@pytest.mark.parametrize("launches", [10, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("spread", [0.01, 0.05])
def test_the_truth_lies_within_the_bar(spread: float, launches: int) -> None:
    found = [sampled(300, noisy(seed, spread), SamplingSpec()) for seed in range(launches)]
    assert np.mean([abs(rate - 1) <= width for rate, width, _ in found]) >= 0.9
    assert np.mean([0 < width * (1 - part) <= 0.012 for _, width, part in found]) >= 0.9, (
        "the last interval may widen it"
    )


def test_nothing_is_passed_over_while_the_pace_moves_on() -> None:
    def settling(at: np.ndarray) -> np.ndarray:
        return np.asarray(1 + 0.3 * np.exp(-at / 6))

    rate, width, part = sampled(400, settling, SamplingSpec())
    assert (
        abs(rate - 1) <= 3 * max(width, 0.01) and part > 0.04
    )  # so slow a settling looks like noise of an interval's pace


def test_where_nothing_can_be_passed_over_nothing_is() -> None:
    measured = IntervalMeasurements(np.ones((2, WINDOWS, 2)), (2,), (), 1.0)
    then = following(measured, SamplingSpec(), RemainingGrid(300, 0, RESIDENT, RESIDENT))
    assert (then.skip, then.enough) == (0, False)


def test_a_launch_that_does_not_settle_is_passed_over_in_short_parts() -> None:
    # what drifts for a sixth of the grid changes along it: much of it is simulated, in many places
    assert sampled(40, lambda at: 1 + 0.02 * at, SamplingSpec())[2] > 0.35


def test_a_launch_too_noisy_for_its_length_is_hardly_passed_over() -> None:
    assert sampled(30, noisy(3, 0.3), SamplingSpec())[2] > 0.8


def test_nothing_is_passed_over_while_waits_move_on() -> None:
    intervals = np.ones((6, WINDOWS, 4))
    intervals[..., 2:] = 500
    left = RemainingGrid(100 * RESIDENT, 90 * RESIDENT, RESIDENT, RESIDENT)
    assert following(IntervalMeasurements(intervals, (6,), (), 1.0), SamplingSpec(), left).skip > 0
    intervals[..., 2] += 20 * np.arange(6)[:, np.newaxis]
    assert following(IntervalMeasurements(intervals, (6,), (), 1.0), SamplingSpec(), left) == SamplingDecision(0, False)


@pytest.mark.parametrize(("last", "foretold"), [(1.0, True), (1.004, True), (1.02, False), (0.98, False)])
def test_a_place_that_surprises_is_not_the_last(last: float, foretold: bool) -> None:
    """The half-width is narrow with it too; only the interval after the last skip says that its place is another."""
    noise = np.random.default_rng(3)
    paces = [*noise.normal(1, 0.001, 9), last]
    intervals = np.array([[[pace * 1000, 1000]] * WINDOWS for pace in paces])
    measured = IntervalMeasurements(intervals, (3, *[1] * 7), (2000.0,) * 7, 1.0)
    spec, left = SamplingSpec(), RemainingGrid(20_000, 2000, RESIDENT, RESIDENT, passed=14_000)
    estimated = measured.ratios(0, left.skippable, spec)
    assert estimated.squares(estimated.doubts, 0) < spec.error**2
    assert measured.foretold(0, spec) is foretold
    assert following(measured, spec, left).enough is foretold


def test_covariates_foretell_another_pace() -> None:
    kinds = np.array([[0.0], [0.1], [0.0], [10.0], [10.1], [0.1], [10.0], [5.0]])
    paces = 1 + kinds[:, 0] / 10
    intervals = np.array([[[pace * 1000, 1000]] * WINDOWS for pace in paces])
    measured = IntervalMeasurements(
        intervals, (2, *[1] * 6), (2000.0,) * 6, 1.0, covariates=kinds, target=kinds.mean(0)
    )
    assert measured.foretold(0, SamplingSpec())
    dearer = np.concatenate([intervals[:-1], intervals[-1:] * [1.2, 1]])
    assert not replace(measured, intervals=dearer).foretold(0, SamplingSpec())
    like = replace(measured, intervals=intervals[[*range(7), 6]], covariates=kinds[[*range(7), 6]])
    mixed = np.arange(len(kinds)) == len(kinds) - 1
    assert like.foretold(0, SamplingSpec())
    assert not replace(like, mixed=mixed).foretold(0, SamplingSpec()), "of a mixed interval it is not known"
