"""Matrix multiplication as an operator: operands in device memory, launches of a kernel of the table, the reference."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from isa.device_memory import Allocation, DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from isa.region import LINE_ELEMENTS, SparseRegion
from workloads.operators.gemm_csc import CscMatrix
from workloads.operators.gemm_kernels import GEMM_KERNELS, ActivationFormat, GemmKernel
from workloads.operators.launching import launch
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.register_tiling import BLOCK_ROWS
from workloads.operators.tensor import Tensor
from workloads.operators.tiles import DEPTH, DepthSplit, sum_parts
from workloads.operators.tiling import WAVEFRONT, Tiling, WorkSplit
from workloads.operators.verify import ReferencePart, inner_product_bound
from workloads.shapes import GemmShape, round_up

if TYPE_CHECKING:
    from workloads.data.operands import Operands

MAX_OPERAND_BYTES = 1 << 32  # the kernels reach A by a 32-bit offset
CONVERT_COLUMNS = 4  # of a workgroup of dib_convert: one a wavefront
CONVERT_BLOCKS, CONVERT_BLOCKS_ITEMS = (4, 16), 256  # of dib_convert_blocks: blocks of rows, columns
ABSENT_AFTER = 4  # words that sgemm_dib_registers_nnz may read past what it is told of one block after the last
CHUNK_COLUMNS = 512  # of the reference: bounds the memory of the FP64 copies


class GemmError(UserError):
    """A kernel cannot compute a GEMM; the message says what is allowed."""


@dataclass(frozen=True)
class GemmBuffers:
    """The operands in device memory, and views of them as stored: [columns, leading dimension] float32."""

    shape: GemmShape
    """Shape of the product."""
    memory: DeviceMemory
    """Device memory."""
    a: Allocation
    """Matrix A."""
    b: Allocation
    """Matrix B."""
    c: Allocation
    """Matrix C."""

    @staticmethod
    def bytes_of(shape: GemmShape) -> int:
        """Count the bytes of A, B and C together."""
        return 4 * (shape.lda * shape.padded_k + shape.ldb * shape.n + shape.ldc * shape.n)

    @classmethod
    def allocate(cls, shape: GemmShape, memory: DeviceMemory, a: Allocation | None = None) -> "GemmBuffers":
        """Allocate zeroed A, B and C, or B and C for a given A; raise DeviceMemoryError where they do not fit."""
        a = a or memory.allocate(4 * shape.lda * shape.padded_k, "A (weights)")
        b = memory.allocate(4 * shape.ldb * shape.n, "B (activations)")
        c = memory.allocate(4 * shape.ldc * shape.n, "C (outputs)")
        return cls(shape, memory, a, b, c)

    def seal(self) -> None:
        """Refuse stores to the inputs from now on."""
        self.memory.protect(self.a)
        self.memory.protect(self.b)

    @property
    def a_stored(self) -> np.ndarray:
        """A, [padded K, lda]."""
        return self.memory.view(self.a, np.float32).reshape(self.shape.padded_k, self.shape.lda)

    @property
    def b_stored(self) -> np.ndarray:
        """B, [N, ldb]."""
        return self.memory.view(self.b, np.float32).reshape(self.shape.n, self.shape.ldb)

    @property
    def c_stored(self) -> np.ndarray:
        """C, [N, ldc]."""
        return self.memory.view(self.c, np.float32).reshape(self.shape.n, self.shape.ldc)


@dataclass(frozen=True)
class EllpackMatrix:
    """B in ELLPACK-DIB as a kernel produces it."""

    bundles: Allocation
    """uint32 [N, ldb]: bundles."""
    counts: Allocation
    """Non-zeros of each column [N], or of each block of its rows [blocks, N], as the kernel counts them."""
    made: bool = False
    """A launch before the product produces it."""

    @classmethod
    def allocate(cls, buffers: GemmBuffers, block_rows: int = 0) -> "EllpackMatrix":
        """Allocate zeroed arrays for a kernel of so many block_rows; raise DeviceMemoryError where they do not fit."""
        shape, memory = buffers.shape, buffers.memory
        bundles = memory.allocate(4 * shape.ldb * shape.n, "ELLPACK-DIB B")
        counts = (-(-shape.k // block_rows) + 1) * shape.n + ABSENT_AFTER if block_rows else shape.n
        return cls(bundles, memory.allocate(4 * counts, "non-zeros a column"))


@dataclass(frozen=True)
class GemmOperator:
    """C = A·B by one kernel of the table (workloads.operators.operator.Operator)."""

    kernel: GemmKernel
    """Kernel."""
    buffers: GemmBuffers
    """Buffers of the operands and the result."""
    launches: tuple[Launch, ...]
    """Launches in order."""
    parts: int = 1
    """Number of parts of the sum over k."""
    blocks: tuple[range, ...] = ()
    """Rows of B that each launch of the product uses."""
    decisive: frozenset[int] = frozenset()
    """Numbers of the launches that convert B and so decide the time of later ones."""
    apart: int = 0
    """First column of C that is computed in parts."""

    @property
    def name(self) -> str:
        """The kernel's name in configurations."""
        return self.kernel.name

    @property
    def inputs(self) -> Mapping[str, np.ndarray]:
        """The operands A [K, M] and B [N, K], without padding."""
        shape = self.buffers.shape
        return {"A": self.buffers.a_stored[: shape.k, : shape.m], "B": self.buffers.b_stored[:, : shape.k]}

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """The result C [N, M], without padding."""
        return {"C": self.buffers.c_stored[:, : self.buffers.shape.m]}

    @property
    def work(self) -> OperatorCost:
        """Cost of the product.

        A kernel that skips zeros needs, for each non-zero of B, a multiply-accumulate for each row of A; it reads the
        columns of A that some non-zero meets, and the non-zeros themselves. The conversion in software reads all of B,
        and stores bundles in whole lines and a count a column. Parts of a sum are stored, and C with its padding.
        """
        m, n, k = self.buffers.shape.m, self.buffers.shape.n, self.buffers.shape.k
        macs, written = m * n * k, 4 * m * n
        column, summed = 4 * round_up(m, self.kernel.stored_rows), n - self.apart
        stored = column * n
        if self.parts > 1:
            stored = column * self.apart + (self.parts * column + 4 * self.buffers.shape.ldc) * summed
        if not self.kernel.sparse:
            return OperatorCost(macs, macs, 4 * (m * k + k * n), written, stored)
        set_ = self.inputs["B"] != 0
        non_zeros, met = np.count_nonzero(set_, axis=1), int(set_.any(axis=0).sum())
        total = int(non_zeros.sum())
        if self.kernel.uses_engine:
            return OperatorCost(macs, m * total, 4 * (m * met + total), written, stored)
        if self.kernel.activations is ActivationFormat.CSC:  # stored: values, rows, counts, where columns begin
            return OperatorCost(macs, m * total, 4 * (m * met + k * n), written, stored + 4 * (2 * total + 2 * n + 1))
        depth = self.kernel.block_rows or k
        blocks = [block[at : at + depth] for block in self.blocks for at in range(0, len(block), depth)]
        held = [np.count_nonzero(set_[:, block.start : block.stop], axis=1) for block in blocks]
        least = int(self.kernel.block_rows > 0)  # lines of a block
        bundles = sum(int(np.maximum(-(-each // LINE_ELEMENTS), least).sum()) * LINE_ELEMENTS for each in held)
        counts = n * len(blocks)
        return OperatorCost(macs, m * total, 4 * (m * met + k * n), written, stored + 4 * bundles + 4 * counts)

    def expected(self, inputs: Mapping[str, np.ndarray]) -> Iterator[ReferencePart]:
        """Yield A·B in FP64.

        A kernel that takes B through ELLPACK-DIB is given each element rounded to FP16 (nearest even), which is exactly
        what a bundle holds; against the unrounded B that is a further error of 2^-11 for each element.
        """
        return gemm_reference(inputs["A"], inputs["B"], half_precision_b=self.kernel.rounds_to_half)

    def zero_fractions(self) -> tuple[float, float]:
        """Return the shares of zeros among the elements of B, and among its lines of 16 elements of a column."""
        from workloads.data.patterns import sparsity_of, zero_lines_of

        held, k = self.buffers.b_stored, self.buffers.shape.k
        return sparsity_of(held, k), zero_lines_of(held, k)


def build_gemm(kernel: str, shape: GemmShape, data: "Operands", memory: DeviceMemory, gpu: GpuFacts) -> GemmOperator:
    """Build the operator with operands of its own in `memory`, filled with `data` and sealed.

    Raise DeviceMemoryError, CodeObjectError, GemmError, and the errors of `data`.

    Args:
        kernel: Name of the kernel.
        shape: Shape of the product.
        data: Its operands.
        memory: Device memory.
        gpu: The GPU.

    Raises:
        DeviceMemoryError: The memory does not hold them.
        CodeObjectError: The kernel cannot be read.
        GemmError: The kernel cannot compute the shape.
    """
    buffers = GemmBuffers.allocate(shape, memory)
    operator = gemm(kernel, buffers, gpu)  # before the data: its workspace may not fit
    data.fill(buffers.a_stored, buffers.b_stored, shape)
    buffers.seal()
    return operator


def gemm(
    kernel: str,
    buffers: GemmBuffers,
    gpu: GpuFacts,
    tiling: Tiling | None = None,
    converted: EllpackMatrix | None = None,
    partial: Allocation | None = None,
    most_rows: int | None = None,
) -> GemmOperator:
    """Build the operator over operands that lie in device memory already.

    Args:
        kernel: A name of GEMM_KERNELS.
        buffers: Operands in device memory.
        gpu: Decides the work split of kernels with a shared tile, unless `tiling` does.
        tiling: Work split; None: that of the GPU.
        converted: Memory for B of a kernel that first converts it, or B that is there so.
        partial: Memory for the parts of a split sum, [parts, columns that come in parts, ldc]; None: memory is
            allocated for it.
        most_rows: Of B that a launch takes, at most what the kernel can: a longer sum is that of several launches, each
            over a block of rows.

    Raises:
        GemmError: The kernel cannot compute the shape.
    """
    if kernel not in GEMM_KERNELS:
        raise GemmError(unknown_name("GEMM kernel", kernel, GEMM_KERNELS))
    row, shape = GEMM_KERNELS[kernel], buffers.shape
    if shape.lda * shape.padded_k * 4 > MAX_OPERAND_BYTES:
        raise GemmError(f"{kernel}: A of {shape.m} x {shape.k} exceeds {MAX_OPERAND_BYTES >> 30} GiB")
    blocks = row_blocks(shape.k, min(row.max_k, most_rows or row.max_k))
    if len(blocks) > 1 and row.activations is ActivationFormat.CSC:
        raise GemmError(f"{kernel}: compressed columns are those of the whole of B; blocks of rows are not allowed")
    if len(blocks) > 1 and partial is not None:
        raise GemmError(f"{kernel}: K = {shape.k} rows; allowed are at most {row.max_k} where memory is planned ahead")
    try:
        splits = [row.splitting.split(replace(shape, k=len(block)), gpu, tiling) for block in blocks]
    except ValueError as error:
        raise GemmError(f"{kernel}: {error}") from None
    parts = sum(split.parts for split in splits)
    if row.activations is ActivationFormat.CONVERTED:
        converted = converted or EllpackMatrix.allocate(buffers, row.block_rows)
    apart = splits[0].apart or 0
    if len(blocks) > 1 and any(split.apart for split in splits):
        raise GemmError(f"{kernel}: C comes partly in one sum; blocks of rows are not allowed")
    if parts > 1:
        size = 4 * shape.ldc * (shape.n - apart) * parts
        partial = partial or buffers.memory.allocate(size, "C (parts of the sum)")
    launches: list[Launch] = []
    decisive: set[int] = set()
    made = 0
    for block, split in zip(blocks, splits, strict=True):
        operands, first = _operands(buffers, block), len(launches)
        if row.activations is ActivationFormat.CSC:
            before, operands = _compressed(buffers, operands)
            launches += before
        if converted is not None and row.activations is ActivationFormat.CONVERTED:
            launches += [] if converted.made else [_conversion(row, buffers, converted, operands)]
            counts = "absent" if row.block_rows else "counts"
            operands |= {"b_matrix": Pointer(converted.bundles.address), counts: Pointer(converted.counts.address)}
        decisive |= set(range(first, len(launches)))
        if partial is not None and parts > 1:
            part = Pointer(partial.address + 4 * shape.ldc * shape.n * made)
            operands["c_matrix" if split.apart is None or len(blocks) > 1 else "parts_matrix"] = part
        if split.apart is not None:
            operands.setdefault("parts_matrix", operands["c_matrix"])
        launches.append(_multiplication(row, buffers, split, operands, block))
        made += split.parts
    if partial is not None and parts > 1:
        summed = (shape.n - apart, shape.ldc)
        sums = Tensor(buffers.memory, partial.address, (parts, *summed))
        total = Tensor(buffers.memory, buffers.c.address + 4 * shape.ldc * apart, summed)
        launches += sum_parts(sums, total, DepthSplit(parts * DEPTH, DEPTH))
    return GemmOperator(
        kernel=row,
        buffers=buffers,
        launches=tuple(launches),
        parts=parts,
        blocks=blocks,
        decisive=frozenset(decisive),
        apart=apart,
    )


def row_blocks(k: int, most: int) -> tuple[range, ...]:
    """Divide k rows of B into the fewest blocks of at most `most` rows, about equally tall.

    All but the last begin and end on BLOCK_ROWS, so that lines and sparse loads of a block hold no row of another.
    Raise GemmError where `most` is less than that and than k.
    """
    if k <= most:
        return (range(k),)
    whole = most // BLOCK_ROWS * BLOCK_ROWS
    if not whole:
        raise GemmError(f"blocks of at most {most} rows; allowed are at least {BLOCK_ROWS}")
    depth = round_up(-(-k // -(-k // whole)), BLOCK_ROWS)
    return tuple(range(start, min(start + depth, k)) for start in range(0, k, depth))


def gemm_reference(a: np.ndarray, b: np.ndarray, half_precision_b: bool) -> Iterator[ReferencePart]:
    """Yield parts of C = A·B in FP64 with their bounds. a [K, M], b [N, K], both float32.

    Args:
        a: A [K, M], float32.
        b: B [N, K], float32.
        half_precision_b: B is rounded to FP16.
    """
    a64, a_magnitude = a.astype(np.float64), np.abs(a)
    for start in range(0, len(b), CHUNK_COLUMNS):
        operand = b[start : start + CHUNK_COLUMNS]
        if half_precision_b:
            with np.errstate(over="ignore"):  # what overflows becomes infinite, as in a bundle
                operand = operand.astype(np.float16).astype(np.float32)
        terms = np.count_nonzero(operand, axis=1).astype(np.float64)[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            bound = inner_product_bound(terms, np.abs(operand) @ a_magnitude, len(a))
        where = (slice(start, start + len(operand)), slice(0, a.shape[1]))
        yield ReferencePart("C", where, _product(operand, a64), bound)


def _product(operand: np.ndarray, a64: np.ndarray) -> np.ndarray:
    """Multiply operand [n, k] by a64 [k, m] in FP64; the operand's zeros count for nothing, even against infinities."""
    finite = np.isfinite(operand).all(axis=1)
    product: np.ndarray = np.where(finite[:, None], operand, 0).astype(np.float64) @ a64
    with np.errstate(invalid="ignore"):
        for column in np.flatnonzero(~finite):
            rows = np.flatnonzero(operand[column])
            product[column] = operand[column, rows].astype(np.float64) @ a64[rows]
    return product


def _conversion(row: GemmKernel, buffers: GemmBuffers, converted: EllpackMatrix, operands: Mapping[str, Any]) -> Launch:
    """Return the launch that converts B into the bundles and counts of non-zeros that the multiplication takes."""
    bundles, counts = Pointer(converted.bundles.address), Pointer(converted.counts.address)
    if row.block_rows:
        values = {"bundles": bundles, "absent": counts}
        values |= {name: operands[name] for name in ("b_matrix", "n", "k", "ldb")}
        blocks, columns = CONVERT_BLOCKS
        groups = (-(-operands["k"] // (row.block_rows * blocks)), -(-buffers.shape.n // columns), 1)
        return launch("dib_convert_blocks", "dib_convert_blocks", buffers.memory, groups, values, CONVERT_BLOCKS_ITEMS)
    held = {"bundles": bundles, "counts": counts}
    values = {**held, **{name: operands[name] for name in ("b_matrix", "n", "k", "ldb")}}
    groups = (-(-buffers.shape.n // CONVERT_COLUMNS), 1, 1)
    return launch("dib_convert", "dib_convert", buffers.memory, groups, values, WAVEFRONT * CONVERT_COLUMNS)


def _compressed(buffers: GemmBuffers, operands: Mapping[str, Any]) -> tuple[tuple[Launch, ...], dict[str, Any]]:
    """Return the launches that compress B into sparse columns, and the multiplication's arguments with these."""
    csc = CscMatrix.allocate(buffers.shape, buffers.memory)
    taken = {name: value for name, value in operands.items() if name not in ("b_matrix", "k", "ldb")}
    return csc.conversion(operands["b_matrix"], buffers.memory), {**taken, **csc.operands()}


def _multiplication(
    row: GemmKernel, buffers: GemmBuffers, split: WorkSplit, operands: Mapping[str, Any], block: range
) -> Launch:
    source = row.code_object.format(variant=split.variant)
    function = (row.function or row.code_object).format(variant=split.variant)
    values, groups = {**operands, **split.arguments}, split.workgroups(buffers.shape)
    regions = (_region(buffers, block, row),) if row.uses_engine else ()
    return launch(source, function, buffers.memory, groups, values, split.local_size, regions)


def _operands(buffers: GemmBuffers, block: range) -> dict[str, Any]:
    """Return the arguments that every GEMM kernel takes, by name, for a block of the sum."""
    shape = buffers.shape
    addresses = {
        "a_matrix": Pointer(buffers.a.address + 4 * shape.lda * block.start),
        "b_matrix": Pointer(buffers.b.address + 4 * block.start),
        "c_matrix": Pointer(buffers.c.address),
    }
    sizes = {"m": shape.m, "n": shape.n, "k": len(block), "lda": shape.lda, "ldb": shape.ldb, "ldc": shape.ldc}
    return {**addresses, **sizes}


def _region(buffers: GemmBuffers, block: range, row: GemmKernel) -> SparseRegion:
    """Return the sparse region of a launch over a block of the sum: columns of B, or of `block_rows` rows each.

    The rows that pad B's columns are zeros, and belong to a column's last such block.
    """
    from isa.region import SparseRegion

    shape, rows = buffers.shape, row.block_rows
    if rows:
        return SparseRegion(buffers.b.address, rows, shape.n * shape.ldb // rows, rows, row.format)
    return SparseRegion(buffers.b.address + 4 * block.start, len(block), shape.n, shape.ldb, row.format)
