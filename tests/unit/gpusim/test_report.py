"""Does a person see every value with its unit, on a pipe and on a terminal, and do files survive a full disk?"""

import io
import os
import re
from pathlib import Path

import pytest

from gpusim.base import files as output
from gpusim.base.counters import DISTINCT, EACH, JOINED
from gpusim.base.errors import UserError
from gpusim.base.progress import Progress, Rate, Reporter, clock, scaled
from gpusim.cli.show import show_command
from gpusim.cli.tables import print_metrics
from gpusim.config.gpu import load_gpu
from gpusim.core.counters import TABLES
from gpusim.core.cu.counters import STALL_REASONS
from gpusim.core.facts import Hotspot, RunFacts
from gpusim.microbench import table as microbench_table
from gpusim.microbench.references import PUBLISHED as REFERENCES
from gpusim.microbench.result import Results
from gpusim.report import terminal as report
from gpusim.results.metrics import METRICS
from gpusim.results.record import RunRecord
from isa.execution.resident import WavefrontGroup
from isa.object.line_table import SourceFile, SourceLine

LINE = SourceLine(SourceFile("src/k.cl"), 12)

MANGLED = "_Z7softmaxIfLj256EEvPKT_PS0_j"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def record(cycles: int = 1234567, partial: bool = False) -> RunRecord:
    kernel = {"name": "sgemm", "clock_ghz": 1.0, "cycles": cycles}
    return RunRecord(
        False, "sgemm", variant="dense", launches=[RunFacts.of(kernel=kernel, roofline={"valu": 1.5})], partial=partial
    )


def test_pipe_gets_one_line_a_metric() -> None:
    out = io.StringIO()
    report.show([record()], out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "sgemm, engine off"
    row = next(line for line in lines if line.startswith("kernel.cycles"))
    assert row.split() == ["kernel.cycles", "1,234,567", "cycles"]
    assert any(line.startswith("roofline.valu") for line in lines)
    assert not any(line.startswith("engine.") for line in lines)


def test_terminal_gets_tables_with_units() -> None:
    out = Terminal()
    report.show([record()], out)
    assert "1,234,567" in out.getvalue()
    assert "cycles" in out.getvalue()


def test_two_runs_are_compared() -> None:
    out = io.StringIO()
    report.show([record(1000), record(500, partial=True)], out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "sgemm, engine off; sgemm, engine off (partial); ratio to dense"
    row = next(line for line in lines if line.startswith("kernel.cycles"))
    assert row.split() == ["kernel.cycles", "1,000", "500", "0.500", "cycles"]


def test_each_launch_of_several_has_its_line() -> None:
    out, run = io.StringIO(), record(1000)
    run.launches += record(3000).launches
    report.show([run], out)
    lines = out.getvalue().splitlines()
    start = lines.index("sgemm, engine off: launches, their cycles, share of all")
    assert [line.split() for line in lines[start + 1 :]] == [
        ["1", "1,000", "25.0", "%", "sgemm"],
        ["2", "3,000", "75.0", "%", "sgemm"],
    ]


def test_a_stopped_run_ends_with_where_its_wavefronts_stood() -> None:
    out, run = io.StringIO(), record(1000, partial=True)
    kernel = {"name": "k", "clock_ghz": 1.0, "cycles": 40_000, "workgroups": 3, "workgroups_total": 1200}
    run.launches.append(RunFacts.of(True, kernel=kernel))
    run.launches[-1].resident = [WavefrontGroup(n, 4 * n, "s_nop 0", "ready to issue", LINE) for n in range(30, 10, -1)]
    report.show([run], out)
    lines = out.getvalue().splitlines()
    start = lines.index("k: stopped in cycle 40,000, 3 of 1,200 workgroups had ended; resident:")
    assert lines[start + 1] == "  30 wavefronts at 0x78 s_nop 0 [k.cl:12]: ready to issue"
    assert len(lines) - start == 10  # short enough for a screen, whatever the number of groups


@pytest.mark.parametrize("out", [io.StringIO(), Terminal()])
def test_a_share_is_followed_by_no_unit(out: io.StringIO) -> None:
    report.show([record(2)], out)
    (line,) = (line for line in out.getvalue().splitlines() if "roofline_utilization" in line)
    assert line.replace("│", "").rstrip().endswith("75.0 %")
    assert "fraction" not in out.getvalue()


def test_mangled_names_are_shown_as_they_are_written() -> None:
    out, run = io.StringIO(), record(1000, partial=True)
    run.kernel = MANGLED
    kernel = {"name": MANGLED, "clock_ghz": 1.0, "cycles": 40_000, "workgroups": 3, "workgroups_total": 1200}
    run.launches.append(RunFacts.of(True, kernel=kernel))
    run.launches[-1].resident = [WavefrontGroup(3, 4, "s_nop 0", "ready to issue", LINE)]
    run.launches[-1].add("stalls", dict.fromkeys(STALL_REASONS, 8))
    run.launches[-1].hotspots = [Hotspot(MANGLED, 8, "s_barrier", {"issued": 8}, LINE)]
    report.show([run], out)
    text = out.getvalue()
    assert "_Z" not in text
    for start in (
        "softmax<float, 256u>, engine off",
        "softmax<float, 256u>: stopped in",
        "softmax<float, 256u>: wavefront",
    ):
        assert start in text


def test_hotspots_name_their_lines() -> None:
    out, run = io.StringIO(), record(1000)
    run.launches[0].add("stalls", dict.fromkeys(STALL_REASONS, 8))
    run.launches[0].hotspots = [Hotspot("k", 8, "s_barrier", {"issued": 8}, LINE)]
    report.show([run], out)
    assert "s_barrier [k.cl:12]  " in out.getvalue().splitlines()[-1]


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("l1.hit_rate", 0.5, "50.0 %"),
        ("x", None, "–"),
        ("x", True, "yes"),
        ("x", 0.125, "0.125"),
        ("x", 12345.67, "12,345.7"),
        ("x", float("inf"), "inf"),
        ("simulator.instructions_per_s", 6.5e6, "6.5M"),
        ("x", "name", "name"),
        ("engine.latency_histogram", [0, 3, 1, 0], "half < 4, all < 8"),
        ("engine.latency_histogram", [0, 0], "–"),
        ("stalls_by_compute_unit.issued", [5, 3000, 7], "5 to 3,000"),
        ("profile.stall_sync", 0.25, "25.0 %"),
        ("kernel.name", f"{MANGLED} + copy", "softmax<float, 256u> + copy"),
    ],
)
def test_shown(path: str, value: object, text: str) -> None:
    assert report.shown(path, value) == text


def test_progress_line_and_quiet() -> None:
    line = Rate().line(Progress(2_000_000, 0, 10, 0))
    assert line.startswith("2M cycles, 0/10 workgroups, ")
    assert line.endswith("? instructions/s, ? left")
    out = io.StringIO()
    Reporter(quiet=True, stream=out).say("nothing")
    with Reporter(quiet=True, stream=out).following("k") as update:
        update(Progress(1, 1, 2, 3))
    assert out.getvalue() == ""
    assert (scaled(12_345_678), scaled(12), clock(75)) == ("12.3M", "12", "1:15")


def test_pipe_gets_a_line_every_few_seconds(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    now = [0.0]
    monkeypatch.setattr("gpusim.base.progress.time.monotonic", lambda: now[0])
    out = io.StringIO()
    with Reporter(stream=out).following("k") as update:
        for step in range(100):
            now[0] = step * 0.2
            update(Progress(step, step, 100, step * 1000))
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0] == "k: 25 cycles, 25/100 workgroups, 5k instructions/s, 0:15 left"


def test_time_left_is_known_before_a_workgroup_is_done(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    now = [0.0]
    monkeypatch.setattr("gpusim.base.progress.time.monotonic", lambda: now[0])
    rate = Rate()
    assert rate.line(Progress(100, 0, 10, 1000, 100_000)).endswith("? left")
    now[0] = 0.5
    assert rate.line(Progress(200, 0, 10, 2000, 100_000)).endswith("2k instructions/s, 0:49 left")
    assert rate.line(Progress(200, 0, 10, 2000)).endswith("? left")  # of no wavefront is it known what it executes
    assert rate.line(Progress(200, 0, 10, 2000, 0, 50_000)).endswith("instructions/s, at least 0:24 left")
    assert rate.line(Progress(200, 0, 10, 2000, 0, 3500)).endswith(
        "instructions/s, ? left"
    )  # not a second: says nothing
    now[0] = 1.0
    assert rate.line(Progress(300, 9, 10, 5000, 4000)).endswith("0:00 left")


def test_part_of_the_work() -> None:
    assert Progress(1, 3, 10, 500, 1000).done == 0.5
    assert Progress(1, 3, 10, 500).done == 0.3
    assert Progress(1, 0, 0, 0).done == 0.0
    assert Progress(1, 3, 10, 1001, 1000).done == 1.0


def test_bar_on_a_terminal_shows_progress() -> None:
    out = Terminal()
    with Reporter(stream=out).following("k") as update:
        update(Progress(10, 1, 2, 3))
    assert "1/2 workgroups" in out.getvalue()


def test_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_text("old")
    output.write_whole(target, "new")
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_failed_write_keeps_what_was_there(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    target = tmp_path / "result.json"
    target.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"result.json: cannot be written: No space left on device"):
        output.write_whole(target, "new")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_unwritable_folder_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be made a folder"):
        output.folder(tmp_path / "file" / "out")
    with pytest.raises(UserError, match="cannot be written"):
        output.write_whole(tmp_path / "missing" / "x.json", "text")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        output.write_whole(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    output.write_whole(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_files_are_replaced_together_or_not_at_all(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("old")
    with pytest.raises(UserError, match="cannot be written"):
        output.write_together({first: "new", tmp_path / "missing" / "second": "new"})
    assert first.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["first"]
    output.write_together({first: "new", second: b"new"})
    assert first.read_text() == second.read_text() == "new"


def everything(value: int) -> RunRecord:
    """A run in which every counter of every unit has counted, and which has several launches and hot spots."""
    sections: dict[str, dict[str, object]] = {}
    for table in TABLES:
        for counter in table.counters:
            kinds = {EACH: [value] * 64, JOINED: "a_kernel_of_a_long_name", DISTINCT: "vector registers"}
            one = [value] * counter.length if counter.length else kinds.get(counter.aggregation, value)
            sections.setdefault(table.section, {})[counter.name] = one
    sections["kernel"] |= {"name": "a_kernel_of_a_long_name", "clock_ghz": 1.0, "cycles": value}
    facts = RunFacts.of(**sections)
    instruction = "buffer_load_dwordx4 v[100:103], v[104:105], s[96:99], s100 offen offset:4095 glc slc"
    facts.hotspots = [Hotspot("k", 0x1A00, instruction, dict.fromkeys(STALL_REASONS, value // 8))]
    return RunRecord(True, "sgemm_dib_tiled_nnz", [facts, facts], host_time_us=1e9 + 0.5, variant="sparse")


@pytest.mark.parametrize("count", [1, 2])
def test_tables_fit_80_columns(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    report.show([everything(999_999_999_999)] * count, out)
    assert too_wide(out) == []
    assert "999,999,999,999" in out.getvalue()


def test_tables_of_metrics_and_microbenchmarks_fit_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    print_metrics(False)
    paths = {line.split()[0] for line in out.getvalue().splitlines() if line.split()}
    assert {metric.path for metric in METRICS} <= paths, "whole, to be copied"
    results = Results()
    for name in dict.fromkeys(row.figure for row in REFERENCES):
        results.add(name, f"what {name} is in a line of the usual length for a figure", 123456.789, "bytes/cycle")
    results.add_curve("stride 64", "loads", ("bytes", "cycles"), [(1 << k, 10.0**k) for k in range(7)])
    microbench_table.show(results, load_gpu("mi6").name, out)
    assert too_wide(out) == []


@pytest.mark.parametrize("name", ["layerA", "layerB", "layerC", "mi6", "r9nano", "vector_add"])
def test_machines_fit_80_columns(name: str, capsys: pytest.CaptureFixture) -> None:
    show_command(name, [], False)
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def too_wide(out: io.StringIO) -> list[str]:
    """Lines beyond 80 columns, and those in which something was cut off."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    return [line for line in lines if len(line.rstrip()) > 80 or "…" in line]
