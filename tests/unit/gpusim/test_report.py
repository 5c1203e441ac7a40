"""Are values, tables and progress shown as a person reads them, and do files survive a full disk?"""

import io
import os
from pathlib import Path

import pytest

from gpusim.base import files as output
from gpusim.base.errors import UserError
from gpusim.base.formats import duration, scaled
from gpusim.base.progress import Progress, ProgressRate, Reporter
from gpusim.cli.metrics import metrics
from gpusim.cli.show import show
from gpusim.lab.microbench import views
from gpusim.lab.microbench.bench import MicrobenchResults
from gpusim.lab.microbench.references import PUBLISHED as REFERENCES
from gpusim.results.metrics import METRICS
from gpusim.results.report.values import format_metric
from tests.support.streams import Terminal, too_wide

MANGLED = "_Z7softmaxIfLj256EEvPKT_PS0_j"


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
    assert format_metric(path, value) == text


def test_progress_line_and_quiet() -> None:
    line = ProgressRate().line(Progress(2_000_000, 0, 10, 0))
    assert line.startswith("2M cycles, 0/10 workgroups, ")
    assert line.endswith("? instructions/s, ? left")
    out = io.StringIO()
    Reporter(quiet=True, stream=out).say("nothing")
    with Reporter(quiet=True, stream=out).following("k") as update:
        update(Progress(1, 1, 2, 3))
    assert out.getvalue() == ""
    assert (scaled(12_345_678), scaled(12)) == ("12.3M", "12")
    assert [duration(s) for s in (0, 59.6, 75, 10_680)] == ["0 s", "1 min 0 s", "1 min 15 s", "2 h 58 min"]


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
    assert lines[0] == "k: 25 cycles, 25/100 workgroups, 5k instructions/s, 15 s left"


def test_time_left_is_known_before_a_workgroup_is_done(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    now = [0.0]
    monkeypatch.setattr("gpusim.base.progress.time.monotonic", lambda: now[0])
    rate = ProgressRate()
    assert rate.line(Progress(100, 0, 10, 1000, 100_000)).endswith("? left")
    now[0] = 0.5
    assert rate.line(Progress(200, 0, 10, 2000, 100_000)).endswith("2k instructions/s, 49 s left")
    assert rate.line(Progress(200, 0, 10, 2000)).endswith("? left")  # of no wavefront is it known what it executes
    assert rate.line(Progress(200, 0, 10, 2000, 0, 50_000)).endswith("instructions/s, at least 24 s left")
    assert rate.line(Progress(200, 0, 10, 2000, 0, 3500)).endswith(
        "instructions/s, ? left"
    )  # not a second: says nothing
    now[0] = 1.0
    assert rate.line(Progress(300, 9, 10, 5000, 4000)).endswith("0 s left")


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


def test_tables_of_metrics_and_microbenchmarks_fit_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    metrics()
    paths = {line.split()[0] for line in out.getvalue().splitlines() if line.split()}
    assert {metric.path for metric in METRICS} <= paths, "whole, to be copied"
    results = MicrobenchResults()
    for name in dict.fromkeys(row.figure for row in REFERENCES):
        results.add(name, f"what {name} is in a line of the usual length for a figure", 123456.789, "bytes/cycle")
    results.add_curve("stride 64", "loads", ("bytes", "cycles"), [(1 << k, 10.0**k) for k in range(7)])
    views.show(results, "MI6", "gfx803", out)
    assert too_wide(out) == []


@pytest.mark.parametrize("name", ["layerA", "layerB", "layerC", "mi6", "r9nano", "vector_add"])
def test_machines_fit_80_columns(name: str, capsys: pytest.CaptureFixture) -> None:
    show(name, [])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []
