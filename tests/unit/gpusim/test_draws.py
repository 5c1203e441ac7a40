"""Is a run of several draws the mean of runs with each, with the interval of their spread, whatever its kind?"""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.base.student import interval
from gpusim.cli.main import invoke
from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import load_network
from gpusim.config.network_run import load_settings
from gpusim.jobs.exec import ExecJob
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.jobs.networks.job import NetworkJob
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.jobs.running import runner
from gpusim.jobs.running.job import Job
from gpusim.model.core.sampled import DRAWS
from gpusim.results import metrics
from gpusim.results.records.record import RunRecord
from gpusim.results.report.sweeps.points import merged_repeats
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.records import plain, restored
from gpusim.results.store.sweep_points import swept

pytestmark = pytest.mark.compiled_tier
SMALL = ["global_size=[4096]", "arguments.n.value=4096"]
SMALL += [f"arguments.{name}={{fill: 1, dtype: float32, shape: [4096]}}" for name in "abc"]
SEVERAL = {"exec": 4, "net": 2}
QUIET = Reporter(quiet=True)


def run(job: Job) -> RunRecord:
    (record,) = runner.run(job, QUIET, Interrupt())
    return record


def vector_add(*sets: str) -> ExecJob:
    return ExecJob(*load_exec(opened("vector_add", EXAMPLE_FOLDER), [*SMALL, *sets]), QUIET)


def lenet(**more: Any) -> NetworkJob:
    wanted = NetworkRunRequest(1, layers="conv1:pool1", data="synthetic", **more)
    return NetworkJob(load_network("lenet"), load_settings(opened("mi6", GPU_FOLDER)), wanted)


def alone(kind: str, number: int) -> Job:
    if kind == "exec":
        return vector_add(f"run.perturbation={number}")
    return lenet(launches=RunOptions(perturbation=number))


def of_several(kind: str) -> Job:
    return vector_add(f"run.draws={SEVERAL[kind]}") if kind == "exec" else lenet(draws=SEVERAL[kind])


@pytest.mark.parametrize("kind", ["exec", "net"])
def test_means_and_intervals_are_those_of_runs_with_each_draw(kind: str) -> None:
    drawn = [metrics.to_tree(run(alone(kind, number))) for number in range(SEVERAL[kind])]
    record = run(of_several(kind))
    found = metrics.to_tree(record)
    for section, name in (("kernel", "cycles"), ("kernel", "time_us"), ("l2", "hits"), ("dram", "reads")):
        values = [tree[section][name] for tree in drawn]
        mean, half_width = interval(values)
        assert found[section][name] == pytest.approx(mean, abs=0.51 * len(record.launches or record.parts)), name
        assert found[section][f"{name}_half_width"] == pytest.approx(half_width, abs=1e-6), name
    assert found["kernel"]["cycles_half_width"] > 0, "nothing was drawn"
    assert found["host"]["time_us"] == pytest.approx(fmean(tree["host"]["time_us"] for tree in drawn))
    assert found["sampling"]["method"] == DRAWS and f"{SEVERAL[kind]} draws" in found["sampling"]["reason"]
    assert found["kernel"]["wavefront_instructions"] == drawn[0]["kernel"]["wavefront_instructions"]


def test_a_record_of_draws_comes_back_from_a_store() -> None:
    record = run(of_several("exec"))
    (back,) = restored(json.loads(json.dumps(plain([record]))))
    assert metrics.to_tree(back)["kernel"] == metrics.to_tree(record)["kernel"]


def test_each_draw_finds_an_empty_device_memory() -> None:
    """Arrays of 768 KiB fit into a memory of 1 MiB, twice not at the same time."""
    large = [one.replace("4096", str(1 << 16)) for one in SMALL]
    assert run(vector_add(*large, "gpu.memory_mib=1", "run.draws=2")).launches[0].sampling is not None


def test_commands_say_the_interval_and_refuse_what_would_be_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sets = [word for one in SMALL for word in ("--set", one)]
    assert invoke(["exec", "vector_add", *sets, "--perturb", "3", "--store"]) == 0
    said = capfd.readouterr().out
    assert "means of 3 draws of the machine" in said and "±" in said
    with StoreReader("gpusim.db") as results:
        (row,) = results.table("run_metrics", name="kernel.cycles")
        assert row["half_width"] > 0
    assert invoke(["exec", "vector_add", *sets, "--set", "gpu.l2.ways=8", "--perturb", "3", "--store"]) == 0
    assert invoke(["compare", "1", "2"]) == 0, "half-widths of values by compute unit are lists, too"
    assert "±" in capfd.readouterr().out
    assert invoke(["exec", "vector_add", *sets, "--perturb", "3", "--sample"]) == 2
    assert "run.draws: 3 is not allowed of a sampled run" in capfd.readouterr().err
    assert invoke(["exec", "vector_add", *sets, "--perturb", "3", "--set", "run.timing=false"]) == 2
    assert "run.draws: 3 is not allowed of a run without timing" in capfd.readouterr().err
    assert invoke(["exec", "vector_add", *sets, "--perturb", "3", "--timeline", "t.json"]) == 2
    assert "3 draws are 3 runs" in capfd.readouterr().err
    assert invoke(["net", "--dnnmark", "--perturb", "3"]) == 2
    assert "--perturb 3: is of a network's runs" in capfd.readouterr().err
    with pytest.raises(UserError, match="of a sampled run"):
        wanted = NetworkRunRequest(1, draws=2)
        NetworkJob(load_network("lenet"), load_settings(opened("mi6", GPU_FOLDER), ["sampling={}"]), wanted)


def test_draws_of_a_network_are_an_axis_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "lenet", "--set", "layers=conv1", "--set", "data=synthetic", "--set", "gpu=mi6,r9nano"]
    assert invoke([*command, "--perturb", "2", "--jobs", "1", "--quiet"]) == 0
    with StoreReader("gpusim.db") as results:
        found = swept(results, 1)
    assert found.with_role("repeat") == ["run.perturbation"] and len(found.places) == 4
    assert len(merged_repeats(found).places) == 2
