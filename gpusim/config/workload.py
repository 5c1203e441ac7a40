"""What a run computes: a workload of one kind, the kernels for it, and how it is run."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, ValidationInfo, field_validator, model_validator

from gpusim.base.errors import unknown_name
from gpusim.base.spec import Spec, param
from gpusim.model.core.perturbation import MOST as MOST_PERTURBATIONS
from gpusim.model.core.perturbation import MOST_DRAWS
from gpusim.model.sampling.spec import SamplingSpec
from isa.region import MAX_ROWS
from workloads.data.patterns import CHANNEL_FIRST
from workloads.operators.conv_algorithms import ALGORITHMS, DENSE_ALGORITHMS, SPARSE_ALGORITHMS
from workloads.operators.gemm_kernels import (
    DENSE_KERNELS,
    GEMM_KERNELS,
    SOFTWARE_CHOICES,
    SPARSE_CHOICES,
    SPARSE_KERNELS,
)
from workloads.operators.matrix_gemm import DENSE_MATRIX_KERNELS, MATRIX_KERNELS, SPARSE_MATRIX_KERNELS
from workloads.shapes import ConvolutionShape, gemm_shape, output_size
from workloads.vendor.libraries import DENSE_PRODUCTS, SPARSE_PRODUCTS

EngineMode = Literal["on", "off", "both"]
DEFAULT_KIND = "layer"
# which of `kernels.dense` and `kernels.sparse` each engine mode runs
ENGINE_WAYS: dict[EngineMode, tuple[Literal["dense", "sparse"], ...]] = {
    "off": ("dense",),
    "on": ("sparse",),
    "both": ("dense", "sparse"),
}
AUTO = "auto"  # the kernel is chosen by shape, and between sparse and dense by the zeros
# of which sparse kernels the one is chosen that is estimated to take least time
FASTEST = {"fastest_engine": SPARSE_CHOICES, "fastest_software": SOFTWARE_CHOICES}
_CHOICES = {AUTO: SPARSE_CHOICES, **FASTEST}
# what `kernels.dense` and `kernels.sparse` may be: of matrix products, and of convolutions
_PRODUCTS = {
    "dense": (AUTO, *DENSE_KERNELS, *DENSE_MATRIX_KERNELS, *DENSE_PRODUCTS),
    "sparse": (*_CHOICES, *SPARSE_KERNELS, *SPARSE_MATRIX_KERNELS, *SPARSE_PRODUCTS),
}
_CONVOLUTIONS = {"dense": DENSE_ALGORITHMS, "sparse": SPARSE_ALGORITHMS}

_SPARSITY = ("fraction of zeros in synthetic activations", "Dong 2020, table 6.5")
_BLOCKS = "Dong 2020, section 6.5: each element by itself; section 8.1: coarse-grained sparsity as future work"
_BLOCK_ROWS = ("rows of the blocks in which synthetic zeros come, of the matrix or of a map, as `data` says", _BLOCKS)
_BLOCK_COLUMNS = ("columns of these blocks", _BLOCKS)
_WINDOW = (
    "rows of a column of which as many are zero as the sparsity says (4: of each four rows two, at 0.5), in synthetic "
    "data; 0: each element by itself",
    "N:M sparsity, Mishra et al. 2021, arXiv 2104.08378",
)
MOST_COLUMNS = 1 << 24  # of B
MOST_IMAGES = 1 << 20
MOST_ROWS = 1 << 20  # of B; those past what a sparse region holds are launched in blocks
_ACTIVATIONS = (
    "activation file for real and resampled data: a path, or the name of a shipped one",
    "made by gpusim capture",
)
_SEED = ("seed of weights and synthetic activations", "arbitrary")


class LayerSpec(Spec):
    """A convolutional layer, forward pass; it becomes a GEMM of the filters with im2col of the input maps."""

    name: str = param(..., "name in reports", "user")
    input_channels: int = param(..., "channels of the input feature maps", "the network", ge=1, le=65536)
    output_channels: int = param(..., "filters", "the network", ge=1, le=65536)
    input_height: int = param(..., "rows of an input feature map", "the network", ge=1, le=4096)
    input_width: int = param(..., "columns of an input feature map", "the network", ge=1, le=4096)
    filter_size: int = param(3, "rows and columns of a filter", "the network", ge=1, le=64)
    stride: int = param(1, "distance between filter positions", "the network", ge=1, le=64)
    padding: int = param(1, "zeros around an input feature map", "the network", ge=0, le=64)

    @property
    def shape(self) -> ConvolutionShape:
        """The layer as workloads take it."""
        return ConvolutionShape(**self.model_dump())

    @model_validator(mode="after")
    def _fits(self) -> "LayerSpec":
        if min(output_size(self.shape)) < 1:
            raise ValueError(
                f"a {self.filter_size}x{self.filter_size} filter does not fit maps of {self.input_height} rows and "
                f"{self.input_width} columns with padding {self.padding}"
            )
        rows = gemm_shape(self.shape, batch=1).k
        if rows > MOST_ROWS:
            raise ValueError(f"K = input_channels x filter_size^2 = {rows} rows; allowed are at most {MOST_ROWS}")
        return self


class LayerWorkload(Spec):
    """A layer with its batch and its activations."""

    kind: Literal["layer"] = param("layer", "what is computed: a convolutional layer, forward", "")
    layer: LayerSpec = param(..., "the convolutional layer", "the network")
    batch: int = param(128, "images in the batch", "Dong 2020, section 6.5", ge=1, le=MOST_IMAGES)
    data: Literal["synthetic", "synthetic_maps", "real", "resampled", "transposed"] = param(
        "synthetic",
        "synthetic: zeros uniformly random in the matrix; synthetic_maps: in the maps, whose levels table 6.5 gives, "
        "before im2col; real: activation maps captured from a training run; resampled: any number of images, each "
        "channel's map drawn from the captured ones; transposed: captured maps of one pixel, channels as images, as "
        "gradients of weights take them",
        "Dong 2020, table 6.5",
    )
    im2col: Literal["channel_first", "channel_last"] = param(
        CHANNEL_FIRST,
        "order of the matrix's rows: channel, filter row, filter column; or the channel innermost, as TensorFlow's",
        "",
    )
    sparsity: float = param(0.5, *_SPARSITY, ge=0, le=1)
    zero_block_rows: int = param(1, *_BLOCK_ROWS, ge=1, le=MAX_ROWS)
    zero_block_columns: int = param(1, *_BLOCK_COLUMNS, ge=1, le=MOST_COLUMNS)
    zero_window: int = param(0, *_WINDOW, ge=0, le=MAX_ROWS)
    seed: int = param(1, *_SEED, ge=0, lt=2**63)
    activations: str | None = param(None, *_ACTIVATIONS)

    @property
    def title(self) -> str:
        """The workload's title for reports."""
        return f"{self.layer.name}, batch {self.batch}"

    @model_validator(mode="after")
    def _has_data(self) -> "LayerWorkload":
        _check_data(self)
        if self.zero_window and self.data != "synthetic":
            raise ValueError(f"zero_window: {self.zero_window} is of data: synthetic, not of {self.data}; allowed is 0")
        _check_window(self)
        return self


class ConvolutionWorkload(Spec):
    """A layer with its batch and its activations as a convolution: from maps to maps, im2col and the like included."""

    kind: Literal["convolution"] = param("convolution", "what is computed: a convolution as a whole, forward", "")
    layer: LayerSpec = param(..., "the convolutional layer", "the network")
    batch: int = param(128, "images in the batch", "Dong 2020, section 6.5", ge=1, le=MOST_IMAGES)
    data: Literal["synthetic_maps", "real", "resampled"] = param(
        "synthetic_maps", "as of a layer: zeros uniformly random in the maps; captured maps; drawn from these", ""
    )
    sparsity: float = param(0.5, *_SPARSITY, ge=0, le=1)
    zero_block_rows: int = param(1, *_BLOCK_ROWS, ge=1, le=MAX_ROWS)
    zero_block_columns: int = param(1, *_BLOCK_COLUMNS, ge=1, le=MOST_COLUMNS)
    seed: int = param(1, *_SEED, ge=0, lt=2**63)
    activations: str | None = param(None, *_ACTIVATIONS)

    @property
    def title(self) -> str:
        """The workload's title for reports."""
        return f"{self.layer.name} as a convolution, batch {self.batch}"

    @model_validator(mode="after")
    def _has_data(self) -> "ConvolutionWorkload":
        _check_data(self)
        return self


def _check_data(workload: "LayerWorkload | ConvolutionWorkload") -> None:
    """Raise ValueError for data without their file, or with values that are of others."""
    if workload.data not in ("real", "resampled", "transposed"):
        return
    if workload.activations is None:
        raise ValueError(f"data: {workload.data} needs an activation file in workload.activations")
    if max(workload.zero_block_rows, workload.zero_block_columns) > 1:
        raise ValueError(
            f"zero_block_rows and zero_block_columns are {workload.zero_block_rows} and {workload.zero_block_columns}, "
            f"of made-up zeros, but data: {workload.data} has those of its maps; allowed are 1 and 1, or data: "
            "synthetic or synthetic_maps"
        )


def _check_window(workload: "LayerWorkload | GemmWorkload") -> None:
    """Raise ValueError for windows of rows that blocks of zeros cut, or with no whole number of zeros."""
    window = workload.zero_window
    if window and workload.zero_block_rows > 1:
        raise ValueError(f"zero_window: {window} has zeros row by row; allowed with it is zero_block_rows: 1")
    if workload.sparsity * window % 1:
        raise ValueError(f"sparsity: {workload.sparsity} of zero_window: {window} rows is no whole number of zeros")


class GemmWorkload(Spec):
    """A matrix product by itself: C (M x N) = A (M x K, weights) · B (K x N, activations)."""

    kind: Literal["gemm"] = param("gemm", "what is computed: a matrix product", "")
    name: str = param("gemm", "name in reports", "user")
    m: int = param(..., "rows of A and C", "user", ge=1, le=1 << 20)
    n: int = param(..., "columns of B and C", "user", ge=1, le=MOST_COLUMNS)
    k: int = param(..., "columns of A, rows of B", "user", ge=1, le=MOST_ROWS)
    sparsity: float = param(0.5, *_SPARSITY, ge=0, le=1)
    zero_block_rows: int = param(1, *_BLOCK_ROWS, ge=1, le=MAX_ROWS)
    zero_block_columns: int = param(1, *_BLOCK_COLUMNS, ge=1, le=MOST_COLUMNS)
    zero_window: int = param(0, *_WINDOW, ge=0, le=MAX_ROWS)
    seed: int = param(1, *_SEED, ge=0, lt=2**63)

    @property
    def title(self) -> str:
        """The workload's title for reports."""
        return f"{self.name}, M = {self.m}, N = {self.n}, K = {self.k}"

    @model_validator(mode="after")
    def _has_windows(self) -> "GemmWorkload":
        _check_window(self)
        return self


def get_workload_kind(workload: Any) -> str:
    """Return the kind that a workload's values name; without a name it is a layer, as before there were kinds."""
    if isinstance(workload, Mapping):
        kind = workload.get("kind", DEFAULT_KIND)
        return kind if isinstance(kind, str) else repr(kind)
    return getattr(workload, "kind", DEFAULT_KIND)


Workload = Annotated[
    Annotated[LayerWorkload, Tag("layer")]
    | Annotated[ConvolutionWorkload, Tag("convolution")]
    | Annotated[GemmWorkload, Tag("gemm")],
    Discriminator(get_workload_kind),
]


class KernelsSpec(Spec):
    """The kernels that compute the layer."""

    dense: str = param(
        AUTO,
        "kernel with the engine off; auto: the fastest for the shape, by estimate or else by measurement",
        "Dong 2020's baseline: mmm_local",
    )
    sparse: str = param(
        "sgemm_dib_tiled",
        "kernel with the engine on; auto: the one of sgemm_dib_tiled, sgemm_dib_registers and the dense kernel that is "
        "estimated to take least time; fastest_engine: that of the first two; without an engine: software and "
        "software_registers, which convert to ELLPACK-DIB first, fastest_software, the one of these, and csc; a "
        "convolution has its algorithms' names here and in `dense`",
        "the fastest; Dong 2020's: dib_algorithm3",
    )

    @property
    def may_use_engine(self) -> bool:
        """Whether the sparse kernel needs the engine, or one that may be chosen does; a library's does not."""
        if self.sparse in SPARSE_ALGORITHMS:
            return ALGORITHMS[self.sparse].uses_engine
        if self.sparse in MATRIX_KERNELS:
            return MATRIX_KERNELS[self.sparse].uses_engine
        kernel = GEMM_KERNELS.get(_CHOICES.get(self.sparse, (self.sparse,))[0])
        return kernel is not None and kernel.uses_engine

    @field_validator("dense", "sparse")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        way = str(info.field_name)
        if name not in (*_PRODUCTS[way], *_CONVOLUTIONS[way]):
            raise ValueError(unknown_name(f"{way} kernel", name, _PRODUCTS[way]))
        return name

    def check(self, kind: str, engine: EngineMode) -> None:
        """Raise ValueError for a name that this engine mode runs and that does not compute workloads of the kind."""
        known = _CONVOLUTIONS if kind == ConvolutionWorkload.model_fields["kind"].default else _PRODUCTS
        for way in ENGINE_WAYS[engine]:
            name = getattr(self, way)
            if name not in known[way]:
                raise ValueError(
                    f"kernels.{way}: '{name}' does not compute a workload of kind {kind}; allowed: "
                    + ", ".join(known[way])
                )


class RunSpec(Spec):
    """The manner of running the workload."""

    engine: EngineMode = param("on", "off: dense kernel; on: sparse kernel; both: compare", "")
    verify: bool = param(True, "compare the result with NumPy's", "")
    checked: bool = param(False, "assert the model's conservation laws and rooflines at the end of each kernel", "")
    hotspots: int = param(0, "costliest instructions to list, by the wavefronts' cycles; 0: none", "", ge=0, le=10_000)
    max_cycles: int = param(
        0, "of each kernel, which is stopped there, and the run with it; 0: any", "", ge=0, le=1 << 60
    )
    every: int = param(
        0, "cycles of the intervals in which counts are kept apart too, as a series; 0: none", "", ge=0, le=1 << 60
    )
    sampling: SamplingSpec | None = param(None, "simulate launches in part and estimate the rest; null: in whole", "")
    perturbation: int = param(
        0, "draw of what a machine does not fix when a launch begins; 0: all arbiters at their first place", "", ge=0,
        lt=MOST_PERTURBATIONS,
    )  # fmt: skip
    draws: int = param(
        1, "draws of the machine, from `perturbation` on, each run as a whole; several: means with intervals", "", ge=1,
        le=MOST_DRAWS,
    )  # fmt: skip
