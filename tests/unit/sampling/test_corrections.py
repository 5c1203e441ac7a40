"""Are the corrections that widen a bar what they say: a drift's floor, and the bias of a short series' correlation?"""

import numpy as np
import pytest

from gpusim.model.sampling.estimate import ratios
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.noise import lag1
from gpusim.model.sampling.spec import SamplingSpec

COLUMNS = Columns(0, 1, 2, 3, 3, 1, 1, np.array([True, False, False, False]))
INTERVALS = 20


@pytest.mark.parametrize(("settling_rounds", "share"), [(1.0, 0.5), (5.0, 0.5), (10.0, 1.0), (20.0, 2.0)])
def test_half_of_a_drift_is_doubted_at_least(settling_rounds: float, share: float) -> None:
    """Ten intervals of one rate, ten of one a quarter higher: what is doubted is the step times settling over ten
    intervals.

    An interval's windows are alike, and intervals of either half, so that chance explains but the intervals' own step:
    of 20 deviations of an eighth it leaves the variance 2 / 10 of 20 / 64 over the degrees.
    """
    rates = np.repeat([1.0, 1.25], INTERVALS // 2)
    intervals = np.zeros((INTERVALS, 8, 4))
    intervals[..., 0] = 1000 * rates[:, np.newaxis]
    intervals[..., 1] = 1000
    spec = SamplingSpec(settling_rounds=settling_rounds, most_correlation=0.99)
    found = ratios(intervals, np.full(INTERVALS, 1 / INTERVALS), 50.0, COLUMNS, spec)
    degrees = 4 + INTERVALS - 1  # halves of four intervals
    assert found.noise.inflation == 1
    by_chance = 2 / 10 * INTERVALS * 0.125**2 / degrees
    assert found.drift.deviations[0, 0] == pytest.approx(share * np.sqrt(0.25**2 - by_chance))


@pytest.mark.parametrize(
    ("values", "corrected"),
    [
        ((3, 0, 0, 1, 0, 2, 1, 1), -1 / 4),  # products of neighbours -2, squares 8
        ((1, 2, 2, 1, 1, 2, 2, 1), 0),  # -1/4 and 2: no correlation, but for the bias
        ((0, 0, 0, 1, 0, 0, 0, 0), -1 / 14),  # -9/64 and 7/8
        ((1, 1, 1, 1, 2, 2, 2, 2), 0.99),  # 5/4 and 2: more than all
        ((1, 2, 1, 2, 1, 2, 1, 2), -0.99),  # -7/4 and 2
    ],
)
def test_the_correlation_of_a_short_series_is_corrected(values: tuple[int, ...], corrected: float) -> None:
    """Kendall 1954: in n values a correlation r is found as r - (1 + 4 r) / n in the mean; so (8 r' + 1) / 4 of 8."""
    assert lag1(np.array(values, float)) == pytest.approx(corrected)
