"""Are tests of Python projects drawn by a seed, and are their outcomes counted and blamed?"""

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tests.vendor import python_suites
from tests.vendor.python_suites import FileRow, Suite, draw_files, read_row, recorded_rows, suite_table, suite_text

CUB = "tests/a.py::TestCubReduction::test_cub_sum"
TITLE = "CuPy 13.3.0"
SUITE = Suite(TITLE, ("cupy_tests", "cupyx_tests", "test_alone.py"))


def process(ended: bool = True, cut: str = "") -> list[Any]:
    return ["", "process", {"launches": 3, "cpu_s": 2.0, "cut": cut, "ended": ended, "code": 0}]


def read(*notes: Any) -> FileRow:
    return read_row([json.dumps(note) for note in notes], TITLE)


def test_files_are_drawn_by_the_seed(tmp_path: Path) -> None:
    for name in ("cupy_tests/core", "cupyx_tests/scipy", "example_tests"):
        (tmp_path / name).mkdir(parents=True)
        for number in range(10):
            (tmp_path / name / f"test_{number}.py").touch()
    drawn = draw_files(tmp_path, SUITE, 7, 5)
    assert len(drawn) == 4 and drawn == draw_files(tmp_path, SUITE, 7, 5) != draw_files(tmp_path, SUITE, 8, 5)
    assert not any(file.startswith("example_tests") for file in drawn)
    assert not {*drawn} & {*draw_files(tmp_path, SUITE, 7, 2, drawn)}
    (tmp_path / "test_alone.py").touch()
    assert "test_alone.py" in draw_files(tmp_path, SUITE, 7, 1)


def test_outcomes_are_counted_and_failures_blamed() -> None:
    notes = [
        *(["", "drawn", [7, 90]], ["a", "begun", ""], ["a", "passed", ""], ["b", "failed", "why"], ["b", "passed", ""]),
        *(["c", "skipped", ""], [CUB, "failed", ""], process(False), ["", "drawn", [7, 90]], ["d", "xfailed", ""]),
        ["e::f", "begun", ""],
    ]
    row = read(*notes, process())
    assert (row.drawn, row.tests, row.passed, row.skipped, row.launches, row.cpu_s) == (7, 90, 1, 2, 6, 4.0)
    assert row.failed == {"unexplained": ["b", "f"], "project": [CUB.removeprefix("tests/a.py::")]} and row.ended
    cut = read(*notes, process(cut="9 s"))
    assert cut.failed["unexplained"] == ["b"], "the one that was cut off says nothing"
    assert not read(*notes, process(False)).ended
    assert "| all | 14 of 180 | 2 | 4 | 2 | 0 | 0 | 0 | 3 |" in suite_table({"one": row, "two": cut})
    kept = {"title": TITLE, "seed": 56, "of": 5, "tests": 24, "drawn": 4, "rows": {"one": vars(row), "two": vars(cut)}}
    assert "2 of 4 files were run, of 7 tests with a verdict 2 pass (28.6%)" in suite_text(kept)


def test_rows_of_the_same_draw_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row, asked = FileRow(drawn=3, passed=3), Namespace(suite="cupy", seed=56, of=5, tests=24, fresh=False)
    monkeypatch.setattr(python_suites, "RESULTS", tmp_path / "results.json")
    assert recorded_rows(asked) == {}
    kept = {"title": TITLE, "seed": 56, "of": 5, "tests": 24, "drawn": 1, "rows": {"one": vars(row)}}
    (tmp_path / "results.json").write_text(json.dumps({"cupy": kept}))
    assert recorded_rows(asked) == {"one": row}
    assert recorded_rows(Namespace(**{**vars(asked), "seed": 57})) == {}
    assert recorded_rows(Namespace(**{**vars(asked), "fresh": True})) == {}, "that table is another"


def test_tests_are_drawn_by_name_and_a_smaller_draw_is_part_of_a_larger_one(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = {"seed": 56, "most": 3, "outcomes": "outcomes"}
    monkeypatch.setenv("TESTS_DRAW", json.dumps(draw))
    monkeypatch.delitem(sys.modules, "tests.vendor.python_plugin", raising=False)
    from tests.vendor import python_plugin

    names = [f"test_{number}" for number in range(20)]
    three = python_plugin.drawn(names)
    assert three == python_plugin.drawn(names[::-1]) and len(three) == 3
    monkeypatch.setitem(python_plugin.DRAW, "most", 8)
    assert set(three) < set(python_plugin.drawn(names))
