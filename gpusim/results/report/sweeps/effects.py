"""How much each axis of a sweep matters for a metric: exactly where points differ in that axis alone, and its share.

An axis that may be chosen is judged within each workload and environment, so that a layer which takes longer than
another one explains nothing. Of a whole grid the shares are an analysis of variance; of any other set of points they
are those of a linear model with a step for each value, fitted by least squares.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.base.intervals import differ
from gpusim.results.report.sweeps.points import Key, SweepData, SweepPoint, format_axis_value

HARDLY = 0.01  # a change below this share is called hardly any
MOST_STEPS = 6  # values of an axis that the model tells apart; of more, neighbours count as one
LEAST_POINTS = 4  # from which on a model is fitted


@dataclass(frozen=True)
class Effect:
    """Effect of an axis on a metric, with all else equal."""

    axis: str
    """Path of the axis."""
    most: float
    """Largest change between the smallest and the largest value, as a share of the smallest."""
    typical: float
    """Mean change, as a share of the smallest value."""
    by_workload: Mapping[Key, float]
    """Largest change at each workload."""
    pairs: int
    """Number of sets of points that differ in this axis only; 0: none."""
    distinct: bool
    """Some change exceeds its error bars."""
    share: float | None
    """Share of the variation that the axis alone explains; None: no variation, or too few points."""

    @property
    def has_none(self) -> bool:
        """Whether the axis has no effect at any of these points."""
        return self.pairs > 0 and not self.distinct


@dataclass(frozen=True)
class Effects:
    """Effects of all design axes on a metric, the largest share first."""

    metric: str
    """Path of the metric."""
    axes: Sequence[Effect]
    """Effects of the axes."""
    exact: bool
    """The points form a complete grid."""
    fit: float | None
    """Share of the variation that all axes explain additively."""
    together: Mapping[tuple[str, str], float]
    """Share of the variation that a pair of axes explains beyond each alone."""


def compute_effects(swept: SweepData, metric: str) -> Effects:
    """Return how much each axis of design matters for a metric."""
    places = [point for point in swept.places if metric in point.measured]
    axes = swept.with_role("design")
    fixed = swept.with_role("workload", "environment")
    exact = _is_grid(places, axes, fixed)
    table, values = _table(swept, places, axes, fixed, metric)
    whole = float(np.dot(values, values))
    varies = whole > 1e-18 * max(len(places), 1) and len(places) >= LEAST_POINTS
    shares = {axis: _explained(table, values, [axis], axes, exact) / whole for axis in axes} if varies else {}
    fit = 1 - _left(table, values, axes) / whole if varies else None
    together = {}
    if varies:
        for pair in itertools.combinations(axes, 2):
            share = _beside(table, values, pair, axes, exact) / whole
            if share > HARDLY:
                together[pair] = share
    found = [_effect(swept, places, axis, metric, shares.get(axis)) for axis in axes]
    found.sort(key=lambda effect: (-(effect.share or 0.0), -effect.most))
    return Effects(metric, found, exact, fit, dict(sorted(together.items(), key=lambda item: -item[1])))


def _effect(swept: SweepData, places: Sequence[SweepPoint], axis: str, metric: str, share: float | None) -> Effect:
    others = [path for path in swept.axes if path != axis]
    workload = swept.with_role("workload")
    sets: dict[Key, list[SweepPoint]] = {}
    for point in places:
        sets.setdefault(tuple(point.values[path] for path in others), []).append(point)
    changes, distinct, by_workload = [], False, dict[Key, float]()
    for group in sets.values():
        if len(group) < 2:
            continue
        estimates = sorted(point.measured[metric] for point in group)
        least, largest = estimates[0], estimates[-1]
        changes.append(_change(least[0], largest[0]))
        distinct = distinct or any(differ(a, b) for a, b in itertools.combinations(estimates, 2))
        key = tuple(group[0].values[path] for path in workload)
        by_workload[key] = max(by_workload.get(key, 0.0), changes[-1])
    typical = math.fsum(changes) / len(changes) if changes else 0.0
    return Effect(
        axis=axis,
        most=max(changes, default=0.0),
        typical=typical,
        by_workload=by_workload,
        pairs=len(changes),
        distinct=distinct,
        share=share,
    )


def _change(least: float, largest: float) -> float:
    """Return by which share of the least value the largest exceeds it; infinite from 0 on."""
    if least == largest:
        return 0.0
    return (largest - least) / abs(least) if least else math.inf


def _is_grid(places: Sequence[SweepPoint], axes: Sequence[str], fixed: Sequence[str]) -> bool:
    """Tell whether every combination of the axes' values is there once at every workload and environment."""
    paths = [*fixed, *axes]
    values = [{one.values[path] for one in places} for path in paths]
    keys = {tuple(one.values[path] for path in paths) for one in places}
    return len(keys) == len(places) == math.prod(map(len, values))


def _table(
    swept: SweepData, places: Sequence[SweepPoint], axes: Sequence[str], fixed: Sequence[str], metric: str
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return each axis's values as numbers of steps, and the metric without what workload and environment make of it.

    The metric is a logarithm where all values are positive: equal factors then count as equal changes.
    """
    raw = [point.measured[metric][0] for point in places]
    values = np.array([math.log(v) for v in raw] if all(v > 0 for v in raw) else raw, dtype=float)
    groups: dict[Key, list[int]] = {}
    for number, point in enumerate(places):
        groups.setdefault(tuple(point.values[path] for path in fixed), []).append(number)
    for numbers in groups.values():
        values[numbers] -= values[numbers].mean()
    steps = {}
    for axis in axes:
        order = {value: n for n, value in enumerate(swept.axes[axis])}
        count = min(len(order), MOST_STEPS)
        steps[axis] = np.array([order[point.values[axis]] * count // len(order) for point in places], dtype=int)
    return steps, values


def _indicators(steps: Sequence[np.ndarray]) -> np.ndarray:
    """Return a column of 0 and 1 for each combination of steps that some point has."""
    _, numbers = np.unique(np.stack(steps), axis=1, return_inverse=True)
    return np.eye(int(numbers.max()) + 1)[numbers.reshape(-1)]


def _left(table: Mapping[str, np.ndarray], values: np.ndarray, axes: Sequence[str], *pairs: tuple[str, str]) -> float:
    """Return the sum of squares that a model with a step for each value, and for each combination of pairs, leaves."""
    columns = [np.ones((len(values), 1)), *(_indicators([table[axis]]) for axis in axes)]
    columns += [_indicators([table[a], table[b]]) for a, b in pairs]
    model = np.hstack(columns)
    found = np.linalg.lstsq(model, values, rcond=None)[0]
    rest = values - model @ found
    return float(np.dot(rest, rest))


def _explained(
    table: Mapping[str, np.ndarray], values: np.ndarray, some: Sequence[str], axes: Sequence[str], exact: bool
) -> float:
    """Return the sum of squares that axes explain: of a grid by themselves, else beside what the others explain."""
    whole = float(np.dot(values, values))
    if exact:
        return whole - _left(table, values, some)
    others = [axis for axis in axes if axis not in some]
    return max(_left(table, values, others) - _left(table, values, axes), 0.0)


def _beside(
    table: Mapping[str, np.ndarray], values: np.ndarray, pair: tuple[str, str], axes: Sequence[str], exact: bool
) -> float:
    of = pair if exact else axes
    return max(_left(table, values, of) - _left(table, values, of, pair), 0.0)


def describe_unaffected_workloads(swept: SweepData, effect: Effect) -> str:
    """Say at which workloads an axis has no effect though it has one elsewhere; empty where there are none."""
    none = [key for key, change in effect.by_workload.items() if change == 0.0]
    if not none or len(none) == len(effect.by_workload):
        return ""
    return ", ".join(" ".join(map(format_axis_value, key)) for key in none)
