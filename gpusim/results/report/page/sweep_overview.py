"""Figures of all axes of a sweep at once: what matters (importance), slices, and parallel coordinates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import DIGITS_3, FIXED_1, is_number
from gpusim.results.report.page.charts import COLOURS, MARKS, PALETTES, label
from gpusim.results.report.page.sweep_charts import arrange_panels
from gpusim.results.report.sweeps.effects import Effects, compute_effects
from gpusim.results.report.sweeps.points import SweepData, format_axis_value, is_rate
from gpusim.results.report.sweeps.reader_names import lowered, reader_name
from gpusim.results.report.sweeps.series import FigureLayout

_MOST_BARS = 12  # of what matters


@dataclass(frozen=True)
class Overview:
    """A figure of all axes."""

    title: str
    """What it shows."""
    heads: Sequence[str]
    """Heads of its numbers."""
    rows: Sequence[Sequence[Any]]
    """Its numbers."""
    draw: Callable[[Any], None]
    """Draws it onto a Matplotlib figure."""
    panels: int = 1
    """Number of panels."""
    more_inches: float = 0.0
    """Height beyond that of a usual figure."""


def _importance(swept: SweepData, metric: str, layout: FigureLayout) -> Overview:
    """Return bars of the shares of the variation that axes, decisions and interactions explain."""
    effects = compute_effects(swept, metric)
    if effects.fit is None:
        raise UserError(
            f"importance: {metric}: its values are all equal, or too few points have one: there are no shares"
        )
    shares = _shares(effects, layout)[:_MOST_BARS]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        colours = [
            COLOURS[0] if kind == "axis" else COLOURS[1] if kind == "pair" else COLOURS[6] for _, kind, _ in shares
        ]
        texts = [label(name) for name, _, _ in shares]
        bars = axes.barh(range(len(shares)), [100 * share for *_, share in shares], 0.7, color=colours)
        axes.bar_label(bars, [FIXED_1(100 * share) for *_, share in shares], padding=2, fontsize="small")
        axes.set_yticks(range(len(shares)), texts)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        figure.supxlabel(
            f"Share of the variation of {lowered(_metric_name(metric, layout, unit=False))} (%)", fontsize="medium"
        )
        if layout.x_range is not None:
            axes.set_xlim(*layout.x_range)

    title = f"share of the variation of {reader_name(metric, unit=False)} by axis and interaction"
    return Overview(title, ("name", "kind", "share"), shares, draw, 1, max(0.0, 0.18 * (len(shares) - 6)))


def _shares(effects: Effects, layout: FigureLayout) -> list[tuple[str, str, float]]:
    def name(path: str) -> str:
        return layout.label(path, reader_name(path, unit=False))

    shares = [(name(one.axis), "axis", one.share or 0.0) for one in effects.axes]
    shares += [(name(decision), "decision", share) for decision, share in effects.decided.items()]
    shares += [(f"{name(a)} × {name(b)}", "pair", share) for (a, b), share in effects.together.items()]
    shares.sort(key=lambda one: -one[2])
    if effects.decided:
        shares.append(("not separated", "rest", effects.undivided))
    return [*shares, ("not explained", "rest", effects.rest)] if effects.rest is not None else shares


def _slices(swept: SweepData, metric: str, layout: FigureLayout) -> Overview:
    """Return a panel for each axis of design: every point by its value there, relative to the best of its workload."""
    axes_of_design = swept.with_role("design")
    if not axes_of_design:
        raise UserError("slice: no axis of design is varied")
    relative = _relative(swept, metric)
    workloads = list(dict.fromkeys(key for key, _ in relative.values()))
    palette = PALETTES[layout.palette] or COLOURS
    rows = [
        (axis, format_axis_value(swept.places[number].values[axis]), ", ".join(map(format_axis_value, key)), value)
        for axis in axes_of_design
        for number, (key, value) in relative.items()
    ]

    def draw(figure: Any) -> None:
        count, columns = arrange_panels(len(axes_of_design), figure.get_size_inches()[0], layout.columns)
        drawn = figure.subplots(count, columns, squeeze=False, sharey=True)
        for axes, axis in zip(drawn.flat, axes_of_design, strict=False):
            values = list(swept.axes[axis])
            for place, workload in enumerate(workloads):
                of_workload = [(number, value) for number, (key, value) in relative.items() if key == workload]
                shift = 0.4 * ((place + 0.5) / len(workloads) - 0.5)
                xs = [values.index(swept.places[number].values[axis]) + shift for number, _ in of_workload]
                colour, mark = palette[place % len(palette)], MARKS[place % len(MARKS)]
                text = ", ".join(layout.label(format_axis_value(one), format_axis_value(one)) for one in workload)
                ys = [value for _, value in of_workload]
                axes.plot(xs, ys, mark, color=colour, alpha=0.7, label=label(text), markersize=3.5)
            axes.set_xticks(range(len(values)), [label(format_axis_value(value)) for value in values])
            axes.set_xlabel(label(layout.label(axis, reader_name(axis))))
            if layout.y_range is not None:
                axes.set_ylim(*layout.y_range)
        for axes in list(drawn.flat)[len(axes_of_design) :]:
            axes.remove()
        figure.supylabel(label(_relative_name(metric, layout)), fontsize="medium")
        if len(workloads) > 1 and layout.legend != "none":
            handles, texts = figure.axes[0].get_legend_handles_labels()
            figure.legend(handles, texts, loc="outside upper center", ncols=min(len(texts), 4))

    title = f"{_relative_name(metric, layout)}, by each axis"
    return Overview(title, ("axis", "value", "workload", "relative"), rows, draw, len(axes_of_design))


def _parallel(swept: SweepData, metric: str, layout: FigureLayout) -> Overview:
    """Return a line for each point across an axis for each value that is varied, coloured by the metric."""
    paths = swept.with_role("workload", "environment", "design")
    if len(paths) < 2:
        raise UserError("parallel: needs two axes and more")
    relative = _relative(swept, metric)
    ends = [value for _, value in relative.values()]
    low, high = min(ends), max(ends)
    best = 1.0 if not is_rate(metric) else 0.0
    rows = [
        (*(swept.places[number].values[path] for path in paths), swept.places[number].measured[metric][0], value)
        for number, (_, value) in relative.items()
    ]

    def draw(figure: Any) -> None:
        from matplotlib import colormaps

        axes = figure.subplots()
        axes.set_axis_off()
        columns = len(paths)
        for number, (_, value) in sorted(relative.items(), key=lambda item: -abs(item[1][1] - best)):
            point = swept.places[number]
            ys = [_height(swept.axes[path], point.values[path]) for path in paths]
            share = (value - low) / (high - low) if high > low else 0.0
            width = 2.2 if value == best else 0.9
            colour = colormaps["cividis"](share)
            axes.plot(range(columns + 1), [*ys, share], color=colour, linewidth=width, alpha=0.85)
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
        edge = {"ha": "right", "va": "center", "fontsize": "x-small", "bbox": ground, "color": "black"}
        for column, path in enumerate(paths):
            axes.axvline(column, ymin=0.045, ymax=0.955, color="black", linewidth=0.8)
            for value in swept.axes[path]:
                text = label(format_axis_value(value))
                axes.text(column - 0.04, _height(swept.axes[path], value), layout.label(text, text), **edge)
            name = layout.label(path, reader_name(path))
            axes.text(column, 1.06, label(name).replace(" ", "\n", 1), ha="center", va="bottom", fontsize="small")
        axes.axvline(columns, ymin=0.045, ymax=0.955, color="black", linewidth=0.8)
        for share in (0.0, 0.5, 1.0):
            axes.text(columns + 0.04, share, DIGITS_3(low + share * (high - low)), va="center", fontsize="x-small")
        axes.text(columns, 1.06, "Relative\nto best", ha="center", va="bottom", fontsize="small")
        axes.set_xlim(-0.5, columns + 0.5)
        axes.set_ylim(-0.05, 1.05)

    title = f"{_relative_name(metric, layout)}, a line for each point"
    return Overview(title, (*paths, metric, "relative"), rows, draw, 1)


def _height(values: Sequence[Any], value: Any) -> float:
    return values.index(value) / max(len(values) - 1, 1)


def _relative(swept: SweepData, metric: str) -> dict[int, tuple[tuple[Any, ...], float]]:
    """Return each point's workload, and its value over the best of that workload, of rates the difference to it."""
    fixed = swept.with_role("workload", "environment")
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, point in enumerate(swept.places):
        if metric in point.measured:
            groups.setdefault(tuple(point.values[path] for path in fixed), []).append(number)
    pick = min if swept.is_minimized(metric) else max
    relative = {}
    for key, numbers in groups.items():
        values = {number: swept.places[number].measured[metric][0] for number in numbers}
        best = pick(values.values())
        for number, value in values.items():
            ratio = value - best if is_rate(metric) or not best else value / best
            relative[number] = key, ratio
    if not all(is_number(value) and math.isfinite(value) for _, value in relative.values()):
        raise UserError(f"{metric}: no finite values")
    return relative


def _metric_name(metric: str, layout: FigureLayout, unit: bool = True) -> str:
    return layout.label(metric, reader_name(metric, unit))


def _relative_name(metric: str, layout: FigureLayout) -> str:
    sign = "less the best" if is_rate(metric) else "/ best"
    return f"{_metric_name(metric, layout, unit=False)} {sign} of the workload"


OVERVIEWS: Mapping[str, Callable[[SweepData, str, FigureLayout], Overview]] = {
    "importance": _importance,
    "slice": _slices,
    "parallel": _parallel,
}
