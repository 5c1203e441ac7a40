"""`gpusim results` and `gpusim query`: what they print of a store, what they change in it, what they refuse."""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.base.table import Table, columns
from gpusim.cli.main import invoke
from gpusim.model.core.facts import RunFacts
from gpusim.results.records.record import RunRecord
from gpusim.results.store.keeper import RunClock, StoreWriter
from gpusim.results.store.outcome import build_outcome, failed
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.work import RunDescription

CYCLES = {"layerA": 3000, "layerB": 6000, "vector_add": 90}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with StoreWriter(Path("gpusim.db")) as keeper:
        for number, (title, cycles) in enumerate(CYCLES.items()):
            facts = RunFacts.of(kernel={"name": title, "cycles": cycles, "clock_ghz": 1.5}, l2={"hits": number})
            work = RunDescription("run" if number < 2 else "exec", title, {"engine": {"sib_kib": number}}, (), "MI6")
            keeper.keep(work, build_outcome([RunRecord(False, title, [facts])], [""], 0), RunClock())
        keeper.keep(
            RunDescription("run", "bad", {"engine": {"sib_kib": 0}}, (), "MI6"), failed("it does not fit"), RunClock()
        )
        sweep = keeper.sweep("s", "s", {}, 2)
        keeper.choose(sweep, 0, [{"a": 1}, {"a": 2}])
        keeper.keep_point(sweep, [0], 2)
        keeper.keep_point(sweep, [1], 4)
    return tmp_path / "gpusim.db"


def said(arguments: list[str], capfd: Any, code: int = 0) -> tuple[str, str]:
    assert invoke(arguments) == code
    captured = capfd.readouterr()
    return captured.out, captured.err


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        ([], ["layerA", "layerB", "vector_add", "bad"]),
        (["--kind", "exec"], ["vector_add"]),
        (["--state", "failed"], ["bad"]),
        (["--text", "layer"], ["layerA", "layerB"]),
        (["--text", "ayer_"], []),
        (["--with", "engine.sib_kib=0"], ["layerA", "bad"]),
        (["--sweep", "1"], ["layerB", "bad"]),
        (["--with", "engine.none=null"], ["layerA", "layerB", "vector_add", "bad"]),
        (["--last", "2"], ["vector_add", "bad"]),
    ],
)
def test_list_and_its_filters(store: Path, capfd: Any, options: list[str], titles: list[str]) -> None:
    out, err = said(["results", "list", *options], capfd)
    head, *found = rows(out)
    assert head[3] == "title"
    assert [row[3] for row in found] == titles
    assert err == {2: "", 0: "gpusim.db: no such run\n"}.get(len(titles), "") or "--last" in options
    times = {row[3]: row[6] for row in found if row[5] == "done"}
    assert times == {title: f"{CYCLES[title] / 1500:.1f}" for title in times}


def test_a_path_that_no_configuration_has_is_said(store: Path, capfd: Any) -> None:
    said_so = said(["results", "list", "--with", "engine.sib_kb=1"], capfd, 2)[1]
    assert "no run's configuration has engine.sib_kb; did you mean 'engine.sib_kib'?" in said_so
    assert said(["results", "list", "--with", "engine.sib_kib=77"], capfd)[1] == "gpusim.db: no such run\n"


def test_a_list_that_is_cut_says_so(store: Path, capfd: Any) -> None:
    assert "the newest 2 of 4 runs" in said(["results", "list", "--last", "2"], capfd)[1]
    assert said(["results", "list", "--last", "0"], capfd)[1] == ""


def test_show_prints_a_result_and_writes_its_document(store: Path, capfd: Any) -> None:
    out, _ = said(["results", "show", "2"], capfd)
    assert "run: layerB, on MI6" in out
    assert "6,000" in out
    out, _ = said(["results", "show", "2", "--json", "-"], capfd)
    assert json.loads(out)["kernel"]["cycles"] == 6000
    assert json.loads(out)["config"] == {"engine": {"sib_kib": 1}}
    assert "failed: it does not fit" in said(["results", "show", "4"], capfd)[0]
    assert "failed: it does not fit" in said(["results", "show", "4", "--json", "-"], capfd, 2)[1]


def test_a_name_is_of_one_run(store: Path, capfd: Any) -> None:
    said(["results", "name", "1", "base"], capfd)
    assert "run 1 is called 'base': --move" in said(["results", "name", "2", "base"], capfd, 2)[1]
    said(["results", "name", "2", "base", "--move"], capfd)
    assert [row["name"] for row in StoreReader(store).table("runs")] == [None, "base", None, None]
    assert "layerB" in said(["results", "show", "base"], capfd)[0]
    said(["results", "name", "base"], capfd)
    assert [row["name"] for row in StoreReader(store).table("runs")] == [None] * 4


@pytest.mark.parametrize("name", ["12", "", "a/b", "a.json"])
def test_a_name_that_means_something_else_is_refused(store: Path, capfd: Any, name: str) -> None:
    assert "is not allowed" in said(["results", "name", "1", name], capfd, 2)[1]


def test_delete_takes_all_that_is_known_of_runs_and_nothing_else(store: Path, capfd: Any) -> None:
    with StoreReader(store) as results:
        before = {name: len(results.table(name)) for name in ("metric_values", "configurations", "launches")}
        of_two = len(results.table("metrics", run=2))
    assert "no run '9'" in said(["results", "delete", "2", "9"], capfd, 2)[1]
    assert said(["results", "delete", "2"], capfd)[1] == "deleted from gpusim.db: 1 run\n"
    with StoreReader(store) as results:
        assert [row["id"] for row in results.table("runs")] == [1, 3, 4]
        assert len(results.table("metric_values")) == before["metric_values"] - of_two
        assert len(results.table("configurations")) == before["configurations"] - 1
        assert len(results.table("launches")) == before["launches"] - 1
        assert {row["run"] for row in results.table("subjects")} == {1, 3}
    said(["results", "delete", "1"], capfd)  # run 4 has the same configuration
    assert len(StoreReader(store).table("configurations")) == before["configurations"] - 1


def test_export_has_a_column_for_each_metric(store: Path, capfd: Any) -> None:
    said(["results", "export", "--csv", "a.csv"], capfd)
    table = list(csv.DictReader(io.StringIO(Path("a.csv").read_text())))
    assert [(row["run"], row["kernel.cycles"], row["l2.hits"]) for row in table] == [
        ("1", "3000", "0"), ("2", "6000", "1"), ("3", "90", "2"),
    ]  # fmt: skip
    out, _ = said(["results", "export", "--csv", "-", "--metric", "kernel.cycles"], capfd)
    assert out.splitlines()[0] == "run,name,kind,title,gpu,state,variant,kernel.cycles"
    out, _ = said(["results", "export", "--csv", "-", "--table", "launches"], capfd)
    assert len(out.splitlines()) == 4
    assert (
        "did you mean 'kernel.cycles'" in said(["results", "export", "--csv", "-", "--metric", "cycles"], capfd, 2)[1]
    )
    assert "--csv FILE or --parquet FILE" in said(["results", "export"], capfd, 2)[1]
    assert "overwritten" in said(["results", "export", "--csv", "gpusim.db"], capfd, 2)[1]


def test_parquet_without_its_extra_says_how_to_get_it(store: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "needs the extra 'parquet'" in said(["results", "export", "--parquet", "a.parquet"], capfd, 2)[1]
    assert not Path("a.parquet").exists()


def test_parquet_has_the_rows() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    written = Table(columns("a", "b", "c"), [(1, "x", 1), (None, 2, 0.5)]).parquet()
    assert parquet.read_table(io.BytesIO(written)).to_pylist() == [
        {"a": 1, "b": "x", "c": 1.0}, {"a": None, "b": "2", "c": 0.5},
    ]  # fmt: skip


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_tables_for_other_packages(store: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = StoreReader(store).wide("kernel.cycles")
    assert table[1]["kernel.cycles"] == table[1:2][0]["kernel.cycles"] == 6000
    made: dict[str, Any] = {}

    class Frames:
        @staticmethod
        def DataFrame(rows: Any, **more: Any) -> str:
            made.update(rows=rows, **more)
            return "frame"

    monkeypatch.setitem(sys.modules, package, Frames)  # type: ignore[arg-type]
    assert getattr(table, package)() == "frame"
    assert made["rows"] == table.rows
    assert table.columns in made.values()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=f"{package} is not installed"):
        getattr(table, package)()


def test_query_prints_and_writes_rows(store: Path, capfd: Any) -> None:
    sql = "SELECT id, title, NULL AS missing FROM runs WHERE id < 3"
    assert said(["query", sql], capfd)[0] == "id\ttitle\tmissing\n1\tlayerA\t\n2\tlayerB\t\n"
    assert said(["query", sql, "--csv", "-"], capfd)[0] == "id,title,missing\n1,layerA,\n2,layerB,\n"
    assert json.loads(said(["query", sql, "--json", "-"], capfd)[0])[1] == {"id": 2, "title": "layerB", "missing": None}
    for nothing in ("", "  -- nothing"):
        assert "query: it asks nothing; allowed is one SELECT" in said(["query", nothing], capfd, 2)[1]
    assert "asked only" in said(["query", "DROP TABLE runs"], capfd, 2)[1]
    assert "there is no such store" in said(["query", "SELECT 1", "--store", "none.db"], capfd, 2)[1]
    assert not Path("none.db").exists()
