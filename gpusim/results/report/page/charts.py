"""Kinds of charts: each function draws one onto a figure of Matplotlib's."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpusim.base.formats import COUNT, GROUPED_1, GROUPED_DIGITS_3, GROUPED_DIGITS_10
from gpusim.base.html import clean

# Okabe and Ito's colours, told apart by colour-blind readers and seen on light and dark grounds; black is left out
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8F8F8F", "#B8A800", "#7A5195", "#4E8D5E")
# for colour-blind readers; tol: Paul Tol's bright scheme (SRON/EPS/TN/09-002); empty: shades in the order of values
PALETTES: Mapping[str, Sequence[str]] = {
    "okabe-ito": COLOURS,
    "tol": ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB"),
    "grey": ("#000000", "#8A8A8A", "#4D4D4D", "#B5B5B5", "#2E2E2E", "#9E9E9E", "#6B6B6B", "#C8C8C8"),
    "ordered": (),
}
MARKS = "os^DvPX*<>"
_LONGEST = 40  # characters of a label
_BAR_INCHES = 0.26
_LETTER_INCHES = 0.073  # the mean letter at the usual size: space is reckoned, as measuring text takes half of the time


def label(text: str) -> str:
    """Return a name that Matplotlib prints literally, shortened where it is very long."""
    return literal(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def literal(text: str) -> str:
    """Return a text that Matplotlib prints as it is."""
    return clean(text).replace("$", r"\$")


def bars_size(names: int, series: int = 1) -> tuple[float, float]:
    """Return width and height, in inches, of a figure with horizontal bars."""
    return 7.2, max(1.2 + _BAR_INCHES * names * max(series, 1), 1.9)


def grouped_bars(figure: Any, names: Sequence[str], series: Mapping[str, Sequence[float | None]], axis: str) -> None:
    """Draw horizontal bars, for each name one of each series, with their values at the end."""
    axes = _axes(figure, left=_label_space(names), top=_legend_space(series) if len(series) > 1 else 0.1)
    height = 0.8 / len(series)
    for number, (name, values) in enumerate(series.items()):
        places = [row + (number + 0.5) * height - 0.4 for row in range(len(names))]
        drawn = [value or 0.0 for value in values]
        bars = axes.barh(places, drawn, height * 0.95, label=label(name), color=COLOURS[number % len(COLOURS)])
        axes.bar_label(
            bars, ["–" if value is None else GROUPED_DIGITS_3(value) for value in values], padding=3, fontsize=7
        )
    _rows(axes, names, axis)
    axes.margins(x=0.12)
    if len(series) > 1:
        _legend(figure, axes)


def stacked_bars(figure: Any, names: Sequence[str], parts: Mapping[str, Sequence[float]], axis: str) -> None:
    """Draw horizontal bars made of parts, in the order of the mapping."""
    axes = _axes(figure, left=_label_space(names), top=_legend_space(parts))
    left = [0.0] * len(names)
    for number, (name, values) in enumerate(parts.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.barh(range(len(names)), values, 0.8, left=left, label=label(name), color=colour, linewidth=0)
        left = [start + value for start, value in zip(left, values, strict=True)]
    _rows(axes, names, axis)
    _legend(figure, axes)


def histogram(figure: Any, series: Mapping[str, Sequence[int]], axis: str) -> None:
    """Draw counts by buckets in powers of two, as steps."""
    axes = _axes(figure, left=0.8, bottom=0.8, top=_legend_space(series) if len(series) > 1 else 0.1)
    for number, (name, counts) in enumerate(series.items()):
        axes.stairs(counts, range(len(counts) + 1), fill=len(series) == 1, label=label(name), color=COLOURS[number])
    most = max((len(counts) for counts in series.values()), default=0)
    axes.set_xticks(range(0, most + 1, 2), [COUNT(2**bucket) for bucket in range(0, most + 1, 2)], rotation=45)
    axes.set_xlabel(axis)
    axes.set_ylabel("requests")
    if len(series) > 1:
        _legend(figure, axes)


def roofline(
    figure: Any, points: Sequence[tuple[str, str, float, float]], peak: tuple[str, float], roofs: Mapping[str, float],
    axes_names: tuple[str, str],
) -> None:  # fmt: skip
    """Draw points (name, level, intensity, rate) under the peak and the levels' bandwidths, on logarithmic axes."""
    axes = _axes(figure, left=0.7, right=2.3)
    intensities = [point[2] for point in points] + [peak[1] / rate for rate in roofs.values()]
    low, high = min(intensities) / 4, max(intensities) * 4
    for number, (level, rate) in enumerate(roofs.items()):
        knee = peak[1] / rate
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(
            [low, knee], [low * rate, peak[1]], color=colour, linewidth=1.2, label=f"{level}: {GROUPED_1(rate)} a ns"
        )
    axes.plot(
        [low, high], [peak[1], peak[1]], color="#8F8F8F", linewidth=1.2, label=f"{peak[0]}: {GROUPED_1(peak[1])} a ns"
    )
    names, levels = list(dict.fromkeys(p[0] for p in points)), list(roofs)
    for name, level, intensity, rate in points:
        mark = MARKS[names.index(name) % len(MARKS)] if len(names) <= len(MARKS) else "o"
        axes.plot([intensity], [rate], mark, color=COLOURS[levels.index(level) % len(COLOURS)], markersize=6, alpha=0.8)
    if 1 < len(names) <= len(MARKS):
        for number, name in enumerate(names):
            axes.plot([], [], MARKS[number], color="#8F8F8F", label=label(name))
    axes.set_xscale("log", base=10)
    axes.set_yscale("log", base=10)
    for one in (axes.xaxis, axes.yaxis):
        one.set_major_formatter(lambda value, _: GROUPED_DIGITS_10(value))
    axes.set_xlim(low, high)
    axes.set_xlabel(axes_names[0])
    axes.set_ylabel(axes_names[1])
    figure.legend(loc="center right", fontsize=8)


def _rows(axes: Any, names: Sequence[str], axis: str) -> None:
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(axis)


def _legend(figure: Any, axes: Any) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="upper center", ncols=_legend_columns(names), fontsize=8)


def _legend_columns(names: Sequence[str]) -> int:
    return max(min(int(7 / (max(map(len, names)) * _LETTER_INCHES + 0.5)), len(names)), 1)


def _legend_space(names: Collection[str]) -> float:
    """Return the inches that a legend at the top takes."""
    texts = list(map(label, names))
    return 0.2 + 0.19 * math.ceil(len(texts) / _legend_columns(texts))


def _label_space(names: Sequence[str]) -> float:
    """Return the inches that labels at the left take."""
    return 0.3 + _LETTER_INCHES * max((len(label(name)) for name in names), default=0)


def _axes(figure: Any, left: float, bottom: float = 0.5, right: float = 0.2, top: float = 0.1) -> Any:
    """Add axes to the figure within these margins, in inches."""
    width, height = figure.get_size_inches()
    return figure.add_axes((left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height))
