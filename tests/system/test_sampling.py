"""Is a sampled launch what the whole one is, within its bar, and does it say what it has not computed?"""

from collections.abc import Mapping
from typing import Any

import pytest

import gpusim
from gpusim.results import metrics

pytestmark = pytest.mark.compiled_tier
GPU = {"shader_arrays": 1, "cus_per_array": 2, "name": "two CUs", "memory_mib": 64}
GEMM = {"kind": "gemm", "name": "many tiles", "m": 64, "n": 48_000, "k": 64, "sparsity": 0, "seed": 1}


def run(**options: Any) -> gpusim.RunResult:
    config: Mapping[str, Any] = {"gpu": GPU, "workload": GEMM, "run": {"engine": "off", "checked": True, **options}}
    return gpusim.run(config, quiet=True)


@pytest.fixture(scope="module")
def whole() -> gpusim.RunResult:
    return run()


@pytest.fixture(scope="module")
def sampled() -> gpusim.RunResult:
    return run(sampling={})


def test_the_truth_lies_within_the_bar(whole: gpusim.RunResult, sampled: gpusim.RunResult) -> None:
    assert sampled.sampling.method == "windows" and sampled.sampling.fraction < 0.6
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
    of_launches = [m for m in metrics.METRICS if isinstance(m, metrics.Metric) and not m.path.startswith("simulator.")]
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


def test_results_of_skipped_workgroups_are_computed_on_request(
    whole: gpusim.RunResult, sampled: gpusim.RunResult
) -> None:
    assert sampled.passed is None and whole.passed is True
    computed = run(sampling={"functional": True})
    assert computed.sampling.method == "windows" and computed.passed is True
    assert computed.kernel.wavefront_instructions == whole.kernel.wavefront_instructions


def test_a_small_grid_runs_whole_and_says_why() -> None:
    config = {"gpu": GPU, "workload": {**GEMM, "n": 128}, "run": {"engine": "off", "sampling": {}}}
    result = gpusim.run(config, quiet=True)
    assert result.sampling.method == "whole" and result.sampling.fraction == 1
    assert "too few workgroups" in result.sampling.reason and result.passed is True
    bare = gpusim.run({**config, "run": {"engine": "off"}}, quiet=True)
    assert bare.kernel.cycles == result.kernel.cycles
