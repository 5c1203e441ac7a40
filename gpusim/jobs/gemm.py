"""Jobs that are one matrix product: by itself, or a convolutional layer's forward pass by way of im2col."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gpusim.base.dataclass import dataclass
from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.config.run import RunConfig
from gpusim.config.workload import AUTO, SPARSE, EngineMode, GemmWorkload, LayerWorkload
from gpusim.core.gpu_spec import GpuSpec
from gpusim.energy.spec import EnergySpec
from gpusim.jobs.dense_choice import choose_dense, likely_dense
from gpusim.jobs.job import JobOptions, Task, Variant, launch_options
from gpusim.jobs.operators import OperatorTask, gpu_facts
from gpusim.jobs.vendor import LibraryTask, library_product
from gpusim.results.record import KernelChoice
from isa.device_memory import DeviceMemory
from spartan.engine_spec import EngineSpec
from spartan.sib_layout import sib_layout
from workloads.data.operands import SyntheticOperands, captured_operands, resampled_operands, synthetic_map_operands
from workloads.operators.gemm import GemmBuffers, GemmData, GemmOperator, build_gemm
from workloads.operators.gemm_kernels import GEMM_KERNELS, GemmKernel
from workloads.operators.sparse_tiling import dense_cycles, sparse_cycles
from workloads.shapes import GemmShape, Layer, gemm_shape
from workloads.vendor.libraries import VENDOR_PRODUCTS, VendorProduct

# which of `kernels.dense` and `kernels.sparse` each engine mode runs
_RUN_BY: dict[EngineMode, tuple[str, ...]] = {"off": ("dense",), "on": ("sparse",), "both": ("dense", "sparse")}


@dataclass(frozen=True)
class GemmProblem:
    """A product's name in messages, its shape and where its operands come from.

    blocks: says how to run one whose matrices exceed so many bytes of memory.
    """

    title: str
    shape: GemmShape
    data: GemmData
    blocks: Callable[[int], str] | None = None


def layer_problem(workload: LayerWorkload) -> GemmProblem:
    """A layer's forward pass: filters times im2col of the input maps."""
    layer, seed = workload.layer, workload.seed
    shape = gemm_shape(layer, workload.batch)
    of_file = {"real": captured_operands, "resampled": resampled_operands}.get(workload.data)
    data: GemmData
    if of_file is not None and workload.activations is not None:
        data = of_file(layer, workload.batch, workload.activations, seed, workload.im2col)
    elif workload.data == "synthetic_maps":
        data = synthetic_map_operands(
            layer, workload.batch, workload.sparsity, seed, workload.im2col, _zero_block(workload)
        )
    else:
        data = SyntheticOperands(workload.sparsity, seed, _zero_block(workload))
    return GemmProblem(workload.title, shape, data, partial(_fitting_batch, layer))


def _zero_block(workload: LayerWorkload | GemmWorkload) -> tuple[int, int]:
    """Rows and columns of the blocks in which made-up zeros come."""
    return workload.zero_block_rows, workload.zero_block_columns


def _fitting_batch(layer: Layer, memory_bytes: int) -> str:
    """How a layer whose matrices exceed the memory is to be run."""
    images = 0
    while GemmBuffers.bytes_of(gemm_shape(layer, images + 1)) <= memory_bytes:
        images += 1
    if not images:
        return "; not even one image does"
    return f"; {images} images do: run blocks of columns, workload.batch={images} at a time"


def gemm_problem(workload: GemmWorkload) -> GemmProblem:
    """A product by itself, of random operands."""
    shape = GemmShape(workload.m, workload.n, workload.k)
    return GemmProblem(
        workload.title,
        shape,
        SyntheticOperands(workload.sparsity, workload.seed, _zero_block(workload)),
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
        """As configured; where a library's kernels read what those before them compute, sampling executes what it
        skips."""
        run = self._config.run
        options = JobOptions(verify=run.verify, launches=launch_options(run))
        if run.sampling is None or not any(product.sparse for product in self._config.vendor_products):
            return options
        sampling = run.sampling.model_copy(update={"functional": True})
        return replace(options, launches=replace(options.launches, sampling=sampling))

    @property
    def variants(self) -> Sequence[Variant]:
        """The dense kernel, the sparse one, or both to be compared."""
        names = _RUN_BY[self._config.run.engine]
        kernels = self._config.kernels
        label = {name: name if len(names) > 1 else "" for name in names}
        return [
            self._sparse_variant(label[name]) if name == "sparse" else self._variant(kernels.dense, label[name])
            for name in names
        ]

    def _sparse_variant(self, name: str) -> Variant:
        """Of the sparse kernel; AUTO: of the tiled one, with what decides whether that or the dense one is run."""
        if self._config.kernels.sparse != AUTO:
            return self._variant(self._config.kernels.sparse, name)
        return replace(self._variant(SPARSE, name), decide=partial(self._decide_sparse, name))

    def _decide_sparse(
        self, name: str, reporter: Reporter, stopped: Callable[[], bool]
    ) -> tuple[Variant, KernelChoice]:
        shape, facts, dense = self._problem.shape, gpu_facts(self.gpu), self._config.kernels.dense
        zeros = self._problem.data.zeros(shape)
        expected = dense_cycles(shape, facts)
        if dense == AUTO:
            choice = choose_dense(shape, self.gpu, reporter, stopped)
            dense = choice.kernel
            expected = choice.cycles.get(dense, expected)
        estimated = {SPARSE: int(sparse_cycles(shape, zeros, facts)), dense: int(expected)}
        kernel = min(estimated, key=lambda each: estimated[each])
        return self._variant(kernel, name), KernelChoice(kernel, {}, {}, estimated, zeros)

    def _variant(self, kernel: str, name: str) -> Variant:
        """Of a kernel, or of a library, by its name; AUTO: of the likeliest one, with what decides."""
        if kernel == AUTO:
            likely = self._variant(likely_dense(self._problem.shape, self.gpu), name)
            # a run that is stopped at some cycle is a look at its beginning, for which nothing is measured
            return likely if self._config.run.max_cycles else replace(likely, decide=partial(self._decide, name))
        if kernel in VENDOR_PRODUCTS:
            return Variant(kernel, False, partial(self._prepare_library, VENDOR_PRODUCTS[kernel]), name)
        row = GEMM_KERNELS[kernel]
        return Variant(kernel, row.uses_engine, partial(self._prepare, row), name)

    def _decide(self, name: str, reporter: Reporter, stopped: Callable[[], bool]) -> tuple[Variant, KernelChoice]:
        self._problem.data.zeros(self._problem.shape)  # data that do not fit are told before kernels are measured
        choice = choose_dense(self._problem.shape, self.gpu, reporter, stopped)
        return self._variant(choice.kernel, name), choice

    def resolved(self) -> dict[str, Any]:
        """The configuration."""
        return self._config.resolved()

    def _prepare_library(self, product: VendorProduct) -> Task:
        return LibraryTask(library_product(product, self._problem.shape, self._problem.data, self.gpu))

    def _prepare(self, kernel: GemmKernel) -> Task:
        operator = self.operator(kernel.name)
        if kernel.uses_engine:
            for launch in (launch for launch in operator.launches if launch.regions):
                try:
                    sib_layout(self.engine_spec, launch.regions)
                except ValueError as error:
                    raise UserError(f"engine: {error}") from None
        zeros, zero_lines = operator.zero_fractions()
        return OperatorTask(operator, {"zero_fraction": zeros, "zero_line_fraction": zero_lines})

    def operator(self, kernel: str) -> GemmOperator:
        """The product by a kernel, in a device memory of its own."""
        memory, shape = DeviceMemory(self.gpu.memory_mib << 20), self._problem.shape
        needed, held = GemmBuffers.bytes_of(shape), self.gpu.memory_mib << 20
        if needed > held and self._problem.blocks is not None:
            raise UserError(
                f"{self.title}: A, B and C of {shape.m} x {shape.n} x {shape.k} need {needed / 2**30:.2f} GiB, "
                f"the GPU has {held / 2**30:.2f} GiB{self._problem.blocks(held)}"
            )
        return build_gemm(kernel, self._problem.shape, self._problem.data, memory, gpu_facts(self.gpu))
