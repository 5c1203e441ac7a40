"""Rows that a store's question found: as dicts, for pandas and for polars."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

from gpusim.base.errors import UserError
from gpusim.base.table import Table, columns

Subject = tuple[int, int, str]  # a run's variant that values belong to: number, run, name of the variant
ColumnValues = dict[int, tuple[int | None, Any, float | None]]  # a metric's rows by subject: that, value, half-width
VALUE, WIDTH = 1, 2  # places in such a row
NOTHING = (None, None, None)


class QueryTable(Sequence[dict[str, Any]]):
    """The rows that a query found, each a dict; columns: their names, in order."""

    def __init__(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        self.columns, self.rows = list(columns), list(rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> "QueryTable": ...
    def __getitem__(self, index: int | slice) -> "dict[str, Any] | QueryTable":
        if isinstance(index, slice):
            return QueryTable(self.columns, self.rows[index])
        return dict(zip(self.columns, self.rows[index], strict=True))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.columns)}>"

    def table(self) -> Table:
        """Return the rows as a table to be shown or written."""
        return Table(columns(*self.columns), self.rows)

    def pandas(self) -> Any:
        """Return a `pandas.DataFrame`; raises UserError where pandas is not installed."""
        return _imported("pandas").DataFrame(self.rows, columns=self.columns)

    def polars(self) -> Any:
        """Return a `polars.DataFrame`; raises UserError where polars is not installed."""
        return _imported("polars").DataFrame(self.rows, schema=self.columns, orient="row", infer_schema_length=None)


def _imported(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise UserError(f"{name} is not installed: list(table) gives the rows as dicts without it") from None
