"""Whole sweeps side by side: points paired by their axes' values, the largest change first, and what moved with it."""

import itertools
import json
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import PERCENT
from gpusim.base.intervals import Estimate, differ
from gpusim.results.metrics import leaves
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweeps import SweepTable
from gpusim.study.compare import rules
from gpusim.study.compare.rules import TIME, ComparisonFinding, ComparisonRule
from gpusim.study.compare.sides import RunPart

# what a comparison of points needs: times, and what the rules measure
_OF_RULES = [*(path for rule in rules.RULES for path in rule.paths), *(f"roofline.{r}" for r in rules.ROOFLINES)]
MEASURED = tuple(dict.fromkeys([TIME, "kernel.cycles", *_OF_RULES]))
MOST_CONFIGURATIONS = 100  # pairs whose configurations are set side by side; of more points, the first ones
LEAST_CORRELATED = 4  # points from which on a correlation is told
VARIES = "differs by point"
_OF_CODE = "(gpusim's code)"
_Key = tuple[str, ...]


@dataclass(frozen=True)
class PointComparison:
    """A point that all compared sweeps have."""

    name: str
    """Name shown to people."""
    values: Mapping[str, Any]
    """Values of the axes by path."""
    variant: str
    """Variant of the run; empty where there is one."""
    runs: Sequence[int]
    """Number of the run in each sweep."""
    times: Sequence[Estimate]
    """Time in each sweep, in microseconds, with its half-width."""
    parts: Sequence[RunPart]
    """Metrics in each sweep."""

    @property
    def ratios(self) -> list[float]:
        """The ratios of the other sweeps' times to the first's."""
        return [time / self.times[0][0] for time, _ in self.times[1:]]

    @property
    def size(self) -> float:
        """The size of the largest change from the first sweep: the logarithm of the factor."""
        return abs(math.log(self.ratios[self.farthest - 1]))

    @property
    def farthest(self) -> int:
        """The number of the sweep whose time differs most from the first one's."""
        return max(range(1, len(self.times)), key=lambda number: abs(math.log(self.ratios[number - 1])))

    def is_distinct(self, number: int) -> bool:
        """Tell whether a sweep's time can be distinguished from the first one's."""
        return differ(self.times[0], self.times[number])

    @cached_property
    def why(self) -> list[list[ComparisonFinding]]:
        """For each sweep but the first, what may explain that its time differs."""
        return [rules.findings(self.parts[0].metrics, part.metrics) for part in self.parts[1:]]


@dataclass(frozen=True)
class MeanRatio:
    """The ratio of a sweep's times to the first's, over the points.

    It is the geometric mean, with the half-width of its confidence interval, and how many points are faster, slower,
    not distinguishable.
    """

    ratio: float
    """Geometric mean of the ratios."""
    half_width: float
    """Half-width of the mean."""
    faster: int
    """Points that are faster."""
    slower: int
    """Points that are slower."""
    same: int
    """Points that cannot be distinguished."""


@dataclass(frozen=True)
class QuantityChange:
    """A quantity that changed over the distinguishable points."""

    topic: rules.Topic
    """Topic of the quantity."""
    text: str
    """Description of the mean change."""
    change: float
    """Mean change from -1 to 1."""
    points: int
    """Number of points with a reportable change."""
    of: int
    """Number of points that have the quantity."""
    correlation: float | None
    """Correlation with the logarithm of the points' time ratios; None for few points."""
    against: bool = False
    """The change alone would have moved the mean time in the opposite direction."""


@dataclass(frozen=True)
class SweepComparison:
    """Sweeps compared with the first one."""

    sweeps: Sequence[SweepTable]
    """Compared sweeps; the first is the baseline."""
    axes: Sequence[str]
    """Axes by which points are paired."""
    fixed: Mapping[str, Sequence[Any]]
    """Other configuration values that differ, one for each sweep."""
    points: Sequence[PointComparison]
    """Points that all sweeps have; the one whose time changed most comes first."""
    means: Sequence[MeanRatio]
    """Mean time ratio of each further sweep to the first."""
    pairs: Mapping[tuple[int, int], MeanRatio]
    """The same of each pair of sweeps by their numbers: of the second one to the first."""
    moved: Sequence[Sequence[QuantityChange]]
    """Changed quantities of each further sweep."""
    alone: Sequence[Sequence[str]]
    """Points that some sweep lacks, for each sweep."""
    unfinished: Sequence[int]
    """Number of failed and pending points in each sweep."""


@dataclass
class _ComparedSweep:
    """A sweep with its finished points by the key that pairs them, in the sweep's order."""

    sweep: SweepTable
    fixed: Mapping[str, Any]
    points: dict[_Key, tuple[dict[str, Any], RunPart]] = field(default_factory=dict)


def compare_sweeps(results: StoreReader, numbers: Sequence[int]) -> SweepComparison:
    """Compare two sweeps or more of a store with the first.

    Args:
        results: The store.
        numbers: Numbers of the sweeps.

    Raises:
        UserError: They have no point in common.
    """
    if len(numbers) < 2:
        raise UserError("compare: two sweeps or more are needed, as in: gpusim compare sweep:1 sweep:2")
    known = set(results.known_metrics())
    metrics = [path for path in MEASURED if path in known]
    if TIME not in metrics:
        raise UserError(f"{results.path}: no run in it was timed")
    sweeps = [results.sweep(number, *metrics) for number in numbers]
    axes = list(dict.fromkeys(path for sweep in sweeps for path, values in sweep.axes.items() if len(values) > 1))
    sides = [_side(results, sweep, axes, metrics) for sweep in sweeps]
    keys = [key for key in sides[0].points if all(key in side.points for side in sides)]
    if not keys:
        raise UserError(
            f"compare: {'; '.join(map(_has, sides))}: no point in common by {', '.join(axes) or 'anything'}"
        )
    points = [_point(axes, key, sides) for key in keys]
    pairs = {(a, b): _mean(points, a, b) for a, b in itertools.combinations(range(len(sides)), 2)}
    return SweepComparison(
        sweeps=sweeps,
        axes=axes,
        fixed=_fixed(results, sides, axes, keys),
        points=sorted(points, key=lambda point: -point.size),
        means=[pairs[0, number] for number in range(1, len(sides))],
        pairs=pairs,
        moved=[_moved(points, number) for number in range(1, len(sides))],
        alone=[[_told(axes, key) for key in side.points if key not in set(keys)] for side in sides],
        unfinished=[sweep.planned - len({row["point"] for row in sweep if row["state"] == "done"}) for sweep in sweeps],
    )


def _side(results: StoreReader, sweep: SweepTable, axes: Sequence[str], metrics: Sequence[str]) -> _ComparedSweep:
    fixed = {**sweep.specification["sets"], **{path: v[0] for path, v in sweep.axes.items() if len(v) == 1}}
    missing = [path for path in axes if path not in sweep.axes and path not in fixed]
    made = _ComparedSweep(sweep, fixed)
    one_variant = len({row["variant"] for row in sweep if row["state"] == "done"}) == 1
    for row in sweep:
        if row["state"] != "done" or not row[TIME]:
            continue
        held = dict(leaves(results.configuration(row["run"]))) if missing else {}
        values = {path: row[path] if path in sweep.axes else fixed.get(path, held.get(path)) for path in axes}
        widths = {path: row[path + "_half_width"] for path in metrics if row.get(path + "_half_width")}
        key = (*(_alike(values[path]) for path in axes), "" if one_variant else row["variant"])
        made.points[key] = {**row, **values}, RunPart({path: row[path] for path in metrics}, widths)
    return made


def _alike(value: Any) -> str:
    """Return a key that is the same for equal values: 512 is 512.0, yes is 1, as in a store; lists become JSON."""
    if isinstance(value, int | float):
        return repr(float(value))
    return json.dumps(value) if isinstance(value, list | Mapping) else str(value)


def _told(axes: Sequence[str], key: _Key) -> str:
    said_values = [f"{path} {value.removesuffix('.0')}" for path, value in zip(axes, key, strict=False)]
    return ", ".join([*said_values, *filter(None, key[len(axes) :])])


def _has(side: _ComparedSweep) -> str:
    first = next(iter(side.points.values()), None)
    return f"{side.sweep.label} has {len(side.points)} finished points" + (
        f", the first at {', '.join(f'{path} {first[0][path]}' for path in side.sweep.axes)}" if first else ""
    )


def _point(axes: Sequence[str], key: _Key, sides: Sequence[_ComparedSweep]) -> PointComparison:
    rows = [side.points[key][0] for side in sides]
    parts = [side.points[key][1] for side in sides]
    times = [time for part in parts if (time := part.estimate(TIME)) is not None]
    values = {path: rows[0][path] for path in axes}
    return PointComparison(_told(axes, key), values, key[-1], [row["run"] for row in rows], times, parts)


def _mean(points: Sequence[PointComparison], base: int, number: int) -> MeanRatio:
    """Average a sweep's ratios of times to another one.

    The half-width treats the points' errors as independent of one another: relative errors are added as squares.
    """
    ratios = [point.times[number][0] / point.times[base][0] for point in points]
    mean = statistics.geometric_mean(ratios)
    relative = [width / time for point in points for time, width in (point.times[base], point.times[number])]
    distinct = [
        ratio for ratio, point in zip(ratios, points, strict=True) if differ(point.times[base], point.times[number])
    ]
    faster, same = sum(ratio < 1 for ratio in distinct), len(points) - len(distinct)
    return MeanRatio(mean, mean * math.hypot(*relative) / len(points), faster, len(distinct) - faster, same)


def _moved(points: Sequence[PointComparison], number: int) -> list[QuantityChange]:
    """Return what changed on average over the distinguishable points, the largest change first."""
    pairs = [
        (point.parts[0].metrics, point.parts[number].metrics, math.log(point.ratios[number - 1]))
        for point in points
        if point.is_distinct(number)
    ]
    slower = math.fsum(ratio for _, _, ratio in pairs) > 0
    found = [one for rule in rules.RULES if (one := _of_rule(rule, pairs, slower)) is not None]
    return sorted([*found, *_rooflines(pairs)], key=lambda one: (one.against, -abs(one.change)))


_Pairs = Sequence[tuple[Mapping[str, Any], Mapping[str, Any], float]]


def _of_rule(rule: ComparisonRule, pairs: _Pairs, slower: bool) -> QuantityChange | None:
    measured = [(moved, ratio) for a, b, ratio in pairs if (moved := rules.moved(rule, a, b)) is not None]
    if not measured:
        return None
    before, after, change = (statistics.fmean(moved[part] for moved, _ in measured) for part in range(3))
    if not rules.is_reportable(rule, change):
        return None
    spoken = sum(rules.is_reportable(rule, moved[2]) for moved, _ in measured)
    with_time = _correlation([moved[2] for moved, _ in measured], [ratio for _, ratio in measured])
    against = rules.goes_against(rule, change, slower)
    return QuantityChange(
        topic=rule.topic,
        text=rules.describe_change(rule, before, after, change),
        change=change,
        points=spoken,
        of=len(measured),
        correlation=with_time,
        against=against,
    )


def _correlation(changes: Sequence[float], ratios: Sequence[float]) -> float | None:
    if len(changes) < LEAST_CORRELATED:
        return None
    try:
        return statistics.correlation(changes, ratios)
    except statistics.StatisticsError:  # all are the same
        return None


def _rooflines(pairs: _Pairs) -> list[QuantityChange]:
    """Return the changes of the nearest bound, the most frequent first."""
    bounds = [(rules.nearest_roofline(a), rules.nearest_roofline(b)) for a, b, _ in pairs]
    known = [(a, b) for a, b in bounds if a is not None and b is not None]
    others = Counter((a[0], b[0]) for a, b in known if a[0] != b[0])
    changes = []
    for (first, second), count in others.most_common():
        near = [(a[1], b[1]) for a, b in known if (a[0], b[0]) == (first, second)]
        before, after = (statistics.fmean(values) for values in zip(*near, strict=True))
        text = f"bound by {second} instead of {first}: {PERCENT(before)} → {PERCENT(after)} of the cycles"
        changes.append(QuantityChange("roofline", text, after - before, count, len(known), None))
    return changes


def _fixed(
    results: StoreReader, sides: Sequence[_ComparedSweep], axes: Sequence[str], keys: Sequence[_Key]
) -> dict[str, Sequence[Any]]:
    """Return what differs besides the axes: values of the first pairs' configurations, and the sweeps' code."""
    fixed: dict[str, list[list[Any]]] = {}
    listed = keys[:MOST_CONFIGURATIONS]
    for key in listed:
        held = [dict(leaves(results.configuration(side.points[key][0]["run"]))) for side in sides]
        for path in dict.fromkeys(path for one in held for path in one):
            values = [one.get(path) for one in held]
            if path not in axes and any(value != values[0] for value in values):
                fixed.setdefault(path, []).append(values)
    differing: dict[str, Sequence[Any]] = {
        path: values[0] if len(values) == len(listed) and all(v == values[0] for v in values) else [VARIES] * len(sides)
        for path, values in fixed.items()
    }
    codes = [side.sweep.sources for side in sides]
    return differing | ({_OF_CODE: codes} if len(set(codes)) > 1 else {})
