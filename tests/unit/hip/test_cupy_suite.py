"""Are CuPy's own tests drawn by a seed, and are their outcomes counted and blamed?"""

import json
from pathlib import Path

from tests.vendor.cupy_suite import draw_files, read_outcomes, row_of
from tests.vendor.suites import Row

CUB = "tests/a.py::TestCubReduction::test_cub_sum"


def test_files_are_drawn_by_the_seed(tmp_path: Path) -> None:
    for name in ("cupy_tests/core", "cupyx_tests/scipy", "example_tests"):
        (tmp_path / name).mkdir(parents=True)
        for number in range(10):
            (tmp_path / name / f"test_{number}.py").touch()
    drawn = draw_files(tmp_path, 7, 5)
    assert len(drawn) == 4 and drawn == draw_files(tmp_path, 7, 5) and drawn != draw_files(tmp_path, 8, 5)
    assert not any(file.startswith("example_tests") for file in drawn)


def test_outcomes_are_counted_and_failures_blamed() -> None:
    lines = [
        *(("a", "begun"), ("a", "passed"), ("b", "begun"), ("b", "failed"), ("b", "passed"), ("c", "skipped")),
        *((CUB, "failed"), ("d", "xfailed"), ("e::f", "begun")),
    ]
    outcomes = read_outcomes([json.dumps([name, outcome, ""]) for name, outcome in lines])
    row = row_of(outcomes, Row())
    assert (row.passed, row.skipped) == (1, 2)
    assert row.failed == {"unexplained": ["b", "f"], "library": [CUB.removeprefix("tests/a.py::")]}
    assert len(row_of(outcomes, Row(cut=["9 s"])).failed["unexplained"]) == 1, "the one that was cut off says nothing"
