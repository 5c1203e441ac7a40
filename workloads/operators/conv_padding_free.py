"""Convolution without padding: taps outside the planes are multiplied by nothing.

Outputs whose filters meet the planes with the same taps are a part, a product over these taps alone; the parts of a
pass are one launch. On small planes much of im2col's matrix is padding: of 3 x 3 filters over 2 x 2 planes, 56 %.

The kernels (workloads/kernels/conv_padding_free.cl, conv_padding_free_weights.cl) read the weights where they are. The
other operand and the result lie by positions first and images last, so that parts of few positions read whole cache
lines. A long sum is split where there are few results; the kernel that puts results into their order adds up the parts.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heapreplace
from itertools import groupby
from math import gcd, prod
from typing import ClassVar

import numpy as np

from isa.kernarg import Local
from isa.launch import Launch
from workloads.operators.conv_buffer import MAX_BYTES
from workloads.operators.conv_implicit import Axis, ConvolutionLaunch, backward_axes, forward_axis
from workloads.operators.conv_passes import (
    ConvolutionBackwardData,
    ConvolutionBackwardWeights,
    ConvolutionForward,
    ConvolutionPass,
)
from workloads.operators.conv_sparse import transpose
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, divisor, launch, words
from workloads.operators.operator import GpuFacts
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import (
    DEPTH,
    LEAST_PART,
    MOST_PARTS,
    REFERENCE,
    ROW_CYCLES,
    SIMDS,
    SWATH,
    DepthSplit,
    Tile,
    choose_tile,
)
from workloads.shapes import round_up

EDGE = 64  # rows and images of a workgroup that puts results into their order: workloads/kernels/conv_padding_free.cl
CHANNELS, POSITIONS = 64, 16  # of a workgroup that puts channels last: workloads/kernels/conv_padding_free_weights.cl
PARTS_OF_LAUNCH, PART_WORDS = 64, 16  # workloads/kernels/conv_padding_free.h
TAPS_OF_LAUNCH, TAP_WORDS = 128, 5  # workloads/kernels/conv_padding_free_weights.h
LEAST_STEPS = 512  # of a split's sum: below, workgroups' beginnings and the traffic of sums cost more than is gained
ENOUGH_GROUPS = 128  # of a product of 128 x 128 elements for each tap: more splits of a sum cost more than they give
MOST_LDS_BYTES = 1 << 14  # of a workgroup that puts taps last
ORDER_BYTES_PER_CYCLE = 85  # of the kernel that puts results into their order: simulated, layers A and C
# cycles to those for which the fullest SIMD multiplies: simulated, layers A and C; smaller tiles read more from L2
TIMES = {"2x2x8": 1.3, "2x1x4": 1.5, "1x1x4": 2.0}
# the same of a wavefront that has a SIMD to itself, by the rows of a work-item: simulated, layer C
ALONE = {8: 1.5, 4: 1.85}
WAVEFRONTS = {8: 2, 4: 3}  # of a SIMD at a time, by the rows of a work-item
MOST_ASSIGNED = 4096  # workgroups that are assigned one by one to estimate a launch's time; more are even enough
MOST_TAPS = 512
# With others the registers do not do. Of equal times the first is taken: of a part, tiles that have less to read
TILES = (Tile(1, 1, 4), Tile(2, 1, 4), Tile(2, 2, 8))
WEIGHT_TILES = TILES[::-1]  # of weights, with few results and long sums, larger ones


def refuses(c: Convolution) -> str:
    """Return why the kernels cannot reach what they read and write, '' where they can."""
    if c.taps > MOST_TAPS:
        return f"{c.taps} taps; allowed are at most {MOST_TAPS}, of which a workgroup has a table"
    plane = max(prod(c.shape[2:]), c.positions) * c.shape[0]
    slack = DEPTH * max(plane, c.depth)  # past the end, where a block of steps begins
    for name, operand in (("x", c.x), ("y", c.y), ("weight", c.weight)):
        if operand.size_bytes + 4 * slack > MAX_BYTES:
            return f"{name} has {operand.size_bytes} bytes; allowed are less than {MAX_BYTES - 4 * slack}"
    return ""


def inside_axes(axis: Axis, size: int) -> list[Axis]:
    """Divide the outputs along an axis by which of their taps are inside a plane of `size`; no other taps are left.

    Those are neighbours for an output, and so are the outputs that have the same: both ends fall as the output rises.
    """
    places = [
        [t for t in range(axis.taps) if 0 <= p * axis.step + axis.first + t * axis.tap_step < size]
        for p in range(axis.count)
    ]
    axes, first = list[Axis](), 0
    for taps, same in groupby(places):
        count, tap = len(list(same)), taps[0] if taps else 0
        made = replace(
            axis,
            count=count,
            first_output=axis.first_output + first * axis.output_step,
            taps=len(taps),
            first=first * axis.step + axis.first + tap * axis.tap_step if taps else 0,
            first_weight=axis.first_weight + tap * axis.weight_step if taps else 0,
        )
        axes.append(made)
        first += count
    return axes


@dataclass(frozen=True)
class _PaddingFreePass(ConvolutionPass):
    """Base of the three passes."""

    algorithm = "padding_free"

    def __post_init__(self) -> None:
        if problem := refuses(self.convolution):
            raise self.refuse(problem)

    @property
    def _images(self) -> int:
        return self.convolution.shape[0]


def _part_cycles(parts: Sequence[tuple[int, int]], tile: Tile, rows: int, gpu: GpuFacts) -> float:
    """Estimate the cycles of a launch by the compute unit with most to do.

    Compute units first take turns at workgroups until all are full; whoever is through then takes the next one.

    Args:
        parts: Pixels and steps of the sum of each.
        tile: Of a workgroup.
        rows: Results of a pixel, in all groups and splits.
        gpu: Its compute units count.
    """
    along = [steps for pixels, steps in parts for _ in range(-(-pixels // (SWATH * tile.x)))]
    across = -(-rows // (SWATH * tile.y))
    count, units = len(along) * across, gpu.compute_units
    most = sum(along) * across / units
    if count <= MOST_ASSIGNED:
        full = units * WAVEFRONTS[tile.rows] * SIMDS // tile.wavefronts
        order = along * across
        loads = [sum(order[unit:full:units]) for unit in range(units)]
        heapify(loads)
        for steps in order[full:]:
            heapreplace(loads, loads[0] + steps)
        most = max(loads)
    together, alone = most * tile.wavefronts / SIMDS * TIMES[tile.text], max(along) * ALONE[tile.rows]
    return max(together, alone) * tile.rows * ROW_CYCLES


@dataclass(frozen=True)
class _ProductByParts(_PaddingFreePass):
    """The forward pass and that to the data: a product for each part."""

    read: ClassVar[str]
    """Name of the array that is read."""
    written: ClassVar[str]
    """Name of the array that is written."""
    kernel: ClassVar[str]
    """Name of the product's kernels, without their tile."""

    @property
    @abstractmethod
    def _parts(self) -> list[ConvolutionLaunch]:
        """The parts, in any order."""

    @cached_property
    def parts(self) -> list[ConvolutionLaunch]:
        """The parts, those with most to do first, so that all compute units end at about the same time."""
        return sorted(self._parts, key=lambda part: -part.depth)

    @cached_property
    def _split_channels(self) -> int:
        """Channels of each split of the sum: as the least time of a GPU of REFERENCE's size asks for, by estimates."""
        c, part = self.convolution, self.parts[0]
        results = 4 * self.gives[self.written].size

        def cost(channels: int) -> float:
            splits = -(-part.channels // channels)
            shapes = [(self._pixels(one), channels * one.rows.taps * one.columns.taps) for one in self.parts]
            rows = part.filters * c.groups * splits
            cycles = min(_part_cycles(shapes, tile, rows, REFERENCE) for tile in TILES)
            return cycles + (splits + 1) * results / ORDER_BYTES_PER_CYCLE

        deepest = max(part.depth, 1)
        most = max(1, min(MOST_PARTS, deepest // LEAST_STEPS))
        return min((round_up(-(-part.channels // splits), DEPTH) for splits in range(1, most + 1)), key=cost)

    @property
    def splits(self) -> int:
        """The number of splits of the sum."""
        return -(-self.parts[0].channels // self._split_channels)

    def _pixels(self, part: ConvolutionLaunch) -> int:
        return self._images * part.rows.count * part.columns.count

    def _operand(self, name: str) -> Operand:
        return {**self.takes, **self.gives}[name]

    @property
    def workspace(self) -> Mapping[str, Operand]:
        read, written = (self._operand(name).size // self._images for name in (self.read, self.written))
        return {
            "planes": Operand((read, self._images), by_image=False),
            "results": Operand((self.splits, written, self._images), by_image=False),
        }

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        """Return the launch that puts images last, the product's, and that which puts them first again."""
        planes, results = self.workspace["planes"].shape[0], self.workspace["results"].shape[1]
        matrices = (tensors[self.read].pointer, tensors["planes"].pointer)
        last = transpose(tensors, matrices, (self._images, planes), (planes, self._images), (0, 0), 1)
        written, bias, mask = tensors[self.written], tensors.get("bias"), tensors.get("mask")
        values = {
            "from": tensors["results"],
            "bias": bias or written,
            "mask": mask or written,
            "to": written,
            "rows": results,
            "images": self._images,
            "splits": self.splits,
            "biased": int(bias is not None),
            "rectified_": int(self._rectified),
            "masked": int(mask is not None),
            "by_plane": divisor(prod(written.shape[2:])),
        }
        grid = (-(-results // EDGE), -(-self._images // EDGE))
        first = launch("conv_padding_free", "images_first", written.memory, grid, values)
        firsts = range(0, len(self.parts), PARTS_OF_LAUNCH)
        products = (self._product(self.parts[at : at + PARTS_OF_LAUNCH], tensors, gpu) for at in firsts)
        return (last, *products, first)

    @property
    def _rectified(self) -> bool:
        return False

    def _product(self, parts: list[ConvolutionLaunch], tensors: Mapping[str, Tensor], gpu: GpuFacts) -> Launch:
        c, of = self.convolution, parts[0]
        rows = of.filters * c.groups * self.splits
        shapes = [(self._pixels(one), self._split_channels * one.rows.taps * one.columns.taps) for one in parts]
        tile = min(TILES, key=lambda tile: _part_cycles(shapes, tile, rows, gpu))
        table, tiles, entries = list[np.ndarray](), 0, DEPTH
        for part in parts:
            table.append(self._words(part, tiles))
            tiles += -(-self._pixels(part) // (SWATH * tile.x))
            taps = part.rows.taps * part.columns.taps
            entries = max(entries, taps * DEPTH // gcd(taps, DEPTH) if taps else 0)
        padded = np.zeros(PARTS_OF_LAUNCH * PART_WORDS, np.uint32)
        padded[: len(parts) * PART_WORDS] = np.concatenate(table)
        group, filter_, channel = of.source
        planes = [4 * self._images * prod(self._operand(name).shape[2:]) for name in (self.read, self.written)]
        product = words(
            len(parts),
            c.groups,
            self._images,
            of.filters,
            of.channels,
            self._split_channels,
            *planes,
            4 * channel,
            4 * filter_,
            4 * group,
        )
        names = {"input": tensors["planes"], "weight": tensors["weight"], "output": tensors["results"]}
        values = {**names, "table": Local(8 * entries), "p": product, "parts": padded}
        grid = (tiles, -(-of.filters // (SWATH * tile.y)), c.groups * self.splits)
        kernel = f"{self.kernel}_{tile.text}"
        return launch("conv_padding_free", kernel, tensors["weight"].memory, grid, values, tile.work_items)

    def _words(self, part: ConvolutionLaunch, first_tile: int) -> np.ndarray:
        """Return the words of Part (workloads/kernels/conv_padding_free.h)."""
        rows, columns, width = part.rows, part.columns, self.convolution.kernel[1]
        of_image = 4 * self._images
        row, out_row = (of_image * self._operand(name).shape[3] for name in (self.read, self.written))
        return words(
            first_tile,
            self._pixels(part),
            columns.count,
            rows.taps,
            columns.taps,
            rows.first * row + columns.first * of_image,
            rows.step * row,
            columns.step * of_image,
            rows.tap_step * row,
            columns.tap_step * of_image,
            4 * (rows.first_weight * width + columns.first_weight),
            4 * rows.weight_step * width,
            4 * columns.weight_step,
            rows.first_output * out_row + columns.first_output * of_image,
            rows.output_step * out_row,
            columns.output_step * of_image,
        )


@dataclass(frozen=True)
class PaddingFreeForward(_ProductByParts, ConvolutionForward):
    """The parts are the windows with the same taps inside."""

    read, written, kernel = "x", "y", "conv_padding_free_forward"

    @property
    def _parts(self) -> list[ConvolutionLaunch]:
        c = self.convolution
        source = (c.group_filters * c.depth, c.depth, c.taps)
        rows, columns = (inside_axes(forward_axis(c, axis), c.shape[2 + axis]) for axis in (0, 1))
        return [
            ConvolutionLaunch(row, column, c.group_channels, c.group_filters, source)
            for row in rows
            for column in columns
        ]

    @property
    def _rectified(self) -> bool:
        return self.relu

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        return PaddingFreeBackwardWeights(self.convolution), PaddingFreeBackwardData(self.convolution)


@dataclass(frozen=True)
class PaddingFreeBackwardData(_ProductByParts, ConvolutionBackwardData):
    """The parts are the elements of dx with the same place between the windows that are there."""

    read, written, kernel = "dy", "dx", "conv_padding_free_backward"

    @property
    def _parts(self) -> list[ConvolutionLaunch]:
        c = self.convolution
        source = (c.group_filters * c.depth, c.taps, c.depth)
        rows, columns = (
            [made for axis in backward_axes(c, number) for made in inside_axes(axis, c.outputs[number])]
            for number in (0, 1)
        )
        return [
            ConvolutionLaunch(row, column, c.group_filters, c.group_channels, source)
            for row in rows
            for column in columns
        ]


@dataclass(frozen=True)
class PaddingFreeBackwardWeights(_PaddingFreePass, ConvolutionBackwardWeights):
    """A product for each tap, over the windows that meet the planes with it."""

    @property
    def _split_images(self) -> int:
        """Images of each split of the sum."""
        c = self.convolution
        tiles = -(-c.group_channels // (2 * SWATH)) * -(-c.group_filters // (2 * SWATH)) * c.taps * c.groups
        most = max(1, self._images * c.positions // LEAST_PART)
        splits = max(1, min(-(-ENOUGH_GROUPS // tiles), most, -(-self._images // DEPTH)))
        return round_up(-(-self._images // splits), DEPTH)

    @property
    def _splits(self) -> DepthSplit:
        return DepthSplit(self._images, self._split_images)

    @property
    def longest(self) -> int:
        c = self.convolution
        return self._splits.longest * c.positions

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, images = self.convolution, self._images
        return {
            "channels": Operand((prod(c.shape[2:]), images, c.shape[1]), by_image=False),
            "gradients": Operand((c.positions, images, c.filters), by_image=False),
            "sums": Operand((self._splits.parts, c.taps, c.filters, c.group_channels), by_image=False),
        }

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        """Return the launches that put channels last, the product's, and that which puts taps last."""
        c, total, split = self.convolution, tensors["dweight"], self._splits
        made = [
            self._channels_last(tensors["x"], tensors["channels"]),
            self._channels_last(tensors["dy"], tensors["gradients"]),
        ]
        rows, columns = ([self._met(axis, tap) for tap in range(c.kernel[axis])] for axis in (0, 1))
        taps = [(row, column) for row in enumerate(rows) for column in enumerate(columns)]
        taps.sort(key=lambda tap: -(tap[0][1][1] * tap[1][1][1]))  # most to do first
        for first in range(0, len(taps), TAPS_OF_LAUNCH):
            some = taps[first : first + TAPS_OF_LAUNCH]
            table = np.zeros(TAPS_OF_LAUNCH * TAP_WORDS, np.uint32)
            table[: len(some) * TAP_WORDS] = np.concatenate([self._words(*row, *column) for row, column in some])
            count = len(some) * c.groups * split.parts
            tile = choose_tile(c.group_channels, c.group_filters, count, gpu, WEIGHT_TILES)
            names = {"x": tensors["channels"], "dy": tensors["gradients"], "sums": tensors["sums"]}
            grid = tile.groups(c.group_channels, c.group_filters, count)
            kernel = f"conv_padding_free_weights_{tile.text}"
            values = {**names, "s": self._sum(), "taps": table}
            made.append(launch("conv_padding_free_weights", kernel, total.memory, grid, values, tile.work_items))
        return (*made, self._taps_last(tensors["sums"], total))

    def _taps_last(self, sums: Tensor, total: Tensor) -> Launch:
        taps, pairs = self.convolution.taps, self.convolution.weight.size // self.convolution.taps
        together = min(GROUP, 1 << (MOST_LDS_BYTES // (4 * taps)).bit_length() - 1)  # a power of two
        values = {"sums": sums, "dweight": total, "tile": Local(4 * taps * together), "pairs": pairs, "taps": taps}
        values |= {"splits": self._splits.parts, "log_pairs": together.bit_length() - 1}
        return launch("conv_padding_free_weights", "taps_last", total.memory, (-(-pairs // together),), values)

    def _channels_last(self, images: Tensor, last: Tensor) -> Launch:
        channels, positions = images.shape[1], prod(images.shape[2:])
        values = {"from": images, "to": last, "channels": channels, "positions": positions, "images": self._images}
        grid = (-(-channels // CHANNELS), -(-positions // POSITIONS), self._images)
        return launch("conv_padding_free_weights", "channels_last", last.memory, grid, values)

    def _met(self, axis: int, tap: int) -> tuple[int, int]:
        """Return the first window along an axis that meets the planes with a tap, and how many do."""
        c = self.convolution
        shift = tap * c.dilation[axis] - c.padding[axis]
        met = [o for o in range(c.outputs[axis]) if 0 <= o * c.stride[axis] + shift < c.shape[2 + axis]]
        return (met[0], len(met)) if met else (0, 0)

    def _words(self, i: int, rows: tuple[int, int], j: int, columns: tuple[int, int]) -> np.ndarray:
        """Return the words of Tap (workloads/kernels/conv_padding_free_weights.h)."""
        c = self.convolution
        row, column = (
            first[0] * c.stride[axis] + tap * c.dilation[axis] - c.padding[axis]
            for axis, tap, first in ((0, i, rows), (1, j, columns))
        )
        x_position, dy_position = 4 * self._images * c.shape[1], 4 * self._images * c.filters
        return words(
            i * c.kernel[1] + j,
            rows[1],
            columns[1],
            (row * c.shape[3] + column) * x_position,
            (rows[0] * c.outputs[1] + columns[0]) * dy_position,
        )

    def _sum(self) -> np.ndarray:
        """Return the words of Sum (workloads/kernels/conv_padding_free_weights.h)."""
        c, images = self.convolution, self._images
        x_image, dy_image = 4 * c.shape[1], 4 * c.filters
        return words(
            self._splits.parts,
            c.groups,
            images,
            self._split_images,
            c.group_channels,
            c.group_filters,
            c.taps,
            x_image,
            c.stride[1] * images * x_image,
            c.stride[0] * c.shape[3] * images * x_image,
            c.x.size_bytes,
            dy_image,
            images * dy_image,
            c.outputs[1] * images * dy_image,
            c.y.size_bytes,
        )
