"""Do intervals say what other work and addresses cost, and is nothing skipped that no interval speaks for?"""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.model.sampling.covariates import CovariateStrata, GridCovariates, mixed_intervals, regress
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.stratum import StratumMeasurement
from gpusim.model.sampling.survey import AddressSurvey
from gpusim.model.sampling.work import WorkgroupInstructions, WorkgroupStratum

TOTAL, RESIDENT, PLACE = 4000, 100, 300
WINDOWS = 4


def grid(lines: np.ndarray, cuts: list[int]) -> CovariateStrata:
    """Return the strata of a grid whose workgroups have one memory instruction with so many lines each."""
    places = np.arange(0, TOTAL, 10)
    seen = AddressSurvey(places, lines[places][:, np.newaxis].astype(float), np.full((len(places), 16), 1 / 16))
    work = WorkgroupInstructions(np.broadcast_to(np.array([[50]]), (TOTAL, 1)))
    return CovariateStrata(GridCovariates.of(work, seen, cuts, RESIDENT), cuts, TOTAL)


def between(start: int, end: int) -> CovariateStrata:
    """Return a grid of which one part reads other lines than the rest."""
    numbers = np.arange(TOTAL)
    return grid(np.where((numbers >= start) & (numbers < end), 16, 4), [start, end])


def intervals(pace: list[float], work: int = 1000) -> np.ndarray:
    """Return intervals [interval, window, (cycles, instructions)]."""
    return np.array([[[rate * work, work]] * WINDOWS for rate in pace])


def test_workgroups_that_are_alike_have_no_covariates() -> None:
    luck = np.random.default_rng(1)
    assert grid(np.full(TOTAL, 8), []).covariates.count == 0
    assert grid(8 + luck.integers(0, 4, TOTAL), []).covariates.count == 0


def test_two_kinds_that_alternate_are_one_covariate() -> None:
    phases = np.where(np.arange(TOTAL) // 500 % 2, 16, 4)
    covariates = grid(phases, list(range(500, TOTAL, 500))).covariates
    assert covariates.count == 1
    first, second, third = (covariates.of_workgroups(at, at + 500)[0][0] for at in (0, 500, 1000))
    assert first == pytest.approx(third) and abs(second - first) > 10
    assert covariates.of_time(500, 501)[0] == pytest.approx(first, abs=abs(second - first) * 0.6)
    both, work = covariates.of_workgroups(250, 750)
    assert both[0] == pytest.approx((first + second) / 2) and work == 500 * 50


def test_an_interval_in_which_kinds_follow_one_another_is_mixed() -> None:
    covariates = between(2000, 3000).covariates
    times = [(500, 600), (1200, 1300), (1980, 2050), (2300, 2400), (2600, 2700), (3300, 3400)]
    means, spreads = (np.array([of(*time) for time in times]) for of in (covariates.of_time, covariates.spread_of_time))
    assert spreads[0] == pytest.approx(0, abs=0.5) and spreads[2] > 3
    assert mixed_intervals(means, spreads).tolist() == [False, False, True, False, False, False]
    assert not mixed_intervals(means[1:5], spreads[1:5]).any(), "too few others"
    assert not mixed_intervals(means, spreads + 100).any(), "all are"


def test_intervals_are_moved_to_what_was_skipped() -> None:
    """Three quarters of it are of the dear kind, and most intervals are of the cheap one."""
    kinds = np.array([[0.0], [0.0], [0.0], [0.0], [10.0], [10.0]])
    measured = intervals([1, 1, 1, 1, 5, 5])
    moved = regress(measured, 1, kinds, np.full(6, 1 / 6), np.array([7.5]))
    assert moved.intervals[..., 0] / moved.intervals[..., 1] == pytest.approx(np.full((6, WINDOWS), 4))
    assert moved.coefficients == 1 and moved.leverage > 0
    assert (moved.intervals[..., 1] == measured[..., 1]).all()


@pytest.mark.parametrize("kinds", [[0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 1.0, 0.2]])
def test_intervals_that_do_not_differ_are_left_as_they_are(kinds: list[float]) -> None:
    measured = intervals([1, 1.1, 0.9, 1])
    moved = regress(measured, 1, np.array(kinds)[:, np.newaxis], np.full(4, 0.25), np.array([50.0]))
    assert moved.coefficients == 0 and moved.intervals is measured


def test_a_line_is_not_extended_below_what_can_be() -> None:
    kinds = np.array([[0.0], [1.0], [10.0], [11.0]])
    moved = regress(intervals([8, 9, 1, 1]), 1, kinds, np.full(4, 0.25), np.array([100.0]))
    pace = moved.intervals[..., 0] / moved.intervals[..., 1]
    assert (pace > 0).all() and (pace < 10).all()
    assert moved.leverage > 10  # what is beyond all intervals is doubted in full


def test_components_that_intervals_do_not_distinguish_are_not_both_used() -> None:
    kinds = np.array([[0.0, 0.0], [0.1, 0.1], [10.0, 5.0], [10.1, 5.1], [10.0, 5.0], [0.0, 0.0]])
    moved = regress(intervals([1, 1, 5, 5, 5, 1]), 1, kinds, np.full(6, 1 / 6), np.array([5.0, -5.0]))
    assert moved.coefficients == 1


def test_a_skip_ends_where_a_part_begins_that_no_interval_speaks_for() -> None:
    parts = between(3500, 3890)  # less than a tenth of the grid, and the last of it is
    cheap = [parts.covariates.of_workgroups(0, 500)[0]] * 2
    assert parts.clip(600, 3200, PLACE, cheap) == 2900
    assert parts.clip(600, 2500, PLACE, cheap) == 2500  # it is not reached
    assert parts.clip(600, 3000, PLACE, cheap) == 3000  # the interval after the skip lies in it
    dear = parts.covariates.of_workgroups(3600, 3800)[0]
    assert parts.clip(600, 3200, PLACE, [*cheap, dear]) == 3200
    assert parts.next_interval(3400, PLACE, cheap) == 0


def test_a_part_that_is_too_short_for_an_interval_is_simulated() -> None:
    parts = between(3500, 3700)
    cheap = [parts.covariates.of_workgroups(0, 500)[0]] * 2
    assert parts.clip(600, 3200, PLACE, cheap) == 3500 - PLACE - 600
    assert parts.clip(600, 2750, PLACE, cheap) == 3500 - PLACE - 600  # the passage would lie in it
    assert parts.clip(3300, 500, PLACE, cheap) == 0
    assert parts.next_interval(3450, PLACE, cheap) == 3700 + RESIDENT
    assert parts.next_interval(3801, PLACE, cheap) == 0


def test_workgroups_come_into_a_long_part_in_step() -> None:
    """No skip passes over its beginning, and those before it are whole waves: no slot gets other workgroups."""
    parts = between(1550, 2550)
    both = [parts.covariates.of_workgroups(at, at + 500)[0] for at in (0, 1600)]
    assert parts.clip(600, 2400, PLACE, both) == 700  # to two waves before it, in whole waves
    assert parts.clip(600, 470, PLACE, both) == 400
    assert parts.clip(600, 470, PLACE, both, 230) == 470  # 700 of them all
    assert parts.clip(1400, 500, PLACE, both) == 0
    assert parts.clip(2600, 470, PLACE, both) == 470  # no long part follows
    assert [parts.next_interval(at, PLACE, both) for at in (1450, 1451, 1749, 1750)] == [0, 1750, 1750, 0]
    assert parts.next_interval(2500, PLACE, both) == 2750


@pytest.mark.parametrize(("last", "clipped"), [(16, 2200), (18, 2200), (4, 2900)])
def test_a_long_part_that_is_divided_again_is_long(last: int, clipped: int) -> None:
    """Neither of two halves is, and the whole is: skips end two waves before. Where the second is another, none is."""
    numbers = np.arange(TOTAL)
    parts = grid(np.select([numbers < 3400, numbers < 3700], [4, 16], last), [3400, 3700])
    seen = [parts.covariates.of_workgroups(at, at + 200)[0] for at in (0, 3450, 3800)]
    assert parts.clip(1000, 2900, PLACE, seen) == clipped


def test_a_gradual_change_is_skipped_over() -> None:
    """What lies between two intervals is not unknown."""
    parts = grid(np.linspace(4, 64, TOTAL), list(range(400, TOTAL, 400)))
    seen = [parts.covariates.of_workgroups(0, 200)[0]] * 2
    assert parts.clip(300, 1500, PLACE, seen) == 1500


def test_changes_are_those_after_the_first_skip() -> None:
    parts = between(1500, 2500)
    both = parts.changes(0)
    assert both.shape == (2, 1) and both[0, 0] == pytest.approx(-both[1, 0])
    assert len(parts.changes(2000)) == 1 and len(parts.changes(3000)) == 0


def test_scattered_workgroups_that_meet_in_one_channel_are_found() -> None:
    luck = np.random.default_rng(2)
    channels = np.full((400, 16), 1 / 16)
    camping = np.sort(luck.choice(300, 40, replace=False))
    channels[camping] = 0
    channels[camping, 5] = 1
    seen = AddressSurvey(np.arange(400) * 10, np.ones((400, 1)), channels)
    assert not seen.camps(0, 4000)
    assert seen.end_of_camps() == camping[-1] * 10 + 1
    for few, camps in ((3, False), (4, True)):  # most of their lines in two channels, in neither of them half
        pairs = np.full((400, 16), 1 / 16)
        pairs[camping[:few]] = 0.1 / 14
        pairs[camping[:few], [[5], [13]]] = 0.45
        found = AddressSurvey(np.arange(400) * 10, np.ones((400, 1)), pairs).end_of_camps()
        assert found == (camping[few - 1] * 10 + 1) * camps
    apart = channels.copy()
    apart[camping] = 0
    apart[camping, np.arange(40) % 16] = 1  # each in a channel of its own
    assert AddressSurvey(np.arange(400) * 10, np.ones((400, 1)), apart).end_of_camps() == 0


@pytest.mark.parametrize("first", [1.0, 1.4])
def test_each_estimated_part_costs_what_its_own_workgroups_do(first: float) -> None:
    """A skip over dear workgroups, a passage of both kinds, then cheap ones, of which a first interval is unsettled."""
    parts, columns = between(2000, 3000), replace(Columns.of_pace(), ended_work=1, ended=1)
    cheap, dear = (parts.covariates.of_workgroups(start, start + 100)[0][0] for start in (500, 2500))
    stratum = StratumMeasurement.of(WorkgroupStratum(0, TOTAL), SamplingSpec(), 1.0, 40.0, 50.0)
    stratum.parts = parts

    def add(pace: float, start: int) -> None:
        stratum.add(intervals([pace], 5000 // WINDOWS)[0], start, start + 100)

    for pace, start in ((1.0, 500), (1.0, 700), (5.0, 2200), (5.0, 2350)):
        add(pace, start)
    stratum.add_fast_forward(range(2500, 2900), 400 * 50)
    stratum.passed.append(range(2900, 3100))
    share = (parts.covariates.of_passage(range(2500, 2900), 3100)[0] - cheap) / (dear - cheap)
    assert 0.3 < share < 0.9
    stratum.passages.append(np.array([(1 + 4 * share) * 10_000, 10_000]))
    for pace, start in ((first, 3200), (1.0, 3300), (1.0, 3400)):
        add(pace, start)
    added = stratum.estimate(columns, 50).added
    assert added[0] == pytest.approx(5 * 400 * 50 - (first - 1) * 5000, rel=0.01)
