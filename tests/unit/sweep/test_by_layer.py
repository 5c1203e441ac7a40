"""Does a sweep's table by layer have each row's time at each value, and the lowest value that costs little enough?"""

import csv
from pathlib import Path

import pytest
import yaml

from gpusim.cli.main import invoke
from gpusim.results.store.reading import open_store
from gpusim.study.sweep.by_layer import LayerPassTimes
from gpusim.study.sweep.views import by_layer
from tests.support.small_networks import SHORT

CLOCKS = (0.5, 1.0, 2.0)


def place(name: str, *times_us: float) -> LayerPassTimes:
    return LayerPassTimes(("", name, "forward"), dict(zip(CLOCKS, times_us, strict=True)))


def test_the_lowest_value_from_which_on_nothing_is_lost() -> None:
    assert place("dram", 10.2, 10.1, 10.0).least(0.05) == 0.5
    assert place("alu", 40.0, 20.0, 10.0).least(0.05) == 2.0
    assert place("both", 12.0, 10.5, 10.0).least(0.05) == 1.0
    assert place("odd", 10.0, 11.0, 10.0).least(0.05) == 2.0  # not below a value that loses
    assert place("exact", 10.0, 10.0, 10.0).least(0.0) == 0.5


def test_what_all_rows_come_to_at_their_own_values() -> None:
    made = by_layer([place("dram", 10.4, 10.2, 10.0), place("alu", 120.0, 60.0, 30.0)], "gpu.clock_ghz", 0.05)
    assert [column.head for column in made.columns][2:] == [
        "us at 0.5", "us at 1", "us at 2", "gpu.clock_ghz within 5 %",
    ]  # fmt: skip
    assert [row[-1] for row in made.rows] == [0.5, 2.0]
    # 10 of 40 us can go below; 10.4 + 30 in place of 40
    assert made.notes == [
        "rows with 25.0 % of the time can go below 2; each at its own gpu.clock_ghz, all kernels take 1.0 % longer"
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file, store, out = tmp_path / "short.yaml", tmp_path / "s.db", tmp_path / "rows.csv"
    file.write_text(yaml.safe_dump({"input": [2, 6, 5], "layers": SHORT}))
    sweep = tmp_path / "clock.yaml"
    sweep.write_text(yaml.safe_dump({"net": str(file), "axes": {"gpu.clock_ghz": [0.5, 1.0]}}))
    arguments = ["sweep", str(sweep), "--store", str(store), "--jobs", "1", "--quiet"]
    assert invoke([*arguments, "--by-layer", "5", "--csv", str(out)]) == 0
    rows = list(csv.DictReader(out.open()))
    assert [row["layer"] for row in rows] == [one["name"] for one in SHORT]
    with open_store(store) as results:
        for number, clock in enumerate(("0.5", "1"), 1):
            told = {
                m["layer"]: m["value"] for m in results.table("metrics", run=number, launch=None, name="kernel.time_us")
            }
            for row in rows:
                assert float(row[f"us at {clock}"]) == pytest.approx(told[row["layer"]])
    for refused, said in (
        (["sweep", "layerB", "--set", "gpu.clock_ghz=1,2"], "belongs to a sweep of a network"),
        ([*arguments, "--set", "batch=1,2"], "needs one axis, such as gpu.clock_ghz; this sweep has"),
    ):
        assert invoke([*refused, "--by-layer", "5", "--store", str(tmp_path / "none.db")]) == 2
        assert said in capsys.readouterr().err
