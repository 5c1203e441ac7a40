"""How a sparse product with A in registers is divided among workgroups (workloads/kernels/dib_registers.inc), and
how long that takes by estimate.

Tiles of C that fill all compute units go to a workgroup each. The blocks of B's rows of those that are left are
divided, so that every compute unit has about as much to do, and the sums of their parts are added up afterwards. This
is what Osama et al., "Stream-K" (PPoPP 2023), do with whole tiles first; but there a workgroup takes up where the one
before it ends, so that no two are at the same columns of A, which then come from DRAM for each. Here they go in layers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import inf

from isa.kernarg import Local
from workloads.operators.operator import GpuFacts
from workloads.operators.tiles import LINE_BYTES_PER_CYCLE, SUM_BYTES_PER_CYCLE, SUM_CYCLES
from workloads.operators.tiling import Tiling, WorkSplit
from workloads.shapes import GemmShape

BLOCK_ROWS = 64  # of B: four lines, which one sparse load covers; what the engine then takes as a column
ROWS, COLUMNS, WORK_ITEMS = 256, 64, 1024  # of C, of a workgroup
ROW_VARIANTS = (256, 128, 64)  # of a workgroup: the kernels that are built
LDS_BYTES = 1 << 16  # two buffers of four segments of A, of ROWS rows; of fewer rows, as many less
MOST_SLOTS = 16
MOST_PARTS = (
    1 << 23
)  # elements of parts of sums, where memory is planned ahead for any GPU; 128 compute units need less
MOST_TILES = 1 << 24  # tiles, and blocks of shared ones: the kernel divides them in FP32
# Cycles of a workgroup by its rows, for a block without a non-zero and what one without a zero takes more: where
# instructions for non-zeros decide, and where what comes with every block does; before its first block and where it
# goes on to another tile. Simulated on MI6, layers A to C, 30 to 90 % zeros, within 3 %; of 128 and 64 rows a tile for
# each compute unit, 0, 60 and 100 % zeros, within 5 %. How tiles are divided, of how many rows they are and whether
# these kernels are taken depend on them.
_EMPTY = (6_000, 8_500)
CYCLES = {256: ((4_500, 20_100), _EMPTY), 128: ((4_500, 14_200), _EMPTY), 64: ((4_500, 13_300), _EMPTY)}
START_CYCLES = 10_000
ASSUMED_ZEROS = 0.66  # where tiles are divided


def block_cycles(zeros: float, rows: int = ROWS) -> float:
    """Estimate the cycles of a workgroup of so many rows for a block with the share `zeros` of zeros."""
    return max(empty + (1.0 - zeros) * full for empty, full in CYCLES[rows])


@dataclass(frozen=True)
class TileSchedule:
    """The division of a product among workgroups.

    The first `whole` tiles have a workgroup each; workgroups share the blocks of the others.
    """

    row_tiles: int
    """Tiles along the rows of C."""
    tiles: int
    """Total number of tiles."""
    blocks: int
    """Blocks of a tile."""
    whole: int
    """Tiles with one workgroup each."""
    layers: int = 0
    """Workgroups that each take `share` blocks of one shared tile."""
    share: int = 0
    """Blocks of a shared tile for each workgroup of a layer."""
    tail_share: int = 0
    """Blocks for each workgroup that takes the remaining blocks of the shared tiles in sequence."""
    rows: int = ROWS
    """Rows of a tile."""

    @property
    def first_column(self) -> int:
        """The first column of C that belongs to shared tiles."""
        return self.whole // self.row_tiles * COLUMNS

    @property
    def shared(self) -> int:
        """The number of shared tiles."""
        return self.tiles - self.whole

    @property
    def tail(self) -> int:
        """Blocks of a shared tile that are in no layer."""
        return self.blocks - self.layers * self.share

    @property
    def workgroups(self) -> int:
        """The number of all workgroups."""
        tails = -(-self.shared * self.tail // self.tail_share) if self.tail_share else 0
        return self.whole + self.shared * self.layers + tails

    @property
    def slots(self) -> int:
        """The most workgroups that have a part of one tile; 0 where none is shared."""
        if not self.shared:
            return 0
        if not self.tail_share:
            return self.layers
        firsts = range(0, self.shared * self.tail, self.tail)
        return self.layers + max((at + self.tail - 1) // self.tail_share - at // self.tail_share + 1 for at in firsts)

    def parts_elements(self, shape: GemmShape) -> int:
        """Count the elements of the parts of sums."""
        return self.slots * (shape.n - self.first_column) * shape.ldc

    def cycles(self, shape: GemmShape, zeros: float, compute_units: int) -> float:
        """Estimate the cycles of the product, with the share `zeros` of B's elements zero."""
        block = block_cycles(zeros, self.rows)
        total = -(-self.whole // compute_units) * (self.blocks * block + START_CYCLES)
        sums = 0.0
        if self.shared:
            total += self.longest * block + START_CYCLES
            summed = 4 * shape.m * max(shape.n - self.first_column, 1)
            sums = SUM_CYCLES + (self.slots + 1) * summed / SUM_BYTES_PER_CYCLE
        return max(total, self.memory_bytes(shape, compute_units) / LINE_BYTES_PER_CYCLE) + sums

    def memory_bytes(self, shape: GemmShape, compute_units: int) -> int:
        """Estimate the bytes of A and B from memory: workgroups at the same columns of A share them in L2."""
        rounds = -(-self.whole // compute_units)
        blocks = self.row_tiles * rounds * self.blocks + min(self.row_tiles, self.shared) * self.layers * self.share
        if self.tail_share:
            firsts = range(0, self.shared * self.tail, self.tail_share)
            places = {(at % self.tail, at // self.tail % self.row_tiles) for at in firsts}
            blocks += len(places) * self.tail_share
        return 4 * (self.rows * BLOCK_ROWS * blocks + shape.n * shape.k)

    @property
    def longest(self) -> float:
        """Blocks of the workgroup with most to do of shared tiles; going on to another tail counts as some more."""
        start = START_CYCLES / block_cycles(ASSUMED_ZEROS, self.rows)
        tails = self.tail_share + start * (self.tail_share // self.tail + 1) if self.tail_share else 0.0
        return max(float(self.share), tails)


def whole_tiles(shape: GemmShape, rows: int = ROWS) -> TileSchedule:
    """Give each tile of so many rows a workgroup of its own; raise ValueError for too many tiles."""
    row_tiles, blocks = -(-shape.m // rows), -(-shape.k // BLOCK_ROWS)
    tiles = row_tiles * -(-shape.n // COLUMNS)
    if tiles >= MOST_TILES:
        raise ValueError(f"{tiles} tiles of {rows} x {COLUMNS}; allowed are fewer than {MOST_TILES}")
    return TileSchedule(row_tiles, tiles, blocks, tiles, rows=rows)


def most_parts(shape: GemmShape) -> int:
    """Return how many elements the parts of a product's sums have at the most, on any GPU."""
    return min(MOST_SLOTS * shape.n * shape.ldc, MOST_PARTS)


def _schedules(shape: GemmShape, compute_units: int, rows: int) -> Iterator[TileSchedule]:
    in_whole = whole_tiles(shape, rows)
    yield in_whole
    row_tiles, tiles, blocks = in_whole.row_tiles, in_whole.tiles, in_whole.blocks
    whole = tiles // compute_units * compute_units // row_tiles * row_tiles
    shared = tiles - whole
    if not shared or shared * blocks >= MOST_TILES:
        return
    even = -(-shared * blocks // compute_units)  # longer shares leave shorter tails, which are in more pieces
    shares = {-(-blocks // layers) for layers in range(1, MOST_SLOTS + 1)} | set(range(even, even + 8))
    for share in sorted(shares):
        for layers in range(1, min(blocks // share, compute_units // shared, MOST_SLOTS) + 1):
            tail, others = blocks - layers * share, compute_units - layers * shared
            if not tail and layers > 1:
                yield TileSchedule(row_tiles, tiles, blocks, whole, layers, share, rows=rows)
            elif tail and others:
                schedule = TileSchedule(
                    row_tiles=row_tiles,
                    tiles=tiles,
                    blocks=blocks,
                    whole=whole,
                    layers=layers,
                    share=share,
                    tail_share=-(-shared * tail // others),
                    rows=rows,
                )
                if schedule.slots <= MOST_SLOTS:
                    yield schedule


@cache
def divide(shape: GemmShape, compute_units: int) -> TileSchedule:
    """Return the schedule of least estimated time on so many compute units, of the tiles with as many rows as that
    takes; raise ValueError for too many tiles.
    """
    schedules = (one for rows in ROW_VARIANTS for one in _schedules(shape, compute_units, rows))
    fitting = (one for one in schedules if one.parts_elements(shape) <= MOST_PARTS)
    return min(fitting, key=lambda schedule: schedule.cycles(shape, ASSUMED_ZEROS, compute_units))


def register_cycles(shape: GemmShape, zeros: float, gpu: GpuFacts) -> float:
    """Estimate the cycles of a product with the share `zeros` of B zero; infinite where the GPU's LDS is too small."""
    if gpu.lds_bytes < LDS_BYTES:
        return inf
    return divide(shape, gpu.compute_units).cycles(shape, zeros, gpu.compute_units)


@dataclass(frozen=True)
class RegisterTile:
    """The splitting of the kernels with A in registers (workloads.operators.tiling.Splitting): tiles of C whose rows
    decide which kernel it is.
    """

    def split(self, shape: GemmShape, gpu: GpuFacts, tiling: Tiling | None) -> WorkSplit:
        """Split by `divide`, or into whole tiles where a tiling asks for sums in one part; it has no other effect.

        Sums of shared tiles depend on the GPU: on how many compute units share them.
        """
        if gpu.lds_bytes < LDS_BYTES:
            raise ValueError(f"a workgroup needs {LDS_BYTES} bytes of LDS, a compute unit has {gpu.lds_bytes}")
        schedule = divide(shape, gpu.compute_units)
        if tiling is not None and tiling.parts == 1:
            schedule = whole_tiles(shape, schedule.rows)
        slots = schedule.slots
        first = schedule.first_column if slots else 0
        shares = {"whole": schedule.whole, "share": schedule.share, "slots": slots, "first_column": first}
        lds_bytes = LDS_BYTES * schedule.rows // ROWS
        arguments = {"a_tile": Local(lds_bytes), **shares, "layers": schedule.layers, "tail_share": schedule.tail_share}
        groups = schedule.workgroups
        variant = "" if schedule.rows == ROWS else f"_{schedule.rows}"
        return WorkSplit(
            schedule.rows, COLUMNS, (WORK_ITEMS, 1, 1), variant, arguments, max(slots, 1), groups=groups, apart=first
        )
