"""Rows of any columns as tables: on a terminal or a pipe; CSV, JSON, Parquet."""

import io
from collections.abc import Sequence
from typing import Any, TextIO

from gpusim.base.errors import MissingExtraError
from gpusim.base.table import Table, columns

Rows = Sequence[Sequence[Any]]


def show(heads: Sequence[str], rows: Rows, out: TextIO) -> None:
    """Print the rows as a table with these heads."""
    Table(columns(*heads), rows).show(out)


def show_plain(text: str, out: TextIO) -> None:
    """Print a text that was written for a pipe; on a terminal, its lines with tabs as a table, the others below it."""
    lines = text.splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    if not (rows and out.isatty()):
        out.write(text)
        return
    Table(columns(*rows[0]), rows[1:], notes=[line for line in lines if "\t" not in line]).show(out)


def as_csv(heads: Sequence[str], rows: Rows) -> str:
    """Write CSV with a header line; null values are empty."""
    return Table(columns(*heads), rows).csv()


def as_json(heads: Sequence[str], rows: Rows) -> str:
    """Write a JSON list with an object for each row."""
    return Table(columns(*heads), rows).json()


def as_parquet(heads: Sequence[str], rows: Rows) -> bytes:
    """Write Parquet; a column of mixed types becomes text. Raises MissingExtraError without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    arrays = {name: _alike([row[number] for row in rows]) for number, name in enumerate(heads)}
    contents = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), contents)
    return contents.getvalue()


def _alike(values: list[Any]) -> list[Any]:
    """Convert values to one type: integers mixed with floats become floats, any other mixture becomes text."""
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1:
        return values
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]
