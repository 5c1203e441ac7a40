"""The tile that a workgroup of the matrix kernels computes, and how a long sum is split.

The kernels (workloads/kernels/tile.h) are built for some numbers of wavefronts in either direction. Which is taken
changes no result: each element's sum goes through k in the same order. How a sum is split does, and so depends on the
shape alone: a result is the same on every GPU.
"""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from workloads.operators.launching import GROUP, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.tensor import Tensor
from workloads.shapes import round_up

if TYPE_CHECKING:
    from isa.launch import Launch

SWATH = 64  # elements of a wavefront's tile in either direction
DEPTH = 8  # steps of the sum that go through LDS together
SIMDS = 4  # of a compute unit

# Only which tile is taken depends on these, not any result.
WORKGROUPS = 256  # that a split is to give at least, of 128 x 128 elements: a few for each compute unit
LEAST_PART = 256  # steps of the sum: below, the partial sums' traffic is more than what is gained
SMALLER_TILE = 0.03  # estimated: a wavefront less costs so much more time for the traffic from L2


@dataclass(frozen=True)
class Tile:
    """Wavefronts of a workgroup along x, in which the result is contiguous, and along y."""

    x: int
    y: int

    @property
    def wavefronts(self) -> int:
        """Of the workgroup."""
        return self.x * self.y

    @property
    def work_items(self) -> int:
        """Of the workgroup."""
        return 64 * self.wavefronts

    @property
    def text(self) -> str:
        """As the kernels' names end."""
        return f"{self.x}x{self.y}"

    def groups(self, columns: int, rows: int, count: int) -> tuple[int, int, int]:
        """Workgroups for `count` results of columns (x) by rows (y)."""
        return -(-columns // (SWATH * self.x)), -(-rows // (SWATH * self.y)), count


LARGE_TILES = (Tile(2, 2), Tile(2, 1), Tile(1, 2))
TILES = (*LARGE_TILES, Tile(1, 1))


def choose_tile(columns: int, rows: int, count: int, gpu: GpuFacts, tiles: tuple[Tile, ...] = TILES) -> Tile:
    """The one with which the fullest compute unit has least to do; a larger one where that is about the same."""

    def cost(tile: Tile) -> float:
        x, y, z = tile.groups(columns, rows, count)
        held = -(-x * y * z // gpu.compute_units) * tile.wavefronts  # wavefronts of the fullest compute unit, in all
        return -(-held // SIMDS) * (1.0 + SMALLER_TILE * (4 - tile.wavefronts))

    return min(tiles, key=cost)


@dataclass(frozen=True)
class Split:
    """A sum of `depth` steps in parts of `part_depth`, a multiple of DEPTH; the last may be shorter."""

    depth: int
    part_depth: int

    @property
    def parts(self) -> int:
        """How many."""
        return -(-self.depth // self.part_depth)

    @property
    def longest(self) -> int:
        """Additions that an element's value goes through at most."""
        return min(self.part_depth, self.depth) + self.parts


def split_sum(columns: int, rows: int, count: int, depth: int) -> Split:
    """So that there are workgroups for a GPU where the results alone are too few."""
    tiles = -(-columns // (2 * SWATH)) * -(-rows // (2 * SWATH)) * count
    parts = max(1, min(-(-WORKGROUPS // tiles), depth // LEAST_PART))
    return Split(depth, round_up(-(-depth // parts), DEPTH))


def sum_parts(sums: Tensor, total: Tensor, split: Split) -> "tuple[Launch, ...]":
    """The launch that adds up the parts of a split sum; none where there is one."""
    if split.parts == 1:
        return ()
    n = prod(total.shape)
    values = {"partial": sums, "c": total, "parts": split.parts, "n": n}
    return (launch("sgemm", "sum_parts", total.memory, (-(-n // (4 * GROUP)),), values),)
