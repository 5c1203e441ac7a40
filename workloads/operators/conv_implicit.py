"""Convolution as an implicit product: im2col's elements are found where they lie, and need no memory.

workloads/kernels/conv.cl has the forward pass and, with the filters turned round, the backward one to the data;
conv_weights.cl the backward pass to the weights.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import gcd, prod
from typing import ClassVar

import numpy as np

from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.conv_passes import (
    ConvolutionBackwardData,
    ConvolutionBackwardWeights,
    ConvolutionForward,
    ConvolutionPass,
)
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, divisor, launch, words
from workloads.operators.operator import GpuFacts
from workloads.operators.tensor import INDEX, Operand, Tensor
from workloads.operators.tiles import DEPTH, SHARED_TILES, DepthSplit, choose_tile, split_sum, sum_parts

MAX_BYTES = (1 << 32) - (1 << 24)  # of an array, and what its padding would add: 32-bit offsets
STEP_WORDS = 4  # workloads/kernels/conv.h, Step
STEP_BYTES = 4 * STEP_WORDS


@dataclass(frozen=True)
class Axis:
    """The outputs of a pass that have the same taps, along rows or columns.

    Output p of `count` lies at first_output + p * output_step. Its tap t of `taps` meets the input's p * step + first +
    t * tap_step, and is the weights' first_weight + t * weight_step.
    """

    count: int
    """Outputs."""
    first_output: int
    """Place of the first output."""
    output_step: int
    """Places from output to output."""
    taps: int
    """Taps of an output."""
    step: int
    """Inputs from output to output."""
    first: int
    """Input of the first tap of the first output."""
    tap_step: int
    """Inputs from tap to tap."""
    first_weight: int
    """Weight of the first tap."""
    weight_step: int
    """Weights from tap to tap."""


def forward_axis(c: Convolution, axis: int) -> Axis:
    """Return all outputs of the forward pass along an axis."""
    return Axis(
        count=c.outputs[axis],
        first_output=0,
        output_step=1,
        taps=c.kernel[axis],
        step=c.stride[axis],
        first=-c.padding[axis],
        tap_step=c.dilation[axis],
        first_weight=0,
        weight_step=1,
    )


def backward_axes(c: Convolution, axis: int) -> list[Axis]:
    """Group the plane's rows or columns by their distance to a window's begin, modulo the stride.

    Tap r of window o meets o * stride + r * dilation - padding. Of a plane's h = f + p * stride, those taps count whose
    r * dilation is f + padding modulo the stride: every q-th, q = stride / gcd(stride, dilation), and o falls by
    dilation / gcd from one to the next. They are taken from the last to the first, so that o rises.
    """
    size, stride, dilation = c.shape[2 + axis], c.stride[axis], c.dilation[axis]
    common = gcd(stride, dilation)
    every, fall = stride // common, dilation // common
    axes = []
    for place in range(min(stride, size)):
        window, rest = divmod(place + c.padding[axis], stride)
        taps = [r for r in range(c.kernel[axis]) if (r * dilation - rest) % stride == 0]
        last = taps[-1] if taps else 0
        first = window - (last * dilation - rest) // stride
        count = -(-(size - place) // stride)
        axes.append(
            Axis(
                count=count,
                first_output=place,
                output_step=stride,
                taps=len(taps),
                step=1,
                first=first,
                tap_step=fall,
                first_weight=last,
                weight_step=-every,
            )
        )
    return axes


@dataclass(frozen=True)
class ConvolutionLaunch:
    """A launch of conv.cl or conv_direct.cl: windows over one array, results in another."""

    rows: Axis
    """Windows along the rows."""
    columns: Axis
    """Windows along the columns."""
    channels: int
    """Channels of a group, which are summed."""
    filters: int
    """Filters of a group, which are the results."""
    source: tuple[int, int, int]
    """Weight elements from one group, filter and channel to the next."""

    @property
    def depth(self) -> int:
        """Steps of the sum."""
        return self.rows.taps * self.columns.taps * self.channels


def _steps(parts: list[ConvolutionLaunch]) -> Operand:
    return Operand((sum(part.depth + 1 for part in parts), STEP_WORDS), INDEX, by_image=False)


@dataclass(frozen=True)
class ProductKernel:
    """A kernel over a part's windows."""

    source: str
    """Name of its code object."""
    name: str
    """Name of the kernel."""
    groups: tuple[int, int, int]
    """Workgroups in x, y, z."""
    work_items: int = GROUP
    """Work-items of a workgroup."""
    values: Mapping[str, int] = field(default_factory=dict)
    """Arguments that other such kernels do not have."""


def _filters(c: Convolution, part: ConvolutionLaunch, read: Tensor, pairs: int) -> np.ndarray:
    """Return the words of Filters (workloads/kernels/conv.cl)."""
    rows, columns, width = part.rows, part.columns, c.kernel[1]
    group, filter_, channel = part.source
    return words(
        part.depth,
        part.filters,
        pairs,
        rows.taps,
        columns.taps,
        rows.first_weight * width + columns.first_weight,
        group,
        filter_,
        channel,
        rows.weight_step * width,
        columns.weight_step,
        rows.tap_step,
        columns.tap_step,
        prod(read.shape[2:]),
        read.shape[3],
        divisor(part.filters),
        divisor(part.channels),
        divisor(max(1, columns.taps)),
    )


def _windows(part: ConvolutionLaunch, read: Tensor, written: Tensor, bias: Tensor | None) -> np.ndarray:
    """Return the words of Windows (workloads/kernels/conv.h)."""
    rows, columns = part.rows, part.columns
    images, _, height, width = read.shape
    image_bytes = read.size_bytes // images
    shift = rows.first * width + columns.first
    out_width, out_plane = written.shape[3], 4 * prod(written.shape[2:])
    plane = rows.count * columns.count
    return words(
        images * plane,
        part.filters,
        part.depth,
        height,
        width,
        image_bytes,
        4 * part.channels * height * width,
        max(0, read.size_bytes - 4 * shift),
        bias.size_bytes if bias else 0,
        shift,
        rows.first,
        columns.first,
        rows.step,
        columns.step,
        4 * height * width,
        written.size_bytes,
        written.size_bytes // images,
        out_plane,
        4 * rows.output_step * out_width,
        4 * columns.output_step,
        4 * (rows.first_output * out_width + columns.first_output),
        divisor(plane),
        divisor(columns.count),
    )


@dataclass(frozen=True)
class _ImplicitPass(ConvolutionPass):
    """Base of the three passes; raises OperatorError for arrays that a 32-bit offset does not reach."""

    algorithm = "implicit"

    def __post_init__(self) -> None:
        c = self.convolution
        slack = 4 * (c.padding[0] + c.kernel[0] * c.dilation[0] + 1) * (c.shape[3] + c.padding[1] + 1)
        for name, operand in {**self.takes, **self.gives}.items():
            if operand.size_bytes + slack > MAX_BYTES:
                raise self.refuse(f"{name} has {operand.size_bytes} bytes; allowed are less than {MAX_BYTES >> 20} MiB")


@dataclass(frozen=True)
class ProductByParts(_ImplicitPass):
    """Passes with a product for each part."""

    read: ClassVar[str]
    """Name of the array that is read."""
    written: ClassVar[str]
    """Name of the array that is written."""

    @property
    @abstractmethod
    def parts(self) -> list[ConvolutionLaunch]:
        """The parts, of one launch each."""

    @property
    def rectified(self) -> bool:
        """Whether results below zero become zero."""
        return False

    def choose(self, part: ConvolutionLaunch, pixels: int, groups: int, gpu: GpuFacts) -> ProductKernel:
        """Return the kernel of conv.cl, or of conv_rectified.cl, with the best tile."""
        tile = choose_tile(pixels, part.filters, groups, gpu)
        source = "conv_rectified" if self.rectified else "conv"
        name = f"{source}_{'s1' if part.channels % DEPTH else 's8'}_{tile.text}"
        return ProductKernel(source, name, tile.groups(pixels, part.filters, groups), tile.work_items)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        """Return, for each part, the launch that prepares its filters and its product, all preparations first."""
        c, read, written = self.convolution, tensors[self.read], tensors[self.written]
        memory, weight, bias = read.memory, tensors["weight"], tensors.get("bias")
        taps_at = tensors["taps"].address
        filters_at = tensors["filters"].address if "filters" in tensors else taps_at  # none meets anything
        prepare, products = [], []
        for part in self.parts:
            tables = {"filters": Pointer(filters_at, np.dtype(np.float32)), "taps": Pointer(taps_at)}
            pairs = c.groups * part.channels * part.filters
            groups = -(-max(pairs, part.depth + 1) // GROUP)
            values = {"weight": weight, **tables, "f": _filters(c, part, read, pairs)}
            prepare.append(launch("conv", "conv_prepare", memory, (groups,), values))
            pixels = read.shape[0] * part.rows.count * part.columns.count
            kernel = self.choose(part, pixels, c.groups, gpu)
            values = {
                "input": read,
                **tables,
                "bias": bias or written,
                "output": written,
                "w": _windows(part, read, written, bias),
                **({"mask": tensors.get("mask", written)} if kernel.values else {}),
                **kernel.values,
            }
            products.append(launch(kernel.source, kernel.name, memory, kernel.groups, values, kernel.work_items))
            filters_at += 4 * c.groups * part.depth * part.filters
            taps_at += STEP_BYTES * (part.depth + 1)
        return (*prepare, *products)


@dataclass(frozen=True)
class ImplicitForward(ProductByParts, ConvolutionForward):
    """A product over all images; the filters are first put into the order that it takes."""

    read, written = "x", "y"

    @property
    def rectified(self) -> bool:
        return self.relu

    @property
    def parts(self) -> list[ConvolutionLaunch]:
        c = self.convolution
        source = (c.group_filters * c.depth, c.depth, c.taps)
        return [ConvolutionLaunch(forward_axis(c, 0), forward_axis(c, 1), c.group_channels, c.group_filters, source)]

    @property
    def workspace(self) -> Mapping[str, Operand]:
        return {"filters": Operand((self.convolution.weight.size,), by_image=False), "taps": _steps(self.parts)}

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        return ImplicitBackwardWeights(self.convolution), ImplicitBackwardData(self.convolution)


@dataclass(frozen=True)
class ImplicitBackwardData(ProductByParts, ConvolutionBackwardData):
    """A product for all elements of dx with the same place between the windows: one product with stride 1."""

    read, written = "dy", "dx"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.masked and not self.masks:
            raise self.refuse("its kernels end with no mask; allowed is masked = False")

    @property
    def masks(self) -> bool:
        return False

    @property
    def parts(self) -> list[ConvolutionLaunch]:
        c = self.convolution
        source = (c.group_filters * c.depth, c.taps, c.depth)
        return [
            ConvolutionLaunch(rows, columns, c.group_filters, c.group_channels, source)
            for rows in backward_axes(c, 0)
            for columns in backward_axes(c, 1)
        ]

    @property
    def workspace(self) -> Mapping[str, Operand]:
        parts = self.parts
        count = sum(self.convolution.groups * part.depth * part.filters for part in parts)
        filters = {"filters": Operand((count,), by_image=False)} if count else {}
        return {**filters, "taps": _steps(parts)}


@dataclass(frozen=True)
class ImplicitBackwardWeights(_ImplicitPass, ConvolutionBackwardWeights):
    """A product whose sum over the positions of all images is split."""

    @property
    def _split(self) -> DepthSplit:
        c = self.convolution
        return split_sum(c.depth, c.group_filters, c.groups, c.shape[0] * c.positions)

    @property
    def longest(self) -> int:
        return self._split.longest

    @property
    def _cycle_images(self) -> int:
        return DEPTH // gcd(self.convolution.positions, DEPTH)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, parts = self.convolution, self._split.parts
        steps = Operand((self._cycle_images * c.positions + 1, STEP_WORDS), INDEX, by_image=False)
        sums = {"sums": Operand((parts, c.weight.size), by_image=False)} if parts > 1 else {}
        return {"positions": steps, **sums}

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        c, split, memory = self.convolution, self._split, tensors["x"].memory
        total, positions = tensors["dweight"], tensors["positions"]
        sums = tensors.get("sums", total)
        cycle = self._cycle_images * c.positions
        image_bytes = tensors["x"].size_bytes // c.shape[0]
        divisors = divisor(c.positions), divisor(c.outputs[1])
        windows = words(cycle, c.shape[3], image_bytes, *c.stride, *divisors)
        first = launch(
            "conv_weights", "conv_positions", memory, (cycle // GROUP + 1,), {"positions": positions, "c": windows}
        )
        tile = choose_tile(c.depth, c.group_filters, c.groups * split.parts, gpu, SHARED_TILES)
        values = {
            "x": tensors["x"],
            "dy": tensors["dy"],
            "positions": positions,
            "sums_of_parts": sums,
            "w": self._reduction(split, cycle, image_bytes),
        }
        grid = tile.groups(c.depth, c.group_filters, c.groups * split.parts)
        product = launch("conv_weights", f"conv_weights_{tile.text}", memory, grid, values, tile.work_items)
        return (first, product, *sum_parts(sums, total, split))

    def _reduction(self, split: DepthSplit, cycle: int, image_bytes: int) -> np.ndarray:
        """Return the words of Reduction (workloads/kernels/conv_weights.cl)."""
        c = self.convolution
        height, width = c.shape[2:]
        shift = -c.padding[0] * width - c.padding[1]
        return words(
            c.depth,
            c.group_filters,
            split.depth,
            split.part_depth,
            height,
            width,
            4 * c.group_channels * height * width,
            c.x.size_bytes - 4 * shift,
            shift,
            -c.padding[0],
            -c.padding[1],
            self._cycle_images * image_bytes,
            4 * height * width,
            c.positions,
            4 * c.filters * c.positions,
            c.y.size_bytes,
            *c.dilation,
            divisor(c.taps),
            divisor(c.kernel[1]),
            divisor(c.positions),
            divisor(cycle),
            divisor(c.groups),
        )
