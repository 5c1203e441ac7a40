"""Values as a person reads them: every number with its unit, and with its half-width where it was sampled."""

import math
from collections.abc import Mapping
from typing import Any

from gpusim.base.formats import COUNT, DIGITS_4, GROUPED_1, PERCENT, scaled
from gpusim.base.table import MISSING
from gpusim.results import metrics
from isa.object.names import short

_FRACTION = "fraction"  # a unit that values show themselves: as per cent


def format_metric(path: str, value: Any) -> str:
    """Format a metric's value for a reader: fractions in per cent, all others without their unit.

    Args:
        path: Path of the metric.
        value: The value.
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return _histogram(value) if path.endswith("histogram") else _range(value)
    if path == "kernel.name":
        return " + ".join(map(short, value.split(" + ")))
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if _unit(path) == _FRACTION:
            return PERCENT(value)
        if path.endswith("instructions_per_s"):
            return scaled(value)
        return GROUPED_1(value) if abs(value) >= 100 else DIGITS_4(value)
    return COUNT(value) if isinstance(value, int) else str(value)


def unit_of(path: str, other: str = "") -> str:
    """Return the unit to print after a metric's value; empty for fractions, which are printed in per cent.

    Args:
        path: Path of the metric.
        other: The unit of a path that is no metric's.
    """
    unit = _unit(path, other)
    return "" if unit == _FRACTION else unit


def get_value(tree: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path of a metrics tree; None where the path or its group is missing."""
    held: Any = tree
    for name in path.split("."):
        held = held.get(name) if isinstance(held, Mapping) else None
    return held


def half_width(tree: Mapping[str, Any], path: str) -> float | None:
    """Return half of the interval in which a sampled number lies; None for exact values and for lists.

    Args:
        tree: Tree of metrics.
        path: Path of the metric.
    """
    found = get_value(tree, path + metrics.SUFFIX)
    return float(found) if isinstance(found, int | float) and found else None


def with_half_width(tree: Mapping[str, Any], path: str) -> str:
    """Format a metric's value and, where it was sampled, ± its half-width; without unit."""
    value, width = get_value(tree, path), half_width(tree, path)
    if width is None:
        return format_metric(path, value)
    return (
        f"{format_metric(path, value)} ±"
        f" {format_metric(path, max(1, round(width)) if isinstance(value, int) else width)}"
    )


def quantity(tree: Mapping[str, Any], path: str) -> str:
    """Format a metric's value with its unit."""
    return f"{with_half_width(tree, path)} {unit_of(path)}".rstrip()


def _unit(path: str, other: str = "") -> str:
    metric = metrics.describe(path)
    return other if metric is None else metric.unit


def _histogram(buckets: list[int]) -> str:
    """Return median and largest value of a histogram in powers of two (bucket b: 2^b to 2^(b+1) - 1), in words."""
    total = sum(buckets)
    if not total:
        return MISSING
    below = [sum(buckets[: b + 1]) for b in range(len(buckets))]
    median = next(b for b, count in enumerate(below) if 2 * count >= total)
    largest = next(b for b, count in enumerate(below) if count == total)
    return f"half < {COUNT(2 ** (median + 1))}, all < {COUNT(2 ** (largest + 1))}"


def _range(values: list[int]) -> str:
    """Return the smallest and the largest of several units' values, in words."""
    return f"{COUNT(min(values))} to {COUNT(max(values))}" if values else MISSING
