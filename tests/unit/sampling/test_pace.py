"""Are changes of the pace that last found, and each jump charged by the places on either side of it?"""

import numpy as np
import pytest

from gpusim.model.sampling.decision import IntervalMeasurements
from gpusim.model.sampling.pace import change_points, changed_region, pace_strata, unsettled_laps
from gpusim.model.sampling.spec import SamplingSpec

WINDOWS = 8


def measured(pace: list[float], counts: tuple[int, ...], jumps: tuple[float, ...]) -> IntervalMeasurements:
    work = np.full((len(pace), WINDOWS), 1000.0)
    laps = np.stack([np.array(pace)[:, np.newaxis] * work, work], axis=-1)
    return IntervalMeasurements(laps, counts, jumps, 1.0)


def test_a_change_that_lasts_is_found_and_a_single_lap_is_none() -> None:
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


def test_before_the_first_jump_nothing_is_divided() -> None:
    assert not pace_strata(np.array([3.0, 3, 2, 1, 1, 1, 1, 1]), 0.001, 8).any()
    assert pace_strata(np.array([3.0, 3, 3, 1, 1, 1, 1, 1]), 0.001, 3).tolist() == [0] * 3 + [1] * 5


def test_the_lap_in_which_the_place_before_took_part_does_not_count() -> None:
    assert unsettled_laps(np.array([1.0, 1, 2, 3, 3]), (2, 3)).tolist() == [False, False, True, False, False]
    assert not unsettled_laps(np.array([1.0, 1, 3.01, 3, 3]), (2, 3)).any()


def test_each_jump_is_charged_by_its_own_neighbours() -> None:
    # a cheap part before three of four jumps, a costly one after the last: laps of it are most of all laps
    laps = measured([1.0] * 5 + [10.0] * 12, (2, 1, 1, 1, 12), (100, 100, 100, 100))
    first = laps.first(0, SamplingSpec())
    assert first < 5, "no lap after the first jump is taken for one of a launch that settles"
    found = laps.ratios(first, 0, SamplingSpec())
    assert found.values[0] == pytest.approx((3 * 1 + 5.5) / 4)
    # a quarter of what is skipped is of either pace: all of it costs between 1 and 10
    width = float(np.sqrt(found.squares((found.change,), 0)) * found.values[0])
    assert 4.5 / 4 <= width <= 1.2 * 4.5 / 4
