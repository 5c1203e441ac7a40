"""What users change in a store: names of runs, and which runs there are."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.store.file import errors, writable, writing
from gpusim.store.reading import Results


def delete(path: Path, runs: Sequence[str]) -> int:
    """Delete runs by their numbers or names, all or none; returns how many there were."""
    with Results(path) as results:
        numbers = sorted({results.run(run)["id"] for run in runs})
    with _changing(path) as db:
        for number in numbers:
            db.execute(_VALUES_OF_A_RUN, [number])
            db.execute("DELETE FROM subjects WHERE run = ?", [number])
            db.execute("DELETE FROM launches WHERE run = ?", [number])
            db.execute("DELETE FROM results WHERE run = ?", [number])
            (configuration,) = db.execute("SELECT configuration FROM runs WHERE id = ?", [number]).fetchone()
            db.execute("DELETE FROM runs WHERE id = ?", [number])
            db.execute(_UNUSED_CONFIGURATION, [configuration])
    return len(numbers)


_VALUES_OF_A_RUN = """
    DELETE FROM metric_values WHERE subject IN (SELECT id FROM subjects WHERE run = ?)
"""
_UNUSED_CONFIGURATION = """
    DELETE FROM configurations
    WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.configuration = configurations.hash)
"""


def name_run(path: Path, run: str, name: str | None, move: bool = False) -> None:
    """Give a run a name, or take its name away (None); move: also from a run that has the name now."""
    if name is not None and (not name.strip() or name.strip().isdigit() or "/" in name or name.endswith(".json")):
        raise UserError(f"name '{name}' is not allowed: a name is no number and no file's")
    with Results(path) as results:
        number = results.run(run)["id"]
        holders = [row["id"] for row in results.table("runs", name=name)] if name is not None else []
    if holders and holders != [number] and not move:
        raise UserError(f"{path}: run {holders[0]} is called '{name}': --move gives the name to run {number} instead")
    with _changing(path) as db:
        db.execute("UPDATE runs SET name = NULL WHERE name = ?", [name])
        db.execute("UPDATE runs SET name = ? WHERE id = ?", [name, number])


@contextmanager
def _changing(path: Path) -> Iterator[sqlite3.Connection]:
    connection = writable(path)
    try:
        with writing(connection, path) as db:
            yield db
    finally:
        with errors(path):
            connection.close()
