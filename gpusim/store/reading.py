"""Asking a store: its tables as dicts, for pandas and for polars."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, overload

from gpusim.base.errors import UserError, nearest, unknown_name
from gpusim.store.file import errors, readable

LOOK_UP_EVERY = 200_000  # of SQLite's steps: when Ctrl-C is looked after
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    getattr(sqlite3, "SQLITE_RECURSIVE", 33),
}


class Table(Sequence[dict[str, Any]]):
    """The rows that a question found, each a dict; columns: their names, in order."""

    def __init__(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        self.columns, self.rows = list(columns), list(rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> "Table": ...
    def __getitem__(self, index: int | slice) -> "dict[str, Any] | Table":
        if isinstance(index, slice):
            return Table(self.columns, self.rows[index])
        return dict(zip(self.columns, self.rows[index], strict=True))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.columns)}>"

    def pandas(self) -> Any:
        """A `pandas.DataFrame`; raises UserError where pandas is not installed."""
        return _imported("pandas").DataFrame(self.rows, columns=self.columns)

    def polars(self) -> Any:
        """A `polars.DataFrame`; raises UserError where polars is not installed."""
        return _imported("polars").DataFrame(self.rows, schema=self.columns, orient="row", infer_schema_length=None)


def _imported(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise UserError(f"{name} is not installed: list(table) gives the rows as dicts without it") from None


class Results:
    """A store that is read, until it is closed: `with open("gpusim.db") as results: ...`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._connection = readable(self.path)
        self._connection.set_progress_handler(lambda: 0, LOOK_UP_EVERY)

    def __enter__(self) -> "Results":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing more can be asked."""
        self._connection.close()

    def query(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> Table:
        """The rows of a question in SQL; raises UserError for wrong SQL, and for what is no question."""
        self._connection.set_authorizer(_only_questions)
        try:
            return self.rows(sql, parameters)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_AUTH":
                raise UserError(f"query: {error}: a store is asked only; allowed is one SELECT") from None
            known = ", ".join(self.tables())
            hint = f" (tables: {known})" if "no such table" in str(error) else ""
            raise UserError(f"query: {error}{hint}") from None
        finally:
            self._connection.set_authorizer(None)

    def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> Table:
        """The rows of a statement of gpusim's own; raises sqlite3.Error, StoreError for a damaged file."""
        try:
            cursor = self._connection.execute(sql, parameters)
            return Table([column[0] for column in cursor.description or ()], cursor.fetchall())
        except sqlite3.DatabaseError as error:
            if type(error) is sqlite3.DatabaseError and getattr(error, "sqlite_errorname", "") != "SQLITE_AUTH":
                with errors(self.path):  # of the file, not of the statement
                    raise
            raise

    def tables(self) -> list[str]:
        """Names of tables and views."""
        return [
            row[0]
            for row in self.rows(
                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
            ).rows
        ]

    def table(self, name: str = "runs", /, **equal: Any) -> Table:
        """A table or view, as docs/results.md lists them, in the order of its numbers.

        equal: columns with the value that rows have to have: `table("metrics", name="kernel.cycles")`. Raises UserError
        that names the nearest table or column.
        """
        if name not in self.tables():
            raise UserError(f"table: {unknown_name('table', name, self.tables())}")
        where = self._where(name, equal)
        by_number = " ORDER BY id" if "id" in self._columns(name) else ""
        return self.rows(f"SELECT * FROM {name}{where}{by_number}", list(equal.values()))

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self.rows(f"PRAGMA table_info({table})").rows]

    def _where(self, table: str, equal: Mapping[str, Any]) -> str:
        """The condition that columns have these values; raises UserError that names the nearest column."""
        columns = self._columns(table)
        for column in equal:
            if column not in columns:
                raise UserError(f"table: {unknown_name(f'column of {table}', column, columns)}")
        return " WHERE " + " AND ".join(f'"{column}" IS ?' for column in equal) if equal else ""

    def wide(self, *metrics: str, **equal: Any) -> Table:
        """A row for each run and variant with the metrics of the whole run, a column each.

        metrics: None given: all that are numbers or text; equal: as in `table("runs", …)`. Raises UserError.
        """
        known = [row[0] for row in self.rows("SELECT DISTINCT name FROM metric_names ORDER BY id").rows]
        for metric in metrics:
            if metric not in known:
                guess = nearest(metric, known)
                hint = f"did you mean '{guess}'? " if guess else ""
                raise UserError(f"wide: unknown metric '{metric}'; {hint}the table metric_names lists them")
        heads = ("id", "name", "kind", "title", "gpu", "state")
        where = self._where("runs", equal)
        sql = f"SELECT {', '.join(heads)} FROM runs{where} ORDER BY id"
        by_run = {row[0]: row for row in self.rows(sql, list(equal.values())).rows}
        measured = self._of_runs(f"SELECT id FROM runs{where}", list(equal.values()), metrics or known)
        found = [(run, variant, held) for run in by_run for variant, held in measured.get(run, {}).items()]
        shown = metrics or [m for m in known if any(_is_plain(held.get(m)) for _, _, held in found)]
        rows = [(*by_run[run], variant, *map(held.get, shown)) for run, variant, held in found]
        return Table(["run", *heads[1:], "variant", *shown], rows)

    def sweep(self, number: int, *metrics: str) -> Table:
        """A row for each point of a sweep that is known, and variant: a column for each axis, then for each metric.

        metrics: none given: kernel.cycles and kernel.time_us. Raises UserError.
        """
        numbers = [row[0] for row in self.rows("SELECT id FROM sweeps").rows]
        if number not in numbers:
            there = ", ".join(map(str, numbers)) or "none"
            raise UserError(f"{self.path}: there is no sweep {number} in it; it has {there}")
        metrics = metrics or ("kernel.cycles", "kernel.time_us")
        sql = "SELECT number, path, value FROM axes WHERE sweep = ? ORDER BY number"
        axes: dict[int, dict[str, Any]] = {}
        for point, path, value in self.rows(sql, [number]).rows:
            axes.setdefault(point, {})[path] = value
        specification = json.loads(self.rows("SELECT specification FROM sweeps WHERE id = ?", [number]).rows[0][0])
        paths = [path for path in specification["axes"] if any(path in held for held in axes.values())]
        measured = self._of_runs("SELECT run FROM points WHERE sweep = ?", [number], metrics)
        sql = "SELECT number, run, state FROM points JOIN runs ON runs.id = run WHERE points.sweep = ? ORDER BY number"
        rows = [
            (point, *(axes[point].get(path) for path in paths), run, state, variant, *map(held.get, metrics))
            for point, run, state in self.rows(sql, [number]).rows
            for variant, held in measured.get(run, {"": {}}).items()
        ]
        return Table(["point", *paths, "run", "state", "variant", *metrics], rows)

    def _of_runs(
        self, runs: str, parameters: Sequence[Any], metrics: Sequence[str]
    ) -> dict[int, dict[str, dict[str, Any]]]:
        """Run → variant → metric → value of whole runs; runs: SELECT of their numbers."""
        found: dict[int, dict[str, dict[str, Any]]] = {}
        sql = f"{_WHOLE_RUNS} AND subjects.run IN ({runs})"
        for metric in metrics:
            for run, variant, value in self.rows(sql, [metric, *parameters]).rows:
                found.setdefault(run, {}).setdefault(variant, {})[metric] = value
        return found

    def configuration(self, run: int) -> dict[str, Any]:
        """The resolved configuration of a run."""
        sql = "SELECT json FROM configurations JOIN runs ON configuration = hash WHERE id = ?"
        found: dict[str, Any] = json.loads(self.rows(sql, [run]).rows[0][0])
        return found

    def run(self, text: str | int) -> dict[str, Any]:
        """The row of a run by its number or its name; raises UserError that says what there is."""
        row = None
        with suppress(ValueError):
            row = next(iter(self.rows("SELECT * FROM runs WHERE id = ?", [int(text)])), None)
        row = row or next(iter(self.rows("SELECT * FROM runs WHERE name = ?", [str(text)])), None)
        if row is None:
            names = [found[0] for found in self.rows("SELECT name FROM runs WHERE name IS NOT NULL").rows]
            first, last = self.rows("SELECT min(id), max(id) FROM runs").rows[0]
            numbers = f"runs {first} to {last}" if first is not None else "no runs"
            raise UserError(
                f"{self.path}: {unknown_name('run', str(text), names)}" if names and not str(text).isdigit()
                else f"{self.path}: there is no run '{text}' in it; it has {numbers}"
            )  # fmt: skip
        return row


_WHOLE_RUNS = """
    SELECT subjects.run, subjects.variant, metric_values.value
    FROM metric_names
    JOIN metric_values ON metric = metric_names.id
    JOIN subjects ON subjects.id = subject
    WHERE metric_names.name = ? AND layer IS NULL AND launch IS NULL
"""


def _is_plain(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and value.startswith("["))


def _only_questions(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
