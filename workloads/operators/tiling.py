"""How a GEMM's result is split into workgroups: fixed tiles, or tiles whose size is chosen by shape and GPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from isa.kernarg import Local
from workloads.operators.operator import GpuFacts
from workloads.operators.tiles import DEPTH, SWATH, TILES, DepthSplit, choose_tile, split_product
from workloads.shapes import GemmShape, round_up

WAVEFRONT = 64  # work-items
ROWS_PER_WORKGROUP = 256
COLUMN_VARIANTS = (1, 2, 4)  # columns a wavefront owns: the sparse kernels that are built
DENSE_COLUMNS = 4  # of a wavefront of sgemm_wide
WAVEFRONT_VARIANTS = range(4, 17)
A_COLUMNS_PER_WAVEFRONT = 4  # of the LDS tile; dib_tile.h, LOADS_PER_WAVEFRONT
TILE_BYTES_PER_WAVEFRONT = 4096  # dib_tile.h: four columns of A, 256 rows each

FEW_COLUMNS = (1, 2, 4, 8)  # of C, as workloads/kernels/few_columns.cl has kernels
MOST_FEW = max(FEW_COLUMNS)
FEW_WAVEFRONTS = 16  # of a workgroup, which divide the sum among them
FEW_GROUPS, FEW_PART = 144, 256  # workgroups that parts are to give, a few a compute unit; steps of a part at least

# Only the order of the candidates depends on these, not any result.
STAGING_CYCLES_PER_A_COLUMN = 24  # 1 KiB: 16 cycles from L1 to registers, 8 into LDS
MULTIPLY_CYCLES_PER_ROW = 4  # 256 rows of one dense column: four wavefront instructions on four SIMDs of 4 cycles
TILE_LATENCY_CYCLES = 600  # assumed: loads' latency, two barriers, and the slowest wavefront of a tile


@dataclass(frozen=True)
class Tiling:
    """A workgroup whose wavefronts each have their own columns of C."""

    columns_per_wavefront: int
    """Columns of a wavefront."""
    wavefronts: int
    """Wavefronts of a workgroup."""
    rows: int = 0
    """Rows of C that a workgroup computes, for sparse kernels; 0: chosen by the kernel's splitting."""
    parts: int = 0
    """Parts of the sum, for sparse kernels; 0: chosen by the kernel's splitting."""

    def __post_init__(self) -> None:
        if self.columns_per_wavefront not in COLUMN_VARIANTS or not 1 <= self.wavefronts <= 16:
            raise ValueError(
                f"tiling of {self.columns_per_wavefront} columns by {self.wavefronts} wavefronts; allowed are "
                f"{', '.join(map(str, COLUMN_VARIANTS))} columns and 1 to 16 wavefronts"
            )

    @property
    def columns(self) -> int:
        """Columns of C that a workgroup computes."""
        return self.columns_per_wavefront * self.wavefronts

    def split(self, depth: int) -> DepthSplit | None:
        """Return the parts of a sum of `depth` steps that the tiling asks for; None if it asks for none."""
        return DepthSplit(depth, round_up(-(-depth // self.parts), DEPTH)) if self.parts else None

    @property
    def lds_bytes(self) -> int:
        """Bytes of the tile of A that the workgroup shares, of 256 rows."""
        return TILE_BYTES_PER_WAVEFRONT * self.wavefronts


@dataclass(frozen=True)
class WorkSplit:
    """The work of a workgroup, and the grid of workgroups."""

    rows: int
    """Rows of C that a workgroup computes."""
    columns: int
    """Columns of C that a workgroup computes."""
    local_size: tuple[int, int, int]
    """Work-items of a workgroup in x, y, z."""
    variant: int | str = 0
    """Kernel of the code object: the columns of a wavefront, or the tile; 0: there is one kernel."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Kernel arguments that depend on the split."""
    parts: int = 1
    """Parts of the sum over k, each with its own workgroups; another launch adds them up."""
    columns_first: bool = False
    """The grid's x axis runs along the columns of C."""
    groups: int = 0
    """Workgroups of a one-dimensional grid whose kernel derives their work; 0: a grid of tiles and parts."""
    apart: int | None = None
    """First column of C that is computed in parts; None: all columns, or none, are."""

    def workgroups(self, shape: GemmShape) -> tuple[int, int, int]:
        """Return workgroups in x (rows), y (columns; `columns_first`: the other way) and z (parts of the sum)."""
        if self.groups:
            return self.groups, 1, 1
        rows, columns = -(-shape.m // self.rows), -(-shape.n // self.columns)
        return (columns, rows, self.parts) if self.columns_first else (rows, columns, self.parts)


class Splitting(Protocol):
    """Decides how a kernel's work is split."""

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """Split the work for a shape on a GPU; a given `tiling` replaces the choice. Raise ValueError if none fits."""


@dataclass(frozen=True)
class FixedTile:
    """The splitting of a kernel that is written for one tile of C."""

    rows: int
    """Rows of the tile."""
    columns: int
    """Columns of the tile."""
    local_size: tuple[int, int, int]
    """Work-items of a workgroup in x, y, z."""
    columns_first: bool = False
    """The grid's x axis runs along the columns of C."""

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """Return the only split that the kernel has; `tiling` has no effect."""
        return WorkSplit(self.rows, self.columns, self.local_size, columns_first=self.columns_first)


@dataclass(frozen=True)
class SharedTile:
    """The splitting of `sgemm_wide`: a workgroup shares a tile of A in LDS, its wavefronts own DENSE_COLUMNS each.

    The number of wavefronts is chosen as a BLAS library does.
    """

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """Split by the least estimated time, or by `tiling` if it is given."""
        chosen = self.choose(shape, gpu) if tiling is None else tiling
        if chosen.columns_per_wavefront != DENSE_COLUMNS:
            raise ValueError(f"wavefronts own {DENSE_COLUMNS} columns, not those of {chosen}")
        arguments = {"wavefronts": chosen.wavefronts, "a_tile": Local(chosen.lds_bytes)}
        local_size = (WAVEFRONT * chosen.wavefronts, 1, 1)
        return WorkSplit(ROWS_PER_WORKGROUP, chosen.columns, local_size, DENSE_COLUMNS, arguments)

    def choose(self, shape: GemmShape, gpu: GpuFacts) -> Tiling:
        """Return the tiling of the least estimate for a column of A; raise ValueError where no tile fits the LDS.

        The compute unit with most workgroups pays for each column of C, the staging of the tile, and its share of a
        tile's latency.
        """

        def cost(tiling: Tiling) -> float:
            workgroups = -(-shape.m // ROWS_PER_WORKGROUP) * -(-shape.n // tiling.columns)
            work = min(tiling.columns, shape.n) * MULTIPLY_CYCLES_PER_ROW + STAGING_CYCLES_PER_A_COLUMN
            latency = TILE_LATENCY_CYCLES / (A_COLUMNS_PER_WAVEFRONT * tiling.wavefronts)
            return -(-workgroups // gpu.compute_units) * (work + latency)

        candidates = (Tiling(DENSE_COLUMNS, wavefronts) for wavefronts in WAVEFRONT_VARIANTS)
        fitting = [tiling for tiling in candidates if tiling.lds_bytes <= gpu.lds_bytes]
        if not fitting:
            least = TILE_BYTES_PER_WAVEFRONT * WAVEFRONT_VARIANTS[0]
            raise ValueError(
                f"a workgroup's tile needs at least {least} bytes of LDS, a compute unit has {gpu.lds_bytes}"
            )
        return min(fitting, key=cost)


@dataclass(frozen=True)
class FewColumns:
    """The splitting of a kernel whose workgroup has all columns of C, of which there are few, and WAVEFRONT rows.

    A long sum goes in parts where there are few rows, by the shape alone, so that results are the same on every GPU.
    """

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """Split the rows, and the sum; `tiling` has no effect. Raise ValueError for more columns than there are."""
        if shape.n > MOST_FEW:
            raise ValueError(f"{shape.n} columns; allowed are at most {MOST_FEW}")
        columns = next(most for most in FEW_COLUMNS if shape.n <= most)
        lds_bytes = 4 * WAVEFRONT * FEW_WAVEFRONTS * columns
        if lds_bytes > gpu.lds_bytes:
            raise ValueError(
                f"sums of {columns} columns need {lds_bytes} bytes of LDS, a compute unit has {gpu.lds_bytes}"
            )
        parts = max(1, min(FEW_GROUPS // -(-shape.m // WAVEFRONT), shape.k // FEW_PART))
        depth = round_up(-(-shape.k // parts), DEPTH)
        items = (WAVEFRONT * FEW_WAVEFRONTS, 1, 1)
        return WorkSplit(WAVEFRONT, columns, items, columns, {"split_depth": depth}, -(-shape.k // depth))


@dataclass(frozen=True)
class ChosenTile:
    """The splitting of a kernel that has several tiles of C and splits the sum; the best for the shape is taken."""

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """Split by `split_product` and `choose_tile`; `tiling` has no effect."""
        split = split_product(shape.m, shape.n, shape.k)
        tile = choose_tile(shape.m, shape.n, split.parts, gpu, TILES)
        arguments = {"split_depth": split.part_depth, "add": 0}
        return WorkSplit(SWATH * tile.x, SWATH * tile.y, (tile.work_items, 1, 1), tile.text, arguments, split.parts)
