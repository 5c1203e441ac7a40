"""Is a sum longer than a sparse region right when its blocks of rows are simulated with the engine on?"""

from gpusim.config.engine import load_engine
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.simulator import simulate
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
