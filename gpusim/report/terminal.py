"""The result of a run for a person: one screen, and the sections that were asked for."""

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from gpusim.report.details import details
from gpusim.report.layout import Line, plain, width_of, write
from gpusim.report.result import read
from gpusim.report.screen import hint, screen
from gpusim.report.sections import SECTIONS, Section, chosen

_UNBROKEN = 1_000_000  # columns of a pipe, on which a metric keeps to one line: to be searched


@dataclass(frozen=True)
class Wanted:
    """What is printed of a result. sections: keys of those that follow the screen; details: all of them do."""

    sections: Sequence[str] = ()
    details: bool = False

    def check(self) -> None:
        """Raise UserError for an unknown key."""
        chosen(self.sections)

    def chosen(self) -> list[Section]:
        """The sections; raises UserError for an unknown key."""
        found = chosen(self.sections)
        return list(SECTIONS) if self.details else found


SCREEN = Wanted()


def show(document: Mapping[str, Any], out: TextIO | None = None, wanted: Wanted = SCREEN) -> None:
    """Print a result, given as its JSON object: the screen, then the sections.

    Sections alone, without the screen, where they are asked for by name.
    """
    stream = out or sys.stdout
    write(_lines(document, stream, wanted), stream)


def as_text(document: Mapping[str, Any]) -> str:
    """The screen as text, as on a pipe."""
    out = io.StringIO()
    write(screen(read(document), width_of(out)), out)
    return out.getvalue().rstrip("\n")


def _lines(document: Mapping[str, Any], out: TextIO, wanted: Wanted) -> list[Line]:
    result, sections, width = read(document), wanted.chosen(), width_of(out)
    unasked = not sections
    if unasked:  # what was counted only because it was asked for, and where a stopped run stood
        sections = chosen(["source"])
    below = details(result, sections, width if out.isatty() else _UNBROKEN)
    if wanted.sections and not wanted.details:
        return below
    return [*screen(result, width), *([hint()] if unasked else []), *([plain(""), *below] if below else [])]
