"""Figures of a sweep by choice, for a screen or for a paper: each a picture with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpusim.base.errors import UserError
from gpusim.base.formats import GROUPED_DIGITS_4
from gpusim.base.picture import Picture
from gpusim.results.report.page import sweep_charts
from gpusim.results.report.page.charts import literal
from gpusim.results.report.page.sweep_overview import OVERVIEWS
from gpusim.results.report.sweeps.front import FrontPoint, build_panels, memory
from gpusim.results.report.sweeps.points import SweepData, format_axis_value, merged_repeats, names
from gpusim.results.report.sweeps.reader_names import reader_name
from gpusim.results.report.sweeps.series import FigureChoice, FigureData, build_series, in_order

Style = Literal[
    "screen", "paper", "wide", "ieee", "ieee-wide", "acm", "acm-wide", "lncs", "elsevier", "elsevier-wide", "slide"
]


@dataclass(frozen=True)
class _FigureStyle:
    """Sizes of figures in a style."""

    width: float
    """Width in inches."""
    height: float
    """Height in inches with one row of panels."""
    row: float
    """Height of each further row in inches."""
    font: float
    """Font size in points."""
    titled: bool
    """Draw the title."""


# paper: a column of IEEE's and ACM's two-column pages (3.5 and 3.33 inches); wide: both columns
_LOOKS: dict[Style, _FigureStyle] = {
    "screen": _FigureStyle(7.2, 3.4, 2.4, 9, titled=True),
    "paper": _FigureStyle(3.33, 2.2, 1.5, 7.5, titled=False),
    "wide": _FigureStyle(7.0, 2.2, 1.7, 8, titled=False),
    "ieee": _FigureStyle(3.5, 2.3, 1.5, 8, titled=False),  # IEEEtran: a column of 252 pt
    "ieee-wide": _FigureStyle(7.16, 2.3, 1.7, 8, titled=False),  # 516 pt
    "acm": _FigureStyle(3.33, 2.2, 1.5, 7.5, titled=False),  # acmart, sigconf: 241 pt
    "acm-wide": _FigureStyle(7.0, 2.2, 1.7, 8, titled=False),  # 506 pt
    "lncs": _FigureStyle(4.8, 2.6, 1.7, 8, titled=False),  # llncs: 122 mm
    "elsevier": _FigureStyle(3.54, 2.3, 1.5, 7.5, titled=False),  # 90 mm
    "elsevier-wide": _FigureStyle(7.48, 2.3, 1.7, 8, titled=False),  # 190 mm
    "slide": _FigureStyle(9.0, 4.6, 2.6, 14, titled=True),
}
_DRAWN = {
    "lines": sweep_charts.lines,
    "bars": sweep_charts.bars,
    "heat-map": sweep_charts.fields,
    "contour": sweep_charts.contours,
}


def draw_figure(swept: SweepData, choice: FigureChoice, style: Style = "screen", name: str = "") -> Picture:
    """Make the figure that is chosen of a sweep.

    Args:
        swept: The sweep's points.
        choice: What is chosen to be drawn.
        style: 'screen' or 'paper'.
        name: Of its files; empty: its kind.

    Raises:
        UserError: The sweep lacks something.
    """
    if choice.kind == "front" or len(choice.metrics) > 1:
        return _front(swept, choice, _LOOKS[style], name or "front")
    look = _LOOKS[style]
    if choice.kind in OVERVIEWS:
        return _overview(swept, choice, look, name or choice.kind)
    series = build_series(swept, choice)
    rows, _ = sweep_charts.arrange_panels(len(series.panels), look.width, choice.layout.columns)
    is_field = series.kind in ("heat-map", "contour")
    title = f"{series.metric} over {series.x}" + (f" and {series.y}" if is_field else "")

    def draw(figure: object) -> None:
        _DRAWN[series.kind](_titled(figure, swept.title, look, choice.layout.title), series)

    return Picture(
        name=name or series.kind,
        title=f"{swept.title}: {title}",
        alt=" ".join(map(_sentence, [_ends(series), *series.notes])),
        heads=(
            "panel",
            series.by or series.y if is_field else series.by or "line",
            series.x,
            series.metric,
            "half-width",
            "low",
            "high",
            "points",
        ),
        rows=list(_rows(series)),
        draw=draw,
        size=(look.width, look.height + (rows - 1) * look.row),
        font_size=look.font,
        note=" ".join(map(_sentence, series.notes)),
    )


def _titled(figure: object, title: str, look: _FigureStyle, chosen: str) -> object:
    figure.set_layout_engine("constrained")  # type: ignore[attr-defined]
    if look.titled or chosen:
        figure.suptitle(literal(chosen or title), fontsize="medium")  # type: ignore[attr-defined]
    return figure


def _overview(swept: SweepData, choice: FigureChoice, look: _FigureStyle, name: str) -> Picture:
    """Make the picture of all axes of a sweep."""
    if choice.x or choice.y or choice.by or choice.baseline or choice.panels:
        raise UserError(f"{choice.kind}: is of all axes; --x, --y, --by, --panel and --baseline are of other figures")
    swept = in_order(merged_repeats(swept).at(choice.at), choice)
    metric = choice.metrics[0] if choice.metrics else swept.metric
    if not any(metric in point.measured for point in swept.places):
        raise UserError(f"{metric}: no point has a value of it")
    overview = OVERVIEWS[choice.kind](swept, metric, choice.layout)
    rows, _ = sweep_charts.arrange_panels(overview.panels, look.width, choice.layout.columns)

    def draw(figure: object) -> None:
        overview.draw(_titled(figure, swept.title, look, choice.layout.title))

    return Picture(
        name=name,
        title=f"{swept.title}: {overview.title}",
        alt=overview.title,
        heads=overview.heads,
        rows=overview.rows,
        draw=draw,
        size=(look.width, look.height + (rows - 1) * look.row + overview.more_inches),
        font_size=look.font,
    )


def _front(swept: SweepData, choice: FigureChoice, look: _FigureStyle, name: str) -> Picture:
    """Make the picture of a front: the two metrics chosen, or the sweep's objectives, or a metric by memory."""
    if choice.x or choice.y or choice.by or choice.baseline:
        raise UserError("front: is of two metrics, the cost first; --x, --y, --by and --baseline are of other figures")
    swept = merged_repeats(swept).at(choice.at)
    swept, by_memory = memory(swept)
    known = {text for point in swept.places for text in point.measured}
    wanted = list(choice.metrics) or [text for text in swept.objectives if text in known]
    if len(wanted) < 2:
        wanted = [by_memory or "dram.bytes", *(wanted or [swept.metric])]
    cost, metric = _cost_first(swept, wanted, bool(choice.metrics))
    panels = build_panels(swept, cost, metric)
    if not panels:
        raise UserError(f"front: no design has values of {cost} and {metric} at every workload")
    rows, _ = sweep_charts.arrange_panels(len(panels), look.width)
    labels = choice.layout
    axes = (labels.label(cost, reader_name(cost)), labels.label(metric, reader_name(metric)))
    on = [point for point in list(panels.values())[-1] if point.standing]
    noise = any(point.x[1] or point.y[1] for points in panels.values() for point in points)
    alt = f"On the front: {'; '.join(names(point.design) for point in on)}." + (
        " Values whose intervals overlap are not distinguishable: none of them beats the other." if noise else ""
    )

    def draw(figure: object) -> None:
        sweep_charts.fronts(_titled(figure, swept.title, look, labels.title), panels, axes)

    paths = list(on[0].design)
    return Picture(
        name=name,
        title=f"{swept.title}: Pareto front of {metric} against {cost}",
        alt=alt,
        heads=("panel", *paths, cost, "± cost", metric, "±", "standing"),
        rows=[(panel, *_front_row(point)) for panel, points in panels.items() for point in points],
        draw=draw,
        size=(look.width, look.height + (rows - 1) * look.row),
        font_size=look.font,
    )


def _cost_first(swept: SweepData, wanted: Sequence[str], chosen: bool) -> tuple[str, str]:
    """Return two metrics, the first of them that which is drawn across."""
    if len(wanted) != 2:
        raise UserError(f"front: is of two metrics; given: {', '.join(wanted)}")
    first, second = wanted
    return (first, second) if chosen or second == swept.metric else (second, first)


def _front_row(one: FrontPoint) -> tuple[object, ...]:
    return (*one.design.values(), *one.x, *one.y, one.standing or "another is better")


def _rows(series: FigureData) -> list[tuple[object, ...]]:
    return [
        (line.panel, line.name, mark.x, *(mark.middle or (None, None)), mark.low, mark.high, mark.points)
        for line in series.lines
        for mark in line.marks
    ]


def _ends(series: FigureData) -> str:
    """Say the least and the largest mean."""
    drawn = [(mark.middle[0], line, mark) for line in series.lines for mark in line.marks if mark.middle is not None]
    if not drawn:
        return "no mean: no combination is common to all values"
    ends = (min(drawn, key=lambda one: one[0]), max(drawn, key=lambda one: one[0]))
    places = [", ".join(filter(None, (line.panel, line.name, format_axis_value(mark.x)))) for _, line, mark in ends]
    return "from " + " to ".join(
        f"{GROUPED_DIGITS_4(end[0])} at {place}" for end, place in zip(ends, places, strict=True)
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
