"""A run's whole configuration, and how it is put together from files and `--set`."""

from collections.abc import Sequence
from typing import Any

from pydantic import model_validator

from gpusim.base.errors import UserError
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.gpu import GPU_FOLDER, layered
from gpusim.config.workload import KernelsSpec, RunSpec, Workload
from gpusim.core.gpu_spec import GpuSpec
from spartan.engine_spec import EngineSpec
from workloads.operators.gemm_kernels import GEMM_KERNELS


class RunConfig(Spec):
    """Everything a run depends on."""

    gpu: GpuSpec = param(..., "the GPU", "user")
    workload: Workload = param(..., "what is computed", "user")
    kernels: KernelsSpec = KernelsSpec()
    engine: EngineSpec = EngineSpec()
    run: RunSpec = RunSpec()

    @model_validator(mode="after")
    def _sram_fits(self) -> "RunConfig":
        uses_engine = self.run.engine != "off" and GEMM_KERNELS[self.kernels.sparse].uses_engine
        taken_kib = self.gpu.l2.engine_kib()
        if uses_engine and self.engine.sram_kib > taken_kib:
            raise ValueError(
                f"engine: sib_kib + prefetch_buffer_kib = {self.engine.sram_kib:g} KiB do not fit the part of L2 that "
                f"the engine takes ({taken_kib:g} KiB of gpu.l2.size_kib = {self.gpu.l2.size_kib})"
            )
        return self

    def resolved(self) -> dict[str, Any]:
        """Every value, as plain data."""
        return self.model_dump(mode="json")


def load_run(name: str, sets: Sequence[str] = ()) -> RunConfig:
    """The configuration of the run's file `name` with `--set` texts applied in order; raises UserError."""
    path = files.find(name)
    if path.parent == files.SHIPPED / GPU_FOLDER:
        raise UserError(f"{name}: is a GPU, not a run; name it in a run's file, or use --set gpu={path.stem}")
    return checked(RunConfig, layered(files.read(path), path, sets, RunConfig))
