"""The result of a run for a person: one screen, and the sections that were asked for."""

import io
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from gpusim.base.extensions import known_kind
from gpusim.results.report.details import details
from gpusim.results.report.layout import Line, plain, width_of, write
from gpusim.results.report.result import Result, read
from gpusim.results.report.screen import hint, screen
from gpusim.results.report.sections import SECTIONS, ReportSection, chosen

_UNBROKEN = 1_000_000  # columns of a pipe, on which a metric keeps to one line: to be searched


class PrintOptions(NamedTuple):
    """Options for printing a result."""

    sections: Sequence[str] = ()
    """Keys of the sections to print."""
    details: bool = False
    """Print all sections below the screen."""

    def chosen(self) -> list[ReportSection]:
        """Return the sections to print; raises UserError for an unknown key."""
        found = chosen(self.sections)
        return list(SECTIONS) if self.details else found


SCREEN = PrintOptions()


def show(document: Mapping[str, Any], out: TextIO | None = None, wanted: PrintOptions = SCREEN) -> None:
    """Print a result, given as its JSON object: the screen, a network's or a program's tables, then the sections.

    If sections are asked for by name, they are printed alone, without the screen.
    """
    stream = out or sys.stdout
    result = read(document)
    if not result.rows and known_kind(result.kind).views:
        from gpusim.results.report.rows import views_of

        if text := views_of(result).without_rows:
            print(text, file=stream)
            return
    if result.rows and not (wanted.sections and not wanted.details):
        from gpusim.results.report.many import show_rows  # a run without rows starts sooner without it

        show_rows(result, stream)
        if wanted.details or any(column.tree.get("hotspots") for column in result.columns):
            below = PrintOptions((), wanted.details) if wanted.details else PrintOptions(("source",))
            write([plain(""), *_lines(result, stream, below)], stream)
        return
    write(_lines(result, stream, wanted), stream)


def as_text(document: Mapping[str, Any]) -> str:
    """Return the screen as text, as it is printed on a pipe."""
    out = io.StringIO()
    show(document, out)
    return out.getvalue().rstrip("\n")


def _lines(result: Result, out: TextIO, wanted: PrintOptions) -> list[Line]:
    sections, width = wanted.chosen(), width_of(out)
    unasked = not sections
    if unasked:  # hot spots, which were asked for when they were counted, and where a stopped run was
        sections = chosen(["source"])
    below = details(result, sections, width if out.isatty() else _UNBROKEN)
    if wanted.sections and not wanted.details:
        return below
    return [*screen(result, width), *([hint()] if unasked else []), *([plain(""), *below] if below else [])]
