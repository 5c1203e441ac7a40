"""Is a half-width as wide as the error it stands for: on series that behave as windows do, and on such as mislead?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.sampling.batches import batched, lag1
from gpusim.sampling.estimate import estimate
from gpusim.sampling.looks import Columns, spaced, windows_of
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling.steady import drifts
from gpusim.sampling.student import quantile, within

SPEC = SamplingSpec(bias=0)
COLUMNS = Columns(0, 1, 2, 3, 4, 5, (6, 7), np.array([True] + [False] * 7))
INSTRUCTIONS, WAVEFRONTS, LENGTH = 1000.0, 10.0, 100.0  # of a window, in it, of a wavefront


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


def windows(rates: np.ndarray) -> np.ndarray:
    """Windows of equal work that took `rates` cycles an instruction."""
    rows = np.zeros((len(rates), 8))
    rows[:, 0] = rates * INSTRUCTIONS
    rows[:, 1:4] = INSTRUCTIONS, WAVEFRONTS * LENGTH, WAVEFRONTS
    rows[:, 4:8] = 30, 10, 5, 5
    return rows


def half_width(found: np.ndarray, column: int = 0, spec: SamplingSpec = SPEC, wavefronts: int = 1000) -> float:
    doubts = estimate(found, COLUMNS, wavefronts, spec).doubts
    return float(np.sqrt(sum(d.factor * float((d.deviations[:, column] ** 2).sum()) for d in doubts)))


@given(st.floats(0.1, 10), st.integers(2, 40), st.integers(1, 10**6))
def test_equal_windows_are_extrapolated_exactly(rate: float, count: int, wavefronts: int) -> None:
    found = windows(np.full(count, rate))
    made = estimate(found, COLUMNS, wavefronts, SPEC)
    assert made.added[0] == pytest.approx(rate * LENGTH * wavefronts)
    assert made.added[1] == pytest.approx(LENGTH * wavefronts)
    assert made.added[4] == pytest.approx(30 / INSTRUCTIONS * LENGTH * wavefronts)
    assert half_width(found, wavefronts=wavefronts) <= 1e-6 * made.added[0]


def test_known_work_takes_the_place_of_the_windows_wavefronts() -> None:
    assert estimate(windows(np.full(8, 2.0)), COLUMNS, 7, SPEC, work=5000).added[0] == pytest.approx(10_000)


def autoregressive(rng: np.random.Generator, count: int, correlation: float, spread: float) -> np.ndarray:
    """Rates around 1 with standard deviation `spread`, each like the one before."""
    noise = rng.standard_normal(count + 100) * spread * np.sqrt(1 - correlation**2)
    out = np.zeros(count + 100)
    for k in range(1, count + 100):
        out[k] = correlation * out[k - 1] + noise[k]
    return 1 + out[100:]


@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.7])
@pytest.mark.parametrize("count", [16, 40, 160])
def test_the_truth_lies_within_as_often_as_promised(correlation: float, count: int) -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(200):
        found = windows(autoregressive(rng, count, correlation, 0.02))
        truth = 1000 * LENGTH  # at rate 1
        hits += abs(estimate(found, COLUMNS, 1000, SPEC).added[0] - truth) <= half_width(found)
    assert hits / 200 >= (0.9 if count >= 40 or correlation < 0.5 else 0.8)


def test_half_widths_are_no_wider_than_need_be() -> None:
    rng = np.random.default_rng(7)
    widths = [half_width(windows(autoregressive(rng, 64, 0.0, 0.02))) for _ in range(50)]
    ideal = 1.96 * 0.02 / 8 * 1000 * LENGTH
    assert ideal < np.mean(widths) < 1.6 * ideal


def test_a_slow_drift_widens_the_bar_to_where_it_leads() -> None:
    rng = np.random.default_rng(3)
    drifting = windows(np.linspace(1.0, 1.02, 64) + rng.standard_normal(64) * 1e-3)
    assert half_width(drifting) >= 0.009 * 1000 * LENGTH  # its end is 1 % from its mean


def test_the_bias_of_jumps_is_part_of_times_alone() -> None:
    spec = SamplingSpec(bias=0.01)
    found = windows(np.full(16, 1.0))
    assert half_width(found, 0, spec) == pytest.approx(1.96 * 0.01 * 1000 * LENGTH, rel=0.01)
    assert half_width(found, 4, spec) == 0


@given(st.integers(8, 400), st.integers(0, 2**32 - 1))
def test_every_batch_has_its_windows_and_no_window_two(count: int, seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal(count).cumsum()
    found = batched(values, SPEC)
    taken = [k for part in found.ranges(count) for k in range(count)[part]]
    assert taken == list(range(count - found.size * found.count, count))
    assert count - len(taken) < found.size and found.inflation >= 1
    assert found.count >= min(count, SPEC.least_batches) // 2


def test_a_single_window_says_nothing() -> None:
    with pytest.raises(ValueError, match="1 windows"):
        batched(np.ones(1), SPEC)


def test_lag1_of_known_series() -> None:
    rng = np.random.default_rng(1)
    assert lag1(np.ones(50)) == 0
    assert abs(lag1(rng.standard_normal(2000))) < 0.07
    assert lag1(autoregressive(rng, 4000, 0.6, 1.0)) == pytest.approx(0.6, abs=0.05)
    assert lag1(np.array([1.0, -1.0] * 20)) < -0.9


def test_drift_is_what_chance_does_not_explain() -> None:
    rng = np.random.default_rng(5)
    noise = rng.standard_normal(40) * 0.01
    assert not drifts(1 + noise, 0.002, 0.95)
    assert drifts(1 + noise + np.linspace(0, 0.05, 40), 0.002, 0.95)
    assert not drifts(1 + noise * 0 + np.linspace(0, 0.001, 40), 0.002, 0.95)  # too small to matter
    assert drifts(np.r_[np.full(20, 1.0), np.full(20, 1.1)] + noise, 0.002, 0.95)  # a step
    assert drifts(np.r_[0.5, np.full(7, 1.0)], 0.01, 0.95)  # a first window whose own spread would hide it
    assert not drifts(np.array([1.0, 2.0, 3.0]), 0.002, 0.95)  # too few to say


@given(st.integers(3, 60), st.integers(1, 50), st.floats(0, 400))
def test_spaced_looks_are_near_their_cycles_and_in_order(count: int, step: int, first: float) -> None:
    looks = [np.array([k * step], float) for k in range(count)]
    chosen = [float(look[0]) for look in spaced(looks, first, 4.0 * step, 0)]
    assert chosen == sorted(set(chosen))
    assert all(abs(c - (first + 4 * step * k)) <= step for k, c in enumerate(chosen))


def test_windows_do_not_span_blocks() -> None:
    blocks = [[np.array([0.0]), np.array([3.0]), np.array([5.0])], [np.array([100.0]), np.array([104.0])], []]
    assert windows_of(blocks)[:, 0].tolist() == [3, 2, 4]
