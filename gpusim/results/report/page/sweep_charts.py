"""Charts of sweeps: panels of lines, bars or fields, and Pareto fronts, on a screen or in a paper's column."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import amount, is_number, scaled
from gpusim.results.report.page.charts import COLOURS, MARKS, PALETTES, label
from gpusim.results.report.sweeps.front import FrontPoint
from gpusim.results.report.sweeps.points import MEANS, format_axis_value
from gpusim.results.report.sweeps.series import AxisPoint, FigureData, SeriesLine

_LOGARITHMIC = 8  # from this factor between the values of an axis on
_DASHES = ("-", "--", "-.", ":")  # lines are told apart in black and white, too
_MOST_TICKS = 10
_NEAR = 1.5  # factor between neighbours below which marks of a logarithmic axis would overlap
_WIDE_FIELD = 0.8  # inches from which on a field of a heat map has space for its range
_GREY = "#8F8F8F"
INK = "#010203"  # black, and the page's own text colour where the figure is part of one
_HATCHES = ("////", "\\\\\\\\", "....", "xxxx", "----", "||||", "++++", "oo")  # bands on top of one another
_BANDS = ((0.15, False), (0.08, True), (0.0, False))  # fill and hatch of one band, of two, and of more
_BAR_HATCHES = ("", "///", "\\\\\\", "...", "xxx")
_MOST_SHARED = 2.0  # whole range over that of a panel up to which panels have one scale
_DRAWN_SHARE = 0.75  # of a panel's width within its axes
_LETTER_INCHES = 0.08
_LEVELS = 10  # steps of a contour
_CENTRED = {"ha": "center", "va": "center", "fontsize": "x-small"}


def arrange_panels(panels: int, width: float, most: int = 0) -> tuple[int, int]:
    """Return rows and columns of panels.

    Args:
        panels: how many there are.
        width: of the figure, in inches.
        most: panels side by side; 0: as many as fit.
    """
    columns = min(panels, most or (1 if width < 2.5 else 2 if width < 5 else 4))
    return math.ceil(panels / columns), columns


def lines(figure: Any, series: FigureData) -> None:
    """Draw a line for each value of `by` in each panel, its range as a band, its error bars."""
    for axes, panel in _panels(figure, series):
        bands = sum(any(m.low < m.high for m in line.marks) for _, line in _of(series, panel))
        for number, line in _of(series, panel):
            _line(axes, line, number, _colours(series)[number], bands)
        xs = list(dict.fromkeys(m.x for _, line in _of(series, panel) for m in line.marks))
        _scale(axes, xs, _panel_inches(figure, series))
        axes.margins(x=0.06)
        if series.layout.x_range is not None:
            axes.set_xlim(*series.layout.x_range)
    _legend(figure, series)


def _line(axes: Any, line: SeriesLine, number: int, colour: str, bands: int) -> None:
    """Draw a line with its band; the more bands lie over one another in a panel, the less are they filled."""
    xs = [mark.x for mark in line.marks]
    if any(mark.low < mark.high for mark in line.marks):
        ends = [mark.low for mark in line.marks], [mark.high for mark in line.marks]
        fill, hatch = _BANDS[min(bands, len(_BANDS)) - 1]
        axes.fill_between(
            xs,
            *ends,
            facecolor=(*_rgb(colour), fill),
            edgecolor=(*_rgb(colour), 0.6),
            hatch=_HATCHES[number % len(_HATCHES)] if hatch else None,
            linestyle=_DASHES[number % len(_DASHES)],
            linewidth=0.6,
        )
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
        of_panel = list(_of(series, panel))
        width = 0.8 / max(len(of_panel), 1)
        for place, (number, line) in enumerate(of_panel):
            marks = [mark for mark in line.marks if mark.middle is not None]
            at = [xs.index(mark.x) + (place + 0.5) * width - 0.4 for mark in marks]
            colour = _GREY if line.name in MEANS else _colours(series)[number]
            axes.bar(
                at, [_value(mark) for mark in marks], width * 0.92, label=label(line.name), color=colour,
                hatch=_BAR_HATCHES[number % len(_BAR_HATCHES)] if len(of_panel) > 1 else "", edgecolor="white",
                linewidth=0,
            )  # fmt: skip
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
    shared = not values or is_scale_shared(series)
    _, columns = arrange_panels(len(series.panels), figure.get_size_inches()[0], series.layout.columns)
    is_wide = figure.get_size_inches()[0] / columns / (len(xs) + 1) > _WIDE_FIELD
    for axes, panel in _panels(figure, series, share_y=True):
        held = {(line.name, mark.x): mark for _, line in _of(series, panel) for mark in line.marks}
        of = values if shared else [_value(mark) for mark in held.values() if mark.middle is not None]
        low, high = series.layout.y_range or (min(of, default=0.0), max(of, default=0.0))
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


def contours(figure: Any, series: FigureData) -> None:
    """Draw lines of equal value over two axes of numbers in each panel, with a mark at each pair that was measured."""
    from matplotlib import colormaps

    xs = list(dict.fromkeys(mark.x for line in series.lines for mark in line.marks))
    rows = list(dict.fromkeys(line.name for line in series.lines))
    if len(xs) < 2 or len(rows) < 2:
        raise UserError("contour: needs two values and more of both axes")
    for axes, panel in _panels(figure, series, share_y=True):
        of_panel = {(line.name, mark.x): _value(mark) for _, line in _of(series, panel) for mark in line.marks}
        table = [[of_panel.get((row, x), math.nan) for x in xs] for row in rows]
        low, high = series.layout.y_range or (min(of_panel.values()), max(of_panel.values()))
        levels = [low + (high - low) * step / _LEVELS for step in range(_LEVELS + 1)] if high > low else [low, low + 1]
        axes.contourf(table, levels=levels, cmap=colormaps["cividis"], extend="both")
        drawn = axes.contour(table, levels=levels[1:-1:2], colors="white", linewidths=0.7)
        axes.clabel(drawn, fmt=_short, fontsize="x-small")
        axes.plot(
            [xs.index(x) for _, x in of_panel],
            [rows.index(row) for row, _ in of_panel],
            ".",
            color="white",
            markersize=3,
            clip_on=False,
        )
        axes.set_xticks(range(len(xs)), [label(format_axis_value(x)) for x in xs], rotation=_turn(xs, figure))
        axes.set_yticks(range(len(rows)), [label(row) for row in rows])


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
            _logarithmic(axes, [point.x[0] for point in points], _DRAWN_SHARE * figure.get_size_inches()[0] / columns)
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
    rows, columns = arrange_panels(len(names), figure.get_size_inches()[0], series.layout.columns)
    together = is_scale_shared(series) if share_y is None else share_y
    drawn = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey="all" if together else False)
    for axes in list(drawn.flat)[len(names) :]:
        axes.remove()
    for axes, name in zip(drawn.flat, names, strict=False):
        if len(names) > 1:
            axes.set_title(label(name))
        if share_y is None:
            axes.yaxis.set_major_formatter(lambda value, _: amount(float(value)))
            if series.layout.y_range is not None:
                axes.set_ylim(*series.layout.y_range)
    figure.supxlabel(label(series.x), fontsize="medium")
    figure.supylabel(label(series.y), fontsize="medium")
    return list(zip(drawn.flat, names, strict=False))


def is_scale_shared(series: FigureData) -> bool:
    """Tell whether all panels have one scale: as chosen, or where no panel's values would look flat on it."""
    if series.layout.share_y is not None:
        return series.layout.share_y
    ends = []
    for panel in series.panels:
        marks = [mark for line in series.lines if line.panel == panel for mark in line.marks]
        ends.append((min(mark.low for mark in marks), max(mark.high for mark in marks)))
    whole = max(high for _, high in ends) - min(low for low, _ in ends)
    return all(whole <= _MOST_SHARED * (high - low) for low, high in ends)


def _colours(series: FigureData) -> list[str]:
    """Return a colour for each name of a line; means are black."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    names = list(dict.fromkeys(line.name for line in series.lines))
    palette: Sequence[str] = PALETTES.get(series.layout.palette, ())
    if not palette:
        count = max(len(names) - 1, 1)
        palette = [to_hex(colormaps["viridis"](0.9 * number / count)) for number in range(len(names))]
    return [INK if name in MEANS else palette[number % len(palette)] for number, name in enumerate(names)]


def _rgb(colour: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _of(series: FigureData, panel: str) -> list[tuple[int, SeriesLine]]:
    """Return the lines of a panel, each with its number among all names: the same name has the same colour."""
    names = list(dict.fromkeys(line.name for line in series.lines))
    return [(names.index(line.name), line) for line in series.lines if line.panel == panel]


def _legend(figure: Any, series: FigureData) -> None:
    names = list(dict.fromkeys(label(line.name) for line in series.lines))
    place = series.layout.legend
    if len(names) < 2 or place == "none":
        return
    if place == "inside":
        figure.axes[0].legend(title=label(series.by) or None, handlelength=2.6)
        return
    handles = {text: h for axes in figure.axes for h, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    shown = {name: handles[name] for name in names if name in handles}
    figure.legend(
        shown.values(), shown, loc="outside upper center" if place == "top" else "outside right upper",
        ncols=_columns(figure, names) if place == "top" else 1,
        title=_headed(figure, series.by) if place == "top" else label(series.by) or None, handlelength=2.6,
        columnspacing=1.2,
    )  # fmt: skip


def _headed(figure: Any, by: str = "") -> str | None:
    """Return the legend's title: the figure's own above that of the lines, for which there is no other space."""
    own = figure.get_suptitle()
    figure.suptitle("")
    return "\n".join(filter(None, [own, label(by)])) or None


def _columns(figure: Any, names: Sequence[str]) -> int:
    space = figure.get_size_inches()[0] / (0.075 * max(map(len, names), default=1) + 0.55)
    return max(min(int(space), len(names)), 1)


def _panel_inches(figure: Any, series: FigureData) -> float:
    width = figure.get_size_inches()[0]
    return float(_DRAWN_SHARE * width / arrange_panels(len(series.panels), width, series.layout.columns)[1])


def _scale(axes: Any, values: Sequence[Any], inches: float) -> None:
    """Set the axis's scale by its values: logarithmic where they span much, a mark at each where they are few."""
    if not all(map(is_number, values)):
        return
    if not _logarithmic(axes, values, inches) and len(values) <= _MOST_TICKS:
        axes.set_xticks(sorted(values), [label(format_axis_value(value)) for value in sorted(values)])


def _logarithmic(axes: Any, values: Sequence[float], inches: float) -> bool:
    low, high = min(values), max(values)
    if low <= 0 or high < _LOGARITHMIC * low:
        return False
    axes.set_xscale("log", base=2)
    ticks = sorted(set(values))
    if len(ticks) > _MOST_TICKS or any(b < _NEAR * a for a, b in itertools.pairwise(ticks)):
        ticks = [2.0**n for n in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)][::2]
    axes.set_xticks(ticks, _thinned(ticks, inches / math.log2(high / low)))
    axes.minorticks_off()
    return True


def _thinned(ticks: Sequence[float], inches: float) -> list[str]:
    """Return the labels of a logarithmic axis, of which a factor of 2 takes so many inches, without those that would
    overlap a label before them.
    """
    texts: list[str] = []
    end = -math.inf
    for tick in ticks:
        text = label(format_axis_value(tick))
        half = _LETTER_INCHES * (len(text) + 1) / 2
        place = inches * math.log2(tick)
        texts.append(text if place - half >= end else "")
        end = place + half if texts[-1] else end
    return texts


def _turn(values: Sequence[Any], figure: Any) -> float:
    """Return by how much names below an axis are turned, in degrees: not at all where they fit."""
    letters = sum(len(format_axis_value(value)) + 2 for value in values)
    return 0.0 if letters * 0.08 < figure.get_size_inches()[0] / 2 else 45.0
