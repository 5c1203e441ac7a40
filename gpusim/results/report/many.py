"""A result of many rows for a person, on a terminal or as Markdown: where the time goes, the whole, row by row."""

from collections.abc import Mapping
from typing import Any, TextIO

from gpusim.base.errors import UserError
from gpusim.base.extensions import job_kinds, load
from gpusim.base.table import Table
from gpusim.results.report.layout import fitted, plain, width_of, wrapped, write
from gpusim.results.report.result import Result, read
from gpusim.results.report.rows import ResultViews, views_of
from gpusim.results.report.screen import format_findings, screen


def as_markdown(document: Mapping[str, Any]) -> str:
    """Return a result of many rows as Markdown: where the time goes, then its rows; raises UserError for others."""
    result = read(document)
    if not result.rows:
        raise UserError("--markdown: is of networks and programs; a run's page is made by gpusim report")
    views = views_of(result)
    partial = f"PARTIAL, {result.stopped_by}: all figures are of what was simulated by then\n"
    parts = [f"{result.title}\n", *([partial] if result.stopped_by else [])]
    parts += [table.markdown() for table in (*views.summaries(), *all_rows(views))]
    parts += ["".join(f"- {line}\n" for line in views.remarks())]
    return "\n".join(part for part in parts if part)


def all_rows(views: ResultViews) -> list[Table]:
    """Return the tables that go row by row: those of kinds of jobs, all rows, some rows."""
    of_kinds = (table for kind in job_kinds().values() if kind.tables for table in load(kind.tables)(views.result))
    return [*of_kinds, views.rows_table(), *views.further_tables()]


def show_rows(result: Result, stream: TextIO) -> None:
    """Print where the time goes first, then what holds for the whole, then row by row, then what was found."""
    width, views = width_of(stream), views_of(result)
    if views.has_screen:
        write(wrapped(result.title, width, 2, "bold"), stream)
        for table in views.summaries():
            _show_table(table, stream)
        write([plain(""), *screen(result, width)[1:]], stream)
        tables = all_rows(views)
    else:
        tables = [views.rows_table(), *views.summaries()]
    for table in tables:
        _show_table(table, stream)
    for line in views.remarks():
        print(fitted(line, 2, stream), file=stream)
    found = result.document.get("findings")  # of a program under watch
    for finding in found or ():
        print(finding["text"], file=stream)
    if found == []:
        print("checked: nothing found", file=stream)
    if not views.has_screen:  # which has them
        write(format_findings(result, width), stream)


def _show_table(table: Table, stream: TextIO) -> None:
    print(file=stream)
    if not stream.isatty() and table.title:
        print(table.title, file=stream)
    table.show(stream)
