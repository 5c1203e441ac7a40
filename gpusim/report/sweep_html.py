"""A sweep as a piece of HTML for notebooks: what is best, a heat map of two axes, the points."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.html import Element, table, tag, written
from gpusim.base.sizes import sizes

MOST_ROWS = 60  # of the table of points, and of each side of a heat map
# light to dark: the least value of a heat map has the first colour, with black text; the largest the last, with white
_COLOURS = ("#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b")
_DARK = 5  # from this colour on the text is white


def sweep_html(sweep: Any) -> str:
    """Render a sweep (`gpusim.store.sweeps.SweepTable`) as HTML without styles or scripts of its own."""
    metric = sweep.usual_metric
    best = sweep.best()
    known = f"{sweep.known} of {sweep.planned} points" + (f", {len(sweep.failed)} failed" if sweep.failed else "")
    parts: list[Any] = [tag("p", tag("strong", f"{sweep.label}: {sweep.title}"), f" – {known}")]
    if best:
        parts.append(tag("p", _best(sweep, best, metric)))
        parts += [_front(sweep, metric), *_heat_map(sweep, metric)]
    parts.append(_points(sweep, best, metric))
    return written(tag("div", parts))


def _best(sweep: Any, best: Sequence[Mapping[str, Any]], metric: str) -> str:
    first = best[0]
    where = ", ".join(f"{path} {first[path]}" for path in sweep.axes)
    variant = f", {first['variant']}" if first["variant"] else ""
    text = f"least {metric}: {_with_width(first, metric)} at {where}{variant}"
    if len(best) > 1:
        text += f"; not distinguishable from it: {len(best) - 1} more"
    return text


def _front(sweep: Any, metric: str) -> Element | None:
    """Say which points are on the Pareto front of time and memory sizes; None unless the sweep varies these sizes."""
    if not any(sweep.memory_kib(row) for row in sweep):
        return None
    points = ", ".join(f"{row['point']} {row['variant']}".strip() for row in sweep.pareto(metric, sweep.memory_kib))
    memories = " + ".join(sizes({path: values[0] for path, values in sweep.axes.items()}))
    return tag("p", f"Pareto front of {metric} and KiB of {memories}: points {points}")


def _heat_map(sweep: Any, metric: str) -> list[Element]:
    """Make a heat map over the two axes with the most values; of further axes and variants the least value."""
    axes = sorted(sweep.axes, key=lambda path: -len(sweep.axes[path]))[:2]
    if len(axes) < 2 or any(not 1 < len(sweep.axes[path]) <= MOST_ROWS for path in axes):
        return []
    across, down = axes
    least: dict[tuple[Any, Any], float] = {}
    for row in sweep:
        if isinstance(row[metric], int | float):
            field = (row[down], row[across])
            least[field] = min(least.get(field, row[metric]), row[metric])
    low, high = min(least.values()), max(least.values())
    rows = []
    for line in sweep.axes[down]:
        cells = [_coloured(least.get((line, column)), low, high) for column in sweep.axes[across]]
        rows.append([str(line), *cells])
    caption = f"{metric}, the least of each field" if len(least) < len(sweep) else metric
    heads = [f"{down} \\ {across}", *map(str, sweep.axes[across])]
    return [table(caption, heads, rows, sortable=False)]


def _coloured(value: float | None, low: float, high: float) -> Any:
    if value is None:
        return ""
    place = round((value - low) / (high - low) * (len(_COLOURS) - 1)) if high > low else 0
    ink = "#fff" if place >= _DARK else "#000"
    return tag("span", said(value), style=f"background: {_COLOURS[place]}; color: {ink}; padding: .2em .5em")


def _points(sweep: Any, best: Sequence[Mapping[str, Any]], metric: str) -> Element:
    """Make a table with a row for each point, in which the best ones are marked."""
    alone = [column for column in ("variant",) if any(row["variant"] for row in sweep)]
    heads = ["point", *sweep.axes, *alone, *sweep.metrics, ""]
    numbers = {(row["point"], row["variant"]) for row in best}
    rows = []
    for row in sweep[:MOST_ROWS]:
        note = "failed" if row["state"] == "failed" else "partial" if row["state"] == "partial" else ""
        if (row["point"], row["variant"]) in numbers:
            note = "best" if len(best) == 1 else "best, or not distinguishable from it"
        measured = [_with_width(row, one) for one in sweep.metrics]
        rows.append([str(row["point"]), *(str(row[path]) for path in (*sweep.axes, *alone)), *measured, note])
    left = f", the first {MOST_ROWS} of {len(sweep)}" if len(sweep) > MOST_ROWS else ""
    return tag("details", tag("summary", f"Points{left}"), table("Points", heads, rows, sortable=False), open="")


def _with_width(row: Mapping[str, Any], metric: str) -> str:
    width = row.get(f"{metric}_half_width")
    return said(row[metric]) + (f" ± {said(width)}" if width else "")


def said(value: Any) -> str:
    """Format a value for a reader; None is a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
