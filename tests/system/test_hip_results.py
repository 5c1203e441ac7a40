"""What a run of a HIP program leaves: times of streams and events, stored runs, timelines, costliest instructions."""

import json
import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from gpusim.cli.main import invoke
from gpusim.results.report.lanes import read_commands
from tests.support.hip_programs import PROGRAMS, ROOT, pytestmark, run

__all__ = ["pytestmark"]


def test_streams_and_events_are_simulated_time(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--json", str(file)], PROGRAMS / "runtime", "streams")
    assert done.returncode == 0, done.stdout + done.stderr
    kernels, copy, whole = (float(text) for text in re.findall(r"([\d.]+) ms", done.stdout))
    assert whole < kernels + copy
    result = json.loads(file.read_text())
    assert result["exit_code"] == 0 and not result["partial"]
    (row,) = result["rows"]
    launches = result["launches"]
    assert (result["kind"], result["total"]["launches"], result["host"]["launches"]) == ("hip", 5, 5)
    assert row["launches"] == row["timed"] == len(launches) == 5
    assert row["cycles"] == sum(one["kernel"]["cycles"] for one in launches) == result["kernel"]["cycles"]
    for path in ("kernel.wavefront_instructions", "l1.transactions", "l2.transactions", "dram.bytes"):
        group, name = path.split(".")
        whole = sum(one[group][name] for one in launches)
        assert row["metrics"][group][name] == result[group][name] == whole > 0, path
    assert all(one["l2"] for one in launches)
    times = [(one["launch"]["started_us"], one["launch"]["ended_us"]) for one in launches]
    assert all(before[1] <= after[0] for before, after in pairwise(times))
    assert kernels == pytest.approx((times[3][1] - times[0][0] + 5) / 1e3, abs=2e-4)  # and a launch's 5 us
    assert re.search(r"^5\t.*\t100\.0%\t[\w ]+ \d+%\t.*\tadd_one$", done.stderr, re.MULTILINE)


def test_launches_have_the_line_of_the_users_own_python_code(tmp_path: Path) -> None:
    packages, file, script = tmp_path / "site-packages", tmp_path / "result.json", PROGRAMS / "lines.py"
    packages.mkdir()
    shutil.copy(PROGRAMS / "launches.py", packages)
    code = ROOT / "sim_configs/examples/vector_add.hsaco"
    done = run(["--json", str(file), "--only", "line=lines.py:18-19"], sys.executable, script, packages, code)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = {line["line"]: line for line in json.loads(file.read_text())["lines"]}
    assert {number: (line["launches"], line["timed"], line["function"]) for number, line in lines.items()} == {
        15: (1, 0, "step"),
        19: (2, 2, "<module>"),
    }
    assert lines[19]["text"] == "launches.main(" and lines[19]["file"] == str(script)


def test_kernels_of_several_streams_run_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--json", str(file)], PROGRAMS / "runtime", "overlap")
    assert done.returncode == 0, done.stdout + done.stderr
    serial, beside, *_ = (float(text) for text in re.findall(r"([\d.]+) ms", done.stdout))
    assert beside < 0.3 * serial
    launches = json.loads(file.read_text())["launches"]
    spans = [(one["launch"]["started_us"], one["launch"]["ended_us"]) for one in launches]
    assert all(before[1] + 5 == pytest.approx(after[0]) for before, after in pairwise(spans[:4]))
    assert max(start for start, _ in spans[4:8]) < min(end for _, end in spans[4:8])


def test_a_sampled_program_has_all_its_results_and_half_widths(tmp_path: Path) -> None:
    rows, launches = {}, {}
    for timing, sampling in (("on", []), ("sample", ["--sample", "--error", "5%"])):
        file = tmp_path / f"{timing}.json"
        options = ["--set", "cus_per_array=1", "--json", str(file), *sampling]
        done = run(options, PROGRAMS / "runtime", "grid", 1000)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(file.read_text())
        (rows[timing],), launches[timing] = result["rows"], result["launches"]
    sampled, whole = launches["sample"][0], launches["on"][0]
    assert sampled["sampling"]["fraction"] < 0.8 and "sampling" not in whole
    assert result["sampling"]["fraction"] == rows["sample"]["sampling"]["fraction"] and "sampling" not in rows["on"]
    assert sampled["kernel"]["workgroups"] == 1000
    assert rows["sample"]["cycles_half_width"] > 0 and "cycles_half_width" not in rows["on"]
    assert rows["sample"]["cycles"] == pytest.approx(rows["on"]["cycles"], rel=0.01)
    assert "half-widths (±) at 95 %" in done.stderr and re.search(r"[\d,]+ ± [\d,]+", done.stderr)


def test_runs_of_a_store_are_reported_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, clock in (("streams", "1"), ("streams", "2"), ("overlap", "1")):
        done = run(["--store", "s.db", "--set", f"clock_ghz={clock}", "--quiet"], PROGRAMS / "runtime", name)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "is kept" not in done.stderr, "a program is run each time"
    for number in ("1", "2", "3"):
        assert invoke(["results", "show", number, "--store", "s.db", "--json", f"{number}.json"]) == 0
    first, faster, other = (json.loads(Path(f"{number}.json").read_text()) for number in (1, 2, 3))
    assert [one["config"]["program"][1] for one in (first, faster, other)] == ["streams", "streams", "overlap"]
    for one in (first, faster, other):
        assert one["kind"] == "hip"
        assert len({stream["stream"] for stream in one["streams"]}) == len(one["streams"])
        assert sum(stream["kernels"] for stream in one["streams"]) == len(one["launches"])
    assert [len(one["launches"]) for one in (first, faster, other)] == [5, 5, sum(r["launches"] for r in other["rows"])]
    assert {stream["stream"] for stream in other["streams"]} >= {"1", "2", "3", "4"}
    capfd.readouterr()
    assert invoke(["compare", "1", "2", "--store", "s.db"]) == 0
    out = capfd.readouterr().out
    assert "gpu.clock_ghz\t1.0\t2.0" in out and "add_one" in out and "\nall\t" in out
    assert invoke(["compare", "1:add_one", "2.json:add_one", "--store", "s.db", "--json", "-"]) == 0
    (part,) = json.loads(capfd.readouterr().out)["parts"]
    assert part["time_us"] == [first["rows"][0]["time_us"], faster["rows"][0]["time_us"]]
    pytest.importorskip("matplotlib")
    assert invoke(["report", "1", "2.json", "--store", "s.db", "--html", "r.html", "--quiet"]) == 0
    page = Path("r.html").read_text()
    assert page.count("<article") == 2 and page.count("<caption>by stream, of ") == 2
    comparison = page.partition('id="comparison"')[2].partition("</section>")[0]
    assert all(f">{one['kernel']['cycles']:,}<" in comparison for one in (first, faster)), "beside their clocks"
    assert page.count("<summary>1. add_one: 5 launches</summary>") == 2, "a section for the kernel of each"
    without_launches = re.sub(r"<details><summary>All 5 launches</summary>.*?</details>", "", page, flags=re.DOTALL)
    assert page.count(">add_one</td>") - without_launches.count(">add_one</td>") == 2 * 5, "its launches"
    assert without_launches.count(">add_one</td>") == 2 * (4 + 5), "twice in the whole, twice in its section; timeline"


def test_a_timeline_shows_the_launches_and_copies_of_each_stream(tmp_path: Path) -> None:
    read_trace = pytest.importorskip("tests.support.trace_reader").read_trace
    file, timeline = tmp_path / "result.json", tmp_path / "t.pftrace"
    done = run(["--json", str(file), "--timeline", str(timeline)], PROGRAMS / "runtime", "overlap")
    assert done.returncode == 0, done.stdout + done.stderr
    result, trace = json.loads(file.read_text()), read_trace(timeline)
    launches = [one["launch"] for one in result["launches"]]
    assert "timeline of" in done.stderr and trace.below() == ["run"]
    kernels = sorted(trace.of("kernel"), key=lambda one: one.begin)
    expected = sorted((one["started_us"], one["ended_us"]) for one in launches)
    assert [(one.begin, one.end) for one in kernels] == [pytest.approx(one, abs=1e-3) for one in expected]
    assert len(trace.of("copy")) == sum(one["copies"] for one in result["streams"])
    commands = read_commands(result["commands"])
    ways = {(one.stream, one.direction) for one in commands if one.copied_bytes}
    assert ways and {f"stream {stream}: copies {way}" for stream, way in ways} < set(trace.below("run"))
    assert "to the device" in {way for _, way in ways}
    assert sorted(one.number for one in commands if one.number) == list(range(1, len(launches) + 1))
    for stream in result["streams"]:
        own = trace.of("kernel", f"stream {stream['stream']}: kernels")
        assert len(own) == stream["kernels"]
        assert sum(one.cycles for one in own) == pytest.approx(stream["kernel_us"], abs=0.01)


def test_a_timeline_of_cycles_is_drawn_where_one_is_asked_for(tmp_path: Path) -> None:
    read_trace = pytest.importorskip("tests.support.trace_reader").read_trace
    for name, options in (("window", ["--window", "0:2000"]), ("whole", ["--timeline-of", "cycles"])):
        file = tmp_path / f"{name}.pftrace"
        done = run(["--timeline", str(file), *options, "--kernels", "^sum$"], PROGRAMS / "runtime", "basic")
        assert done.returncode == 0, done.stdout + done.stderr
        assert read_trace(file).of("wavefront"), "what happens within a launch"


def test_a_launch_that_reaches_its_most_cycles_fails_and_so_does_the_run(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--max-cycles", "500", "--json", str(file)], PROGRAMS / "runtime", "basic")
    result = json.loads(file.read_text())
    assert done.returncode != 0 and result["partial"] and result["stopped_by"] == "cycle limit"
    assert result["exit_code"] == done.returncode and result["kernel"]["cycles"] == 500
    assert "PARTIAL, cycle limit" in done.stderr and "cycle limit: the results are partial" in done.stderr


def test_costliest_instructions_and_details_are_those_of_any_job(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run(["--hotspots", "--details", "--checked", "--json", str(file)], PROGRAMS / "runtime", "basic")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "sum 249750.0\n", "standard output is the program's own"
    assert "  kernel.wavefront_instructions " in done.stderr and "Memory" in done.stderr
    hotspots = json.loads(file.read_text())["hotspots"]
    assert hotspots and {spot["kernel"] for spot in hotspots} <= {"_Z3sumPKdPdi", "_Z5scalePKfPfi"}
