"""Convolution by a sparse product that finds the maps where they are: implicit, without im2col (Dong 2020, chapter 6).

The maps are compacted as they are, 64 channels of a pixel at a time, by a kernel that stores them as ELLPACK-DIB or by
the engine. The product goes through taps, and within a tap through channels; a table says which pixel each window meets
with each tap. So what is compacted is as large as the maps, and not as im2col, which has each pixel once for each tap.
The filters are transposed to that order once, the results after each product.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from isa.kernarg import Pointer
from isa.launch import Launch
from isa.region import LINE_ELEMENTS
from workloads.operators.conv_sparse import (
    EDGE,
    SparseForward,
    im2col_arguments,
    images_together,
    inside,
    tensor_part,
    too_large,
)
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.register_tiling import BLOCK_ROWS, RegisterTile, most_parts, register_cycles
from workloads.operators.tensor import INDEX, Operand, Tensor
from workloads.operators.tiles import DEPTH, LINE_BYTES_PER_CYCLE, DepthSplit, sum_parts
from workloads.shapes import GemmShape, round_up

AFTER = 4  # entries of the table that a product may read past a row after the last


def channel_blocks(c: Convolution) -> int:
    """Return of how many blocks a pixel's channels of a group are."""
    return -(-c.group_channels // BLOCK_ROWS)


def pixel_blocks(c: Convolution) -> int:
    """Return how many blocks lie from one pixel's to the next one's: an odd number, as many wavefronts ask for the same
    channels of other pixels at a time, which would meet in one memory channel.
    """
    return channel_blocks(c) | 1


def refuses_maps(c: Convolution) -> str:
    """Return why no product can find the maps of the convolution, '' where one can."""
    held = {
        "an image's maps have": 4 * BLOCK_ROWS * pixel_blocks(c) * prod(c.shape[2:]),
        "an image's results have": 4 * _shape(c, 1).ldc * c.positions,
        "a group's filters have": 4 * _shape(c, 1).lda * _shape(c, 1).padded_k,
    }
    return too_large(held)


def refuses_engine(c: Convolution) -> str:
    """Return why the engine cannot compact the maps of the convolution, '' where it can."""
    if c.group_channels % BLOCK_ROWS:
        return f"{c.group_channels} channels of a group; allowed are multiples of {BLOCK_ROWS}, compacted at a time"
    return refuses_maps(c)


def _shape(c: Convolution, images: int) -> GemmShape:
    return GemmShape(c.group_filters, images * c.positions, c.taps * channel_blocks(c) * BLOCK_ROWS)


def _pixels(c: Convolution) -> Convolution:
    """Return the convolution whose im2col is the maps, a column for each pixel."""
    return Convolution(c.shape, c.filters, (1, 1), groups=c.groups)


@dataclass(frozen=True)
class ImplicitSparseForward(SparseForward):
    """y = the filters times what their taps meet of x, compacted by pixels."""

    refuses: ClassVar = staticmethod(refuses_maps)

    def _shape(self, images: int) -> GemmShape:
        return _shape(self.convolution, images)

    @property
    def _step(self) -> int:
        c = self.convolution
        return images_together(c, 4 * max(self._ld * prod(c.shape[2:]), self._shape(1).ldc * c.positions))

    @property
    def _ld(self) -> int:
        """Elements from one pixel to the next."""
        return BLOCK_ROWS * pixel_blocks(self.convolution)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, shape, step = self.convolution, self._chunk, self._step
        pixels = step * prod(c.shape[2:])
        maps = (pixels, self._ld)
        operands = {
            "filters": Operand((c.groups, shape.padded_k, shape.lda), by_image=False),
            "products": Operand((shape.n, shape.ldc), by_image=False),
            "places": Operand(((c.taps + 1) * shape.n + AFTER,), INDEX, by_image=False),
            "parts": Operand((max(map(most_parts, self._shapes or [shape])),), by_image=False),
        }
        if self._converts:
            counts = Operand((pixels, pixel_blocks(c)), INDEX, by_image=False)
            return operands | {"bundles": Operand(maps, INDEX, by_image=False), "counts": counts}
        return operands | {"columns": Operand(maps, by_image=False)}

    @property
    def passed_on_bytes(self) -> int:
        """Bytes of the filters, the table, and of all images' maps, where no kernel compacts them, and products."""
        c = self.convolution
        rows = round_up(c.group_filters, self._kernel.stored_rows)
        maps = 0 if self._converts else prod(c.shape)
        places = sum((c.taps + 1) * shape.n + AFTER for shape in set(self._shapes))
        return c.weight.size_bytes + 4 * (c.shape[0] * c.positions * c.groups * rows + maps + places)

    def work_on(self, inputs: Mapping[str, np.ndarray], gpu: GpuFacts | None = None) -> OperatorCost:
        c, x = self.convolution, inputs["x"]
        count = sum(int(non_zeros.sum()) for non_zeros in self._non_zeros(x))
        stored = 0
        if self._converts:
            by_group = (x != 0).reshape(len(x), c.groups, c.group_channels, *x.shape[2:])
            blocks = range(0, c.group_channels, BLOCK_ROWS)
            held = np.add.reduceat(by_group, blocks, axis=2, dtype=np.int64)
            stored = 4 * int((np.maximum(-(-held // LINE_ELEMENTS), 1) * LINE_ELEMENTS + 1).sum())
        work, parts = self.work, self._parts_bytes(gpu) if gpu else 0
        return replace(work, needed_macs=c.group_filters * count, stored_bytes=work.stored_bytes + stored + parts)

    def estimated_cycles(self, zeros: float, gpu: GpuFacts) -> float:
        c = self.convolution
        of_terms = 1.0 - (1.0 - zeros) * inside(c)
        products = c.groups * sum(register_cycles(shape, of_terms, gpu) for shape in self._shapes)
        maps = prod(c.shape) * (2.0 - zeros if self._converts else 2.0)
        moved = maps + 2 * c.weight.size + 2 * c.shape[0] * c.positions * c.filters
        return products + 4 * moved / LINE_BYTES_PER_CYCLE

    def _transposed_filters(self, tensors: Mapping[str, Tensor]) -> Launch:
        c, shape = self.convolution, self._chunk
        values = {"from": tensors["weight"], "to": tensors["filters"], "rows": c.group_filters, "columns": c.depth}
        values |= {"to_ld": shape.lda, "tap_rows": BLOCK_ROWS * channel_blocks(c), "by_taps": divisor(c.taps)}
        values |= {"from_step": c.group_filters * c.depth, "to_step": shape.padded_k * shape.lda}
        grid = (-(-c.group_filters // EDGE), -(-c.depth // EDGE), c.groups)
        return launch("conv_sparse_maps", "transpose_filters", tensors["weight"].memory, grid, values)

    def _of_chunk(self, tensors: Mapping[str, Tensor], first: int, images: int) -> tuple[Launch, ...]:
        """Return the launch that makes the table; none where that of the chunk before is the same."""
        if first and images == self._step:
            return ()
        c = self.convolution
        windows = im2col_arguments(c, tensors["x"], 0, images, 0, 0)["m"]
        grid = (-(-(images * c.positions + AFTER) // GROUP), c.taps + 1, 1)
        values = {"places": tensors["places"], "of_pixel": pixel_blocks(c), "m": windows}
        return (launch("conv_sparse_maps", "window_places", tensors["x"].memory, grid, values),)

    def _im2col(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        c = _pixels(self.convolution)
        values = im2col_arguments(c, tensors["x"], first, images, group, self._ld)
        source, kernel, to = "conv_sparse", "im2col_columns", {"columns": tensors.get("columns")}
        if self._converts:
            source, kernel = "conv_sparse_maps", "maps_bundles"
            to = {"bundles": tensors["bundles"], "absent": tensors["counts"]}
        kernel += "_small" * (prod(c.shape[2:]) < LINE_ELEMENTS)
        grid = (-(-c.depth // EDGE), -(-images * c.positions // EDGE), 1)
        return launch(source, kernel, tensors["x"].memory, grid, values | to)

    def _products(self, tensors: Mapping[str, Tensor], images: int, group: int, gpu: GpuFacts) -> tuple[Launch, ...]:
        from isa.region import SparseRegion

        c, shape, memory = self.convolution, self._shape(images), tensors["filters"].memory
        filters = tensor_part(tensors["filters"], group, c.groups)
        maps = tensors["bundles" if self._converts else "columns"]
        products, parts = tensors["products"], tensors["parts"]
        try:
            split = RegisterTile().split(shape, gpu, None)
        except ValueError as error:
            raise self.refuse(str(error)) from None
        name = f"sgemm_dib_gathered{'_nnz' * self._converts}{split.variant}"
        values: dict[str, Any] = {
            "a_matrix": Pointer(filters.address),
            "b_matrix": maps,
            "c_matrix": products,
            "parts_matrix": parts,
            "m": shape.m,
            "n": shape.n,
            "k": shape.k,
            "lda": shape.lda,
            "ldb": self._ld,
            "ldc": shape.ldc,
            "of_tap": channel_blocks(c),
            "places": tensors["places"],
            **({"absent": tensors["counts"]} if self._converts else {}),
        }
        blocks = images * prod(c.shape[2:]) * pixel_blocks(c)
        regions = () if self._converts else (SparseRegion(maps.address, BLOCK_ROWS, blocks, BLOCK_ROWS),)
        values |= split.arguments
        product = launch(name, name, memory, split.workgroups(shape), values, split.local_size, regions)
        summed = (shape.n - (split.apart or 0), shape.ldc)
        sums = Tensor(memory, parts.address, (split.parts, *summed))
        total = Tensor(memory, products.address + 4 * shape.ldc * (split.apart or 0), summed)
        return product, *sum_parts(sums, total, DepthSplit(split.parts * DEPTH, DEPTH))


@dataclass(frozen=True)
class EllpackDibImplicitForward(ImplicitSparseForward):
    """The engine compacts the maps, which are transposed to a column for each pixel, wherever a window meets them."""

    algorithm = "ellpack_dib_implicit"
    kernel = "sgemm_dib_registers"
    refuses: ClassVar = staticmethod(refuses_engine)


@dataclass(frozen=True)
class EllpackDibSoftwareImplicitForward(ImplicitSparseForward):
    """A kernel compacts the maps, once."""

    algorithm = "ellpack_dib_software_implicit"
    kernel = "software_registers"


IMPLICIT_SPARSE_FORWARD = (EllpackDibImplicitForward, EllpackDibSoftwareImplicitForward)
