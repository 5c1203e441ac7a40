"""How far the counts of an interval are from what its work would have of them: by chance.

Intervals of a launch that has settled hardly resemble one another, so that their spread says how wrong their mean may
be. Few intervals say little of their spread, though. What the machine does within an interval says more, and at once:
were parts of a interval independent, its variance would be the sum of theirs. That is the prior, worth as many
intervals as it has degrees of freedom, `SamplingSpec.prior_degrees` at most (an inverse-gamma prior of the variance:
Gelman et al., Bayesian Data Analysis, chapter 2), and each interval adds its own deviation. The parts are windows, and
halves of intervals once there are enough of these, since windows make up for one another: where they differ by 10 %,
halves may differ by one.
"""

from dataclasses import dataclass

import numpy as np

from gpusim.model.sampling.spec import SamplingSpec

_PRIOR_INTERVALS = 4  # whose parts are the prior: the last ones
_MOST_ROWS = 32  # of intervals: each costs a computation of all metrics
_LEAST_FOR_CORRELATION = 6
_LEAST_FOR_WITNESS = 3  # degrees of freedom of intervals, from which on they bound what windows say
_MOST_OF_INTERVALS = 2.0  # times the intervals' own spread
_MOST_CORRELATION = 0.92  # more says that nothing is known


@dataclass(frozen=True)
class Noise:
    """Deviation of a detailed interval's counts from the mean for its work."""

    rows: np.ndarray
    """float64 [rows, columns]: the sum of squares over the rows is the variance."""
    within: np.ndarray
    """float64 [columns]: standard deviation of a detailed interval, estimated from its windows."""
    degrees: int
    """Degrees of freedom."""
    correlation: float
    """Correlation of adjacent detailed intervals."""
    inflation: float
    """Factor of the variance of a mean of detailed intervals because of `correlation`."""


def noise(
    intervals: np.ndarray, work: int, time: int, spec: SamplingSpec, strata: np.ndarray | None = None, fitted: int = 0
) -> Noise:
    """Estimate the noise of intervals that have settled.

    Args:
        intervals: [interval, window, column].
        work: The columns of instructions and cycles.
        time: The columns of instructions and cycles.
        strata: A number of what each interval is a sample of, where that is not the same for all: intervals are then
            compared with those of their own stratum.
        fitted: Coefficients of a regression of the intervals.
    """
    totals = intervals.sum(axis=1)
    last = parts_of(intervals[-_PRIOR_INTERVALS:])
    own = last.sum(axis=1) / np.maximum(last.sum(axis=1)[:, work : work + 1], 1)
    apart = last - own[:, np.newaxis] * last[:, :, work : work + 1]
    count, parts = apart.shape[:2]
    prior = apart.reshape(count * parts, -1) * np.sqrt(parts / ((parts - 1) * count))
    strata = np.zeros(len(totals), np.int64) if strata is None else strata
    between, own_degrees = _between(totals, work, strata)
    own_degrees = max(own_degrees - fitted, 0)
    correlation = lag1(between[:, time])
    left = min(correlation, _MOST_CORRELATION) if correlation > spec.most_correlation else 0.0
    prior_degrees = min(spec.prior_degrees, count * (parts - 1))
    degrees = prior_degrees + own_degrees
    if own_degrees >= _LEAST_FOR_WITNESS:  # windows of workgroups in step make up for one another, within intervals
        own_spread = float(np.sqrt((between[:, time] ** 2).sum() / own_degrees))
        window_spread = float(np.sqrt((prior[:, time] ** 2).sum()))
        prior = prior * min(1.0, _MOST_OF_INTERVALS * own_spread / max(window_spread, 1e-300))
    # neighbours are added up, and those of one stratum would cancel one another: its rows have no sum
    within_stratum = np.array([(strata[:k] == stratum).sum() for k, stratum in enumerate(strata)])
    between = joined(between[np.argsort(within_stratum, kind="stable")], _MOST_ROWS)
    rows = np.concatenate([prior * np.sqrt(prior_degrees), between]) / np.sqrt(degrees)
    return Noise(rows, np.sqrt((prior * prior).sum(axis=0)), degrees, correlation, (1 + left) / (1 - left))


def _between(totals: np.ndarray, work: int, strata: np.ndarray) -> tuple[np.ndarray, int]:
    """Return how far each interval is from what its work has in its stratum, [interval, column], and the degrees of
    freedom: the mean square of a stratum's rows is unbiased with one interval less.
    """
    between, degrees = np.zeros_like(totals, dtype=np.float64), 0
    for stratum in np.unique(strata):
        its = totals[strata == stratum]
        ratio = its.sum(axis=0) / max(float(its[:, work].sum()), 1)
        between[strata == stratum] = its - ratio * its[:, work : work + 1]
        degrees += len(its) - 1
    return between, degrees


def parts_of(intervals: np.ndarray) -> np.ndarray:
    """Return intervals by windows as an array [interval, part, column].

    Parts are halves of intervals where there are `_PRIOR_INTERVALS`, whose differences are enough to tell their spread,
    otherwise windows.
    """
    count, windows = intervals.shape[:2]
    parts = 2 if count >= _PRIOR_INTERVALS else windows
    return np.asarray(np.add.reduceat(intervals, np.arange(parts) * windows // parts, axis=1))


def joined(rows: np.ndarray, most: int) -> np.ndarray:
    """Add up neighbouring rows until there are at most `most`; independent rows keep their expected sum of squares."""
    while len(rows) > most:
        odd = rows[len(rows) // 2 * 2 :]
        rows = np.concatenate([rows[: len(rows) // 2 * 2].reshape(-1, 2, rows.shape[1]).sum(axis=1), odd])
    return rows


def lag1(values: np.ndarray) -> float:
    """Return the autocorrelation of neighbouring values, corrected for its bias in short series (Kendall 1954).

    The result is 0 if the values are few or all equal.
    """
    n = len(values)
    apart = values - values.mean()
    square = float((apart * apart).sum())
    if n < _LEAST_FOR_CORRELATION or square <= (1e-12 * float(np.abs(values).max())) ** 2 * n:
        return 0.0
    found = float((apart[1:] * apart[:-1]).sum()) / square
    return max(-0.99, min((found * n + 1) / (n - 4), 0.99))
