"""A result of many rows for a person, on a terminal or as Markdown: where the time goes, the whole, row by row."""

from collections.abc import Mapping
from typing import Any, TextIO

from gpusim.base.errors import UserError
from gpusim.base.extensions import job_kinds, load
from gpusim.base.table import Table
from gpusim.results.report.layout import fitted, plain, width_of, wrapped, write
from gpusim.results.report.result import Result, read
from gpusim.results.report.rows import choice_lines, rows_table, sparse_tables, summaries
from gpusim.results.report.screen import screen


def as_markdown(document: Mapping[str, Any]) -> str:
    """Return a result of many rows as Markdown: where the time goes, then its rows; raises UserError for others."""
    result = read(document)
    if not result.rows:
        raise UserError("--markdown: is of networks and programs; a run's page is made by gpusim report")
    partial = f"PARTIAL, {result.stopped_by}: all figures are of what was simulated by then\n"
    parts = [f"{result.title}\n", *([partial] if result.stopped_by else [])]
    parts += [table.markdown() for table in (*summaries(result), *all_rows(result))]
    parts += ["".join(f"- {line}\n" for line in choice_lines(result))]
    return "\n".join(part for part in parts if part)


def all_rows(result: Result) -> list[Table]:
    """Return the tables that go row by row: those of kinds of jobs, all rows, layers that skip zeros."""
    of_kinds = (table for kind in job_kinds().values() if kind.tables for table in load(kind.tables)(result))
    return [*of_kinds, rows_table(result), *sparse_tables(result)]


def show_rows(result: Result, stream: TextIO) -> None:
    """Print where the time goes first, then what holds for the whole, then row by row."""
    width = width_of(stream)
    if result.kind == "hip":
        tables = [rows_table(result), *summaries(result)]
    else:
        write(wrapped(result.title, width, 2, "bold"), stream)
        for table in summaries(result):
            _show_table(table, stream)
        write([plain(""), *screen(result, width)[1:]], stream)
        tables = all_rows(result)
    for table in tables:
        _show_table(table, stream)
    for line in choice_lines(result):
        print(fitted(line, 2, stream), file=stream)


def _show_table(table: Table, stream: TextIO) -> None:
    print(file=stream)
    if not stream.isatty() and table.title:
        print(table.title, file=stream)
    table.show(stream)
