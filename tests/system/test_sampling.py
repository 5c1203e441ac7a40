"""Is a sampled launch what the whole one is, within its bar, and does it say what it has not computed?"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.cli.main import invoke
from gpusim.config.run import load_run
from gpusim.jobs.gemm import GemmJob, gemm_problem
from gpusim.jobs.running.operators import gpu_facts
from gpusim.lab.checks.sampling.case import SamplingCase, SamplingLaunch
from gpusim.lab.checks.sampling.measure import compare
from gpusim.model.sampling import stratum
from gpusim.model.sampling.decision import IntervalMeasurements, SamplingDecision
from gpusim.model.sampling.estimate import CountEstimate, estimate
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.work import WorkgroupInstructions, WorkgroupStratum
from gpusim.results import metrics
from gpusim.results.store.records import plain, restored
from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer, pack
from isa.launch import Launch
from isa.object.code_object import load_code_object
from tests.support.daily import parametrize_daily
from workloads.operators.add import Add
from workloads.operators.primitive import build
from workloads.toolchain.build import BENCH_KERNELS_DIR, code_object_path

pytestmark = pytest.mark.compiled_tier
GPU = {"shader_arrays": 1, "cus_per_array": 1, "name": "one CU", "memory_mib": 64}
DENSE = {"dense": "sgemm"}
GEMM = {"kind": "gemm", "name": "many tiles", "m": 64, "n": 24_000, "k": 32, "sparsity": 0, "seed": 1}


def run(**options: Any) -> gpusim.RunResult:
    run = {"engine": "off", "checked": True, **options}
    config: Mapping[str, Any] = {"gpu": GPU, "workload": GEMM, "kernels": DENSE, "run": run}
    return gpusim.run(config, quiet=True)


@pytest.fixture(scope="module")
def whole() -> gpusim.RunResult:
    return run()


@pytest.fixture(scope="module")
def sampled() -> gpusim.RunResult:
    return run(sampling={})


def test_the_truth_lies_within_the_bar(whole: gpusim.RunResult, sampled: gpusim.RunResult) -> None:
    assert sampled.sampling.method == "windows" and sampled.sampling.fraction < 0.7
    assert sampled.kernel.cycles != whole.kernel.cycles  # nobody simulated it after all
    assert abs(sampled.kernel.cycles - whole.kernel.cycles) <= sampled.kernel.cycles_half_width
    assert sampled.kernel.cycles_half_width < 0.02 * whole.kernel.cycles


def test_what_the_grid_says_is_exact(whole: gpusim.RunResult, sampled: gpusim.RunResult) -> None:
    for name in ("workgroups", "workgroups_total", "wavefronts", "wavefronts_ended", "wavefront_instructions"):
        assert sampled.kernel[name] == whole.kernel[name]
        assert sampled.kernel[f"{name}_half_width"] == pytest.approx(0, abs=1e-6)


def test_every_number_has_a_half_width_beside_it(whole: gpusim.RunResult, sampled: gpusim.RunResult) -> None:
    tree = dict(metrics.leaves(metrics.to_tree(sampled.records[0])))
    bare = metrics.to_tree(whole.records[0])
    assert "sampling" not in bare and not [path for path, _ in metrics.leaves(bare) if path.endswith("half_width")]
    of_launches = [m for m in metrics.METRICS if not m.of_run and not m.path.startswith("simulator.")]
    for metric in of_launches:
        value = tree.get(metric.path)
        if isinstance(value, int | float):
            assert tree[f"{metric.path}_half_width"] >= 0
    assert tree["host.time_us_half_width"] == tree["kernel.time_us_half_width"] > 0


def test_counts_that_follow_from_others_still_do(whole: gpusim.RunResult, sampled: gpusim.RunResult) -> None:
    kernel = sampled.kernel
    kinds = sum(kernel[f"{kind}_instructions"] for kind in ("valu", "salu", "vmem", "lds", "smem", "branch", "other"))
    assert kinds == pytest.approx(kernel.wavefront_instructions, abs=8)
    assert sampled.l2.hits + sampled.l2.misses + sampled.l2.mshr_merges == pytest.approx(
        sampled.l2.transactions, rel=1e-3
    )
    assert sampled.profile.sm_efficiency == pytest.approx(whole.profile.sm_efficiency, rel=0.01)


def test_a_sampled_run_is_repeatable(sampled: gpusim.RunResult) -> None:
    again = run(sampling={}).records[0].total
    first = sampled.records[0].total
    counts = [{name: held for name, held in facts.sections.items() if name != "simulator"} for facts in (first, again)]
    assert counts[0] == counts[1]


def test_what_has_not_settled_after_32_intervals_is_not_measured_elsewhere(
    whole: gpusim.RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def never_settled(measured: IntervalMeasurements, *_: Any) -> SamplingDecision:
        asked.append(len(measured.intervals))
        return SamplingDecision(0, False)

    monkeypatch.setattr(stratum, "following", never_settled)
    found = run(sampling={})
    assert max(asked) <= 32  # intervals of a stratum: a change of pace begins another one
    assert found.sampling.method == "whole"
    assert found.sampling.reason.startswith(("after 32 intervals it had not settled", "not stationary"))
    assert (found.kernel.cycles, found.kernel.cycles_half_width) == (whole.kernel.cycles, 0)


def test_results_of_skipped_workgroups_are_computed_on_request(
    whole: gpusim.RunResult, sampled: gpusim.RunResult
) -> None:
    assert sampled.passed is None and whole.passed is True
    computed = run(sampling={"functional": True})
    assert computed.sampling.method == "windows" and computed.passed is True
    assert computed.kernel.wavefront_instructions == whole.kernel.wavefront_instructions


@parametrize_daily("kernel", ["software", "csc"], [0])
def test_what_a_conversion_leaves_to_the_product_is_computed(kernel: str) -> None:
    workload = {"kind": "gemm", "m": 16, "n": 6_000, "k": 48, "sparsity": 0.4, "seed": 1}
    config = {"gpu": GPU, "workload": workload, "kernels": {"sparse": kernel}, "run": {"engine": "on", "verify": False}}
    exact, estimated = (gpusim.run(config, sets=sets, quiet=True) for sets in ({}, {"run.sampling": {"error": 0.01}}))
    (record,) = estimated.records
    assert not all(facts.sampling.method == "whole" for facts in record.launches[:-1])
    assert record.launches[-1].sampling.method == "windows"
    truth = exact.records[0].launches[-1]
    assert record.launches[-1].kernel.wavefront_instructions == pytest.approx(
        truth.kernel.wavefront_instructions, rel=0.02
    )
    assert record.launches[-1].cycles == pytest.approx(truth.cycles, rel=0.04)  # four workgroups keep their step


def test_a_sampled_run_comes_back_from_a_store(sampled: gpusim.RunResult) -> None:
    (found,) = restored(json.loads(json.dumps(plain(sampled.records), allow_nan=False)))
    assert metrics.to_tree(found) == metrics.to_tree(sampled.records[0])


def test_a_network_s_launches_are_sampled_and_its_values_all_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    layers = [{"name": name, "kind": "convolution", "filters": 32, "kernel": 1} for name in ("c", "d")]
    network = tmp_path / "n.yaml"
    network.write_text(json.dumps({"input": [32, 32, 32], "layers": layers}))
    machine = [part for name in GPU if name != "name" for part in ("--set", f"gpu.{name}={GPU[name]}")]
    # 24 images: the products of one layer take waves enough
    options = ["--batch", "24", "--sample", "--error", "1%", "--jobs", "1", "--json", "-", *machine]
    assert invoke(["net", str(network), *options, "--set", "gpu.memory_mib=128"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    first, second = found["rows"]
    assert found["verification"]["passed"] is True, "what was skipped was executed"
    assert found["total"]["compared_rows"] == found["total"]["rows"] == 2
    assert found["config"]["sampling"]["error"] == 0.01
    assert (first["simulated_launches"], second["simulated_launches"]) == (first["launches"], 0)
    for row in (first, second):
        assert "windows" in row["sampling"]["method"] and row["sampling"]["fraction"] < 0.9
        assert 0 < row["cycles_half_width"] <= 0.06 * row["cycles"]  # two intervals: the grid is too small for 1 %
        assert row["metrics"]["kernel"]["cycles_half_width"] == pytest.approx(row["cycles_half_width"])
        assert row["time_us_half_width"] / row["time_us"] == pytest.approx(row["cycles_half_width"] / row["cycles"])
    total = found["total"]
    assert total["cycles"] == 2 * first["cycles"], "and as wrong each time"
    assert total["cycles_half_width"] == pytest.approx(2 * first["cycles_half_width"])
    assert total["sampling"]["fraction"] == pytest.approx(first["sampling"]["fraction"] / 2), "equal ones cost nothing"
    assert re.search(r"^sampled: .* % of the instructions simulated.* total ± [\d.]+ us", printed.err, re.MULTILINE)


def test_equal_launches_count_as_simulated_once_wherever_they_are_known_from(tmp_path: Path) -> None:
    layers = [{"name": name, "kind": "convolution", "filters": 8, "kernel": 1} for name in ("c", "d", "e")]
    network, store = {"input": [8, 8, 8], "layers": layers}, tmp_path / "s.db"

    def sampled(**options: Any) -> dict[str, Any]:
        return gpusim.run_network(network, gpu=GPU, sets=["sampling={error: 0.1}"], quiet=True, **options).to_dict()

    first = sampled()["total"]
    assert first["sampling"]["fraction"] == pytest.approx(1 / 3), "three equal layers"
    gpusim.run_network(network, gpu=GPU, store=store, quiet=True)  # unsampled: another question
    assert sampled(store=store)["total"]["simulated_launches"] == first["simulated_launches"]
    again = sampled(store=store)["total"]
    assert again["simulated_launches"] == 0
    for name in ("fraction", "speed_up", "method"):
        assert again["sampling"][name] == first["sampling"][name]


def test_a_small_grid_runs_whole_and_says_why() -> None:
    config = {"gpu": GPU, "workload": {**GEMM, "n": 128}, "kernels": DENSE, "run": {"engine": "off", "sampling": {}}}
    result = gpusim.run(config, quiet=True)
    assert result.sampling.method == "whole" and result.sampling.fraction == 1
    assert "too few workgroups" in result.sampling.reason and result.passed is True
    bare = gpusim.run({**config, "run": {"engine": "off"}}, quiet=True)
    assert bare.kernel.cycles == result.kernel.cycles


def _small_product() -> SamplingLaunch:
    config = load_run({"gpu": GPU, "workload": GEMM, "kernels": DENSE, "run": {"engine": "off"}})
    job = GemmJob(config, gemm_problem(config.workload))  # type: ignore[arg-type]
    return SamplingLaunch(job.operator("sgemm").launches[-1], job.gpu)


def _small_sum() -> SamplingLaunch:
    spec = load_run({"gpu": GPU, "workload": GEMM}).gpu
    operator = build(Add((7, 64, 64, 64)), DeviceMemory(spec.memory_mib << 20), gpu_facts(spec), seed=1)
    return SamplingLaunch(operator.launches[0], spec)


@parametrize_daily("make", [_small_product, _small_sum], [1])
def test_the_comparison_finds_bars_true_and_an_estimate_that_is_off_untrue(
    make: Callable[[], SamplingLaunch], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = SamplingCase("small", "kind", "what", make)
    found = compare(case, [SamplingSpec()])[0]
    assert found.method == "windows" and found.fraction < 0.7
    assert found.covered and abs(found.error) < 0.02 and found.metrics_covered >= 0.8 * found.metrics > 0

    def off(*given: Any) -> CountEstimate:
        estimated = estimate(*given)
        return replace(estimated, added=1.1 * estimated.added)

    monkeypatch.setattr("gpusim.model.sampling.stratum.estimate", off)
    wrong = compare(case, [SamplingSpec()])[0]
    assert not wrong.covered and wrong.error > 0.02 and wrong.cycles == found.cycles


def _uneven(kernel: str, groups: int, work: Callable[[np.ndarray], np.ndarray]) -> SamplingLaunch:
    """A launch whose workgroup k has work(k) waves to do, on one compute unit."""
    spec = load_run({"gpu": GPU, "workload": GEMM}).gpu
    memory = DeviceMemory(spec.memory_mib << 20)
    table = np.asarray(work(np.arange(groups)), np.uint32)
    arrays = {"work": table, "y": np.zeros(256 * groups, np.float32)}
    found = load_code_object(code_object_path("uneven", BENCH_KERNELS_DIR)).kernels[kernel]
    values = {name: Pointer(memory.upload(array, name).address) for name, array in arrays.items()}
    return SamplingLaunch(Launch(found, memory, pack(found, values).block, (256 * groups, 1, 1), (256, 1, 1)), spec)


def _late() -> SamplingLaunch:
    return _uneven("looped", 2400, lambda k: np.where(k < 1600, 12, 60))


def _rare() -> SamplingLaunch:
    return _uneven("looped", 2400, lambda k: np.where(k % 199 == 7, 400, 12))


def test_work_that_changes_along_the_grid_is_sampled_in_strata() -> None:
    found = compare(SamplingCase("late", "uneven", "what", _late), [SamplingSpec()])[0]
    assert found.method == "windows" and found.fraction < 0.95
    assert found.covered and abs(found.error) < 0.01


def test_without_strata_of_work_those_of_pace_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkgroupInstructions, "strata", lambda *_: [WorkgroupStratum(0, 2400)])
    found = compare(SamplingCase("late", "uneven", "what", _late), [SamplingSpec()])[0]
    assert found.fraction == 1 or abs(found.error) <= found.half_width  # the pace tells what the work would have told


def test_a_launch_with_rare_long_workgroups_runs_whole_and_says_why() -> None:
    found = compare(SamplingCase("rare", "uneven", "what", _rare), [SamplingSpec()])[0]
    assert found.fraction == 1 and found.reason.startswith("not stationary: its longest workgroups have")


def test_intervals_lie_elsewhere_with_another_seed(sampled: gpusim.RunResult) -> None:
    again = run(sampling={"seed": 2})
    assert again.kernel.cycles != sampled.kernel.cycles
    assert again.kernel.wavefront_instructions == sampled.kernel.wavefront_instructions


def test_work_foretold_wrongly_is_forgotten_and_doubted(
    sampled: gpusim.RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = WorkgroupInstructions.of
    monkeypatch.setattr(WorkgroupInstructions, "of", lambda self, workgroups: 2 * of(self, workgroups))
    found = run(sampling={})
    assert found.sampling.method == "windows"
    assert found.kernel.wavefront_instructions == pytest.approx(sampled.kernel.wavefront_instructions, rel=0.02)


def test_an_engine_that_serves_one_search_at_a_time_is_not_sampled() -> None:
    workload = {"kind": "gemm", "m": 64, "n": 6400, "k": 64, "sparsity": 0.5, "seed": 1}
    config = {"gpu": GPU, "workload": workload, "kernels": {"sparse": "sgemm_dib_tiled"}, "run": {"engine": "on"}}
    found = gpusim.run(config, sets=["run.sampling={}", "engine.shifters=1"], quiet=True)
    assert found.sampling.method == "whole" and found.sampling.reason.startswith("the engine serves one search")
