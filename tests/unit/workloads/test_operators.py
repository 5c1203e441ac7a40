"""Does every operator compute what NumPy computes, executed and timed, at the cost that its closed form says?"""

import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from gpusim.config.run import load_run
from gpusim.jobs.host.command_processor import execute
from isa.device_memory import DeviceMemory
from tests.support.daily import parametrize_daily
from tests.support.operator_contract import Builder, OperatorCase, OperatorContract, built
from workloads.data.operands import SyntheticOperands
from workloads.operators import operator
from workloads.operators.add import Add
from workloads.operators.bypass import copy_launch
from workloads.operators.gemm import build_gemm
from workloads.operators.gemm_kernels import GEMM_KERNELS, GemmKernel
from workloads.operators.matrix_gemm import MATRIX_KERNELS, MatrixKernel, build_matrix_gemm
from workloads.operators.operator import GpuFacts, Operator
from workloads.operators.primitive import build
from workloads.operators.tiling import MOST_FEW
from workloads.shapes import GemmShape

# M, N, K: one element; odd everything; more than a tile each way; exact tiles; more batches than one, few rows
SHAPES = [(1, 1, 1), (5, 3, 17), (257, 37, 130), (64, 32, 128), (3, 6, 700), (65, 2, 530)]
MATRIX_SHAPES = [(1, 1, 1), (70, 37, 530)]
MATRIX_GPU = load_run(
    {"gpu": {"base": "mi100", "shader_arrays": 2}, "workload": {"kind": "gemm", "m": 1, "n": 1, "k": 1}}
).gpu
COPIED_BYTES = [1, 15, 16, 4096, 100_003]
if JIT_DISABLED:  # the same edges, smaller: plain Python runs about a thousandth as fast
    SHAPES, COPIED_BYTES = [(1, 1, 1), (5, 3, 17), (33, 5, 20), (3, 2, 130)], [1, 17, 4099]
    MATRIX_SHAPES = [(3, 2, 20)]


def product(kernel: GemmKernel, *shape: int) -> Builder:
    data = SyntheticOperands(0.5, 1, window=4) if kernel.format == "2:4" else SyntheticOperands(0.6, 1)
    return lambda memory, gpu: build_gemm(kernel.name, GemmShape(*shape), data, memory, gpu)


def gemm_case(kernel: GemmKernel, shape: tuple[int, int, int]) -> OperatorCase:
    refused = [(product(kernel, 1 << 20, 1, 1 << 12), "do not fit")]
    return OperatorCase(f"{kernel.name}-{'x'.join(map(str, shape))}", product(kernel, *shape), tuple(refused))


def matrix_case(kernel: MatrixKernel, shape: tuple[int, int, int]) -> OperatorCase:
    def build_product(memory: DeviceMemory, gpu: GpuFacts) -> Operator:
        zeros = SyntheticOperands(0.9, 1, (1, 64 if kernel.has_list else 1))  # rows of zeros are those of others
        return build_matrix_gemm(kernel, GemmShape(*shape), zeros, memory, gpu)

    lane_macs = 64 if kernel.values.bits == 16 else 16
    name = f"{kernel.name}-{'x'.join(map(str, shape))}"
    return OperatorCase(name, build_product, gpu=MATRIX_GPU, lane_macs=lane_macs)


def allowed(kernel: GemmKernel, shape: tuple[int, int, int]) -> bool:
    return kernel.name != "few_columns" or shape[1] <= MOST_FEW


CASES = [
    *(gemm_case(kernel, shape) for kernel in GEMM_KERNELS.values() for shape in SHAPES if allowed(kernel, shape)),
    *(matrix_case(kernel, shape) for kernel in MATRIX_KERNELS.values() for shape in MATRIX_SHAPES),
    # the others are in test_primitives.py
    OperatorCase("add", lambda memory, gpu: build(Add((5, 7)), memory, gpu)),
]


# of each kernel some are daily; the others execute no instruction and no line of workloads/ that none of these does
NIGHTLY = (Path(__file__).parent / "nightly_products.txt").read_text(encoding="utf-8").splitlines()


@parametrize_daily(
    "case", CASES, [number for number, one in enumerate(CASES) if one.name not in NIGHTLY], ids=lambda case: case.name
)
class TestOperators(OperatorContract):
    """The contract, for all of them."""


def test_every_kernel_has_a_daily_case_and_what_is_listed_for_the_night_is_there() -> None:
    names = [one.name for one in CASES]
    assert {name.rpartition("-")[0] for name in names if name not in NIGHTLY} == {n.rpartition("-")[0] for n in names}
    assert JIT_DISABLED or sorted(set(names) & set(NIGHTLY)) == NIGHTLY, "in plain Python shapes are smaller"


def test_every_operator_has_a_case() -> None:
    modules = [
        import_module(f"workloads.operators.{file.stem}") for file in Path(operator.__file__).parent.glob("*.py")
    ]
    classes = {
        held
        for module in modules
        for _, held in inspect.getmembers(module, inspect.isclass)
        if held.__module__ == module.__name__ and hasattr(held, "expected") and held is not Operator
    }
    assert {type(built(case)) for case in CASES} == classes


@pytest.mark.parametrize("size", COPIED_BYTES)
def test_a_copy_has_every_byte_and_no_other_changes(size: int) -> None:
    memory = DeviceMemory(1 << 20)
    values = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    source, target = memory.upload(values, "source", writable=False), memory.allocate(size + 64, "target")
    execute(copy_launch(memory, source.address, target.address, size))
    np.testing.assert_array_equal(memory.view(target), np.append(values, np.zeros(64, np.uint8)))
