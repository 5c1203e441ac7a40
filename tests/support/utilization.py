"""How well a grid of workgroups fills a GPU: equations 8 to 11 of Li, Zhang and Cao (2018), and their table 4.

"Analyzing performance of neural networks in training phase", JFCST 2018(10); NVIDIA's words: block, SM.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# the GPU of the paper's table 1, a GTX 1080, and its registers
MULTIPROCESSORS = 20
REGISTERS = 65536  # of a multiprocessor
CLOCK_HZ = 1.607e9
CORES = 2560


def compute_efficiency(operations: int, seconds: float, clock_hz: float = CLOCK_HZ, cores: int = CORES) -> float:
    """Return the share that is reached of the peak of two operations a core and cycle (equation 8)."""
    return operations / seconds / (2 * clock_hz * cores)


def grid_size(m: int, n: int, tile: tuple[int, int]) -> int:
    """Return the number of blocks for a result of M × N, of which each makes a tile (equation 9)."""
    return -(-m // tile[0]) * -(-n // tile[1])


def most_blocks(
    block_size: int, registers_a_thread: int, multiprocessors: int = MULTIPROCESSORS, registers: int = REGISTERS
) -> int:
    """Return the number of blocks that the GPU's registers hold at a time (equation 10)."""
    return multiprocessors * (registers // (block_size * registers_a_thread))


def resource_utilization(grid: int, most: int) -> float:
    """Return the mean share of the places for blocks that are taken, over the waves the grid needs (equation 11)."""
    return grid / (-(-grid // most) * most)


@dataclass(frozen=True)
class PublishedKernel:
    """A row of table 4: a layer of the grouped AlexNet at batch 256, with one library's kernel.

    result: M × N as printed, of one group; tile: of a block; grid: as printed, which equation 9 gives for few rows
    only.
    """

    layer: str
    library: str
    result: tuple[int, int]
    tile: tuple[int, int]
    block_size: int
    registers: int
    grid: int

    @property
    def most_blocks(self) -> int:
        """Blocks that the GPU holds at a time (equation 10)."""
        return most_blocks(self.block_size, self.registers)

    @property
    def utilization(self) -> float:
        """Mean share of the places that are taken (equation 11)."""
        return resource_utilization(self.grid, self.most_blocks)

    @property
    def equation_9(self) -> int:
        """The grid that equation 9 gives."""
        return grid_size(*self.result, self.tile)


def _rows(library: str, rows: Sequence[tuple[str, int, int, int, int, int, int, int]]) -> list[PublishedKernel]:
    return [
        PublishedKernel(layer, library, (m, n), (tile_m, tile_n), block, registers, grid)
        for layer, m, n, tile_m, tile_n, block, registers, grid in rows
    ]


TABLE_4_BATCH = 256
TABLE_4: tuple[PublishedKernel, ...] = (
    *_rows(
        "cuDNN",
        [
            ("conv1", 94, 774_400, 128, 32, 128, 81, 18_150),  # 94 is printed; the layer has 96 filters
            ("conv2", 128, 186_624, 128, 128, 256, 128, 1_458),
            ("conv3", 384, 43_264, 128, 128, 256, 128, 6_144),
            ("conv4", 192, 43_264, 128, 128, 256, 128, 3_072),
            ("conv5", 128, 43_264, 128, 128, 256, 128, 2_048),
            ("fc6", 256, 4_096, 128, 128, 256, 116, 64),
            ("fc7", 256, 4_096, 128, 128, 256, 116, 64),
            ("fc8", 256, 1_000, 128, 64, 128, 120, 256),
        ],
    ),
    *_rows(
        "cuBLAS",
        [
            ("conv1", 94, 3_025, 128, 128, 256, 116, 24),
            ("conv2", 128, 729, 128, 64, 128, 120, 36),
            ("conv3", 384, 169, 128, 64, 128, 120, 60),
            ("conv4", 192, 169, 128, 64, 128, 120, 24),
            ("conv5", 128, 169, 128, 64, 128, 120, 16),
            ("fc6", 256, 4_096, 128, 128, 256, 116, 64),
            ("fc7", 256, 4_096, 128, 128, 256, 116, 64),
            ("fc8", 256, 1_000, 128, 64, 128, 120, 256),
        ],
    ),
)
