"""The settings of a HIP program's run: the GPU that it finds, how launches are sampled, what events take."""

from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.gpu import load_over_gpu
from gpusim.config.tree import Sets
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.spec import EnergySpec
from gpusim.model.sampling.spec import SamplingSpec


class HipSettings(Spec):
    """Everything but the program."""

    gpu: GpuSpec = param(..., "the GPU", "user")
    energy: EnergySpec = EnergySpec()
    sampling: SamplingSpec | None = param(
        None, "simulate launches in part and estimate the rest, which is executed; null: in whole", ""
    )


def load_hip(gpu: files.Document, sets: Sets = ()) -> HipSettings:
    """Load the settings of a HIP program.

    Args:
        gpu: the GPU's file.
        sets: `path=value` texts or a mapping of paths to values, applied in order. Paths are `gpu.…`, `energy.…`,
            `sampling`, or the GPU's own.

    Returns:
        The settings.

    Raises:
        UserError: the configuration is not valid; the message has a line for each problem.
    """
    return load_over_gpu(gpu, sets, HipSettings)
