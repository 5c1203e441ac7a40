"""Printing microbenchmarks: figures beside published ones, and curves; and the same as one JSON object."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TextIO

from gpusim.base.formats import DIGITS_4, FIXED_0, PERCENT_CHANGE_0
from gpusim.base.table import Column, Table, TableCell, columns
from gpusim.lab.microbench.bench import Curve, MicrobenchReading, MicrobenchResults
from gpusim.lab.microbench.references import published
from gpusim.model.core.gpu_spec import GpuSpec

FAR_OFF = 0.2  # a deviation from which the table says so
COLUMNS = ("figure", "what", "model", "unit", "published", "deviation", "part", "source")
BESIDE = [Column("what"), Column("model", right=True), Column("published", right=True), Column("part, source")]
NOTHING = "none found"
ELSEWHERE = "in another unit"  # the same quantity has a published figure in another row


def rows(figures: Sequence[MicrobenchReading], architecture: str) -> list[tuple[str, ...]]:
    """Make a row, in COLUMNS, for each figure published of an architecture; one that says so where there is none."""
    out: list[tuple[str, ...]] = []
    compared = {_quantity(figure) for figure in figures if published(figure.name, architecture)}
    for figure in figures:
        head = (figure.name, figure.what, number(figure.value), figure.unit)
        found = published(figure.name, architecture)
        if not found:
            out.append((*head, ELSEWHERE if _quantity(figure) in compared else NOTHING, "", "", ""))
        for row in found:
            out.append((*head, row.text, deviation_text(row.deviation(figure.value)), row.part, row.source))
    return out


def _quantity(figure: MicrobenchReading) -> str:
    return figure.what.split(";")[0]


def number(value: float) -> str:
    """Four digits: '188', '0.06250', '2850'."""
    return (FIXED_0 if abs(value) >= 1000 else DIGITS_4)(value)


def deviation_text(share: float) -> str:
    """Format a deviation as in '0 %', '-19 %' or '+25 %, far off'."""
    text = "0 %" if abs(share) < 0.005 else PERCENT_CHANGE_0(share)
    return f"{text}, far off" if abs(share) >= FAR_OFF else text


def show(results: MicrobenchResults, gpu: str, architecture: str, out: TextIO | None = None) -> None:
    """Print tables of a GPU, by its name, on a terminal, lines with tabs and without heads on a pipe.

    Args:
        results: The results.
        gpu: Name of the GPU.
        architecture: Its instruction set.
        out: Stream; None: standard output.
    """
    out = out or sys.stdout
    if not out.isatty():
        curves = [[c.group, c.name, number(x), number(y)] for c in results.curves for x, y in c.points]
        for lines in (rows(results.figures, architecture), curves):
            out.write(Table(columns(*COLUMNS)[: len(lines[0])], lines).tabbed(heads=False) if lines else "")
        return
    _beside(results.figures, gpu, architecture).show(out)
    for first, across in _curves(results):
        print(file=out)
        replace(across, title=f"{first.group}: {first.y}").show(out)


def _beside(figures: Sequence[MicrobenchReading], gpu: str, architecture: str) -> Table:
    """Make few columns of many: further published figures of a measurement stand below the first."""
    lines, before = [], ""
    for name, what, model, unit, figure, deviation, part, source in rows(figures, architecture):
        style = "bold yellow" if deviation.endswith("far off") else "" if source else "dim"
        measured = ("", "") if name == before else (what, f"{model} {unit}")
        beside = (f"{figure}\n{deviation}".strip(), f"{part}: {source}" if source else "")
        lines.append([TableCell(text, text, style=style) for text in (*measured, *beside)])
        before = name
    return Table(BESIDE, lines, title=f"{gpu}: measured on the model, beside published figures")


def _curves(results: MicrobenchResults) -> Iterator[tuple[Curve, Table]]:
    """Make a table for each group of curves, which share their axis: a line for each x. With the first of them."""
    for group in dict.fromkeys(curve.group for curve in results.curves):
        members = [curve for curve in results.curves if curve.group == group]
        by_x = [dict(curve.points) for curve in members]
        xs = sorted({x for points in by_x for x in points})
        heads = [Column(members[0].x, FIXED_0), *(Column(curve.name, number) for curve in members)]
        yield members[0], Table(heads, [(x, *(points.get(x) for points in by_x)) for x in xs], group)


def markdown(results: MicrobenchResults, gpu: GpuSpec) -> str:
    """Return a page of tables, as in results/microbenchmarks.

    Args:
        results: The results.
        gpu: The GPU.
    """
    text = f"# {gpu.name}, measured on the model\n\n"
    text += "What is measured, how, and why the model differs: [microbenchmarks](../microbenchmarks.md).\n\n"
    text += Table(columns(*COLUMNS[1:]), [row[1:] for row in rows(results.figures, gpu.architecture)]).markdown()
    for first, across in _curves(results):
        text += f"\n## {first.group}\n\n" + replace(across, title=f"{first.y}, over {first.x}:").markdown()
    return text


def serialize_results(results: MicrobenchResults, architecture: str) -> dict[str, Any]:
    """Return figures, with each those published of an architecture, and curves as plain data."""
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
            for row in published(figure.name, architecture)
        ]
        figures.append({**vars(figure), "published": known})
    return {"figures": figures, "curves": [vars(curve) for curve in results.curves]}
