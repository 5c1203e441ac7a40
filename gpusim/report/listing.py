"""Rows of any columns: a table on a terminal, tab-separated lines on a pipe; CSV, JSON, Parquet."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, TextIO

from gpusim.base.errors import MissingExtraError

Rows = Sequence[Sequence[Any]]


def show(columns: Sequence[str], rows: Rows, out: TextIO) -> None:
    """Print the rows; what is null is empty."""
    if not out.isatty():
        for row in (columns, *rows):
            print("\t".join(_one_line(value) for value in row), file=out)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True)
    for number, column in enumerate(columns):
        are_numbers = any(isinstance(row[number], int | float) for row in rows)
        table.add_column(column, justify="right" if are_numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(value)) for value in row))
    Console(file=out).print(table)


def show_plain(text: str, out: TextIO) -> None:
    """Print what was written for a pipe: lines with tabs, on a terminal as a table, and others below as they are."""
    lines = text.splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    if not (rows and out.isatty()):
        out.write(text)
        return
    show(rows[0], rows[1:], out)
    for line in lines:
        if "\t" not in line:
            print(line, file=out)


def _one_line(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _shown(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else _one_line(value)


def as_csv(columns: Sequence[str], rows: Rows) -> str:
    """CSV with a head line (RFC 4180); null is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def as_json(columns: Sequence[str], rows: Rows) -> str:
    """A JSON list with an object for each row."""
    objects = [dict(zip(columns, row, strict=True)) for row in rows]
    return json.dumps(objects, indent=1, default=_of_bytes) + "\n"


def as_parquet(columns: Sequence[str], rows: Rows) -> bytes:
    """Parquet, a column of mixed types as text; raises MissingExtraError without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    arrays = {name: _alike([row[number] for row in rows]) for number, name in enumerate(columns)}
    contents = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), contents)
    return contents.getvalue()


def _alike(values: list[Any]) -> list[Any]:
    """Values of one type: whole numbers among others as those, anything beside numbers as text."""
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1:
        return values
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]


def _of_bytes(value: bytes) -> str:
    return value.hex()
