"""Are changes of the pace that last found, and each skip charged by the places on either side of it?"""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.model.sampling.decision import IntervalMeasurements
from gpusim.model.sampling.estimate import CountEstimate
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.pace import change_points, changed_region, pace_strata, unsettled_intervals
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.stratum import StratumMeasurement
from gpusim.model.sampling.work import WorkgroupStratum

WINDOWS = 8


def measured(pace: list[float], counts: tuple[int, ...], skips: tuple[float, ...]) -> IntervalMeasurements:
    work = np.full((len(pace), WINDOWS), 1000.0)
    intervals = np.stack([np.array(pace)[:, np.newaxis] * work, work], axis=-1)
    return IntervalMeasurements(intervals, counts, skips, 1.0)


def test_a_change_that_lasts_is_found_and_a_single_interval_is_none() -> None:
    assert change_points(np.array([1.0] * 5 + [3.0] * 5), 0.0, 0.02, 3.5) == [5]
    assert change_points(np.array([1.0] * 5 + [3.0]), 0.0, 0.02, 3.5) == []
    assert change_points(1 + 0.1 * np.random.default_rng(1).standard_normal(200), 0.0, 0.02, 4.0) == []


def test_a_short_region_in_the_middle_is_found() -> None:
    values = np.ones(200)
    values[90:102] = 0.2
    assert change_points(values, 0.0, 0.08, 4.0) == [], "a single cut does not see it"
    assert changed_region(values, 0.08, 5.5) == (90, 102)
    noise = np.random.default_rng(1).standard_normal((20, 200))
    assert not any(changed_region(1 + 0.1 * one, 0.08, 5.5) for one in noise)
    assert changed_region(np.ones(5), 0.08, 5.5) is None


def test_before_the_first_skip_nothing_is_divided() -> None:
    assert not pace_strata(np.array([3.0, 3, 2, 1, 1, 1, 1, 1]), 0.001, 8).any()
    assert pace_strata(np.array([3.0, 3, 3, 1, 1, 1, 1, 1]), 0.001, 3).tolist() == [0] * 3 + [1] * 5


def test_the_last_place_alone_may_be_of_another_pace() -> None:
    pace = np.array([1.0, 1, 1, 1, 3])
    assert not pace_strata(pace, 0.001, 2).any()
    assert pace_strata(pace, 0.001, 2, 0.05).tolist() == [0, 0, 0, 0, 1]
    assert not pace_strata(np.array([1.0, 1, 1, 1, 1.04]), 0.001, 2, 0.05).any(), "by less than 5 %"
    assert not pace_strata(np.array([1.0, 1.3, 0.8, 1.2, 1.5]), 0.001, 2, 0.05).any(), "as intervals do by chance"
    intervals = measured([1.0, 1, 1, 3], (2, 1, 1), (100, 100))
    assert intervals.changes(0, 0) == ((0, 1, 0.5),), "which the bar includes"


def test_the_interval_in_which_a_skip_has_an_effect_does_not_count() -> None:
    found = unsettled_intervals(np.array([1.0, 1, 1.4, 1, 1, 1.3]), (2, 3, 1), 0.05)
    assert found.tolist() == [False, False, True, False, False, False], "of a single interval nothing is known"
    assert unsettled_intervals(np.array([1.0, 1, 2, 3, 3]), (2, 3), 0.05).tolist() == [False, False, True, False, False]
    assert not unsettled_intervals(np.array([1.0, 1, 1.02, 1, 1]), (2, 3), 0.05).any()
    intervals = measured([1.0, 1, 1.4, 1, 1], (2, 3), (100,))
    assert intervals.counted(0).tolist() == [True, True, False, True, True]
    assert intervals.counted(1).tolist() == [False, True, False, True, True]


@pytest.mark.parametrize("known", [True, False])
def test_what_lies_between_a_skip_and_its_intervals_is_no_part_of_the_launch(known: bool) -> None:
    work = np.full(WINDOWS, 1000.0)
    stratum = StratumMeasurement.of(WorkgroupStratum(0, 1000), SamplingSpec(), 1.0, 100.0, 800.0)
    columns = replace(Columns.of_pace(), ended_work=1, ended=1)

    def skip(workgroups: range) -> None:
        stratum.add_fast_forward(workgroups, 80_000 if known else 0)
        stratum.passages.append(np.array([30_000.0, 20_000.0]))

    for pace in (1.0, 1.0):
        stratum.add(np.stack([pace * work, work], axis=-1))
    skip(range(20, 120))
    for pace in (1.5, 1.0, 1.0):
        stratum.add(np.stack([pace * work, work], axis=-1))
    skip(range(150, 250))
    stratum.add_fast_forward(range(260, 360), 80_000 if known else 0)  # the launch ended before an interval could begin
    found = stratum.estimate(columns, 800)
    unsettled = 0.5 * WINDOWS * 1000
    assert found.added[0] == pytest.approx(240_000 - known * (10_000 + unsettled))
    assert found.added[1] == pytest.approx(240_000), "what does not grow with time is simulated there too"


def test_passages_are_doubted_as_far_as_they_differ() -> None:
    columns, work = replace(Columns.of_pace(), ended_work=1, ended=1), np.full(WINDOWS, 1000.0)

    def deviations(excesses: list[float], interval_at_end: bool = True) -> np.ndarray:
        stratum = StratumMeasurement.of(WorkgroupStratum(0, 1000), SamplingSpec(), 1.0, 100.0, 800.0)
        stratum.add(np.stack([work, work], axis=-1))
        for k, excess in enumerate(excesses):
            stratum.add_fast_forward(range(100 * k + 20, 100 * k + 120), 80_000)
            stratum.passages.append(np.array([20_000.0 + excess, 20_000.0]))
            if k + 1 < len(excesses) or interval_at_end:
                stratum.add(np.stack([work, work], axis=-1))
        return stratum.estimate(columns, 800).doubts[-2].deviations[:, 0]

    assert np.abs(deviations([5000.0, 5000.0, 5000.0])).max() < 1e-6, "a skip costs the same after each"
    # deviations from their mean: -1000, -1000, 2000; as a sample of three
    assert np.sqrt((deviations([0.0, 0.0, 3000.0]) ** 2).sum()) == pytest.approx((6e6 * 3 / 2) ** 0.5)
    assert deviations([4000.0]) == pytest.approx([2000.0]), "of one it is not known"
    # a quarter more an instruction in the passage, so a quarter of the 80,000 that were passed over
    assert deviations([4000.0, 5000.0], False) == pytest.approx([2000.0, 20_000.0]), (
        "the launch ended before an interval"
    )

    # 12 times as much was passed over as the mean passage has; no skip saves time, so that the pace may swing
    *apart, phase = deviations([-2000.0, -2000.0, -2000.0])
    assert np.abs(apart).max() < 1e-6 and phase == pytest.approx(-2000 * 12 / 3**0.5)
    assert deviations([-4000.0, 3000.0, -1000.0])[-1] == 0, "by chance"


def test_the_narrowest_of_bars_is_so_by_chance() -> None:
    intervals = measured([1.3, 0.8, 1.1, 1.0, 1.0, 1.02, 0.98, 1.0], (5, 1, 1, 1), (100, 100, 100))
    spec = SamplingSpec()
    errors = [found.squares(found.doubts, 0) for found in (intervals.ratios(first, 0, spec) for first in range(5))]
    assert intervals.first(0, spec) == int(np.argmin(errors)) > 0
    assert intervals.luck(spec) == pytest.approx(np.prod(errors) ** (1 / 5) / min(errors)) and intervals.luck(spec) > 2
    one = measured([1.0, 1.1, 0.9], (1, 1, 1), (100, 100))
    assert one.luck(spec) == 1, "there is no choice"


def test_the_luck_of_a_choice_widens_an_estimate_s_bar() -> None:
    columns, work = replace(Columns.of_pace(), ended_work=1, ended=1), np.full(WINDOWS, 1000.0)
    stratum = StratumMeasurement.of(WorkgroupStratum(0, 1000), SamplingSpec(), 1.0, 100.0, 800.0)
    for k, pace in enumerate([1.3, 0.8, 1.1, 1.0, 1.0, 1.02, 0.98, 1.0]):
        if k > 4:
            stratum.add_fast_forward(range(100 * k, 100 * k + 100), 80_000)
            stratum.passages.append(np.array([20_000.0, 20_000.0]))
        stratum.add(np.stack([pace * work, work], axis=-1))
    measured_ = stratum._measurements(columns)
    found = measured_.ratios(measured_.first(0, stratum.spec), 0, stratum.spec)
    luck = measured_.luck(stratum.spec)
    for doubt, alone in zip(stratum.estimate(columns, 800).doubts, found.doubts, strict=False):
        assert doubt.factor == pytest.approx(alone.factor * luck)
    assert luck > 2


@pytest.mark.parametrize(
    ("finished", "late"),
    [
        ([1000.0] * WINDOWS, 0.0),
        ([500.0] * WINDOWS, 1.0),  # L2 takes a half of what comes, so that all of it takes twice as long
        ([2000.0] * WINDOWS, -0.5),  # what others had left is served
        ([600.0, 1400.0] * (WINDOWS // 2 - 1) + [600.0, 1300.0], 0.0),  # as a queue's length swings
    ],
)
def test_stores_that_an_interval_leaves_to_later_are_part_of_its_cost(finished: list[float], late: float) -> None:
    columns = replace(Columns.of_pace(2), ended_work=1, ended=1, issued=2, finished=3)
    work = np.full(WINDOWS, 1000.0)

    def estimated(finished: np.ndarray) -> CountEstimate:
        stratum = StratumMeasurement.of(WorkgroupStratum(0, 1000), SamplingSpec(), 1.0, 100.0, 800.0)
        for k in range(4):
            if k > 1:
                stratum.add_fast_forward(range(100 * k, 100 * k + 100), 80_000)
                stratum.passages.append(np.array([20_000.0, 20_000.0, 0.0, 0.0]))
            stratum.add(np.stack([work, work, work, finished], axis=-1))
        return stratum.estimate(columns, 800)

    found, settled = estimated(np.array(finished)), estimated(work)
    served = late * (160_000 + 40_000)  # cycles of what was passed over and of the passages, if nothing is left
    assert found.added[0] - settled.added[0] == pytest.approx(served / 2)
    assert found.added[1] == settled.added[1]
    assert found.doubts[-3].deviations[0, 0] == pytest.approx(served / 12**0.5), "between none of it and all"


@pytest.mark.parametrize(
    ("ended", "memory", "in_step"),
    [
        ([0.0] * 5 + [100.0, 600.0, 300.0], 0.9, True),
        ([125.0] * 8, 0.9, False),
        ([0.0] * 5 + [100.0, 600.0, 300.0], 0.7, False),  # other waits do not depend on the step
    ],
)
def test_workgroups_in_step_are_doubted_by_what_draws_of_whole_runs_differ(
    ended: list[float], memory: float, in_step: bool
) -> None:
    columns = replace(Columns.of_pace(2), ended=4, memory=(2,), timed=np.array([True, False, True, True, False]))
    work = np.full(WINDOWS, 1000.0)
    stratum = StratumMeasurement.of(WorkgroupStratum(0, 1000), SamplingSpec(), 1.0, 100.0, 800.0)
    for k in range(4):
        if k > 1:
            stratum.add_fast_forward(range(100 * k, 100 * k + 100), 80_000)
        stratum.add(np.stack([work, work, memory * work, (1 - memory) * work, np.array(ended)], axis=-1))
    assert stratum._measurements(columns).in_step is in_step
    *others, last = stratum.estimate(columns, 800).doubts
    assert len(others) == 9 + in_step
    if in_step:  # what two skips passed over, and two intervals
        assert last.deviations[0].tolist() == pytest.approx([0.015 * 176_000, 0, 0.015 * 158_400, 0.015 * 17_600, 0])


def test_mixed_intervals_beside_the_line_are_doubted() -> None:
    """The cost of workgroups between two kinds is foretold by a straight line; mixed intervals were cheaper."""
    columns, work = replace(Columns.of_pace(), ended_work=1, ended=1), np.full(WINDOWS, 1000.0)
    stratum = StratumMeasurement.of(WorkgroupStratum(0, 1000), SamplingSpec(), 1.0, 100.0, 800.0)
    pace, seen = [1.0, 1.0, 1.0, 1.5, 3.0, 3.0, 3.0], np.array([[0.0], [0], [0], [5], [10], [10], [10]])
    for one in pace:
        stratum.add(np.stack([one * work, work], axis=-1))
    stratum.seen = [*seen]
    intervals = replace(measured(pace, (4, 3), (100,)), covariates=seen, target=np.array([5.0]))
    mixed = replace(intervals, mixed=np.array(pace) == 1.5)
    slopes = np.array([[0.2, 0.0]])
    assert stratum._between_deviation(mixed, 0, columns, slopes)[:, 0] == pytest.approx([-0.5 / 3**0.5])
    assert not len(stratum._between_deviation(intervals, 0, columns, slopes)), "all count"


def test_a_pace_that_changes_at_the_first_skip_is_doubted_for_all_that_follows() -> None:
    """Skips may have brought workgroups out of step, so that a whole run has the pace before to its end."""
    columns, work = replace(Columns.of_pace(), ended_work=1, ended=1), np.full(WINDOWS, 1000.0)

    def deviation(after: float, chance: float = 0.0) -> float:
        stratum = StratumMeasurement.of(WorkgroupStratum(0, 1000), SamplingSpec(), 1.0, 100.0, 800.0)
        for pace in (1.0, 1.001, 0.999, 1.0):
            stratum.add(np.stack([pace * work, work], axis=-1))
        for k in range(3):
            stratum.add_fast_forward(range(200 + 200 * k, 300 + 200 * k), 80_000)
            stratum.add(np.stack([after * (1 + (-1) ** k * chance) * work, work], axis=-1))
        return float(stratum.estimate(columns, 800).doubts[-1].deviations[0, 0])

    # 0.1 an instruction, of 800 workgroups of 800 instructions; at most what is between none of it and all
    assert deviation(0.9) == pytest.approx(-0.1 * 800 * 800 / 3**0.5, rel=0.05)
    assert deviation(1.001, 0.002) == 0, "by chance"


def test_each_skip_is_charged_by_its_own_neighbours() -> None:
    # a cheap part before three of four skips, a costly one after the last: intervals of it are most of all intervals
    intervals = measured([1.0] * 5 + [10.0] * 12, (2, 1, 1, 1, 12), (100, 100, 100, 100))
    first = intervals.first(0, SamplingSpec())
    assert first < 5, "no interval after the first skip is taken for one of a launch that settles"
    found = intervals.ratios(first, 0, SamplingSpec())
    assert found.values[0] == pytest.approx((3 * 1 + 5.5) / 4)
    # a quarter of what is skipped is of either pace: all of it costs between 1 and 10
    width = float(np.sqrt(found.squares((found.change,), 0)) * found.values[0])
    assert 4.5 / 4 <= width <= 1.2 * 4.5 / 4


def test_an_interval_of_other_workgroups_shows_no_effect_of_a_skip() -> None:
    """After a skip come cheap workgroups, then dear ones as before it: the pace of the cheap ones is their own."""
    pace, kinds = [5.0, 5, 1, 5, 5], np.array([[0.0], [0.0], [30.0], [0.0], [0.0]])
    intervals = replace(measured(pace, (2, 3), (100,)), covariates=kinds, target=np.array([1.0]))
    assert intervals.unsettled.tolist() == [False] * 5 and intervals.counted(0).all()
    alike = replace(intervals, covariates=np.zeros((5, 1)), target=np.zeros(1))
    assert alike.unsettled.tolist() == [False, False, True, False, False]


def test_what_is_like_the_skipped_part_is_never_left_out() -> None:
    """Of the first intervals two are cheap, and so is what is skipped; the dear ones alone have the narrower bar."""
    pace, kinds = [1.0, 1.3, 5, 5, 5, 5, 5], np.array([[30.0], [30.0], *[[0.0]] * 5])
    intervals = replace(measured(pace, (4, 3), (100,)), covariates=kinds, target=np.array([30.0]))
    assert intervals.first(0, SamplingSpec()) <= 1
    dear = replace(intervals, target=np.zeros(1))
    assert dear.first(0, SamplingSpec()) >= 2
    mixed = np.array([True, True, *[False] * 5])
    assert replace(intervals, mixed=mixed).counted(0).all(), "without the mixed ones none is like it"
    assert replace(dear, mixed=mixed).counted(0).tolist() == [False, False, *[True] * 5]
