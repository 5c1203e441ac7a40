"""Is a sum longer than a sparse region right when its blocks of rows are simulated with the engine on?"""

import pytest

import gpusim
from gpusim.config.engine import load_engine
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from isa.execution.emulator import run_functional
from isa.region import MAX_ROWS
from tests.support.gemm import random_gemm
from workloads.operators.verify import verify

GPU = GpuSpec(shader_arrays=1, cus_per_array=2)


def test_blocks_of_rows_each_with_a_region_add_up_to_the_product() -> None:
    operator = random_gemm("sgemm_dib_gather", (4, 2, MAX_ROWS + 100), GPU, 0.9)
    *blocks, add = operator.launches
    assert len(blocks) == 2
    for launch in blocks:
        assert simulate(launch, GPU, load_engine("default"), checked=True).engine.responses > 0
    run_functional(add)
    assert verify(operator).passed


LONG = {
    "workload": {"kind": "gemm", "m": 4, "n": 2, "k": MAX_ROWS + 100, "sparsity": 0.97},
    "gpu": {"shader_arrays": 1, "cus_per_array": 2},
    "kernels": {"dense": "sgemm_wide"},
}


@pytest.mark.parametrize(
    ("sets", "blocks"),
    [
        ({"engine.compact": "on_write"}, 2),
        ({"engine.compact": "on_write", "kernels.sparse": "sgemm_dib_gather"}, 2),
        ({"kernels.sparse": "software"}, 2),
        ({"kernels.sparse": "auto"}, 2),
        ({"workload.n": 80, "gpu.memory_mib": 22, "engine.compact": "on_write"}, 4),  # of columns too
    ],
)
def test_jobs_of_long_sums(sets: dict, blocks: int) -> None:
    found = gpusim.run(LONG, engine="on", sets=sets | {"run.checked": True}, quiet=True)
    (record,) = found.records
    assert found.passed
    products = [facts for facts in record.launches if facts.engine is not None]
    if record.kernel in ("sgemm_dib_tiled", "sgemm_dib_gather"):
        assert len(products) == blocks
        assert sum(facts.engine.response_mismatches for facts in products) == 0
        if "engine.compact" in sets:
            lines = sets.get("workload.n", 2) * -(-(MAX_ROWS + 100) // 16)
            assert record.total.engine.lines_handed_over == lines


def test_sampled_launches_of_a_long_sum() -> None:
    workload = {**LONG["workload"], "m": 4, "n": 128}
    sampling = {"run.sampling": {"error": 0.2}, "kernels.sparse": "sgemm_dib_gather"}
    found = gpusim.run({**LONG, "workload": workload}, engine="on", sets=sampling, quiet=True)
    assert len(found.records[0].launches) == 3
    assert found.records[0].incomplete_results == (found.passed is None)
