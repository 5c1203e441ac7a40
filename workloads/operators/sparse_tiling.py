"""How a sparse product's result is split into workgroups (workloads/kernels/dib_tile.h), and when sparse does not pay.

A workgroup shares a tile of A in LDS, of 64, 128 or 256 rows; its wavefronts own 1, 2 or 4 columns of C each. Which of
them, how many wavefronts and in how many parts a long sum goes is decided by estimated time. The tile is chosen for the
GPU that runs it and changes no result; how the sum is split does, and so depends on the shape alone, as in `tiles`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from isa.kernarg import Local
from workloads.operators.operator import GpuFacts
from workloads.operators.tiles import (
    LINE_BYTES_PER_CYCLE,
    REFERENCE,
    SUM_BYTES_PER_CYCLE,
    SUM_CYCLES,
    DepthSplit,
    estimated_cycles,
    split_product,
)
from workloads.operators.tiling import Tiling, WorkSplit
from workloads.shapes import GemmShape, round_up

WAVEFRONT = 64  # work-items
ROW_VARIANTS = (256, 128, 64)  # of a workgroup: the kernels that are built
COLUMN_VARIANTS = (1, 2, 4)  # of a wavefront
WAVEFRONT_VARIANTS = range(4, 16)
A_COLUMNS_PER_WAVEFRONT = 4  # of a tile: dib_tile.h, LOADS_PER_WAVEFRONT
GAP_BYTES = 32  # dib_tile.h: GAPS of 8 bytes, rounded up
PART_ROWS = 64  # a part of the sum is a multiple of: whole batches of bundles, where all elements are non-zeros
LEAST_PART, MOST_PARTS = 512, 8

# Only which tile is taken, how sums are split and whether a product goes dense depend on these, not what is correct.
ASSUMED_ZEROS = 0.65  # of B where nothing is known of it: the middle of table 6.5 of Dong 2020
BUSY = 0.97  # what the sum below is to the time: fitted to layers A to C, 40 to 90 % zeros, within 5 %
LDS_CYCLES = 2  # of a non-zero, or of bringing a column of A into a tile, for 64 rows: 256 bytes at 128 a cycle
SCALAR_VALU = 2.7  # vector instructions of a non-zero besides a multiply-accumulate for 64 rows
SALU = 5.7  # scalar ones
STAGING_CYCLES = 6  # of a column of A for 64 rows: 256 bytes from L1 at 64 a cycle, then LDS_CYCLES
COLUMN_VALU = 22  # instructions of a column of C in a tile, whether it has non-zeros there or not: cycles of a CU
TILE_CYCLES = 600  # of a tile: loads' latency, two barriers and the slowest wavefront
BATCH, BATCH_CYCLES = 64, 900  # bundles that a wavefront loads at once, and from one such load to the next: simulated


@dataclass(frozen=True)
class SparseTiling:
    """A workgroup whose wavefronts have columns of C each."""

    rows: int
    """Rows of C that it has."""
    tiling: Tiling
    """Its wavefronts and their columns."""
    split: DepthSplit
    """Parts of the sum over k."""

    @property
    def lds_bytes(self) -> int:
        """Bytes of the tile of A that the workgroup shares, and of what its wavefronts tell each other."""
        return 4 * self.rows * A_COLUMNS_PER_WAVEFRONT * self.tiling.wavefronts + GAP_BYTES

    def cycles(self, shape: GemmShape, zeros: float, gpu: GpuFacts) -> float:
        """Estimate the cycles of the product and the sum of its parts, with the share `zeros` of B zero."""
        rows = self.rows // WAVEFRONT
        columns = min(self.tiling.columns, shape.n)
        groups = -(-shape.m // self.rows) * -(-shape.n // self.tiling.columns) * self.split.parts
        depth = min(self.split.part_depth, shape.k)
        tiles = -(-depth // (A_COLUMNS_PER_WAVEFRONT * self.tiling.wavefronts))
        per_non_zero = max(LDS_CYCLES * rows, rows + SCALAR_VALU, SALU)
        work: float = columns * (1.0 - zeros) * per_non_zero * depth + columns * COLUMN_VALU * tiles
        # tiles in which no column has a non-zero are passed over
        staged = tiles * (1.0 - zeros ** (columns * depth / tiles))
        work += staged * (STAGING_CYCLES * rows * depth / tiles + TILE_CYCLES / BUSY)
        rounds = -(-groups // gpu.compute_units)
        least = 4 * shape.n * shape.k / LINE_BYTES_PER_CYCLE
        sums = 0.0
        if self.split.parts > 1:
            # a part reads its columns from their first line on: from L2, if all parts do so at the same time
            sums = 0.0 if rounds == 1 else (self.split.parts - 1) / 2 * least
            # the last part goes through all batches before it, one after another
            passed = shape.k - depth
            sums += passed * (1.0 - zeros) / BATCH * BATCH_CYCLES
            sums += (self.split.parts + 1) * 4 * shape.m * shape.n / SUM_BYTES_PER_CYCLE + SUM_CYCLES
        return max(rounds * work / BUSY, least) + sums


def _tilings(shape: GemmShape, split: DepthSplit, gpu: GpuFacts) -> Iterator[SparseTiling]:
    for rows, columns, wavefronts in product(ROW_VARIANTS, COLUMN_VARIANTS, WAVEFRONT_VARIANTS):
        found = SparseTiling(rows, Tiling(columns, wavefronts), split)
        if found.lds_bytes <= gpu.lds_bytes:
            yield found


@cache
def _choose(m: int, n: int, k: int, split: DepthSplit, zeros: float, gpu: GpuFacts) -> SparseTiling:
    shape = GemmShape(m, n, k)
    fitting = tuple(_tilings(shape, split, gpu))
    if not fitting:
        least = SparseTiling(ROW_VARIANTS[-1], Tiling(1, WAVEFRONT_VARIANTS[0]), split).lds_bytes
        raise ValueError(f"a workgroup's tile needs at least {least} bytes of LDS, a compute unit has {gpu.lds_bytes}")
    return min(fitting, key=lambda tiling: tiling.cycles(shape, zeros, gpu))


@cache
def split_sparse(m: int, n: int, k: int) -> DepthSplit:
    """Return the split of a sparse product's sum, by the estimate for a GPU of REFERENCE's size and ASSUMED_ZEROS."""
    most = max(1, min(MOST_PARTS, k // LEAST_PART))
    splits = dict.fromkeys(DepthSplit(k, round_up(-(-k // parts), PART_ROWS)) for parts in range(1, most + 1))

    def cost(split: DepthSplit) -> float:
        chosen = _choose(m, n, k, split, ASSUMED_ZEROS, REFERENCE)
        return chosen.cycles(GemmShape(m, n, k), ASSUMED_ZEROS, REFERENCE)

    return min(splits, key=cost)


def choose_sparse(shape: GemmShape, gpu: GpuFacts) -> SparseTiling:
    """Return the tiling of least estimated time; raise ValueError where no tile fits the LDS."""
    return _choose(shape.m, shape.n, shape.k, split_sparse(shape.m, shape.n, shape.k), ASSUMED_ZEROS, gpu)


def tiling_of_whole_sum(shape: GemmShape, gpu: GpuFacts) -> Tiling:
    """Return the tiling of least estimated time that leaves the sum in one part."""
    chosen = _choose(shape.m, shape.n, shape.k, DepthSplit(shape.k, shape.k), ASSUMED_ZEROS, gpu)
    return Tiling(chosen.tiling.columns_per_wavefront, chosen.tiling.wavefronts, chosen.rows, 1)


def sparse_cycles(shape: GemmShape, zeros: float, gpu: GpuFacts) -> float:
    """Estimate the cycles of a product with the share `zeros` of B zero."""
    return choose_sparse(shape, gpu).cycles(shape, zeros, gpu)


def dense_cycles(shape: GemmShape, gpu: GpuFacts) -> float:
    """Estimate the cycles of `sgemm`.

    Args:
        shape: Shape of the product.
        gpu: The GPU.
    """
    return estimated_cycles(shape.m, shape.n, split_product(shape.m, shape.n, shape.k), gpu)


@dataclass(frozen=True)
class SparseTile:
    """The splitting of the tiled sparse kernels (workloads.operators.tiling.Splitting)."""

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """Split by the least estimated time; a given `tiling` takes the place of the chosen columns and wavefronts."""
        chosen = choose_sparse(shape, gpu)
        if tiling is not None:
            chosen = SparseTiling(tiling.rows or chosen.rows, tiling, tiling.split(shape.k) or chosen.split)
            if chosen.rows not in ROW_VARIANTS:
                raise ValueError(f"workgroups have {' or '.join(map(str, ROW_VARIANTS))} rows, not those of {tiling}")
            if chosen.lds_bytes > gpu.lds_bytes:
                raise ValueError(f"{tiling} needs {chosen.lds_bytes} bytes of LDS, a compute unit has {gpu.lds_bytes}")
        return WorkSplit(
            chosen.rows,
            chosen.tiling.columns,
            (WAVEFRONT * chosen.tiling.wavefronts, 1, 1),
            f"{chosen.rows}x{chosen.tiling.columns_per_wavefront}",
            {
                "wavefronts": chosen.tiling.wavefronts,
                "a_tile": Local(chosen.lds_bytes),
                "split_depth": chosen.split.part_depth,
            },
            chosen.split.parts,
        )
