"""Sides compared: the parts that they have in common, each with its changes and what explains them."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.intervals import Estimate, differ
from gpusim.results.report.sweeps.points import ratio_of
from gpusim.study.compare.rules import TIME, ComparisonFinding, findings
from gpusim.study.compare.sides import ComparedRun, RunPart, number

# about the simulating host or checks, or under other names: no changes of what was simulated
_ASKED = "network."  # values beside a network's settings, which a store has and a file does not
_NOT_COMPARED = ("simulator.", "verification.", "stalls_by_compute_unit.")


@dataclass(frozen=True)
class Change:
    """A metric that differs between the sides."""

    path: str
    """Path of the metric."""
    values: Sequence[Any]
    """Values of the sides, in their order."""
    ratio: float | None
    """Last value over the first; None if the first is 0."""

    @property
    def size(self) -> float:
        """The size of the change: the logarithm of the factor, infinite if one of the two is 0."""
        return abs(math.log(self.ratio)) if self.ratio is not None and self.ratio > 0 else math.inf


@dataclass(frozen=True)
class TimePair:
    """The times of two sides."""

    first: int
    """Number of the side whose time is the denominator."""
    second: int
    """Number of the other side."""
    ratio: Estimate | None
    """Time of the second side over that of the first, with its half-width; None: one of them was not timed."""
    distinct: bool
    """The times differ by more than their confidence intervals."""


@dataclass(frozen=True)
class PartComparison:
    """A part that all sides have."""

    name: str
    """Name of the part."""
    times: Sequence[Estimate | None]
    """Time on each side in microseconds, with its half-width; None: not timed."""
    changes: Sequence[Change]
    """Metrics that differ."""
    why: Sequence[Sequence[ComparisonFinding]]
    """Explanations of the difference to the first side, for each further side."""
    pairs: Sequence[TimePair]
    """All pairs of sides."""
    decided: Mapping[str, Sequence[Any]]
    """What the sides decided for themselves and differ in, such as the kernel: a value for each side by name."""

    @property
    def times_us(self) -> list[float | None]:
        """Time on each side in microseconds."""
        return [None if time is None else time[0] for time in self.times]

    @property
    def distinct(self) -> bool:
        """Whether the times of some pair differ by more than their confidence intervals."""
        return any(pair.distinct for pair in self.pairs)

    @property
    def difference_us(self) -> float:
        """The largest difference between two sides' times, in microseconds."""
        known = [time for time in self.times_us if time is not None]
        return max(known) - min(known) if known else 0.0


@dataclass(frozen=True)
class Comparison:
    """A comparison of runs; the part whose time changed most comes first."""

    sides: Sequence[ComparedRun]
    """Compared runs; the first is the baseline."""
    configuration: Mapping[str, Sequence[Any]]
    """Configuration values that differ, by path, one for each side."""
    parts: Sequence[PartComparison]
    """Parts that all sides have."""
    alone: Sequence[str]
    """Names of parts that some sides lack."""


def compare(sides: Sequence[ComparedRun]) -> Comparison:
    """Compare two sides or more with the first; raises UserError where they have no part in common."""
    if len(sides) < 2:
        raise UserError("compare: two runs or more are needed")
    if all(len(side.parts) == 1 for side in sides):  # whatever they are called: a dense run beside a sparse one
        pairs = [("", [next(iter(side.parts.values())) for side in sides])]
        alone: list[str] = []
    else:
        names = list(dict.fromkeys(name for side in sides for name in side.parts))
        common = [name for name in names if all(name in side.parts for side in sides)]
        alone = [name for name in names if name not in common]
        pairs = [(name, [side.parts[name] for side in sides]) for name in common]
    if not pairs:
        listed = "; ".join(f"{side.label} has {', '.join(map(repr, side.parts))}" for side in sides)
        raise UserError(f"compare: nothing in common: {listed}: RUN:PART names one part")
    parts = sorted((_part(name, found) for name, found in pairs), key=lambda part: -part.difference_us)
    return Comparison(sides, _configuration(sides), parts, alone)


def _part(name: str, parts: Sequence[RunPart]) -> PartComparison:
    first, times = parts[0].metrics, [part.estimate(TIME) for part in parts]
    changes = [change for path in first if (change := _change(path, parts)) is not None]
    return PartComparison(
        name,
        times,
        sorted(changes, key=lambda change: -change.size),
        [findings(first, part.metrics) for part in parts[1:]],
        [_pair(times, *sides) for sides in itertools.combinations(range(len(parts)), 2)],
        _decided(parts),
    )


def _pair(times: Sequence[Estimate | None], first: int, second: int) -> TimePair:
    under, over = times[first], times[second]
    if under is None or over is None:
        return TimePair(first, second, None, distinct=True)
    return TimePair(first, second, ratio_of(over, under), differ(under, over) or under[1] + over[1] == 0)


def _decided(parts: Sequence[RunPart]) -> dict[str, list[Any]]:
    """Return the decisions in which parts differ: kernels, blocks of columns, whether they were sampled."""
    values: dict[str, list[Any]] = {
        "kernel": [part.metrics.get("kernel.name") for part in parts],
        "column blocks": [part.metrics.get("data.column_blocks") or 1 for part in parts],
        "sampled": ["yes" if part.half_widths else "no" for part in parts],
    }
    return {name: of_parts for name, of_parts in values.items() if len(set(of_parts)) > 1}


def _change(path: str, parts: Sequence[RunPart]) -> Change | None:
    values = [part.metrics.get(path) for part in parts]
    numbers = [number(value) for value in values]
    if path.startswith(_NOT_COMPARED) or None in numbers or len(set(numbers)) == 1:
        return None
    estimates = [part.estimate(path) for part in parts]
    known = [one for one in estimates if one is not None]
    if any(width for _, width in known) and not any(differ(*pair) for pair in itertools.combinations(known, 2)):
        return None  # within their confidence intervals
    first, last = numbers[0], numbers[-1]
    return Change(path, values, last / first if first and last is not None else None)


def _configuration(sides: Sequence[ComparedRun]) -> dict[str, list[Any]]:
    paths = dict.fromkeys(path for one in sides for path in one.configuration)
    values = {path: [one.configuration.get(path) for one in sides] for path in paths}
    return {
        path: held
        for path, held in values.items()
        if any(value != held[0] for value in held) and not (path.startswith(_ASKED) and None in held)
    }
