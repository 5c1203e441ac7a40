"""The result of a run for a person: one screen, and the sections that were asked for."""

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from gpusim.base.errors import UserError
from gpusim.base.table import Table
from gpusim.report.benchmarks import benchmark_tables
from gpusim.report.details import details
from gpusim.report.layout import Line, fitted, plain, width_of, wrapped, write
from gpusim.report.result import Result, read
from gpusim.report.rows import choice_lines, rows_table, sparse_table, summaries
from gpusim.report.screen import hint, screen
from gpusim.report.sections import SECTIONS, Section, chosen

_UNBROKEN = 1_000_000  # columns of a pipe, on which a metric keeps to one line: to be searched


@dataclass(frozen=True)
class Wanted:
    """What to print of a result.

    sections: keys of the sections that are printed; details: print all sections, below the screen.
    """

    sections: Sequence[str] = ()
    details: bool = False

    def check(self) -> None:
        """Raise UserError for an unknown key."""
        chosen(self.sections)

    def chosen(self) -> list[Section]:
        """Return the sections to print; raises UserError for an unknown key."""
        found = chosen(self.sections)
        return list(SECTIONS) if self.details else found


SCREEN = Wanted()


def show(document: Mapping[str, Any], out: TextIO | None = None, wanted: Wanted = SCREEN) -> None:
    """Print a result, given as its JSON object: the screen, a network's or a program's tables, then the sections.

    If sections are asked for by name, they are printed alone, without the screen.
    """
    stream = out or sys.stdout
    result = read(document)
    if result.kind == "hip" and not result.rows:
        print("no kernel was launched", file=stream)
        return
    if result.rows and not (wanted.sections and not wanted.details):
        _show_rows(result, stream)
        if wanted.details or any(column.tree.get("hotspots") for column in result.columns):
            below = Wanted((), wanted.details) if wanted.details else Wanted(("source",))
            write([plain(""), *_lines(result, stream, below)], stream)
        return
    write(_lines(result, stream, wanted), stream)


def as_text(document: Mapping[str, Any]) -> str:
    """Return the screen as text, as it is printed on a pipe."""
    out = io.StringIO()
    show(document, out)
    return out.getvalue().rstrip("\n")


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


def _show_rows(result: Result, stream: TextIO) -> None:
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


def _lines(result: Result, out: TextIO, wanted: Wanted) -> list[Line]:
    sections, width = wanted.chosen(), width_of(out)
    unasked = not sections
    if unasked:  # hot spots, which were asked for when they were counted, and where a stopped run was
        sections = chosen(["source"])
    below = details(result, sections, width if out.isatty() else _UNBROKEN)
    if wanted.sections and not wanted.details:
        return below
    return [*screen(result, width), *([hint()] if unasked else []), *([plain(""), *below] if below else [])]
