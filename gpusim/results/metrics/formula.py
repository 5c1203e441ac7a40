"""Formulas over metrics: a path, a sum of paths, or one quotient of sums, such as 'a.b + a.c / d.e'."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from gpusim.base.sums import plain_sum

_METRIC = re.compile(r"[a-z_0-9]+\.[a-z_0-9]+")


@cache
def parse_formula(formula: str) -> tuple[tuple[str, ...], ...]:
    """Return the metrics of a formula's sums: one sum, or numerator and denominator."""
    return tuple(tuple(_METRIC.findall(part)) for part in formula.split("/"))


def evaluate_formula(formula: str, value_of: Callable[[str], Any]) -> float | None:
    """Return the value of a formula.

    Args:
        formula: Formula over metric paths.
        value_of: Returns the value of a metric; None where it does not apply.

    Returns:
        The value; None where a metric is no number, or the denominator is 0.
    """
    sums = []
    for part in parse_formula(formula):
        values = list(map(value_of, part))
        if any(not isinstance(value, int | float) for value in values):
            return None
        sums.append(float(plain_sum(values)))
    if len(sums) == 1:
        return sums[0]
    return sums[0] / sums[1] if sums[1] else None
