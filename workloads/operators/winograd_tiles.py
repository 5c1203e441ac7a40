"""How Winograd's minimal filtering cuts a convolution: planes into tiles, images into chunks, values into places."""

from dataclasses import dataclass
from math import prod

import numpy as np

from workloads.operators.conv_buffer import BUFFER_BYTES, MAX_BYTES, chunk_images, chunks, pad_pitch
from workloads.operators.convolution import Convolution, Pair
from workloads.operators.launching import divisor, words
from workloads.operators.tensor import Operand
from workloads.operators.tiles import LINE
from workloads.operators.winograd import Filtering, product_error
from workloads.shapes import round_up

QUAD = 4  # tiles are a multiple of it: the products store their rows by quads
# Between places, beside their rows. The products of all places run at the same time and go through their operands in
# step: were the places a power of two apart, they would meet in the same channels and sets, which takes up to twice as
# long. Of 16, 64, 80, 144, 192 and 528 elements this is the fastest on ResNet-18's layers.
SKEW = 5 * LINE


@dataclass(frozen=True)
class TransformedArray:
    """An array of transformed values, [places, rows, columns]."""

    places: int
    """Number of places."""
    rows: int
    """Number of rows."""
    columns: int
    """Number of columns."""
    apart: bool
    """Pad the rows, so that columns do not fall into few channels and sets."""

    @property
    def pitch(self) -> int:
        """Elements from a row to the next."""
        return pad_pitch(self.columns) if self.apart else self.columns

    @property
    def step(self) -> int:
        """Elements from a place to the next."""
        return self.rows * self.pitch + SKEW

    @property
    def operand(self) -> Operand:
        """The array with the gaps between rows and between places."""
        return Operand((self.places * self.step,), by_image=False)

    @property
    def values_bytes(self) -> int:
        """Bytes of the values, without gaps."""
        return 4 * self.places * self.rows * self.columns


@dataclass(frozen=True)
class WinogradTiling:
    """A convolution's planes of results in tiles of size x size.

    Images are taken by chunks whose windows and products (or tiles of dy) the buffer holds.
    """

    convolution: Convolution
    """The convolution."""
    size: int
    """Side of a tile of results."""
    buffer_bytes: int = BUFFER_BYTES
    """Largest size of a buffer."""

    @property
    def filtering(self) -> Filtering:
        """Minimal filtering F(size x size, 3 x 3)."""
        return Filtering(self.size)

    @property
    def tiles(self) -> Pair:
        """Rows and columns of tiles of a plane."""
        rows, columns = (-(-extent // self.size) for extent in self.convolution.outputs)
        return rows, columns

    def rounded(self, images: int) -> int:
        """Return the tiles of so many images' planes of one channel, rounded up to a multiple of QUAD."""
        return round_up(images * prod(self.tiles), QUAD)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the products, for tiles that hold results."""
        c = self.convolution
        return self.filtering.places * c.shape[0] * prod(self.tiles) * c.filters * c.group_channels

    @property
    def largest_bytes(self) -> int:
        """Bytes of one image's part of the largest array."""
        c = self.convolution
        transformed = self.filtering.places * prod(self.tiles)
        return 4 * max(transformed * max(c.shape[1], c.filters), prod(c.shape[1:]), c.filters * c.positions)

    @property
    def too_large(self) -> bool:
        """Whether the arrays of a single image are too large for 32-bit offsets."""
        return self.largest_bytes > MAX_BYTES

    @property
    def chunk(self) -> int:
        """The number of images of a chunk."""
        c = self.convolution
        image_bytes = 4 * self.filtering.places * prod(self.tiles) * (c.shape[1] + c.filters)
        return chunk_images(c.shape[0], image_bytes, self.buffer_bytes, self.largest_bytes)

    @property
    def chunks(self) -> list[tuple[int, int]]:
        """The first image and the number of images of each chunk."""
        return chunks(self.convolution.shape[0], self.chunk)

    @property
    def windows(self) -> TransformedArray:
        """The transformed windows of a chunk, a row for each channel."""
        return TransformedArray(self.filtering.places, self.convolution.shape[1], self.rounded(self.chunk), apart=True)

    @property
    def products(self) -> TransformedArray:
        """The products of a chunk, or its transformed tiles of dy, a row for each filter."""
        return TransformedArray(self.filtering.places, self.convolution.filters, self.rounded(self.chunk), apart=True)

    @property
    def transformed_bytes(self) -> int:
        """Bytes of windows and products of all chunks."""
        tiles = sum(self.rounded(count) for _, count in self.chunks)
        return 4 * self.filtering.places * tiles * (self.convolution.shape[1] + self.convolution.filters)

    def words(self, images: int, planes: int, plane: Pair, of: TransformedArray, padding: Pair) -> np.ndarray:
        """Return the words of Tiles (workloads/kernels/winograd.cl).

        Args:
            planes: Number of an image's planes.
            plane: Size of a plane.
            of: The transformed values.
            padding: Top and left.
        """
        tiles, columns = prod(self.tiles), self.tiles[1]
        size_bytes = 4 * images * planes * prod(plane)
        steps = (4 * of.step, 4 * of.pitch, of.operand.size_bytes)
        sizes = (images * tiles, self.rounded(images), planes, *plane, size_bytes, *steps, *padding)
        return words(*sizes, divisor(of.pitch), divisor(tiles), divisor(columns))

    # by NumPy: what the transforms are applied to, for n images

    def windows_of(self, x: np.ndarray) -> np.ndarray:
        """Cut windows out of x: [groups, channels of a group, tiles, rows, columns] in FP64."""
        return self._cut(x, self.filtering.window, *self.convolution.padding[:2])

    def tiles_of(self, dy: np.ndarray) -> np.ndarray:
        """Cut tiles out of dy: [groups, filters of a group, tiles, rows, columns] in FP64."""
        return self._cut(dy, self.size, 0, 0)

    def _cut(self, planes: np.ndarray, extent: int, top: int, left: int) -> np.ndarray:
        rows, columns = planes.shape[2:]
        covered = [(count - 1) * self.size + extent for count in self.tiles]
        held = np.zeros((*planes.shape[:2], max(covered[0], top + rows), max(covered[1], left + columns)))
        held[:, :, top : top + rows, left : left + columns] = planes
        seen = np.lib.stride_tricks.sliding_window_view(
            held[:, :, : covered[0], : covered[1]], (extent, extent), (2, 3)
        )
        seen = seen[:, :, :: self.size, :: self.size]
        groups = self.convolution.groups
        by_group = seen.reshape(len(planes), groups, -1, prod(self.tiles), extent, extent).transpose(1, 2, 0, 3, 4, 5)
        return by_group.reshape(groups, by_group.shape[1], -1, extent, extent)

    def assembled(self, tiles: np.ndarray, images: int) -> np.ndarray:
        """Assemble planes [n, filters, rows, columns] from tiles [groups, filters of a group, tiles, rows, columns]."""
        c, (rows, columns) = self.convolution, self.tiles
        planes = tiles.reshape(c.filters, images, rows, columns, self.size, self.size).transpose(1, 0, 2, 4, 3, 5)
        whole = planes.reshape(images, c.filters, rows * self.size, columns * self.size)
        return whole[:, :, : c.outputs[0], : c.outputs[1]]

    def error(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        """Bound the error of the results for images x. weight: [groups, filters, channels of a group, 3, 3]."""
        c, filtering = self.convolution, self.filtering
        added = 0.0 if bias is None else np.abs(bias).reshape(c.groups, -1, 1, 1, 1)
        found = []
        for part in c.chunks(len(x)):
            operands = ((filtering.filters, weight), (filtering.windows, self.windows_of(x[part])))
            off = product_error(*operands, c.group_channels, _over_channels)
            found.append(self.assembled(off.through(filtering.results, added), len(x[part])))
        return np.concatenate(found)


def _over_channels(filters: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Multiply [groups, filters, channels, ...] by [groups, channels, tiles, ...], summed over channels."""
    a, b = (np.ascontiguousarray(values.transpose(0, 3, 4, 1, 2)) for values in (filters, windows))
    return np.asarray((a @ b).transpose(0, 3, 4, 1, 2))


def over_tiles(gradients: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Multiply [groups, filters, tiles, ...] by [groups, channels, tiles, ...], summed over tiles."""
    a, b = gradients.transpose(0, 3, 4, 1, 2), windows.transpose(0, 3, 4, 2, 1)
    return np.asarray((np.ascontiguousarray(a) @ np.ascontiguousarray(b)).transpose(0, 3, 4, 1, 2))
