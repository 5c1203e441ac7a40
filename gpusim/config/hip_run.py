"""The settings of a HIP program's run: the GPU that it finds, how launches are sampled, what events take."""

from dataclasses import replace

from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.gpu import layered
from gpusim.config.tree import Sets, assignments
from gpusim.core.gpu_spec import GpuSpec
from gpusim.energy.spec import EnergySpec
from gpusim.sampling.spec import SamplingSpec


class HipSettings(Spec):
    """Everything but the program."""

    gpu: GpuSpec = param(..., "the GPU", "user")
    energy: EnergySpec = EnergySpec()
    sampling: SamplingSpec | None = param(
        None, "simulate launches in part and estimate the rest, which is executed; null: in whole", ""
    )


def load_hip(gpu: files.Document, sets: Sets = ()) -> HipSettings:
    """Load the settings over a GPU's file; paths in `sets` are `gpu.…`, `energy.…`, `sampling`, or the GPU's own.

    Raises UserError.
    """
    held = gpu.data.get("gpu", gpu)
    known = HipSettings.model_fields
    laid = [one if one.path[0] in known else replace(one, path=("gpu", *one.path)) for one in assignments(sets)]
    return checked(HipSettings, layered(replace(gpu, data={"gpu": held}), laid, HipSettings))
