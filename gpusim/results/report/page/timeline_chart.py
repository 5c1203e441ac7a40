"""A network's or program's timeline on the page: a picture, and the data from which the page's script draws it."""

import json
from collections.abc import Sequence
from typing import Any

from gpusim.base.formats import COUNT, GROUPED_1, GROUPED_DIGITS_4
from gpusim.base.html import Element, tag
from gpusim.base.picture import Picture
from gpusim.results.report.lanes import COPY, KERNEL, LaneSpan, TimelineLane, build_lanes, merge_spans, read_commands
from gpusim.results.report.page.charts import COLOURS, label
from gpusim.results.report.result import Result, RunMetrics
from gpusim.results.report.views import bound_text

_STRIPES = 400  # spans of a lane that can be told apart in a picture
_LANE_INCHES = 0.3
_HEADS = ("lane", "name", "from, us", "to, us", "launches or copies")


def timeline_charts(result: Result) -> list[Picture]:
    """Draw the timeline of each variant that has one."""
    charted = _charted(result)
    return [
        _chart(column, "timeline" if len(charted) == 1 else f"timeline-{number}")
        for number, column in enumerate(charted)
    ]


def timelines(result: Result, drawn: Sequence[Picture], prefix: str) -> Element | None:
    """Make the section of timelines; None of a run without any.

    Args:
        result: the result.
        drawn: its pictures of `timeline_charts`, which show the timeline where no script runs.
        prefix: of identifiers.
    """
    if not drawn:
        return None
    figures = []
    for picture, column in zip(drawn, _charted(result), strict=True):
        figure = picture.element(prefix)
        lanes = build_lanes(read_commands(column.tree["commands"]))
        figure.insert(1, tag("div", class_="timeline", hidden="", data_timeline=_as_data(result, column, lanes)))
        figures.append(figure)
    return tag("section", tag("h3", "Timeline"), figures, id=f"{prefix}-timeline")


def _charted(result: Result) -> list[RunMetrics]:
    return [column for column in result.columns if (column.tree.get("commands") or {}).get("name")]


def _chart(column: RunMetrics, name: str) -> Picture:
    lanes = build_lanes(read_commands(column.tree["commands"]))
    end_us = max(span.end_us for lane in lanes for span in lane.spans)
    merged = [list(merge_spans(lane.spans, end_us / _STRIPES)) for lane in lanes]
    counts = {kind: sum(len(lane.spans) for lane in lanes if lane.kind == kind) for kind in (KERNEL, COPY)}
    title = "Timeline of launches and copies"
    return Picture(
        name=name,
        title=f"{title}, {column.name}" if column.name else title,
        alt=f"Launches: {COUNT(counts[KERNEL])}, copies: {COUNT(counts[COPY])}, in {GROUPED_DIGITS_4(end_us)} us, on"
        f" {len(lanes)} lanes: {'; '.join(lane.title for lane in lanes)}.",
        heads=_HEADS,
        rows=[
            (lane.title, span.name, span.begin_us, span.end_us, span.launches)
            for lane, spans in zip(lanes, merged, strict=True)
            for span in spans
        ],
        draw=lambda figure: _draw(figure, lanes, merged, end_us),
        size=(7.2, 0.7 + _LANE_INCHES * len(lanes)),
        note=f"In the picture and its numbers, spans of less than {GROUPED_1(1000 * end_us / _STRIPES)} ns that follow"
        " one another are drawn as one.",
    )


def _draw(figure: Any, lanes: Sequence[TimelineLane], merged: Sequence[Sequence[LaneSpan]], end_us: float) -> None:
    width, height = figure.get_size_inches()
    left = 0.2 + 0.073 * max(len(label(lane.title)) for lane in lanes)
    axes = figure.add_axes((left / width, 0.5 / height, 1 - (left + 0.2) / width, 1 - 0.6 / height))
    colours: dict[str, str] = {}
    for row, spans in enumerate(merged):
        ranges = [(span.begin_us, span.end_us - span.begin_us) for span in spans]
        shades = [colours.setdefault(span.name, COLOURS[len(colours) % len(COLOURS)]) for span in spans]
        axes.broken_barh(ranges, (row - 0.4, 0.8), facecolors=shades, linewidth=0)
    axes.set_yticks(range(len(lanes)), [label(lane.title) for lane in lanes])
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_xlim(0, end_us)
    axes.set_xlabel("us")


def _as_data(result: Result, column: RunMetrics, lanes: Sequence[TimelineLane]) -> str:
    """Return the lanes as JSON: of each span its text, times in nanoseconds, number, bytes and bound, as columns."""
    bounds = {
        " ".join(filter(None, (row.values["name"], row.values.get("pass")))): bound_text(row.values)
        for row in result.rows
        if row.variant == column.name and row.values.get("bound")
    }
    texts: dict[str, int] = {"": 0}
    drawn = []
    for lane in lanes:
        rows = []
        for span in lane.spans:
            one = span.command
            bound = "" if one is None or lane.kind == COPY else bounds.get(one.place) or bounds.get(one.name, "")
            place = "" if one is None else one.place
            held = [texts.setdefault(text, len(texts)) for text in (span.name, place, bound)]
            begin, end = round(1000 * span.begin_us), round(1000 * span.end_us)
            number = span.launches if one is None else one.copied_bytes or one.number
            rows.append((*held, begin, end, number))
        drawn.append({"title": lane.title, "kind": lane.kind, "spans": list(zip(*rows, strict=True))})
    return json.dumps({"texts": list(texts), "lanes": drawn, "colours": COLOURS}, separators=(",", ":"))
