"""Do the launches say to the kernels what the kernels need to know?"""

import csv
import struct
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.jobs.host.command_processor import execute
from isa.device_memory import DeviceMemory, DeviceMemoryError
from isa.object.code_object import load_code_object
from workloads.data.operands import SyntheticOperands
from workloads.operators import register_tiling
from workloads.operators.gemm import BLOCK_ROWS, GemmBuffers, GemmError, GemmOperator, gemm, row_blocks
from workloads.operators.gemm_kernels import (
    DENSE_KERNELS,
    GEMM_KERNELS,
    SPARSE_CHOICES,
    sparse_estimates,
)
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.register_tiling import MOST_SLOTS, TileSchedule, divide
from workloads.operators.sparse_tiling import (
    COLUMN_VARIANTS,
    ROW_VARIANTS,
    WAVEFRONT_VARIANTS,
    choose_sparse,
    dense_cycles,
    split_sparse,
)
from workloads.operators.tiles import (
    DEPTH,
    LEAST_PART,
    MOST_PARTS,
    SMALL_PART,
    SMALL_RESULT,
    SWATH,
    choose_tile,
    split_product,
)
from workloads.operators.tiling import Tiling, WorkSplit
from workloads.shapes import GemmShape
from workloads.toolchain.build import code_object_path, kernel_sources

SWEEPS = Path(__file__).resolve().parents[3] / "results" / "sweeps"
MEMORY_BYTES = 1 << 24
GPU = GpuFacts(compute_units=36, lds_bytes=1 << 16)
IN_REGISTERS = ("sgemm_dib_registers", "software_registers")
NAMES = ("a_matrix", "b_matrix", "c_matrix", "m", "n", "k", "lda", "ldb", "ldc")


def buffers(m: int = 40, n: int = 30, k: int = 50) -> GemmBuffers:
    return GemmBuffers.allocate(GemmShape(m, n, k), DeviceMemory(MEMORY_BYTES))


# those in registers find their tiles themselves; few_columns has fewer columns
@pytest.mark.parametrize("kernel", sorted({*GEMM_KERNELS} - {*IN_REGISTERS, "few_columns"}))
def test_every_kernel_covers_the_result_once(kernel: str) -> None:
    held = buffers(300, 77, 90)
    chosen = choose_tile(300, 77, 1, GPU)
    tile = {"sgemm_4x4": (32, 32), "sgemm_tiled16": (16, 16), "csc": (64, 4)}
    tile |= dict.fromkeys(("sgemm_dib_gather", "sgemm_2_4_gather"), (256, 4))
    tile |= {"mmm_local": (32, 32), "dib_algorithm3": (32, 32), "sgemm": (SWATH * chosen.x, SWATH * chosen.y)}
    tiling = Tiling(4, 6) if kernel == "sgemm_wide" else Tiling(2, 6, 256, 1)
    launch = gemm(kernel, held, GPU, tiling).launches[-1]
    rows, columns = tile.get(kernel, (256, tiling.columns))
    groups = launch.workgroups
    if kernel == "dib_algorithm3":  # columns first
        groups = groups[1], groups[0], groups[2]
    assert (groups[0] - 1) * rows < 300 <= groups[0] * rows
    assert (groups[1] - 1) * columns < 77 <= groups[1] * columns
    assert groups[2] == 1
    limit = launch.kernel.required_workgroup_size
    assert limit is None or limit == launch.local_size


@pytest.mark.parametrize(("shape", "parts"), [((64, 64, 576), 9), ((33, 70, 129), 2), ((512, 512, 4608), 9)])
def test_long_sums_go_in_parts_that_another_launch_adds_up(shape: tuple[int, int, int], parts: int) -> None:
    held = GemmBuffers.allocate(GemmShape(*shape), DeviceMemory(1 << 28))
    operator = gemm("sgemm", held, GPU)
    multiply, add = operator.launches
    assert multiply.workgroups[2] == operator.parts == parts and add.kernel.name == "sum_parts"
    assert struct.unpack_from("<QQ", add.kernarg)[1] == held.c.address
    m, n, _ = shape
    assert operator.work.stored_bytes == 4 * n * (parts * m + held.shape.ldc)


@settings(deadline=None)
@given(st.integers(1, 20_000), st.integers(1, 8), st.integers(1, 70_000))
def test_parts_of_few_columns_cover_the_sum_and_are_of_the_shape_alone(m: int, n: int, k: int) -> None:
    splitting = GEMM_KERNELS["few_columns"].splitting
    split = splitting.split(GemmShape(m, n, k), GPU, None)
    depth = split.arguments["split_depth"]
    assert depth % DEPTH == 0 and (split.parts - 1) * depth < k <= split.parts * depth and split.columns >= n
    assert splitting.split(GemmShape(m, n, k), GpuFacts(compute_units=5, lds_bytes=1 << 16), None) == split


def test_few_columns_are_few() -> None:
    with pytest.raises(GemmError, match="few_columns: 9 columns; allowed are at most 8"):
        gemm("few_columns", buffers(64, 9, 64), GPU)
    with pytest.raises(GemmError, match="sums of 8 columns need 32768 bytes of LDS, a compute unit has 16384"):
        gemm("few_columns", buffers(64, 8, 64), GpuFacts(compute_units=36, lds_bytes=1 << 14))


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 70_000))
def test_parts_of_a_product_cover_its_sum_and_are_worth_it(m: int, n: int, k: int) -> None:
    split = split_product(m, n, k)
    assert split.part_depth % DEPTH == 0 and split.parts <= MOST_PARTS
    assert (split.parts - 1) * split.part_depth < k <= split.parts * split.part_depth
    assert split.parts == 1 or split.part_depth >= (SMALL_PART if m * n <= SMALL_RESULT else LEAST_PART)
    # results are the same on every GPU: which tiles there are is the GPU's, how the sum is split is not
    kernels = [gemm_split(GemmShape(m, n, k), GpuFacts(units, 1 << 16)).arguments for units in (5, 36, 64)]
    assert kernels == [kernels[0]] * 3


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 200_000), st.integers(1, 64))
def test_tiles_in_registers_are_divided_evenly(m: int, n: int, k: int, compute_units: int) -> None:
    chosen = divide(GemmShape(m, n, k), compute_units)
    assert chosen.tiles == -(-m // chosen.rows) * -(-n // 64) and chosen.blocks == -(-k // BLOCK_ROWS)
    assert chosen.whole % chosen.row_tiles == 0 and chosen.slots <= MOST_SLOTS
    if not chosen.shared:
        assert chosen.workgroups == chosen.tiles and chosen.slots == 0
        return
    assert chosen.workgroups - chosen.whole <= compute_units and chosen.slots > 1
    assert chosen.layers * chosen.share + chosen.tail == chosen.blocks and chosen.tail >= 0
    assert bool(chosen.tail) == bool(chosen.tail_share)
    sharing = chosen.workgroups - chosen.whole - chosen.layers * chosen.shared
    assert (sharing - 1) * chosen.tail_share < chosen.shared * chosen.tail <= sharing * chosen.tail_share or not sharing
    owners = [set[int]() for _ in range(chosen.shared)]
    for block in range(0, chosen.shared * chosen.tail, max(1, chosen.tail_share // 7)):
        owners[block // chosen.tail].add(block // chosen.tail_share)
    assert chosen.slots >= chosen.layers + max(map(len, owners))


def test_tiles_have_as_few_rows_as_the_matrix() -> None:
    """Wide products: a tile's time is that of its rows, whether or not the matrix has them."""
    rows = {m: divide(GemmShape(m, 64 * 36 * 8, 1152), 36).rows for m in (33, 64, 128, 192, 256, 384, 512)}
    assert rows == {33: 64, 64: 64, 128: 128, 192: 256, 256: 256, 384: 256, 512: 256}
    for m, suffix in ((64, "_64"), (128, "_128"), (256, "")):
        for kernel, name in (("sgemm_dib_registers", ""), ("software_registers", "_nnz")):
            launches = gemm(kernel, buffers(m, 64 * 36, 64), GPU).launches
            assert f"sgemm_dib_registers{name}{suffix}" in {launch.kernel.name for launch in launches}


@pytest.mark.parametrize(
    ("schedule", "blocks"),
    [
        (TileSchedule(1, 4, 10, 4), 10),  # four workgroups at the same columns of A
        (TileSchedule(2, 8, 10, 8), 2 * 2 * 10),  # two rounds of four, of two rows of tiles
        (TileSchedule(1, 13, 36, 0, 1, 13, 13), 13 + 23 * 13),  # tails: each workgroup begins somewhere else
        (TileSchedule(2, 16, 72, 0, 1, 32, 32), 2 * 32 + 5 * 32),  # or at one of five places
        (TileSchedule(2, 16, 72, 0, 2, 36), 2 * 2 * 36),
    ],
)
def test_what_tiles_in_registers_read_of_a(schedule: TileSchedule, blocks: int) -> None:
    shape = GemmShape(256 * schedule.row_tiles, 100, 64 * schedule.blocks)
    assert schedule.memory_bytes(shape, 4) == 4 * (256 * 64 * blocks + shape.n * shape.k)


@pytest.mark.parametrize("kernel", IN_REGISTERS)
@pytest.mark.parametrize(
    ("shape", "schedule"),
    [
        ((5, 3, 330), TileSchedule(1, 1, 6, 0, 6, 1)),  # six workgroups for a tile
        ((5, 3, 330), TileSchedule(1, 1, 6, 0, 1, 2, 1)),  # a tail by four
        ((300, 130, 200), TileSchedule(2, 6, 4, 0, 1, 1, 5)),  # tails over the ends of tiles, rows and columns
        ((300, 130, 200), TileSchedule(2, 6, 4, 2, 2, 1, 3)),  # the first column of tiles as it is, two layers
        ((256, 200, 128), TileSchedule(1, 4, 2, 3, 1, 1, 1)),  # the last one alone
        ((600, 70, 260), TileSchedule(3, 6, 5, 3, 1, 1, 7)),  # more than a tail for each
        ((300, 130, 200), TileSchedule(3, 9, 4, 3, 1, 2, 5, rows=128)),
        ((130, 70, 260), TileSchedule(3, 6, 5, 3, 1, 1, 7, rows=64)),
        ((5, 70, 82 * 64 + 1), TileSchedule(1, 2, 83, 0, 1, 1, 41)),  # 82 / 41, by a reciprocal, is below 2
    ],
)
def test_tiles_that_workgroups_share_are_the_whole_ones(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int], schedule: TileSchedule, kernel: str
) -> None:
    def computed(schedule: TileSchedule) -> tuple[GemmOperator, np.ndarray]:
        monkeypatch.setattr(register_tiling, "divide", lambda *_: schedule)
        held = GemmBuffers.allocate(GemmShape(*shape), DeviceMemory(MEMORY_BYTES))
        SyntheticOperands(0.6, 1).fill(held.a_stored, held.b_stored, held.shape)
        operator = gemm(kernel, held, GPU)
        for parts in (each for each in held.memory.allocations if "parts" in each.name):
            held.memory.view(parts, np.float32)[:] = np.nan  # each place is written
        stored = sum(execute(launch).store_bytes for launch in operator.launches)
        assert stored == operator.work.stored_bytes
        return operator, operator.outputs["C"].copy()

    operator, found = computed(schedule)
    assert operator.parts == schedule.slots and operator.launches[-2].workgroups == (schedule.workgroups, 1, 1)
    whole = TileSchedule(schedule.row_tiles, schedule.tiles, schedule.blocks, schedule.tiles, rows=schedule.rows)
    np.testing.assert_allclose(found, computed(whole)[1], rtol=1e-4, atol=1e-5)


def test_a_product_that_comes_partly_in_one_sum_is_not_run_in_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    by_rows = {64: TileSchedule(1, 2, 1, 2), 96: TileSchedule(1, 2, 2, 1, 1, 1, 1)}  # the second block alone is shared
    monkeypatch.setattr(register_tiling, "divide", lambda shape, _: by_rows[shape.k])
    monkeypatch.setattr("workloads.operators.gemm.row_blocks", lambda *_: (range(64), range(64, 160)))
    with pytest.raises(GemmError, match="C comes partly in one sum"):
        gemm("sgemm_dib_registers", buffers(5, 70, 160), GPU, most_rows=96)


def test_a_product_in_registers_takes_sums_of_any_length_in_one_launch() -> None:
    held = GemmBuffers.allocate(GemmShape(4, 1, 70_000), DeviceMemory(1 << 24))
    assert gemm("sgemm_dib_registers", held, GPU).blocks == (range(70_000),)


def test_a_product_in_registers_needs_all_of_the_lds() -> None:
    with pytest.raises(GemmError, match="needs 65536 bytes of LDS, a compute unit has 32768"):
        gemm("sgemm_dib_registers", buffers(), GpuFacts(36, 1 << 15))


def gemm_split(shape: GemmShape, gpu: GpuFacts) -> WorkSplit:
    return GEMM_KERNELS["sgemm"].splitting.split(shape, gpu, None)


def test_arguments_stand_where_the_metadata_says() -> None:
    held = buffers()
    launch = gemm("sgemm_4x4", held, GPU).launches[0]
    values = struct.unpack_from("<QQQ6I", launch.kernarg)
    assert [argument.name for argument in launch.kernel.arguments[: len(NAMES)]] == list(NAMES)
    assert values == (held.a.address, held.b.address, held.c.address, 40, 30, 50, 48, 64, 40)


def test_regions_go_with_the_engine_kernels_alone() -> None:
    for kernel in ("sgemm_dib_tiled", "sgemm_dib_gather"):
        held = buffers()
        (region,) = gemm(kernel, held, GPU).launches[0].regions
        assert (region.address, region.rows, region.columns, region.leading_dimension) == (held.b.address, 50, 30, 64)
    assert gemm("sgemm_2_4_gather", buffers(), GPU).launches[0].regions[0].format == "2:4"
    (region,) = gemm("sgemm_dib_registers", buffers(40, 30, 150), GPU).launches[0].regions
    assert (region.rows, region.columns, region.leading_dimension) == (64, 30 * 3, 64)  # each block of rows a column
    for kernel in (*DENSE_KERNELS, "software"):
        assert all(not launch.regions for launch in gemm(kernel, buffers(40, 8, 50), GPU).launches)


def test_the_software_path_converts_first() -> None:
    convert, multiply = gemm("software", buffers(), GPU).launches
    assert convert.kernel.name == "dib_convert" and multiply.kernel.name.startswith("sgemm_dib_tiled_nnz_")
    bundles, counts = struct.unpack_from("<QQ", convert.kernarg, 8)
    assert struct.unpack_from("<Q", multiply.kernarg, 8) == (bundles,)
    assert struct.unpack_from("<Q", multiply.kernarg, 24) == (counts,)


def test_unknown_kernels_are_refused() -> None:
    with pytest.raises(GemmError, match=r"unknown GEMM kernel 'sgem'; did you mean .*allowed: sgemm_4x4"):
        gemm("sgem", buffers(), GPU)


@pytest.mark.parametrize(("kernel", "k"), [("sgemm_dib_tiled", 65_536), ("sgemm_dib_gather", 65_537)])
def test_a_sum_longer_than_a_region_is_launched_in_blocks(kernel: str, k: int) -> None:
    held = buffers(4, 1, k)
    first, second, add = gemm(kernel, held, GPU).launches
    ((one,), (two,)) = first.regions, second.regions
    assert one.rows + two.rows == k and (one.address, two.address) == (held.b.address, held.b.address + 4 * one.rows)
    assert add.kernel.name == "sum_parts" and not add.regions


@given(st.integers(1, 1 << 20), st.integers(BLOCK_ROWS, 1 << 17))
def test_blocks_cover_the_rows_once_and_begin_on_sparse_loads(k: int, most: int) -> None:
    blocks = row_blocks(k, most)
    assert [block.start for block in blocks] == [0, *(block.stop for block in blocks[:-1])] and blocks[-1].stop == k
    assert all(0 < len(block) <= most and block.start % BLOCK_ROWS == 0 for block in blocks)


@pytest.mark.parametrize("kernel", [name for name in GEMM_KERNELS if name != "csc"])
def test_a_product_in_blocks_is_the_whole_one(kernel: str) -> None:
    def computed(most_rows: int | None) -> np.ndarray:
        memory, shape = DeviceMemory(MEMORY_BYTES), GemmShape(5, 3, 150)
        held = GemmBuffers.allocate(shape, memory)
        SyntheticOperands(0.5, 1, window=4).fill(held.a_stored, held.b_stored, shape)
        operator = gemm(kernel, held, GPU, most_rows=most_rows)
        assert len(operator.blocks) == (3 if most_rows else 1)
        for launch in operator.launches:
            execute(launch)
        return operator.outputs["C"].copy()

    np.testing.assert_allclose(computed(64), computed(None), rtol=1e-4, atol=1e-5)


def test_a_device_too_small_is_refused() -> None:
    with pytest.raises(DeviceMemoryError, match=r"'B \(activations\)'"):
        buffers(4, 4096, 4096)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 600), st.integers(1, 5000), st.integers(1, 64), st.integers(16, 64))
def test_a_chosen_tiling_is_a_built_one_that_fits_the_lds(m: int, n: int, compute_units: int, lds_kib: int) -> None:
    chosen = choose_sparse(GemmShape(m, n, 100), GpuFacts(compute_units, lds_kib << 10))
    assert chosen.rows in ROW_VARIANTS and chosen.tiling.columns_per_wavefront in COLUMN_VARIANTS
    assert chosen.tiling.wavefronts in WAVEFRONT_VARIANTS and chosen.lds_bytes <= lds_kib << 10


@pytest.mark.parametrize(("m", "rows"), [(64, 64), (40, 64), (128, 128), (100, 128), (512, 256)])
def test_a_block_of_rows_is_no_larger_than_the_result_needs(m: int, rows: int) -> None:
    assert choose_sparse(GemmShape(m, 20_000, 1152), GPU).rows == rows


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 600), st.integers(1, 3000), st.integers(1, 65_535))
def test_parts_of_a_sparse_product_cover_its_sum(m: int, n: int, k: int) -> None:
    split = split_sparse(m, n, k)
    assert (split.parts - 1) * split.part_depth < k <= split.parts * split.part_depth
    # results are the same on every GPU: which tile is taken is the GPU's, how the sum is split is not
    chosen = [choose_sparse(GemmShape(m, n, k), GpuFacts(units, 1 << 16)).split for units in (5, 36, 64)]
    assert chosen == [split] * 3


def test_a_small_batch_splits_its_sum() -> None:
    held = GemmBuffers.allocate(GemmShape(512, 32, 4608), DeviceMemory(1 << 26))
    operator = gemm("sgemm_dib_tiled", held, GPU)
    multiply, add = operator.launches
    assert multiply.workgroups[2] == operator.parts > 1 and add.kernel.name == "sum_parts"
    convert, multiply, add = gemm("software", held, GPU).launches
    assert convert.kernel.name == "dib_convert" and multiply.workgroups[2] == operator.parts


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 600), st.integers(1, 5000), st.integers(1, 6000))
def test_sparser_is_never_estimated_slower(m: int, n: int, k: int) -> None:
    for kernel in SPARSE_CHOICES:
        zeros = (0.0, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
        estimates = [sparse_estimates(GemmShape(m, n, k), z, GPU)[kernel] for z in zeros]
        assert estimates == sorted(estimates, reverse=True)


@pytest.mark.parametrize(("zeros", "least"), [(0.2, ""), (0.6, "sgemm_dib_registers"), (0.99, "sgemm_dib_tiled")])
def test_where_sparse_pays(zeros: float, least: str) -> None:
    layer_b = GemmShape(512, 2048, 4608)
    cycles = {**sparse_estimates(layer_b, zeros, GPU), "": dense_cycles(layer_b, GPU)}
    assert min(cycles, key=cycles.__getitem__) == least


def test_estimates_are_those_that_were_simulated() -> None:
    """Of layers A to C at 60 % zeros, within a tenth (docs/results/kernels.md)."""
    for sweep, kernel in (("sparse_registers", "sgemm_dib_registers"), ("sparse_gains", "sgemm_dib_tiled")):
        with (SWEEPS / "kernels" / f"{sweep}.csv").open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["variant"] != "dense"]
        for layer, columns in (("layerA", 2048), ("layerC", 512)):
            of_zeros = {round(float(row["data.zero_fraction"]), 2): row for row in rows if row["config"] == layer}
            estimate = sparse_estimates(GemmShape(512, columns, 4608), 0.6, GPU)[kernel]
            assert estimate == pytest.approx(int(of_zeros[0.6]["kernel.cycles"]), rel=0.1)


def test_registers_are_no_choice_where_they_do_not_fit() -> None:
    assert sparse_estimates(GemmShape(256, 64, 64), 0.5, GpuFacts(36, 1 << 15))["sgemm_dib_registers"] == inf


def test_a_tiling_beyond_the_lds_is_refused() -> None:
    with pytest.raises(GemmError, match="needs 65568 bytes of LDS, a compute unit has 65536"):
        gemm("sgemm_dib_tiled", buffers(), GPU, Tiling(1, 16, 256))


@pytest.mark.parametrize(
    ("kernel", "needed_macs", "read_bytes", "stored_bytes"),
    [
        # B has 17 non-zeros in column 0 and 1 in column 2, in 17 of its 50 rows; 37 rows of C are stored as 40 or 37
        ("sgemm_4x4", 37 * 3 * 50, 4 * (37 * 50 + 50 * 3), 4 * 40 * 3),
        ("sgemm_tiled16", 37 * 3 * 50, 4 * (37 * 50 + 50 * 3), 4 * 37 * 3),
        ("sgemm_dib_tiled", 37 * 18, 4 * (37 * 17 + 18), 4 * 40 * 3),
        ("sgemm_dib_gather", 37 * 18, 4 * (37 * 17 + 18), 4 * 40 * 3),
        ("sgemm_dib_registers", 37 * 18, 4 * (37 * 17 + 18), 4 * 40 * 3),
        ("mmm_local", 37 * 3 * 50, 4 * (37 * 50 + 50 * 3), 4 * 40 * 3),
        ("dib_algorithm3", 37 * 18, 4 * (37 * 17 + 18), 4 * 40 * 3),
        # bundles in lines of 16, and a count a column
        ("software", 37 * 18, 4 * (37 * 17 + 50 * 3), 4 * 40 * 3 + 4 * (32 + 16) + 4 * 3),
        # a line at least of each column, and a count
        ("software_registers", 37 * 18, 4 * (37 * 17 + 50 * 3), 4 * 40 * 3 + 4 * (32 + 16 + 16) + 4 * 3),
        ("csc", 37 * 18, 4 * (37 * 17 + 50 * 3), 4 * 37 * 3 + 4 * (2 * 18 + 2 * 3 + 1)),
    ],
)
def test_the_work_in_closed_form(kernel: str, needed_macs: int, read_bytes: int, stored_bytes: int) -> None:
    held = buffers(37, 3, 50)
    held.b_stored[0, 5:22] = 1.5
    held.b_stored[2, 21] = -2.0
    expected = OperatorCost(37 * 3 * 50, needed_macs, read_bytes, 4 * 37 * 3, stored_bytes)
    assert gemm(kernel, held, GPU).work == expected


def test_a_gpu_with_too_little_lds_is_refused() -> None:
    with pytest.raises(GemmError, match=r"sgemm_wide: .* needs at least 16384 bytes of LDS, a compute unit has 8192"):
        gemm("sgemm_wide", buffers(), GpuFacts(36, 8192))


def test_a_tiling_of_another_kernel_is_refused() -> None:
    with pytest.raises(GemmError, match="sgemm_wide: wavefronts own 4 columns"):
        gemm("sgemm_wide", buffers(), GPU, Tiling(2, 6))


def test_a_tiling_that_is_not_built_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed are 1, 2, 4 columns"):
        Tiling(3, 8)


@pytest.mark.parametrize("source", [path.stem for path in kernel_sources()])
def test_committed_objects_load_and_never_spill(source: str) -> None:
    for kernel in load_code_object(code_object_path(source)).kernels.values():
        assert kernel.private_segment_bytes == 0
        assert all(argument.name for argument in kernel.arguments)
