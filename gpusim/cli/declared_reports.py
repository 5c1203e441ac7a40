"""Commands that show results again, with their options: `report`."""

from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.declared_results import StoreFile
from gpusim.cli.options import QuietOption


def report(
    *,
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="[RESULT]...",
            help="Files that --json has written; runs of a store, by number or name; sweep:N: those of a sweep.",
            default_factory=list,
            show_default=False,
        ),
    ],
    sweep: Annotated[
        str | None, typer.Option(metavar="N", help="All points that have run of a store's sweep: the same as sweep:N.")
    ] = None,
    html: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("report.html"),
    pictures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write each picture as SVG, PNG and PDF, with its numbers as CSV, here too."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder with the kernels' sources: lines beside hot spots.")
    ] = None,
    store: StoreFile = None,
    quiet: QuietOption = False,
) -> None:
    """Make one HTML page of results that works offline: sections, rules, pictures, tables (needs Matplotlib)."""
    from gpusim.cli.report import report_command

    raise typer.Exit(report_command(results, html, pictures, source, store, quiet, sweep))
