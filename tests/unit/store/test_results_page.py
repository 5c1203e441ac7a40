"""Does docs/how-to/stored-results.md describe the tables of a store, and does the Python that it shows work?"""

import json
import re
import sqlite3
from pathlib import Path

import pytest

import gpusim
from docs._site.pages import DOCS
from gpusim.model.core.facts import RunFacts
from gpusim.results.records.record import PartLaunch, PartRecord, RunRecord
from gpusim.results.store.file import writable
from gpusim.results.store.keeper import RunClock, StoreWriter
from gpusim.results.store.outcome import build_outcome
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.work import NetworkRows, RunDescription

PAGE = DOCS / "how-to" / "stored-results.md"


def described() -> dict[str, dict[str, tuple[str, str]]]:
    """The tables that the page describes: by name, each column's type and meaning."""
    text = PAGE.read_text(encoding="utf-8").partition("\n## The tables\n")[2].partition("\n## ")[0]
    rows = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", re.MULTILINE)
    parts = [part.partition("`\n\n") for part in text.split("\n### `")[1:]]
    assert all(body.partition("\n")[0].endswith(".") for _, _, body in parts), "a sentence says what a row is"
    return {name: {column: (kind, what) for column, kind, what in rows.findall(body)} for name, _, body in parts}


def test_the_page_describes_every_table_and_column_of_a_store(tmp_path: Path) -> None:
    writable(tmp_path / "s.db").close()
    found = described()
    with StoreReader(tmp_path / "s.db") as results:
        assert set(found) == set(results.tables())
        for name, columns in found.items():
            types = {row["name"]: row["type"].lower() or "any" for row in results.rows(f"PRAGMA table_info({name})")}
            assert {column: kind for column, (kind, _) in columns.items()} == types, name
            for row in results.rows(f"PRAGMA foreign_key_list({name})"):
                assert columns[row["from"]][1].endswith(f"of `{row['table']}`"), (name, row["from"])


def test_the_page_s_queries_have_one_row_for_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run with two launches, and of a network's with a layer of its own."""
    monkeypatch.chdir(tmp_path)
    one = RunFacts.of(
        kernel={"name": "k", "cycles": 3, "clock_ghz": 1.0},
        l2={"read_transactions": 4, "store_transactions": 0, "atomic_transactions": 0, "hits": 1},
        **{"roofline": {"valu": 10.0}, "stalls": {"issued": 5}},
    )
    part = PartRecord("conv1", "forward", {}, [PartLaunch("k", one)], one)
    with StoreWriter(Path("gpusim.db")) as keeper:
        for title, record in {"two": RunRecord(False, "k", [one, one]), "net": RunRecord(False, "k", [])}.items():
            record.parts = [part] * (title == "net")
            rows = NetworkRows("n", "n", "id", [("conv1", "convolution")]) if record.parts else None
            keeper.keep(
                RunDescription("run", title, {}, (), "g", network=rows), build_outcome([record], [""], 0), RunClock()
            )
    with gpusim.open_store("gpusim.db") as results:
        many = results.query("SELECT run FROM metrics WHERE name = 'l2.hit_rate'")
        frame = results.wide("kernel.cycles", "l2.hit_rate")
    assert len(many) > 2, "what would be counted twice is there"
    with sqlite3.connect("gpusim.db") as db:  # stands for DuckDB's, with the data frame beside the store
        db.execute(f"CREATE TABLE frame ({', '.join(map(json.dumps, frame.columns))})")
        db.executemany(f"INSERT INTO frame VALUES ({', '.join('?' * len(frame.columns))})", frame.rows)
        db.execute("UPDATE runs SET wall_s = 0.5")
    page = PAGE.read_text(encoding="utf-8").replace("gpusim.runs", "runs")
    found = [sql for _, sql in re.findall(r"([\"'])(SELECT .+?)\1\)?$", page, re.MULTILINE)]
    with gpusim.open_store("gpusim.db") as results:
        assert {sql: results.query(sql).rows for sql in found} == {
            "SELECT run, variant, value FROM run_metrics WHERE name = 'l2.hit_rate'": [(1, "", 0.25), (2, "", 0.25)],
            "SELECT kernel, count(*) AS times FROM launches GROUP BY kernel ORDER BY times DESC": [("k", 3)],
            "SELECT title, max(wall_s) FROM runs GROUP BY title": [("net", 0.5), ("two", 0.5)],
            'SELECT title, min("kernel.cycles") FROM frame GROUP BY title': [("net", 3), ("two", 6)],
        }
    assert page.count("SELECT ") == len(found), "no query of the page is left out"


def test_what_the_page_shows_of_python_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    facts = RunFacts.of(kernel={"name": "k", "cycles": 3, "clock_ghz": 1.0}, l2={"hits": 1})
    with StoreWriter(Path("gpusim.db")) as keeper:
        sweep = keeper.sweep("s", "s", {"axes": {"a.b": [1]}}, 1)
        keeper.choose(sweep, 0, [{"a.b": 1}])
        outcome = build_outcome([RunRecord(False, "k", [facts])], [""], 0)
        keeper.keep(RunDescription("run", "layer", {}, (), "g"), outcome, RunClock(), sweep, [0])
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (with_results,) = [block for block in blocks if block.startswith("import gpusim")]
    code = with_results.replace("l2.hit_rate", "l2.hits").replace(".pandas()", "").replace(".polars()", "")
    exec(code, {"gpusim": gpusim})
    with gpusim.open_store("gpusim.db") as results:
        assert next(iter(results.sweep(1))) == {
            "point": 0, "a.b": 1, "run": 1, "state": "done", "variant": "", "kernel.cycles": 3, "kernel.time_us": 0.003,
        }  # fmt: skip
