"""The settings of a network's run: a GPU, how parameters start and are updated; `--set` over all of them."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.gpu import load_over_gpu
from gpusim.config.monitor import MonitorSpec
from gpusim.config.tree import Sets
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.spec import EnergySpec
from gpusim.model.sampling.spec import SamplingSpec
from spartan.engine_spec import EngineSpec
from workloads.circulant import Flow, Lanes
from workloads.networks.block_circulant import FLOW_MEANING, LANES_MEANING, SOURCE
from workloads.networks.fully_connected import WEIGHTS_MEANING, Weights
from workloads.operators.attention import ATTENTION_ALGORITHMS, DEFAULT_ATTENTION
from workloads.operators.conv_algorithms import DEFAULT_ALGORITHM, DENSE_ALGORITHMS, SPARSE_ALGORITHMS
from workloads.operators.conv_buffer import BUFFER_BYTES
from workloads.vendor.libraries import DENSE_PRODUCTS

OWN_PRODUCTS = "own"
AUTO = "auto"  # the fastest of each layer and pass, as measured
DEFAULT_SPARSE_ALGORITHM = "ellpack_dib"
Fraction = Annotated[float, Field(ge=0, le=1)]


class TrainingSpec(Spec):
    """The manner in which parameters are updated."""

    update: Literal["sgd", "adam", "none"] = param("sgd", "with momentum; adam; none: gradients alone", "the usual one")
    rate: float = param(0.01, "learning rate", "Krizhevsky 2012, section 5", gt=0)
    momentum: float = param(0.9, "of SGD", "Krizhevsky 2012, section 5", ge=0, lt=1)
    decay: float = param(0.0, "weight decay, a part of the gradient", "none, as in DNNMark", ge=0)


class BlockCirculantSpec(Spec):
    """Which dense layers become block-circulant, and how such layers are computed, those of the network's file too."""

    matrix: Literal["circulant", "permuted_diagonal"] = param(
        "circulant",
        "what the blocks are that dense layers get; permuted_diagonal: of fully connected layers alone",
        f"{SOURCE}, section 8.1",
    )
    block: Literal[16, 32, 64] | None = param(
        None, "values of a block that dense layers get; null: circulant layers are those of the file", SOURCE
    )
    layers: Literal["fully_connected", "all"] | list[str] = param(
        "fully_connected",
        "which get it, where a block is no larger than their matrix: fully connected ones; all: convolutions too; or "
        "their names",
        SOURCE,
    )
    flow: Flow | None = param(None, f"{FLOW_MEANING}; null: as the layer says", SOURCE)
    lanes: Lanes | None = param(None, f"{LANES_MEANING}; null: as the layer says", SOURCE)

    @model_validator(mode="after")
    def _is_read(self) -> Self:
        if self.matrix == "permuted_diagonal" and self.block is None:
            raise ValueError("matrix permuted_diagonal: no layer gets blocks without their size (block: 16, 32 or 64)")
        said = [name for name in ("flow", "lanes") if getattr(self, name) is not None]
        if self.matrix == "permuted_diagonal" and said:
            raise ValueError(f"{said[0]}: is of circulant blocks; blocks are permuted diagonals (matrix)")
        return self


class NetworkSettings(Spec):
    """The settings of a run besides network, batch and phase."""

    gpu: GpuSpec = param(..., "the GPU", "user")
    training: TrainingSpec = TrainingSpec()
    convolution: str = param(
        DEFAULT_ALGORITHM,
        "algorithm; where it cannot compute a layer, the default; auto: the fastest measured, by layer and pass",
        "user",
        among=(*DENSE_ALGORITHMS, AUTO),
    )
    attention: str = param(
        DEFAULT_ATTENTION,
        "algorithm of layers of attention, forward; composed: the scores lie in memory; by_query, by_key: one kernel, "
        "where the width of heads allows it; auto: the fastest measured, by layer",
        "user",
        among=(*ATTENTION_ALGORITHMS, AUTO),
    )
    weights: Weights | None = param(
        None, f"of all fully connected layers, {WEIGHTS_MEANING}; none: as the network says", "user"
    )
    products: str = param(
        OWN_PRODUCTS,
        "whose kernels compute the products of fully connected layers and of convolution im2col_chunked: own, or a "
        "library's that is installed",
        "docs/how-to/hip.md",
        among=(OWN_PRODUCTS, *DENSE_PRODUCTS),
    )
    sparse_convolution: str = param(
        DEFAULT_SPARSE_ALGORITHM,
        "algorithm over activation maps, forward, with --engine on: ellpack_dib, with filters in LDS; "
        "ellpack_dib_registers: in vector registers; ellpack_dib_implicit: these, over maps without im2col; without "
        "the engine ellpack_dib_software, ellpack_dib_software_registers, ellpack_dib_fused, whose im2col writes "
        "ELLPACK-DIB itself, and ellpack_dib_software_implicit, over compacted maps",
        "Dong 2020, chapter 6",
        among=SPARSE_ALGORITHMS,
    )
    sparse_gradients: bool = param(
        False,
        "with --engine on, gradients of convolutions' weights skip zeros of the activation maps too, by "
        "ellpack_dib_registers, ellpack_dib_fused, ellpack_dib_padding_free and ellpack_dib_software_padding_free",
        "Dong 2020, chapter 6",
    )
    block_circulant: BlockCirculantSpec = BlockCirculantSpec()
    engine: EngineSpec = EngineSpec()
    energy: EnergySpec = EnergySpec()
    sparsity: Fraction | None = param(
        None, "fraction of zeros in made-up activation maps, uniformly random; none: values are real", "user"
    )
    layer_sparsity: dict[str, Fraction] = param({}, "the same for the input of single layers, by name", "user")
    layer_l1_bypass: dict[str, bool | dict[str, bool]] = param(
        {},
        "whether loads go past L1 in single layers, by name, or in single passes of a layer; elsewhere gpu.l1.bypass "
        "says",
        "Dong 2020, section 5.2.4",
    )
    monitor: MonitorSpec = MonitorSpec()
    sampling: SamplingSpec | None = param(
        None,
        "simulate launches in part and estimate the rest; error: of the whole network's cycles; null: in whole",
        "",
    )
    convolution_buffer_bytes: int = param(
        BUFFER_BYTES,
        "memory that a chunk of images fills, for algorithms that work by chunks; at least an image is taken",
        "MXNet's operator Convolution, parameter `workspace`",
        ge=1,
    )
    fusion: bool = param(
        False,
        "a ReLU is the last step of the kernels of the convolution or the fully connected layer before it, where they "
        "allow it",
        "ICPE 2018, section 5; Dong 2020, section 5.2.4",
    )
    seed: int = param(1, "of initial parameters, inputs and labels", "user", ge=0, lt=2**32)

    def sparsity_of(self, layer: str) -> float | None:
        """Return the share of zeros of synthetic input maps of a layer; None where values are real."""
        return self.layer_sparsity.get(layer, self.sparsity)

    def bypasses_l1(self, layer: str, what: str) -> bool:
        """Tell whether the loads of a layer's pass go past L1."""
        said = self.layer_l1_bypass.get(layer, self.gpu.l1.bypass)
        return said.get(what, self.gpu.l1.bypass) if isinstance(said, dict) else said

    def resolved(self) -> dict[str, Any]:
        """Return every value as plain data."""
        return self.model_dump(mode="json")


def load_settings(gpu: files.Document, sets: Sets = ()) -> NetworkSettings:
    """Load the settings over a GPU's file; paths in `sets` are `gpu.…`, `training.…`, `engine.…` and the fields' names.

    Args:
        gpu: The GPU's file.
        sets: Changed values as `path=value`, in order.

    Raises:
        UserError: A path is unknown or a value is not allowed.
    """
    return load_over_gpu(gpu, sets, NetworkSettings, prefixed=False)
