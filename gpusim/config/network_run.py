"""The settings of a network's run: a GPU, how parameters start and are updated; `--set` over all of them."""

from dataclasses import replace
from typing import Any, Literal

from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.gpu import layered
from gpusim.config.tree import Sets, assignments
from gpusim.core.gpu_spec import GpuSpec
from gpusim.sampling.spec import SamplingSpec
from workloads.operators.conv_algorithms import ALGORITHMS

DEFAULT_ALGORITHM = "implicit"


class TrainingSpec(Spec):
    """How parameters are updated."""

    update: Literal["sgd", "adam", "none"] = param("sgd", "with momentum; adam; none: gradients alone", "the usual one")
    rate: float = param(0.01, "learning rate", "Krizhevsky 2012, section 5", gt=0)
    momentum: float = param(0.9, "of SGD", "Krizhevsky 2012, section 5", ge=0, lt=1)
    decay: float = param(0.0, "weight decay, a part of the gradient", "none, as in DNNMark", ge=0)


class NetworkSettings(Spec):
    """Everything but network, batch and phase."""

    gpu: GpuSpec = param(..., "the GPU", "user")
    training: TrainingSpec = TrainingSpec()
    convolution: str = param(
        DEFAULT_ALGORITHM, "algorithm; where it cannot compute a layer, the default", "user", among=ALGORITHMS
    )
    sampling: SamplingSpec | None = param(None, "simulate launches in part and estimate the rest; null: in whole", "")
    seed: int = param(1, "of initial parameters, inputs and labels", "user", ge=0, lt=2**32)

    def resolved(self) -> dict[str, Any]:
        """Every value, as plain data."""
        return self.model_dump(mode="json")


def load_settings(gpu: files.Document, sets: Sets = ()) -> NetworkSettings:
    """The settings over a GPU's file; raises UserError.

    Paths in `sets` are `gpu.…`, `training.…`, `sampling.…` and those of single values, such as `seed`.
    """
    held = gpu.data.get("gpu", gpu)
    tree = layered(replace(gpu, data={"gpu": held}), assignments(sets), NetworkSettings)
    return checked(NetworkSettings, tree)
