"""How a sparse product with A in registers is split into workgroups (workloads/kernels/sgemm_dib_registers.s), and how
long that takes by estimate."""

from dataclasses import dataclass
from functools import cache
from math import inf

from isa.kernarg import Local
from workloads.operators.operator import GpuFacts
from workloads.operators.tiles import REFERENCE, SUM_BYTES_PER_CYCLE, SUM_CYCLES, Split
from workloads.operators.tiling import Tiling, WorkSplit
from workloads.shapes import GemmShape, round_up

BLOCK_ROWS = 64  # of B: four lines, which one sparse load covers; what the engine then takes as a column
ROWS, COLUMNS, WORK_ITEMS = 256, 64, 1024  # of C, of a workgroup
LDS_BYTES = 1 << 16  # two buffers of four segments of A
MOST_PARTS = 16
# Of a workgroup: for a block whatever its zeros, for one without zeros beside that, and before its first: simulated on
# MI6, layers A to C, 40 to 90 % zeros. The split and whether this kernel is taken depend on it.
BLOCK_CYCLES, VALUE_CYCLES, START_CYCLES = 7_840, 21_000, 10_000
ASSUMED_ZEROS = 0.66  # where the sum is split


def _cycles(m: int, n: int, split: Split, zeros: float, compute_units: int) -> float:
    rounds = -(-(-(-m // ROWS) * -(-n // COLUMNS) * split.parts) // compute_units)
    sums = (split.parts + 1) * 4 * m * n / SUM_BYTES_PER_CYCLE + SUM_CYCLES if split.parts > 1 else 0.0
    block = BLOCK_CYCLES + (1.0 - zeros) * VALUE_CYCLES
    return rounds * (split.part_depth // BLOCK_ROWS * block + START_CYCLES) + sums


@cache
def split_registers(m: int, n: int, k: int) -> Split:
    """Of the product's sum, by the estimate for a GPU of REFERENCE's size: the same on every GPU, as results are."""
    blocks = -(-k // BLOCK_ROWS)
    splits = [Split(k, BLOCK_ROWS * -(-blocks // parts)) for parts in range(1, min(MOST_PARTS, blocks) + 1)]
    return min(splits, key=lambda split: _cycles(m, n, split, ASSUMED_ZEROS, REFERENCE.compute_units))


def register_cycles(shape: GemmShape, zeros: float, gpu: GpuFacts) -> float:
    """Estimated, of a product with a B of which `zeros` are zero; infinite where the kernel does not fit the GPU."""
    if gpu.lds_bytes < LDS_BYTES:
        return inf
    return _cycles(shape.m, shape.n, split_registers(shape.m, shape.n, shape.k), zeros, gpu.compute_units)


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
