"""Convolution by a sparse product that meets no padding: of maps compacted as they are, by parts of windows.

As `conv_sparse_maps`, with columns of the product in another order: windows that meet the planes with the same taps are
a part, and lie together, in whole tiles. Parts with as many rows and columns of taps are one product over these taps
alone, whose tiles each begin at their part's first tap of the filters (workloads/kernels/dib_registers.inc, PARTS).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod
from typing import Any, ClassVar

import numpy as np

from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.conv_implicit import Axis, forward_axis
from workloads.operators.conv_padding_free import inside_axes
from workloads.operators.conv_sparse import EDGE, images_together, tensor_after, tensor_part
from workloads.operators.conv_sparse_maps import (
    AFTER,
    ImplicitSparseForward,
    channel_blocks,
    pixel_blocks,
    refuses_maps,
)
from workloads.operators.conv_sparse_maps import refuses_engine as refuses_engine_of_maps
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, launch, words
from workloads.operators.operator import GpuFacts
from workloads.operators.register_tiling import BLOCK_ROWS, COLUMNS, RegisterTile, register_cycles
from workloads.operators.tensor import INDEX, Operand, Tensor
from workloads.operators.tiles import DEPTH, LINE_BYTES_PER_CYCLE, DepthSplit, sum_parts
from workloads.shapes import GemmShape, round_up

PARTS_OF_LAUNCH, PART_WORDS = 64, 8  # workloads/kernels/conv_sparse_maps.cl


def _classes(c: Convolution) -> list[list[tuple[Axis, Axis]]]:
    """Return the parts with as many rows and columns of taps, of each such number; those without taps last."""
    rows, columns = (inside_axes(forward_axis(c, axis), c.shape[2 + axis]) for axis in (0, 1))

    def taps(part: tuple[Axis, Axis]) -> tuple[int, int]:
        return (part[0].taps, part[1].taps) if part[0].taps and part[1].taps else (0, 0)

    parts = sorted(((row, column) for row in rows for column in columns), key=taps, reverse=True)
    return [list(some) for _, some in groupby(parts, key=taps)]


def _most_parts(c: Convolution) -> str:
    most = max(map(len, _classes(c)))
    return f"{most} parts with as many taps; allowed are at most {PARTS_OF_LAUNCH}" if most > PARTS_OF_LAUNCH else ""


def refuses(c: Convolution) -> str:
    """Return why no product can find the parts of the convolution, '' where one can."""
    return refuses_maps(c) or _most_parts(c)


def refuses_engine(c: Convolution) -> str:
    """Return why the engine cannot compact the maps of the convolution, '' where it can."""
    return refuses_engine_of_maps(c) or _most_parts(c)


@dataclass(frozen=True)
class _WindowClass:
    """Parts with as many rows and columns of taps, of some images: a product."""

    convolution: Convolution
    """Convolution."""
    parts: tuple[tuple[Axis, Axis], ...]
    """Windows along rows and columns of each part."""
    images: int
    """Images."""

    @property
    def taps(self) -> int:
        """Taps of a window."""
        rows, columns = self.parts[0]
        return rows.taps * columns.taps

    @cached_property
    def firsts(self) -> list[int]:
        """The first column of each part, and the number of all columns."""
        counts = [round_up(self.images * rows.count * columns.count, COLUMNS) for rows, columns in self.parts]
        return [sum(counts[:number]) for number in range(len(counts) + 1)]

    @property
    def shape(self) -> GemmShape:
        """The product's shape."""
        c = self.convolution
        return GemmShape(c.group_filters, self.firsts[-1], max(1, self.taps * channel_blocks(c)) * BLOCK_ROWS)


@dataclass(frozen=True)
class PartsSparseForward(ImplicitSparseForward):
    """y = the filters times what their taps inside the planes meet of x, compacted by pixels."""

    refuses: ClassVar = staticmethod(refuses)

    def _of(self, images: int) -> list[_WindowClass]:
        return [_WindowClass(self.convolution, tuple(parts), images) for parts in _classes(self.convolution)]

    @property
    def _step(self) -> int:
        c = self.convolution
        return images_together(c, 4 * max(self._ld * prod(c.shape[2:]), self._shape(1).ldc * c.positions))

    @property
    def _chunks(self) -> list[int]:
        images, step = self.convolution.shape[0], self._step
        return [min(step, images - first) for first in range(0, images, step)]

    @property
    def _shapes(self) -> list[GemmShape]:
        return [one.shape for images in self._chunks for one in self._of(images) if one.taps]

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, classes = self.convolution, self._of(self._step)
        columns, ldc = sum(one.firsts[-1] for one in classes), self._chunk.ldc
        places = sum((one.taps + 1) * one.firsts[-1] + AFTER for one in classes)
        return {
            **super().workspace,
            "products": Operand((columns, ldc), by_image=False),
            "places": Operand((places,), INDEX, by_image=False),
            "bases": Operand((columns // COLUMNS,), INDEX, by_image=False),
            "positions": Operand((c.positions,), INDEX, by_image=False),
        }

    @property
    def passed_on_bytes(self) -> int:
        """Bytes of the filters, the tables, and of all images' maps, where no kernel compacts them, and products."""
        c = self.convolution
        rows = round_up(c.group_filters, self._kernel.stored_rows)
        total = c.weight.size + (0 if self._converts else prod(c.shape))
        for images in self._chunks:
            total += c.groups * rows * sum(one.firsts[-1] for one in self._of(images) if one.taps)
        for images in set(self._chunks):
            total += c.positions
            for one in self._of(images):
                total += (one.firsts[-1] * (one.taps + 1) + AFTER + one.firsts[-1] // COLUMNS) if one.taps else 0
        return 4 * total

    def estimated_cycles(self, zeros: float, gpu: GpuFacts) -> float:
        """Estimate the cycles of all launches with the share `zeros` of x zero (`SparseForward.estimated_cycles`)."""
        c = self.convolution
        products = c.groups * sum(register_cycles(shape, zeros, gpu) for shape in self._shapes)
        maps = prod(c.shape) * (2.0 - zeros if self._converts else 2.0)
        moved = maps + 2 * c.weight.size + 2 * c.shape[0] * c.positions * c.filters
        return products + 4 * moved / LINE_BYTES_PER_CYCLE

    def _of_chunk(self, tensors: Mapping[str, Tensor], first: int, images: int) -> tuple[Launch, ...]:
        """Return the launches that make the tables; none where those of the chunk before are the same."""
        if first and images == self._step:
            return ()
        return tuple(self._tables(tensors, *place) for place in self._placed(images))

    def _placed(self, images: int) -> Iterator[tuple[_WindowClass, int, int]]:
        """Yield each product with its first column and the first element of its places."""
        column = place = 0
        for one in self._of(images):
            yield one, column, place
            column += one.firsts[-1]
            place += (one.taps + 1) * one.firsts[-1] + AFTER

    def _tables(self, tensors: Mapping[str, Tensor], product: _WindowClass, column: int, place: int) -> Launch:
        c, lda = self.convolution, self._chunk.lda
        table = np.zeros(PARTS_OF_LAUNCH * PART_WORDS, np.uint32)
        of_tap = 4 * lda * BLOCK_ROWS * channel_blocks(c)
        parts = [
            words(
                start,
                product.images * rows.count * columns.count,
                columns.count,
                rows.first_output * c.outputs[1] + columns.first_output,
                c.outputs[1],
                rows.first,
                columns.first,
                of_tap * (rows.first_weight * c.kernel[1] + columns.first_weight),
            )
            for start, (rows, columns) in zip(product.firsts, product.parts, strict=False)
        ]
        table[: len(parts) * PART_WORDS] = np.concatenate(parts)
        tap_columns = product.parts[0][1].taps if product.taps else 0
        sizes = [product.images, *c.shape[2:], *c.stride, *c.dilation, tap_columns, product.taps, product.firsts[-1]]
        values = {
            "places": tensor_after(tensors["places"], place),
            "bases": tensor_after(tensors["bases"], column // COLUMNS),
            "positions": tensors["positions"],
            "s": words(*sizes, column, pixel_blocks(c), len(parts)),
            "parts": table,
        }
        values |= {name: Pointer(value.address) for name, value in values.items() if isinstance(value, Pointer)}
        grid = (-(-(product.firsts[-1] + AFTER) // GROUP), product.taps + 1, 1)
        return launch("conv_sparse_maps", "part_places", tensors["x"].memory, grid, values)

    def _products(self, tensors: Mapping[str, Tensor], images: int, group: int, gpu: GpuFacts) -> tuple[Launch, ...]:
        return tuple(
            made
            for one, column, place in self._placed(images)
            if one.taps
            for made in self._product(tensors, one, (column, place), (images, group), gpu)
        )

    def _product(
        self,
        tensors: Mapping[str, Tensor],
        product: _WindowClass,
        at: tuple[int, int],
        of: tuple[int, int],
        gpu: GpuFacts,
    ) -> Iterator[Launch]:
        from isa.region import SparseRegion

        c, shape, memory, (column, place), (images, group) = (
            self.convolution,
            product.shape,
            tensors["filters"].memory,
            at,
            of,
        )
        filters = tensor_part(tensors["filters"], group, c.groups)
        maps = tensors["bundles" if self._converts else "columns"]
        products, parts = tensor_after(tensors["products"], column * shape.ldc), tensors["parts"]
        try:
            split = RegisterTile().split(shape, gpu, None)
        except ValueError as error:
            raise self.refuse(str(error)) from None
        name = f"sgemm_dib_parts{'_nnz' * self._converts}{split.variant}"
        tap_columns, blocks = product.parts[0][1].taps, channel_blocks(c)
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
            "of_tap": blocks,
            "places": Pointer(tensor_after(tensors["places"], place).address),
            "run_blocks": tap_columns * blocks,
            "skip": 4 * shape.lda * BLOCK_ROWS * blocks * (c.kernel[1] - tap_columns),
            "a_bytes": 4 * self._chunk.lda * self._chunk.padded_k,
            "bases": Pointer(tensor_after(tensors["bases"], column // COLUMNS).address),
            **({"absent": tensors["counts"]} if self._converts else {}),
        }
        met = images * prod(c.shape[2:]) * pixel_blocks(c)
        regions = () if self._converts else (SparseRegion(maps.address, BLOCK_ROWS, met, BLOCK_ROWS),)
        values |= split.arguments
        yield launch(name, name, memory, split.workgroups(shape), values, split.local_size, regions)
        summed = (shape.n - (split.apart or 0), shape.ldc)
        sums = Tensor(memory, parts.address, (split.parts, *summed))
        total = Tensor(memory, products.address + 4 * shape.ldc * (split.apart or 0), summed)
        yield from sum_parts(sums, total, DepthSplit(split.parts * DEPTH, DEPTH))

    def _results(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        c, ldc = self.convolution, self._chunk.ldc
        channel = group * c.group_filters
        values = {
            "from": tensors["products"],
            "positions": Pointer(tensors["positions"].address),
            "to": tensor_after(tensors["y"], (first * c.filters + channel) * c.positions),
            "bias": tensor_after(tensors["bias"], channel) if self.bias else tensors["y"],
            "rows": c.positions,
            "columns": c.group_filters,
            "from_ld": ldc,
            "of_image": c.filters * c.positions,
            "add": int(self.bias),
        }
        grid = (-(-c.positions // EDGE), -(-c.group_filters // EDGE), images)
        return launch("conv_sparse_maps", "columns_results", tensors["y"].memory, grid, values)


@dataclass(frozen=True)
class EllpackDibPaddingFreeForward(PartsSparseForward):
    """The engine compacts the maps wherever a window of a part meets them."""

    algorithm = "ellpack_dib_padding_free"
    kernel = "sgemm_dib_registers"
    refuses: ClassVar = staticmethod(refuses_engine)


@dataclass(frozen=True)
class EllpackDibSoftwarePaddingFreeForward(PartsSparseForward):
    """A kernel compacts the maps, once."""

    algorithm = "ellpack_dib_software_padding_free"
    kernel = "software_registers"


PADDING_FREE_SPARSE_FORWARD = (EllpackDibPaddingFreeForward, EllpackDibSoftwarePaddingFreeForward)
