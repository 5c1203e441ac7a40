"""Tables: rows of values that are written as CSV as they are, and as Markdown for people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.report.listing import as_csv

Shown = Callable[[Any], str]
MISSING = "–"


@dataclass(frozen=True)
class Column:
    """A column of a table. shown: formats a value; None becomes a dash."""

    title: str
    shown: Shown = str


@dataclass(frozen=True)
class Table:
    """A table. name: part of its CSV file's name after the figure's; empty if the figure has only this table."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    name: str = ""
    title: str = ""

    def csv(self) -> str:
        """Return the table as CSV, with unformatted values."""
        return as_csv([column.title for column in self.columns], self.rows)

    def markdown(self) -> str:
        """Return the table as Markdown, with formatted values."""
        head = [column.title for column in self.columns]
        lines = [_row(head), _row(["---"] * len(head))]
        for row in self.rows:
            cells = [MISSING if v is None else c.shown(v) for c, v in zip(self.columns, row, strict=True)]
            lines.append(_row(cells))
        title = f"{self.title}\n\n" if self.title else ""
        return title + "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def percent(value: float) -> str:
    """Return a share as text, such as '65.0 %'."""
    return f"{100 * value:.1f} %"


def thousands(value: float) -> str:
    """Return a number in thousands, such as '2,018 k'."""
    return f"{value / 1e3:,.0f} k" if value >= 1e4 else f"{value / 1e3:,.1f} k"


def amount(value: Any) -> str:
    """Return a number as text, such as '1,234' or '0.123'."""
    return value if isinstance(value, str) else f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
