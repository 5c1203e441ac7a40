"""Convolution an image at a time, as Caffe does with a library of matrix products: im2col, a product for each group.

What the taps meet is written down for one image (col2im, backward to the data: read), in memory that every image takes
anew. Filters of one value at every position need none: the image is that already.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.bias import BiasForward
from workloads.operators.conv_buffer import at
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
from workloads.operators.tiles import Multiplier, product, rectified_product

MAX_BYTES = (1 << 32) - (1 << 20)  # of im2col of an image: 32-bit offsets


def refuses(c: Convolution) -> str:
    """Return why im2col of an image is not possible, '' where it is."""
    size = 4 * c.groups * c.depth * c.positions
    return f"im2col of an image has {size} bytes; allowed are at most {MAX_BYTES}" if size > MAX_BYTES else ""


def is_matrix(c: Convolution) -> bool:
    """Tell whether im2col changes nothing."""
    return c.kernel == (1, 1) == c.stride and not any(c.padding)


def image_words(c: Convolution, plane: int, width: int) -> np.ndarray:
    """Return the words of Image (workloads/kernels/conv_im2col.cl).

    Args:
        plane: Sizes that count work-items.
        width: Sizes that count work-items.
    """
    sizes = [c.shape[1], *c.shape[2:], *c.kernel, c.positions, *c.dilation, *c.padding[:2]]
    divisors = [divisor(number) for number in (plane, width, *c.stride)]
    return np.concatenate([np.array(sizes, np.uint32), *divisors])


def _im2col(c: Convolution, x: Tensor, columns: Tensor, image: int) -> Launch:
    values = {"x": at(x, image), "columns": columns, "m": image_words(c, c.positions, c.outputs[1])}
    return launch("conv_im2col", "im2col", x.memory, (-(-c.shape[1] * c.positions // GROUP),), values)


def _col2im(c: Convolution, columns: Tensor, mask: Tensor | None, dx: Tensor, image: int) -> Launch:
    plane = prod(c.shape[2:])
    values = {"columns": columns, "dx": at(dx, image), "m": image_words(c, plane, c.shape[3])}
    values |= {"mask": at(mask, image) if mask else columns, "masked": int(mask is not None)}
    windows = {"window_rows": c.outputs[0], "window_columns": c.outputs[1]}
    groups = -(-c.shape[1] * plane // GROUP)
    return launch("conv_im2col", "col2im", dx.memory, (groups,), {**values, **windows})


def _place(c: Convolution, tensors: Mapping[str, Tensor], image_of: Tensor, image: int, group: int) -> Pointer:
    """Return a pointer to a group's columns, in the workspace or, where im2col changes nothing, in the image."""
    columns = tensors.get("columns")
    return at(columns, group) if columns else at(image_of, image, group * c.group_channels)


@dataclass(frozen=True)
class _Im2colPass(ConvolutionPass):
    """Base of the three passes; the workspace is im2col of one image, [groups, weights of a filter, positions]."""

    by: Multiplier | None = None
    """Kernels of the products; None: ours."""
    algorithm = "im2col"

    def __post_init__(self) -> None:
        if problem := refuses(self.convolution):
            raise self.refuse(problem)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c = self.convolution
        return {} if is_matrix(c) else {"columns": Operand((c.groups, c.depth, c.positions), by_image=False)}

    @property
    def products(self) -> int:
        return self.convolution.shape[0] * self.convolution.groups

    @property
    def passed_on_bytes(self) -> int:
        """Bytes of im2col of all images."""
        return self.convolution.shape[0] * super().passed_on_bytes

    def _multiply(
        self, layout: str, operands: tuple[Pointer, Pointer, Pointer], memory: DeviceMemory,
        sizes: tuple[int, int, int], leading: tuple[int, int], gpu: GpuFacts, add: bool = False,
    ) -> tuple[Launch, ...]:  # fmt: skip
        if self.by is not None:
            return self.by.launches(layout, operands, memory, sizes, (*leading, sizes[0]), add)
        return (product(layout, operands, memory, sizes, leading, gpu, add=add),)


@dataclass(frozen=True)
class Im2colForward(_Im2colPass, ConvolutionForward):
    """y[n] = the filters times im2col of x[n]; where there is a ReLU, the product adds the bias too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relu and self.by is not None:
            raise self.refuse("a ReLU is the last step of our products alone; allowed is relu = False")

    @property
    def passed_on_bytes(self) -> int:
        return super().passed_on_bytes + (self.convolution.y.size_bytes if self.bias and not self.relu else 0)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        c, x, y, weight = self.convolution, tensors["x"], tensors["y"], tensors["weight"]
        sizes, leading = (c.positions, c.group_filters, c.depth), (c.positions, c.depth)
        made: list[Launch] = []
        for image in range(c.shape[0]):
            if "columns" in tensors:
                made.append(_im2col(c, x, tensors["columns"], image))
            for group in range(c.groups):
                first = group * c.group_filters
                operands = (_place(c, tensors, x, image, group), at(weight, first), at(y, image, first))
                if self.relu:
                    bias = at(tensors["bias"], first) if self.bias else None
                    made.append(rectified_product(operands, bias, x.memory, sizes, leading, gpu))
                else:
                    made += self._multiply("nn", operands, x.memory, sizes, leading, gpu)
        if self.bias and not self.relu:
            made += BiasForward(y.shape).launches({"x": y, "bias": tensors["bias"], "y": y}, gpu)
        return tuple(made)

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        return Im2colBackwardWeights(self.convolution, by=self.by), Im2colBackwardData(self.convolution, by=self.by)


@dataclass(frozen=True)
class Im2colBackwardData(_Im2colPass, ConvolutionBackwardData):
    """dx[n] = col2im of the filters transposed times dy[n]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.masked and not self.masks:
            raise self.refuse("where im2col changes nothing, the product ends with no mask; allowed is masked = False")

    @property
    def masks(self) -> bool:
        return not is_matrix(self.convolution)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        c, dx, dy, weight = self.convolution, tensors["dx"], tensors["dy"], tensors["weight"]
        sizes, leading = (c.positions, c.depth, c.group_filters), (c.positions, c.depth)
        made: list[Launch] = []
        for image in range(c.shape[0]):
            for group in range(c.groups):
                first = group * c.group_filters
                operands = (at(dy, image, first), at(weight, first), _place(c, tensors, dx, image, group))
                made += self._multiply("nt", operands, dy.memory, sizes, leading, gpu)
            if "columns" in tensors:
                made.append(_col2im(c, tensors["columns"], tensors.get("mask"), dx, image))
        return tuple(made)


@dataclass(frozen=True)
class Im2colBackwardWeights(_Im2colPass, ConvolutionBackwardWeights):
    """dweight = the sum over images of dy[n] times im2col of x[n] transposed, added up in place."""

    @property
    def passed_on_bytes(self) -> int:
        c = self.convolution
        return super().passed_on_bytes + (c.shape[0] - 1) * c.weight.size_bytes

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> tuple[Launch, ...]:
        c, x, dy, total = self.convolution, tensors["x"], tensors["dy"], tensors["dweight"]
        sizes, leading = (c.depth, c.group_filters, c.positions), (c.positions, c.positions)
        made: list[Launch] = []
        for image in range(c.shape[0]):
            if "columns" in tensors:
                made.append(_im2col(c, x, tensors["columns"], image))
            for group in range(c.groups):
                first = group * c.group_filters
                operands = (_place(c, tensors, x, image, group), at(dy, image, first), at(total, first))
                made += self._multiply("tn", operands, x.memory, sizes, leading, gpu, image > 0)
        return tuple(made)
