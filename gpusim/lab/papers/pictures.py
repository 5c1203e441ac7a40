"""Charts that figures are drawn with, with their numbers one a row: a figure's tables have them side by side."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.base.formats import FIXED_2
from gpusim.base.picture import Picture
from gpusim.lab.papers.long_table import FigureRecord

COLOURS = ("#9aa0a6", "#5f6368", "#c9b458", "#3d7dca", "#b3541e", "#2e8b57", "#8e5ea2", "#444444")
PANEL_INCHES = 2.6
FEW = 4  # names of parts that stand beside the bars, not above them
PALE = 1.7  # how much further than the largest value a map's colours reach: black text stays readable


@dataclass(frozen=True)
class BarPanel:
    """A panel of grouped bars."""

    title: str
    """Title."""
    groups: Sequence[str]
    """Names of the groups."""
    values: Mapping[str, Sequence[float | None]]
    """Values by series, one for each group; None: unknown."""
    half_widths: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Half-widths by series, one for each group."""
    line: float | None = None
    """Value of a horizontal reference line; None: no line."""


def build_panel(
    title: str,
    records: Iterable[FigureRecord],
    paths: tuple[str, str, str],
    line: float | None = None,
    with_half_widths: bool = False,
    series_names: Sequence[str] = (),
) -> BarPanel:
    """Build a panel of bars.

    Args:
        title: Title of the panel.
        records: A bar each.
        paths: Names of the group, of the series and of the value that is drawn.
        line: Value of a horizontal reference line; None: no line.
        with_half_widths: Draw half-widths too.
        series_names: All series, where panels beside this one may have others; none: those of the records.
    """
    group, series, measure = paths
    bars = {(str(record.row[series]), str(record.row[group])): record for record in records}
    groups = list(dict.fromkeys(name for _, name in bars))
    heights, widths = dict[str, list[float | None]](), dict[str, list[float]]()
    for name in series_names or dict.fromkeys(name for name, _ in bars):
        some = [bars.get((name, group)) for group in groups]
        heights[name] = [None if record is None else record.values[measure] for record in some]
        widths[name] = [0.0 if record is None else record.half_widths.get(measure, 0.0) for record in some]
    return BarPanel(title, groups, heights, widths if with_half_widths else {}, line)


def bars(title: str, panels: Sequence[BarPanel], sharex: bool = True) -> Picture:
    """Put panels below one another.

    Args:
        title: Title of the picture.
        panels: Panels from top to bottom.
        sharex: They have the same groups, which are written below the last one.
    """
    width = min(16.0, max(5.0, 0.16 * max(len(p.groups) * (len(p.values) + 1) for p in panels)))

    def draw(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        axes = figure.subplots(len(panels), 1, squeeze=False, sharex=sharex)[:, 0]
        for one, panel in zip(axes, panels, strict=True):
            _bars(one, panel)
        names, labels = axes[0].get_legend_handles_labels()
        figure.legend(names, labels, loc="outside upper center", fontsize="x-small", ncols=4)

    rows = [
        (panel.title, group, name, value)
        for panel in panels
        for name, values in panel.values.items()
        for group, value in zip(panel.groups, values, strict=True)
    ]
    said = f"Bars of {', '.join(panel.title for panel in panels)}."
    size = (width, PANEL_INCHES * len(panels) + 0.6)
    return Picture(
        name="bars", title=title, alt=said, heads=("measure", "group", "bar", "value"), rows=rows, draw=draw, size=size
    )


def _bars(axes: Any, panel: BarPanel) -> None:
    places = np.arange(len(panel.groups))
    thick = 0.8 / len(panel.values)
    for number, (name, values) in enumerate(panel.values.items()):
        heights = [math.nan if value is None else value for value in values]
        axes.bar(
            places + (number + 0.5) * thick - 0.4,
            heights,
            thick,
            yerr=panel.half_widths.get(name),
            label=name,
            color=COLOURS[number % len(COLOURS)],
            error_kw={"elinewidth": 0.6},
        )
    if panel.line is not None:
        axes.axhline(panel.line, color="black", linewidth=0.6)
    axes.set_ylabel(panel.title, fontsize="small")
    axes.set_xticks(places, panel.groups, rotation=60, ha="right", fontsize="x-small")


def stacked(title: str, axis: str, bars_: Mapping[str, Mapping[str, float]]) -> Picture:
    """Make a bar for each name, of parts from bottom to top.

    Args:
        title: Title of the picture.
        axis: What the values are.
        bars_: Values of the parts by bar.
    """
    parts = list(dict.fromkeys(part for heights_of in bars_.values() for part in heights_of))

    def draw(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        axes = figure.subplots()
        below = np.zeros(len(bars_))
        for number, part in enumerate(parts):
            heights = np.array([heights_of.get(part, 0.0) for heights_of in bars_.values()])
            axes.bar(list(bars_), heights, 0.6, bottom=below, label=part, color=COLOURS[number % len(COLOURS)])
            below += heights
        axes.set_ylabel(axis)
        axes.tick_params(axis="x", rotation=60)
        if len(parts) <= FEW:
            axes.legend(fontsize="x-small")
        else:
            figure.legend(loc="outside upper center", fontsize="x-small", ncols=4)

    rows = [(name, part, value) for name, heights_of in bars_.items() for part, value in heights_of.items()]
    size = (max(5.0, 0.7 * len(bars_)), 4.2)
    said, heads = f"Bars of {', '.join(parts)}.", ("bar", "part", axis)
    return Picture(name="stacked", title=title, alt=said, heads=heads, rows=rows, draw=draw, size=size)


@dataclass(frozen=True)
class HeatMapPanel:
    """A panel of a heat map."""

    title: str
    """Title."""
    values: Sequence[Sequence[float | None]]
    """Values [y][x]; None: unknown; 1 is the border between gain and loss."""


def heat(
    title: str, x: tuple[str, Sequence[str]], y: tuple[str, Sequence[str]], panels: Sequence[HeatMapPanel]
) -> Picture | None:
    """Put maps beside one another, with their values in them; None where no value is known.

    Args:
        title: Title of the picture.
        x: What is varied from left to right, and its values.
        y: What is varied from bottom to top, and its values.
        panels: Maps from left to right.
    """
    if all(value is None for panel in panels for row in panel.values for value in row):
        return None

    def draw(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            held = np.array([[math.nan if v is None else v for v in row] for row in panel.values])
            largest = float(np.nanmax(np.abs(np.log2(held)))) if np.isfinite(held).any() else 0.0
            far = max(0.1, PALE * largest)
            axes.imshow(np.log2(held), origin="lower", cmap="RdBu", vmin=-far, vmax=far, aspect="auto")
            for (row, column), value in np.ndenumerate(held):
                if math.isfinite(value):
                    axes.text(column, row, FIXED_2(value), ha="center", va="center", fontsize="small")
            axes.set_title(panel.title)
            axes.set_xticks(range(len(x[1])), x[1])
            axes.set_yticks(range(len(y[1])), y[1])
            axes.set_xlabel(x[0])
            axes.set_ylabel(y[0])

    rows = [
        (panel.title, at_x, at_y, value)
        for panel in panels
        for at_y, values in zip(y[1], panel.values, strict=True)
        for at_x, value in zip(x[1], values, strict=True)
    ]
    said = f"Maps of {', '.join(panel.title for panel in panels)}."
    heads, size = ("map", x[0], y[0], "value"), (3.6 * len(panels), 3.2)
    return Picture(name="heat", title=title, alt=said, heads=heads, rows=rows, draw=draw, size=size)


def lines(title: str, axes_: tuple[str, str], curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Picture:
    """Put curves over one another: places and values.

    Args:
        title: Title of the picture.
        axes_: What these are.
        curves: Places and values by name.
    """

    def draw(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        axes = figure.subplots()
        for number, (name, (places, values)) in enumerate(curves.items()):
            axes.plot(places, values, linewidth=0.9, label=name, color=COLOURS[(3 + number) % len(COLOURS)])
        axes.set_xlabel(axes_[0])
        axes.set_ylabel(axes_[1])
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="x-small")

    rows = [(name, *point) for name, curve in curves.items() for point in zip(*curve, strict=True)]
    said, heads = f"Curves of {', '.join(curves)}.", ("curve", *axes_)
    return Picture(name="lines", title=title, alt=said, heads=heads, rows=rows, draw=draw, size=(7.0, 3.2))
