"""Convolution by sparse matrix products in ELLPACK-DIB (Dong 2020, chapter 6): zeros of the activations are skipped.

im2col writes down what windows meet, a column of the matrix B for each, of as many images at a time as a bound on the
memory allows. The product reads it as ELLPACK-DIB: compacted by the engine on its way from memory, by a kernel that
runs before, or by im2col itself, which then writes no matrix. The filters are transposed once, the results after each
product: the product's matrices are column-major.

This is the forward pass; `conv_sparse_weights` has the gradients of the weights. Those of the data have dense operands
alone and go through FP32 in full, by the default algorithm.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from isa.device_memory import Allocation
from isa.kernarg import Pointer
from isa.launch import Launch
from isa.region import LINE_ELEMENTS
from workloads.operators.conv_implicit import ImplicitBackwardData, ImplicitBackwardWeights
from workloads.operators.conv_passes import ConvolutionForward, ConvolutionPass
from workloads.operators.convolution import Convolution
from workloads.operators.gemm import ABSENT_AFTER, EllpackMatrix, GemmBuffers, gemm
from workloads.operators.gemm_kernels import GEMM_KERNELS, MAX_TILED_ROWS, GemmKernel
from workloads.operators.launching import divisor, launch
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.primitive import LaunchTuple, ReferenceValue
from workloads.operators.register_tiling import BLOCK_ROWS, divide, most_parts, register_cycles
from workloads.operators.sparse_tiling import tiling_of_whole_sum
from workloads.operators.tensor import FLOAT, INDEX, Operand, Tensor
from workloads.operators.tiles import LINE_BYTES_PER_CYCLE
from workloads.shapes import GemmShape, round_up

EDGE = 64  # workloads/kernels/conv_sparse.cl
CHUNK_BYTES = 1 << 28  # of B, and of x, at a time, if an image has no more
MAX_BYTES = (1 << 32) - (1 << 20)  # of an image's matrices: 32-bit offsets


def refuses(c: Convolution) -> str:
    """Return why a product of bundles cannot compute the convolution, '' where it can."""
    if c.depth > MAX_TILED_ROWS:
        return (
            f"{c.depth} weights of a filter; allowed are at most {MAX_TILED_ROWS} (a bundle holds a 16-bit row index)"
        )
    return refuses_any_depth(c)


def explain_no_registers(c: Convolution) -> str:
    """Return why the product with A in registers cannot compute the convolution, '' where it can."""
    if c.depth % BLOCK_ROWS:
        return f"{c.depth} weights of a filter; allowed are multiples of {BLOCK_ROWS}, which are compacted at a time"
    return refuses_any_depth(c)


def refuses_any_depth(c: Convolution) -> str:
    """Return why no product can compute the convolution, whatever its filters' depth, '' where one can."""
    sizes = {
        "an image's planes have": 4 * c.group_channels * c.shape[2] * c.shape[3],
        "im2col of an image has": 4 * _shape(c, 1).ldb * c.positions,
        "an image's results have": 4 * _shape(c, 1).ldc * c.positions,
        "a group's filters have": 4 * _shape(c, 1).lda * _shape(c, 1).padded_k,
    }
    return too_large(sizes)


def too_large(held: Mapping[str, int]) -> str:
    """Return which of some matrices is larger than kernels can reach, '' where none is. held: bytes by 'it has'."""
    for what, size in held.items():
        if size > MAX_BYTES:
            return f"{what} {size} bytes; allowed are at most {MAX_BYTES}"
    return ""


def _shape(c: Convolution, images: int) -> GemmShape:
    return GemmShape(c.group_filters, images * c.positions, c.depth)


def chunk_images(c: Convolution) -> int:
    """Return how many images have their columns in memory together."""
    return images_together(c, max(4 * _shape(c, 1).ldb * c.positions, 4 * prod(c.shape[1:])))


def images_together(c: Convolution, of_image_bytes: int) -> int:
    """Return how many images are in memory together, about equally many each time: CHUNK_BYTES bound what they have."""
    most = max(1, CHUNK_BYTES // of_image_bytes)
    return -(-c.shape[0] // -(-c.shape[0] // most))


def inside(c: Convolution) -> float:
    """Return the share of the terms of a convolution's sums that are no padding."""
    padded = c.pad(np.ones((1, *c.shape[1:]), bool))
    return float(np.mean([c.get_tap_view(padded, tap).mean() for tap in c.all_taps()]))


def im2col_arguments(c: Convolution, x: Tensor, first: int, images: int, group: int, ld: int) -> dict[str, Any]:
    """Return what im2col's kernels take of a group's channels in `images` images from `first` on. ld: between columns
    of what they write.
    """
    (height, width), windows = c.shape[2:], images * c.positions
    of_image, of_group = c.shape[1] * height * width, c.group_channels * height * width
    met = 4 * ((images - 1) * of_image + of_group)
    sizes = [height, width, met, c.depth, windows, *c.dilation, *c.stride, *c.padding[:2], 4 * of_image]
    divisors = [divisor(number) for number in (c.taps, c.kernel[1], c.outputs[1], c.positions)]
    return {
        "x": tensor_after(x, first * of_image + group * of_group),
        "ld": ld,
        "m": np.concatenate([np.array(sizes, np.uint32), *divisors]),
    }


@dataclass(frozen=True)
class SparseConvolutionPass(ConvolutionPass):
    """A pass by products of x in ELLPACK-DIB, whose values are rounded to FP16."""

    kernel: ClassVar[str]
    """Product kernel: a name of GEMM_KERNELS."""
    fused: ClassVar[bool] = False
    """im2col writes the bundles."""
    refuses: ClassVar = staticmethod(refuses_any_depth)
    """Returns the reason why a convolution is not supported; empty: supported."""
    skips_zeros_of = ("x",)

    def __post_init__(self) -> None:
        if problem := self.refuses(self.convolution):
            raise self.refuse(problem)

    @property
    def _kernel(self) -> GemmKernel:
        return GEMM_KERNELS[self.kernel]

    @property
    @abstractmethod
    def _shapes(self) -> list[GemmShape]:
        """The shape of the product over each chunk of images."""

    @property
    def needed_macs(self) -> int:
        return 0

    def _parts_bytes(self, gpu: GpuFacts) -> int:
        """Count the bytes that are stored because sums come in parts: those of a column that is not, taken off."""
        if not self._kernel.block_rows:
            return 0
        total = 0
        for shape in self._shapes:
            schedule = divide(shape, gpu.compute_units)
            if schedule.slots > 1:
                column = 4 * round_up(shape.m, self._kernel.stored_rows)
                total += ((schedule.slots - 1) * column + 4 * shape.ldc) * (shape.n - schedule.first_column)
        return self.convolution.groups * total

    def rounded(self, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return the operands with x as the product reads it."""
        with np.errstate(over="ignore"):  # what overflows becomes infinite, as in a bundle
            return {**inputs, "x": inputs["x"].astype(np.float16).astype(np.float32)}


@dataclass(frozen=True)
class SparseForward(SparseConvolutionPass, ConvolutionForward):
    """y = the filters times im2col of x in ELLPACK-DIB."""

    refuses: ClassVar = staticmethod(refuses)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relu:
            raise self.refuse("a ReLU is no step of its kernels; allowed is relu = False")

    def _shape(self, images: int) -> GemmShape:
        """Return the shape of the product over so many images."""
        return _shape(self.convolution, images)

    @property
    def _step(self) -> int:
        """Images that have what is compacted in memory together."""
        return chunk_images(self.convolution)

    @cached_property
    def _chunk(self) -> GemmShape:
        """The shape of the product over a chunk of images."""
        return self._shape(self._step)

    @property
    def _converts(self) -> bool:
        """Whether a kernel makes bundles, which are stored."""
        return not self._kernel.uses_engine

    @property
    def workspace(self) -> Mapping[str, Operand]:
        c, shape = self.convolution, self._chunk
        operands = {
            "filters": Operand((c.groups, shape.padded_k, shape.lda), by_image=False),
            "products": Operand((shape.n, shape.ldc), by_image=False),
        }
        if not self.fused:
            operands["columns"] = Operand((shape.n, shape.ldb), by_image=False)
        if self._converts:
            rows = self._kernel.block_rows
            counts = (-(-c.depth // rows) + 1) * shape.n + ABSENT_AFTER if rows else shape.n
            operands["bundles"] = Operand((shape.n, shape.ldb), INDEX, by_image=False)
            operands["counts"] = Operand((counts,), INDEX, by_image=False)
        if self._kernel.block_rows:
            operands["parts"] = Operand((max(map(most_parts, self._shapes)),), by_image=False)
        return operands

    @property
    def _shapes(self) -> list[GemmShape]:
        c, step = self.convolution, self._step
        return [self._shape(min(step, c.shape[0] - first)) for first in range(0, c.shape[0], step)]

    @property
    def passed_on_bytes(self) -> int:
        """Bytes of the filters, and of all images' columns and products; neither of the bundles, which values decide,
        nor of the parts of sums, which the GPU does.
        """
        c = self.convolution
        rows = round_up(c.group_filters, self._kernel.stored_rows)
        columns = 0 if self.fused else c.depth
        return c.weight.size_bytes + 4 * c.shape[0] * c.positions * c.groups * (columns + rows)

    def work_on(self, inputs: Mapping[str, np.ndarray], gpu: GpuFacts | None = None) -> OperatorCost:
        """Count a multiply-accumulate for each non-zero and filter; bundles in whole lines, counts, parts of sums."""
        found = stored = 0
        least = int(self._kernel.block_rows > 0)  # lines of a block
        for non_zeros in self._non_zeros(inputs["x"]):
            found += int(non_zeros.sum())
            stored += 4 * int((np.maximum(-(-non_zeros // LINE_ELEMENTS), least) * LINE_ELEMENTS + 1).sum())
        work, needed = self.work, self.convolution.group_filters * found
        passed_on = (stored if self._converts else 0) + (self._parts_bytes(gpu) if gpu else 0)
        return replace(work, needed_macs=needed, stored_bytes=work.stored_bytes + passed_on)

    def estimated_cycles(self, zeros: float, gpu: GpuFacts) -> float:
        """Estimate the cycles of all launches with the share `zeros` of x zero.

        The products are estimated as `kernels.sparse=auto` does, whose B has padding's zeros too; the others take the
        time that memory takes for what they read and store.
        """
        c, estimate = self.convolution, self._kernel.estimate
        if self.fused:  # B needs no conversion
            estimate = register_cycles
        assert estimate is not None
        of_terms = 1.0 - (1.0 - zeros) * inside(c)
        products = c.groups * sum(estimate(shape, of_terms, gpu) for shape in self._shapes)
        met = c.shape[0] * c.positions * c.groups * c.depth * (1.0 - of_terms if self.fused else 1.0)
        moved = prod(c.shape) + met + 2 * c.weight.size + 2 * c.shape[0] * c.positions * c.filters
        return products + 4 * moved / LINE_BYTES_PER_CYCLE

    def _non_zeros(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the non-zeros of what is compacted by itself, of some images at a time: [images, groups, blocks of the
        columns' rows, rows, columns of windows].
        """
        c, rows = self.convolution, self._kernel.block_rows or self.convolution.depth
        for part in c.chunks(len(x)):
            padded = c.pad(x[part] != 0)
            met = np.stack([c.get_tap_view(padded, tap) for tap in c.all_taps()], axis=3)
            by_weight = met.reshape(*met.shape[:2], c.depth, *c.outputs)
            yield np.add.reduceat(by_weight, range(0, c.depth, rows), axis=2, dtype=np.int64)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return super().reference(self.rounded(inputs), first)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        """Transpose the filters; then, for each chunk and group: im2col, the product, and its transposition."""
        c, step = self.convolution, self._step
        made = [self._transposed_filters(tensors)]
        for first in range(0, c.shape[0], step):
            images = min(step, c.shape[0] - first)
            made += self._of_chunk(tensors, first, images)
            for group in range(c.groups):
                made.append(self._im2col(tensors, first, images, group))
                made += self._products(tensors, images, group, gpu)
                made.append(self._results(tensors, first, images, group))
        return tuple(made)

    def _of_chunk(self, tensors: Mapping[str, Tensor], first: int, images: int) -> LaunchTuple:
        """Return what comes before a chunk of so many images, from `first` on, whatever their values."""
        return ()

    def _transposed_filters(self, tensors: Mapping[str, Tensor]) -> Launch:
        c, shape = self.convolution, self._chunk
        matrices = (tensors["weight"].pointer, tensors["filters"].pointer)
        sizes, leading = (c.group_filters, c.depth), (c.depth, shape.lda)
        steps = (c.group_filters * c.depth, shape.padded_k * shape.lda)
        return transpose(tensors, matrices, sizes, leading, steps, c.groups)

    def _im2col(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        c, windows = self.convolution, images * self.convolution.positions
        values = im2col_arguments(c, tensors["x"], first, images, group, self._chunk.ldb)
        kernel, to = "im2col_columns", {"columns": tensors.get("columns")}
        if self.fused:
            kernel, to = "im2col_bundles", {"bundles": tensors["bundles"], "absent": tensors["counts"]}
        kernel += "_small" * (prod(c.shape[2:]) < LINE_ELEMENTS)
        grid = (-(-c.depth // EDGE), -(-windows // EDGE), 1)
        return launch("conv_sparse", kernel, tensors["x"].memory, grid, values | to)

    def _products(self, tensors: Mapping[str, Tensor], images: int, group: int, gpu: GpuFacts) -> LaunchTuple:
        shape, filters = self._shape(images), tensors["filters"]
        a = tensor_part(filters, group, self.convolution.groups)
        b = tensor_part(tensors["bundles" if self.fused else "columns"])
        buffers = GemmBuffers(shape, filters.memory, a, b, tensor_part(tensors["products"]))
        converted = None
        if self._converts:
            converted = EllpackMatrix(tensor_part(tensors["bundles"]), tensor_part(tensors["counts"]), made=self.fused)
        if self._kernel.block_rows:
            return gemm(self.kernel, buffers, gpu, None, converted, tensor_part(tensors["parts"])).launches
        # in one part: what a sum is must not depend on how many images are in a chunk
        return gemm(self.kernel, buffers, gpu, tiling_of_whole_sum(shape, gpu), converted).launches

    def _results(self, tensors: Mapping[str, Tensor], first: int, images: int, group: int) -> Launch:
        c, shape = self.convolution, self._chunk
        channel = group * c.group_filters
        y = tensor_after(tensors["y"], (first * c.filters + channel) * c.positions)
        bias = tensor_after(tensors["bias"], channel) if self.bias else None
        sizes, leading = (c.positions, c.group_filters), (shape.ldc, c.positions)
        steps = (c.positions * shape.ldc, c.filters * c.positions)
        return transpose(tensors, (tensors["products"].pointer, y), sizes, leading, steps, images, bias)

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        return ImplicitBackwardWeights(self.convolution), ImplicitBackwardData(self.convolution)


@dataclass(frozen=True)
class EllpackDibForward(SparseForward):
    """B is a sparse region of the product's launch: the engine compacts the lines that its sparse loads ask for."""

    algorithm = "ellpack_dib"
    kernel = "sgemm_dib_tiled"


@dataclass(frozen=True)
class EllpackDibRegistersForward(SparseForward):
    """As EllpackDibForward, with the filters in vector registers: the engine compacts 64 rows of B at a time.

    The last tiles of a chunk are divided among all compute units: what a sum is depends on how many there are.
    """

    algorithm = "ellpack_dib_registers"
    kernel = "sgemm_dib_registers"
    refuses: ClassVar = staticmethod(explain_no_registers)


@dataclass(frozen=True)
class EllpackDibSoftwareForward(SparseForward):
    """A kernel makes bundles of B before the product."""

    algorithm = "ellpack_dib_software"
    kernel = "software"


@dataclass(frozen=True)
class EllpackDibSoftwareRegistersForward(SparseForward):
    """A kernel makes bundles of 64 rows of B at a time; the filters are in vector registers."""

    algorithm = "ellpack_dib_software_registers"
    kernel = "software_registers"
    refuses: ClassVar = staticmethod(explain_no_registers)


@dataclass(frozen=True)
class EllpackDibFusedForward(SparseForward):
    """im2col makes bundles of 64 rows at a time, and B is nowhere; the filters are in vector registers."""

    algorithm = "ellpack_dib_fused"
    kernel = "software_registers"
    fused = True
    refuses: ClassVar = staticmethod(refuses_any_depth)


SPARSE_FORWARD = (
    EllpackDibForward,
    EllpackDibRegistersForward,
    EllpackDibSoftwareForward,
    EllpackDibSoftwareRegistersForward,
    EllpackDibFusedForward,
)


def tensor_after(tensor: Tensor, elements: int) -> Pointer:
    """Return where so many elements of a tensor lie behind one."""
    return Pointer(tensor.address + 4 * elements, FLOAT)


def tensor_part(tensor: Tensor, number: int = 0, parts: int = 1) -> Allocation:
    """Return one of equal parts of a tensor, as an allocation."""
    from isa.device_memory import Allocation

    size = tensor.size_bytes // parts
    return Allocation("", tensor.address + number * size, size)


def transpose(
    tensors: Mapping[str, Tensor], matrices: tuple[Pointer, Pointer], sizes: tuple[int, int],
    leading: tuple[int, int], steps: tuple[int, int], count: int, bias: Pointer | None = None,
) -> Launch:  # fmt: skip
    """Return the launch that transposes `count` matrices, the first of `matrices` into the second.

    Args:
        sizes: Rows and columns of the source.
        leading: Elements between rows of both.
        steps: Elements between matrices of both.
        bias: Added to each row of the target.
    """
    names = {"from": matrices[0], "to": matrices[1], "bias": bias or Pointer(0, FLOAT)}
    values = {**names, "rows": sizes[0], "columns": sizes[1], "from_ld": leading[0], "to_ld": leading[1]}
    values |= {"from_step": steps[0], "to_step": steps[1], "add": int(bias is not None)}
    grid = (-(-sizes[0] // EDGE), -(-sizes[1] // EDGE), count)
    values["by_groups"] = divisor(grid[1])
    return launch("conv_sparse", "transpose", next(iter(tensors.values())).memory, grid, values)
