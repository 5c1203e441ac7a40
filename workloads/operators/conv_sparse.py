"""Convolution by sparse matrix products in ELLPACK-DIB (Dong 2020, chapter 6): zeros of the activations are skipped.

im2col writes down what windows meet, a column of the matrix B for each, of as many images at a time as a bound on the
memory allows. The product reads it as ELLPACK-DIB, compacted by the engine on its way from memory, or by a kernel that
runs before. The filters are transposed once, the results after each product: the product's matrices are column-major.

There is the forward pass alone. Gradients go through FP32 in full, by the default algorithm.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from isa.kernarg import Pointer
from isa.region import LINE_ELEMENTS
from workloads.operators.conv_implicit import ImplicitBackwardData, ImplicitBackwardWeights
from workloads.operators.conv_passes import ConvolutionForward, ConvolutionPass
from workloads.operators.convolution import Convolution
from workloads.operators.gemm import Converted, GemmBuffers, gemm
from workloads.operators.gemm_kernels import GEMM_KERNELS, MAX_TILED_ROWS
from workloads.operators.launching import divisor, launch
from workloads.operators.operator import GpuFacts, Work
from workloads.operators.primitive import Value
from workloads.operators.register_tiling import BLOCK_ROWS
from workloads.operators.sparse_tiling import tiling_of_whole_sum
from workloads.operators.tensor import FLOAT, INDEX, Operand, Tensor
from workloads.shapes import GemmShape, round_up

if TYPE_CHECKING:
    from isa.device_memory import Allocation
    from isa.launch import Launch

EDGE = 64  # workloads/kernels/conv_sparse.cl
CHUNK_BYTES = 1 << 28  # of B at a time, if an image has no more
MAX_BYTES = (1 << 32) - (1 << 20)  # of an image's matrices: 32-bit offsets


def refuses(c: Convolution) -> str:
    """Return why a product of bundles cannot compute the convolution, '' where it can."""
    if c.depth > MAX_TILED_ROWS:
        return (
            f"{c.depth} weights of a filter; allowed are at most {MAX_TILED_ROWS} (a bundle holds a 16-bit row index)"
        )
    return _too_large(c)


def refuses_in_registers(c: Convolution) -> str:
    """Return why the product with A in registers cannot compute the convolution, '' where it can."""
    if c.depth % BLOCK_ROWS:
        return f"{c.depth} weights of a filter; allowed are multiples of {BLOCK_ROWS}, which are compacted at a time"
    return _too_large(c)


def _too_large(c: Convolution) -> str:
    held = {
        "an image's planes have": 4 * c.group_channels * c.shape[2] * c.shape[3],
        "im2col of an image has": 4 * _shape(c, 1).ldb * c.positions,
        "an image's results have": 4 * _shape(c, 1).ldc * c.positions,
        "a group's filters have": 4 * _shape(c, 1).lda * _shape(c, 1).padded_k,
    }
    for what, size in held.items():
        if size > MAX_BYTES:
            return f"{what} {size} bytes; allowed are at most {MAX_BYTES}"
    return ""


def _shape(c: Convolution, images: int) -> GemmShape:
    return GemmShape(c.group_filters, images * c.positions, c.depth)


def _chunk_images(c: Convolution) -> int:
    """Return how many images have their columns in memory together: CHUNK_BYTES bound them, chunks are about equal."""
    of_image = 4 * _shape(c, 1).ldb * c.positions
    most = max(1, CHUNK_BYTES // of_image)
    return -(-c.shape[0] // -(-c.shape[0] // most))


@dataclass(frozen=True)
class _SparseForward(ConvolutionForward):
    """y = the filters times im2col of x in ELLPACK-DIB. kernel: that of the product, a name of GEMM_KERNELS."""

    kernel: ClassVar[str]
    refuses: ClassVar = staticmethod(refuses)
    skips_zeros_of = ("x",)

    def __post_init__(self) -> None:
        if problem := self.refuses(self.convolution):
            raise self.refuse(problem)
        if self.relu:
            raise self.refuse("a ReLU is no step of its kernels; allowed is relu = False")

    @cached_property
    def _chunk(self) -> GemmShape:
        """The shape of the product over a chunk of images."""
        return _shape(self.convolution, _chunk_images(self.convolution))

    @property
    def _converts(self) -> bool:
        return not GEMM_KERNELS[self.kernel].uses_engine

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, shape = self.convolution, self._chunk
        held = {
            "filters": Operand((c.groups, shape.padded_k, shape.lda), by_image=False),
            "columns": Operand((shape.n, shape.ldb), by_image=False),
            "products": Operand((shape.n, shape.ldc), by_image=False),
        }
        if self._converts:
            held["bundles"] = Operand((shape.n, shape.ldb), INDEX, by_image=False)
            held["counts"] = Operand((shape.n,), INDEX, by_image=False)
        return held

    @property
    def needed_macs(self) -> int:
        return 0

    @property
    def passed_on_bytes(self) -> int:
        """Bytes of the filters, and of all images' columns and products; not of the bundles: values decide those."""
        c = self.convolution
        rows = round_up(c.group_filters, GEMM_KERNELS[self.kernel].stored_rows)
        return c.weight.size_bytes + 4 * c.shape[0] * c.positions * c.groups * (c.depth + rows)

    def work_on(self, inputs: Mapping[str, np.ndarray]) -> Work:
        """Count a multiply-accumulate for each non-zero and filter, and bundles in whole lines with columns' counts."""
        found = stored = 0
        for non_zeros in self._non_zeros(inputs["x"]):
            found += int(non_zeros.sum())
            stored += 4 * int((-(-non_zeros // LINE_ELEMENTS) * LINE_ELEMENTS + 1).sum())
        work, needed = self.work, self.convolution.group_filters * found
        return replace(work, needed_macs=needed, stored_bytes=work.stored_bytes + (stored if self._converts else 0))

    def _non_zeros(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the non-zeros of each column of some images at a time: [images, groups, rows, columns of windows]."""
        c = self.convolution
        for part in c.chunks(len(x)):
            padded = c.pad(x[part] != 0)
            count = np.zeros((len(padded), c.groups, *c.outputs), np.int64)
            for tap in c.all_taps():
                count += np.count_nonzero(c.met(padded, tap), axis=2)
            yield count

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        with np.errstate(over="ignore"):  # what overflows becomes infinite, as in a bundle
            rounded = inputs["x"].astype(np.float16).astype(np.float32)
        return super().reference({**inputs, "x": rounded}, first)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        """Transpose the filters; then, for each chunk and group: im2col, the product, and its transposition."""
        c = self.convolution
        made = [self._transposed_filters(tensors)]
        step = _chunk_images(c)
        for first in range(0, c.shape[0], step):
            images = min(step, c.shape[0] - first)
            for group in range(c.groups):
                made.append(self._im2col(tensors, first, images, group))
                made += self._products(tensors, images, group, gpu)
                made.append(self._results(tensors, first, images, group))
        return tuple(made)

    def _transposed_filters(self, tensors: Mapping[str, Tensor]) -> "Launch":
        c, shape = self.convolution, self._chunk
        matrices = (tensors["weight"].pointer, tensors["filters"].pointer)
        sizes, leading = (c.group_filters, c.depth), (c.depth, shape.lda)
        steps = (c.group_filters * c.depth, shape.padded_k * shape.lda)
        return _transpose(tensors, matrices, sizes, leading, steps, c.groups)

    def _im2col(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> "Launch":
        c, (height, width) = self.convolution, self.convolution.shape[2:]
        plane = height * width
        sizes = [height, width, 4 * c.group_channels * plane, c.depth, c.positions, *c.dilation, *c.stride]
        divisors = [divisor(number) for number in (c.taps, c.kernel[1], c.outputs[1])]
        windows = np.concatenate([np.array([*sizes, *c.padding[:2]], np.uint32), *divisors])
        of_image = c.shape[1] * plane
        values = {
            "x": _after(tensors["x"], first * of_image + group * c.group_channels * plane),
            "columns": tensors["columns"],
            "image_step": of_image,
            "ld": self._chunk.ldb,
            "m": windows,
        }
        grid = (-(-c.depth // EDGE), -(-c.positions // EDGE), images)
        return launch("conv_sparse", "im2col_columns", tensors["x"].memory, grid, values)

    def _products(self, tensors: Mapping[str, Tensor], images: int, group: int, gpu: GpuFacts) -> "tuple[Launch, ...]":
        shape, filters = _shape(self.convolution, images), tensors["filters"]
        a = _part(filters, group, self.convolution.groups)
        buffers = GemmBuffers(shape, filters.memory, a, _part(tensors["columns"]), _part(tensors["products"]))
        converted = Converted(_part(tensors["bundles"]), _part(tensors["counts"])) if self._converts else None
        # in one part: what a sum is must not depend on how many images are in a chunk
        tiling = tiling_of_whole_sum(shape, gpu)
        return gemm(self.kernel, buffers, gpu, tiling, converted).launches

    def _results(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> "Launch":
        c, shape = self.convolution, self._chunk
        channel = group * c.group_filters
        y = _after(tensors["y"], (first * c.filters + channel) * c.positions)
        bias = _after(tensors["bias"], channel) if self.bias else None
        sizes, leading = (c.positions, c.group_filters), (shape.ldc, c.positions)
        steps = (c.positions * shape.ldc, c.filters * c.positions)
        return _transpose(tensors, (tensors["products"].pointer, y), sizes, leading, steps, images, bias)

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        return ImplicitBackwardWeights(self.convolution), ImplicitBackwardData(self.convolution)


@dataclass(frozen=True)
class EllpackDibForward(_SparseForward):
    """B is a sparse region of the product's launch: the engine compacts the lines that its sparse loads ask for."""

    algorithm = "ellpack_dib"
    kernel = "sgemm_dib_tiled"


@dataclass(frozen=True)
class EllpackDibRegistersForward(_SparseForward):
    """As EllpackDibForward, with the filters in vector registers: the engine compacts 64 rows of B at a time."""

    algorithm = "ellpack_dib_registers"
    kernel = "sgemm_dib_registers"
    refuses: ClassVar = staticmethod(refuses_in_registers)


@dataclass(frozen=True)
class EllpackDibSoftwareForward(_SparseForward):
    """A kernel makes bundles of B before the product."""

    algorithm = "ellpack_dib_software"
    kernel = "software"


def _after(tensor: Tensor, elements: int) -> Pointer:
    return Pointer(tensor.address + 4 * elements, FLOAT)


def _part(tensor: Tensor, number: int = 0, parts: int = 1) -> "Allocation":
    """Return one of equal parts of a tensor, as an allocation."""
    from isa.device_memory import Allocation

    size = tensor.size_bytes // parts
    return Allocation("", tensor.address + number * size, size)


def _transpose(
    tensors: Mapping[str, Tensor], matrices: tuple[Pointer, Pointer], sizes: tuple[int, int],
    leading: tuple[int, int], steps: tuple[int, int], count: int, bias: Pointer | None = None,
) -> "Launch":  # fmt: skip
    """Return the launch that transposes `count` matrices, the first of `matrices` into the second.

    sizes: rows and columns of the source; leading, steps: elements between rows and between matrices of both; bias:
    added to each row of the target.
    """
    names = {"from": matrices[0], "to": matrices[1], "bias": bias or Pointer(0, FLOAT)}
    values = {**names, "rows": sizes[0], "columns": sizes[1], "from_ld": leading[0], "to_ld": leading[1]}
    values |= {"from_step": steps[0], "to_step": steps[1], "add": int(bias is not None)}
    grid = (-(-sizes[0] // EDGE), -(-sizes[1] // EDGE), count)
    return launch("conv_sparse", "transpose", tensors["weight"].memory, grid, values)
