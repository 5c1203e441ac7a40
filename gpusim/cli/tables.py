"""Printing of generated tables: the metrics."""

import sys

from gpusim.base.table import Cell, Column, Table, columns
from gpusim.results.metrics import METRICS


def print_metrics(markdown: bool) -> None:
    """The metric table: rich on a terminal, tab-separated lines on a pipe, or the documentation page."""
    if markdown:
        from gpusim.results.metrics.documentation import markdown as page

        sys.stdout.write(page())
        return
    if not sys.stdout.isatty():
        rows = [[m.path, m.unit, m.definition] for m in METRICS]
        sys.stdout.write(Table(columns("path", "unit", "definition"), rows).tabbed(heads=False))
        return
    cells = [[Cell(m.path, f"{m.path}\n  {m.unit}".rstrip()), m.definition] for m in METRICS]
    Table([Column("path, unit", whole=True), Column("definition")], cells).show(sys.stdout)
