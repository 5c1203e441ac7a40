"""Matrix products by matrix cores (MFMA): dense, and over lines of B that are not all zero.

B is stored by lines: of each tile of columns the values of one k, 64 bytes. A line that is all zero needs neither
itself nor its column of A. The compaction engine leaves such lines out (its format `gathered_lines`), with a line's
number in the status word; in software a pass before the product does, which stores lines, numbers and counts.

Where a list says which k there are, as that of an expert's tokens in the gradient of its weights (sum over tokens), the
engine takes the list (its format `listed_lines`), and software reads a line's number before the line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import numpy as np

from isa.device_memory import Allocation, DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from isa.region import LINE_ELEMENTS, MAX_ROWS, SparseRegion
from workloads.operators.gemm import GemmError, gemm_reference
from workloads.operators.launching import launch
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.verify import ReferencePart
from workloads.shapes import GemmShape, round_up
from workloads.toolchain.build import MATRIX_KERNELS_DIR, SHIPPED_GPUS

if TYPE_CHECKING:
    from workloads.data.operands import Operands

ROWS = 64  # of C, of a workgroup: workloads/kernels/matrix_tile.h
WAVEFRONTS = 4  # of a workgroup, each with a quarter of its part of the sum
BATCH = 16  # lines that a wavefront takes at a time
LEAST_DEPTH = 64  # lines of a quarter below which a sum is not split further
WIDE_TILES_CUS = 2  # of so many compute units one has a workgroup, where tiles are wide
WORKGROUPS_PER_CU = 2  # that a split of the sum aims at
SUMMED = 1024  # elements of a workgroup of the launch that adds up parts
GATHERED_FORMAT, LISTED_FORMAT = "gathered_lines", "listed_lines"  # of the engine


class LineSource(Enum):
    """Where a kernel has the lines of B from."""

    DENSE = auto()  # all of them, as they are stored
    ENGINE = auto()  # those that are not all zero, by sparse loads
    LISTED = auto()  # the same, by a pass in software before the product
    ROUTED = auto()  # those of a list, by sparse loads
    INDEXED = auto()  # the same, by the list's numbers


@dataclass(frozen=True)
class Values:
    """What elements of A and B are."""

    name: str
    """Name in kernels."""
    bits: int
    """Bits of one."""
    tiles: tuple[int, ...]
    """Tiles of columns that a wavefront of a dense kernel may have, ascending."""

    @property
    def columns(self) -> int:
        """Columns of a tile: those of a line of 64 bytes."""
        return 32 * LINE_ELEMENTS // self.bits

    def stored(self, array: np.ndarray) -> np.ndarray:
        """Return FP32 values as they are stored, rounded to nearest even."""
        if self.name == "float32":
            return array
        if self.name == "float16":
            with np.errstate(over="ignore"):
                return array.astype(np.float16)
        bits = array.view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    def read(self, stored: np.ndarray) -> np.ndarray:
        """Return stored values, 32-bit words in the last axis, as FP32."""
        if self.name == "float32":
            return stored.view(np.float32)
        if self.name == "float16":
            return stored.view(np.float16).astype(np.float32)
        return (stored.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


FLOAT32, FLOAT16, BFLOAT16 = (
    Values("float32", 32, (1, 2, 4)),
    Values("float16", 16, (1, 2)),
    Values("bfloat16", 16, (1, 2)),
)


@dataclass(frozen=True)
class MatrixKernel:
    """A kernel that computes C = A·B by matrix cores."""

    name: str
    """Name in configurations."""
    values: Values
    """Elements of A and B."""
    source: LineSource
    """Where it has the lines of B from."""
    function: str
    """Name in matrix_gemm.cl, without the number of tiles."""

    @property
    def uses_engine(self) -> bool:
        """Whether the compaction engine serves its loads of B."""
        return self.source in (LineSource.ENGINE, LineSource.ROUTED)

    @property
    def has_list(self) -> bool:
        """Whether a list says which lines there are."""
        return self.source in (LineSource.ROUTED, LineSource.INDEXED)


_TABLE = (
    MatrixKernel("matrix_float32", FLOAT32, LineSource.DENSE, "dense_float32"),
    MatrixKernel("matrix_float16", FLOAT16, LineSource.DENSE, "dense_float16"),
    MatrixKernel("matrix_bfloat16", BFLOAT16, LineSource.DENSE, "dense_bfloat16"),
    MatrixKernel("matrix_gathered_float32", FLOAT32, LineSource.ENGINE, "gathered_float32"),
    MatrixKernel("matrix_gathered_float16", FLOAT16, LineSource.ENGINE, "gathered_float16"),
    MatrixKernel("matrix_listed_float32", FLOAT32, LineSource.LISTED, "listed_float32"),
    MatrixKernel("matrix_listed_float16", FLOAT16, LineSource.LISTED, "listed_float16"),
    MatrixKernel("matrix_routed_float32", FLOAT32, LineSource.ROUTED, "routed_float32"),
    MatrixKernel("matrix_routed_float16", FLOAT16, LineSource.ROUTED, "routed_float16"),
    MatrixKernel("matrix_indexed_float32", FLOAT32, LineSource.INDEXED, "indexed_float32"),
    MatrixKernel("matrix_indexed_float16", FLOAT16, LineSource.INDEXED, "indexed_float16"),
)
MATRIX_KERNELS = {kernel.name: kernel for kernel in _TABLE}
DENSE_MATRIX_KERNELS = tuple(kernel.name for kernel in _TABLE if kernel.source is LineSource.DENSE)
SPARSE_MATRIX_KERNELS = tuple(kernel.name for kernel in _TABLE if kernel.source is not LineSource.DENSE)


@dataclass(frozen=True)
class MatrixDivision:
    """Division of a product among workgroups and wavefronts."""

    tiles: int
    """Tiles of columns of a wavefront."""
    row_blocks: int
    """Workgroups along the rows."""
    column_blocks: int
    """Workgroups along the columns."""
    parts: int
    """Parts of the sum, a workgroup each."""
    depth: int
    """Lines of a wavefront's quarter of a part."""
    stored: int = 0
    """Lines of a tile where a list says which there are."""

    @property
    def quarters(self) -> int:
        """Quarters of all parts."""
        return self.parts * WAVEFRONTS

    @property
    def lines(self) -> int:
        """Lines of a tile, those of zeros behind the last k included."""
        return self.stored or self.quarters * self.depth


def divide(kernel: MatrixKernel, shape: GemmShape, gpu: GpuFacts, count: int | None = None) -> MatrixDivision:
    """Divide a product: tiles as wide as C, and parts of the sum for compute units that would have no work.

    count: lines of the list, whose quarters are divided. Raise GemmError for a sum too long for a sparse region.
    """
    summed = shape.k if count is None else max(1, count)
    allowed = kernel.values.tiles if kernel.source is LineSource.DENSE else (1,)
    needed = -(-shape.n // kernel.values.columns)
    rows = -(-shape.m // ROWS)
    # wide tiles read A less often; narrow ones are more workgroups
    least = gpu.compute_units // WIDE_TILES_CUS
    wide = [count for count in allowed if count < 2 * needed and rows * -(-needed // count) >= least]
    tiles = wide[-1] if wide else allowed[0]
    columns = -(-needed // tiles)
    most = max(1, summed // (WAVEFRONTS * LEAST_DEPTH))
    parts = max(1, min(most, WORKGROUPS_PER_CU * gpu.compute_units // (rows * columns)))
    depth = round_up(-(-summed // (WAVEFRONTS * parts)), BATCH)
    stored = 0 if count is None else round_up(shape.k, BATCH) + BATCH  # the last ones are zero: behind the list's end
    together = stored or depth  # lines of a column of the region
    if kernel.uses_engine and together * LINE_ELEMENTS > MAX_ROWS:
        parted = f" in {WAVEFRONTS * parts} parts" if count is None else ""
        raise GemmError(
            f"{kernel.name}: K = {shape.k}{parted} is {together} lines each; allowed are at most "
            f"{MAX_ROWS // LINE_ELEMENTS}"
        )
    return MatrixDivision(tiles, rows, columns, parts, depth, stored)


@dataclass(frozen=True)
class MatrixGemmOperator:
    """C = A·B by one kernel of the table (workloads.operators.operator.Operator)."""

    kernel: MatrixKernel
    """Kernel."""
    shape: GemmShape
    """Shape."""
    division: MatrixDivision
    """Division of the work."""
    a: np.ndarray
    """A in device memory: words [lines, words of a column of A]."""
    b: np.ndarray
    """B in device memory: words [tiles, lines, 16]."""
    c: np.ndarray
    """C in device memory: float32 [N, ldc]."""
    launches: tuple[Launch, ...]
    """Launches in order."""
    listed: np.ndarray | None = None
    """Numbers of the k that the list names; None: all."""

    @property
    def name(self) -> str:
        """The kernel's name in configurations."""
        return self.kernel.name

    @property
    def decisive(self) -> frozenset[int]:
        """Number of the launch that gathers lines in software, whose counts decide the next one's time."""
        return frozenset({0} if self.kernel.source is LineSource.LISTED else ())

    @property
    def inputs(self) -> Mapping[str, np.ndarray]:
        """The operands as they are stored, in words, padding included."""
        return {"A": self.a, "B": self.b}

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """The result C [N, M], without padding."""
        return {"C": self.c[:, : self.shape.m]}

    def _operands(self, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return A [K, M] and B [N, K] as FP32."""
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        a, lines = self.kernel.values.read(inputs["A"][:k]), self.kernel.values.read(inputs["B"])
        b = lines.transpose(0, 2, 1).reshape(-1, lines.shape[1])
        rows = slice(None) if self.listed is None else self.listed
        return np.ascontiguousarray(a[rows, :m]), np.ascontiguousarray(b[:n, :k][:, rows])

    @property
    def work(self) -> OperatorCost:
        """Cost of the product; one over gathered lines needs those, with all columns of their tile."""
        shape, size = self.shape, self.kernel.values.bits // 8
        summed = shape.k if self.listed is None else len(self.listed)
        macs, written = shape.m * shape.n * summed, 4 * shape.m * shape.n
        stored = self.c.nbytes * (1 + (self.division.parts if self.division.parts > 1 else 0))
        if self.kernel.source is LineSource.DENSE:
            return OperatorCost(macs, macs, size * (shape.m + shape.n) * shape.k, written, stored)
        if self.listed is not None:
            return OperatorCost(macs, macs, size * (shape.m + shape.n) * summed, written, stored)
        there = np.any(self.b[:, : shape.k], axis=2)
        widths = np.minimum(self.kernel.values.columns, shape.n - self.kernel.values.columns * np.arange(len(there)))
        needed = shape.m * int((there.sum(axis=1) * np.maximum(widths, 0)).sum())
        read = size * shape.m * int(np.any(there, axis=0).sum()) + 4 * LINE_ELEMENTS * int(there.sum())
        if self.kernel.source is LineSource.LISTED:
            batches = -(-self._counts() // BATCH) * BATCH
            stored += int(batches.sum()) * 4 * (LINE_ELEMENTS + 1) + 4 * batches.size
            read = size * shape.m * int(np.any(there, axis=0).sum()) + self.b.nbytes
        return OperatorCost(macs, needed, read, written, stored)

    def _counts(self) -> np.ndarray:
        """Count the lines that are not all zero, of each quarter of each tile."""
        by_quarter = self.b.reshape(-1, self.division.depth, LINE_ELEMENTS)
        counts: np.ndarray = np.any(by_quarter, axis=2).sum(axis=1)
        return counts

    def expected(self, inputs: Mapping[str, np.ndarray]) -> Iterator[ReferencePart]:
        """Yield A·B of the stored values in FP64."""
        return gemm_reference(*self._operands(inputs), half_precision_b=False)

    def zero_fractions(self) -> tuple[float, float]:
        """Return the shares of zeros among B's elements, and among its lines: columns of A that a tile leaves out."""
        _, b = self._operands(self.inputs)
        if self.listed is not None:
            size = self.shape.n * self.shape.k
            return 1.0 - np.count_nonzero(b) / size, 1.0 - len(self.listed) / self.shape.k
        tiles = -(-self.shape.n // self.kernel.values.columns)
        there = np.any(self.b[:tiles, : self.shape.k], axis=2)
        return 1.0 - np.count_nonzero(b) / b.size, 1.0 - np.count_nonzero(there) / there.size


def build_matrix_gemm(
    kernel: MatrixKernel, shape: GemmShape, data: "Operands", memory: DeviceMemory, gpu: GpuFacts
) -> MatrixGemmOperator:
    """Build the operator with operands of its own in device memory, filled and sealed.

    Args:
        kernel: of MATRIX_KERNELS.
        shape: of the product.
        data: what A and B are; rounded to the kernel's values.
        memory: device memory, of a GPU with matrix cores.
        gpu: facts that the division depends on.

    Raises:
        DeviceMemoryError: operands or workspace do not fit.
        GemmError: the GPU has no matrix cores, or the sum is too long.
    """
    known = SHIPPED_GPUS[MATRIX_KERNELS_DIR]
    if memory.architecture not in known:
        raise GemmError(
            f"{kernel.name}: needs matrix cores, which {memory.architecture} has not, or code for them; allowed are "
            f"GPUs of {' and '.join(known)}"
        )
    values = kernel.values
    weights, activations = _drawn(shape, data)
    listed = np.flatnonzero(activations.any(axis=0)) if kernel.has_list else None
    division = divide(kernel, shape, gpu, None if listed is None else len(listed))
    a_words = ROWS * division.row_blocks * values.bits // 32 + LINE_ELEMENTS
    tiles, ldc = division.column_blocks * division.tiles, round_up(shape.m, 4)
    a = memory.allocate(4 * a_words * division.lines, "A (weights)")
    b = memory.allocate(4 * LINE_ELEMENTS * tiles * division.lines, "B (activations)")
    c = memory.allocate(4 * ldc * shape.n, "C (outputs)")
    a_view = memory.view(a, np.uint32).reshape(division.lines, a_words)
    b_view = memory.view(b, np.uint32).reshape(tiles, division.lines, LINE_ELEMENTS)
    c_view = memory.view(c, np.float32).reshape(shape.n, ldc)
    operands = {"a_matrix": a, "b_matrix": b, "c_matrix": c}
    launches = tuple(_launches(kernel, shape, division, memory, operands, listed))
    if listed is not None:  # the rows of others, which are not to be read
        others = np.setdiff1d(np.arange(shape.k), listed)
        activations[:, others] = np.random.default_rng(data.seed).standard_normal((shape.n, len(others)), np.float32)
    _fill(a_view, b_view, values, weights, activations)
    memory.protect(a)
    memory.protect(b)
    return MatrixGemmOperator(
        kernel=kernel,
        shape=shape,
        division=division,
        a=a_view,
        b=b_view,
        c=c_view,
        launches=launches,
        listed=listed,
    )


def _drawn(shape: GemmShape, data: "Operands") -> tuple[np.ndarray, np.ndarray]:
    """Return A [K, M] and B [N, K] as they are drawn."""
    weights = np.zeros((shape.padded_k, shape.lda), np.float32)
    activations = np.zeros((shape.n, shape.ldb), np.float32)
    data.fill(weights, activations, shape)
    return weights[: shape.k, : shape.m], activations[:, : shape.k]


def _fill(a: np.ndarray, b: np.ndarray, values: Values, weights: np.ndarray, activations: np.ndarray) -> None:
    """Write the operands, rounded, as the kernels take them."""
    (k, m), n = weights.shape, len(activations)
    stored = values.stored(np.ascontiguousarray(weights))
    a.view(stored.dtype)[:k, :m] = stored
    padded = np.zeros((len(b) * values.columns, k), np.float32)
    padded[:n] = activations
    lines = values.stored(padded).reshape(len(b), values.columns, k).transpose(0, 2, 1)
    b.view(lines.dtype)[:, :k] = lines


def _launches(
    kernel: MatrixKernel,
    shape: GemmShape,
    division: MatrixDivision,
    memory: DeviceMemory,
    operands: Mapping[str, Allocation],
    listed: np.ndarray | None,
) -> Iterator[Launch]:
    """Yield the launches: the pass of software, the product, the sum of its parts."""
    ldc, columns = round_up(shape.m, 4), division.column_blocks * division.tiles * division.quarters
    values: dict[str, Any] = {name: Pointer(operand.address) for name, operand in operands.items()}
    size = ldc * shape.n
    partial = memory.allocate(4 * size * division.parts, "C (parts of the sum)") if division.parts > 1 else None
    if kernel.source is LineSource.LISTED:
        bytes_of = {"b_matrix": operands["b_matrix"].size_bytes, "numbers": 4 * columns * division.depth}
        made = {name: memory.allocate(count, f"gathered {name}") for name, count in bytes_of.items()}
        made["counts"] = memory.allocate(4 * columns, "gathered lines, counts")
        places = {name: Pointer(part.address) for name, part in made.items()}
        gathered = {"b_matrix": values["b_matrix"], "gathered": places["b_matrix"], "numbers": places["numbers"]}
        gathered |= {"counts": places["counts"], "depth": division.depth, "columns": columns}
        yield _launch("gather_lines", memory, (-(-columns // WAVEFRONTS), 1, 1), gathered)
        values |= places
    regions: tuple[SparseRegion, ...] = ()
    if listed is not None:
        values |= {"count": len(listed), "tile_lines": division.lines}
    if kernel.source is LineSource.INDEXED and listed is not None:
        numbers = np.full(columns * division.depth + 2 * BATCH, division.lines - 1, np.uint32)
        numbers[: len(listed)] = listed
        values["numbers"] = Pointer(memory.upload(numbers, "numbers of the list", writable=False).address)
    if kernel.source is LineSource.ROUTED and listed is not None:
        bits = np.zeros(round_up(division.lines, 512) // 8, np.uint8)
        is_listed = np.packbits(np.isin(np.arange(shape.k), listed), bitorder="little")
        bits[: len(is_listed)] = is_listed
        rows, tiles = division.lines * LINE_ELEMENTS, division.column_blocks * division.tiles
        at = memory.upload(bits, "list of lines", writable=False).address
        regions = (SparseRegion(operands["b_matrix"].address, rows, tiles, rows, LISTED_FORMAT, at),)
    elif kernel.uses_engine:
        rows = division.depth * LINE_ELEMENTS
        regions = (SparseRegion(operands["b_matrix"].address, rows, columns, rows, GATHERED_FORMAT),)
    values |= {"n": shape.n, "depth": division.depth, "parts": division.quarters, "ldc": ldc, "part_size": size}
    values["a_words"] = ROWS * division.row_blocks * kernel.values.bits // 32 + LINE_ELEMENTS
    if partial is not None:
        values["c_matrix"] = Pointer(partial.address)
    groups = (division.row_blocks, division.column_blocks, division.parts)
    yield _launch(f"{kernel.function}_{division.tiles}", memory, groups, values, regions)
    if partial is not None:
        sums = {"partial": Pointer(partial.address), "c_matrix": Pointer(operands["c_matrix"].address)}
        sums_of = {"parts": division.parts, "fours": size // 4}
        yield _launch("sum_matrix_parts", memory, (-(-size // SUMMED), 1, 1), {**sums, **sums_of})


def _launch(
    function: str,
    memory: DeviceMemory,
    groups: tuple[int, ...],
    values: Mapping[str, Any],
    regions: tuple[SparseRegion, ...] = (),
) -> Launch:
    return launch("matrix_gemm", function, memory, groups, values, regions=regions, directory=MATRIX_KERNELS_DIR)
