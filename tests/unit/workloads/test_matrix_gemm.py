"""Do products by matrix cores leave out what is zero, and are they divided and refused as they say?"""

from collections.abc import Mapping

import numpy as np
import pytest

from gpusim.config.run import load_run
from isa.device_memory import DeviceMemory
from spartan.shadows import shadows_of
from workloads.data.operands import SyntheticOperands
from workloads.operators.gemm import GemmError
from workloads.operators.matrix_gemm import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    MATRIX_KERNELS,
    MatrixGemmOperator,
    build_matrix_gemm,
    divide,
)
from workloads.operators.operator import GpuFacts
from workloads.shapes import GemmShape

FACTS = GpuFacts(4, 65536)


def made(name: str, shape: GemmShape, zeros: float, block: tuple[int, int] = (1, 1)) -> MatrixGemmOperator:
    memory = DeviceMemory(1 << 24, architecture="gfx908")
    return build_matrix_gemm(MATRIX_KERNELS[name], shape, SyntheticOperands(zeros, 1, block), memory, FACTS)


def test_values_are_rounded_to_nearest_even() -> None:
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, -3.3e38, 0.1], np.float32)
    assert BFLOAT16.read(BFLOAT16.stored(values)).tolist()[:2] == [1.0, 1 + 2.0**-6]
    np.testing.assert_array_equal(FLOAT16.read(FLOAT16.stored(values[[0, 3]])), values[[0, 3]].astype(np.float16))
    assert FLOAT32.read(FLOAT32.stored(values)).tolist() == values.tolist()


@pytest.mark.parametrize(("name", "columns"), [("matrix_gathered_float32", 16), ("matrix_gathered_float16", 32)])
def test_the_engine_s_region_has_a_line_of_each_tile_and_k(name: str, columns: int) -> None:
    operator = made(name, GemmShape(70, 40, 300), 0.97)
    (region,) = operator.launches[0].regions
    division = operator.division
    assert region.columns == -(-40 // columns) * division.quarters and region.rows == 16 * division.depth
    assert division.lines >= 300 and division.depth % 16 == 0
    _, b = operator._operands(operator.inputs)
    (packed,) = shadows_of(operator.launches[0])
    tiles = [b[at : at + columns] for at in range(0, 40, columns)]
    gathered = sum(int(np.count_nonzero(tile.any(axis=0))) for tile in tiles)
    assert np.count_nonzero(packed.image.reshape(-1, 16).any(axis=1)) == gathered
    assert operator.zero_fractions()[1] == pytest.approx(1 - gathered / (300 * len(tiles)))


def test_zeros_that_columns_share_are_left_out() -> None:
    apart, shared = (made("matrix_gathered_float32", GemmShape(8, 16, 256), 0.9, (1, width)) for width in (1, 16))
    assert shared.zero_fractions()[1] > 0.8 > 0.4 > apart.zero_fractions()[1]
    assert shared.work.needed_macs < apart.work.needed_macs < apart.work.macs


def test_long_sums_are_split_until_compute_units_have_work() -> None:
    kernel = MATRIX_KERNELS["matrix_float16"]
    one, wide = divide(kernel, GemmShape(64, 1, 8192), FACTS), divide(kernel, GemmShape(4096, 64, 8192), FACTS)
    assert (one.parts, one.tiles, wide.parts, wide.tiles) == (8, 1, 1, 2)
    assert divide(kernel, GemmShape(64, 64, 64), GpuFacts(8, 65536)).tiles == 1  # else one workgroup for eight
    with pytest.raises(GemmError, match="is 8192 lines each; allowed are at most 4096"):
        divide(MATRIX_KERNELS["matrix_gathered_float32"], GemmShape(1 << 12, 1, 1 << 15), FACTS)


@pytest.mark.parametrize("way", ["routed", "indexed"])
def test_rows_that_are_not_on_the_list_have_values_and_do_not_count(way: str) -> None:
    operator = made(f"matrix_{way}_float16", GemmShape(70, 40, 300), 0.9, (1, 64))
    assert operator.listed is not None and 0 < len(operator.listed) < 100
    everything = FLOAT16.read(operator.b[:, :300]).reshape(-1, 300, 32)
    others = np.setdiff1d(np.arange(300), operator.listed)
    assert np.count_nonzero(everything[0, others]) > 0.9 * everything[0, others].size
    assert operator.work.macs == 70 * 40 * len(operator.listed)
    if way == "routed":
        (packed,) = shadows_of(operator.launches[0])
        assert packed.lines.tolist() == [len(operator.listed)] * 2
        assert packed.numbers is not None
        assert packed.numbers[: len(operator.listed)].tolist() == operator.listed.tolist()


def test_a_gpu_without_matrix_cores_is_refused() -> None:
    with pytest.raises(GemmError, match="needs matrix cores, which gfx803 has not"):
        build_matrix_gemm(
            MATRIX_KERNELS["matrix_float32"], GemmShape(1, 1, 1), SyntheticOperands(0, 1), DeviceMemory(1 << 20), FACTS
        )


def test_a_run_takes_them_by_name() -> None:
    product: Mapping[str, object] = {"kind": "gemm", "m": 1, "n": 1, "k": 1}
    for name, kernel in MATRIX_KERNELS.items():
        way = "sparse" if name.count("_") == 2 else "dense"
        config = load_run({"gpu": "mi100", "workload": product, "kernels": {way: name}})
        assert way == "dense" or config.kernels.may_use_engine == kernel.uses_engine
