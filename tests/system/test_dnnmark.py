"""Are DNNMark's benchmarks those of its table, and its metrics from the counters?"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.base.interrupt import INTERRUPTED, Interrupt
from gpusim.base.progress import Reporter
from gpusim.cli.main import invoke
from gpusim.config.gpu import load_gpu
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.jobs.running.script import ran
from gpusim.lab.papers import dnnmark
from gpusim.lab.papers.dnnmark import (
    BENCHMARKS,
    FIGURES,
    BenchmarksJob,
    benchmark,
    reduction,
)
from gpusim.lab.papers.dnnmark_tables import NAMES
from gpusim.results.report.many import as_markdown
from gpusim.results.report.page.parts import fragment
from gpusim.results.report.result import read
from gpusim.results.store.reading import StoreReader
from gpusim.study.compare.sides import side
from tests.support.network_runs import piped, shown
from workloads.networks.graph import Network

SHAPES = {
    "convolution": ((3, 256, 256), (32, 256, 256)),
    "pooling": ((3, 256, 256), (3, 127, 127)),
    "lrn": ((32, 256, 256), (32, 256, 256)),
    "relu": ((32, 256, 256), (32, 256, 256)),
    "fully_connected": ((9216, 1, 1), (4096,)),
    "softmax": ((1000, 1, 1), (1000, 1, 1)),
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_benchmarks_are_those_of_the_paper_s_table_3(name: str) -> None:
    network = benchmark(name, 100, 256)
    assert (*network.inputs.values(), network.layers[0].shape) == SHAPES[name]
    assert network.batch == 100 and network.input_gradients


def test_fewer_images_and_rows_are_said() -> None:
    assert reduction(100, 256) == ""
    assert reduction(4, 64) == "reduced: batch 4 of 100, rows and columns 64 of 256"
    small = benchmark("pooling", 4, 64)
    assert (small.batch, *small.inputs.values()) == (4, (3, 64, 64))
    assert benchmark("softmax", 4, 64).inputs == benchmark("softmax", 4, 256).inputs
    with pytest.raises(UserError, match="--size 300: DNNMark's benchmarks have 256; allowed are 1 to 256"):
        benchmark("lrn", 4, 300)


def test_metrics_come_from_the_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnnmark, "BENCHMARKS", ("pooling", "relu"))
    job = BenchmarksJob(NetworkSettings(gpu=load_gpu("mi6")), 1, 32, NetworkRunRequest())
    tree, (record,) = ran(job, Reporter(quiet=True))
    found = tree["benchmarks"]
    assert [(one["name"], one["pass"]) for one in found] == [
        (name, what) for name in ("pooling", "relu") for what in ("forward", "backward")
    ]
    for one, part in zip(found, record.parts, strict=True):
        assert part.facts is not None and one["cycles"] == part.facts.cycles > 0
        assert one["kernels"] == [launch.kernel for launch in part.launches]
        values = {figure.name: one[figure.nvprof] for figure in FIGURES}
        assert all(value > 0 for value in values.values())
        assert all(values[unit] <= 1 for unit in ("L1/LDS", "L2", "DRAM", "ALU", "LSU", "occupancy"))


def test_figures_are_shown_wherever_a_result_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {figure.nvprof: figure.name for figure in FIGURES} == NAMES
    monkeypatch.setattr(dnnmark, "BENCHMARKS", ("pooling", "relu"))
    tree, _ = ran(BenchmarksJob(NetworkSettings(gpu=load_gpu("mi6")), 1, 16, NetworkRunRequest()), Reporter(quiet=True))
    text = piped(tree)
    head = "\t".join(["benchmark", "pass", "time us", *(figure.name for figure in FIGURES)])
    lines = text[text.index(head) :].splitlines()
    assert [line.split("\t")[:2] for line in lines[1:5]] == [
        [name, what] for name in ("pooling", "relu") for what in ("forward", "backward")
    ]
    first = tree["benchmarks"][0]
    assert lines[1].split("\t")[2:5] == [f"{first['time_us']:,.1f}", f"{first['ipc']:.2f}", percent(first)]
    assert "\nreduced: batch 1 of 100, rows and columns 16 of 256\n" in text
    markdown = as_markdown(tree)
    assert "| benchmark | pass |" in markdown and "eligible" in fragment(tree)
    narrow = shown(tree, 80, monkeypatch)
    assert max(map(len, narrow)) <= 80 and not any("…" in line for line in narrow)


def percent(one: dict[str, Any]) -> str:
    return f"{100 * one['achieved_occupancy']:.0f}%"


@pytest.fixture
def pointwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two small benchmarks instead of six."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dnnmark, "BENCHMARKS", ("pooling", "relu"))


COMMAND = ["net", "--dnnmark", "--batch", "1", "--size", "16", "--jobs", "1", "--quiet"]


def test_the_command_writes_json_that_compare_and_report_read(pointwise: None) -> None:
    assert invoke([*COMMAND, "--json", "d.json"]) == 0
    found = json.loads(Path("d.json").read_text())
    assert found["remarks"] == ["reduced: batch 1 of 100, rows and columns 16 of 256"] and not found["partial"]
    assert (found["kind"], found["network"], found["phase"], found["batch"]) == ("net", "DNNMark", "train", 1)
    first = found["benchmarks"][0]
    assert {figure.nvprof for figure in FIGURES} <= set(first) and first["name"] == "pooling"
    assert sum(one["cycles"] for one in found["benchmarks"]) == found["total"]["cycles"]
    assert list(side("d.json", Path("none.db")).parts) == [
        *("all", "pooling forward", "pooling backward data", "relu forward", "relu backward data"),
    ]
    result = read(found)
    assert result.title.startswith("DNNMark: training, batch 1 on MI6") and len(result.rows) == 4


def test_it_is_kept_and_found_as_other_networks_are(pointwise: None, capfd: pytest.CaptureFixture[str]) -> None:
    again = [word for word in COMMAND if word != "--quiet"]
    assert invoke([*again, "--store"]) == 0
    first = capfd.readouterr()
    assert "kept in gpusim.db: run 1" in first.err
    assert invoke([*again, "--store"]) == 0
    second = capfd.readouterr()
    assert "found in gpusim.db: run 1" in second.err and second.out == first.out
    assert invoke([*again, "--store", "--size", "8"]) == 0
    with StoreReader("gpusim.db") as results:
        assert [(r["id"], r["kind"], r["state"], r["batch"]) for r in results.table("runs")] == [
            (1, "net", "done", 1),
            (2, "net", "done", 1),
        ]
        rows = results.query(
            "SELECT layer, pass, value FROM metrics WHERE run = 1 AND launch IS NULL AND name = 'kernel.cycles'"
        )
        assert [(row["layer"], row["pass"]) for row in rows] == [
            (None, None),
            *((name, what) for name in ("pooling", "relu") for what in ("forward", "backward_data")),
        ]
        assert rows[0]["value"] == sum(row["value"] for row in rows[1:])
        launches = results.table("launches", run=1)
        assert [row["invocation"] for row in launches] == list(range(len(launches)))


def test_what_was_finished_before_an_interrupt_is_kept(pointwise: None, monkeypatch: pytest.MonkeyPatch) -> None:
    original = dnnmark.run_iteration

    def stopped(network: Network, settings: Any, wanted: Any, reporter: Any, interrupt: Interrupt) -> Any:
        if network.name == "relu":
            interrupt.reason = INTERRUPTED
        return original(network, settings, wanted, reporter, interrupt)

    monkeypatch.setattr(dnnmark, "run_iteration", stopped)
    assert invoke([*COMMAND, "--store"]) == 130
    with StoreReader("gpusim.db") as results:
        (run,) = results.table("runs")
        assert (run["state"], run["exit_code"]) == ("partial", 130)
        assert {row["layer"] for row in results.table("metrics", run=1)} == {None, "pooling"}
    monkeypatch.setattr(dnnmark, "run_iteration", original)
    assert invoke([*COMMAND, "--store"]) == 0, "a partial run answers nothing"
