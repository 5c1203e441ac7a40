"""Gradients of a convolution's weights by a sparse product that meets no padding.

They are a convolution themselves: of x with images and channels exchanged, whose filters are dy's planes; stride and
dilation change places. Its windows are the weights of a channel, and where padding is, what a weight meets with some of
dy's elements. So it goes by parts of windows (`conv_sparse_parts`), over maps compacted 64 images of a pixel at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from isa.launch import Launch
from workloads.operators.conv_sparse import EDGE, tensor_after, too_large, transpose
from workloads.operators.conv_sparse_maps import channel_blocks
from workloads.operators.conv_sparse_parts import (
    EllpackDibPaddingFreeForward,
    EllpackDibSoftwarePaddingFreeForward,
    PartsSparseForward,
)
from workloads.operators.conv_sparse_weights import SparseBackwardWeights
from workloads.operators.convolution import Convolution
from workloads.operators.launching import divisor, launch
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.primitive import LaunchTuple
from workloads.operators.register_tiling import BLOCK_ROWS
from workloads.operators.tensor import Operand, Tensor


def _end_padding(c: Convolution, axis: int) -> int:
    """Return the padding at an axis' end that windows reach; negative: rows or columns of the planes that none does."""
    reached = (c.outputs[axis] - 1) * c.stride[axis] + (c.kernel[axis] - 1) * c.dilation[axis] + 1
    return reached - c.shape[2 + axis] - c.padding[axis]


def exchange(c: Convolution) -> Convolution:
    """Return the convolution that gives the weights' gradients of a group, with a channel for each image."""
    return Convolution(
        (c.group_channels, c.shape[0], *c.shape[2:]),
        c.group_filters,
        c.outputs,
        stride=c.dilation,
        padding=(*c.padding[:2], _end_padding(c, 0), _end_padding(c, 1)),
        dilation=c.stride,
    )


def _refuses(by: type[PartsSparseForward], c: Convolution) -> str:
    """Return why the exchanged convolution cannot be computed so, '' where it can."""
    for axis, lines in enumerate(("rows", "columns")):
        if (unmet := -_end_padding(c, axis)) > 0:
            return f"{unmet} {lines} at the planes' end that no window meets; allowed are none"
    problem = by.refuses(exchange(c)) or too_large({"x has": c.x.size_bytes, "dy has": c.y.size_bytes})
    return f"with images and channels exchanged: {problem}" if problem else ""


@dataclass(frozen=True, kw_only=True)
class _ExchangedForward(PartsSparseForward):
    """The exchanged convolution of one group, over tensors of the gradient."""

    of: Convolution
    """The convolution whose weights' gradients are wanted."""
    group: int
    """The group."""

    def _transposed_filters(self, tensors: Mapping[str, Tensor]) -> Launch:
        """Return the launch that puts dy's images behind each other for each position: a column of filters for each."""
        c, lda = self.of, self._chunk.lda
        dy = tensor_after(tensors["dy"], self.group * c.group_filters * c.positions)
        leading = (c.positions, BLOCK_ROWS * channel_blocks(self.convolution) * lda)
        steps = (c.filters * c.positions, lda)
        sizes = (c.group_filters, c.positions)
        return transpose(tensors, (dy, tensors["filters"].pointer), sizes, leading, steps, c.shape[0])

    def _im2col(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        """Return the launch that makes the maps of some channels, compacted or not. images: of what is exchanged."""
        c, (height, width) = self.of, self.of.shape[2:]
        plane, depth = height * width, c.shape[0]
        met = 4 * ((depth - 1) * c.shape[1] + images) * plane
        sizes = [height, width, met, depth, images * plane, 1, 1, 1, 1, 0, 0, 4 * plane, c.shape[1] * height]
        divisors = [divisor(number) for number in (1, 1, width, plane)]
        values = {
            "x": tensor_after(tensors["x"], (self.group * c.group_channels + first) * plane),
            "ld": self._ld,
            "m": np.concatenate([np.array(sizes, np.uint32), *divisors]),
        }
        kernel, to = "image_columns", {"columns": tensors.get("columns")}
        if self._converts:
            kernel, to = "image_bundles", {"bundles": tensors["bundles"], "absent": tensors["counts"]}
        grid = (-(-depth // EDGE), -(-images * plane // EDGE), 1)
        return launch("conv_sparse_weights", kernel, tensors["x"].memory, grid, values | to)

    def _results(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        c = self.of
        rows = images * c.taps
        weights = (self.group * c.group_filters * c.group_channels + first) * c.taps
        grid = (-(-rows // EDGE), -(-c.group_filters // EDGE))
        values = {
            "from": tensors["products"],
            "positions": tensors["positions"],
            "to": tensor_after(tensors["dweight"], weights),
            "rows": rows,
            "filters": c.group_filters,
            "from_ld": self._chunk.ldc,
            "to_ld": c.depth,
            "by_taps": divisor(c.taps),
            "by_groups": divisor(grid[1]),
        }
        return launch("conv_sparse_weights", "weight_results", tensors["x"].memory, grid, values)


class _ExchangedByEngine(_ExchangedForward, EllpackDibPaddingFreeForward):
    pass


class _ExchangedBySoftware(_ExchangedForward, EllpackDibSoftwarePaddingFreeForward):
    pass


@dataclass(frozen=True)
class PartsSparseBackwardWeights(SparseBackwardWeights):
    """dweight from x and dy, skipping the zeros of x and the padding, each group by itself."""

    by: ClassVar[type[_ExchangedForward]]
    """Computes the exchanged convolution."""

    @cached_property
    def _groups(self) -> list[_ExchangedForward]:
        c = self.convolution
        return [self.by(convolution=exchange(c), of=c, group=group) for group in range(c.groups)]

    @property
    def workspace(self) -> Mapping[str, Operand]:
        return self._groups[0].workspace

    @property
    def passed_on_bytes(self) -> int:
        """Bytes of what each group's convolution passes on."""
        return sum(one.passed_on_bytes for one in self._groups)

    def work_on(self, inputs: Mapping[str, np.ndarray], gpu: GpuFacts | None = None) -> OperatorCost:
        c, work, needed, stored = self.convolution, self.work, 0, 0
        planes = np.moveaxis(inputs["x"].reshape(len(inputs["x"]), c.groups, c.group_channels, *c.shape[2:]), 0, 2)
        for one, x in zip(self._groups, planes, strict=True):
            found = one.work_on({"x": x}, gpu)
            needed += found.needed_macs
            stored += found.stored_bytes - one.work.stored_bytes
        return replace(work, needed_macs=needed, stored_bytes=work.stored_bytes + stored)

    def estimated_cycles(self, zeros: float, gpu: GpuFacts) -> float:
        """Estimate the cycles of all launches with the share `zeros` of x zero (`SparseForward.estimated_cycles`)."""
        return sum(one.estimated_cycles(zeros, gpu) for one in self._groups)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        """Return, for each group: dy's columns, the maps, the tables, the products, and their transposition."""
        return tuple(made for one in self._groups for made in one.launches(tensors, gpu))


@dataclass(frozen=True)
class EllpackDibPaddingFreeBackwardWeights(PartsSparseBackwardWeights):
    """The engine compacts the maps, which are transposed to a column of images for each pixel of a channel."""

    algorithm = "ellpack_dib_padding_free"
    by = _ExchangedByEngine
    refuses: ClassVar = staticmethod(partial(_refuses, EllpackDibPaddingFreeForward))


@dataclass(frozen=True)
class EllpackDibSoftwarePaddingFreeBackwardWeights(PartsSparseBackwardWeights):
    """A kernel compacts the maps, once."""

    algorithm = "ellpack_dib_software_padding_free"
    by = _ExchangedBySoftware
    refuses: ClassVar = staticmethod(partial(_refuses, EllpackDibSoftwarePaddingFreeForward))


PADDING_FREE_SPARSE_WEIGHTS = (EllpackDibPaddingFreeBackwardWeights, EllpackDibSoftwarePaddingFreeBackwardWeights)
