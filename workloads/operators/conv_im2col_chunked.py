"""Convolution by im2col of as many images as a buffer holds, and one wide product for them.

So did cxxnet and MXNet without cuDNN: a wide product fills the GPU where an image's does not. Its result lies by
filters first and images second, so that another kernel puts it into y's order (and dy into its own). Where results are
few, sums are in parts, which that kernel adds up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.conv_buffer import BUFFER_BYTES, MAX_BYTES, at, chunk_images, chunks, pad_pitch
from workloads.operators.conv_im2col import image_words
from workloads.operators.conv_passes import (
    ConvolutionBackwardData,
    ConvolutionBackwardWeights,
    ConvolutionForward,
    ConvolutionPass,
)
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import (
    Batch,
    DepthSplit,
    Multiplier,
    products,
    products_by,
    split_product,
    split_sum,
    sum_parts,
)


def _largest_bytes(c: Convolution) -> int:
    return 4 * max(c.groups * c.depth * c.positions, prod(c.shape[1:]), c.filters * c.positions)


def refuses(c: Convolution) -> str:
    """Return why im2col of an image is not possible, '' where it is."""
    size = _largest_bytes(c)
    return f"im2col of an image has {size} bytes; allowed are at most {MAX_BYTES}" if size > MAX_BYTES else ""


@dataclass(frozen=True)
class _Im2colChunkedPass(ConvolutionPass):
    """Base of the three passes, over chunks of as many images as the buffer can hold."""

    buffer_bytes: int = BUFFER_BYTES
    """Size of the buffer for im2col and for the reordered side of the product, in bytes."""
    by: Multiplier | None = None
    """Kernels of the products; None: ours."""
    padded: bool = True
    """Pad the rows of the buffer (conv_buffer.apart); otherwise they are contiguous, as libraries expect."""
    algorithm = "im2col_chunked"

    def __post_init__(self) -> None:
        if problem := refuses(self.convolution):
            raise self.refuse(problem)

    @property
    def _chunk(self) -> int:
        c = self.convolution
        image_bytes = 4 * (c.groups * c.depth + c.filters) * c.positions
        return chunk_images(c.shape[0], image_bytes, self.buffer_bytes, _largest_bytes(c))

    @property
    def _chunks(self) -> list[tuple[int, int]]:
        return chunks(self.convolution.shape[0], self._chunk)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, pitch = self.convolution, self._pitch(self._chunk)
        columns = Operand((c.groups * c.depth, pitch), by_image=False)
        return {"columns": columns, "wide": Operand((c.filters, pitch), by_image=False)}

    @property
    def products(self) -> int:
        return 1 if self.by is None else len(self._chunks) * self.convolution.groups

    @property
    def _moved_bytes(self) -> int:
        """Bytes of im2col of all images, and of y or dy by filters."""
        c = self.convolution
        return 4 * c.shape[0] * c.positions * (c.groups * c.depth + c.filters)

    @property
    def passed_on_bytes(self) -> int:
        return self._moved_bytes

    def _positions(self, images: int) -> int:
        return images * self.convolution.positions

    def _pitch(self, images: int) -> int:
        return pad_pitch(self._positions(images)) if self.padded else self._positions(images)

    def _multiply(
        self, layout: str, operands: tuple[Pointer, ...], memory: DeviceMemory, sizes: tuple[int, int, int],
        leading: tuple[int, int, int], batch: Batch, gpu: GpuFacts, split: DepthSplit | None = None, add: bool = False,
    ) -> list[Launch]:  # fmt: skip
        if self.by is not None:
            return products_by(self.by, layout, operands, memory, sizes, leading, batch, add)
        return [products(layout, operands, memory, sizes, leading, batch, gpu, split, add)]

    def _im2col(self, x: Tensor, chunk: tuple[int, int], columns: Tensor) -> Launch:
        c, pitch = self.convolution, self._pitch(chunk[1])
        values = {"x": at(x, chunk[0]), "columns": columns, "m": image_words(c, c.positions, c.outputs[1])}
        groups = (-(-c.shape[1] * c.positions // GROUP), chunk[1])
        return launch("conv_im2col_chunked", "im2col_images", x.memory, groups, {**values, "pitch": pitch})

    def _col2im(self, columns: Tensor, mask: Tensor | None, dx: Tensor, chunk: tuple[int, int]) -> Launch:
        c, plane = self.convolution, prod(self.convolution.shape[2:])
        values = {"columns": columns, "dx": at(dx, chunk[0]), "m": image_words(c, plane, c.shape[3])}
        windows = {"window_rows": c.outputs[0], "window_columns": c.outputs[1], "pitch": self._pitch(chunk[1])}
        values |= {"mask": at(mask, chunk[0]) if mask else columns, "masked": int(mask is not None)}
        groups = (-(-c.shape[1] * plane // GROUP), chunk[1])
        return launch("conv_im2col_chunked", "col2im_images", dx.memory, groups, {**values, **windows})

    def _wide(self, kernel: str, chunk: tuple[int, int], of: Tensor, values: Mapping[str, object]) -> Launch:
        """Make the launch that puts the product into y (from_wide), or dy into its order (to_wide), for a chunk."""
        c = self.convolution
        shape = {"planes": c.filters, "pitch": self._pitch(chunk[1]), "by_plane": divisor(c.positions)}
        groups = (-(-c.filters * c.positions // GROUP), chunk[1])
        return launch("conv_im2col_chunked", kernel, of.memory, groups, {**values, **shape})


@dataclass(frozen=True)
class Im2colChunkedForward(_Im2colChunkedPass, ConvolutionForward):
    """y = the filters times im2col; bias and ReLU come as y is put into its order."""

    @property
    def split(self) -> DepthSplit:
        """The split of the products' sums: by the results of all images, so that no result depends on the buffer."""
        c = self.convolution
        if self.by is not None:
            return DepthSplit(c.depth, c.depth)
        return split_product(self._positions(c.shape[0]), c.group_filters, c.depth, c.groups).by_channels

    @property
    def workspace(self) -> Mapping[str, Operand]:
        wide = (self.split.parts, self.convolution.filters, self._pitch(self._chunk))
        return {**super().workspace, "wide": Operand(wide, by_image=False)}

    @property
    def passed_on_bytes(self) -> int:
        return self._moved_bytes + (self.split.parts - 1) * self.convolution.y.size_bytes

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        c, columns, wide = self.convolution, tensors["columns"], tensors["wide"]
        bias, y, split = tensors.get("bias"), tensors["y"], self.split
        made = []
        for chunk in self._chunks:
            pitch = self._pitch(chunk[1])
            steps = (0, c.depth * pitch), (0, c.group_filters * c.depth), (0, c.group_filters * pitch)
            batch = Batch(1, c.groups, *steps, c.filters * pitch)
            operands = (columns.pointer, tensors["weight"].pointer, wide.pointer)
            sizes, leading = (self._positions(chunk[1]), c.group_filters, c.depth), (pitch, c.depth, pitch)
            made.append(self._im2col(tensors["x"], chunk, columns))
            made += self._multiply("nn", operands, y.memory, sizes, leading, batch, gpu, split)
            values = {"wide": wide, "bias": bias or wide, "y": at(y, chunk[0]), "biases": int(bias is not None)}
            values["relu"] = int(self.relu)
            if split.parts > 1:
                made.append(self._wide("from_wide_parts", chunk, y, {**values, "parts": split.parts}))
            else:
                made.append(self._wide("from_wide", chunk, y, values))
        return tuple(made)

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        c, buffer_bytes, by, padded = self.convolution, self.buffer_bytes, self.by, self.padded
        weights = Im2colChunkedBackwardWeights(c, buffer_bytes=buffer_bytes, by=by, padded=padded)
        return weights, Im2colChunkedBackwardData(c, buffer_bytes=buffer_bytes, by=by, padded=padded)


@dataclass(frozen=True)
class Im2colChunkedBackwardData(_Im2colChunkedPass, ConvolutionBackwardData):
    """dx = col2im of the filters transposed times dy."""

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        c, columns, wide, dy = self.convolution, tensors["columns"], tensors["wide"], tensors["dy"]
        made = []
        for chunk in self._chunks:
            pitch = self._pitch(chunk[1])
            batch = Batch(
                1, c.groups, (0, c.group_filters * pitch), (0, c.group_filters * c.depth), (0, c.depth * pitch)
            )
            operands = (wide.pointer, tensors["weight"].pointer, columns.pointer)
            sizes, leading = (self._positions(chunk[1]), c.depth, c.group_filters), (pitch, c.depth, pitch)
            made.append(self._wide("to_wide", chunk, dy, {"dy": at(dy, chunk[0]), "wide": wide}))
            made += self._multiply("nt", operands, dy.memory, sizes, leading, batch, gpu)
            made.append(self._col2im(columns, tensors.get("mask"), tensors["dx"], chunk))
        return tuple(made)


@dataclass(frozen=True)
class Im2colChunkedBackwardWeights(_Im2colChunkedPass, ConvolutionBackwardWeights):
    """dweight = dy times im2col transposed: a chunk's sums over positions, in parts, are added to those before."""

    def _split(self, images: int) -> DepthSplit:
        """Return the split of a sum over a chunk of so many images; the parts of all chunks have the same length."""
        c = self.convolution
        if self.by is not None:
            return DepthSplit(self._positions(images), self._positions(self._chunk))
        whole = split_sum(c.depth, c.group_filters, c.groups, self._positions(self._chunk))
        return DepthSplit(self._positions(images), whole.part_depth)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        parts, weights = self._split(self._chunk).parts, self.convolution.weight.size
        sums = {"sums": Operand((parts, weights), by_image=False)} if parts > 1 else {}
        return {**super().workspace, **sums}

    @property
    def passed_on_bytes(self) -> int:
        """Bytes stored for later launches: also the parts' sums of every chunk, but for those that are the result."""
        stored = sum(self._split(count).parts for _, count in self._chunks)
        result = int(self._split(self._chunk).parts == 1)
        return self._moved_bytes + (stored - result) * self.convolution.weight.size_bytes

    @property
    def longest(self) -> int:
        split = self._split(self._chunk)
        return len(self._chunks) * min(split.part_depth, split.depth) + split.parts

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        c, columns, wide, dy = self.convolution, tensors["columns"], tensors["wide"], tensors["dy"]
        total = tensors["dweight"]
        sums = tensors.get("sums", total)
        weights = c.group_filters * c.depth
        made = []
        for chunk in self._chunks:
            pitch, split = self._pitch(chunk[1]), self._split(chunk[1])
            batch = Batch(
                1, c.groups, (0, c.depth * pitch), (0, c.group_filters * pitch), (0, weights), c.groups * weights
            )
            operands = (columns.pointer, wide.pointer, sums.pointer)
            sizes, leading = (c.depth, c.group_filters, split.depth), (pitch, pitch, c.depth)
            made.append(self._im2col(tensors["x"], chunk, columns))
            made.append(self._wide("to_wide", chunk, dy, {"dy": at(dy, chunk[0]), "wide": wide}))
            made += self._multiply("tn", operands, dy.memory, sizes, leading, batch, gpu, split, chunk[0] > 0)
        return (*made, *sum_parts(sums, total, self._split(self._chunk)))
