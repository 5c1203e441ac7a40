"""What users change in a store: names of runs and sweeps, and which of them there are."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.results.store.file import errors, writable, writing
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweeps import sweep_meant


def delete(path: Path, names: Sequence[str]) -> tuple[int, int]:
    """Delete runs and sweeps by their numbers or names (`sweep:2`), all or none; return how many of both.

    A sweep's runs are deleted with it, except those that are points of another sweep.

    Args:
        path: File of the store.
        names: Numbers or names.
    """
    with StoreReader(path) as results:
        meant = {name: sweep_meant(results, name) for name in names}
        sweeps = {number for number in meant.values() if number is not None}
        runs = {results.run(name)["id"] for name, sweep in meant.items() if sweep is None}
        for sweep in sweeps:
            runs |= {row[0] for row in results.rows(_ITS_RUNS, [sweep, sweep]).rows}
    with _changing(path) as db:
        for number in sorted(runs):
            db.execute(_VALUES_OF_A_RUN, [number])
            db.execute("DELETE FROM subjects WHERE run = ?", [number])
            db.execute("DELETE FROM launches WHERE run = ?", [number])
            db.execute("DELETE FROM results WHERE run = ?", [number])
            (configuration,) = db.execute("SELECT configuration FROM runs WHERE id = ?", [number]).fetchone()
            db.execute("DELETE FROM runs WHERE id = ?", [number])
            db.execute(_UNUSED_CONFIGURATION, [configuration])
        for number in sorted(sweeps):
            db.execute("UPDATE runs SET sweep = NULL WHERE sweep = ?", [number])
            db.execute("DELETE FROM sweeps WHERE id = ?", [number])
    return len(runs), len(sweeps)


_ITS_RUNS = """
    SELECT id FROM runs
    WHERE sweep = ? AND NOT EXISTS (SELECT 1 FROM points WHERE points.run = runs.id AND points.sweep != ?)
"""
_VALUES_OF_A_RUN = """
    DELETE FROM metric_values WHERE subject IN (SELECT id FROM subjects WHERE run = ?)
"""
_UNUSED_CONFIGURATION = """
    DELETE FROM configurations
    WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.configuration = configurations.hash)
"""


def give_name(path: Path, which: str, name: str | None, move: bool = False) -> None:
    """Give a run or a sweep (`sweep:2`) a name, or take its name away (None).

    Args:
        path: File of the store.
        which: Number or name.
        name: The name; None: none.
        move: Also from another that has it.

    Raises:
        UserError: There is no such run, or another one has the name.
    """
    if name is not None and not _is_allowed(name):
        raise UserError(f"name '{name}' is not allowed: a name is no number, no file's, and has no colon")
    with StoreReader(path) as results:
        sweep = sweep_meant(results, which)
        table, number = ("sweeps", sweep) if sweep is not None else ("runs", results.run(which)["id"])
        holders = [(named, row["id"]) for named in _NAMED for row in results.table(named, name=name)] if name else []
    others = [holder for holder in holders if holder != (table, number)]
    if others and not move:
        named, holder = others[0]
        raise UserError(
            f"{path}: {_NAMED[named]} {holder} is called '{name}': --move gives the name to {_NAMED[table]} {number}"
            " instead"
        )
    with _changing(path) as db:
        for named in _NAMED:
            db.execute(f"UPDATE {named} SET name = NULL WHERE name = ?", [name])
        db.execute(f"UPDATE {table} SET name = ? WHERE id = ?", [name, number])


_NAMED = {"runs": "run", "sweeps": "sweep"}


def _is_allowed(name: str) -> bool:
    """Tell whether a name cannot be mistaken for a number, a file, `sweep:` or `RUN:PART`."""
    plain = name.strip()
    return bool(plain) and not plain.isdigit() and not plain.endswith(".json") and not set("/:") & set(plain)


@contextmanager
def _changing(path: Path) -> Iterator[sqlite3.Connection]:
    connection = writable(path)
    try:
        with writing(connection, path) as db:
            yield db
    finally:
        with errors(path):
            connection.close()
