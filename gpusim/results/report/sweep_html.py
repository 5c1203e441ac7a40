"""A sweep as a piece of HTML for notebooks: what it comes to, what matters, the points."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.formats import COUNT, DIGITS_4, GROUPED_0
from gpusim.base.html import Element, table, tag, written
from gpusim.results.report.sweeps.answers import describe_best_designs, matters

MOST_ROWS = 60  # of the table of points


def sweep_html(sweep: Any) -> str:
    """Render a sweep (`gpusim.results.store.sweeps.SweepTable`) as HTML without styles or scripts of its own."""
    metric = sweep.usual_metric
    best = sweep.best()
    known = f"{sweep.known} of {sweep.planned} points" + (f", {len(sweep.failed)} failed" if sweep.failed else "")
    parts: list[Any] = [tag("p", tag("strong", f"{sweep.label}: {sweep.title}"), f" – {known}")]
    if best:
        points = sweep.swept
        parts.append(tag("ul", [tag("li", line) for line in describe_best_designs(points, metric)]))
        effects = matters(points, metric)
        parts += [effects.html(sortable=False)] if effects.rows else []
    parts.append(_points(sweep, best, metric))
    return written(tag("div", parts))


def _points(sweep: Any, best: Sequence[Mapping[str, Any]], metric: str) -> Element:
    """Make a table with a row for each point, in which the best ones are marked."""
    alone = [column for column in ("variant",) if any(row["variant"] for row in sweep)]
    heads = ["point", *sweep.axes, *sweep.decisions, *alone, *sweep.metrics, ""]
    numbers = {(row["point"], row["variant"]) for row in best}
    rows = []
    for row in sweep[:MOST_ROWS]:
        note = "failed" if row["state"] == "failed" else "partial" if row["state"] == "partial" else ""
        if (row["point"], row["variant"]) in numbers:
            note = "best" if len(best) == 1 else "best, or not distinguishable from it"
        measured = [_with_width(row, one) for one in sweep.metrics]
        rows.append(
            [str(row["point"]), *(str(row[path]) for path in (*sweep.axes, *sweep.decisions, *alone)), *measured, note]
        )
    left = f", the first {MOST_ROWS} of {len(sweep)}" if len(sweep) > MOST_ROWS else ""
    return tag("details", tag("summary", f"Points{left}"), table("Points", heads, rows, sortable=False), open="")


def _with_width(row: Mapping[str, Any], metric: str) -> str:
    width = row.get(f"{metric}_half_width")
    return format_value(row[metric]) + (f" ± {format_value(width)}" if width else "")


def format_value(value: Any) -> str:
    """Format a value for a reader; None is a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return GROUPED_0(value) if abs(value) >= 1000 else DIGITS_4(value)
    return COUNT(value) if isinstance(value, int) else str(value)
