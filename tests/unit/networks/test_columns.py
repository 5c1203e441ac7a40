"""Is each figure of a network's table under its head, wide and narrow, and is there nothing where nothing is known?"""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.core.cu.counters import STALL_REASONS
from gpusim.networks.columns import COLUMNS, LEGEND, PASSES, REASONS, cells, heads
from workloads.networks.kind import Pass

STALLS = {"memory_dependency": 60, "idle": 30, "branch_latency": 5, "issued": 5}
METRICS = {
    "kernel": {"ipc": 1.25},
    "l1": {"hit_rate": 0.875},
    "l2": {"hit_rate": None},
    "dram": {"bytes": 1_234_560_000},
}


def facts(cycles: int = 200) -> Any:
    return SimpleNamespace(
        cycles=cycles, time_us=1234.56, roofline={"valu": 50, "dram": 100, "latency": 190}, stalls=STALLS, sampling=None
    )


@dataclass
class FakeRow:
    layer: str = "conv1"
    what: Pass = Pass.BACKWARD_DATA
    facts: Any = field(default_factory=facts)
    launches: int = 7
    simulated: int = 2
    passed: bool | None = False
    metrics: Any = field(default_factory=lambda: METRICS)


def shown(row: Any, narrow: bool, whole: Any = facts(1000)) -> dict[str, str]:
    return dict(zip(heads(narrow), cells(row, whole, narrow), strict=True))


def test_wide() -> None:
    assert shown(FakeRow(), False) == {
        **{"layer": "conv1", "pass": "back data", "time us": "1,234.6", "share": "20.0%", "IPC": "1.2"},
        **{"bound": "dram 50%", "stalls": "memory 60%, idle 30%", "L1": "88%", "L2": "", "DRAM MB": "1,234.6"},
        **{"launches": "7 (2)", "verified": "WRONG"},
    }


def test_narrow() -> None:
    assert shown(FakeRow(), True) == {
        **{"layer": "conv1", "pass": "bwd d", "us": "1,235", "%": "20", "IPC": "1.2", "bound %": "dram 50"},
        **{"stalls %": "mem 60 idl 30", "L1%": "88", "L2%": "", "MB": "1,235", "run": "7,2", "ok": "NO"},
    }


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(("row", "whole"), [(FakeRow(facts=None), facts()), (FakeRow(), None)])
def test_nothing_is_said_of_launches_that_are_not_finished(row: Any, whole: Any, narrow: bool) -> None:
    texts = list(shown(row, narrow, whole).values())
    assert texts[:2] == [FakeRow.layer, PASSES[FakeRow.what][narrow]]
    assert texts[2:10] == ["–", *[""] * 7]
    assert "" not in texts[10:]


@pytest.mark.parametrize(("passed", "words"), [(None, ("–", "–")), (True, ("yes", "yes")), (False, ("WRONG", "NO"))])
def test_what_was_not_compared_is_not_said_to_be_right(passed: bool | None, words: tuple[str, str]) -> None:
    assert tuple(cells(FakeRow(passed=passed), facts(), narrow)[-1] for narrow in (False, True)) == words  # type: ignore[arg-type]


def test_all_launches_simulated_are_one_number_and_no_cycles_no_share() -> None:
    row = shown(FakeRow(simulated=7, facts=facts(0)), False, facts(0))
    assert (row["launches"], row["share"], row["bound"]) == ("7", "", "dram 0%")


def test_every_pass_and_every_reason_has_its_words() -> None:
    assert set(PASSES) == set(Pass)
    assert set(REASONS) == set(STALL_REASONS) - {"issued"}
    assert all(short in LEGEND for _, short in REASONS.values())
    assert len({column.head[1] for column in COLUMNS}) == len(COLUMNS)
