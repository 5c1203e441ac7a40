"""Are a library's results read as they are stored, and its launches not torn apart by sampling?"""

import numpy as np
import pytest

from gpusim.config.run import load_run
from gpusim.hip.recording import Recording
from gpusim.jobs.gemm import GemmJob, gemm_problem
from gpusim.jobs.vendor import LibraryProduct
from isa.device_memory import DeviceMemory
from workloads.operators.gemm import GemmBuffers
from workloads.shapes import GemmShape
from workloads.vendor.libraries import VENDOR_PRODUCTS

SMALL = ["workload={kind: gemm, m: 3, n: 5, k: 4}", "run.sampling.error=0.05"]


@pytest.mark.parametrize("name", sorted(VENDOR_PRODUCTS))
def test_c_is_read_as_the_library_stores_it(name: str) -> None:
    shape, product = GemmShape(3, 5, 4), VENDOR_PRODUCTS[name]
    buffers = GemmBuffers.allocate(shape, DeviceMemory(1 << 20))
    expected = np.arange(15, dtype=np.float32).reshape(5, 3)  # [N, M]
    if name == "rocsparse_csrmm":  # C's transpose, column-major: M columns of N, without a gap
        buffers.c_stored.reshape(-1)[:15] = expected.T.reshape(-1)
    else:
        buffers.c_stored[:, :3] = expected
    assert (LibraryProduct(product, buffers, Recording()).outputs["C"] == expected).all()


@pytest.mark.parametrize(
    ("engine", "sets", "functional"),
    [
        ("on", ["kernels.sparse=rocsparse"], True),
        ("both", ["kernels.sparse=rocsparse_csrmm", "kernels.dense=rocblas"], True),
        ("off", ["kernels.sparse=rocsparse", "kernels.dense=rocblas"], False),
        ("on", ["kernels.dense=rocblas"], False),
    ],
)
def test_what_later_kernels_read_is_computed_though_it_is_skipped(
    engine: str, sets: list[str], functional: bool
) -> None:
    config = load_run("layerC", [*SMALL, f"run.engine={engine}", *sets])
    sampling = GemmJob(config, gemm_problem(config.workload)).options.launches.sampling  # type: ignore[arg-type]
    assert sampling is not None and (sampling.functional, sampling.error) == (functional, 0.05)
