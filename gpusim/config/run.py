"""A run's whole configuration, and how it is put together from files and `--set`."""

from pathlib import Path
from typing import Any

from pydantic import model_validator

from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.engine import check_share
from gpusim.config.gpu import layered
from gpusim.config.tree import Sets, assignments
from gpusim.config.workload import KernelsSpec, RunSpec, Workload
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.spec import EnergySpec
from spartan.engine_spec import EngineSpec
from workloads.data.operands import activations_path
from workloads.vendor.libraries import VENDOR_PRODUCTS, VendorProduct

RUN_FOLDER = ""


class RunConfig(Spec):
    """The values that a run depends on."""

    gpu: GpuSpec = param(..., "the GPU; a file without one: r9nano", "user")
    workload: Workload = param(..., "what is computed", "user")
    kernels: KernelsSpec = KernelsSpec()
    engine: EngineSpec = EngineSpec()
    energy: EnergySpec = EnergySpec()
    run: RunSpec = RunSpec()

    @model_validator(mode="after")
    def _runs(self) -> "RunConfig":
        self.kernels.check(self.workload.kind, self.run.engine)
        if self.run.engine != "off" and self.kernels.may_use_engine:
            check_share(self.gpu, self.engine)
        return self

    @property
    def vendor_products(self) -> list[VendorProduct]:
        """Products of vendors' libraries that the run uses."""
        dense = self.kernels.dense if self.run.engine != "on" else None
        sparse = self.kernels.sparse if self.run.engine != "off" else None
        return [VENDOR_PRODUCTS[name] for name in (dense, sparse) if name in VENDOR_PRODUCTS]

    @property
    def inputs(self) -> list[Path]:
        """Files that the run reads besides configurations."""
        activations = getattr(self.workload, "activations", None)
        return [] if activations is None else [activations_path(activations)]

    def resolved(self) -> dict[str, Any]:
        """Return every value as plain data."""
        return self.model_dump(mode="json")


def load_run(given: files.Given, sets: Sets = ()) -> RunConfig:
    """Load a run.

    Args:
        given: a file's path, a shipped file's name, or a mapping such as a file holds.
        sets: `path=value` texts or a mapping of paths to values, applied in order.

    Returns:
        The configuration.

    Raises:
        UserError: the configuration is not valid; the message has a line for each problem.
    """
    document = files.opened(given, RUN_FOLDER)
    files.require(document, RUN_FOLDER)
    return checked(RunConfig, layered(document, assignments(sets), RunConfig))
