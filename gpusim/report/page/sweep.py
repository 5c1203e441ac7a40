"""Several results whose configurations differ: what differs, and pictures of what it does to cycles and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.base.intervals import front
from gpusim.base.picture import Picture
from gpusim.base.sizes import sizes
from gpusim.base.sums import plain_sum
from gpusim.base.table import amount, is_number
from gpusim.report.page import charts
from gpusim.report.result import Result
from gpusim.report.values import half_width
from gpusim.results import metrics

_IRRELEVANT = ("run.hotspots", "run.checked", "run.verify")  # decide what is reported, not what is simulated
MOST_AXES = 7  # of a picture with parallel coordinates
_CYCLES, _DRAM = "kernel.cycles", "dram.bytes"


@dataclass(frozen=True)
class Point:
    """One result among several.

    name: of its file; values: on the axes; result: the whole of it, of which the last column is compared.
    """

    name: str
    values: Mapping[str, Any]
    result: Result


def points_of(results: Mapping[str, Result]) -> tuple[list[str], list[Point]]:
    """Return the configurations' paths in which the results differ, and each result with its values there.

    There are no paths if the results are of different kinds, which differ in nearly everything.
    """
    flat = {name: dict(metrics.leaves(result.config)) for name, result in results.items()}
    kinds = {(result.kind == "net", *result.config) for result in results.values()}
    paths = list(dict.fromkeys(path for values in flat.values() for path in values)) if len(kinds) == 1 else []
    axes = [
        path
        for path in paths
        if path not in _IRRELEVANT and len({_key(values.get(path)) for values in flat.values()}) > 1
    ]
    points = [Point(name, {a: flat[name].get(a) for a in axes}, result) for name, result in results.items()]
    return axes, points


def pictures_of(axes: Sequence[str], points: Sequence[Point]) -> list[Picture]:
    """Draw heat map, Pareto front and parallel coordinates, as far as the axes allow."""
    timed = [point for point in points if point.result.last.number(_CYCLES)]
    if len(timed) < 2 or not axes:
        return []
    heat_map = _heat_map(axes, timed)
    return [*([heat_map] if heat_map else []), _front(axes, timed), _parallel(axes, timed)]


def _heat_map(axes: Sequence[str], points: Sequence[Point]) -> Picture | None:
    """Draw cycles over the two axes with the most values; of further axes the fewest cycles of each field."""
    ranked = sorted(axes, key=lambda axis: -len({_key(point.values[axis]) for point in points}))[:2]
    if len(ranked) < 2:
        return None
    across, down = ranked
    columns, lines = (_ordered({_key(p.values[axis]): p.values[axis] for p in points}) for axis in ranked)
    fewest: dict[tuple[str, str], float] = {}
    for point in points:
        field = (_key(point.values[down]), _key(point.values[across]))
        fewest[field] = min(fewest.get(field, float("inf")), point.result.last.number(_CYCLES))
    values = [[fewest.get((_key(line), _key(column))) for column in columns] for line in lines]
    rows = [(line, *row) for line, row in zip(map(said, lines), values, strict=True)]
    best = min(fewest, key=lambda field: fewest[field])
    return Picture(
        "heat-map", f"Cycles by {across} and {down}" + (", the fewest of each field" if len(axes) > 2 else ""),
        f"The fewest cycles, {fewest[best]:,.0f}, are at {across} {best[1]} and {down} {best[0]}.",
        (f"{down} \\ {across}", *map(said, columns)), rows,
        lambda figure: charts.heat_map(
            figure, (across, list(map(said, columns))), (down, list(map(said, lines))), values, "cycles"
        ),
        (7.2, max(1.2 + 0.4 * len(lines), 2.0)),
    )  # fmt: skip


def _front(axes: Sequence[str], points: Sequence[Point]) -> Picture:
    """Draw cycles against the KiB of the memories that the sweep varies, else against DRAM's bytes."""
    memories = [sizes({axis: point.values[axis] for axis in axes}) for point in points]
    if any(memories):
        what = "KiB of " + " + ".join(dict.fromkeys(path for held in memories for path in held))
        costs = [plain_sum(held.values()) for held in memories]
    else:
        what, costs = "DRAM bytes", [point.result.last.number(_DRAM) for point in points]
    cycles = [point.result.last.number(_CYCLES) for point in points]
    widths = [half_width(point.result.last.tree, _CYCLES) for point in points]
    best = front([((x, 0.0), (y, w or 0.0)) for x, y, w in zip(costs, cycles, widths, strict=True)])
    drawn = list(zip(costs, cycles, best, strict=True))
    noise = " Cycles whose intervals overlap are not distinguishable: none of them beats the other." * any(widths)
    on_front = ", ".join(point.name for point, chosen in zip(points, best, strict=True) if chosen)
    return Picture(
        "pareto", f"Pareto front: cycles against {what}", f"On the front: {on_front}.{noise}",
        ("result", what, "cycles", "± cycles", "on the front"),
        [(p.name, x, y, w, chosen) for p, (x, y, chosen), w in zip(points, drawn, widths, strict=True)],
        lambda figure: charts.front(figure, drawn, (what, "cycles"), widths), (7.2, 3.2),
    )  # fmt: skip


def _parallel(axes: Sequence[str], points: Sequence[Point]) -> Picture:
    shown = list(axes[:MOST_AXES])
    scales = [_scale([point.values[axis] for point in points]) for axis in shown]
    measured = [[point.result.last.number(path) for point in points] for path in (_DRAM, _CYCLES)]
    scales += [_scale(values) for values in measured]
    lines = [[scale[0][number] for scale in scales] for number in range(len(points))]
    names = [*shown, "DRAM bytes", "cycles"]
    rows = [
        (point.name, *(said(point.values[axis]) for axis in shown), moved, cycles)
        for point, moved, cycles in zip(points, *measured, strict=True)
    ]
    left_out = f"; {len(axes) - MOST_AXES} further differences are left out" if len(axes) > MOST_AXES else ""
    return Picture(
        "parallel", f"Each result as a line over what differs, DRAM bytes and cycles{left_out}",
        f"{len(points)} lines; dark ones have few cycles.", ("result", *names), rows,
        lambda figure: charts.parallel(figure, names, lines, [scale[1] for scale in scales]), (7.2, 3.4),
    )  # fmt: skip


def _scale(values: Sequence[Any]) -> tuple[list[float], list[tuple[float, str]]]:
    """Return places from 0 to 1, and marks with their text: by size for numbers, else one after another."""
    if all(map(is_number, values)):
        low, high = min(values), max(values)
        places = [(value - low) / (high - low) if high > low else 0.5 for value in values]
        marks = [(0.0, said(low)), (1.0, said(high))] if high > low else [(0.5, said(low))]
        return places, marks
    kinds = _ordered({_key(value): value for value in values})
    step = 1 / max(len(kinds) - 1, 1)
    order = {_key(kind): number * step for number, kind in enumerate(kinds)}
    return [order[_key(value)] for value in values], [(order[_key(kind)], said(kind)) for kind in kinds]


def _ordered(kinds: Mapping[str, Any]) -> list[Any]:
    """Return the values with numbers first, by size, and then the others in the order of the results."""
    values = list(kinds.values())
    numbers = [value for value in values if is_number(value)]
    return sorted(numbers) + [value for value in values if not any(value is number for number in numbers)]


def _key(value: Any) -> str:
    """Return a key that is the same for equal values: 512 is 512.0."""
    return repr(float(value) if is_number(value) else value)


def said(value: Any) -> str:
    """Format a configuration's value for a reader."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return amount(value) if is_number(value) else str(value)
