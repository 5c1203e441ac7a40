"""A store as a command uses it: equal work is found, what was run is kept."""

import json
import os
import platform
import shlex
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from gpusim.base.version import __version__
from gpusim.results.store.file import errors, now, writable, writing
from gpusim.results.store.outcome import LaunchRow, MetricSet, MetricValue, RunOutcome
from gpusim.results.store.records import packed, unpacked
from gpusim.results.store.under_way import WorkLocks
from gpusim.results.store.work import NetworkRows, RunDescription, sources_hash

MOST_INTEGER = 2**63 - 1  # that SQLite has
T = TypeVar("T")

LOOK_EVERY_S = 0.3  # whether another process has done what is waited for


@dataclass(frozen=True)
class MatchingRun:
    """A stored run of the same work."""

    number: int
    """Number of the run."""
    started: str
    """Date and time of its start."""
    exit_code: int
    """Exit code."""
    content: Mapping[str, Any]
    """Result as plain data."""
    seconds: float = 0.0
    """Wall time in seconds."""

    def sentence(self, path: Path) -> str:
        """Describe the run, as in 'found in gpusim.db: run 12 of 2026-11-22 17:41:24 UTC'."""
        when = self.started.replace("T", " ").replace("Z", " UTC")
        return f"found in {path}: run {self.number} of {when}; --fresh runs it again"


@dataclass(frozen=True)
class WorkInOtherProcess:
    """Work in progress in another process."""

    holder: str
    """Description of the process: which, where and since when."""

    @property
    def sentence(self) -> str:
        """Say what is waited for, and how not to."""
        return f"equal work is under way: waiting for the result of {self.holder} (--fresh does not wait)"


class PendingWork(Generic[T]):
    """What waits for work of other processes, by its number: a sweep's or a publication's points."""

    def __init__(self) -> None:
        self._held: dict[int, T] = {}
        self._looked = 0.0

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, number: int, waiting: T) -> None:
        """Have it wait, from now on or again."""
        self._held[number] = waiting

    def due(self, full: Callable[[], bool]) -> Iterator[tuple[int, T]]:
        """Take out one after the other, to be tried again, until no more can begin (`full`): all once a moment."""
        if time.monotonic() - self._looked < LOOK_EVERY_S:
            return
        self._looked = time.monotonic()
        for number in list(self._held):
            if full():
                return
            yield number, self._held.pop(number)


class StoredResult(NamedTuple):
    """The stored run with a result."""

    number: int
    """Number of the run."""
    added: bool
    """The result was stored now; otherwise an equal run was stored during the work."""

    def sentence(self, path: Path) -> str:
        """Describe the run, as in 'kept in gpusim.db: run 12'."""
        return f"kept in {path}: run {self.number}" + (", an equal one that came in meanwhile" * (not self.added))


@dataclass(frozen=True)
class RunTiming:
    """When a run began, how many real seconds it took, and the name of its host."""

    date: str
    """When it began."""
    seconds: float
    """Real seconds that it took."""
    host: str
    """Name of the host."""


class RunClock:
    """When a run began, while its time is still running."""

    def __init__(self) -> None:
        self.date, self.host, self._clock = now(), platform.node(), time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the real seconds since the run began."""
        return time.monotonic() - self._clock


class StoreWriter:
    """A store that is open for writing; all that fails raises StoreError. fresh: do not look for equal work.

    What `take` gives to this process to do is its own until it is kept, or the store is closed.
    """

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path, self._fresh = path, fresh
        self._connection, self._under_way = writable(path), WorkLocks(path)
        self._metrics: dict[tuple[str, str, str], int] = {}

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; nothing can be stored after that."""
        self._under_way.close()
        with errors(self.path):
            self._connection.close()

    def take(self, work: RunDescription) -> MatchingRun | WorkInOtherProcess | None:
        """Return the run that did the same work, or who is doing it; None: it is for this process to do.

        Work that is run afresh, or that is not repeatable, waits for nobody.
        """
        if (found := self.found(work)) is not None:
            return found
        holder = self._under_way.hold(work.identity) if work.repeatable else None
        if holder is None:
            return self.found(work)  # its last holder may have kept it in between
        return None if self._fresh else WorkInOtherProcess(holder)

    def wait(self, work: RunDescription, say: Callable[[str], None]) -> MatchingRun | None:
        """Take work, after waiting for another process that is doing it; say: told once what is waited for.

        Returns None where it is for this process to do, as when the other was stopped, failed or was killed.
        """
        told = False
        while isinstance(taken := self.take(work), WorkInOtherProcess):
            if not told:
                say(taken.sentence)
            told = True
            time.sleep(LOOK_EVERY_S)
        return taken

    def found(self, work: RunDescription) -> MatchingRun | None:
        """Return the newest finished run that did the same work; None without one, or for work that is run afresh."""
        if self._fresh or not work.repeatable:
            return None
        sql = """
            SELECT id, started, exit_code, content, wall_s FROM runs JOIN results ON run = id
            WHERE work = ? AND state = 'done' ORDER BY id DESC
        """
        with errors(self.path):
            for number, started, exit_code, content, seconds in self._connection.execute(sql, [work.identity]):
                with suppress(zlib.error, ValueError):  # a damaged one answers nothing
                    return MatchingRun(number, started, exit_code, unpacked(content), seconds or 0.0)
        return None

    def keep(
        self,
        work: RunDescription,
        outcome: RunOutcome,
        started: RunClock | RunTiming,
        sweep: int | None = None,
        points: Sequence[int] = (),
    ) -> StoredResult:
        """Store a run, whole or not at all, unless an equal one has come in since it was looked for.

        points: those of the sweep that the run computed. Others may then do the work.
        """
        try:
            return self._keep(work, outcome, started, sweep, points)
        finally:
            self._under_way.release(work.identity)

    def _keep(
        self,
        work: RunDescription,
        outcome: RunOutcome,
        started: RunClock | RunTiming,
        sweep: int | None,
        points: Sequence[int],
    ) -> StoredResult:
        with writing(self._connection, self.path) as db:
            equal = self.found(work) if outcome.state == "done" else None
            if equal is not None:
                _insert_points(db, sweep, points, equal.number)
                return StoredResult(equal.number, added=False)
            try:
                network, layers = self._insert_network(db, work.network) if work.network is not None else (None, {})
                number = self._insert_run(db, work, outcome, started, sweep, network)
                launches = [self._insert_launch(db, number, row, layers) for row in outcome.launches]
                for measured in outcome.measured:
                    self._insert_values(db, number, measured, layers, launches)
                _insert_points(db, sweep, points, number)
            except BaseException:
                self._metrics.clear()  # the new ones were not stored
                raise
        return StoredResult(number, added=True)

    def sweep(self, identity: str, title: str, specification: Any, points: int) -> int:
        """Return the number of a sweep by this code, which is added if need be. points: how many it will have."""
        key = (identity, sources_hash())
        values = {"title": title, "specification": json.dumps(specification), "points": points}
        with writing(self._connection, self.path) as db:
            row = db.execute("SELECT id FROM sweeps WHERE hash = ? AND sources = ?", key).fetchone()
            if row is None:
                return _insert(db, "sweeps", {"hash": key[0], "sources": key[1], "started": now(), **values})
            columns = ", ".join(f"{column} = ?" for column in values)
            db.execute(f"UPDATE sweeps SET {columns} WHERE id = ?", [*values.values(), row[0]])
        return int(row[0])

    def choose(self, sweep: int, first: int, points: Sequence[Mapping[str, Any]]) -> None:
        """Store the axis values of a sweep's points, all of them or none. first: number of the first point."""
        rows = ((sweep, path, n, axis_value(v)) for n, point in enumerate(points, first) for path, v in point.items())
        with writing(self._connection, self.path) as db:
            db.executemany("INSERT OR IGNORE INTO axes VALUES (?, ?, ?, ?)", rows)

    def chosen(self, sweep: int) -> list[dict[str, Any]]:
        """Return the points of a sweep in order: axis values by path, as `axis_value` makes them."""
        found: dict[int, dict[str, Any]] = {}
        sql = "SELECT number, path, value FROM axes WHERE sweep = ? ORDER BY number"
        with errors(self.path):
            for number, path, value in self._connection.execute(sql, [sweep]):
                found.setdefault(number, {})[path] = value
        return list(found.values())

    def points_there(self, sweep: int, retry: bool = False) -> set[int]:
        """Return the numbers of the points that have been run. retry: leave out those that failed."""
        sql = "SELECT number, state FROM points JOIN runs ON runs.id = points.run WHERE points.sweep = ?"
        with errors(self.path):
            rows = self._connection.execute(sql, [sweep]).fetchall()
        return {number for number, state in rows if not (retry and state == "failed")}

    def keep_point(self, sweep: int, points: Sequence[int], run: int) -> None:
        """Store that these points of a sweep were computed by a run of the store."""
        with writing(self._connection, self.path) as db:
            _insert_points(db, sweep, points, run)

    def _insert_run(
        self,
        db: sqlite3.Connection,
        work: RunDescription,
        outcome: RunOutcome,
        started: RunClock | RunTiming,
        sweep: int | None,
        network: int | None,
    ) -> int:
        configuration = (work.configuration_hash, work.configuration_json)
        db.execute("INSERT OR IGNORE INTO configurations VALUES (?, ?)", configuration)
        number = _insert(
            db,
            "runs",
            {
                **{name: getattr(work, name) for name in ("kind", "title", "gpu", "seed", "batch", "phase")},
                **{name: getattr(outcome, name) for name in ("state", "exit_code", "error")},
                "started": started.date,
                "ended": now(),
                "wall_s": started.seconds,
                "host": started.host,
                "command": _command(),
                "folder": os.getcwd(),
                "gpusim": __version__,
                "sources": sources_hash(),
                "configuration": work.configuration_hash,
                "inputs": work.inputs_hash,
                "work": work.identity,
                "network": network,
                "sweep": sweep,
            },
        )
        db.execute("INSERT INTO results VALUES (?, ?)", (number, packed(outcome.content)))
        return number

    def _insert_network(self, db: sqlite3.Connection, network: NetworkRows) -> tuple[int, dict[str | None, int]]:
        """Store a network and its layers; return its number, and theirs by name."""
        row = (network.identity, network.name, network.source)
        db.execute("INSERT OR IGNORE INTO networks (hash, name, source) VALUES (?, ?, ?)", row)
        (number,) = db.execute("SELECT id FROM networks WHERE hash = ?", row[:1]).fetchone()
        rows = [(number, position, name, kind) for position, (name, kind) in enumerate(network.layers)]
        db.executemany("INSERT OR IGNORE INTO layers (network, position, name, kind) VALUES (?, ?, ?, ?)", rows)
        return number, dict(db.execute("SELECT name, id FROM layers WHERE network = ?", [number]))

    def _insert_launch(self, db: sqlite3.Connection, run: int, row: LaunchRow, layers: Mapping[str | None, int]) -> int:
        columns = {**vars(row), "run": run, "layer": layers.get(row.layer), "pass": row.what}
        del columns["what"]
        return _insert(db, "launches", columns)

    def _insert_values(
        self, db: sqlite3.Connection, run: int, of: MetricSet, layers: Mapping[str | None, int], launches: list[int]
    ) -> None:
        launch = None if of.launch is None else launches[of.launch]
        row = (run, of.variant, layers.get(of.layer), of.what, launch)
        sql = "INSERT INTO subjects (run, variant, layer, pass, launch) VALUES (?, ?, ?, ?, ?)"
        subject = db.execute(sql, row).lastrowid
        rows = [(self._metric(db, v), subject, _storable(v.value), v.half_width) for v in of.values]
        db.executemany("INSERT INTO metric_values VALUES (?, ?, ?, ?)", rows)

    def _metric(self, db: sqlite3.Connection, value: MetricValue) -> int:
        key = (value.name, value.unit, value.definition)
        number = self._metrics.get(key)
        if number is None:
            db.execute("INSERT OR IGNORE INTO metric_names (name, unit, definition) VALUES (?, ?, ?)", key)
            sql = "SELECT id FROM metric_names WHERE name = ? AND unit = ? AND definition = ?"
            number = self._metrics[key] = int(db.execute(sql, key).fetchone()[0])
        return number


def _insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    columns = ", ".join(row)
    cursor = db.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _insert_points(db: sqlite3.Connection, sweep: int | None, points: Sequence[int], run: int) -> None:
    rows = [(sweep, point, run) for point in points]
    db.executemany("INSERT OR REPLACE INTO points VALUES (?, ?, ?)", rows)


def axis_value(value: Any) -> Any:
    """Convert a value of an axis for the store: lists and mappings become JSON text."""
    return json.dumps(value) if isinstance(value, list | Mapping) else _storable(value)


def _storable(value: Any) -> Any:
    """Convert a value for SQLite: lists become JSON text, integers beyond its range become floating-point numbers."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if abs(value) <= MOST_INTEGER else float(value)
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list) else value


def _command() -> str:
    started = Path(sys.argv[0]).name
    return shlex.join([started if started.endswith(".py") else "gpusim", *sys.argv[1:]])
