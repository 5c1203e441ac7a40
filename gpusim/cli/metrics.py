"""`gpusim metrics`: every reported metric with its unit and definition."""

import sys
from typing import Annotated

import typer


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
        for m in METRICS:
            print(f"{m.path}\t{m.unit}\t{m.definition}")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False)
    table.add_column("path, unit", no_wrap=True)
    table.add_column("definition", ratio=1)
    for m in METRICS:
        table.add_row(f"{m.path}\n  {m.unit}".rstrip(), m.definition)
    Console().print(table)
