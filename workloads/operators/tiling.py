"""How the work of the kernels with a shared tile of A is split into workgroups."""

from dataclasses import dataclass
from itertools import product

from workloads.operators.shapes import GemmShape

ROWS_PER_WORKGROUP = 256
COLUMN_VARIANTS = (1, 2, 4)  # columns a wavefront owns: the sparse kernels that are built
DENSE_COLUMNS = 4  # of sgemm_wide
WAVEFRONT_VARIANTS = range(4, 17)
A_COLUMNS_PER_WAVEFRONT = 4  # of the LDS tile; dib_tile.h, LOADS_PER_WAVEFRONT

# Only the order of the candidates depends on these, not any result.
ASSUMED_DENSITY = 0.35  # non-zeros of B, between the densities of table 6.5 of Dong 2020
LDS_CYCLES_PER_NON_ZERO = 8  # 256 rows of 4 bytes at 128 bytes a cycle
STAGING_CYCLES_PER_A_COLUMN = 24  # 1 KiB: 16 cycles from L1 to registers, 8 into LDS
MULTIPLY_CYCLES_PER_ROW = 4  # 256 rows of one dense column: four wavefront instructions on four SIMDs of 4 cycles
TILE_LATENCY_CYCLES = 600  # assumed: loads' latency, two barriers, and the slowest wavefront of a tile


@dataclass(frozen=True)
class Tiling:
    """A workgroup of `wavefronts`, each with its own columns of C."""

    columns_per_wavefront: int
    wavefronts: int

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


def choose_tiling(shape: GemmShape, compute_units: int) -> Tiling:
    """The tiled sparse kernels' split with the least estimated time, as a BLAS library chooses by problem size."""
    return _least(shape, compute_units, COLUMN_VARIANTS, ASSUMED_DENSITY * LDS_CYCLES_PER_NON_ZERO)


def choose_dense_tiling(shape: GemmShape, compute_units: int) -> Tiling:
    """The same for sgemm_wide."""
    return _least(shape, compute_units, (DENSE_COLUMNS,), MULTIPLY_CYCLES_PER_ROW)


def _least(shape: GemmShape, compute_units: int, variants: tuple[int, ...], column_cycles: float) -> Tiling:
    """Least estimate a column of A: the compute unit with most workgroups pays for each `column_cycles` a column of C,
    the staging of the tile, and its share of a tile's latency."""

    def cost(tiling: Tiling) -> float:
        workgroups = -(-shape.m // ROWS_PER_WORKGROUP) * -(-shape.n // tiling.columns)
        work = min(tiling.columns, shape.n) * column_cycles + STAGING_CYCLES_PER_A_COLUMN
        latency = TILE_LATENCY_CYCLES / (A_COLUMNS_PER_WAVEFRONT * tiling.wavefronts)
        return -(-workgroups // compute_units) * (work + latency)

    return min((Tiling(columns, wavefronts) for columns, wavefronts in product(variants, WAVEFRONT_VARIANTS)), key=cost)
