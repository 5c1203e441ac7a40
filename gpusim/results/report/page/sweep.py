"""What compares points: of a sweep, or of several results whose configurations differ. Answers first, then pictures."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gpusim.base.axis_roles import roles_of
from gpusim.base.errors import UserError
from gpusim.base.extensions import known_kind
from gpusim.base.formats import duration, is_number
from gpusim.base.html import Element, table, tag
from gpusim.base.picture import Picture
from gpusim.results import metrics
from gpusim.results.report.page.figures import draw_figure
from gpusim.results.report.result import Result
from gpusim.results.report.sweeps.answers import describe_best_designs, find_best_design, matters, roles_line
from gpusim.results.report.sweeps.decisions import KERNEL, differing
from gpusim.results.report.sweeps.effects import compute_effects
from gpusim.results.report.sweeps.front import memory
from gpusim.results.report.sweeps.points import (
    SweepData,
    SweepPoint,
    format_axis_name,
    format_axis_value,
    format_estimate,
    merged_repeats,
    ordered,
)
from gpusim.results.report.sweeps.series import FigureChoice
from gpusim.results.report.values import half_width

COMPARED = ("kernel.cycles", "kernel.time_us", "kernel.occupancy", "l2.hit_rate", "dram.bytes")
_IRRELEVANT = ("run.hotspots", "run.checked", "run.verify")  # decide what is reported, not what is simulated
MOST_AXES = 7  # columns of a table of points
MOST_DETAILED = 4  # runs of a sweep with all their sections


def build_sweep_data(results: Mapping[str, Result]) -> SweepData:
    """Return results as the points of a sweep over what differs in their configurations.

    Of values that always change together the first is the axis. Results of different kinds have no axes: they differ in
    nearly everything.
    """
    flat = {name: dict(metrics.leaves(result.config)) for name, result in results.items()}
    kinds = {(known_kind(result.kind).views, *result.config) for result in results.values()}
    paths = list(dict.fromkeys(path for values in flat.values() for path in values)) if len(kinds) == 1 else []
    axes: dict[str, list[Any]] = {}
    partitions: set[tuple[int, ...]] = set()
    for path in paths:
        column = [_plain(values.get(path)) for values in flat.values()]
        numbers = {value: n for n, value in enumerate(dict.fromkeys(column))}
        partition = tuple(numbers[value] for value in column)
        if path in _IRRELEVANT or len(numbers) == 1 or partition in partitions:
            continue
        partitions.add(partition)
        axes[path] = ordered(column)
    places = [
        SweepPoint(
            number, {path: _plain(flat[name].get(path)) for path in axes}, _measured(result), name,
            {KERNEL: str(kernel)} if (kernel := result.last.get("kernel.name")) else {},
        )
        for number, (name, result) in enumerate(results.items())
    ]  # fmt: skip
    title, roles = f"{len(results)} results", roles_of(axes, {})
    decisions = differing([(one.values, one.decided) for one in places], roles)
    return SweepData(title, title, axes, roles, places, planned=len(places), method="results", decisions=decisions)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else str(value)


def _measured(result: Result) -> dict[str, tuple[float, float]]:
    tree = result.last.tree
    return {
        path: (value, half_width(tree, path) or 0.0)
        for path in COMPARED
        if is_number(value := result.last.get(path)) and value is not None
    }


def best_runs(swept: SweepData) -> list[str]:
    """Return the names of the runs of the best design, one for each workload, whose sections a page shows."""
    swept = merged_repeats(swept)
    whole = [one for one in swept.designs(swept.metric) if one.mean is not None]
    best = find_best_design(whole, swept.is_minimized(swept.metric)).places if whole else swept.places
    return list(dict.fromkeys(one.run for one in best))[:MOST_DETAILED]


def draw_main_pictures(swept: SweepData) -> list[Picture]:
    """Draw what matters most: a metric over the axis with the largest effect, over two axes, and the Pareto front.

    Where nothing has an effect there is nothing to draw, which the answers say.
    """
    if swept.method == "results" and not swept.axes:
        return []
    merged = merged_repeats(swept)
    with_effect = [one.axis for one in compute_effects(merged, swept.metric).axes if not one.has_none]
    workload = swept.with_role("workload", "environment")
    if len(swept.places) < 2 or not (with_effect or workload):
        return []
    wanted = [(FigureChoice(), "axis")]
    if len(with_effect) > 1:
        wanted.append((FigureChoice(x=with_effect[0], y=with_effect[1]), "heat-map"))
    if memory(swept)[1] or len(swept.objectives) > 1 or swept.with_role("design"):
        wanted.append((FigureChoice(kind="front"), "pareto"))
    found = []
    for choice, name in wanted:
        with suppress(UserError):  # such as too many lines: the reader chooses others
            found.append(draw_figure(swept, choice, name=name))
    return found


def section(swept: SweepData, detailed: Sequence[str] = (), link: str = "") -> Element:
    """Make the part of a page that compares points: answers, what matters, pictures, the points themselves.

    Args:
        detailed: Runs whose sections follow.
        link: The title's.
    """
    state = f"{len(swept.places)} points" if swept.planned <= len(swept.places) else (
        f"{len({one.number for one in swept.places})} of {swept.planned} points"
    )  # fmt: skip
    state += f", {swept.failed} failed" if swept.failed else ""
    state += f"; its runs took {duration(swept.wall_s)} together" if swept.wall_s else ""
    effects = matters(swept) if swept.axes and swept.with_role("design") else None
    return tag(
        "section",
        tag("h2", link or swept.title),
        tag("p", f"{swept.label}: {state}.", class_="tells") if swept.method != "results" else None,
        tag("ul", [tag("li", line) for line in describe_best_designs(swept)], class_="answers") if swept.axes else None,
        tag("p", roles_line(swept), class_="tells") if swept.axes else None,
        effects.html() if effects is not None and effects.rows else None,
        [picture.element("c") for picture in draw_main_pictures(swept)],
        points_table(swept),
        tag("p", f"Sections follow of {', '.join(detailed)}: the best design.", class_="remark") if detailed else None,
        id="comparison",
    )


def points_table(swept: SweepData) -> Element:
    """Make the table of points, which lies folded below the pictures where they are many."""
    axes = list(swept.axes)[:MOST_AXES]
    left = list(swept.axes)[MOST_AXES:]
    shown = list(dict.fromkeys(text for point in swept.places for text in point.measured))
    rows = []
    for point in swept.places:
        values = [
            (format_axis_value(value), value if is_number(value) else None) for value in map(point.values.get, axes)
        ]
        decided = [point.decided.get(name, "–") for name in swept.decisions]
        measured = [
            (format_estimate(found), found[0]) if (found := point.measured.get(text)) else "–" for text in shown
        ]
        rows.append((point.run, *values, *decided, *measured))
    more = f"; {len(left)} further values differ: {', '.join(left)}" if left else ""
    caption = f"Points: what differs, what they decided, and what was measured{more}"
    heads = ("run", *axes, *(name.replace("_", " ") for name in swept.decisions), *map(format_axis_name, shown))
    made = table(caption, heads, rows)
    return tag("details", tag("summary", f"The {len(rows)} points"), made, open="" if len(rows) <= 8 else None)
