"""Convolution with filters of 3 x 3 by Winograd's minimal filtering, for as many images at a time as a buffer holds.

Backward to the data it is the same convolution over dy, with the filters turned round and the channels in the filters'
place; the gradient of the weights is a minimal filtering of its own, over the same windows (workloads/operators/
winograd.py). Between the transforms (workloads/kernels/winograd.cl) are matrix products, one for each place of a window
and group of channels. Groups cost nothing more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isa.kernarg import Pointer
from workloads.operators.bias import BiasBackward, BiasForward
from workloads.operators.conv_buffer import BUFFER_BYTES, MAX_BYTES, at, chunk_images, chunks
from workloads.operators.conv_passes import (
    ConvolutionBackwardData,
    ConvolutionBackwardWeights,
    ConvolutionForward,
    ConvolutionPass,
)
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, divisor, launch, words
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import Value
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import Batch, Split, products, split_sum
from workloads.operators.winograd import SIZES, TAPS, Filtering, ProductError, product_error
from workloads.shapes import round_up

if TYPE_CHECKING:
    from isa.launch import Launch

ROUNDED_TILES = 4  # the products' rows are stored by quads
Pair = tuple[int, int]


def refuses(c: Convolution, size: int) -> str:
    """Why F(size x size, 3 x 3) does not compute it; '': it does."""
    if c.kernel != (TAPS, TAPS) or c.stride != (1, 1) or c.dilation != (1, 1):
        kind = f"kernel {list(c.kernel)}, stride {list(c.stride)}, dilation {list(c.dilation)}"
        return f"{kind}; allowed is a kernel of [3, 3] with stride and dilation 1"
    if max(c.padding) >= TAPS:
        return f"padding {list(c.padding)}; each must be at most {TAPS - 1}"
    largest = max(_Plan(c, size).largest_bytes, _Plan(_turned(c), size).largest_bytes)
    if largest > MAX_BYTES:
        return f"the windows of an image have {largest} bytes; allowed are at most {MAX_BYTES}"
    return ""


def _turned(c: Convolution) -> Convolution:
    """The convolution over dy that gives dx."""
    top, left, bottom, right = (TAPS - 1 - side for side in c.padding)
    shape = (c.shape[0], c.filters, *c.outputs)
    return replace(c, shape=shape, filters=c.shape[1], padding=(top, left, bottom, right))


@dataclass(frozen=True)
class _Plan:
    """How a convolution's planes of results are cut into tiles, and its images into chunks."""

    convolution: Convolution
    size: int
    buffer_bytes: int = BUFFER_BYTES

    @property
    def filtering(self) -> Filtering:
        """F(size x size, 3 x 3)."""
        return Filtering(self.size)

    @property
    def tiles(self) -> Pair:
        """Rows and columns of them, of a plane."""
        rows, columns = (-(-extent // self.size) for extent in self.convolution.outputs)
        return rows, columns

    def padded(self, images: int) -> int:
        """Tiles of so many images' planes of one channel, and those that round their number up."""
        return round_up(images * prod(self.tiles), ROUNDED_TILES)

    @property
    def pairs(self) -> int:
        """Filters by channels."""
        return self.convolution.filters * self.convolution.group_channels

    @property
    def macs(self) -> int:
        """Of the products, for tiles that hold results."""
        return self.filtering.places * self.convolution.shape[0] * prod(self.tiles) * self.pairs

    @property
    def largest_bytes(self) -> int:
        """An image's part of the largest array."""
        c = self.convolution
        transformed = self.filtering.places * prod(self.tiles)
        return 4 * max(transformed * max(c.shape[1], c.filters), prod(c.shape[1:]), c.filters * c.positions)

    @property
    def chunk(self) -> int:
        """Images of a chunk: their windows and products (or tiles of dy) fill the buffer."""
        c = self.convolution
        image_bytes = 4 * self.filtering.places * prod(self.tiles) * (c.shape[1] + c.filters)
        return chunk_images(c.shape[0], image_bytes, self.buffer_bytes, self.largest_bytes)

    @property
    def chunks(self) -> list[tuple[int, int]]:
        """First image and how many."""
        return chunks(self.convolution.shape[0], self.chunk)

    def transformed(self, planes: int) -> Operand:
        """A chunk's values by place, channel or filter, and tile."""
        return Operand((self.filtering.places, planes, self.padded(self.chunk)), by_image=False)

    def transformed_bytes(self) -> int:
        """Windows and products of all chunks."""
        tiles = sum(self.padded(count) for _, count in self.chunks)
        return 4 * self.filtering.places * tiles * (self.convolution.shape[1] + self.convolution.filters)

    @property
    def filters(self) -> Operand:
        """Transformed: [places, filters, channels of a group]."""
        c = self.convolution
        return Operand((self.filtering.places, c.filters, c.group_channels), by_image=False)

    # launches of winograd.cl

    def words(self, images: int, planes: int, plane: Pair, window: bool) -> np.ndarray:
        """workloads/kernels/winograd.cl, Tiles. planes, plane: of an image's array; window: whether windows of x are
        read, which begin in the padding."""
        tiles, columns = prod(self.tiles), self.tiles[1]
        top_left = self.convolution.padding[:2] if window else (0, 0)
        padded = self.padded(images)
        size_bytes = 4 * images * planes * prod(plane)
        sizes = (images * tiles, planes * padded, planes, *plane, size_bytes, *top_left)
        return words(*sizes, divisor(padded), divisor(tiles), divisor(columns))

    def transform_filters(self, weight: Tensor, filters: Tensor, turned: bool) -> "Launch":
        """Before everything else."""
        values = {"weight": weight, "filters": filters, "count": self.pairs, "turned": int(turned)}
        return self._launch("filters", weight, self.pairs, values)

    def transform_windows(self, x: Tensor, chunk: tuple[int, int], windows: Tensor) -> "Launch":
        """Of a chunk."""
        planes = self.convolution.shape[1]
        w = self.words(chunk[1], planes, self.convolution.shape[2:], True)
        values = {"x": at(x, chunk[0]), "windows": windows, "w": w}
        return self._launch("windows", x, planes * self.padded(chunk[1]), values)

    def transform_gradients(self, dy: Tensor, chunk: tuple[int, int], gradients: Tensor) -> "Launch":
        """Of a chunk."""
        c = self.convolution
        w = self.words(chunk[1], c.filters, c.outputs, False)
        values = {"dy": at(dy, chunk[0]), "gradients": gradients, "w": w}
        return self._launch("gradients", dy, c.filters * self.padded(chunk[1]), values)

    def transform_results(self, y: Tensor, chunk: tuple[int, int], sums: Tensor, bias: Tensor | None) -> "Launch":
        """Of a chunk; adds the bias."""
        c = self.convolution
        w = self.words(chunk[1], c.filters, c.outputs, False)
        values = {"products": sums, "bias": bias or sums, "y": at(y, chunk[0]), "w": w}
        biases = prod(bias.shape) if bias else 0
        return self._launch("results", y, c.filters * self.padded(chunk[1]), {**values, "biases": biases})

    def transform_weights(self, sums: Tensor, dweight: Tensor, parts: int) -> "Launch":
        """After everything else."""
        values = {"sums": sums, "dweight": dweight, "count": self.pairs, "parts": parts}
        return self._launch("weights", dweight, self.pairs, values)

    def _launch(self, kernel: str, of: Tensor, items: int, values: Mapping[str, object]) -> "Launch":
        return launch("winograd", f"winograd_{kernel}_{self.size}", of.memory, (-(-items // GROUP),), values)

    @property
    def matrices(self) -> int:
        """Products: places by groups."""
        return self.filtering.places * self.convolution.groups

    def convolved(self, x: Tensor, y: Tensor, tensors: Mapping[str, Tensor], gpu: GpuFacts, turned: bool) -> "list[Launch]":
        """y from x: filters once, then windows, products and results of each chunk."""
        c, filters = self.convolution, tensors["filters"]
        windows, sums = tensors["windows"], tensors["products"]
        made = [self.transform_filters(tensors["weight"], filters, turned)]
        for chunk in self.chunks:
            tiles = self.padded(chunk[1])
            # the filters lie as the weights do: turned round, what is summed over comes first
            layout, leading = ("nt", c.group_filters) if turned else ("nn", c.group_channels)
            batch = Batch(self.matrices, (c.group_channels * tiles, c.group_filters * c.group_channels))
            operands = (windows.pointer, filters.pointer, sums.pointer)
            sizes = (tiles, c.group_filters, c.group_channels)
            made.append(self.transform_windows(x, chunk, windows))
            made.append(products(layout, operands, x.memory, sizes, (tiles, leading), batch, gpu))
            made.append(self.transform_results(y, chunk, sums, tensors.get("bias")))
        return made

    # bounds

    def cut(self, planes: np.ndarray, window: bool) -> np.ndarray:
        """The windows of images (or, of dy, the tiles) in FP64: [groups, planes of a group, tiles, rows, columns]."""
        c, extent = self.convolution, self.filtering.window if window else self.size
        top, left = c.padding[:2] if window else (0, 0)
        covered = [(count - 1) * self.size + extent for count in self.tiles]
        held = np.zeros((*planes.shape[:2], *(max(a, b + p) for a, b, p in zip(covered, planes.shape[2:], (top, left)))))
        held[:, :, top : top + planes.shape[2], left : left + planes.shape[3]] = planes
        seen = np.lib.stride_tricks.sliding_window_view(held, (extent, extent), (2, 3))
        seen = seen[:, :, : covered[0] - extent + 1 : self.size, : covered[1] - extent + 1 : self.size]
        by_group = seen.reshape(len(planes), c.groups, -1, prod(self.tiles), extent, extent)
        return by_group.transpose(1, 2, 0, 3, 4, 5).reshape(c.groups, by_group.shape[2], -1, extent, extent)

    def assembled(self, tiles: np.ndarray, images: int) -> np.ndarray:
        """Images' planes of tiles [groups, planes of a group, tiles, size, size]."""
        c, (rows, columns) = self.convolution, self.tiles
        planes = tiles.reshape(c.filters, images, rows, columns, self.size, self.size).transpose(1, 0, 2, 4, 3, 5)
        whole = planes.reshape(images, c.filters, rows * self.size, columns * self.size)
        return whole[:, :, : c.outputs[0], : c.outputs[1]]

    def error(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        """Bound on the error of the results for images x. weight: [groups, filters, channels of a group, 3, 3]."""
        c, filtering = self.convolution, self.filtering
        added = 0.0 if bias is None else np.abs(bias).reshape(c.groups, -1, 1, 1, 1)
        found = []
        for part in c.chunks(len(x)):
            operands = ((filtering.filters, weight), (filtering.windows, self.cut(x[part], True)))
            off = product_error(*operands, c.group_channels, _by_channel)
            found.append(self.assembled(off.through(filtering.results, added), len(x[part])))
        return np.concatenate(found)


def _by_channel(filters: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """[groups, filters, channels, rows, columns] and [groups, channels, tiles, rows, columns]: sums over channels."""
    a, b = (np.ascontiguousarray(values.transpose(0, 3, 4, 1, 2)) for values in (filters, windows))
    return (a @ b).transpose(0, 3, 4, 1, 2)


def _by_tile(gradients: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """[groups, filters, tiles, rows, columns] and [groups, channels, tiles, rows, columns]: sums over tiles."""
    a, b = gradients.transpose(0, 3, 4, 1, 2), windows.transpose(0, 3, 4, 2, 1)
    return (np.ascontiguousarray(a) @ np.ascontiguousarray(b)).transpose(0, 3, 4, 1, 2)


@dataclass(frozen=True)
class _Winograd(ConvolutionPass):
    """What the passes have in common. size: of a tile; buffer_bytes: windows and products (or tiles of dy) that are
    held at a time, the images of a chunk following from it."""

    size: int = SIZES[0]
    buffer_bytes: int = BUFFER_BYTES

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise self.refuse(f"tiles of {self.size}; allowed are {', '.join(map(str, SIZES))}")
        if problem := refuses(self.convolution, self.size):
            raise self.refuse(problem)

    @property
    def algorithm(self) -> str:
        """By the tiles."""
        return f"winograd_{self.size}x{self.size}"

    @property
    def plan(self) -> _Plan:
        """Tiles and chunks."""
        return _Plan(self.convolution, self.size, self.buffer_bytes)

    @property
    def needed_macs(self) -> int:
        """Those of the products of all tiles; planes smaller than a tile may need fewer."""
        return min(self.convolution.needed_macs, self.plan.macs)


@dataclass(frozen=True)
class _Convolved(_Winograd):
    """The passes that are a convolution."""

    @property
    def workspace(self) -> Mapping[str, Operand]:
        """Transformed filters; windows and products of a chunk."""
        plan = self.plan
        windows, sums = (plan.transformed(planes) for planes in (plan.convolution.shape[1], plan.convolution.filters))
        return {"filters": plan.filters, "windows": windows, "products": sums}

    @property
    def passed_on_bytes(self) -> int:
        """Transformed filters; every chunk's windows and products."""
        return self.plan.filters.size_bytes + self.plan.transformed_bytes()


@dataclass(frozen=True)
class WinogradForward(_Convolved, ConvolutionForward):
    """y by F(m x m, 3 x 3); the bias is added to the tiles."""

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        """Filters; windows, products and results of each chunk."""
        return tuple(self.plan.convolved(tensors["x"], tensors["y"], tensors, gpu, turned=False))

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        """By taps; the bound is that of the transforms."""
        c, weight = self.convolution, inputs["weight"]
        grouped = weight.reshape(c.groups, c.group_filters, c.group_channels, TAPS, TAPS)
        bound = self.plan.error(inputs["x"], grouped, inputs.get("bias"))
        return {"y": Value(super().reference(inputs, first)["y"].value, bound)}

    def backward_passes(self) -> "tuple[ConvolutionPass | BiasBackward, ...]":
        """By the same algorithm."""
        how = (self.size, self.buffer_bytes)
        bias = (BiasForward(self.convolution.y.shape).backward(),) if self.bias else ()
        data = WinogradBackwardData(self.convolution, *how)
        return WinogradBackwardWeights(self.convolution, *how), *bias, data


@dataclass(frozen=True)
class WinogradBackwardData(_Convolved, ConvolutionBackwardData):
    """dx by F(m x m, 3 x 3) over dy, with the filters turned round."""

    @property
    def plan(self) -> _Plan:
        """Of the convolution over dy."""
        return _Plan(_turned(self.convolution), self.size, self.buffer_bytes)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        """Filters; windows, products and results of each chunk."""
        return tuple(self.plan.convolved(tensors["dy"], tensors["dx"], tensors, gpu, turned=True))

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        """By taps; the bound is that of the transforms."""
        c = self.convolution
        grouped = inputs["weight"].reshape(c.groups, c.group_filters, c.group_channels, TAPS, TAPS)
        bound = self.plan.error(inputs["dy"], grouped[..., ::-1, ::-1].swapaxes(1, 2))
        return {"dx": Value(super().reference(inputs, first)["dx"].value, bound)}


@dataclass(frozen=True)
class WinogradBackwardWeights(_Winograd, ConvolutionBackwardWeights):
    """dweight by F(3 x 3, m x m): the sums over tiles are split, and their parts added up before the last transform."""

    @property
    def _split(self) -> Split:
        """Of the first chunk; the others' parts are as long."""
        c, plan = self.convolution, self.plan
        depth = plan.chunk * prod(plan.tiles)
        return split_sum(c.group_channels, c.group_filters, plan.matrices, depth)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        """Windows and tiles of dy of a chunk, and the parts' sums."""
        c, plan = self.convolution, self.plan
        sums = Operand((self._split.parts, *plan.filters.shape), by_image=False)
        return {"windows": plan.transformed(c.shape[1]), "gradients": plan.transformed(c.filters), "sums": sums}

    def _of_chunk(self, count: int) -> Split:
        return Split(count * prod(self.plan.tiles), self._split.part_depth)

    @property
    def passed_on_bytes(self) -> int:
        """Every chunk's windows and tiles of dy, and its sums."""
        parts = sum(self._of_chunk(count).parts for _, count in self.plan.chunks)
        return self.plan.transformed_bytes() + parts * self.plan.filters.size_bytes

    @property
    def longest(self) -> int:
        """Of a part through all chunks, and of the parts."""
        return len(self.plan.chunks) * min(self._split.part_depth, self._split.depth) + self._split.parts

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        """Windows, tiles of dy and products of each chunk, added to those before; then the weights."""
        c, plan, memory = self.convolution, self.plan, tensors["x"].memory
        windows, gradients, sums = (tensors[name] for name in ("windows", "gradients", "sums"))
        made = []
        for chunk in plan.chunks:
            tiles = plan.padded(chunk[1])
            batch = Batch(plan.matrices, (c.group_channels * tiles, c.group_filters * tiles))
            operands: tuple[Pointer, Pointer, Pointer] = (windows.pointer, gradients.pointer, sums.pointer)
            split, add = self._of_chunk(chunk[1]), chunk[0] > 0
            sizes = (c.group_channels, c.group_filters, split.depth)
            made.append(plan.transform_windows(tensors["x"], chunk, windows))
            made.append(plan.transform_gradients(tensors["dy"], chunk, gradients))
            made.append(products("tn", operands, memory, sizes, (tiles, tiles), batch, gpu, split, add))
        made.append(plan.transform_weights(sums, tensors["dweight"], self._split.parts))
        return tuple(made)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        """By taps; the bound is that of the transforms."""
        c, plan, filtering = self.convolution, self.plan, self.plan.filtering
        shape = (c.groups, c.group_filters, c.group_channels, filtering.window, filtering.window)
        whole = ProductError(np.zeros(shape), np.zeros(shape))
        for part in c.chunks(len(inputs["x"])):
            tiles_of_dy = (filtering.gradients, plan.cut(inputs["dy"][part], False))
            windows = (filtering.windows, plan.cut(inputs["x"][part], True))
            off = product_error(tiles_of_dy, windows, self.longest, _by_tile)
            whole = ProductError(whole.exact + off.exact, whole.off + off.off)
        bound = whole.through(filtering.weights).reshape(c.weight.shape)
        return {"dweight": Value(super().reference(inputs, first)["dweight"].value, bound)}
