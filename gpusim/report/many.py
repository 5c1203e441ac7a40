"""A result of many rows for a person, on a terminal or as Markdown: where the time goes, the whole, row by row."""

from collections.abc import Mapping
from typing import Any, TextIO

from gpusim.base.errors import UserError
from gpusim.base.table import Table
from gpusim.report.benchmarks import benchmark_tables
from gpusim.report.layout import fitted, plain, width_of, wrapped, write
from gpusim.report.result import Result, read
from gpusim.report.rows import choice_lines, rows_table, sparse_table, summaries
from gpusim.report.screen import screen


def as_markdown(document: Mapping[str, Any]) -> str:
    """Return a result of many rows as Markdown: where the time goes, then its rows; raises UserError for others."""
    result = read(document)
    if not result.rows:
        raise UserError("--markdown: is of networks and programs; a run's page is made by gpusim report")
    parts = [f"{result.title}\n", *_stopped(result)]
    parts += [table.markdown() for table in (*summaries(result), *benchmark_tables(result), rows_table(result))]
    sparse = sparse_table(result)
    parts += [sparse.markdown()] if sparse is not None else []
    parts += ["".join(f"- {line}\n" for line in choice_lines(result))]
    return "\n".join(part for part in parts if part)


def _stopped(result: Result) -> list[str]:
    return [f"PARTIAL, {result.stopped_by}: all figures are of what was simulated by then\n"] * bool(result.stopped_by)


def show_rows(result: Result, stream: TextIO) -> None:
    """Print where the time goes first, then what holds for the whole, then row by row."""
    width = width_of(stream)
    sparse = sparse_table(result)
    if result.kind == "hip":
        tables = [rows_table(result), *summaries(result)]
    else:
        write(wrapped(result.title, width, 2, "bold"), stream)
        for table in summaries(result):
            _show_table(table, stream)
        write([plain(""), *screen(result, width)[1:]], stream)
        tables = [*benchmark_tables(result), rows_table(result), *([sparse] if sparse is not None else [])]
    for table in tables:
        _show_table(table, stream)
    for line in choice_lines(result):
        print(fitted(line, 2, stream), file=stream)


def _show_table(table: Table, stream: TextIO) -> None:
    print(file=stream)
    if not stream.isatty() and table.title:
        print(table.title, file=stream)
    table.show(stream)
