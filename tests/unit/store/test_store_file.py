"""Is a store made, migrated and refused as it should be, and is what fails one line that leaves the file as it was?"""

import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.results.store import file
from gpusim.results.store.reading import StoreReader

SCRIPTS = file.scripts()
LATER = {**SCRIPTS, max(SCRIPTS) + 1: "CREATE TABLE later (id INTEGER)"}


def made(path: Path, version: int) -> None:
    """A store of a version, as the scripts up to that one make it."""
    with sqlite3.connect(path) as db:
        for number, script in SCRIPTS.items():
            if number <= version:
                db.executescript(script)
                db.execute("INSERT INTO migrations VALUES (?, '2026-01-01T00:00:00Z', '0.0')", [number])
        db.execute(f"PRAGMA application_id = {file.APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {version}")
        db.execute('INSERT INTO configurations VALUES (\'c\', \'{"gpu":{"name":"g"}}\')')
        columns = "kind, title, state, exit_code, started, ended, wall_s, host, command, folder, gpusim, sources"
        db.execute(
            f"INSERT INTO runs ({columns}, configuration, inputs, work, gpu)"
            " VALUES ('run', 'old', 'done', 0, 's', 'e', 1.5, 'h', 'gpusim run', '/', '0.0', 's', 'c', 'i', 'w', 'g')"
        )
        db.execute("INSERT INTO metric_names VALUES (1, 'kernel.cycles', 'cycles', 'd')")
        db.execute("INSERT INTO subjects VALUES (1, 1, '', NULL, NULL, NULL)")
        db.execute("INSERT INTO metric_values VALUES (1, 1, 42, NULL)")
    db.close()


def structure(path: Path) -> dict[str, list[tuple[object, ...]]]:
    db = sqlite3.connect(path)
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'index')")]
    found = {n: [tuple(row[1:]) for row in db.execute(f"PRAGMA table_info({n})")] for n in names}
    db.close()
    return found


@pytest.mark.parametrize("version", SCRIPTS)
def test_a_store_of_each_version_becomes_one_of_the_next(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    made(old, version)
    monkeypatch.setattr(file, "scripts", lambda: LATER)
    file.writable(new).close()
    file.writable(old).close()
    assert structure(old) == structure(new)
    with StoreReader(old) as results:
        assert results.wide("kernel.cycles").rows == [(1, None, "run", "old", "g", "done", "", 42)]
        assert [row["version"] for row in results.rows("SELECT version FROM migrations")] == list(LATER)
        assert "later" in results.tables()


def test_an_older_store_is_read_without_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old.db"
    made(old, max(SCRIPTS))
    before = old.read_bytes()
    monkeypatch.setattr(file, "scripts", lambda: LATER)
    monkeypatch.setattr("gpusim.results.store.reading.readable", lambda path: file.readable(path))

    def refused(path: Path, wait_s: float = 0) -> sqlite3.Connection:
        raise file.StoreError("read-only")

    monkeypatch.setattr(file, "writable", refused)
    with StoreReader(old) as results:
        assert "later" in results.tables()
        assert results.table("runs")[0]["title"] == "old"
    assert old.read_bytes() == before


def not_sqlite(path: Path) -> None:
    path.write_text("kernel.cycles: 3\n" * 100)


def of_something_else(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (id INTEGER)")
    db.close()


def newer(path: Path) -> None:
    file.writable(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {file.version() + 1}")
    db.close()


def unreleased(path: Path) -> None:
    file.writable(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {min(SCRIPTS) - 1}")
    db.close()


def damaged(path: Path) -> None:
    made(path, file.version())
    data = bytearray(path.read_bytes())
    data[100:2000] = b"\xff" * 1900
    path.write_bytes(data)


def without_a_table(path: Path) -> None:
    file.writable(path).close()
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE metric_values")
    db.close()


def without_a_column(path: Path) -> None:
    file.writable(path).close()
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE runs RENAME COLUMN title TO heading")
    db.close()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_a_table, "is damaged: it lacks table metric_values"),
        (without_a_column, "is damaged: it lacks column title of table runs"),
        (not_sqlite, "is not an SQLite file"),
        (of_something_else, "an SQLite file of something else"),
        (newer, "written by a newer gpusim"),
        (unreleased, r"was written before gpusim 0\.2\.0 \(version 3 of the store's tables\)"),
        (damaged, "is damaged"),
        (Path.mkdir, "is a folder"),
    ],
)
@pytest.mark.parametrize("opens", [file.writable, file.readable])
def test_what_is_no_store_is_one_line_and_stays(tmp_path: Path, spoil, said: str, opens) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "s.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(file.StoreError, match=said) as caught:
        opens(path)
    assert len(caught.value.problems) == 1
    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_what_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(file.StoreError, match="there is no such store"):
        file.readable(tmp_path / "s.db")
    with pytest.raises(file.StoreError, match=r"folder .* does not exist"):
        file.writable(tmp_path / "none" / "s.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(file.StoreError, match="is empty"):
        file.readable(tmp_path / "empty.db")
    assert [p.name for p in tmp_path.iterdir()] == ["empty.db"]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "s.db").touch()
    file.writable(tmp_path / "s.db").close()
    assert StoreReader(tmp_path / "s.db").table("runs") == []


@contextmanager
def without_rights_of_root() -> Iterator[None]:
    """Be another user, if it is root that runs the tests: root may write everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # nobody
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(0)


def test_a_read_only_folder_is_one_line_and_can_be_read() -> None:
    with tempfile.TemporaryDirectory() as name:  # tmp_path can be read by its owner alone
        folder = Path(name)
        made(folder / "s.db", file.version())
        folder.chmod(0o555)
        with without_rights_of_root():
            with pytest.raises(file.StoreError, match=r"may not be read or written|read-only"):
                file.writable(folder / "s.db")
            assert StoreReader(folder / "s.db").table("runs")[0]["title"] == "old"
        folder.chmod(0o700)


def test_a_writer_waits_and_then_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    held = file.writable(path)
    with file.writing(held, path), pytest.raises(file.StoreError, match="locked by another process that writes"):
        file.writable(path, wait_s=0.05)
    file.writable(path).close()


FULL = """
import resource, signal, sys
from pathlib import Path
from gpusim.results.store import file
path = Path(sys.argv[1])
db = file.writable(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = path.stat().st_size + 20_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with file.writing(db, path):
        db.execute("INSERT INTO configurations VALUES ('big', ?)", ["x" * 3_000_000])
except file.StoreError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of files' sizes here")
def test_a_full_disk_is_one_line_and_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    made(path, file.version())
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True)
    assert "the disk may be full; nothing in it was changed" in done.stdout, done.stderr
    with StoreReader(path) as results:
        assert len(results.table("configurations")) == 1
        assert results.table("runs")[0]["title"] == "old"


def written_until_killed(path: Path, ready: Path) -> None:
    db = file.writable(path)
    number = 0
    while True:
        with file.writing(db, path):
            for part in range(20):
                db.execute("INSERT INTO configurations VALUES (?, '{}')", [f"{number} {part}"])
        number += 1
        ready.touch()


@pytest.mark.parametrize("after_s", [0.0, 0.013, 0.04])
def test_a_killed_writer_leaves_whole_transactions(tmp_path: Path, after_s: float) -> None:
    path, ready = tmp_path / "s.db", tmp_path / "ready"
    writer = multiprocessing.get_context("fork").Process(target=written_until_killed, args=(path, ready))
    writer.start()
    while not ready.exists():
        time.sleep(0.001)
    time.sleep(after_s)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    with StoreReader(path) as results:
        names = [row["hash"] for row in results.table("configurations")]
    assert len(names) >= 20
    assert len(names) % 20 == 0
    file.writable(path).close()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM runs", "asked only"),
        ("UPDATE runs SET title = 'x'", "asked only"),
        ("ATTACH 'other.db' AS other", "asked only"),
        ("PRAGMA user_version = 9", "asked only"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT cycles FROM runs", "no such column: cycles"),
        ("SELECT * FROM run", "tables: axes, "),
        ("SELEC", "syntax error"),
    ],
)
def test_a_query_only_asks(tmp_path: Path, sql: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path / "s.db", file.version())
    with StoreReader(tmp_path / "s.db") as results:
        with pytest.raises(UserError, match=said):
            results.query(sql)
        assert results.query("SELECT title FROM runs").rows == [("old",)]
    assert [p.name for p in tmp_path.iterdir() if "other" in p.name] == []


def test_tables_and_columns_that_are_not_there_are_named_with_the_nearest(tmp_path: Path) -> None:
    made(tmp_path / "s.db", file.version())
    with StoreReader(tmp_path / "s.db") as results:
        with pytest.raises(UserError, match="did you mean 'runs'"):
            results.table("run")
        with pytest.raises(UserError, match="did you mean 'kind'"):
            results.table("runs", kinds="net")
        with pytest.raises(UserError, match=r"did you mean 'kernel\.cycles'"):
            results.wide("kernel.cycle")
        with pytest.raises(UserError, match=r"no run '7' in it; it has runs 1 to 1"):
            results.run(7)
        assert results.run("1")["title"] == "old"
        assert results.table("metrics", name="kernel.cycles")[0]["unit"] == "cycles"
