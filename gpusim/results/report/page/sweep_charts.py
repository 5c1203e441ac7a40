"""Charts of sweeps: panels of lines, bars or fields, and Pareto fronts, on a screen or in a paper's column."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.formats import amount, is_number, scaled
from gpusim.results.report.page.charts import COLOURS, MARKS, label
from gpusim.results.report.sweeps.front import FrontPoint
from gpusim.results.report.sweeps.points import MEANS, format_axis_value
from gpusim.results.report.sweeps.series import AxisPoint, FigureData, SeriesLine

_LOGARITHMIC = 8  # from this factor between the values of an axis on
_DASHES = ("-", "--", "-.", ":")  # lines are told apart in black and white, too
_MOST_TICKS = 10
_NEAR = 1.5  # factor between neighbours below which marks of a logarithmic axis would overlap
_WIDE_FIELD = 0.8  # inches from which on a field of a heat map has room for its range
_GREY = "#8F8F8F"
_CENTRED = {"ha": "center", "va": "center", "fontsize": "x-small"}


def arrange_panels(panels: int, width: float) -> tuple[int, int]:
    """Return rows and columns of so many panels in a figure of this width, in inches."""
    columns = min(panels, 1 if width < 2.5 else 2 if width < 4 else 4)
    return math.ceil(panels / columns), columns


def lines(figure: Any, series: FigureData) -> None:
    """Draw a line for each value of `by` in each panel, its range as a band, its error bars."""
    for axes, panel in _panels(figure, series):
        for number, line in _of(series, panel):
            _line(axes, line, number)
        xs = list(dict.fromkeys(m.x for _, line in _of(series, panel) for m in line.marks))
        _scale(axes, xs)
        axes.margins(x=0.06)
    _legend(figure, series)


def _line(axes: Any, line: SeriesLine, number: int) -> None:
    is_mean = line.name in MEANS
    colour = "#000000" if is_mean else COLOURS[number % len(COLOURS)]
    xs = [mark.x for mark in line.marks]
    if any(mark.low < mark.high for mark in line.marks):
        ends = [mark.low for mark in line.marks], [mark.high for mark in line.marks]
        axes.fill_between(xs, *ends, color=_GREY if is_mean else colour, alpha=0.18, linewidth=0)
    drawn = [mark for mark in line.marks if mark.middle is not None]
    middles = [mark.middle for mark in drawn if mark.middle is not None]
    style = {"color": colour, "linestyle": _DASHES[number % len(_DASHES)], "marker": MARKS[number % len(MARKS)]}
    axes.plot([mark.x for mark in drawn], [value for value, _ in middles], label=label(line.name), **style)
    if any(width for _, width in middles):
        axes.errorbar(
            [mark.x for mark in drawn], [value for value, _ in middles], yerr=[width for _, width in middles],
            fmt="none", ecolor=colour, capsize=2, linewidth=1,
        )  # fmt: skip


def bars(figure: Any, series: FigureData) -> None:
    """Draw a group of bars for each value of the axis, with ranges as thin lines and error bars with caps."""
    xs = list(dict.fromkeys(mark.x for line in series.lines for mark in line.marks))
    for axes, panel in _panels(figure, series):
        held = list(_of(series, panel))
        width = 0.8 / max(len(held), 1)
        for place, (number, line) in enumerate(held):
            marks = [mark for mark in line.marks if mark.middle is not None]
            at = [xs.index(mark.x) + (place + 0.5) * width - 0.4 for mark in marks]
            colour = _GREY if line.name in MEANS else COLOURS[number % len(COLOURS)]
            axes.bar(at, [_value(mark) for mark in marks], width * 0.92, label=label(line.name), color=colour)
            for where, mark in zip(at, marks, strict=True):
                if mark.low < mark.high:
                    axes.plot([where, where], [mark.low, mark.high], color="black", linewidth=0.7)
                if mark.middle is not None and mark.middle[1]:
                    axes.errorbar([where], [mark.middle[0]], yerr=[mark.middle[1]], ecolor="black", capsize=2)
        axes.set_xticks(range(len(xs)), [label(format_axis_value(x)) for x in xs], rotation=_turn(xs, figure))
    _legend(figure, series)


def fields(figure: Any, series: FigureData) -> None:
    """Draw a heat map in each panel: a field for each pair of values with its mean, and its range where it has one."""
    from matplotlib import colormaps

    xs = list(dict.fromkeys(mark.x for line in series.lines for mark in line.marks))
    rows = list(dict.fromkeys(line.name for line in series.lines))
    values = [_value(mark) for line in series.lines for mark in line.marks if mark.middle is not None]
    shared = not values or max(values) < 4 * min(values) or min(values) <= 0
    _, columns = arrange_panels(len(series.panels), figure.get_size_inches()[0])
    is_wide = figure.get_size_inches()[0] / columns / (len(xs) + 1) > _WIDE_FIELD
    for axes, panel in _panels(figure, series, share_y=True):
        held = {(line.name, mark.x): mark for _, line in _of(series, panel) for mark in line.marks}
        of = values if shared else [_value(mark) for mark in held.values() if mark.middle is not None]
        low, high = min(of, default=0.0), max(of, default=0.0)
        table = [[_value(held[row, x]) if (row, x) in held else math.nan for x in xs] for row in rows]
        axes.pcolormesh(table, cmap=colormaps["cividis"], vmin=low, vmax=high, edgecolors="white", linewidth=0.5)
        for (row, x), mark in held.items():
            if mark.middle is not None:
                ink = "black" if _value(mark) > (low + high) / 2 else "white"
                axes.text(xs.index(x) + 0.5, rows.index(row) + 0.5, _field(mark, is_wide), color=ink, **_CENTRED)
        axes.set_xticks(
            [n + 0.5 for n in range(len(xs))], [label(format_axis_value(x)) for x in xs], rotation=_turn(xs, figure)
        )
        axes.set_yticks([n + 0.5 for n in range(len(rows))], [label(row) for row in rows])


def _field(mark: AxisPoint, is_wide: bool) -> str:
    value = _short(_value(mark))
    if not is_wide or mark.low == mark.high or mark.points == 1:
        return value
    return f"{value}\n{_short(mark.low)}–{_short(mark.high)}"


def _short(value: float) -> str:
    return scaled(value) if abs(value) >= 10_000 else amount(float(value))


def _value(mark: AxisPoint) -> float:
    return math.nan if mark.middle is None else mark.middle[0]


def fronts(figure: Any, panels: Mapping[str, Sequence[FrontPoint]], names: tuple[str, str]) -> None:
    """Draw designs by cost and metric in each panel, those that none beats as a line, with error bars both ways."""
    rows, columns = arrange_panels(len(panels), figure.get_size_inches()[0])
    drawn = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes, (panel, points) in zip(drawn.flat, panels.items(), strict=False):
        for standings, colour, mark, name in (
            (("",), _GREY, ".", "another is better"),
            (("not distinguishable",), COLOURS[1], "s", "not distinguishable"),
            (("front",), COLOURS[0], "o", "Pareto front"),
        ):
            some = [point for point in points if point.standing in standings]
            if some:
                axes.plot(
                    [point.x[0] for point in some], [point.y[0] for point in some], mark, color=colour, label=name
                )
        best = sorted((point.x[0], point.y[0]) for point in points if point.standing == "front")
        axes.plot(*zip(*best, strict=True), color=COLOURS[0], drawstyle="steps-post", linewidth=1) if best else None
        for point in points:
            if point.x[1] or point.y[1]:
                axes.errorbar(
                    [point.x[0]],
                    [point.y[0]],
                    xerr=[point.x[1]],
                    yerr=[point.y[1]],
                    fmt="none",
                    ecolor=_GREY,
                    capsize=2,
                )
        if len(panels) > 1:
            axes.set_title(label(panel))
        axes.yaxis.set_major_formatter(lambda value, _: amount(float(value)))
        if len({point.x[0] for point in points}) > 1:
            _logarithmic(axes, [point.x[0] for point in points])
    for axes in list(drawn.flat)[len(panels) :]:
        axes.remove()
    figure.supxlabel(label(names[0]), fontsize="medium")
    figure.supylabel(label(names[1]), fontsize="medium")
    handles = {
        text: handle for axes in figure.axes for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles,
        loc="outside upper center",
        ncols=_columns(figure, list(handles)),
        title=_headed(figure),
    )


def _panels(figure: Any, series: FigureData, share_y: bool | None = None) -> list[tuple[Any, str]]:
    """Add axes for each panel, with titles, and the names of what is drawn once for all.

    share_y: whether all have one vertical axis; None: where they can be read on one.
    """
    names = series.panels
    rows, columns = arrange_panels(len(names), figure.get_size_inches()[0])
    together = _alike(series) if share_y is None else share_y
    drawn = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey="all" if together else False)
    for axes in list(drawn.flat)[len(names) :]:
        axes.remove()
    for axes, name in zip(drawn.flat, names, strict=False):
        if len(names) > 1:
            axes.set_title(label(name))
        if share_y is None:
            axes.yaxis.set_major_formatter(lambda value, _: amount(float(value)))
    figure.supxlabel(label(series.x), fontsize="medium")
    figure.supylabel(label(series.y), fontsize="medium")
    return list(zip(drawn.flat, names, strict=False))


def _alike(series: FigureData) -> bool:
    """Tell whether all panels can be read on one scale: none would be flat beside the others."""
    tops = [max(m.high for line in series.lines if line.panel == panel for m in line.marks) for panel in series.panels]
    return min(tops) > 0 and max(tops) < 4 * min(tops)


def _of(series: FigureData, panel: str) -> list[tuple[int, SeriesLine]]:
    """Return the lines of a panel, each with its number among all names: the same name has the same colour."""
    names = list(dict.fromkeys(line.name for line in series.lines))
    return [(names.index(line.name), line) for line in series.lines if line.panel == panel]


def _legend(figure: Any, series: FigureData) -> None:
    names = list(dict.fromkeys(label(line.name) for line in series.lines))
    if len(names) < 2:
        return
    handles = {text: h for axes in figure.axes for h, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    shown = {name: handles[name] for name in names if name in handles}
    figure.legend(
        shown.values(), shown, loc="outside upper center", ncols=_columns(figure, names),
        title=_headed(figure, series.by), handlelength=2.6, columnspacing=1.2,
    )  # fmt: skip


def _headed(figure: Any, by: str = "") -> str | None:
    """Return the legend's title: the figure's own above that of the lines, for which there is no other room."""
    own = figure.get_suptitle()
    figure.suptitle("")
    return "\n".join(filter(None, [own, label(by)])) or None


def _columns(figure: Any, names: Sequence[str]) -> int:
    room = figure.get_size_inches()[0] / (0.075 * max(map(len, names), default=1) + 0.55)
    return max(min(int(room), len(names)), 1)


def _scale(axes: Any, values: Sequence[Any]) -> None:
    """Set the axis's scale by its values: logarithmic where they span much, a mark at each where they are few."""
    if not all(map(is_number, values)):
        return
    if not _logarithmic(axes, values) and len(values) <= _MOST_TICKS:
        axes.set_xticks(sorted(values), [label(format_axis_value(value)) for value in sorted(values)])


def _logarithmic(axes: Any, values: Sequence[float]) -> bool:
    low, high = min(values), max(values)
    if low <= 0 or high < _LOGARITHMIC * low:
        return False
    axes.set_xscale("log", base=2)
    ticks = sorted(set(values))
    if len(ticks) > _MOST_TICKS or any(b < _NEAR * a for a, b in itertools.pairwise(ticks)):
        ticks = [2.0**n for n in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)][::2]
    axes.set_xticks(ticks, [label(format_axis_value(value)) for value in ticks])
    axes.minorticks_off()
    return True


def _turn(values: Sequence[Any], figure: Any) -> float:
    """Return by how much names below an axis are turned, in degrees: not at all where they fit."""
    letters = sum(len(format_axis_value(value)) + 2 for value in values)
    return 0.0 if letters * 0.08 < figure.get_size_inches()[0] / 2 else 45.0
