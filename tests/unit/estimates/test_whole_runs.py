"""Are runs estimated without any like run, as far off as the record says, and is the page that of the record?"""

import json
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.config.files import opened
from gpusim.config.run import load_run
from gpusim.jobs.demand.launch_work import launch_work
from gpusim.jobs.estimates.checked import SHIPPED, CheckedRun, fit_memory, load_checked
from gpusim.jobs.estimates.run_costs import estimate_job
from gpusim.jobs.estimates.views import checked_table
from gpusim.jobs.host.command_processor import LaunchCommand, execute
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.running.job import CommandTask
from gpusim.lab.checks.estimates.check import CASES
from tests.structure.imports import ROOT

pytestmark = pytest.mark.compiled_tier
ONE_CU = ["gpu.shader_arrays=1", "gpu.cus_per_array=1", "kernels.dense=mmm_local"]  # many rounds
SMALL = ["workload.batch=2", "run.verify=false"]


def test_the_record_is_of_the_cases_and_the_page_of_the_record() -> None:
    record = load_checked()
    assert json.loads(SHIPPED.read_text()) == json.loads(json.dumps(record.document()))
    assert [run.what for run in record.runs] == [case.what for case in CASES]
    page = (ROOT / "docs" / "explanation" / "estimates.md").read_text(encoding="utf-8")
    assert checked_table(record).markdown().strip() in page, "gpusim check-estimates --markdown prints it"
    assert all(run.factor("cycles") < 2 for run in record.runs), "an estimate that is no estimate"
    pairs = [(run.device_mb, run.taken["memory_mb"]) for run in record.runs]
    assert fit_memory(pairs) == pytest.approx((record.base_mb, record.per_device_mb))


def test_a_factor_is_the_same_either_way() -> None:
    run = CheckedRun("x", False, 0.0, {"cycles": 50.0}, {"cycles": 100.0})
    other = CheckedRun("x", False, 0.0, {"cycles": 200.0}, {"cycles": 100.0})
    assert run.factor("cycles") == pytest.approx(2) and other.factor("cycles") == pytest.approx(2)
    assert fit_memory([(0, 100), (10, 120), (20, 140)]) == pytest.approx((100, 2))
    assert fit_memory([(0, 100), (10, 80)]) == (90, 0), "memory that shrinks is none of device memory's"


def test_the_shipped_estimates_are_what_the_code_says() -> None:
    """The record would be old otherwise; the cheapest of its products stands for all."""
    (run,) = [one for one in load_checked().runs if one.what.endswith("workload.batch=4")]
    config = load_run(opened("layerC"), ["run.engine=off", "workload.batch=4", "run.verify=false"])
    found = estimate_job(make_run_job(config))
    assert found.cycles == pytest.approx(run.estimated["cycles"])
    assert found.device_mb == pytest.approx(run.device_mb)


def test_what_the_engine_answers_decides_how_much_is_counted() -> None:
    """Loops over compacted columns end where the operand says, not where raw memory does."""
    config = load_run(opened("layerC"), [*SMALL, "run.engine=on"])
    task = make_run_job(config).variants[0].prepare()
    assert isinstance(task, CommandTask)
    (launch,) = (one.launch for one in task.commands if isinstance(one, LaunchCommand) and one.launch.regions)
    counted = launch_work(launch, config.gpu).instructions
    assert counted == pytest.approx(execute(launch).wavefront_instructions, rel=0.1)


def test_fewer_cycles_or_a_part_cost_less() -> None:
    def cost(*sets: str) -> float:
        return estimate_job(make_run_job(load_run(opened("layerC"), ["run.engine=off", *ONE_CU, *sets]))).cpu_s

    whole = cost()
    assert cost("run.max_cycles=1000") < whole / 5
    assert cost("run.sampling={}") < whole
    assert cost("run.draws=10") > 5 * whole


def test_commands_estimate_without_a_store_and_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--set", "workload.batch=2"]
    for command in (
        ["run", "layerC", *small, "--engine", "both"],
        ["net", "lenet", "--engine", "on"],
        ["sweep", "layerC", *small, "--set", "engine.sib_kib=4,8,16,32,64,128,256,512"],
    ):
        assert invoke([*command, "--estimate"]) == 0
        out = capfd.readouterr().out
        assert "by bounds" in out and f"of {len(load_checked().runs)} shipped runs" in out, command
    assert invoke(["hip", "--estimate", "--", "/bin/true"]) == 2
    assert "what hip launches is known once it runs" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"format": 1}')
    with pytest.raises(
        UserError, match="version: is required but missing; `gpusim check-estimates --to FILE` writes such a file"
    ):
        load_checked(tmp_path / "c.json")


def test_points_of_which_there_is_no_configuration_or_no_job_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--set", "workload.batch=1"]
    # a SIB of no KiB is no configuration; maps of a file that is not there are no job
    axes = ["--set", "engine.sib_kib=0,8", "--set", "workload.activations=layerC.npz,none.npz"]
    assert invoke(["sweep", "layerC", *small, *axes, "--estimate"]) == 0
    out = capfd.readouterr().out
    assert "3 points cannot be made, and cost nothing: the sweep keeps them as failed" in out
    assert "1 points of layerC.npz" in out and "none.npz" not in out
