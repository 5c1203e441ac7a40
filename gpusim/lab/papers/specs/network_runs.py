"""The network runs of a publication: which networks with which batches, in which ways, on which GPUs."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import NETWORK_FOLDER
from gpusim.model.sampling.spec import SamplingSpec


class SubjectSpec(Spec):
    """A network that is run."""

    network: str = param(..., "a shipped network's name, or a file", "user")
    batches: tuple[int, ...] = param(..., "images", "the publication", min_length=1)
    ways: tuple[str, ...] = param((), "ways in which it is run; none: all of the publication's", "user")
    sets: dict[str, Any] = param({}, "values of its runs, by the paths of gpusim net", "user")


class WaySpec(Spec):
    """A way to run a network, such as an algorithm."""

    title: str = param(..., "name in tables and pictures", "user")
    engine: bool = param(False, "convolutions over activation maps skip zeros, forward: gpusim net --engine on", "user")
    sets: dict[str, Any] = param({}, "values of a run, by the paths of gpusim net", "user")


class NetworkRunsSpec(Spec):
    """The runs of `gpusim net` that a publication's figures share: one serves all of them."""

    phase: Literal["inference", "train"] = param("train", "what is run: one iteration", "the publication")
    networks: dict[str, SubjectSpec] = param(..., "networks by name", "the publication", min_length=1)
    gpus: tuple[str, ...] = param(..., "GPUs: shipped ones' names, or files", "user", min_length=1)
    ways: dict[str, WaySpec] = param(
        ..., "how each is run; figures that name none show the first", "user", min_length=1
    )
    sets: dict[str, Any] = param({}, "values that all runs have, by the paths of gpusim net", "user")
    sampling: SamplingSpec = SamplingSpec()

    @model_validator(mode="after")
    def _has_each_once(self) -> Self:
        names = [gpu_name(gpu) for gpu in self.gpus]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"gpus: two are called '{name}'; each needs a name of its own")
        for name, subject in self.networks.items():
            for batch in subject.batches:
                if batch < 1:
                    raise ValueError(f"networks.{name}.batches: {batch} is not allowed; at least 1")
            for way in subject.ways:
                if way not in self.ways:
                    raise ValueError(f"networks.{name}.ways: {unknown_name('way', way, self.ways)}")
        return self

    def list_ways(self, network: str) -> tuple[str, ...]:
        """List the ways in which a network is run."""
        return self.networks[network].ways or tuple(self.ways)

    @property
    def gpu_files(self) -> dict[str, str]:
        """The GPUs by the names that tables and points have."""
        return {gpu_name(gpu): gpu for gpu in self.gpus}

    def located(self, path: Path) -> Self:
        """Return the runs with the files found that the publication's file at `path` names; raise UserError."""
        try:
            gpus = tuple(str(files.find(gpu, GPU_FOLDER, path)) for gpu in self.gpus)
            networks = {
                name: subject.model_copy(update={"network": str(files.find(subject.network, NETWORK_FOLDER, path))})
                for name, subject in self.networks.items()
            }
        except UserError as error:
            raise UserError(*(f"{path}: {problem}" for problem in error.problems)) from None
        return self.model_copy(update={"gpus": gpus, "networks": networks})


def gpu_name(gpu: str) -> str:
    """Return the name of a GPU in tables: that of its file."""
    return Path(gpu).stem
