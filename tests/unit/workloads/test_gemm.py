"""Do the launches say to the kernels what the kernels need to know?"""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.device_memory import DeviceMemory, DeviceMemoryError
from isa.object.code_object import load_code_object
from workloads.operators.gemm import (
    DENSE_KERNELS,
    SOFTWARE,
    SPARSE_KERNELS,
    GemmBuffers,
    GemmError,
    gemm_run,
)
from workloads.operators.shapes import GemmShape
from workloads.operators.tiling import COLUMN_VARIANTS, Tiling, choose_tiling
from workloads.toolchain.build import code_object_path, kernel_sources

MEMORY_BYTES = 1 << 24
NAMES = ("a_matrix", "b_matrix", "c_matrix", "m", "n", "k", "lda", "ldb", "ldc")


def buffers(m: int = 40, n: int = 30, k: int = 50) -> GemmBuffers:
    return GemmBuffers.allocate(GemmShape(m, n, k), DeviceMemory(MEMORY_BYTES))


@pytest.mark.parametrize("kernel", DENSE_KERNELS + SPARSE_KERNELS)
def test_every_kernel_covers_the_result_once(kernel: str) -> None:
    held = buffers(300, 77, 90)
    tile = {"sgemm_4x4": (32, 32), "sgemm_tiled16": (16, 16), "sgemm_dib_gather": (256, 4)}
    tiling = Tiling(2, 6)
    launch = gemm_run(kernel, held, 36, tiling).launches[-1]
    rows, columns = tile.get(kernel, (256, 4 * 6 if kernel == "sgemm_wide" else tiling.columns))
    groups = launch.workgroups
    assert (groups[0] - 1) * rows < 300 <= groups[0] * rows
    assert (groups[1] - 1) * columns < 77 <= groups[1] * columns
    assert groups[2] == 1
    limit = launch.kernel.required_workgroup_size
    assert limit is None or limit == launch.local_size


def test_arguments_stand_where_the_metadata_says() -> None:
    held = buffers()
    launch = gemm_run("sgemm_4x4", held, 36).launches[0]
    values = struct.unpack_from("<QQQ6I", launch.kernarg)
    assert [argument.name for argument in launch.kernel.arguments[: len(NAMES)]] == list(NAMES)
    assert values == (held.a.address, held.b.address, held.c.address, 40, 30, 50, 48, 64, 40)


def test_regions_go_with_the_engine_kernels_alone() -> None:
    for kernel in ("sgemm_dib_tiled", "sgemm_dib_gather"):
        held = buffers()
        (region,) = gemm_run(kernel, held, 36).launches[0].regions
        assert (region.address, region.rows, region.columns, region.leading_dimension) == (held.b.address, 50, 30, 64)
    for kernel in (*DENSE_KERNELS, SOFTWARE):
        assert all(not launch.regions for launch in gemm_run(kernel, buffers(), 36).launches)


def test_the_software_path_converts_first() -> None:
    convert, multiply = gemm_run(SOFTWARE, buffers(), 36).launches
    assert convert.kernel.name == "dib_convert" and multiply.kernel.name.startswith("sgemm_dib_tiled_nnz_c")
    bundles, counts = struct.unpack_from("<QQ", convert.kernarg, 8)
    assert struct.unpack_from("<Q", multiply.kernarg, 8) == (bundles,)
    assert struct.unpack_from("<Q", multiply.kernarg, 24) == (counts,)


def test_unknown_kernels_and_too_many_rows_are_refused() -> None:
    with pytest.raises(GemmError, match=r"'sgemm'.*allowed: sgemm_4x4"):
        gemm_run("sgemm", buffers(), 36)
    with pytest.raises(GemmError, match=r"K = 65536 rows; allowed are at most 65535"):
        gemm_run("sgemm_dib_tiled", buffers(4, 1, 65536), 36)
    with pytest.raises(GemmError, match="65536"):
        gemm_run("sgemm_dib_gather", buffers(4, 1, 65537), 36)


def test_a_device_too_small_is_refused() -> None:
    with pytest.raises(DeviceMemoryError, match=r"'B \(activations\)'"):
        buffers(4, 4096, 4096)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 600), st.integers(1, 5000), st.integers(1, 64))
def test_a_chosen_tiling_is_a_built_one(m: int, n: int, compute_units: int) -> None:
    tiling = choose_tiling(GemmShape(m, n, 100), compute_units)
    assert tiling.columns_per_wavefront in COLUMN_VARIANTS and tiling.wavefronts <= 16


def test_a_tiling_that_is_not_built_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed are 1, 2, 4 columns"):
        Tiling(3, 8)


@pytest.mark.parametrize("source", [path.stem for path in kernel_sources()])
def test_committed_objects_load_and_never_spill(source: str) -> None:
    for kernel in load_code_object(code_object_path(source)).kernels.values():
        assert kernel.private_segment_bytes == 0
        assert all(argument.name for argument in kernel.arguments)
