"""The tile that a workgroup of the matrix kernels computes, and how a long sum is split.

The kernels (workloads/kernels/tile.h) are built for tiles of some sizes. Which is taken changes no result: each
element's sum goes through k in the same order. How a sum is split does, and so depends on the shape alone: a result is
the same on every GPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np

from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.launching import GROUP, divisor, launch, words
from workloads.operators.operator import GpuFacts
from workloads.operators.tensor import HALF, Tensor
from workloads.shapes import round_up

SWATH = 64  # elements that a wavefront reads at once: tiles have so many, or a multiple
DEPTH = 8  # steps of the sum that go through LDS together
LINE, QUAD = 16, 4  # of what lies along the sum: elements of a cache line, and of a lane's load (sgemm_lines.cl)
CHANNEL = 64  # elements that lie one after another in a channel of L2 and DRAM
SIMDS = 4  # of a compute unit

# Only which tile is taken depends on these, not any result.
WORKGROUPS = 256  # that a split is to give at least, of 128 x 128 elements: a few for each compute unit
LEAST_PART = 256  # steps of the sum: below, the partial sums' traffic is more than what is gained
# time of a tile's kernel to that of 2x2x8 for the same SIMDs' work: simulated, M = N = 2048 on the default MI6
RELATIVE_TIME = {"2x2x8": 1.0, "2x1x8": 1.0, "1x2x8": 1.01, "1x1x8": 1.03, "2x1x4": 1.03, "1x1x4": 1.015}


# How the sum of a product by itself is split, by estimates: simulated on the default MI6, M = 512, N = 512 to 2048,
# K = 4608, in one to nine parts
REFERENCE = GpuFacts(compute_units=36, lds_bytes=1 << 16)  # whatever the GPU is: results are the same on each
MOST_PARTS = 16
SMALL_RESULT, SMALL_PART = 1 << 16, 64  # elements; steps that a part has at least: few sums cost little
ROW_CYCLES = 128 / 4  # of a SIMD for a row of a work-item and a step: 64 lanes, 8 elements, 16 lanes a cycle
BUSY = 0.88  # part of the time for which a SIMD multiplies, with work enough
# relative time where the wavefronts of a SIMD have so many rows in all: they do not hide what each waits for
FEW_ROWS = {4: 1.27, 8: 1.11, 12: 1.02}
SUM_BYTES_PER_CYCLE, SUM_CYCLES = 180, 10_000  # of the launch that adds up parts, and of a launch by itself
LINE_BYTES_PER_CYCLE = 150  # of operands that a sparse product, the engine or a conversion reads from memory: simulated


@dataclass(frozen=True)
class Tile:
    """A tile of the result for a workgroup."""

    x: int
    """Swaths along x, in which the result is contiguous."""
    y: int
    """Swaths along y."""
    rows: int
    """Rows of y that a work-item has, 8 or 4."""

    @property
    def wavefronts(self) -> int:
        """Wavefronts of the workgroup, of 64 x 64 or 64 x 32 elements each."""
        return self.x * self.y * 8 // self.rows

    @property
    def work_items(self) -> int:
        """Work-items of the workgroup."""
        return 64 * self.wavefronts

    @property
    def text(self) -> str:
        """The tile as the kernels' names end."""
        return f"{self.x}x{self.y}x{self.rows}"

    def groups(self, columns: int, rows: int, count: int) -> tuple[int, int, int]:
        """Return the workgroups for `count` results of columns (x) by rows (y)."""
        return -(-columns // (SWATH * self.x)), -(-rows // (SWATH * self.y)), count


# as workloads/kernels/sgemm.cl and conv.cl have them; conv_weights.cl has no single wavefronts
SHARED_TILES = (Tile(2, 2, 8), Tile(2, 1, 8), Tile(1, 2, 8), Tile(2, 1, 4), Tile(1, 1, 4))
TILES = (*SHARED_TILES, Tile(1, 1, 8))
# as workloads/kernels/sgemm_lines.cl has them: with others its registers do not do
LINE_TILES = (Tile(2, 2, 8), Tile(2, 1, 4), Tile(1, 1, 4))
# the same of them, where smaller ones read more from L2: simulated, 128 x 4096 x 4096 on the default MI6
LINE_TIME = {"2x2x8": 1.0, "2x1x4": 1.36, "1x1x4": 1.4}


def _fullest(tile: Tile, columns: int, rows: int, count: int, gpu: GpuFacts) -> float:
    """Return the wavefronts of the fullest SIMD, over the whole launch."""
    x, y, z = tile.groups(columns, rows, count)
    held = -(-x * y * z * tile.wavefronts // (gpu.compute_units * SIMDS))
    least = -(-x * y * z // gpu.compute_units) * tile.wavefronts / SIMDS  # where workgroups are few
    return max(held, least)


def choose_tile(
    columns: int,
    rows: int,
    count: int,
    gpu: GpuFacts,
    tiles: tuple[Tile, ...] = TILES,
    times: Mapping[str, float] = RELATIVE_TIME,
) -> Tile:
    """Return the tile with which the fullest SIMD has least to do; of about equal ones, a larger tile."""

    def cost(tile: Tile) -> float:
        return _fullest(tile, columns, rows, count, gpu) * tile.rows * times[tile.text]

    return min(tiles, key=cost)


@dataclass(frozen=True)
class DepthSplit:
    """A sum of `depth` steps in parts of `part_depth`, a multiple of DEPTH; the last may be shorter."""

    depth: int
    """Steps of the sum."""
    part_depth: int
    """Steps of a part."""

    @property
    def parts(self) -> int:
        """The number of parts."""
        return -(-self.depth // self.part_depth)

    @property
    def by_lines(self) -> "DepthSplit":
        """The split with parts of whole cache lines of the operands' elements, which are contiguous along the sum."""
        return DepthSplit(self.depth, round_up(self.part_depth, LINE))

    @property
    def by_channels(self) -> "DepthSplit":
        """The split whose parts begin in all channels, where elements lie along the sum.

        Parts an even number of channels apart begin in a half of them, or in one.
        """
        even = self.parts > 1 and self.part_depth % (2 * CHANNEL) == 0
        return DepthSplit(self.depth, self.part_depth + CHANNEL * even)

    @property
    def longest(self) -> int:
        """Additions that an element's value goes through at most."""
        return min(self.part_depth, self.depth) + self.parts


def split_sum(columns: int, rows: int, count: int, depth: int) -> DepthSplit:
    """Split the sum so that there are enough workgroups for a GPU where the results alone are too few."""
    tiles = -(-columns // (2 * SWATH)) * -(-rows // (2 * SWATH)) * count
    parts = max(1, min(-(-WORKGROUPS // tiles), depth // LEAST_PART))
    return DepthSplit(depth, round_up(-(-depth // parts), DEPTH))


def estimated_cycles(columns: int, rows: int, split: DepthSplit, gpu: GpuFacts, count: int = 1) -> float:
    """Estimate the cycles of `count` products, the sum of their parts included."""
    tile = choose_tile(columns, rows, count * split.parts, gpu)
    held = _fullest(tile, columns, rows, count * split.parts, gpu)
    alone = next((time for few, time in FEW_ROWS.items() if held * tile.rows <= few), 1.0)
    steps = held * tile.rows * RELATIVE_TIME[tile.text] * split.part_depth
    stored = 4 * count * columns * rows
    sums = (split.parts + 1) * stored / SUM_BYTES_PER_CYCLE + SUM_CYCLES if split.parts > 1 else 0.0
    return steps * ROW_CYCLES * alone / BUSY + sums


def split_product(columns: int, rows: int, depth: int, count: int = 1) -> DepthSplit:
    """Return the split of `count` products with the least estimated time on a GPU of REFERENCE's size."""

    def cost(split: DepthSplit) -> float:
        return estimated_cycles(columns, rows, split, REFERENCE, count)

    least = SMALL_PART if count * columns * rows <= SMALL_RESULT else LEAST_PART
    most = max(1, min(MOST_PARTS, depth // least))
    return min((DepthSplit(depth, round_up(-(-depth // parts), DEPTH)) for parts in range(1, most + 1)), key=cost)


def product(
    layout: str, operands: tuple[Tensor | Pointer, Tensor | Pointer, Tensor | Pointer], memory: DeviceMemory,
    sizes: tuple[int, int, int], leading: tuple[int, int], gpu: GpuFacts, split: DepthSplit | None = None,
    add: bool = False,
) -> Launch:  # fmt: skip
    """Return the launch of C = A·B, or C += A·B, by a kernel of workloads/kernels/sgemm.cl, in the terms of that file.

    "tn" with rows of whole quads is by a kernel of sgemm_lines.cl, where the split allows it; where A is FP16, of
    sgemm_lines_half.cl.

    Args:
        operands: A, B, C.
        sizes: Sizes m, n, k.
        leading: Elements between stored rows of A and B, C has m.
        split: Split of k: each part's sums into a C of their own, one after another.
    """
    columns, rows, depth = sizes
    split = split or DepthSplit(depth, round_up(depth, DEPTH)).by_lines
    by_lines = layout == "tn" and not any(size % QUAD for size in (depth, *leading)) and split == split.by_lines
    tiles = (LINE_TILES, LINE_TIME) if by_lines else (TILES, RELATIVE_TIME)
    tile = choose_tile(columns, rows, split.parts, gpu, *tiles)
    names = dict(zip(("a_matrix", "b_matrix", "c_matrix"), operands, strict=True))
    shape = {"m": columns, "n": rows, "k": depth, "lda": leading[0], "ldb": leading[1], "ldc": columns}
    values = {**names, **shape, "add": int(add)}
    x, y, parts = tile.groups(columns, rows, split.parts)
    if by_lines:
        # many parts take turns at the lines: those of a row that are read at a time lie side by side, in one row of
        # DRAM and in several channels; of a few parts they would be in one channel
        turns = parts * LINE >= CHANNEL
        values |= {"apart": LINE if turns else split.part_depth, "step": LINE * parts if turns else LINE}
        values["length"] = depth if turns else split.part_depth
        source = "sgemm_lines_half" if operands[0].dtype == HALF else "sgemm_lines"
        return launch(source, f"{source}_{tile.text}", memory, (parts, x, y), values, tile.work_items)
    values["split_depth"] = split.part_depth
    return launch("sgemm", f"sgemm_{layout}_{tile.text}", memory, (x, y, parts), values, tile.work_items)


def rectified_product(
    operands: tuple[Tensor | Pointer, Tensor | Pointer, Tensor | Pointer], bias: Pointer | None,
    memory: DeviceMemory, sizes: tuple[int, int, int], leading: tuple[int, int], gpu: GpuFacts,
) -> Launch:  # fmt: skip
    """Return the launch of C = the larger of 0 and A·B + bias, by a kernel of workloads/kernels/sgemm_rectified.cl.

    The arguments are those of `product` in layout "nn", without parts of k. bias: of each of the n columns of C.
    """
    columns, rows, depth = sizes
    tile = choose_tile(columns, rows, 1, gpu)
    names = dict(zip(("a_matrix", "b_matrix", "c_matrix"), operands, strict=True))
    shape = {"m": columns, "n": rows, "k": depth, "lda": leading[0], "ldb": leading[1], "ldc": columns}
    values = {**names, **shape, "split_depth": round_up(depth, DEPTH)}
    values |= {"bias": bias or operands[2], "biases": rows if bias else 0}
    kernel = f"sgemm_rectified_nn_{tile.text}"
    return launch("sgemm_rectified", kernel, memory, tile.groups(columns, rows, 1), values, tile.work_items)


@dataclass(frozen=True)
class Batch:
    """Products of one shape."""

    places: int
    """Number of places."""
    groups: int
    """Number of groups."""
    a: tuple[int, int]
    """Elements from A of one place, and of one group, to the next."""
    b: tuple[int, int]
    """Elements from B of one place, and of one group, to the next."""
    c: tuple[int, int]
    """Elements from C of one place, and of one group, to the next."""
    part: int = 0
    """Elements from C of one part of k to the next."""

    @property
    def count(self) -> int:
        """The number of products."""
        return self.places * self.groups

    @property
    def words(self) -> np.ndarray:
        """The words of Batch (workloads/kernels/sgemm_batched.cl)."""
        return words(*self.a, *self.b, *self.c, self.part, divisor(self.count), divisor(self.groups))


def products(
    layout: str, operands: tuple[Pointer, ...], memory: DeviceMemory, sizes: tuple[int, int, int],
    leading: tuple[int, int, int], batch: Batch, gpu: GpuFacts, split: DepthSplit | None = None, add: bool = False,
) -> Launch:  # fmt: skip
    """Return the launch of several products, like `product`, by a kernel of workloads/kernels/sgemm_batched.cl.

    Args:
        layout: "nn", "nt" or "tn".
        leading: Elements between stored rows of A, B and C.
        split: Split of k: each part's sums into C of their own.
    """
    columns, rows, depth = sizes
    split = split or DepthSplit(depth, round_up(depth, DEPTH))
    tile = choose_tile(columns, rows, batch.count * split.parts, gpu)
    names = dict(zip(("a_matrix", "b_matrix", "c_matrix"), operands, strict=True))
    shape = {"m": columns, "n": rows, "k": depth, "lda": leading[0], "ldb": leading[1], "ldc": leading[2]}
    values = {**names, **shape, "split_depth": split.part_depth, "add": int(add), "batch": batch.words}
    grid = tile.groups(columns, rows, batch.count * split.parts)
    return launch("sgemm_batched", f"sgemm_batched_{layout}_{tile.text}", memory, grid, values, tile.work_items)


class Multiplier(Protocol):
    """Computes products by kernels that are not ours."""

    def launches(
        self, layout: str, operands: tuple[Pointer, Pointer, Pointer], memory: DeviceMemory,
        sizes: tuple[int, int, int], leading: tuple[int, int, int], add: bool,
    ) -> tuple[Launch, ...]:  # fmt: skip
        """Return the launches of C = A·B, or C += A·B, with the arguments of `product` and `products`."""


def products_by(
    multiplier: Multiplier, layout: str, operands: tuple[Pointer, ...], memory: DeviceMemory,
    sizes: tuple[int, int, int], leading: tuple[int, int, int], batch: Batch, add: bool = False,
) -> list[Launch]:  # fmt: skip
    """Return the launches of several products, like `products`, one after another by another's kernels."""
    made: list[Launch] = []
    for place in range(batch.places):
        for group in range(batch.groups):
            steps = [place * by[0] + group * by[1] for by in (batch.a, batch.b, batch.c)]
            a, b, c = (Pointer(at.address + 4 * step) for at, step in zip(operands, steps, strict=True))
            made += multiplier.launches(layout, (a, b, c), memory, sizes, leading, add)
    return made


def sum_parts_rectified(sums: Tensor, bias: Tensor | None, total: Tensor, split: DepthSplit) -> Launch:
    """Return the launch that adds up the parts of a split sum and a bias of each column; less than 0 becomes 0."""
    n = prod(total.shape)
    values = {"partial": sums, "bias": bias or sums, "c": total, "parts": split.parts, "n": n}
    values |= {"biases": total.shape[-1] if bias else 0, "by_columns": divisor(total.shape[-1])}
    return launch("sum_parts", "sum_parts_rectified", total.memory, (-(-n // (4 * GROUP)),), values)


def sum_parts_masked(sums: Tensor, mask: Tensor, total: Tensor, split: DepthSplit) -> Launch:
    """Return the launch that adds up the parts of a split sum; where `mask` is not positive, the result is 0."""
    n = prod(total.shape)
    values = {"partial": sums, "mask": mask, "c": total, "parts": split.parts, "n": n}
    return launch("sum_parts", "sum_parts_masked", total.memory, (-(-n // (4 * GROUP)),), values)


def sum_parts(sums: Tensor, total: Tensor, split: DepthSplit) -> tuple[Launch, ...]:
    """Return the launch that adds up the parts of a split sum; none where there is one part."""
    if split.parts == 1:
        return ()
    n = prod(total.shape)
    values = {"partial": sums, "c": total, "parts": split.parts, "n": n}
    return (launch("sgemm", "sum_parts", total.memory, (-(-n // (4 * GROUP)),), values),)
