"""Sums of numbers that are the same in every version of Python."""

from collections.abc import Iterable, Sequence
from functools import reduce
from math import fsum
from operator import add, mul
from typing import Any, overload


@overload
def plain_sum(numbers: Iterable[int]) -> int: ...
@overload
def plain_sum(numbers: Iterable[float]) -> float: ...
@overload
def plain_sum(numbers: Iterable[Any]) -> Any: ...
def plain_sum(numbers: Iterable[Any]) -> Any:
    """Add numbers from left to right, each sum rounded; 0 if there are none.

    Python's own `sum` compensates the rounding of floats from 3.12 on, so that a result would hang on the version: no
    float that a result depends on is added by it.
    """
    return reduce(add, numbers, 0)


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return a weighted mean, of products that are each rounded.

    `statistics.fmean` rounds them from 3.12 on no more.

    Args:
        values: the values.
        weights: how much each counts.

    Returns:
        The mean.
    """
    return fsum(map(mul, values, weights)) / fsum(weights)
