"""Printing microbenchmarks: figures beside published ones, and curves; and the same as one JSON object."""

import sys
from collections.abc import Sequence
from typing import Any, TextIO

from gpusim.core.gpu_spec import GpuSpec
from gpusim.microbench.references import published
from gpusim.microbench.result import Curve, Figure, Results

SCHEMA_VERSION = 1
FAR_OFF = 0.2  # a deviation from which the table says so
COLUMNS = ("figure", "what", "model", "unit", "published", "deviation", "part", "source")
NOTHING = "none found"
ELSEWHERE = "in another unit"  # the same quantity has a published figure in another row


def rows(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """A row for each published figure of each measured one, in COLUMNS; one that says so where nothing is published."""
    out: list[tuple[str, ...]] = []
    compared = {_quantity(figure) for figure in figures if published(figure.name)}
    for figure in figures:
        head = (figure.name, figure.what, number(figure.value), figure.unit)
        found = published(figure.name)
        if not found:
            out.append((*head, ELSEWHERE if _quantity(figure) in compared else NOTHING, "", "", ""))
        for row in found:
            out.append((*head, row.text, deviation_text(row.deviation(figure.value)), row.part, row.source))
    return out


def _quantity(figure: Figure) -> str:
    return figure.what.split(";")[0]


def number(value: float) -> str:
    """Four digits: '188', '0.06250', '2850'."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def deviation_text(share: float) -> str:
    """'0 %', '-19 %', '+25 %, far off'."""
    text = "0 %" if abs(share) < 0.005 else f"{100 * share:+.0f} %"
    return f"{text}, far off" if abs(share) >= FAR_OFF else text


def show(results: Results, gpu: str, out: TextIO | None = None) -> None:
    """Tables on a terminal, tab-separated lines on a pipe. gpu: its name."""
    out = out or sys.stdout
    if not out.isatty():
        for row in rows(results.figures):
            print("\t".join(row), file=out)
        for curve in results.curves:
            for x, y in curve.points:
                print(f"{curve.group}\t{curve.name}\t{number(x)}\t{number(y)}", file=out)
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(file=out)
    table = Table(title=f"{gpu}: measured on the model, beside published figures", title_justify="left")
    for column in ("what", "model", "published", "part, source"):
        table.add_column(column, justify="right" if column in ("model", "published") else "left", overflow="fold")
    before = ""
    for row in rows(results.figures):
        again = row[0] == before  # further published figures of the same measurement
        style = "bold yellow" if row[5].endswith("far off") else "dim" if not row[7] else None
        _, what, model, unit, figure, deviation, part, source = row
        measured = ("", "") if again else (what, f"{model} {unit}")
        beside = f"{figure}\n{deviation}".strip(), f"{part}: {source}" if source else ""
        table.add_row(*measured, *beside, style=style)
        before = row[0]
    console.print(table)
    for group in dict.fromkeys(curve.group for curve in results.curves):
        members = [curve for curve in results.curves if curve.group == group]
        table = Table(members[0].x, *(curve.name for curve in members), title=f"{group}: {members[0].y}")
        for line in _across(members):
            table.add_row(*line)
        console.print(table)


def markdown(results: Results, gpu: GpuSpec) -> str:
    """A page of tables, as in docs/microbenchmarks."""
    text = f"# {gpu.name}, measured on the model\n\n"
    text += "What is measured, how, and why the model differs: [microbenchmarks](../microbenchmarks.md).\n\n"
    text += _markdown_table(COLUMNS[1:], [row[1:] for row in rows(results.figures)])
    for group in dict.fromkeys(curve.group for curve in results.curves):
        members = [curve for curve in results.curves if curve.group == group]
        text += f"\n## {group}\n\n{members[0].y}, over {members[0].x}:\n\n"
        text += _markdown_table((members[0].x, *(curve.name for curve in members)), _across(members))
    return text


def document(results: Results, gpu: GpuSpec) -> dict[str, Any]:
    """Everything as one JSON object."""
    figures = []
    for figure in results.figures:
        known = [
            {
                "low": row.low,
                "high": row.high if row.high != float("inf") else None,
                "unit": row.unit,
                "part": row.part,
                "source": row.source,
                "deviation": row.deviation(figure.value),
            }
            for row in published(figure.name)
        ]
        figures.append({**vars(figure), "published": known})
    return {
        "schema_version": SCHEMA_VERSION,
        "gpu": gpu.model_dump(mode="json"),
        "figures": figures,
        "curves": [vars(curve) for curve in results.curves],
    }


def _across(members: Sequence[Curve]) -> list[tuple[str, ...]]:
    """A line for each x of curves that share their axis."""
    by_x = [dict(curve.points) for curve in members]
    xs = sorted({x for points in by_x for x in points})
    return [(f"{x:.0f}", *(number(points[x]) if x in points else "" for points in by_x)) for x in xs]


def _markdown_table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
    return head + "".join(f"| {' | '.join(line)} |\n" for line in lines)
