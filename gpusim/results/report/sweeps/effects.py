"""How much each axis of a sweep matters for a metric: exactly where points differ in that axis alone, and its share.

An axis that may be chosen is judged within each workload and environment, so that a layer which takes longer than
another one explains nothing. Of a whole grid the shares are an analysis of variance; of any other set of points they
are those of a linear model with a step for each value, fitted by least squares. Where an axis changes what points
decide for themselves, the decision is a further factor of that model, and the axis is judged where it is the same.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.base.intervals import differ
from gpusim.results.report.sweeps.decisions import Confound, find_confounds
from gpusim.results.report.sweeps.points import PointKey, SweepData, SweepPoint, format_axis_value, is_rate

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
    by_workload: Mapping[PointKey, float]
    """Largest change at each workload."""
    pairs: int
    """Number of sets of points that differ in this axis only; 0: none."""
    distinct: bool
    """Some change exceeds its error bars."""
    share: float | None
    """Share of the variation that the axis alone explains; None: no variation, or too few points."""
    changed: Sequence[str] = ()
    """Decisions that the axis changes."""
    most_alone: float | None = None
    """Largest change among points with the same decisions; None: no two points, or no decision is changed."""
    pairs_alone: int = 0
    """Number of sets of points that differ in this axis only, with the same decisions."""

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
    """The shares are an analysis of variance of a complete grid."""
    fit: float | None
    """Share of the variation that all axes, and decisions, explain additively."""
    together: Mapping[tuple[str, str], float]
    """Share of the variation that a pair of axes, one of them of design, explains beyond each alone."""
    rest: float | None = None
    """Share of the variation that neither single axes nor these pairs explain."""
    decided: Mapping[str, float] = field(default_factory=dict)
    """Share of the variation that a decision explains beyond the axes."""
    undivided: float = 0.0
    """Share of the variation that belongs to axes or decisions which the points do not separate."""
    is_absolute: bool = False
    """Changes are differences of a rate, not shares of the smallest value."""
    points: int = 0
    """Number of points."""
    steps: int = 0
    """Number of parameters of the model."""
    confounds: Sequence[Confound] = ()
    """Axes that change decisions."""


def compute_effects(swept: SweepData, metric: str) -> Effects:
    """Return how much each axis of design matters for a metric.

    Args:
        swept: The sweep's points.
        metric: Path of a metric; empty: the sweep's own.
    """
    places = [point for point in swept.places if metric in point.measured]
    axes = swept.with_role("design")
    fixed = swept.with_role("workload", "environment")
    confounds = find_confounds(swept)
    decisions = list(dict.fromkeys(one.decision for one in confounds))
    exact = not decisions and _is_grid(places, axes, fixed)
    model = _Model.of(swept, places, metric, exact)
    factors = [*axes, *decisions]
    varies = model.whole > 1e-18 * max(len(places), 1) and len(places) >= LEAST_POINTS
    left, steps = model.left(factors) if varies else (0.0, 0)
    has_shares = varies and (exact or steps < len(places))
    shares = {name: model.explained(name, factors) for name in factors} if has_shares else {}
    together: dict[tuple[str, str], float] = {}
    rest = None
    if has_shares:
        together = model.find_pairs([*itertools.combinations(axes, 2), *itertools.product(axes, fixed)], factors)
        squares, steps_with_pairs = model.left(factors, *together)
        rest = squares / model.whole if exact or steps_with_pairs < len(places) else None
    absolute = is_rate(metric)
    found = [_effect(swept, places, axis, metric, shares.get(axis), confounds) for axis in axes]
    found.sort(key=lambda effect: (-(effect.share or 0.0), -effect.most))
    fit = 1 - left / model.whole if has_shares else None
    return Effects(
        metric=metric,
        axes=found,
        exact=exact,
        fit=fit,
        together=together,
        rest=rest,
        decided={name: shares[name] for name in decisions if name in shares},
        undivided=max(fit - math.fsum(shares.values()), 0.0) if fit is not None else 0.0,
        is_absolute=absolute,
        points=len(places),
        steps=steps,
        confounds=confounds,
    )


def _effect(
    swept: SweepData, places: Sequence[SweepPoint], axis: str, metric: str, share: float | None,
    confounds: Sequence[Confound],
) -> Effect:  # fmt: skip
    others = [path for path in swept.axes if path != axis]
    workload = swept.with_role("workload")
    changed = [one.decision for one in confounds if one.axis == axis]
    groups = _alike(places, others, [])
    changes, distinct, by_workload = [], False, dict[PointKey, float]()
    for group in groups:
        estimates = sorted(point.measured[metric] for point in group)
        changes.append(_change(estimates[0][0], estimates[-1][0], is_rate(metric)))
        distinct = distinct or any(differ(a, b) for a, b in itertools.combinations(estimates, 2))
        key = tuple(group[0].values[path] for path in workload)
        by_workload[key] = max(by_workload.get(key, 0.0), changes[-1])
    alone = [[point.measured[metric][0] for point in group] for group in _alike(places, others, changed) if changed]
    return Effect(
        axis=axis,
        most=max(changes, default=0.0),
        typical=math.fsum(changes) / len(changes) if changes else 0.0,
        by_workload=by_workload,
        pairs=len(changes),
        distinct=distinct,
        share=share,
        changed=changed,
        most_alone=max((_change(min(held), max(held), is_rate(metric)) for held in alone), default=None),
        pairs_alone=len(alone),
    )


def _alike(places: Sequence[SweepPoint], axes: Sequence[str], decisions: Sequence[str]) -> list[list[SweepPoint]]:
    """Return sets of two points and more that have the same values of axes and the same decisions."""
    sets: dict[PointKey, list[SweepPoint]] = {}
    for point in places:
        key = (*(point.values[path] for path in axes), *(point.decided.get(name) for name in decisions))
        sets.setdefault(key, []).append(point)
    return [group for group in sets.values() if len(group) > 1]


def _change(least: float, largest: float, absolute: bool) -> float:
    """Return by which share of the least value the largest exceeds it, infinite from 0 on; or the difference."""
    if absolute or least == largest:
        return largest - least
    return (largest - least) / abs(least) if least else math.inf


def _is_grid(places: Sequence[SweepPoint], axes: Sequence[str], fixed: Sequence[str]) -> bool:
    """Tell whether every combination of the axes' values is there once at every workload and environment."""
    paths = [*fixed, *axes]
    values = [{one.values[path] for one in places} for path in paths]
    keys = {tuple(one.values[path] for path in paths) for one in places}
    return len(keys) == len(places) == math.prod(map(len, values))


@dataclass(frozen=True)
class _Model:
    """Linear models of a metric with a step for each value of a factor, within each workload and environment."""

    steps: Mapping[str, np.ndarray]
    """Number of each point's step by axis or decision."""
    base: np.ndarray
    """A column of 0 and 1 for each workload and environment."""
    values: np.ndarray
    """The metric without the mean of its workload and environment: a logarithm where all values are positive and no
    rates, so that equal factors count as equal changes."""
    exact: bool
    """The points are a complete grid."""

    @classmethod
    def of(cls, swept: SweepData, places: Sequence[SweepPoint], metric: str, exact: bool) -> "_Model":
        """Build the model of some points."""
        fixed = swept.with_role("workload", "environment")
        raw = [point.measured[metric][0] for point in places]
        is_log = not is_rate(metric) and all(value > 0 for value in raw)
        values = np.array([math.log(v) for v in raw] if is_log else raw, dtype=float)
        groups: dict[PointKey, list[int]] = {}
        for number, point in enumerate(places):
            groups.setdefault(tuple(point.values[path] for path in fixed), []).append(number)
        base = np.zeros((len(places), max(len(groups), 1)))
        for column, numbers in enumerate(groups.values()):
            values[numbers] -= values[numbers].mean()
            base[numbers, column] = 1
        steps = {}
        for axis in (*swept.with_role("design"), *fixed):
            order = {value: n for n, value in enumerate(swept.axes[axis])}
            count = min(len(order), MOST_STEPS) if axis not in fixed else len(order)
            steps[axis] = np.array([order[point.values[axis]] * count // len(order) for point in places], dtype=int)
        for name in swept.decisions:
            texts = list(dict.fromkeys(point.decided.get(name) for point in places))
            steps[name] = np.array([texts.index(point.decided.get(name)) for point in places], dtype=int)
        return cls(steps, base, values, exact)

    @property
    def whole(self) -> float:
        """The sum of squares of the values."""
        return float(np.dot(self.values, self.values))

    def left(self, factors: Sequence[str], *pairs: tuple[str, str]) -> tuple[float, int]:
        """Return the sum of squares that factors and the combinations of pairs leave, and the model's parameters."""
        columns = [self.base, *(_indicators([self.steps[name]]) for name in factors)]
        columns += [_indicators([self.steps[a], self.steps[b]]) for a, b in pairs]
        model = np.hstack(columns)
        found, _, rank, _ = np.linalg.lstsq(model, self.values, rcond=None)
        rest = self.values - model @ found
        return float(np.dot(rest, rest)), int(rank)

    def explained(self, name: str, factors: Sequence[str]) -> float:
        """Return the share that a factor explains: of a grid by itself, else beside what the others explain."""
        if self.exact:
            return 1 - self.left([name])[0] / self.whole
        others = [other for other in factors if other != name]
        return max(self.left(others)[0] - self.left(factors)[0], 0.0) / self.whole

    def find_pairs(self, pairs: Sequence[tuple[str, str]], factors: Sequence[str]) -> dict[tuple[str, str], float]:
        """Return the share that each pair explains beyond the factors and the pairs before it, the largest first.

        Only pairs that explain something, and for which the points suffice, are returned.
        """
        shares: dict[tuple[str, str], float] = {}
        before = self.left(factors)[0]
        while len(shares) < len(pairs):
            models = {pair: self.left(factors, *shares, pair) for pair in pairs if pair not in shares}
            known = {pair: left for pair, (left, steps) in models.items() if self.exact or steps < len(self.values)}
            pair = min(known, key=known.__getitem__, default=None)
            if pair is None or before - known[pair] <= HARDLY * self.whole:
                break
            shares[pair], before = (before - known[pair]) / self.whole, known[pair]
        return shares


def _indicators(steps: Sequence[np.ndarray]) -> np.ndarray:
    """Return a column of 0 and 1 for each combination of steps that some point has."""
    _, numbers = np.unique(np.stack(steps), axis=1, return_inverse=True)
    return np.eye(int(numbers.max()) + 1)[numbers.reshape(-1)]


def describe_unaffected_workloads(swept: SweepData, effect: Effect) -> str:
    """Say at which workloads an axis has no effect though it has one elsewhere; empty where there are none."""
    none = [key for key, change in effect.by_workload.items() if change == 0.0]
    if not none or len(none) == len(effect.by_workload):
        return ""
    return ", ".join(" ".join(map(format_axis_value, key)) for key in none)
