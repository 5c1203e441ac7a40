"""The error of the mean of windows that follow one another: batch means (Law and Kelton, chapter on output analysis).

Neighbouring windows resemble one another, so that the variance of their mean is larger than that of as many independent
ones. Windows are joined into batches, doubled in size until neighbouring batches no longer do; where there are too few
windows for that, the variance is multiplied by what a first-order autoregressive process of their correlation has.
"""

from dataclasses import dataclass

import numpy as np

from gpusim.sampling.spec import SamplingSpec

_MOST_BATCHES = 32  # each costs a computation of all metrics, and Student's t is the normal's by then
_MOST_INFLATION = 25.0  # at a correlation of 0.92: more says that nothing is known


@dataclass(frozen=True)
class Batches:
    """size: windows in a batch; count: batches; inflation: of the variance of their mean, for what correlation is left;
    correlation: of neighbouring batches."""

    size: int
    count: int
    inflation: float
    correlation: float

    def ranges(self, windows: int) -> list[slice]:
        """Which of `windows` windows are in each batch; the first ones that fill no batch are in none."""
        first = windows - self.size * self.count
        return [slice(first + self.size * b, first + self.size * (b + 1)) for b in range(self.count)]


def lag1(values: np.ndarray) -> float:
    """Autocorrelation of neighbouring values, its bias in short series corrected (Kendall 1954); 0 if all are equal."""
    n = len(values)
    apart = values - values.mean()
    square = float((apart * apart).sum())
    if n < 5 or square <= (1e-12 * float(np.abs(values).max())) ** 2 * n:
        return 0.0
    found = float((apart[1:] * apart[:-1]).sum()) / square
    return max(-0.99, min((found * n + 1) / (n - 4), 0.99))


def batched(values: np.ndarray, spec: SamplingSpec) -> Batches:
    """How windows of these values are to be joined; ValueError for fewer than two windows.

    What moves within a single lap comes again in the next, and says nothing of the error of a lap's mean that the
    windows' spread does not.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"{n} windows say nothing of their error")
    size = 1
    while True:
        count = n // size
        means = values[n - size * count :].reshape(count, size).mean(axis=1)
        correlation = lag1(means)
        if count <= _MOST_BATCHES and (abs(correlation) <= spec.most_correlation or count // 2 < spec.least_batches):
            break
        size *= 2
    left = max(0.0, correlation) if n > spec.lap_windows else 0.0
    return Batches(size, count, min((1 + left) / (1 - left), _MOST_INFLATION), correlation)
