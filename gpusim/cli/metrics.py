"""`gpusim metrics`: every reported metric with its unit and definition."""

import sys
from typing import Annotated

import typer


def metrics(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference's page of metrics.")] = False,
) -> None:
    """List every reported metric with unit and definition."""
    from gpusim.cli import views
    from gpusim.results.metrics import METRICS

    if markdown:
        from gpusim.results.metrics.documentation import markdown as page

        sys.stdout.write(page())
        return
    if sys.stdout.isatty():
        views.METRICS_IN_TWO.table(METRICS).show(sys.stdout)
    else:
        sys.stdout.write(views.METRICS.table(METRICS).tabbed(heads=False))
