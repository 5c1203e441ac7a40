"""Is a half-width as wide as the error it stands for: on series that behave as windows do, and on such as mislead?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.student import quantile, within
from gpusim.model.sampling.estimate import estimate, ratios
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.noise import joined, lag1, noise
from gpusim.model.sampling.spec import SamplingSpec

SPEC = SamplingSpec(bias=0, unsettled=0, unsettled_spread=0)
COLUMNS = Columns(0, 1, 2, 3, 4, 5, 5, np.array([True] + [False] * 5))
INSTRUCTIONS, WAVEFRONTS, LENGTH = 1000.0, 10.0, 100.0  # of a window, in it, of a wavefront
WINDOWS = 8
SKIPPED = 1000 * LENGTH  # instructions of the wavefronts that are skipped


@pytest.mark.parametrize(
    ("degrees", "at_95", "at_99"),
    [(1, 12.706, 63.657), (2, 4.303, 9.925), (5, 2.571, 4.032), (8, 2.306, 3.355), (30, 2.042, 2.750)],
)
def test_quantiles_are_those_of_the_tables(degrees: int, at_95: float, at_99: float) -> None:
    # Abramowitz and Stegun 1964, table 26.10
    assert quantile(0.95, degrees) == pytest.approx(at_95, abs=6e-4)
    assert quantile(0.99, degrees) == pytest.approx(at_99, abs=6e-4)


@given(st.floats(0.01, 0.999), st.integers(1, 60))
def test_a_quantile_holds_what_it_is_asked_for(confidence: float, degrees: int) -> None:
    assert within(quantile(confidence, degrees), degrees) == pytest.approx(confidence, abs=1e-9)


def test_many_degrees_are_the_normal_distribution() -> None:
    assert quantile(0.95, 10**6) == pytest.approx(1.96, abs=0.007)


def intervals_of(rates: np.ndarray) -> np.ndarray:
    """Intervals of windows of equal work. rates: cycles an instruction, [interval, window]."""
    rows = np.zeros((*rates.shape, 6))
    rows[..., 0] = rates * INSTRUCTIONS
    rows[..., 1:4] = INSTRUCTIONS, WAVEFRONTS * LENGTH, WAVEFRONTS
    rows[..., 4:6] = 30, 10
    return rows


def equal(count: int) -> np.ndarray:
    return np.full(count, 1 / count)


def half_width(found: np.ndarray, column: int = 0, spec: SamplingSpec = SPEC, age: float = 20) -> float:
    doubts = estimate(found, equal(len(found)), age, COLUMNS, 1000, spec).doubts
    return float(np.sqrt(sum(d.factor * float((d.deviations[:, column] ** 2).sum()) for d in doubts)))


@given(st.floats(0.1, 10), st.integers(1, 40), st.integers(1, 10**6))
def test_equal_intervals_are_extrapolated_exactly(rate: float, count: int, wavefronts: int) -> None:
    found = intervals_of(np.full((count, WINDOWS), rate))
    made = estimate(found, equal(count), 5, COLUMNS, wavefronts, SPEC)
    assert made.added[0] == pytest.approx(rate * LENGTH * wavefronts)
    assert made.added[1] == pytest.approx(LENGTH * wavefronts)
    assert made.added[4] == pytest.approx(30 / INSTRUCTIONS * LENGTH * wavefronts)
    assert half_width(found) <= 1e-6 * rate * SKIPPED


def test_known_work_takes_the_place_of_the_intervals_wavefronts() -> None:
    found = intervals_of(np.full((4, WINDOWS), 2.0))
    assert estimate(found, equal(4), 5, COLUMNS, 7, SPEC, work=5000).added[0] == pytest.approx(10_000)


def test_intervals_count_by_their_weights() -> None:
    found = intervals_of(np.repeat([[1.0], [3.0]], WINDOWS, axis=1))
    made = estimate(found, np.array([0.75, 0.25]), 5, COLUMNS, 1000, SPEC)
    assert made.added[0] == pytest.approx(1.5 * SKIPPED)


def autoregressive(rng: np.random.Generator, count: int, correlation: float, spread: float) -> np.ndarray:
    """Rates around 1 with standard deviation `spread`, each like the one before."""
    noise = rng.standard_normal(count + 100) * spread * np.sqrt(1 - correlation**2)
    out = np.zeros(count + 100)
    for k in range(1, count + 100):
        out[k] = correlation * out[k - 1] + noise[k]
    return 1 + out[100:]


@pytest.mark.parametrize("draws", [100, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("intervals", [1, 2, 5, 20])
def test_the_truth_lies_within_as_often_as_promised(correlation: float, intervals: int, draws: int) -> None:
    # correlation is of windows: what follows eight windows later hardly knows of it
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(draws):
        found = intervals_of(autoregressive(rng, intervals * WINDOWS, correlation, 0.02).reshape(intervals, WINDOWS))
        hits += abs(estimate(found, equal(intervals), 20, COLUMNS, 1000, SPEC).added[0] - SKIPPED) <= half_width(found)
    assert hits / draws >= (0.93 if correlation == 0 or intervals > 5 else 0.7)


def test_intervals_that_resemble_one_another_widen_the_bar() -> None:
    rng = np.random.default_rng(7)
    hits = {0.0: 0, 0.7: 0}
    for correlation in hits:
        for _ in range(200):
            found = intervals_of(np.repeat(autoregressive(rng, 40, correlation, 0.02)[:, np.newaxis], WINDOWS, axis=1))
            hits[correlation] += abs(float(found[..., 0].mean()) / INSTRUCTIONS - 1) <= half_width(found) / SKIPPED
    assert hits[0.0] / 200 >= 0.9 and hits[0.7] / 200 >= 0.85


def test_half_widths_are_no_wider_than_need_be() -> None:
    rng = np.random.default_rng(7)
    widths = [half_width(intervals_of(1 + rng.standard_normal((16, WINDOWS)) * 0.02)) for _ in range(50)]
    ideal = 1.96 * 0.02 / np.sqrt(16 * WINDOWS) * SKIPPED
    assert ideal < np.mean(widths) < 1.5 * ideal


def test_a_slow_drift_widens_the_bar_to_where_it_leads() -> None:
    rng = np.random.default_rng(3)
    drifting = intervals_of((np.linspace(1.0, 1.02, 64) + rng.standard_normal(64) * 1e-4).reshape(8, WINDOWS))
    assert half_width(drifting) >= 0.0045 * SKIPPED  # the later half is 1 % from the earlier


def test_an_early_interval_is_doubted_by_what_its_windows_do() -> None:
    spec = SamplingSpec(bias=0, unsettled=0, unsettled_spread=1)
    rough = intervals_of(np.tile(np.repeat([0.9, 1.1], WINDOWS // 2), (2, 1)))
    smooth = intervals_of(np.full((2, WINDOWS), 1.0))
    early, late = half_width(rough, spec=spec, age=2), half_width(rough, spec=spec, age=12)
    assert early >= 1.96 * 0.1 * SKIPPED and late < early / 2 and half_width(smooth, spec=spec, age=2) < 1e-9 * SKIPPED
    least = SamplingSpec(bias=0, unsettled=0.01, unsettled_spread=0, settling_rounds=2)
    assert half_width(smooth, spec=least, age=4) == pytest.approx(1.96 * 0.005 * SKIPPED, rel=0.01)


def test_the_bias_of_skips_is_part_of_times_alone() -> None:
    spec = SamplingSpec(bias=0.01, unsettled=0, unsettled_spread=0)
    found = intervals_of(np.full((4, WINDOWS), 1.0))
    assert half_width(found, 0, spec) == pytest.approx(1.96 * 0.01 * SKIPPED, rel=0.01)
    assert half_width(found, 4, spec) == 0


def test_relative_squares_are_those_of_the_half_width() -> None:
    found = intervals_of(1 + np.random.default_rng(2).standard_normal((6, WINDOWS)) * 0.02)
    made = ratios(found, equal(6), 9, COLUMNS, SamplingSpec())
    assert np.sqrt(made.squares(made.doubts, 0)) * made.values[0] * SKIPPED == pytest.approx(
        half_width(found, spec=SamplingSpec(), age=9)
    )


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_noise_is_a_interval_s_variance_however_many_intervals_there_are(count: int, seed: int) -> None:
    values = 1 + np.random.default_rng(seed).standard_normal((count, WINDOWS)) * 0.02
    found = noise(intervals_of(values), 1, 0, SPEC)
    variance = float((found.rows[:, 0] ** 2).sum())
    assert variance == pytest.approx(WINDOWS * (0.02 * INSTRUCTIONS) ** 2, rel=3.5)
    of_parts = 4 * (2 - 1) if count >= 4 else count * (WINDOWS - 1)  # halves of the last four intervals, or all windows
    assert found.degrees == min(SPEC.prior_degrees, of_parts) + count - 1 and found.inflation >= 1
    assert len(found.rows) <= 4 * WINDOWS + 32


@given(st.integers(1, 200), st.integers(1, 40))
def test_joined_rows_are_few_and_add_up(count: int, most: int) -> None:
    rows = np.arange(2.0 * count).reshape(count, 2)
    found = joined(rows, most)
    assert len(found) <= most and found.sum(axis=0).tolist() == rows.sum(axis=0).tolist()


def test_lag1_of_known_series() -> None:
    rng = np.random.default_rng(1)
    assert lag1(np.ones(50)) == 0 and lag1(np.array([1.0, 2.0, 3.0])) == 0
    assert abs(lag1(rng.standard_normal(2000))) < 0.07
    assert lag1(autoregressive(rng, 4000, 0.6, 1.0)) == pytest.approx(0.6, abs=0.05)
    assert lag1(np.array([1.0, -1.0] * 20)) < -0.9


def of_lengths(rng: np.random.Generator, intervals: int, mean: float, spread: float) -> np.ndarray:
    """Intervals of equal pace whose windows' wavefronts differ in length."""
    rows = intervals_of(np.ones((intervals, WINDOWS)))
    lengths = mean * (1 + spread * rng.standard_normal((intervals, WINDOWS)))
    rows[..., 2] = lengths * rows[..., 3]
    return rows


def test_work_that_is_not_known_is_doubted_by_how_wavefronts_differ() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(200):
        found = of_lengths(rng, 8, LENGTH, 0.2)
        hits += abs(estimate(found, equal(8), 20, COLUMNS, 1000, SPEC).added[0] - SKIPPED) <= half_width(found)
    assert hits / 200 >= 0.9
    known = estimate(of_lengths(rng, 8, LENGTH, 0.2), equal(8), 20, COLUMNS, 1000, SPEC, work=5000)
    assert sum(float((d.deviations[:, 0] ** 2).sum()) for d in known.doubts) < 1e-6


def width_of(waves: float, age: float, spec: SamplingSpec = SPEC) -> float:
    found = intervals_of(np.ones((4, WINDOWS)))
    made = estimate(found, equal(4), age, COLUMNS, 1000, spec, int(SKIPPED), waves=waves)
    assert made.added[0] == pytest.approx(SKIPPED)
    return float(np.sqrt(sum(d.factor * float((d.deviations[:, 0] ** 2).sum()) for d in made.doubts))) / SKIPPED


def test_a_launch_that_is_far_longer_than_what_was_measured_is_doubted_by_how_much_longer() -> None:
    # the mean of log2(t / 10) over 0 to 640 waves: 6 doublings less 1 / ln 2
    assert width_of(640, 10) == pytest.approx(1.96 * SPEC.slow_change * (6 - 1 / np.log(2)), rel=4e-3)
    assert width_of(1280, 10) - width_of(640, 10) == pytest.approx(1.96 * SPEC.slow_change, rel=4e-3)
    assert width_of(640, 20) == pytest.approx(width_of(320, 10))
    assert width_of(27, 10) == width_of(0, 10) == pytest.approx(0, abs=1e-9), "measured at its middle"
    assert width_of(640, 10, SPEC.model_copy(update={"slow_change": 0.0})) == pytest.approx(0, abs=1e-9)


def test_what_is_waited_for_may_move_on_before_the_pace_does() -> None:
    rng = np.random.default_rng(4)
    intervals = np.zeros((6, WINDOWS, 4))
    intervals[..., 0] = intervals[..., 1] = 1000
    intervals[..., 2] = 9000 + 20 * rng.standard_normal((6, WINDOWS))
    intervals[..., 3] = 1000 + 20 * rng.standard_normal((6, WINDOWS))
    columns = Columns.of_pace(2)
    assert ratios(intervals, equal(6), 9, columns, SPEC).moving < 0.01
    intervals[..., 3] += 200 * np.arange(6)[:, np.newaxis]
    found = ratios(intervals, equal(6), 9, columns, SPEC)
    assert found.moving > 0.02 and found.squares((found.drift,), 0) == 0
