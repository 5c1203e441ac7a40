"""How a sparse product with A in registers is split into workgroups (workloads/kernels/sgemm_dib_registers.s)."""

from dataclasses import dataclass
from functools import cache

from isa.kernarg import Local
from workloads.operators.operator import GpuFacts
from workloads.operators.tiles import REFERENCE, SUM_BYTES_PER_CYCLE, SUM_CYCLES, Split
from workloads.operators.tiling import Tiling, WorkSplit
from workloads.shapes import GemmShape, round_up

BLOCK_ROWS = 64  # of B: four lines, which one sparse load covers; what the engine then takes as a column
ROWS, COLUMNS, WORK_ITEMS = 256, 64, 1024  # of C, of a workgroup
LDS_BYTES = 1 << 16  # two buffers of four segments of A
MOST_PARTS = 16
# Of a workgroup for a block and before its first, simulated on MI6 with two thirds of zeros. The split depends on it.
BLOCK_CYCLES, START_CYCLES = 15_000, 10_000


@cache
def split_registers(m: int, n: int, k: int) -> Split:
    """Of the product's sum, by the estimate for a GPU of REFERENCE's size: the same on every GPU, as results are."""
    blocks = -(-k // BLOCK_ROWS)
    tiles = -(-m // ROWS) * -(-n // COLUMNS)
    splits = [Split(k, BLOCK_ROWS * -(-blocks // parts)) for parts in range(1, min(MOST_PARTS, blocks) + 1)]

    def cycles(split: Split) -> float:
        rounds = -(-tiles * split.parts // REFERENCE.compute_units)
        sums = (split.parts + 1) * 4 * m * n / SUM_BYTES_PER_CYCLE + SUM_CYCLES if split.parts > 1 else 0.0
        return rounds * (split.part_depth // BLOCK_ROWS * BLOCK_CYCLES + START_CYCLES) + sums

    return min(splits, key=cycles)


@dataclass(frozen=True)
class RegisterTile:
    """The splitting of the kernel with A in registers (workloads.operators.tiling.Splitting): one tile of C."""

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """The parts of the sum are chosen, or those of `tiling`, whose columns and wavefronts are no choice here."""
        if gpu.lds_bytes < LDS_BYTES:
            raise ValueError(f"a workgroup needs {LDS_BYTES} bytes of LDS, a compute unit has {gpu.lds_bytes}")
        split = split_registers(shape.m, shape.n, shape.k)
        if tiling is not None and tiling.parts:
            split = Split(shape.k, round_up(-(-shape.k // tiling.parts), BLOCK_ROWS))
        arguments = {"a_tile": Local(LDS_BYTES), "split_depth": split.part_depth}
        return WorkSplit(ROWS, COLUMNS, (WORK_ITEMS, 1, 1), 0, arguments, split.parts)
