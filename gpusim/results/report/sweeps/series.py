"""What a figure of a sweep shows: lines of marks in panels, with means like for like and ranges, or a Pareto front."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import is_number
from gpusim.base.intervals import Estimate
from gpusim.results.report.sweeps.effects import compute_effects
from gpusim.results.report.sweeps.points import (
    MEAN,
    MEAN_OF_RATES,
    PointKey,
    SweepData,
    SweepPoint,
    format_axis_value,
    is_rate,
    is_time,
    mean_of,
    merged_repeats,
    names,
    ratio_of,
)
from gpusim.results.report.sweeps.reader_names import reader_name, reader_value

FigureKind = Literal["lines", "bars", "heat-map", "contour", "front", "slice", "parallel", "importance"]
Legend = Literal["top", "right", "inside", "none"]
Palette = Literal["okabe-ito", "tol", "grey", "ordered"]
KINDS: tuple[FigureKind, ...] = get_args(FigureKind)
MOST_LINES = 8  # lines that are told apart by colour and mark
MOST_PANELS = 12
LEAST_LINE = 3  # values of an axis of numbers from which on lines are drawn, not bars


@dataclass(frozen=True)
class FigureLayout:
    """How a figure is laid out and named; empty values follow from what is drawn."""

    title: str = ""
    """Title above the figure; empty: the sweep's on a screen, none in a paper."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Texts in place of axes, metrics, values and means, by these."""
    order: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """First values of axes in order, by axis; the others follow."""
    legend: Legend = "top"
    """Place of the legend."""
    x_range: tuple[float, float] | None = None
    """Ends of the x axis."""
    y_range: tuple[float, float] | None = None
    """Ends of the y axis, of a heat map its colours."""
    columns: int = 0
    """Panels side by side; 0: as many as fit."""
    share_y: bool | None = None
    """All panels have one y axis; None: where no panel's values would look flat on it."""
    palette: Palette = "okabe-ito"
    """Colours of lines and bars; all can be distinguished by colour-blind readers."""

    def label(self, text: str, usual: str) -> str:
        """Return the text for an axis, a metric or a value, whose usual text is given."""
        return self.labels.get(text, usual)


@dataclass(frozen=True)
class FigureChoice:
    """User's selection for a figure; empty values follow the sweep's suggestion."""

    metrics: Sequence[str] = ()
    """One metric, or two for a Pareto front with the cost first."""
    x: str = ""
    """Axis across."""
    y: str = ""
    """Axis down, of a heat map."""
    by: str = ""
    """Axis of lines or bars."""
    at: Mapping[str, Any] = field(default_factory=dict)
    """Required values of axes."""
    baseline: Mapping[str, Any] = field(default_factory=dict)
    """Axis values of the points that others are compared with, all else equal."""
    kind: FigureKind | Literal[""] = ""
    """Kind of figure; empty: as suggested."""
    panels: Sequence[str] = ()
    """Axes with a panel for each value, besides workloads and environments."""
    layout: FigureLayout = FigureLayout()
    """Names and layout."""


@dataclass(frozen=True)
class AxisPoint:
    """A drawn value at one position of the axis."""

    x: Any
    """Value of the axis."""
    middle: Estimate | None
    """Geometric mean over the combinations common to all axis values; None: there is none."""
    low: float
    """Smallest value over all points at this position."""
    high: float
    """Largest value over all points at this position."""
    points: int
    """Number of points at this position."""


@dataclass(frozen=True)
class SeriesLine:
    """The marks of one value of `by`, or one row of a heat map, in a panel."""

    panel: str
    """Title of the panel."""
    name: str
    """Name of the line."""
    marks: Sequence[AxisPoint]
    """Points of the line."""


@dataclass(frozen=True)
class FigureData:
    """Data of a figure."""

    kind: FigureKind
    """Kind of figure."""
    x: str
    """Title of the x axis with its unit."""
    y: str
    """Title of the y axis with its unit."""
    by: str
    """Title of the quantity that distinguishes the lines."""
    lines: Sequence[SeriesLine]
    """Lines."""
    notes: Sequence[str]
    """Notes for readers."""
    metric: str = ""
    """Path of the metric, or what its ratio is."""
    layout: FigureLayout = FigureLayout()
    """Names and layout."""

    @property
    def panels(self) -> list[str]:
        """The panels' names in order."""
        return list(dict.fromkeys(line.panel for line in self.lines))


@dataclass(frozen=True)
class _Item:
    """A value that contributes to a drawn value."""

    panel: str
    """Name of the panel."""
    line: Any
    """Value that distinguishes the line."""
    x: Any
    """Value of the axis."""
    context: PointKey
    """Values of all axes that the figure does not show."""
    value: Estimate
    """Value with its half-width."""
    low: float
    """Lower end of the value."""
    high: float
    """Upper end of the value."""


def build_series(swept: SweepData, choice: FigureChoice) -> FigureData:
    """Return what a figure of lines, bars or a heat map shows.

    Args:
        swept: The sweep's points.
        choice: What is chosen to be drawn.

    Raises:
        UserError: The sweep lacks something.
    """
    metric = choice.metrics[0] if choice.metrics else swept.metric
    swept = in_order(merged_repeats(swept).at(choice.at), choice)
    if not any(metric in point.measured for point in swept.places):
        raise UserError(f"{metric}: no point has a value of it")
    x, y, by = _axes(swept, choice, metric)
    swept, label = _compared(swept, choice, metric)
    second = y or by
    workload = [path for path in swept.with_role("workload") if path not in (x, second)]
    others = [path for path in swept.with_role("environment") if path not in (x, second)]
    environment = list(dict.fromkeys([*others, *(path for path in choice.panels if path not in workload)]))
    panels = [*environment, *workload]
    hidden = [path for path in swept.with_role("design") if path not in (x, second, *panels)]
    order = {
        path: {value: n for n, value in enumerate(swept.axes[path])} for path in (*panels, *filter(None, [second]))
    }
    places = sorted(swept.places, key=lambda one: [order[path][one.values[path]] for path in order])
    swept = replace(swept, places=places)
    items = list(_items(swept, metric, panels, second, x, hidden, choice.layout))
    rates = is_rate(metric) and not choice.baseline
    mean = MEAN_OF_RATES if rates else MEAN
    merged = workload or ([second] if second and swept.roles[second] == "workload" else [])
    if merged and len(swept.groups(merged)) > 1 and not (y and second in merged):
        over = _over_workloads(swept, metric, merged, rates)
        items += [
            replace(item, panel=" ".join(filter(None, [item.panel, mean])) if workload else item.panel,
                    line=item.line if workload else mean)
            for item in _items(over, metric, environment, second if workload else "", x, hidden, choice.layout)
        ]  # fmt: skip
    lines = list(_lines(items, swept.axes[x], rates, choice.layout))
    if len({line.panel for line in lines}) > MOST_PANELS:
        raise UserError(
            f"{', '.join(panels)}: would be more than {MOST_PANELS} panels; --at {panels[-1]}=... picks one"
        )
    if not y and len({line.name for line in lines}) > MOST_LINES + 1:
        raise UserError(
            f"{second}: would be more than {MOST_LINES} lines; --at picks values, --y makes a heat map of it"
        )
    kind: FigureKind = choice.kind or ("heat-map" if y else _usual(swept.axes[x]))
    if kind == "contour" and not all(is_number(value) for path in (x, y) for value in swept.axes[path]):
        raise UserError(f"contour: needs axes of numbers; {x} or {y} has other values")
    labels = choice.layout
    return FigureData(
        kind=kind,
        x=labels.label(x, reader_name(x)),
        y=labels.label(y, reader_name(y)) if y else label,
        by=labels.label(by, reader_name(by)) if by else "",
        lines=lines,
        notes=_notes(hidden, lines, items, mean),
        metric=label,
        layout=choice.layout,
    )


def in_order(swept: SweepData, choice: FigureChoice) -> SweepData:
    """Return the sweep with its axes' values in the order that is chosen.

    Args:
        swept: The sweep's points.
        choice: What is chosen to be drawn.

    Raises:
        UserError: A name is unknown.
    """
    layout = choice.layout
    for option, paths in (("--order", layout.order), ("--panel", choice.panels)):
        for path in paths:
            if path not in swept.axes:
                raise UserError(f"{option}: {unknown_name('axis', path, swept.axes)}")
    values = {format_axis_value(value) for held in swept.axes.values() for value in held}
    known = [*swept.axes, *{text for one in swept.places for text in one.measured}, *values, MEAN, MEAN_OF_RATES]
    for text in layout.labels:
        if text not in known:
            raise UserError(f"--label: {unknown_name('axis, metric or value', text, known)}")
    axes = dict(swept.axes)
    for path, first in layout.order.items():
        for value in first:
            if value not in axes[path]:
                there = ", ".join(map(format_axis_value, axes[path]))
                raise UserError(f"--order {path}: no point has {format_axis_value(value)}; there are {there}")
        axes[path] = [*first, *(value for value in axes[path] if value not in first)]
    return replace(swept, axes=axes)


def _axes(swept: SweepData, choice: FigureChoice, metric: str) -> tuple[str, str, str]:
    """Return the axes x, y and by: those chosen, else x of the largest effect and a line for each workload."""
    for option, path in (("--x", choice.x), ("--y", choice.y), ("--by", choice.by)):
        if path and path not in swept.axes:
            raise UserError(f"{option}: {unknown_name('axis', path, swept.axes)}")
    given = [path for path in (choice.x, choice.y, choice.by) if path]
    if len(set(given)) < len(given):
        raise UserError(f"--x, --y, --by: {given[-1]} is named twice")
    is_field = choice.kind in ("heat-map", "contour")
    if (choice.y or is_field) and choice.by:
        raise UserError("--y, --by: a heat map has no lines: --y or --by")
    ranked = [one.axis for one in compute_effects(swept, metric).axes]
    others = [*ranked, *swept.with_role("workload", "environment"), *swept.axes]
    free = [path for path in others if path not in given]
    x = choice.x or next(iter(free), "")
    if not x:
        raise UserError("nothing is varied: a figure needs an axis")
    y = choice.y
    if is_field and not y:
        y = next((path for path in ranked if path != x), "")
        if not y:
            raise UserError(f"{choice.kind}: needs two axes; --y names the second")
    return x, y, choice.by or ("" if y else _line_axis(swept, x, choice.panels))


def _line_axis(swept: SweepData, x: str, panels: Sequence[str]) -> str:
    """Return the workload axis that is drawn as lines, as there are too many of its values for panels; else ''."""
    apart = [path for path in swept.with_role("workload", "environment") if path != x]
    if math.prod(len(swept.axes[path]) for path in (*apart, *panels)) < MOST_PANELS:
        return ""
    few = [path for path in swept.with_role("workload") if path != x and len(swept.axes[path]) <= MOST_LINES]
    return few[0] if len(few) == 1 else ""


def _usual(values: Sequence[Any]) -> FigureKind:
    return "lines" if len(values) >= LEAST_LINE and all(map(is_number, values)) else "bars"


def _compared(swept: SweepData, choice: FigureChoice, metric: str) -> tuple[SweepData, str]:
    """Return the points with their ratio to the baseline in place of a metric, and the ratio's name.

    A point's baseline has the values of `baseline` and is like it in all else; a point without one is left out.
    """
    baseline, usual = choice.baseline, choice.layout.label(metric, reader_name(metric))
    if not baseline:
        return swept, usual
    swept.at(baseline)
    paths = list(swept.axes)

    def key(values: Mapping[str, Any]) -> PointKey:
        return tuple(values[path] for path in paths)

    there = {key(point.values): point for point in swept.places if metric in point.measured}
    speed_up = is_time(metric) and swept.is_minimized(metric)
    kept = []
    for point in there.values():
        base = there.get(key({**point.values, **baseline}))
        if base is None:
            continue
        if point is base:
            ratio: Estimate | None = (1.0, 0.0)
        else:
            above, below = point.measured[metric], base.measured[metric]
            ratio = ratio_of(below, above) if speed_up else ratio_of(above, below)
        if ratio is not None:
            kept.append(replace(point, measured={metric: ratio}))
    if not kept:
        raise UserError(f"--baseline {names(baseline)}: no point is like another one in all else")
    at = ", ".join(reader_value(path, value) for path, value in baseline.items())
    return replace(swept, places=kept), f"Speed-up over {at}" if speed_up else f"{usual} relative to that at {at}"


def _items(
    swept: SweepData,
    metric: str,
    panels: Sequence[str],
    second: str,
    x: str,
    hidden: Sequence[str],
    layout: FigureLayout,
) -> Iterator[_Item]:
    for point in swept.places:
        if metric not in point.measured:
            continue
        value = point.measured[metric]
        titles = {format_axis_value(point.values[path]): reader_value(path, point.values[path]) for path in panels}
        panel = ", ".join(layout.label(value, title) for value, title in titles.items())
        low, high = (point.measured.get(f"{metric} {end}", value)[0] for end in ("low", "high"))
        context = tuple(point.values[path] for path in hidden)
        yield _Item(
            panel=panel,
            line=point.values[second] if second else "",
            x=point.values[x],
            context=context,
            value=value,
            low=low,
            high=high,
        )


def _over_workloads(swept: SweepData, metric: str, workload: Sequence[str], rates: bool) -> SweepData:
    """Return points over all workloads: the mean of each design that has them all, with the range of its values."""
    others = [path for path in swept.axes if path not in workload]
    wanted = len(swept.groups(workload))
    made = []
    for key, held in swept.groups(others).items():
        values = [one.measured[metric] for one in held if metric in one.measured]
        if len(values) == wanted and (rates or all(value > 0 for value, _ in values)):
            ends = {f"{metric} low": (min(values)[0], 0.0), f"{metric} high": (max(values)[0], 0.0)}
            measured = {metric: mean_of(values, rates), **ends}
            made.append(SweepPoint(held[0].number, dict(zip(others, key, strict=True)), measured))
    return replace(swept, places=made)


def _lines(items: Sequence[_Item], order: Sequence[Any], rates: bool, layout: FigureLayout) -> Iterator[SeriesLine]:
    """Yield the lines of each panel with a mark at each place; the middle is of the contexts that all marks have."""
    panels: dict[str, dict[Any, dict[Any, list[_Item]]]] = {}
    for item in items:
        panels.setdefault(item.panel, {}).setdefault(item.line, {}).setdefault(item.x, []).append(item)
    for panel, lines in panels.items():
        every = [{item.context for item in marked} for marks in lines.values() for marked in marks.values()]
        common = set.intersection(*every)
        for name, marks in lines.items():
            shared = common or set.intersection(*({item.context for item in marked} for marked in marks.values()))
            drawn = [_mark(x, marks[x], shared, rates) for x in order if x in marks]
            text = format_axis_value(name) if name != "" else ""
            yield SeriesLine(panel, text if name in (MEAN, MEAN_OF_RATES) else layout.label(text, text), drawn)


def _mark(x: Any, held: Sequence[_Item], shared: set[PointKey], rates: bool) -> AxisPoint:
    like = [one.value for one in held if one.context in shared]
    middle = mean_of(like, rates) if like else None
    return AxisPoint(x, middle, min(one.low for one in held), max(one.high for one in held), len(held))


def _notes(hidden: Sequence[str], lines: Sequence[SeriesLine], items: Sequence[_Item], mean: str) -> list[str]:
    notes = []
    if hidden:
        shown = all(mark.middle is not None for line in lines for mark in line.marks)
        like = (
            "over the combinations common to all values" if shown else "where all values have a combination in common"
        )
        notes.append(f"not shown: {', '.join(hidden)}; marks are {mean}s {like}, ranges span all combinations")
    if any(line.name == mean or mean in line.panel for line in lines):
        notes.append(f"the range of the {mean} spans the workloads")
    if any(one.value[1] for one in items):
        notes.append("error bars: half-widths of confidence intervals, carried through means and ratios")
    return notes
