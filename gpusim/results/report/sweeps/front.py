"""Which of a sweep's designs nobody beats, and what forbids better ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusim.base.expressions import Expression
from gpusim.base.intervals import Estimate, Standing, standings
from gpusim.base.sizes import sizes
from gpusim.base.sums import plain_sum
from gpusim.results.report.sweeps.points import (
    Design,
    SweepData,
    SweepPoint,
    is_rate,
    mean_name,
    mean_of,
    replace_measurements,
)
from gpusim.results.report.sweeps.reader_names import reader_value


@dataclass(frozen=True)
class RankedDesign:
    """A design with its values by objective, over all workloads, and its standing."""

    design: Design
    """The design."""
    values: Sequence[Estimate]
    """Means by objective."""
    standing: Standing
    """Standing on the front."""


def ranked(swept: SweepData, objectives: Sequence[str]) -> list[RankedDesign]:
    """Return all designs that have a value of each objective at each workload, with their standings.

    An objective is a metric of the points, or an expression over axes: the memory that a design takes.
    """
    workloads = set(swept.groups(swept.with_role("workload")))
    first = swept.designs(swept.metric)
    designs = []
    for design in first:
        values = [_value(swept, design, text, len(workloads)) for text in objectives]
        if None not in values:
            designs.append((design, [value for value in values if value is not None]))
    signs = [1 if swept.is_minimized(text) else -1 for text in objectives]
    signed = [[(sign * v, w) for sign, (v, w) in zip(signs, values, strict=True)] for _, values in designs]
    return [RankedDesign(*one, standing) for one, standing in zip(designs, standings(signed), strict=True)]


def _value(swept: SweepData, design: Design, text: str, workloads: int) -> Estimate | None:
    measured = [one.measured[text] for one in design.places if text in one.measured]
    return mean_of(measured, is_rate(text)) if len(measured) == workloads else None


def binding(swept: SweepData, design: Mapping[str, Any]) -> list[str]:
    """Return the constraints that keep a design from a neighbour: one step of one axis, that no point may take."""
    axes = swept.with_role("design")
    paths = [path for path in swept.axes if path in axes]
    texts: list[str] = []
    for text in swept.constraints:
        expression = Expression(text, [*swept.axes, *swept.fixed], "constraints", "condition")
        for path in paths:
            if path not in expression.paths:
                continue
            values = list(swept.axes[path])
            place = values.index(design[path])
            for near in values[max(place - 1, 0) : place] + values[place + 1 : place + 2]:
                if text not in texts and _forbids(expression, {**swept.fixed, **design, path: near}):
                    texts.append(text)
    return texts


def _forbids(expression: Expression, values: Mapping[str, Any]) -> bool:
    return all(path in values for path in expression.paths) and not expression.value(values)


def partial_values(swept: SweepData) -> list[tuple[str, Any, str, Sequence[Any]]]:
    """Return values of an axis that only some values of another axis go with: (axis, value, other axis, its values)."""
    axes = swept.with_role("design")
    partial: list[tuple[str, Any, str, Sequence[Any]]] = []
    for axis in axes:
        for other in axes:
            if other == axis or any((other, axis) == (first, second) for first, _, second, _ in partial):
                continue  # said the other way round
            whole = set(swept.axes[other])
            for value in swept.axes[axis]:
                there = {point.values[other] for point in swept.places if point.values[axis] == value}
                if there and there != whole:
                    partial.append((axis, value, other, [each for each in swept.axes[other] if each in there]))
    return partial


@dataclass(frozen=True)
class FrontPoint:
    """A design in a picture of a front."""

    design: Mapping[str, Any]
    """Values by axis."""
    x: Estimate
    """Cost."""
    y: Estimate
    """Benefit."""
    standing: Standing
    """Whether another one beats it."""


def build_panels(swept: SweepData, cost: str, metric: str) -> dict[str, list[FrontPoint]]:
    """Return each workload's designs by cost and metric, and those of the means where there are several workloads.

    A panel for each combination of workload and environment: designs of different workloads are not compared.

    Args:
        swept: The sweep's points.
        cost: Path of the cost.
        metric: Path of a metric; empty: the sweep's own.
    """
    apart = swept.with_role("environment", "workload")
    panels = {}
    for key in swept.groups(apart):
        one = swept.at(dict(zip(apart, key, strict=True)))
        panels[", ".join(map(reader_value, apart, key))] = _points(one, cost, metric)
    if len(swept.groups(swept.with_role("workload"))) > 1:
        environment = swept.with_role("environment")
        for key in swept.groups(environment):
            over = swept.at(dict(zip(environment, key, strict=True)))
            panels[", ".join([*map(reader_value, environment, key), mean_name(metric)])] = _points(over, cost, metric)
    return {name: points for name, points in panels.items() if points}


def _points(swept: SweepData, cost: str, metric: str) -> list[FrontPoint]:
    found = []
    for one in ranked(swept, [cost, metric]):
        x, y = one.values
        found.append(FrontPoint(one.design.values, x, y, one.standing))
    return found


def memory(swept: SweepData) -> tuple[SweepData, str]:
    """Return the points with the KiB of the memories whose sizes are varied as a further value, and its name.

    The name is empty where no memory's size is.
    """
    varied = list(sizes(dict.fromkeys(swept.with_role("design"), 1)))
    name = " + ".join(varied)
    if not varied or name in swept.objectives:
        return swept, name

    def change(one: SweepPoint) -> dict[str, Estimate]:
        return {**one.measured, name: (float(plain_sum(sizes({p: one.values[p] for p in varied}).values())), 0.0)}

    return replace(swept, places=replace_measurements(swept.places, change)), name
