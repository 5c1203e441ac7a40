"""Are the pages of results/correlation what their results say, and the shipped values those that were fitted?"""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from docs._site.correlation_pages import (
    EXACT,
    EXTRAPOLATED,
    SAMPLED,
    SEARCH,
    UNHASHED,
    describe_sides,
    held_to_whole,
)
from docs._site.pages import RESULTS as STORED
from gpusim.base.errors import UserError
from gpusim.lab.silicon import report
from gpusim.lab.silicon.measured import load_measured

RESULTS = sorted(
    p for p in (STORED / "correlation").glob("*.json") if not p.stem.endswith((EXACT, EXTRAPOLATED, SAMPLED, UNHASHED))
)
SEARCHES = [path for path in RESULTS if path.stem.endswith(SEARCH)]
# values of which the points allow others as well, and something else decides (docs/results/correlation.md)
DECIDED_ELSEWHERE = ("l2.channel_masks",)


@pytest.mark.parametrize("path", SEARCHES, ids=lambda path: path.stem)
def test_what_is_shipped_is_what_was_fitted(path: Path) -> None:
    table, _ = load_measured(path.stem.removesuffix(SEARCH))
    fitted = json.loads(path.read_text(encoding="utf-8"))["fit"]
    shipped = {name: values[0] for name, values in table.fit.model.items()}
    for name, value in fitted["values"].items():
        if name in shipped and name not in DECIDED_ELSEWHERE:
            assert value == list(shipped[name]) if isinstance(value, list) else shipped[name], name
    assert fitted["launch_us"] == table.launch_us


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_written_again_is_the_same(path: Path) -> None:
    table, _ = load_measured(path.stem.removesuffix(SEARCH))
    held = json.loads(path.read_text(encoding="utf-8"))
    again = json.loads(json.dumps(report.document(table, report.restored(held))))
    assert again.get("fit") == held.get("fit")
    earlier = held["points"] if "points" in held else [row["point"] for row in held["rows"]]
    for point, row in zip(earlier, again["rows"], strict=True):
        assert point.items() <= row["point"].items()


def test_what_is_sampled_is_within_its_bar_of_the_whole_run() -> None:
    assert "| no |" not in held_to_whole()


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ((0.8, 0.9, 1.2), "2 of 3 are 10 to 20 % too fast, 1 of 3 are 20 % too slow"),
        ((1.05, 1.25), "2 of 2 are 5 to 25 % too slow"),
        ((1.0,), "all 1 are exact"),
    ],
)
def test_what_is_off_is_said_of_each_side(ratios: Sequence[float], words: str) -> None:
    rows: list[Any] = [SimpleNamespace(ratio=ratio) for ratio in ratios]
    assert describe_sides(rows) == words


def test_another_file_is_no_result() -> None:
    with pytest.raises(UserError, match="partial: is required but missing; gpusim correlate --json writes such a file"):
        report.restored({"schema_version": report.SCHEMA_VERSION})
