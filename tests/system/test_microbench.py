"""`gpusim microbench` from the command line: what it prints and writes."""

import json
from pathlib import Path

import pytest

from gpusim.cli.main import invoke


def test_a_group_is_printed_and_written(capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("matplotlib")
    arguments = ["microbench", "--gpu", "r9nano", "--only", "accesses,lds", "--set", "l1.hit_latency_cycles=90"]
    arguments += ["--json", str(tmp_path / "x.json"), "--picture", str(tmp_path / "x.svg")]
    assert invoke(arguments) == 0
    lines = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    ends = ["lds.conflict_32", "ds_read_b32, all lanes of a half meet in a bank", "64", "cycles/instruction"]
    assert [*ends, "at least 32", "0 %", "GCN"] in [line[:7] for line in lines]
    written = json.loads((tmp_path / "x.json").read_text())
    gpu = written["config"]["gpu"]
    assert gpu["name"] == "R9 Nano" and gpu["l1"]["hit_latency_cycles"] == 90
    assert (written["schema_version"], written["kind"], written["partial"]) == (3, "microbench", False)
    assert [row["name"] for row in written["rows"]] == ["lds", "accesses"], "in the suite's order"
    by_name = {figure["name"]: figure for figure in written["figures"]}
    assert by_name["loads.dwordx4_linear"]["value"] == pytest.approx(16, rel=0.01)
    ratio = by_name["loads.dwordx2_to_dword"]
    assert ratio["published"][0]["deviation"] == pytest.approx(ratio["value"] / 4.33 - 1)
    assert [curve["name"] for curve in written["curves"]] == ["by stride", "by degree", "writes by degree"]
    assert (tmp_path / "x.svg").read_text().startswith("<?xml")


def test_tables_as_markdown(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["microbench", "--only", "accesses", "--markdown", "--quiet"]) == 0
    captured = capfd.readouterr()
    assert captured.out.startswith("# MI6, measured on the model\n")
    assert "\n| what | model | unit | published | deviation | part | source |\n| --- |" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--gpu", "mi7"], "did you mean 'mi6'"),
        (["--only", "ocupancy"], "did you mean 'occupancy'"),
        (["--set", "l1.size_kb=1"], "did you mean 'size_kib'"),
        (["--picture", "x.pdf"], "ends in .svg or .png"),
        (["--json", "missing/x.json"], "does not exist"),
    ],
)
def test_errors_are_one_line(arguments: list[str], part: str, capfd, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert invoke(["microbench", *arguments]) == 2
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert part in captured.err
