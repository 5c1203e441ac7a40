"""`gpusim metrics`: every reported metric with its unit and definition."""

import sys
from typing import Annotated

import typer

from gpusim.base.table import Column, Table, TableCell, columns


def metrics(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/metrics.md.")] = False,
) -> None:
    """List every reported metric with unit and definition."""
    from gpusim.results.metrics import METRICS

    if markdown:
        from gpusim.results.metrics.documentation import markdown as page

        sys.stdout.write(page())
        return
    if not sys.stdout.isatty():
        rows = [[m.path, m.unit, m.definition] for m in METRICS]
        sys.stdout.write(Table(columns("path", "unit", "definition"), rows).tabbed(heads=False))
        return
    cells = [[TableCell(m.path, f"{m.path}\n  {m.unit}".rstrip()), m.definition] for m in METRICS]
    Table([Column("path, unit", whole=True), Column("definition")], cells).show(sys.stdout)
