"""Gradients of a convolution's weights by sparse matrix products in ELLPACK-DIB: zeros of the activations are skipped.

dweight = dy times im2col of x, transposed: a column of the product's B is what one weight meets in all windows of a
chunk of images, so that x is what is compacted, as in the forward pass (workloads.operators.conv_sparse). im2col writes
it down as it is, for the engine, or as ELLPACK-DIB at once. dy is transposed to a column of the filters' gradients for
each window. What chunks of images come to is added up at the end, and transposed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np

from isa.launch import Launch
from isa.region import LINE_ELEMENTS
from workloads.operators.conv_passes import ConvolutionBackwardWeights
from workloads.operators.conv_sparse import (
    EDGE,
    SparseConvolutionPass,
    chunk_images,
    im2col_arguments,
    inside,
    refuses_any_depth,
    tensor_after,
    tensor_part,
    transpose,
)
from workloads.operators.convolution import Convolution
from workloads.operators.gemm import ABSENT_AFTER, EllpackMatrix, GemmBuffers, gemm
from workloads.operators.launching import launch
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.primitive import LaunchTuple, ReferenceValue
from workloads.operators.register_tiling import BLOCK_ROWS, most_parts, register_cycles
from workloads.operators.tensor import INDEX, Operand, Tensor
from workloads.operators.tiles import DEPTH, LINE_BYTES_PER_CYCLE, DepthSplit, sum_parts
from workloads.shapes import GemmShape, round_up


def refuses_whole_blocks(c: Convolution) -> str:
    """Return why the engine cannot compact the windows of the convolution, '' where it can."""
    for images in set(_chunks(c)):
        if images * c.positions % BLOCK_ROWS:
            return (
                f"{images * c.positions} windows of {images} images; allowed are multiples of {BLOCK_ROWS}, which are "
                "compacted at a time"
            )
    return refuses_any_depth(c)


def _chunks(c: Convolution) -> list[int]:
    """Return how many images each chunk has."""
    step = chunk_images(c)
    return [min(step, c.shape[0] - first) for first in range(0, c.shape[0], step)]


@dataclass(frozen=True)
class SparseBackwardWeights(SparseConvolutionPass, ConvolutionBackwardWeights):
    """dweight from x and dy, skipping the zeros of x, by a product with A in registers."""

    algorithm: ClassVar[str]
    """Name in configurations."""

    @cached_property
    def _shapes(self) -> list[GemmShape]:
        c = self.convolution
        return [GemmShape(c.group_filters, c.depth, images * c.positions) for images in _chunks(c)]

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, shapes = self.convolution, self._shapes
        windows, depth = max(shape.padded_k for shape in shapes), c.depth
        operands = {
            "gradients": Operand((windows, shapes[0].lda), by_image=False),
            "products": Operand((len(shapes), c.groups, depth, shapes[0].ldc), by_image=False),
            "parts": Operand((max(map(most_parts, shapes)),), by_image=False),
        }
        if len(shapes) > 1:
            operands["sums"] = Operand((c.groups, depth, shapes[0].ldc), by_image=False)
        matrix = (depth, max(shape.ldb for shape in shapes))
        if self.fused:
            blocks = max(-(-shape.k // BLOCK_ROWS) for shape in shapes) + 1
            operands["bundles"] = Operand(matrix, INDEX, by_image=False)
            operands["counts"] = Operand((blocks * depth + ABSENT_AFTER,), INDEX, by_image=False)
        else:
            operands["columns"] = Operand(matrix, by_image=False)
        return operands

    @property
    def passed_on_bytes(self) -> int:
        """Bytes of dy's columns, of im2col as it is, of all chunks' products and their sums; neither of bundles, which
        values decide, nor of parts of sums, which the GPU does.
        """
        c, chunks = self.convolution, len(self._shapes)
        columns = 0 if self.fused else c.groups * c.depth * c.shape[0] * c.positions
        summed = self._shapes[0].ldc if chunks > 1 else 0
        rows = chunks * round_up(c.group_filters, self._kernel.stored_rows) + summed
        return 4 * (c.y.size + columns + c.groups * c.depth * rows)

    def work_on(self, inputs: Mapping[str, np.ndarray], gpu: GpuFacts | None = None) -> OperatorCost:
        """Count a multiply-accumulate for each non-zero and filter; bundles in whole lines, counts, parts of sums."""
        c, count, stored = self.convolution, 0, 0
        for images, first in zip(_chunks(c), np.cumsum([0, *_chunks(c)[:-1]]), strict=True):
            non_zeros = self._non_zeros(inputs["x"][first : first + images])
            count += int(non_zeros.sum())
            if self.fused:
                stored += 4 * int((np.maximum(-(-non_zeros // LINE_ELEMENTS), 1) * LINE_ELEMENTS + 1).sum())
        work = self.work
        stored += self._parts_bytes(gpu) if gpu else 0
        return replace(work, needed_macs=c.group_filters * count, stored_bytes=work.stored_bytes + stored)

    def _non_zeros(self, x: np.ndarray) -> np.ndarray:
        """Count the non-zeros of what is compacted by itself: [groups, weights of a filter, blocks of windows]."""
        c = self.convolution
        padded = c.pad(x != 0)
        met = np.stack([c.get_tap_view(padded, tap) for tap in c.all_taps()], axis=3)
        by_weight = met.reshape(*met.shape[:2], c.depth, c.positions)  # [images, groups, weights, positions]
        windows = np.moveaxis(by_weight, 0, 2).reshape(c.groups, c.depth, -1)
        return np.add.reduceat(windows, range(0, windows.shape[2], BLOCK_ROWS), axis=2, dtype=np.int64)

    def estimated_cycles(self, zeros: float, gpu: GpuFacts) -> float:
        """Estimate the cycles of all launches with the share `zeros` of x zero (`SparseForward.estimated_cycles`)."""
        c = self.convolution
        of_terms = 1.0 - (1.0 - zeros) * inside(c)
        products = c.groups * sum(register_cycles(shape, of_terms, gpu) for shape in self._shapes)
        met = c.shape[0] * c.positions * c.groups * c.depth * (1.0 - of_terms if self.fused else 1.0)
        moved = prod(c.shape) + met + 2 * c.y.size + (2 + len(self._shapes)) * c.weight.size
        return products + 4 * moved / LINE_BYTES_PER_CYCLE

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return super().reference(self.rounded(inputs), first)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        """Return, for each chunk and group, im2col, dy's columns, the product; then the chunks' sum, transposed."""
        c, made, first = self.convolution, list[Launch](), 0
        shape, chunks = self._shapes[0], _chunks(self.convolution)
        for number, images in enumerate(chunks):
            for group in range(c.groups):
                made.append(self._im2col(tensors, first, images, group))
                made.append(self._gradients(tensors, first, images, group))
                made += self._products(tensors, number, group, gpu)
            first += images
        products, total = tensors["products"], tensors.get("sums", tensors["products"])
        if len(chunks) > 1:
            made += sum_parts(products, total, DepthSplit(len(chunks) * DEPTH, DEPTH))
        sizes, leading = (c.depth, c.group_filters), (shape.ldc, c.depth)
        steps = (c.depth * shape.ldc, c.group_filters * c.depth)
        made.append(transpose(tensors, (total.pointer, tensors["dweight"].pointer), sizes, leading, steps, c.groups))
        return tuple(made)

    def _im2col(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        c = self.convolution
        values = im2col_arguments(c, tensors["x"], first, images, group, GemmShape(1, 1, images * c.positions).ldb)
        to = {"columns": tensors.get("columns")}
        if self.fused:
            to = {"bundles": tensors["bundles"], "absent": tensors["counts"]}
        kernel = "im2col_weight_bundles" if self.fused else "im2col_weights"
        grid = (-(-c.depth // EDGE), -(-images * c.positions // EDGE), 1)
        return launch("conv_sparse", kernel, tensors["x"].memory, grid, values | to)

    def _gradients(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        """Return the launch that makes a column of the group's filters for each window of some images."""
        c, shape = self.convolution, self._shapes[0]
        dy = tensor_after(tensors["dy"], (first * c.filters + group * c.group_filters) * c.positions)
        sizes, leading = (c.group_filters, c.positions), (c.positions, shape.lda)
        steps = (c.filters * c.positions, c.positions * shape.lda)
        return transpose(tensors, (dy, tensors["gradients"].pointer), sizes, leading, steps, images)

    def _products(self, tensors: Mapping[str, Tensor], number: int, group: int, gpu: GpuFacts) -> LaunchTuple:
        groups, shape = self.convolution.groups, self._shapes[number]
        a, parts = tensor_part(tensors["gradients"]), tensor_part(tensors["parts"])
        b = tensor_part(tensors["bundles" if self.fused else "columns"])
        c = tensor_part(tensors["products"], number * groups + group, len(self._shapes) * groups)
        buffers = GemmBuffers(shape, tensors["gradients"].memory, a, b, c)
        converted = EllpackMatrix(b, tensor_part(tensors["counts"]), made=True) if self.fused else None
        return gemm(self.kernel, buffers, gpu, None, converted, parts).launches


@dataclass(frozen=True)
class EllpackDibRegistersBackwardWeights(SparseBackwardWeights):
    """im2col's matrix is a sparse region of the product's launch: the engine compacts 64 windows of a weight at a
    time.
    """

    algorithm = "ellpack_dib_registers"
    kernel = "sgemm_dib_registers"
    refuses: ClassVar = staticmethod(refuses_whole_blocks)


@dataclass(frozen=True)
class EllpackDibFusedBackwardWeights(SparseBackwardWeights):
    """im2col makes bundles of 64 windows of a weight at a time."""

    algorithm = "ellpack_dib_fused"
    kernel = "software_registers"
    fused = True


WINDOW_SPARSE_WEIGHTS = (EllpackDibRegistersBackwardWeights, EllpackDibFusedBackwardWeights)
