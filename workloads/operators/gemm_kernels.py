"""The GEMM kernels: one row each. A new one is its source, its code object and a row here."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial

from isa.region import MAX_ROWS
from workloads.operators.operator import GpuFacts
from workloads.operators.register_tiling import BLOCK_ROWS, RegisterTile, register_cycles
from workloads.operators.sparse_tiling import SparseTile, sparse_cycles
from workloads.operators.tiles import LINE_BYTES_PER_CYCLE, SUM_CYCLES
from workloads.operators.tiling import (
    ROWS_PER_WORKGROUP,
    WAVEFRONT,
    ChosenTile,
    FewColumns,
    FixedTile,
    SharedTile,
    Splitting,
)
from workloads.shapes import GemmShape

MAX_K = (1 << 32) - 1  # a 32-bit argument
MAX_TILED_ROWS = MAX_ROWS - 1  # the tiled kernels use key 0xffffffff for "no bundle"


class ActivationFormat(Enum):
    """The form in which a kernel takes B, the activations."""

    DENSE = auto()  # as they are
    COMPACTED = auto()  # by sparse loads, which the compaction engine answers with ELLPACK-DIB lines
    CONVERTED = auto()  # as ELLPACK-DIB with counts, which another kernel makes first
    CSC = auto()  # in compressed sparse columns, which other kernels make first


@dataclass(frozen=True)
class GemmKernel:
    """A kernel that computes C = A·B."""

    name: str
    """Name in configurations."""
    activations: ActivationFormat
    """Form of B."""
    splitting: Splitting
    """Division of C among workgroups."""
    max_k: int = MAX_K
    """Largest supported K."""
    source: str = ""
    """Stem of its file in workloads/kernels, with '{variant}' for the variant of a WorkSplit; empty: `name`."""
    function: str = ""
    """Name of the kernel in the file, with '{variant}' as in `source`; empty: that of the file."""
    stored_rows: int = 4
    """Rows of C that a lane stores at a time; rows past M go to the padding of a column."""
    rate: float = 1.0
    """Best simulated share of cycles in which the fullest SIMD multiplies; decides which kernels are measured."""
    block_rows: int = 0
    """Rows of B that are compacted as a column; 0: all rows of a launch."""
    format: str = "ellpack_dib"
    """What the engine makes of B (spartan.formats)."""
    estimate: Callable[[GemmShape, float, GpuFacts], float] | None = None
    """Returns the cycles of a shape for a share of zeros in B on a GPU; None: the kernel runs only if named."""

    @property
    def code_object(self) -> str:
        """The name of its file in workloads/kernels, without suffix."""
        return self.source or self.name

    @property
    def sparse(self) -> bool:
        """Whether zeros of B are skipped."""
        return self.activations is not ActivationFormat.DENSE

    @property
    def rounds_to_half(self) -> bool:
        """Whether B goes through ELLPACK-DIB, and so is rounded to FP16."""
        return self.activations in (ActivationFormat.COMPACTED, ActivationFormat.CONVERTED)

    @property
    def uses_engine(self) -> bool:
        """Whether the compaction engine serves its loads of B."""
        return self.activations is ActivationFormat.COMPACTED


def _converted_first(
    product: Callable[[GemmShape, float, GpuFacts], float], shape: GemmShape, zeros: float, gpu: GpuFacts
) -> float:
    """Return the cycles of `product` and of the conversion, which reads B and stores its bundles."""
    return product(shape, zeros, gpu) + 4 * shape.n * shape.k * (2.0 - zeros) / LINE_BYTES_PER_CYCLE + SUM_CYCLES


_FOUR_COLUMNS = FixedTile(ROWS_PER_WORKGROUP, 4, (4 * WAVEFRONT, 1, 1))
_DENSE, _COMPACTED, _CONVERTED = ActivationFormat.DENSE, ActivationFormat.COMPACTED, ActivationFormat.CONVERTED
_TABLE = (
    GemmKernel("sgemm_4x4", _DENSE, FixedTile(32, 32, (WAVEFRONT, 1, 1)), rate=0.75),
    GemmKernel("mmm_local", _DENSE, FixedTile(32, 32, (WAVEFRONT, 1, 1)), rate=0.83),
    GemmKernel("sgemm_tiled16", _DENSE, FixedTile(16, 16, (16, 16, 1)), stored_rows=1, rate=0.22),
    GemmKernel("sgemm", _DENSE, ChosenTile(), function="sgemm_nn_{variant}", stored_rows=1, rate=0.92),
    GemmKernel("sgemm_wide", _DENSE, SharedTile(), rate=0.75),
    GemmKernel("few_columns", _DENSE, FewColumns(), function="few_columns_{variant}", stored_rows=1),
    GemmKernel(
        "sgemm_dib_tiled",
        _COMPACTED,
        SparseTile(),
        MAX_TILED_ROWS,
        function="sgemm_dib_tiled_{variant}",
        estimate=sparse_cycles,
    ),
    GemmKernel(
        "sgemm_dib_registers",
        _COMPACTED,
        RegisterTile(),
        source="sgemm_dib_registers{variant}",
        block_rows=BLOCK_ROWS,
        estimate=register_cycles,
    ),
    GemmKernel("sgemm_dib_gather", _COMPACTED, _FOUR_COLUMNS, MAX_ROWS),
    GemmKernel("sgemm_2_4_gather", _COMPACTED, _FOUR_COLUMNS, MAX_ROWS, source="sgemm_dib_gather", format="2:4"),
    GemmKernel("dib_algorithm3", _COMPACTED, FixedTile(32, 32, (4 * WAVEFRONT, 1, 1), columns_first=True), MAX_ROWS),
    GemmKernel(
        "software",
        _CONVERTED,
        SparseTile(),
        MAX_TILED_ROWS,
        source="sgemm_dib_tiled_nnz",
        function="sgemm_dib_tiled_nnz_{variant}",
        estimate=partial(_converted_first, sparse_cycles),
    ),
    GemmKernel(
        "software_registers",
        _CONVERTED,
        RegisterTile(),
        source="sgemm_dib_registers_nnz{variant}",
        block_rows=BLOCK_ROWS,
        estimate=partial(_converted_first, register_cycles),
    ),
    GemmKernel(
        "csc", ActivationFormat.CSC, FixedTile(WAVEFRONT, 4, (4 * WAVEFRONT, 1, 1)), function="sgemm_csc", stored_rows=1
    ),
)

GEMM_KERNELS = {kernel.name: kernel for kernel in _TABLE}
DENSE_KERNELS = tuple(kernel.name for kernel in _TABLE if not kernel.sparse)
SPARSE_KERNELS = tuple(kernel.name for kernel in _TABLE if kernel.sparse)
# of which `auto`, `fastest_engine` and `fastest_software` take one
SPARSE_CHOICES = tuple(kernel.name for kernel in _TABLE if kernel.estimate and kernel.uses_engine)
SOFTWARE_CHOICES = tuple(kernel.name for kernel in _TABLE if kernel.estimate and not kernel.uses_engine)


def sparse_estimates(
    shape: GemmShape, zeros: float, gpu: GpuFacts, kernels: tuple[str, ...] = SPARSE_CHOICES
) -> dict[str, float]:
    """Return the cycles of a product with the share `zeros` of B zero, for each of `kernels` that has an estimate.

    Args:
        shape: Shape of the product.
        zeros: Share of B that is zero.
        gpu: The GPU.
        kernels: Names of kernels.
    """
    rows = (GEMM_KERNELS[kernel] for kernel in kernels)
    return {row.name: row.estimate(shape, zeros, gpu) for row in rows if row.estimate}
