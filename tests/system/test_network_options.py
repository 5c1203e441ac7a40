"""Do the options of every run do for a network what they do elsewhere: limits, files, a timeline, a store?"""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpusim.cli.main import invoke
from gpusim.jobs.networks import choice
from gpusim.results.report.document import document
from tests.support.interrupted import interrupted
from tests.support.network_runs import run_job
from tests.support.small_networks import INPUT, SHORT, layer
from tests.support.trace_reader import read_trace

NET = ["net", "short.yaml", "--batch", "2", "--jobs", "1"]
SLOWEST = 5871  # cycles of the launch that takes the most


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with the network, which is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("short.yaml").write_text(yaml.safe_dump({"input": INPUT, "layers": SHORT}))
    return tmp_path


def ran(*options: str, code: int = 0) -> dict[str, Any]:
    """The JSON object of a run with these options."""
    assert invoke([*NET, *options, "--quiet", "--json", "x.json"]) == code
    found: dict[str, Any] = json.loads(Path("x.json").read_text())
    return found


def test_hot_spots_are_listed_of_every_launch(capsys: pytest.CaptureFixture[str]) -> None:
    assert "hotspots" not in ran()
    found = ran("--hotspots")
    kernels = {kernel for row in found["rows"] for kernel in row["metrics"]["kernel"]["name"].split(" + ")}
    assert {spot["kernel"] for spot in found["hotspots"]} == kernels
    reasons = found["stalls"].keys()
    cycles = [sum(n for name, n in spot.items() if name in reasons) for spot in found["hotspots"]]
    assert cycles == sorted(cycles, reverse=True) and sum(cycles) <= sum(found["stalls"].values())
    capsys.readouterr()
    assert invoke([*NET, "--hotspots"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = found["hotspots"][0]
    listed = [line for line in lines if "  0x" in line and "%" in line and line.startswith("    ")]
    assert len(listed) == min(25, len(cycles)) and first["instruction"] in listed[0] and f"{cycles[0]:,}" in listed[0]
    assert any(f"of {len(cycles)} listed" in line for line in lines)


def test_a_signal_to_all_processes_ends_a_run_with_what_is_known() -> None:
    layers = [layer(f"c{n}", "convolution", filters=16 + 4 * n, kernel=3) for n in range(9)]
    network = {"input": [16, 24, 24], "layers": layers}
    Path("long.yaml").write_text(yaml.safe_dump(network))
    arguments = ["net", "long.yaml", "--batch", "16", "--jobs", "2", "--data", "synthetic", "--json", "x.json"]
    said = interrupted(arguments, signal.SIGHUP, group=True, awaited="steps", times=1)
    found = json.loads(Path("x.json").read_text())
    assert found["partial"] and any(row["simulated_launches"] < row["launches"] for row in found["rows"])
    assert "ended by" not in said


def test_what_a_store_knows_without_hot_spots_is_simulated_for_them() -> None:
    ran("--store", "s.db")
    found = ran("--store", "s.db", "--hotspots")
    assert found["hotspots"] and found["total"]["simulated_launches"] == 4
    assert ran("--store", "s.db", "--hotspots", "--batch", "3")["hotspots"]


def test_what_was_measured_for_a_choice_has_its_hot_spots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.ALGORITHMS, "convolution", ("implicit", "winograd_2x2"))
    network = {"input": [8, 8, 8], "layers": [layer("c", "convolution", filters=8, kernel=3, padding=1)]}
    Path("short.yaml").write_text(yaml.safe_dump(network))
    found = ran("--hotspots", "--set", "convolution=auto")
    (row,) = found["rows"]
    assert "choice" in row and row["simulated_launches"] == row["launches"]
    assert {spot["kernel"] for spot in found["hotspots"]} == set(row["metrics"]["kernel"]["name"].split(" + "))


def test_sections_and_details(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert invoke([*NET, *options]) == 0
        return capsys.readouterr().out

    found = ran()
    usual, section, details = printed(), printed("--section", "memory"), printed("--details")
    assert section.startswith("Memory Workload Analysis (memory)") and "Memory Workload" not in usual
    assert f"{found['dram']['reads']:,}" in next(line for line in section.splitlines() if "dram.reads " in line)
    assert "layer\tpass" not in section and "compute.md" not in section
    assert details.startswith(usual.rstrip("\n")), "all that is said without it, and then the sections"
    assert section.strip() in details and len(details) > len(usual) + len(section)
    assert invoke([*NET, "--section", "memroy"]) == 2
    assert "memory" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--data", "real"], ["--data", "synthetic"], ["--jobs", "2"]])
def test_a_launch_that_reaches_the_most_cycles_ends_the_run(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([*NET, *options, "--max-cycles", "3000", "--json", "x.json"]) == 1
    printed, found = capsys.readouterr(), json.loads(Path("x.json").read_text())
    assert found["partial"] and found["stopped_by"] == "cycle limit"
    assert found["config"]["run"]["max_cycles"] == 3000
    total, rows = found["total"], found["rows"]
    assert 0 <= total["finished_rows"] < total["rows"] == len(rows) == 6
    assert total["finished_rows"] == sum(row["cycles"] is not None for row in rows)
    assert all(row["cycles"] is None or row["cycles"] <= 3000 for row in rows)
    assert rows[4]["name"] == "pool" and rows[4]["cycles"] is None
    assert "PARTIAL, cycle limit" in printed.out and "cycle limit: the results are partial" in printed.err
    assert f"\ncycle limit: {6 - total['finished_rows']} of 6 rows are not finished\n" in printed.out


def test_as_many_cycles_as_are_needed_limit_nothing() -> None:
    whole = ran()
    assert max(row["cycles"] for row in whole["rows"]) == SLOWEST
    assert ran("--max-cycles", str(SLOWEST + 1))["kernel"]["cycles"] == whole["kernel"]["cycles"]
    ran("--max-cycles", str(SLOWEST), code=1)
    ran("--store", "s.db")
    assert ran("--store", "s.db", "--max-cycles", str(SLOWEST + 1))["total"]["simulated_launches"] == 0
    ran("--store", "s.db", "--max-cycles", str(SLOWEST), code=1)


def test_what_a_store_knows_does_not_exceed_the_most_cycles() -> None:
    ran("--store", "s.db")
    found = ran("--store", "s.db", "--max-cycles", "3000", code=1)
    assert found["stopped_by"] == "cycle limit" and found["rows"][4]["cycles"] is None


def test_a_timeout_keeps_what_is_finished(capsys: pytest.CaptureFixture[str]) -> None:
    norms = [layer(f"r{n}", "lrn", size=3 + 2 * (n % 4), k=1.0 + n) for n in range(60)]
    Path("short.yaml").write_text(yaml.safe_dump({"input": [64, 128, 128], "layers": norms}))
    found = ran("--data", "synthetic", "--timeout", "1", code=1)
    assert found["partial"] and found["stopped_by"] == "out of time"
    assert found["total"]["finished_rows"] < found["total"]["rows"] == 60
    assert found["total"]["unknown_launches"] == 60 - found["total"]["finished_rows"]


def test_a_folder_has_configuration_text_and_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([*NET, "--out", "dir", "--json", "x.json", "--checked"]) == 0
    assert sorted(path.name for path in Path("dir").iterdir()) == ["config.yaml", "report.txt", "result.json"]
    assert Path("dir/report.txt").read_text() == capsys.readouterr().out
    assert Path("dir/result.json").read_text() == Path("x.json").read_text()
    found = json.loads(Path("x.json").read_text())
    assert yaml.safe_load(Path("dir/config.yaml").read_text()) == found["config"]
    assert found["config"]["run"]["checked"] is True and found["config"]["network"]["batch"] == 2


def test_a_timeline_has_every_launch_with_its_layer(capsys: pytest.CaptureFixture[str]) -> None:
    found = ran("--phase", "train", "--timeline", "f.pftrace")
    trace = read_trace(Path("f.pftrace"))
    by_kind: dict[str, list[Any]] = {}
    for one in trace.slices:
        by_kind.setdefault(one.category, []).append(one)
    assert len(by_kind["kernel"]) == found["total"]["launches"]
    layers = sorted(by_kind["layers"], key=lambda one: one.begin)
    assert [one.name for one in layers] == [f"{row['name']} {row['pass']}" for row in found["rows"]]
    assert [one.notes["launches"] for one in layers] == [row["launches"] for row in found["rows"]]
    assert [one.name for one in sorted(by_kind["passes"], key=lambda one: one.begin)] == [
        *("forward", "backward", "update"),
    ]
    taken = sum(one.cycles for one in by_kind["kernel"])
    assert taken == pytest.approx(found["kernel"]["time_us"], rel=1e-3), "a microsecond is one of the trace"
    assert max(one.end for one in by_kind["kernel"]) == pytest.approx(found["host"]["time_us"], rel=1e-3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--timeline", "f.pftrace", "--window", "1:5"], "--window 1:5: a network's launches are simulated in several"),
        (["--timeline", "f.pftrace", "--timeline-of", "cycles"], "--timeline-of cycles: a network's launches are"),
        (["--window", "1:5"], "--window 1:5: says what a timeline shows; --timeline FILE names its file"),
        (
            ["--timeline", "f.pftrace", "--timeline-of", "launches", "--window", "1:5"],
            "--window 1:5: says which cycles",
        ),
        (
            ["--sample", "--max-cycles", "100"],
            "a sampled launch has no timeline, no last cycle and no counters over time",
        ),
    ],
)
def test_what_a_network_has_not_is_refused_with_its_reason(
    options: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke([*NET, *options, "--quiet"]) == 2
    captured = capfd.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and captured.err.startswith(f"gpusim: error: {said}")
    assert not Path("f.pftrace").exists()


def test_a_stored_network_is_found_shown_reported_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    Path("short.yaml").write_text(yaml.safe_dump({"input": INPUT, "layers": [*SHORT[:2], *SHORT[4:]]}))

    def output(*arguments: str, code: int = 0) -> str:
        assert invoke([*arguments]) == code
        return capsys.readouterr().out

    first = output(*NET, "--store", "s.db", "--phase", "train", "--json", "first.json")
    again = output(*NET, "--store", "s.db", "--phase", "train")
    other = output(*NET, "--store", "s.db", "--phase", "train", "--batch", "3")
    assert first == again != other
    listed = output("results", "list", "--store", "s.db")
    assert [line.split("\t")[:1] for line in listed.splitlines()[1:]] == [["1"], ["2"]]
    assert "short, train, batch 2" in listed and "short, train, batch 3" in listed
    assert output("results", "show", "1", "--store", "s.db").endswith(f"\n\n{first}")
    assert output("results", "show", "2", "--store", "s.db").endswith(f"\n\n{other}")
    assert invoke(["report", "1", "--store", "s.db", "--html", "x.html", "--quiet"]) == 0
    page = Path("x.html").read_text()
    assert "Where does the time go?" in page and page.count("short: training, batch 2") >= 1
    assert "real values; 9 of 9 rows compared with NumPy, all as expected" in page
    capsys.readouterr()
    compared = output("compare", "1", "2", "--store", "s.db", "--all")
    assert "network.batch\t2\t3" in compared and "\nbn1 update\t" in compared and "\nall\t" in compared
    ratios = {line.split("\t")[0]: line.split("\t")[1:4] for line in compared.splitlines() if line.count("\t") == 4}
    alone = json.loads(Path("first.json").read_text()), ran("--phase", "train", "--batch", "3")
    for one, two in zip(*(each["rows"] for each in alone), strict=True):
        name = f"{one['name']} {one['pass'].replace('_', ' ')}"
        # a launch that equals one of the first run's answers for it, wherever its tensors lie: 0.5 % here
        assert float(ratios[name][2]) == pytest.approx(two["time_us"] / one["time_us"], rel=0.01), name


def test_a_stopped_run_that_a_store_holds_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([*NET, "--store", "s.db", "--max-cycles", "3000"]) == 1
    first = capsys.readouterr().out
    assert " not yet; equal ones" in first
    assert invoke(["results", "show", "1", "--store", "s.db"]) == 0
    assert capsys.readouterr().out.endswith(f"\n\n{first}")
    assert invoke([*NET, "--store", "s.db", "--max-cycles", "3000"]) == 1
    assert "not yet" in capsys.readouterr().out, "a partial run answers nothing"


def test_what_a_job_says_of_itself_hides_no_metric() -> None:
    found = run_job({"input": INPUT, "layers": SHORT}, batch=1, layers="relu1")
    (record,) = found.records
    alone = document({}, [record])
    said = found.job.about
    assert not said.keys() & (alone.keys() - {"schema_version"})
    assert found.tree == {**alone, **said, "config": found.tree["config"], "config_hash": found.tree["config_hash"]}
