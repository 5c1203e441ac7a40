"""Is each figure of a network's table under its head, wide and narrow, and is there nothing where nothing is known?"""

from typing import Any

import pytest

from gpusim.base.table import MISSING, value_of
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.results.metrics import SCHEMA_VERSION
from gpusim.results.report.result import read
from gpusim.results.report.rows import views_of
from gpusim.results.report.words import LEGEND, PASSES, REASONS
from workloads.networks.kind import Pass

TIMED = {
    "cycles": 200,
    "time_us": 1234.56,
    "share": 0.2,
    "bound": {"name": "dram", "utilization": 0.5},
    "stalls": {"memory_dependency": 0.6, "idle": 0.3},
    "metrics": {
        "kernel": {"ipc": 1.25},
        "l1": {"hit_rate": 0.875},
        "l2": {"hit_rate": None},
        "dram": {"bytes": 1_234_560_000},
    },
}
ROW = {
    "name": "conv1", "pass": "backward_data", "kind": "convolution", "launches": 7, "simulated_launches": 2,
    "macs": 1, "needed_macs": 1, "verification": {"passed": False}, **TIMED,
}  # fmt: skip
UNFINISHED = {name: value for name, value in ROW.items() if name not in TIMED} | {"cycles": None}


def tree(*rows: dict[str, Any], partial: bool = False) -> dict[str, Any]:
    """A result of these rows."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": "net", "network": "small", "phase": "train", "batch": 1,
        "values": "real", "engine_mode": "off", "remarks": ["a remark"], "partial": partial, "config": {},
        "kernel": {"cycles": 1000, "time_us": 5000.0}, "total": {"launches": 7, "simulated_launches": 2},
        "rows": list(rows), **({"stopped_by": "cycle limit"} if partial else {}),
    }  # fmt: skip


def cells(row: dict[str, Any], narrow: bool) -> dict[str, str]:
    """The texts of a row by its heads, as a terminal shows them."""
    table = views_of(read(tree(row))).rows_table()
    return dict(zip(table._heads(narrow), table._texts(table.rows[0], narrow), strict=True))


def test_wide() -> None:
    assert cells(ROW, False) == {
        **{"layer": "conv1", "pass": "back data", "time us": "1,234.6", "share": "20.0%", "IPC": "1.2"},
        **{"bound": "dram 50%", "stalls": "memory 60%, idle 30%", "L1": "88%", "L2": MISSING, "DRAM MB": "1,234.6"},
        **{"launches": "7 (2)", "verified": "WRONG"},
    }


def test_narrow() -> None:
    assert cells(ROW, True) == {
        **{"layer": "conv1", "pass": "bwd d", "us": "1,235", "%": "20", "IPC": "1.2", "bound %": "dram 50"},
        **{"stalls %": "mem 60 idl 30", "L1%": "88", "L2%": MISSING, "MB": "1,235", "run": "7,2", "ok": "NO"},
    }


def test_an_estimate_has_its_half_width() -> None:
    row = {**ROW, "time_us_half_width": 24.7}
    assert cells(row, False)["time us"] == "1,234.6 ± 2%" and cells(row, True)["us"] == "1,235 ± 2%"


def test_programs_get_the_figures_themselves() -> None:
    table = views_of(read(tree(ROW))).rows_table()
    assert list(map(value_of, table.rows[0])) == [
        *("conv1", "backward_data", 1234.56, 0.2, 1.25, "dram"),
        *("memory 60%, idle 30%", 0.875, None, 1_234_560_000, 7, False),
    ]
    line = table.tabbed(heads=False).splitlines()[0]
    assert line == "conv1\tback data\t1,234.6\t20.0%\t1.2\tdram 50%\tmemory 60%, idle 30%\t88%\t\t1,234.6\t7 (2)\tWRONG"


@pytest.mark.parametrize("narrow", [False, True])
def test_nothing_is_said_of_launches_that_are_not_finished(narrow: bool) -> None:
    texts = list(cells(UNFINISHED, narrow).values())
    assert texts[:3] == ["conv1", PASSES["backward_data"][narrow], MISSING]
    assert set(texts[3:10]) <= {MISSING, ""} and "" not in texts[10:]
    assert texts[10] == ("7,2" if narrow else "7 (2)")


@pytest.mark.parametrize(
    ("passed", "words"), [(None, (MISSING, MISSING)), (True, ("yes", "yes")), (False, ("WRONG", "NO"))]
)
def test_what_was_not_compared_is_not_said_to_be_right(passed: bool | None, words: tuple[str, str]) -> None:
    row = {**ROW, "verification": {"passed": passed}}
    assert tuple(list(cells(row, narrow).values())[-1] for narrow in (False, True)) == words


def test_all_launches_simulated_are_one_number_and_no_cycles_no_share() -> None:
    row = cells({**ROW, "simulated_launches": 7, "cycles": 0, "share": None}, False)
    assert (row["launches"], row["share"]) == ("7", MISSING)


def test_wrong_results_are_named_and_unfinished_rows_counted() -> None:
    right = {**ROW, "name": "conv2", "verification": {"passed": True}}
    notes = views_of(read(tree(ROW, right))).rows_table().notes
    assert "real values; WRONG: conv1 back data" in notes and "a remark" in notes
    assert not any("all as expected" in note or "not finished" in note for note in notes)
    notes = (
        views_of(read(tree(right, UNFINISHED | {"verification": {"passed": None}}, partial=True))).rows_table().notes
    )
    assert "cycle limit: 1 of 2 rows are not finished" in notes
    assert "real values; 1 of 2 rows compared with NumPy, all as expected" in notes


def test_every_pass_and_every_reason_has_its_words() -> None:
    assert set(PASSES) == set(map(str, Pass))
    assert set(REASONS) == set(STALL_REASONS) - {"issued"}
    table = views_of(read(tree(ROW))).rows_table()
    assert table.legend == LEGEND and all(short in LEGEND for _, short in REASONS.values())
    assert len({column.short or column.head for column in table.columns}) == len(table.columns)
