"""Intervals of different phases: each phase has its own pace, and only what its intervals differ by is chance."""

import numpy as np
import pytest

from gpusim.model.sampling.noise import noise
from gpusim.model.sampling.spec import SamplingSpec

WORK, TIME = 0, 1
SPEC = SamplingSpec(most_correlation=0.999)


def intervals(paces: list[float], spread: float, each: int, seed: int = 3) -> np.ndarray:
    """Return [interval, window, column] of phases with these paces, whose intervals deviate by `spread`, relatively."""
    luck = np.random.default_rng(seed)
    pace = np.repeat(paces, each) * (1 + spread * luck.standard_normal(len(paces) * each))
    work = np.full((len(pace), 8), 1000.0)
    return np.stack([work, work * pace[:, np.newaxis]], axis=2)


def deviation(of: np.ndarray, strata: np.ndarray | None) -> float:
    found = noise(of, WORK, TIME, SPEC, strata)
    return float(np.sqrt((found.rows[:, TIME] ** 2).sum()) / of.sum(axis=1)[:, TIME].mean())


def test_phases_that_differ_are_no_chance() -> None:
    of, strata = intervals([1.0, 1.5], 0.0, 4), np.repeat([0, 1], 4)
    assert deviation(of, strata) < 1e-12
    assert deviation(of, None) > 0.1


def test_intervals_that_differ_are() -> None:
    strata = np.repeat(np.arange(40), 3)
    found = []
    for seed in range(20):
        of = intervals([1.0] * 40, 0.05, 3, seed)
        degrees = noise(of, WORK, TIME, SPEC, strata).degrees
        assert degrees == 4 + 40 * 2  # halves of four intervals
        found.append(deviation(of, strata) ** 2)
    # the windows of an interval are alike here, so that only intervals against those of their phase count
    assert np.sqrt(np.mean(found)) == pytest.approx(0.05 * np.sqrt(80 / degrees), rel=0.1)


def test_one_phase_is_as_none() -> None:
    of = intervals([1.0], 0.05, 6)
    assert deviation(of, np.zeros(6, np.int64)) == deviation(of, None)
