"""Opening a store, and writing to it: one writer at a time, whole transactions, one clear line for all that fails.

The first script (`migrations/4.sql`) makes the tables of gpusim 0.2.0, the first release. A later one, N.sql, takes a
file from version N - 1 to N; none is changed once released. A test compares a store of each released version, migrated,
with a new one, and `docs/how-to/stored-results.md`, which says what each table and column holds, with both.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.formats import GENERAL
from gpusim.base.version import __version__

APPLICATION_ID = 0x67707573  # "gpus", in the file's header: what tells a store from other SQLite files
WAIT_S = 10.0  # for another process's transaction
_SCRIPTS = Path(__file__).parent / "migrations"
_UNCHANGED = "nothing in it was changed"
# what SQLite says, by the beginning of its error's name
_SAID = {
    "SQLITE_FULL": f"the disk is full; {_UNCHANGED}",
    "SQLITE_READONLY": "cannot be written: it is read-only",
    "SQLITE_CANTOPEN": "cannot be opened: the file or its folder may not be read or written",
    "SQLITE_NOTADB": f"is not an SQLite file; {_UNCHANGED}",
    "SQLITE_CORRUPT": "is damaged: SQLite's `.recover` may save what can still be read; a new store needs another name",
    "SQLITE_IOERR": f"cannot be written or read, the disk may be full; {_UNCHANGED}",
    "SQLITE_BUSY": "is locked by another process",
    "SQLITE_LOCKED": "is locked by another process",
}


class StoreError(UserError):
    """A store cannot be opened, read or written: the message names the file and says why."""


@cache
def scripts() -> dict[int, str]:
    """Return the scripts in order, by the version that each makes; the first one makes it from an empty file."""
    files = sorted((int(file.stem), file) for file in _SCRIPTS.glob("*.sql"))
    return {number: file.read_text(encoding="utf-8") for number, file in files}


def version() -> int:
    """Return the version of stores that this gpusim writes."""
    return max(scripts())


@contextmanager
def errors(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the system into StoreErrors about the store."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or ""
        said = next((text for begin, text in _SAID.items() if name.startswith(begin)), str(error))
        if name.startswith("SQLITE_BUSY"):
            said += f" that writes to it; waited {GENERAL(WAIT_S)} s"
        raise StoreError(f"{path}: {said}") from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from None


def now() -> str:
    """Return the current time as stores write it: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def writable(path: Path, wait_s: float = WAIT_S) -> sqlite3.Connection:
    """Open a store for writing; the file is created if need be, and migrated to this version.

    Raises StoreError, before anything is changed, if the file is no store, is of a newer version or cannot be written.
    """
    with errors(path):
        _check_place(path)
        connection = _connected(path, "rwc", wait_s)
        try:
            _check_kind(connection, path)
            _use_log(connection, wait_s)
            # no transaction waits for the disk: one is lost when the power fails, not when a process is killed
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -65536")  # KiB: the ends of all metrics, where new values go
            connection.execute("PRAGMA foreign_keys = ON")
            with writing(connection, path):  # also where there is nothing to do: shows whether writing is possible
                _check_kind(connection, path)
                _migrate(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def readable(path: Path) -> sqlite3.Connection:
    """Open a store of this version for reading only; raises StoreError.

    A file of an earlier release is migrated; if it cannot be written, a copy in memory is.
    """
    with errors(path):
        if not path.exists():
            raise StoreError(f"{path}: there is no such store; --store on a run makes one")
        _check_place(path)
        connection = _reading(path)
        if _version(connection) == version():
            return connection
        connection.close()
        with suppress(StoreError):
            writable(path).close()
            return _reading(path)
        connection, copy = _reading(path), sqlite3.connect(":memory:", isolation_level=None)
        connection.backup(copy)
        connection.close()
        with writing(copy, path):
            _migrate(copy)
        return copy


def _reading(path: Path) -> sqlite3.Connection:
    connection = _connected(path, "ro", WAIT_S)
    try:
        _check_kind(connection, path)
    except sqlite3.OperationalError:
        # a log cannot be shared in a folder that cannot be written: without one the file is all there is
        connection.close()
        if path.with_name(f"{path.name}-wal").exists():
            raise
        connection = _connected(path, "ro&immutable=1", WAIT_S)
        _check_kind(connection, path)
    if _version(connection) == 0:
        connection.close()
        raise StoreError(f"{path}: is empty: no run has been stored in it")
    return connection


def _connected(path: Path, mode: str, wait_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=wait_s, isolation_level=None, cached_statements=512
    )


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path}: is a folder; a store is a file")
    if not path.absolute().parent.is_dir():
        raise StoreError(f"{path}: folder {path.absolute().parent} does not exist")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path}: is no regular file; a store is one")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError for a file that is no store, or of a version that this gpusim does not know."""
    schema = _version(connection)
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        if tables or schema:
            raise StoreError(f"{path}: is an SQLite file of something else, not a store of gpusim; {_UNCHANGED}")
    elif schema > version():
        raise StoreError(
            f"{path}: was written by a newer gpusim (version {schema} of the store's tables; this one, {__version__}, "
            f"knows {version()}): use that, or another store; {_UNCHANGED}"
        )
    elif 0 < schema < min(scripts()):
        raise StoreError(
            f"{path}: was written before gpusim 0.2.0 (version {schema} of the store's tables) and cannot be read: use"
            f" another store; {_UNCHANGED}"
        )
    elif schema == version() and (missing := sorted(_columns_of_version() - _columns(connection))):
        table, column = missing[0]
        whole = all(name != table for name, _ in _columns(connection))
        what = f"table {table}" if whole else f"column {column} of table {table}"
        raise StoreError(f"{path}: is damaged: it lacks {what}; {_UNCHANGED}")


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return the tables of a file with their columns."""
    sql = """
        SELECT there.name, part.name FROM sqlite_schema AS there, pragma_table_info(there.name) AS part
        WHERE there.type = 'table' AND there.name NOT LIKE 'sqlite_%'
    """
    return set(connection.execute(sql).fetchall())


def _columns_of_version() -> frozenset[tuple[str, str]]:
    """Return the tables of this version with their columns."""
    return _columns_made_by(tuple(scripts().values()))


@cache
def _columns_made_by(texts: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """Return the tables that scripts make from an empty file, with their columns."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for text in texts:
            connection.executescript(text)
        return frozenset(_columns(connection))
    finally:
        connection.close()


def _use_log(connection: sqlite3.Connection, wait_s: float) -> None:
    """Keep a write-ahead log, so that readers do not wait; SQLite itself does not wait for the right to begin one."""
    end = time.monotonic() + wait_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version, within a transaction."""
    found = _version(connection)
    if found == version():
        return
    for number, script in scripts().items():
        if number > found:
            for statement in script.split(";\n"):
                connection.execute(statement)
            row = (number, now(), __version__)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", row)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version()}")


@contextmanager
def writing(connection: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """Open a transaction: all that is done within it is stored, or nothing. Raises StoreError."""
    with errors(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # the error may have ended the transaction
                connection.execute("ROLLBACK")
            raise
