"""Student's t distribution for whole degrees of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""

import math
import statistics
from collections.abc import Sequence
from functools import cache

MANY_DEGREES = 400  # as good as infinitely many: the quantile is within 0.4 % of the normal's


def within(t: float, degrees: int) -> float:
    """Return the probability that |T| is below `t`, for T with `degrees` of freedom."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(2 + odd, degrees - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    total *= math.sin(angle)
    return (angle + total) * 2 / math.pi if odd else total


@cache
def quantile(confidence: float, degrees: int) -> float:
    """Return the t within which |T| of Student's distribution lies with a probability.

    Args:
        confidence: the probability, 0 to 1, exclusive.
        degrees: degrees of freedom, 1 or more.

    Returns:
        The quantile.

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 < confidence < 1 or degrees < 1:
        raise ValueError(f"no quantile at confidence {confidence} with {degrees} degrees of freedom")
    degrees = min(degrees, MANY_DEGREES)
    low, high = 0.0, 1.0
    while within(high, degrees) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, degrees) < confidence else (low, middle)
    return (low + high) / 2


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of repeated measurements and the half-width of its 95 % confidence interval.

    The half-width of a single measurement is 0.
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, 0.0
    return mean, quantile(0.95, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
