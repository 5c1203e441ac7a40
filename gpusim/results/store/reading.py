"""Asking a store: its tables as dicts, for pandas and for polars."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, nearest, unknown_name
from gpusim.results.store.file import errors, readable
from gpusim.results.store.project import store_to_read
from gpusim.results.store.sweeps import DEFAULT_METRICS, SweepTable, sweep_table
from gpusim.results.store.table import NOTHING, VALUE, ColumnValues, QueryTable, Subject

LOOK_UP_EVERY = 200_000  # steps of SQLite between two checks for Ctrl-C
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    getattr(sqlite3, "SQLITE_RECURSIVE", 33),
}


def open_store(path: str | Path | None = None) -> "StoreReader":
    """Open a store of runs for queries, with tables as dicts, for pandas and polars; see docs/how-to/stored-results.md.

    path: None: what `gpusim.toml` names, or `gpusim.db`. Raises UserError where there is no store that can be read.
    """
    return StoreReader(store_to_read(None if path is None else str(path)))


class StoreReader:
    """A store that is open for reading, until it is closed: `with open("gpusim.db") as results: ...`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._connection = readable(self.path)
        self._connection.set_progress_handler(lambda: 0, LOOK_UP_EVERY)

    def __enter__(self) -> "StoreReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; no queries are possible after that."""
        self._connection.close()

    def query(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> QueryTable:
        """Return the rows of an SQL query.

        Args:
            sql: one SELECT.
            parameters: values of its placeholders, in order or by name.

        Returns:
            Columns and rows.

        Raises:
            UserError: the SQL is wrong, or anything but one SELECT.
        """
        self._connection.set_authorizer(_only_questions)
        try:
            found = self.rows(sql, parameters)
            if not found.columns:
                raise UserError("query: it asks nothing; allowed is one SELECT")
            return found
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_AUTH":
                raise UserError(f"query: {error}: a store is asked only; allowed is one SELECT") from None
            known = ", ".join(self.tables())
            hint = f" (tables: {known})" if "no such table" in str(error) else ""
            raise UserError(f"query: {error}{hint}") from None
        finally:
            self._connection.set_authorizer(None)

    def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> QueryTable:
        """Return the rows of a statement of gpusim's own.

        Args:
            sql: the statement.
            parameters: values of its placeholders, in order or by name.

        Returns:
            Columns and rows.

        Raises:
            sqlite3.Error: the statement is wrong.
            StoreError: the file is damaged.
        """
        try:
            cursor = self._connection.execute(sql, parameters)
            return QueryTable([column[0] for column in cursor.description or ()], cursor.fetchall())
        except sqlite3.DatabaseError as error:
            if type(error) is sqlite3.DatabaseError and getattr(error, "sqlite_errorname", "") != "SQLITE_AUTH":
                with errors(self.path):  # the error is in the file, not in the statement
                    raise
            raise

    def tables(self) -> list[str]:
        """Return the names of tables and views."""
        sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
        return [row[0] for row in self.rows(sql).rows]

    def table(self, name: str = "runs", /, **equal: Any) -> QueryTable:
        """Return a table or view of those in docs/how-to/stored-results.md, ordered by number.

        Args:
            name: its name.
            equal: columns with the values that rows must have: `table("metrics", name="kernel.cycles")`.

        Returns:
            Columns and rows.

        Raises:
            UserError: there is no such table or column; the message names the nearest.
        """
        if name not in self.tables():
            raise UserError(f"table: {unknown_name('table', name, self.tables())}")
        where = self._where(name, equal)
        by_number = " ORDER BY id" if "id" in self._columns(name) else ""
        return self.rows(f"SELECT * FROM {name}{where}{by_number}", list(equal.values()))

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self.rows(f"PRAGMA table_info({table})").rows]

    def _where(self, table: str, equal: Mapping[str, Any]) -> str:
        """Return the SQL condition that columns have these values; raises UserError that names the nearest column."""
        columns = self._columns(table)
        for column in equal:
            if column not in columns:
                raise UserError(f"table: {unknown_name(f'column of {table}', column, columns)}")
        return " WHERE " + " AND ".join(f'"{column}" IS ?' for column in equal) if equal else ""

    def wide(self, *metrics: str, **equal: Any) -> QueryTable:
        """Return a row for each run and variant, with the metrics of the whole run, a column each.

        Args:
            metrics: without any, all whose values are numbers or text.
            equal: values that runs must have, as in `table("runs", …)`.

        Returns:
            Columns and rows.

        Raises:
            UserError: there is no such metric or column.
        """
        known = self.known_metrics()
        check_metrics(metrics, known)
        heads = ("id", "name", "kind", "title", "gpu", "state")
        where = self._where("runs", equal)
        sql = f"SELECT id, {', '.join(heads)} FROM runs{where} ORDER BY id"
        by_run = {number: row for number, *row in self.rows(sql, list(equal.values())).rows}
        runs = (f"SELECT id FROM runs{where}", tuple(equal.values())) if equal else None
        subjects, columns = self.whole_runs(runs, metrics or known)
        shown = metrics or [m for m in known if any(_is_plain(row[VALUE]) for row in columns[m].values())]
        chosen = [columns[metric] for metric in shown]
        measured = [one for one in subjects if any(one[0] in column for column in chosen)]
        cells = [[column.get(subject, NOTHING)[VALUE] for subject, _, _ in measured] for column in chosen]
        rows = [(*by_run[run], variant, *values) for (_, run, variant), *values in zip(measured, *cells, strict=True)]
        return QueryTable(["run", *heads[1:], "variant", *shown], rows)

    def sweep(self, which: int | str, /, *metrics: str) -> SweepTable:
        """Return a sweep: a row for each known point and variant, with the axes before the metrics.

        Args:
            which: the sweep's number or name.
            metrics: without any, kernel.cycles and kernel.time_us; next to a sampled metric is its half-width.

        Returns:
            The sweep's rows and what was varied.

        Raises:
            UserError: there is no such metric (the message names the nearest) or sweep (it lists those there are).
        """
        check_metrics(metrics, self.known_metrics())
        return sweep_table(self, which, metrics or DEFAULT_METRICS)

    def known_metrics(self) -> list[str]:
        """Return the names of the metrics of which the store has a value."""
        return [row[0] for row in self.rows("SELECT DISTINCT name FROM metric_names ORDER BY id").rows]

    def whole_runs(
        self, runs: tuple[str, Sequence[Any]] | None, metrics: Sequence[str]
    ) -> tuple[list[Subject], dict[str, ColumnValues]]:
        """Return metrics of whole runs and their variants.

        Args:
            runs: a SELECT of the runs' numbers, with its parameters; None: all runs.
            metrics: paths.

        Returns:
            The subjects (a whole run or its variant) in the order of the runs, and each metric's values by subject.
        """
        of_runs, values = (f" AND run IN ({runs[0]})", runs[1]) if runs is not None else ("", ())
        sql = f"SELECT id, run, variant FROM subjects WHERE layer IS NULL AND launch IS NULL{of_runs} ORDER BY run, id"
        subjects: list[Subject] = self.rows(sql, values).rows
        numbers = [subject for subject, _, _ in subjects] or [0]
        sql = """
            SELECT subject, value, half_width FROM metric_values JOIN metric_names ON metric = id
            WHERE name = ? AND subject BETWEEN ? AND ?
        """  # reading other runs' values in between costs less than excluding them
        span = (min(numbers), max(numbers))
        columns: dict[str, ColumnValues] = {
            metric: {row[0]: row for row in self.rows(sql, [metric, *span]).rows} for metric in metrics
        }
        return subjects, columns

    def configuration(self, run: int) -> dict[str, Any]:
        """Return the resolved configuration of a run."""
        sql = "SELECT json FROM configurations JOIN runs ON configuration = hash WHERE id = ?"
        found: dict[str, Any] = json.loads(self.rows(sql, [run]).rows[0][0])
        return found

    def run(self, text: str | int) -> dict[str, Any]:
        """Return the row of a run by its number or name; raises UserError that says which runs there are."""
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


def check_metrics(metrics: Sequence[str], known: Sequence[str]) -> None:
    """Raise an error for a metric that the store does not have.

    Args:
        metrics: wanted paths.
        known: paths that the store has.

    Raises:
        UserError: one is missing; the message names the nearest.
    """
    for metric in metrics:
        if metric not in known:
            guess = nearest(metric, known)
            hint = f"did you mean '{guess}'? " if guess else ""
            raise UserError(f"unknown metric '{metric}'; {hint}the table metric_names lists them")


def _is_plain(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and value.startswith("["))


def _only_questions(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
