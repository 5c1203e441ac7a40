"""Does a sparser product take less time on the whole machine, and is the kernel chosen by what zeros are worth?"""

from collections.abc import Sequence
from typing import Any

import pytest

import gpusim
from gpusim.config.workload import FASTEST
from tests.support.daily import parametrize_daily
from workloads.operators.gemm_kernels import SPARSE_CHOICES


def product(zeros: float, m: int, n: int, k: int, engine: str = "on", **sets: Any) -> Any:
    workload = {"kind": "gemm", "m": m, "n": n, "k": k, "sparsity": zeros, "seed": 4}
    return gpusim.run("layerB.yaml", engine=engine, sets={"workload": workload, **sets}, checked=True, quiet=True)


@pytest.mark.parametrize("kernel", ["sgemm_dib_tiled", "software"])
@parametrize_daily("fractions", [(0.0, 0.9, 1.0), (0.0, 0.5, 0.9, 0.99, 1.0)], [0])
def test_sparser_is_faster_up_to_zeros_alone(kernel: str, fractions: Sequence[float]) -> None:
    # so many columns that a single one's latency does not decide: the engine has to read most of a nearly empty column
    # before it can answer for its first line
    cycles = []
    for zeros in fractions:
        run = product(zeros, 64, 512, 512, **{"kernels.sparse": kernel})
        assert run.verification.passed
        cycles.append(run.kernel.cycles)
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[-1] < cycles[0] / 3


@pytest.mark.parametrize(
    ("zeros", "columns", "rows", "kernel"),
    [(0.3, 300, 1024, "sgemm"), (0.97, 300, 1024, "sgemm_dib_tiled"), (0.6, 64 * 36, 512, "sgemm_dib_registers")],
)
def test_zeros_decide_between_sparse_and_dense(zeros: float, columns: int, rows: int, kernel: str) -> None:
    sets = {"kernels.sparse": "auto", "kernels.dense": "sgemm"}
    found = product(zeros, 256, columns, rows, **sets).to_dict()
    assert found["kernel"]["name"].startswith(kernel) and bool(found["engine"]) == (kernel != "sgemm")
    choice = found["choice"]
    assert choice["kernel"] == kernel == min(choice["estimated"], key=choice["estimated"].get)
    assert set(choice["estimated"]) == {"sgemm", *SPARSE_CHOICES} and choice["zeros"] == pytest.approx(zeros, abs=0.01)


@pytest.mark.parametrize(
    ("choice", "zeros", "columns", "kernel"),
    [
        ("fastest_engine", 0.2, 64 * 36, "sgemm_dib_registers"),
        ("fastest_engine", 0.98, 300, "sgemm_dib_tiled"),
        ("fastest_software", 0.2, 64 * 36, "software_registers"),
        ("fastest_software", 0.98, 300, "software"),
    ],
)
def test_the_fastest_sparse_kernel_of_a_kind_is_taken_even_where_dense_is_faster(
    choice: str, zeros: float, columns: int, kernel: str
) -> None:
    found = product(zeros, 256, columns, 256, **{"kernels.sparse": choice}).to_dict()
    estimated = found["choice"]["estimated"]
    assert set(estimated) == {*FASTEST[choice]}
    assert found["choice"]["kernel"] == kernel == min(estimated, key=estimated.get)
    assert bool(found["engine"]) == (choice == "fastest_engine") and found["verification"]["passed"]


def test_a_kernel_that_does_not_fit_the_gpu_is_not_chosen() -> None:
    sets = {"kernels.sparse": "auto", "kernels.dense": "sgemm", "gpu.cu.lds_kib": 32}
    assert set(product(0.97, 256, 64, 512, **sets).to_dict()["choice"]["estimated"]) == {"sgemm", "sgemm_dib_tiled"}
