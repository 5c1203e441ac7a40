"""Whether windows have settled: nothing moves on from the first half of them to the second."""

from collections.abc import Sequence

import numpy as np

from gpusim.sampling.student import quantile

_SURELY = 5  # times what is tolerated: a step in the first windows hides in the spread that it makes


def drifts(values: np.ndarray, tolerated: float, confidence: float) -> bool:
    """Whether the mean of the second half differs from the first's by more than `tolerated`, relative, and by more
    than chance explains, or by much more. values: of one quantity, window by window; fewer than four do not drift."""
    half = len(values) // 2
    if half < 2:
        return False
    first, second = values[:half], values[-half:]
    scale = max(abs(float(values.mean())), 1e-300)
    apart = abs(float(second.mean() - first.mean()))
    if not tolerated * scale < apart < _SURELY * tolerated * scale:
        return apart > tolerated * scale
    spread = float(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / half))
    return apart > quantile(confidence, 2 * half - 2) * spread


def settled(series: Sequence[tuple[np.ndarray, float]], confidence: float) -> bool:
    """Whether no quantity drifts. series: of each its values, window by window, and what is tolerated."""
    return not any(drifts(values, tolerated, confidence) for values, tolerated in series)
