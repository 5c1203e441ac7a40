"""From a layer to kernel launches: operands in device memory, kernel arguments, and the check of the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.errors import UserError
from isa.kernarg import Local, Pointer, pack
from isa.region import MAX_ROWS
from workloads.operators.shapes import GemmShape, gemm_shape
from workloads.operators.tiling import DENSE_COLUMNS, ROWS_PER_WORKGROUP, Tiling, choose_dense_tiling, choose_tiling
from workloads.toolchain.build import code_object_path

if TYPE_CHECKING:
    from gpusim.config.run import RunConfig
    from isa.device_memory import Allocation, DeviceMemory
    from isa.launch import Launch
    from isa.object.code_object import Kernel
    from workloads.operators.verify import Verification

DENSE_KERNELS = ("sgemm_4x4", "sgemm_tiled16", "sgemm_wide")
SOFTWARE = "software"  # conversion kernel, then the sparse GEMM with a count of non-zeros a column; no engine
SPARSE_KERNELS = ("sgemm_dib_tiled", "sgemm_dib_gather", SOFTWARE)

MAX_TILED_ROWS = 65535  # the tiled kernels use key 0xffffffff for "no bundle"
MAX_OPERAND_BYTES = 1 << 32  # the kernels reach A by a 32-bit offset
GATHER_COLUMNS = 4
CONVERT_COLUMNS = 4
WAVEFRONT = 64
SHIPPED_ACTIVATIONS = Path(__file__).resolve().parents[1] / "activations"
TILE_BYTES_PER_WAVEFRONT = 4096  # dib_tile.h: four columns of A, 256 rows each


class GemmError(UserError):
    """A GEMM that a kernel cannot compute; the message says what is allowed."""


@dataclass(frozen=True)
class GemmBuffers:
    """The operands in device memory, and views of them as stored: [columns, leading dimension] float32."""

    shape: GemmShape
    memory: "DeviceMemory"
    a: "Allocation"
    b: "Allocation"
    c: "Allocation"

    @classmethod
    def allocate(cls, shape: GemmShape, memory: "DeviceMemory") -> "GemmBuffers":
        """Zeroed A, B and C; raises DeviceMemoryError when the device is too small."""
        a = memory.allocate(4 * shape.lda * shape.padded_k, "A (weights)")
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
class GemmRun:
    """Launches that compute C = A·B, in order; each starts when the one before has ended.

    kernel: a name of DENSE_KERNELS or SPARSE_KERNELS.
    """

    kernel: str
    buffers: GemmBuffers
    launches: "tuple[Launch, ...]"

    @property
    def sparse(self) -> bool:
        """Whether B goes through ELLPACK-DIB, and so through FP16."""
        return self.kernel in SPARSE_KERNELS

    def zero_fractions(self) -> tuple[float, float]:
        """Of the elements of B, and of its lines of 16 elements of a column."""
        from workloads.data.patterns import sparsity_of, zero_lines_of

        held, k = self.buffers.b_stored, self.buffers.shape.k
        return sparsity_of(held, k), zero_lines_of(held, k)

    def verify(self) -> "Verification":
        """Compare C with NumPy's FP64 product (workloads.operators.verify)."""
        from workloads.operators.verify import verify_gemm

        held = self.buffers
        return verify_gemm(held.a_stored, held.b_stored, held.c_stored, held.shape, self.sparse)


def build_gemm_launches(config: "RunConfig", kernel: str) -> GemmRun:
    """The configured layer's forward pass by `kernel`: device memory with its data, and the launches.

    Raises ActivationFileError for activations that do not fit, DeviceMemoryError, CodeObjectError or GemmError.
    """
    from isa.device_memory import DeviceMemory
    from workloads.data.patterns import fill_im2col, fill_synthetic, fill_weights

    workload = config.workload
    shape = gemm_shape(workload.layer, workload.batch)
    buffers = GemmBuffers.allocate(shape, DeviceMemory(config.gpu.memory_mib << 20))
    fill_weights(buffers.a_stored, shape, workload.seed)
    if workload.data == "real":
        fill_im2col(buffers.b_stored, _captured_maps(config), workload.layer)
    else:
        fill_synthetic(buffers.b_stored, shape, workload.sparsity, workload.seed)
    buffers.seal()
    return gemm_run(kernel, buffers, config.gpu.cus)


def gemm_run(kernel: str, buffers: GemmBuffers, compute_units: int, tiling: Tiling | None = None) -> GemmRun:
    """The launches of `kernel` over filled operands.

    compute_units: of the GPU that will run them; decides the work split of kernels with a shared tile, unless `tiling`
    does.
    """
    shape = buffers.shape
    if shape.lda * shape.padded_k * 4 > MAX_OPERAND_BYTES:
        raise GemmError(f"{kernel}: A of {shape.m} x {shape.k} exceeds {MAX_OPERAND_BYTES >> 30} GiB")
    if kernel in SPARSE_KERNELS:
        limit = MAX_ROWS if kernel == "sgemm_dib_gather" else MAX_TILED_ROWS
        if shape.k > limit:
            raise GemmError(f"{kernel}: K = {shape.k} rows; allowed are at most {limit}")
    if tiling is None:
        choose = choose_dense_tiling if kernel == "sgemm_wide" else choose_tiling
        tiling = choose(shape, compute_units)
    build = {
        "sgemm_4x4": _dense_4x4,
        "sgemm_tiled16": _dense_tiled16,
        "sgemm_wide": _dense_wide,
        "sgemm_dib_gather": _gather,
        "sgemm_dib_tiled": _tiled,
        SOFTWARE: _software,
    }.get(kernel)
    if build is None:
        raise GemmError(f"unknown GEMM kernel '{kernel}'; allowed: {', '.join(DENSE_KERNELS + SPARSE_KERNELS)}")
    return GemmRun(kernel, buffers, build(buffers, tiling))


def _captured_maps(config: "RunConfig") -> np.ndarray:
    from workloads.data.activations_file import load_activations

    workload = config.workload
    layer = workload.layer
    if workload.activations is None:
        raise GemmError("real data needs an activation file in workload.activations")
    captured = load_activations(_activation_path(workload.activations))
    return captured.first_images(workload.batch, layer.input_channels, layer.input_height, layer.input_width)


def _activation_path(name: str) -> Path:
    """The file at path `name`, or else the shipped one of that name; a missing file is the reader's error."""
    path = Path(name)
    return path if path.exists() or not (SHIPPED_ACTIVATIONS / name).exists() else SHIPPED_ACTIVATIONS / name


def _dense_4x4(buffers: GemmBuffers, _: Tiling) -> "tuple[Launch, ...]":
    kernel = _kernel("sgemm_4x4", "sgemm_4x4")
    groups = _groups(buffers.shape, 32, 32)
    return (_launch(kernel, buffers, _operands(buffers), groups, (WAVEFRONT, 1, 1)),)


def _dense_tiled16(buffers: GemmBuffers, _: Tiling) -> "tuple[Launch, ...]":
    kernel = _kernel("sgemm_tiled16", "sgemm_tiled16")
    return (_launch(kernel, buffers, _operands(buffers), _groups(buffers.shape, 16, 16), (16, 16, 1)),)


def _dense_wide(buffers: GemmBuffers, tiling: Tiling) -> "tuple[Launch, ...]":
    kernel = _kernel("sgemm_wide", "sgemm_wide")
    tiling = Tiling(DENSE_COLUMNS, tiling.wavefronts)
    return (_tiled_launch(kernel, buffers, _operands(buffers), tiling, sparse=False),)


def _gather(buffers: GemmBuffers, _: Tiling) -> "tuple[Launch, ...]":
    kernel = _kernel("sgemm_dib_gather", "sgemm_dib_gather")
    groups = _groups(buffers.shape, ROWS_PER_WORKGROUP, GATHER_COLUMNS)
    local = (WAVEFRONT * GATHER_COLUMNS, 1, 1)
    return (_launch(kernel, buffers, _operands(buffers), groups, local, sparse=True),)


def _tiled(buffers: GemmBuffers, tiling: Tiling) -> "tuple[Launch, ...]":
    kernel = _kernel("sgemm_dib_tiled", f"sgemm_dib_tiled_c{tiling.columns_per_wavefront}")
    return (_tiled_launch(kernel, buffers, _operands(buffers), tiling, sparse=True),)


def _software(buffers: GemmBuffers, tiling: Tiling) -> "tuple[Launch, ...]":
    shape = buffers.shape
    bundles = buffers.memory.allocate(4 * shape.ldb * shape.n, "ELLPACK-DIB B")
    counts = buffers.memory.allocate(4 * shape.n, "non-zeros a column")
    convert = _kernel("dib_convert", "dib_convert")
    values = {
        "b_matrix": Pointer(buffers.b.address),
        "bundles": Pointer(bundles.address),
        "counts": Pointer(counts.address),
        "n": shape.n,
        "k": shape.k,
        "ldb": shape.ldb,
    }
    groups = (-(-shape.n // CONVERT_COLUMNS), 1)
    first = _launch(convert, buffers, values, groups, (WAVEFRONT * CONVERT_COLUMNS, 1, 1))
    multiply = _kernel("sgemm_dib_tiled_nnz", f"sgemm_dib_tiled_nnz_c{tiling.columns_per_wavefront}")
    values = {**_operands(buffers), "b_matrix": Pointer(bundles.address), "counts": Pointer(counts.address)}
    return first, _tiled_launch(multiply, buffers, values, tiling, sparse=False)


def _tiled_launch(
    kernel: "Kernel", buffers: GemmBuffers, values: Mapping[str, Any], tiling: Tiling, sparse: bool
) -> "Launch":
    wavefronts = tiling.wavefronts
    groups = _groups(buffers.shape, ROWS_PER_WORKGROUP, tiling.columns)
    values = {**values, "wavefronts": wavefronts, "a_tile": Local(TILE_BYTES_PER_WAVEFRONT * wavefronts)}
    return _launch(kernel, buffers, values, groups, (WAVEFRONT * wavefronts, 1, 1), sparse)


def _groups(shape: GemmShape, rows: int, columns: int) -> tuple[int, int]:
    """Workgroups in x (blocks of rows) and y (blocks of columns)."""
    return -(-shape.m // rows), -(-shape.n // columns)


def _operands(buffers: GemmBuffers) -> dict[str, Any]:
    """The arguments that every GEMM kernel takes, by name."""
    shape = buffers.shape
    held = {"a_matrix": buffers.a, "b_matrix": buffers.b, "c_matrix": buffers.c}
    addresses = {name: Pointer(allocation.address) for name, allocation in held.items()}
    sizes = {"m": shape.m, "n": shape.n, "k": shape.k, "lda": shape.lda, "ldb": shape.ldb, "ldc": shape.ldc}
    return {**addresses, **sizes}


def _launch(
    kernel: "Kernel",
    buffers: GemmBuffers,
    values: Mapping[str, Any],
    groups: tuple[int, int],
    local: tuple[int, int, int],
    sparse: bool = False,
) -> "Launch":
    from isa.launch import Launch
    from isa.region import SparseRegion

    shape = buffers.shape
    regions = (SparseRegion(buffers.b.address, shape.k, shape.n, shape.ldb),) if sparse else ()
    total = (groups[0] * local[0], groups[1] * local[1], 1)
    packed = pack(kernel, values)
    return Launch(kernel, buffers.memory, packed.block, total, local, packed.dynamic_lds_bytes, regions)


@cache
def _code_object(path: Path) -> "Mapping[str, Kernel]":
    from isa.object.code_object import load_code_object

    return load_code_object(path).kernels


def _kernel(source: str, name: str) -> "Kernel":
    kernels = _code_object(code_object_path(source))
    if name not in kernels:
        raise GemmError(f"code object '{source}.hsaco' has no kernel '{name}'; it has {', '.join(sorted(kernels))}")
    return kernels[name]
