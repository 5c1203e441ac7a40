"""Do the matrix kernels compute what NumPy computes where data and tilings are at an edge? Executed, not timed.

That they do on ordinary data, executed and timed, is in test_operators.py.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from gpusim.jobs.host.command_processor import execute
from isa.device_memory import DeviceMemory
from spartan.format import pack
from tests.support.operator_contract import compiled_only
from workloads.data.operands import SyntheticOperands
from workloads.operators import register_tiling
from workloads.operators.gemm import GemmBuffers, GemmOperator, gemm
from workloads.operators.gemm_kernels import GEMM_KERNELS, SPARSE_KERNELS
from workloads.operators.operator import GpuFacts
from workloads.operators.register_tiling import ROW_VARIANTS
from workloads.operators.tiling import Tiling
from workloads.operators.verify import verify
from workloads.shapes import GemmShape

MEMORY_BYTES = 1 << 24
GPU = GpuFacts(compute_units=36, lds_bytes=1 << 16)
UNTOUCHED = np.float32(12345.0)
VARIANT_SHAPE = (9, 5, 70) if JIT_DISABLED else (130, 19, 333)

ANY_ZEROS = [name for name in SPARSE_KERNELS if GEMM_KERNELS[name].format == "ellpack_dib"]


def multiply(kernel: str, buffers: GemmBuffers, tiling: Tiling | None = None) -> GemmOperator:
    buffers.seal()
    buffers.c_stored[:] = UNTOUCHED
    operator = gemm(kernel, buffers, GPU, tiling)
    for launch in operator.launches:
        execute(launch)
    return operator


def filled(shape: tuple[int, int, int], sparsity: float) -> GemmBuffers:
    buffers = GemmBuffers.allocate(GemmShape(*shape), DeviceMemory(MEMORY_BYTES))
    SyntheticOperands(sparsity, seed=1).fill(buffers.a_stored, buffers.b_stored, buffers.shape)
    return buffers


@pytest.mark.parametrize("sparsity", [0.0, 1.0])
@pytest.mark.parametrize("kernel", ANY_ZEROS)
def test_full_and_empty_columns(kernel: str, sparsity: float) -> None:
    run = multiply(kernel, filled((70, 2, 64), sparsity))
    assert verify(run).passed
    if sparsity == 1.0:
        assert not run.buffers.c_stored[:, :70].any()


@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("wavefronts", [1, 3] if JIT_DISABLED else [1, 7, 15])
@pytest.mark.parametrize("rows", [64, 128, 256])
@pytest.mark.parametrize("kernel", ["sgemm_dib_tiled", "software"])
def test_every_variant_of_the_tiled_kernel(kernel: str, columns: int, wavefronts: int, rows: int) -> None:
    parts = 1 + (wavefronts == 7)
    operator = multiply(kernel, filled(VARIANT_SHAPE, 0.5), Tiling(columns, wavefronts, rows, parts))
    assert verify(operator).passed and operator.parts == parts


@compiled_only
@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(["sgemm_dib_tiled", "software"]))
def test_gaps_of_any_place_are_passed_over(data: st.DataObject, kernel: str) -> None:
    """Runs of rows without a non-zero in any column, in any number of parts."""
    k = data.draw(st.integers(1, 1500))
    buffers = GemmBuffers.allocate(GemmShape(data.draw(st.integers(1, 140)), 9, k), DeviceMemory(MEMORY_BYTES))
    SyntheticOperands(data.draw(st.sampled_from([0.0, 0.5, 0.97])), seed=k).fill(
        buffers.a_stored, buffers.b_stored, buffers.shape
    )
    for _ in range(data.draw(st.integers(0, 3))):
        first = data.draw(st.integers(0, k - 1))
        columns = slice(None) if data.draw(st.booleans()) else slice(data.draw(st.integers(0, 8)), None)
        buffers.b_stored[columns, first : first + data.draw(st.integers(1, k))] = 0.0
    tiling = Tiling(
        data.draw(st.sampled_from([1, 2, 4])), data.draw(st.integers(1, 5)), 64, data.draw(st.integers(1, 4))
    )
    assert verify(multiply(kernel, buffers, tiling)).passed


@compiled_only
def test_tiles_without_a_non_zero_are_not_brought() -> None:
    """Sparser takes fewer memory instructions, down to next to none of A."""

    def loads(zeros: float) -> int:
        buffers = filled((64, 8, 4096), zeros)
        buffers.seal()
        (launch,) = gemm("sgemm_dib_tiled", buffers, GPU, Tiling(1, 8, 64, 1)).launches
        return execute(launch).instructions["vmem"]

    counts = [loads(zeros) for zeros in (0.5, 0.9, 0.99, 0.999, 1.0)]
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0] / 20


@compiled_only
@pytest.mark.parametrize("kernel", ANY_ZEROS)
@pytest.mark.parametrize("non_zeros", [16, 63, 64, 65, 128, 129])
def test_columns_that_end_with_a_line_or_a_batch(kernel: str, non_zeros: int) -> None:
    buffers = filled((8, 5, 300), 1.0)
    random = np.random.default_rng(non_zeros)
    for column in range(5):
        rows = random.choice(300, non_zeros, replace=False)
        buffers.b_stored[column, rows] = random.standard_normal(non_zeros).astype(np.float32)
    assert verify(multiply(kernel, buffers)).passed


@pytest.mark.parametrize("kernel", ANY_ZEROS)
def test_an_underflowed_value_in_row_0_hides_no_other(kernel: str) -> None:
    buffers = filled((8, 3, 200), 0.5)
    buffers.b_stored[:, 0] = 1e-9  # a zero in FP16: its bundle is all zero bits
    assert verify(multiply(kernel, buffers)).passed


@pytest.mark.parametrize("kernel", ANY_ZEROS)
def test_negative_zero_counts_as_zero_and_subnormals_do_not(kernel: str) -> None:
    buffers = filled((8, 3, 100), 0.3)
    buffers.b_stored[:, 10:20] = -0.0
    buffers.b_stored[:, 30] = np.float32(3e-7)  # subnormal in FP16
    assert verify(multiply(kernel, buffers)).passed


def test_converted_columns_are_the_format_s() -> None:
    buffers = filled((4, 11, 150), 0.5)
    buffers.b_stored[2] = 0.0
    buffers.seal()
    convert = gemm("software", buffers, GPU).launches[0]
    execute(convert)
    memory, shape = buffers.memory, buffers.shape
    named = {a.name: a for a in memory.allocations}
    bundles = memory.view(named["ELLPACK-DIB B"], np.uint32).reshape(shape.n, shape.ldb)
    counts = memory.view(named["non-zeros a column"], np.uint32)
    expected, lines = pack(buffers.b_stored.reshape(-1), shape.k, shape.n, shape.ldb)
    assert np.array_equal(counts, np.count_nonzero(buffers.b_stored, axis=1))
    for column in range(shape.n):
        used = 16 * int(lines[column]) if counts[column] else 0
        assert np.array_equal(bundles[column, :used], expected.reshape(shape.n, -1)[column, :used])


@pytest.mark.parametrize("shape", [(4, 11, 150), (4, 16, 256), (4, 33, 64), (4, 1, 700)])
def test_converted_blocks_are_the_format_s(shape: tuple[int, int, int]) -> None:
    """Each 64 rows of a column as if they were a column, in whole lines, at least one."""
    buffers = filled(shape, 0.7)
    buffers.b_stored[-1, :64] = 0.0
    buffers.b_stored[0, :64] = 1.0
    buffers.seal()
    convert = gemm("software_registers", buffers, GPU).launches[0]
    named = {a.name: a for a in buffers.memory.allocations}
    held = buffers.memory.view(named["ELLPACK-DIB B"], np.uint32)
    held[:] = 0xFFFFFFFF  # whatever was there
    execute(convert)
    n, blocks = shape[1], -(-shape[2] // 64)
    bundles = held.reshape(n, buffers.shape.ldb)
    absent = buffers.memory.view(named["non-zeros a column"], np.uint32)[: blocks * n].reshape(blocks, n)
    for column, block in np.ndindex(n, blocks):
        rows = slice(64 * block, 64 * block + 64)
        values = buffers.b_stored[column, rows].copy()
        lines = max(1, -(-np.count_nonzero(values) // 16))
        assert absent[block, column] == 64 - 16 * lines
        expected, _ = pack(values, 64, 1, 64)
        assert np.array_equal(bundles[column, rows][: 16 * lines], expected.reshape(-1)[: 16 * lines])
        assert (bundles[column, rows][16 * lines :] == 0xFFFFFFFF).all()


def tiles_of(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the kernels with A in registers take tiles of so many rows."""
    undecided = register_tiling.divide.__wrapped__
    monkeypatch.setattr(register_tiling, "ROW_VARIANTS", (rows,))
    monkeypatch.setattr(register_tiling, "divide", undecided)


@compiled_only
@pytest.mark.parametrize("kernel", ["sgemm_dib_registers", "software_registers"])
@pytest.mark.parametrize("rows_of_tile", ROW_VARIANTS)
def test_columns_of_a_that_meet_no_non_zero_are_not_read_into_registers(
    rows_of_tile: int, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From LDS one for each row in which one of the wavefront's four columns has a non-zero. (Wavefronts past the last
    column take that for theirs.)"""

    tiles_of(rows_of_tile, monkeypatch)

    def lds(rows: list[int]) -> int:
        buffers = filled((rows_of_tile, 4, 128), 1.0)
        buffers.b_stored[0, rows[::2]] = 1.0
        buffers.b_stored[1, rows[1:]] = -1.0
        buffers.seal()
        *before, product = gemm(kernel, buffers, GPU).launches
        if product.kernel.name.startswith("sum"):
            *before, product = before
        for launch in before:
            execute(launch)
        return execute(product).instructions["lds"]

    some = lds([3, 5, 64, 70, 126])
    assert lds([3, 5, 64, 70]) == some - 1
    assert lds([*range(1, 60), 64, 70, 126]) - some == 57


@compiled_only
@pytest.mark.parametrize("kernel", ["sgemm_dib_registers", "software_registers"])
@pytest.mark.parametrize("rows_of_tile", ROW_VARIANTS)
def test_a_block_with_non_zeros_of_every_row(rows_of_tile: int, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full blocks have no padding; blocks with one non-zero in any row have 63 bundles of it."""
    tiles_of(rows_of_tile, monkeypatch)
    buffers = filled((20, 130, 192), 1.0)
    for column in range(128):
        buffers.b_stored[column, column // 2 + 64 * (column % 2)] = column + 1.0
    buffers.b_stored[128:, :] = 0.5
    assert verify(multiply(kernel, buffers)).passed


@compiled_only
def test_a_non_zero_costs_the_tiled_kernel_what_its_design_says() -> None:
    """One LDS read and about seven vector instructions a non-zero and 256 rows (and the tile's share of staging)."""
    buffers = filled((256, 32, 1024), 0.7)
    buffers.seal()
    (launch,) = gemm("sgemm_dib_tiled", buffers, GPU, Tiling(4, 8, 256, 1)).launches
    counted = execute(launch).instructions
    non_zeros = np.count_nonzero(buffers.b_stored)
    assert counted["valu"] < 7.6 * non_zeros
    assert counted["lds"] < 1.2 * non_zeros


@compiled_only
def test_sgemm_4x4_is_near_one_vector_instruction_a_multiply_accumulate() -> None:
    buffers = filled((64, 32, 512), 0.0)
    buffers.seal()
    (launch,) = gemm("sgemm_4x4", buffers, GPU).launches
    macs = 64 * 32 * 512 // 64
    assert macs <= execute(launch).instructions["valu"] < 1.15 * macs


@pytest.mark.parametrize("columns", [1, 11, 300])
def test_compressed_columns_are_the_matrix_s(columns: int) -> None:
    buffers = filled((4, columns, 70 if JIT_DISABLED else 300), 0.7)
    buffers.b_stored[columns // 2] = 0.0
    buffers.b_stored[0, :3] = [np.nan, -0.0, np.float32(1e-30)]
    buffers.seal()
    for launch in gemm("csc", buffers, GPU).launches[:-1]:
        execute(launch)
    memory, dense = buffers.memory, buffers.b_stored[:, : buffers.shape.k]
    named = {a.name: a for a in memory.allocations}
    first = memory.view(named["CSC columns of B"], np.uint32)
    column, row = np.nonzero(dense)  # of a matrix that is stored by columns
    assert np.array_equal(first, np.concatenate([[0], np.cumsum(np.count_nonzero(dense, axis=1))]))
    assert np.array_equal(memory.view(named["CSC rows of B"], np.uint32)[: first[-1]], row)
    assert np.array_equal(
        memory.view(named["CSC values of B"], np.float32)[: first[-1]], dense[column, row], equal_nan=True
    )
