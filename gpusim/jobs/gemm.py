"""Jobs that are one matrix product: by itself, or a convolutional layer's forward pass by way of im2col."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpusim.base.errors import UserError
from gpusim.config.run import RunConfig
from gpusim.config.workload import EngineMode, GemmWorkload, LayerWorkload
from gpusim.core.gpu_spec import GpuSpec
from gpusim.energy.spec import EnergySpec
from gpusim.jobs.job import JobOptions, Task, Variant, launch_options
from gpusim.jobs.operators import OperatorTask, gpu_facts
from isa.device_memory import DeviceMemory
from spartan.engine_spec import EngineSpec
from spartan.sib_layout import sib_layout
from workloads.data.operands import CapturedOperands, SyntheticOperands
from workloads.operators.gemm import GemmData, GemmOperator, build_gemm
from workloads.operators.gemm_kernels import GEMM_KERNELS, GemmKernel
from workloads.shapes import GemmShape, gemm_shape

# which of `kernels.dense` and `kernels.sparse` each engine mode runs
_RUN_BY: dict[EngineMode, tuple[str, ...]] = {"off": ("dense",), "on": ("sparse",), "both": ("dense", "sparse")}


@dataclass(frozen=True)
class GemmProblem:
    """A product's name in messages, its shape and where its operands come from."""

    title: str
    shape: GemmShape
    data: GemmData


def layer_problem(workload: LayerWorkload) -> GemmProblem:
    """A layer's forward pass: filters times im2col of the input maps."""
    layer, seed = workload.layer, workload.seed
    shape = gemm_shape(layer, workload.batch)
    if workload.data == "real" and workload.activations is not None:
        return GemmProblem(workload.title, shape, CapturedOperands(layer, workload.batch, workload.activations, seed))
    return GemmProblem(workload.title, shape, SyntheticOperands(workload.sparsity, seed))


def gemm_problem(workload: GemmWorkload) -> GemmProblem:
    """A product by itself, of random operands."""
    shape = GemmShape(workload.m, workload.n, workload.k)
    return GemmProblem(
        workload.title,
        shape,
        SyntheticOperands(workload.sparsity, workload.seed),
    )


class GemmJob:
    """A matrix product by the configured kernels (gpusim.jobs.job.Job)."""

    def __init__(self, config: RunConfig, problem: GemmProblem) -> None:
        self._config, self._problem = config, problem

    @property
    def title(self) -> str:
        """The layer and its batch, or the product."""
        return self._problem.title

    @property
    def gpu(self) -> GpuSpec:
        """As configured."""
        return self._config.gpu

    @property
    def engine_spec(self) -> EngineSpec:
        """As configured."""
        return self._config.engine

    @property
    def energy_spec(self) -> EnergySpec:
        """As configured."""
        return self._config.energy

    @property
    def options(self) -> JobOptions:
        """As configured."""
        run = self._config.run
        return JobOptions(verify=run.verify, launches=launch_options(run))

    @property
    def variants(self) -> Sequence[Variant]:
        """The dense kernel, the sparse one, or both to be compared."""
        names = _RUN_BY[self._config.run.engine]
        kernels = [GEMM_KERNELS[getattr(self._config.kernels, name)] for name in names]
        return [
            Variant(kernel.name, kernel.uses_engine, partial(self._prepare, kernel), name if len(names) > 1 else "")
            for name, kernel in zip(names, kernels, strict=True)
        ]

    def resolved(self) -> dict[str, Any]:
        """The configuration."""
        return self._config.resolved()

    def _prepare(self, kernel: GemmKernel) -> Task:
        operator = self.operator(kernel.name)
        if kernel.uses_engine:
            for launch in operator.launches:
                try:
                    sib_layout(self.engine_spec, launch.regions)
                except ValueError as error:
                    raise UserError(f"engine: {error}") from None
        zeros, zero_lines = operator.zero_fractions()
        return OperatorTask(operator, {"zero_fraction": zeros, "zero_line_fraction": zero_lines})

    def operator(self, kernel: str) -> GemmOperator:
        """The product by a kernel, in a device memory of its own."""
        memory = DeviceMemory(self.gpu.memory_mib << 20)
        return build_gemm(kernel, self._problem.shape, self._problem.data, memory, gpu_facts(self.gpu))
