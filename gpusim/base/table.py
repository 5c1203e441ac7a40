"""A table as one value: shown on a terminal or a pipe, and written as Markdown, CSV, JSON, or a part of a page.

A cell is a plain value or a `TableCell`. Programs get values as they are (CSV, JSON, and on a pipe every value that has
no text of its own); people get texts (terminal, Markdown, HTML), in which `MISSING` stands for None.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from gpusim.base.errors import MissingExtraError
from gpusim.base.formats import GROUPED_DIGITS_6, is_number
from gpusim.base.visible import console

if TYPE_CHECKING:
    from gpusim.base.html import Element

MISSING = "–"


class TableCell(NamedTuple):
    """A value with its own text."""

    value: Any
    """Value for programs."""
    text: str
    """Text for people."""
    short: str = ""
    """Text on a narrow terminal; empty: `text`."""
    style: str = ""
    """Style of the text on a terminal, in rich's terms, such as 'dim'."""


@dataclass(frozen=True)
class Column:
    """A column: its head and the format of its cells."""

    head: str
    """Head."""
    write: Callable[[Any], str] | None = None
    """Formats a value; None: the default format."""
    short: str = ""
    """Head on a narrow terminal; empty: `head`."""
    unit: str = ""
    """Unit, written after the head."""
    right: bool | None = None
    """Align cells to the right; None: if the column has numbers."""
    whole: bool = False
    """Do not wrap the cells on a narrow terminal while other columns can be wrapped."""
    path: "str | Callable[[Any], Any]" = ""
    """Where a view finds the cell in a row (`gpusim.base.view`); empty: rows are sequences of cells."""
    narrow: Callable[[Any], str] | None = None
    """Formats a value on a narrow terminal; None: `write`."""

    @property
    def name(self) -> str:
        """The head with its unit."""
        return f"{self.head} {self.unit}".rstrip()


def columns(*heads: str, write: Callable[[Any], str] | None = None, right: bool | None = None) -> list[Column]:
    """Make columns for rows that are sequences of cells, all of one format.

    Args:
        heads: Heads of the columns.
        write: Format of the cells; None: the default format.
        right: Align cells to the right; None: if the column has numbers.
    """
    return [Column(head, write, right=right) for head in heads]


@dataclass(frozen=True)
class Table:
    """Rows of cells, one cell for each column."""

    columns: Sequence[Column]
    """Columns from left to right."""
    rows: Sequence[Sequence[Any]]
    """Rows of values or cells."""
    name: str = ""
    """Stem of its file name beside other tables."""
    title: str = ""
    """Title."""
    notes: Sequence[str] = field(default=())
    """Lines below the table."""
    legend: str = ""
    """Meaning of its abbreviations, below the notes."""

    def show(self, out: TextIO) -> None:
        """Print it: fitted to a terminal's width, or as lines with tabs on a pipe."""
        if not out.isatty():
            out.write(self.tabbed())
            return
        from rich.cells import cell_len
        from rich.table import Table as Drawn
        from rich.text import Text

        on_terminal = console(out)
        gap = 2
        shown = [self._heads(), *map(self._texts, self.rows)]
        widths = [max(map(cell_len, "\n".join(texts).split("\n"))) for texts in zip(*shown, strict=True)]
        if narrow := sum(widths) + gap * (len(widths) - 1) > on_terminal.width:
            gap, shown = 1, [self._heads(narrow), *(self._texts(row, narrow) for row in self.rows)]
        drawn = Drawn(box=None, padding=(0, gap, 0, 0), pad_edge=False)
        for number, (head, column) in enumerate(zip(shown[0], self.columns, strict=True)):
            justify: Literal["left", "right"] = "right" if self._is_right(number) else "left"
            drawn.add_column(Text(head), justify=justify, overflow="fold", no_wrap=column.whole)
        for row, texts in zip(self.rows, shown[1:], strict=True):
            styles = (cell.style if isinstance(cell, TableCell) else "" for cell in row)
            drawn.add_row(*map(Text, texts, styles))
        if self.title:
            on_terminal.print(Text(self.title, "italic"))
        on_terminal.print(drawn)
        for note in (self.legend, *self.notes) if narrow and self.legend else self.notes:
            on_terminal.print(Text(note))

    def tabbed(self, heads: bool = True) -> str:
        """Write lines with tabs, the notes last. heads: whether the first line has the columns' names."""
        lines = [self._heads()] if heads else []
        lines += [list(map(_exact, self.columns, row)) for row in self.rows]
        return "".join("\t".join(map(_one_line, cells)) + "\n" for cells in lines) + _lines(self.notes)

    def markdown(self) -> str:
        """Write Markdown: the title, the table, the notes as a list."""
        texts = list(map(self._texts, self.rows))
        marks = ["---:" if self._is_right(number) else "---" for number in range(len(self.columns))]
        lines = [self._heads(), marks, *texts]
        written = "".join(f"| {' | '.join(map(_escaped, cells))} |\n" for cells in lines)
        title = f"{self.title}\n\n" if self.title else ""
        return title + written + ("\n" + _lines(f"- {note}" for note in self.notes) if self.notes else "")

    def csv(self) -> str:
        """Write the values as CSV with a head (RFC 4180, but that lines end as everywhere); None is empty."""
        from gpusim.base.html import clean  # here and below: XML's modules would cost every start their time

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([clean(head) for head in self._heads()])
        for row in self.rows:
            writer.writerow([clean(value) if isinstance(value, str) else value for value in map(value_of, row)])
        return text.getvalue()

    def json(self) -> str:
        """Write the values as a JSON list with an object for each row; bytes are hexadecimal text."""
        objects = [dict(zip(self._heads(), map(value_of, row), strict=True)) for row in self.rows]
        return json.dumps(objects, indent=1, default=bytes.hex) + "\n"

    def parquet(self) -> bytes:
        """Write Parquet; a column of mixed types becomes text. Raises MissingExtraError without pyarrow."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingExtraError("writing Parquet", "parquet") from None
        arrays = {head: _alike([value_of(row[k]) for row in self.rows]) for k, head in enumerate(self._heads())}
        contents = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(arrays), contents)
        return contents.getvalue()

    def html(self, sortable: bool = True) -> "Element":
        """Make an element of a page, whose numbers can be sorted by their values."""
        from gpusim.base.html import table

        rows = [list(map(_sorted_by, self._texts(row), map(value_of, row))) for row in self.rows]
        return table(self.title, self._heads(), rows, sortable)

    def _heads(self, narrow: bool = False) -> list[str]:
        return [column.short if narrow and column.short else column.name for column in self.columns]

    def _texts(self, row: Sequence[Any], narrow: bool = False) -> list[str]:
        return [_text(column, cell, narrow) for column, cell in zip(self.columns, row, strict=True)]

    def _is_right(self, number: int) -> bool:
        right = self.columns[number].right
        return any(is_number(value_of(row[number])) for row in self.rows) if right is None else right


def _alike(values: list[Any]) -> list[Any]:
    """Convert values to one type: integers mixed with floats become floats, any other mixture becomes text."""
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1:
        return values
    to = float if types == {int, float} else str
    return [None if value is None else to(value) for value in values]


def value_of(cell: Any) -> Any:
    """Give the value of a cell without its text."""
    return cell.value if isinstance(cell, TableCell) else cell


def _text(column: Column, cell: Any, narrow: bool) -> str:
    """Write a cell for people."""
    if isinstance(cell, TableCell):
        return cell.short if narrow and cell.short else cell.text
    if cell is None:
        return MISSING
    write = column.narrow if narrow and column.narrow is not None else column.write
    if write is not None:
        return write(cell)
    return GROUPED_DIGITS_6(cell) if isinstance(cell, float) else _one_line(str(cell))


def _exact(column: Column, cell: Any) -> str:
    """Write a cell for programs that read lines."""
    if isinstance(cell, TableCell):
        return cell.text
    if cell is None:
        return ""
    return str(cell) if column.write is None else column.write(cell)


def _sorted_by(text: str, value: Any) -> Any:
    return (text, value) if is_number(value) else text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _lines(lines: Any) -> str:
    return "".join(f"{line}\n" for line in lines)
