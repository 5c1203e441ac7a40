"""`gpusim correlate --from`: what an earlier run has written, shown again."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.cli.options import JobCommandOptions, LiveOptions, StoreOptions
from gpusim.lab.cli.correlate import CorrelateOptions, correlate

RESULT = Path(__file__).resolve().parents[4] / "results" / "correlation" / "rocblas-r9nano-extrapolated.json"


def shown(tmp_path: Path, changed: dict[str, Any], **options: Any) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON object of an earlier result with some keys changed."""
    earlier, again = tmp_path / "earlier.json", tmp_path / "again.json"
    earlier.write_text(json.dumps({**json.loads(RESULT.read_text(encoding="utf-8")), **changed}), encoding="utf-8")
    asked = CorrelateOptions(earlier=earlier, **options)
    code = correlate(asked, JobCommandOptions(json_file=again), StoreOptions(), LiveOptions())
    return code, json.loads(again.read_text(encoding="utf-8"))


def test_a_whole_result_stays_whole(tmp_path: Path) -> None:
    code, again = shown(tmp_path, {})
    assert (code, again["partial"], len(again["rows"])) == (0, False, 81)


def test_a_partial_result_stays_partial(tmp_path: Path) -> None:
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"][:3]
    code, again = shown(tmp_path, {"partial": True, "rows": rows})
    assert (code, again["partial"]) == (EXIT_INTERRUPTED, True)
    assert again["rows"] == rows


def test_points_that_were_not_run_stay_named(tmp_path: Path) -> None:
    not_run = {"name": "NN 64x1x1216", "kernel": "k", "why": "deadlock in cycle 7"}
    stopped = {"partial": True, "stopped_by": "1 of 81 points were not run", "not_run": [not_run]}
    code, again = shown(tmp_path, stopped)
    assert (code, again["stopped_by"], again["not_run"]) == (1, stopped["stopped_by"], [not_run])


def test_points_are_chosen(tmp_path: Path) -> None:
    _, again = shown(tmp_path, {}, only=["NN 64x1x"])
    assert [row["point"]["n"] for row in again["rows"]] == [1]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rows": []}, r"earlier.json: holds none of the 81 points of .*rocblas-r9nano.csv asked for"),
        ({"schema_version": 2}, r"earlier.json: schema_version 2: 3 can be read"),
        ({"rows": [{"point": {}}]}, r"earlier.json: rows.0.point.measured_us: is required but missing"),
    ],
)
def test_what_holds_nothing_to_show_is_refused(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        shown(tmp_path, changed)


def test_what_it_writes_is_read_again(tmp_path: Path) -> None:
    _, once = shown(tmp_path, {})
    again, twice = tmp_path / "again.json", tmp_path / "twice.json"
    correlate(CorrelateOptions(earlier=again), JobCommandOptions(json_file=twice), StoreOptions(), LiveOptions())
    assert json.loads(twice.read_text(encoding="utf-8")) == once


def test_launch_times_are_fitted_to_it_and_what_is_no_measurement_is_left_out(tmp_path: Path) -> None:
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"][:5]
    rows[0] = {**rows[0], "point": {**rows[0]["point"], "measured_us": 9.0}}
    code, again = shown(tmp_path, {"rows": rows}, fit=True)
    assert code == 0 and len(again["rows"]) == 4 and again["fit"]["points"] == 4
    assert "9.0 us, and a measurement holds 13 us beside" in again["not_run"][0]["why"]
    assert {row["point"]["launch_us"] for row in again["rows"]} == {again["fit"]["launch_us"]} != {13.0}
