"""Views: the columns of a table, each with a path into a row, a title, a unit and a format.

A view is defined once, in a package's module `views`, and makes a `Table` of any rows that have its paths, so what is
printed, drawn, or written as CSV, JSON, Markdown or HTML has the same columns. A row is a mapping or an object; rows
that are computed for one table only are best a dict, whose keys are the paths.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusim.base.table import Column, Table

Path = str | Callable[[Any], Any]


def column(
    path: Path,
    title: str | None = None,
    write: Callable[[Any], str] | None = None,
    unit: str = "",
    *,
    short: str = "",
    narrow: Callable[[Any], str] | None = None,
    right: bool | None = None,
    whole: bool = False,
) -> Column:
    """Make a column of a view.

    Args:
        path: Names of keys or attributes, with dots between, such as 'metrics.l1.hit_rate'; or a function that computes
            the cell from the row: a value, or a `TableCell` where no format serves.
        title: Head of the column; None: the last name of the path.
        write: Format, mostly of `gpusim.base.formats`; None: the default format of tables.
        unit: Unit, written after the title.
        short: Head on a narrow terminal; empty: title and unit.
        narrow: Format on a narrow terminal; None: `write`.
        right: Align cells to the right; None: if the column has numbers.
        whole: Do not wrap the cells on a narrow terminal while other columns can be wrapped.

    Returns:
        The column.
    """
    head = title if title is not None else str(path).rpartition(".")[2].replace("_", " ")
    return Column(head, write, short, unit, right, whole, path=path, narrow=narrow)


def value_at(row: Any, path: Path) -> Any:
    """Return what a row has at a path; None where a mapping has no such key or a value on the way is None.

    Args:
        row: Mapping or object.
        path: As in `column`.

    Returns:
        The value, or a cell.

    Raises:
        AttributeError: An object has no attribute of that name, which is a mistake in the view.
    """
    if not isinstance(path, str):
        return path(row)
    value = row
    for name in path.split("."):
        if value is None:
            return None
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name)
    return value


@dataclass(frozen=True)
class View:
    """Columns over rows; makes tables."""

    columns: Sequence[Column]
    """Columns from left to right, made by `column`."""
    name: str = ""
    """Stem of a table's file name beside other tables."""
    title: str = ""
    """Title of a table."""
    legend: str = ""
    """Meaning of abbreviations, below a narrow table."""

    def table(self, rows: Iterable[Any], title: str | None = None, notes: Sequence[str] = ()) -> Table:
        """Make a table.

        Args:
            rows: Mappings or objects that have the columns' paths.
            title: Title; None: the view's.
            notes: Lines below the table.

        Returns:
            The table, one row for each of `rows`.
        """
        cells = [[value_at(row, column.path) for column in self.columns] for row in rows]
        return Table(self.columns, cells, self.name, self.title if title is None else title, notes, self.legend)

    def with_columns(self, *more: Column) -> "View":
        """Return the view with further columns on the right."""
        return replace(self, columns=(*self.columns, *more))
