"""Does a sweep's table know its axes, what is best and what nobody beats, and is it shown as HTML that is escaped?"""

import sqlite3
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.results.report.sweep_html import MOST_ROWS
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweeps import SweepTable
from tests.support.sweeps import TIME, stored_sweep

SIB, BUFFER = "engine.sib_kib", "engine.prefetch_buffer_kib"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    points = [
        ({SIB: 512, BUFFER: 64}, {"": {TIME: (10.0, 1.0), "kernel.cycles": 10}}),
        ({SIB: 64, BUFFER: 64}, {"": {TIME: (11.5, 1.0), "kernel.cycles": 11}}),
        ({SIB: 64, BUFFER: 256}, {"": {TIME: (20.0, 1.0), "kernel.cycles": 20}}),
        ({SIB: 512, BUFFER: 256}, "no space <here>"),
    ]
    stored_sweep(tmp_path / "gpusim.db", "sizes <b>", points)
    return tmp_path / "gpusim.db"


@pytest.fixture
def sweep(store: Path) -> Iterator[SweepTable]:
    with StoreReader(store) as results:
        yield results.sweep(1)


def test_the_table_knows_its_axes_and_points(sweep: SweepTable) -> None:
    assert sweep.axes == {SIB: [64, 512], BUFFER: [64, 256]}
    assert (sweep.number, sweep.name, sweep.title, sweep.known, sweep.planned) == (1, None, "sizes <b>", 4, 4)
    assert [row["point"] for row in sweep.failed] == [3]
    assert sweep.columns[-3:] == ["kernel.cycles", TIME, f"{TIME}_half_width"]
    assert sweep[0][f"{TIME}_half_width"] == 1.0 and sweep[3][TIME] is None
    assert repr(sweep).startswith("<sweep 1: sizes <b>; 4 of 4 points over engine.sib_kib (2)")


def test_the_best_is_not_alone_where_noise_alone_tells_it_from_others(sweep: SweepTable) -> None:
    assert [row["point"] for row in sweep.best()] == [0, 1]
    assert [row["point"] for row in sweep.best("kernel.cycles")] == [0]
    assert [row["point"] for row in sweep.best("kernel.cycles", least=False)] == [2]
    with pytest.raises(UserError, match=r"did you mean 'kernel.cycles'"):
        sweep.best("kernel.cycle")


def test_the_front_takes_columns_and_functions(sweep: SweepTable) -> None:
    assert [row["point"] for row in sweep.pareto(TIME, sweep.memory_kib)] == [0, 1]
    assert [row["point"] for row in sweep.pareto(TIME, SIB)] == [0, 1]
    assert [row["point"] for row in sweep.pareto(SIB, BUFFER)] == [1]
    assert sweep.memory_kib(sweep[0]) == 576
    with pytest.raises(UserError, match="two objectives"):
        sweep.pareto(TIME)


def test_a_sweep_is_found_by_its_name_and_its_metrics_are_checked(store: Path) -> None:
    assert invoke(["results", "name", "sweep:1", "base"]) == 0
    with StoreReader(store) as results:
        assert results.sweep("base").label == "sweep base (1)"
        assert results.sweep("base", "kernel.cycles").usual_metric == "kernel.cycles"
        with pytest.raises(UserError, match=r"did you mean 'kernel.time_us'"):
            results.sweep(1, "kernel.time")
        with pytest.raises(UserError, match=r"there is no sweep none in it; it has base \(1\)"):
            results.sweep("none")


def test_what_was_to_be_sampled_but_ran_whole_has_no_half_widths(tmp_path: Path) -> None:
    stored_sweep(
        tmp_path / "s.db", "whole", [({SIB: 1}, {"": {TIME: (1.0, 0.0)}}), ({SIB: 2}, {"": {TIME: (2.0, 0.0)}})]
    )
    with StoreReader(tmp_path / "s.db") as results:
        table = results.sweep(1, TIME)
    assert table.columns[-1] == TIME and [row["point"] for row in table.best()] == [0]


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_its_html_says_what_is_best_and_is_escaped(sweep: SweepTable) -> None:
    page = Tags(sweep._repr_html_())
    assert not {"script", "style", "img", "b"} & set(page.tags)
    assert page.tags.count("table") == 2, "what matters, and the points"
    assert "sweep 1: sizes <b> – 4 of 4 points, 1 failed" in page.text
    assert "least kernel.time_us: 10 ± 1 us, at engine.sib_kib 512, engine.prefetch_buffer_kib 64" in page.text
    assert f"not distinguishable from it: {SIB} 64, {BUFFER} 64" in page.text
    assert f"of these the smallest memories, 128 KiB, are at {SIB} 64, {BUFFER} 64" in page.text


def test_html_of_many_points_and_of_none_that_ran(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    stored_sweep(store, "many", [({SIB: n}, {"dense": {TIME: float(n)}}) for n in range(1, MOST_ROWS + 3)])
    stored_sweep(store, "none", [({SIB: 1}, "no"), ({SIB: 2}, "no")])
    with StoreReader(store) as results:
        many, none = (Tags(results.sweep(number)._repr_html_()).text for number in (1, 2))
    assert f"Points, the first {MOST_ROWS} of {MOST_ROWS + 2}" in many and "dense" in many
    assert "2 failed" in none and "least" not in none


def test_the_commands_list_show_name_and_delete_sweeps(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stored_sweep(store, "other", [({SIB: 64, BUFFER: 64}, {"": {TIME: 1.0}})])
    with sqlite3.connect(store) as db:  # run 2 is a point of both
        db.execute("INSERT INTO points VALUES (2, 7, 2)")
    assert invoke(["results", "name", "sweep:2", "late"]) == 0
    assert invoke(["results", "name", "1", "late"]) == 2
    assert "sweep 2 is called 'late': --move gives the name to run 1 instead" in capfd.readouterr().err
    assert invoke(["results", "name", "sweep:1", "a:b"]) == 2
    assert "has no colon" in capfd.readouterr().err
    assert invoke(["results", "sweeps"]) == 0
    rows = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    assert rows[0] == ["sweep", "name", "title", "axes", "points", "ended", "failed", "started"]
    assert [row[:7] for row in rows[1:]] == [
        ["1", "", "sizes <b>", "sib_kib, prefetch_buffer_kib", "4", "4", "1"],
        ["2", "late", "other", "sib_kib, prefetch_buffer_kib", "1", "2", "0"],
    ]
    assert invoke(["results", "show", "sweep:1"]) == 0
    out = capfd.readouterr().out
    assert "sweep 1: sizes <b>; 4 of 4 points have ended" in out
    assert "least kernel.cycles: 10 cycles, at engine.sib_kib 512" in out
    assert invoke(["results", "show", "sweep:1", "--section", "memory"]) == 2
    assert invoke(["results", "delete", "sweep:1"]) == 0
    assert capfd.readouterr().err.endswith("deleted from gpusim.db: 1 sweep, 3 runs\n")
    with StoreReader(store) as results:
        assert [(row["id"], row["sweep"]) for row in results.table("runs")] == [(2, None), (5, 2)]
        assert [row["id"] for row in results.table("sweeps")] == [2]
        assert {row["sweep"] for row in results.table("axes")} == {2}
    assert invoke(["results", "name", "late"]) == 0
    assert invoke(["results", "sweeps", "--store", str(store)]) == 0
    assert invoke(["results", "delete", "sweep:2"]) == 0
    capfd.readouterr()
    assert invoke(["results", "sweeps"]) == 0
    assert "no sweep has been stored in it" in capfd.readouterr().err
