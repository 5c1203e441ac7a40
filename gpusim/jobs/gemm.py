"""Jobs that are one matrix product: by itself, or a convolutional layer's forward pass by way of im2col."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite, prod
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import FIXED_1
from gpusim.base.progress import Reporter
from gpusim.config.run import RunConfig
from gpusim.config.workload import AUTO, ENGINE_WAYS, FASTEST, ConvolutionWorkload, GemmWorkload, LayerWorkload
from gpusim.jobs.column_blocks import ColumnBlocks, block_columns, check_code_memory
from gpusim.jobs.running.choice import Candidate, choose
from gpusim.jobs.running.dense_choice import choose_dense, likely_dense
from gpusim.jobs.running.job import Job, JobOptions, Task, Variant, launch_options
from gpusim.jobs.running.operators import OperatorTask, gpu_facts
from gpusim.jobs.vendor import LibraryTask, library_product
from gpusim.results.records.record import KernelChoice
from isa.device_memory import DeviceMemory, DeviceMemoryError
from spartan.sib_layout import sib_layout
from workloads.data.operands import (
    MapOperands,
    Operands,
    SyntheticOperands,
    captured_operands,
    resampled_operands,
    synthetic_map_operands,
    transposed_operands,
)
from workloads.data.patterns import CHANNEL_FIRST
from workloads.operators.gemm import GemmBuffers, GemmOperator, build_gemm
from workloads.operators.gemm_kernels import GEMM_KERNELS, SPARSE_CHOICES, GemmKernel, sparse_estimates
from workloads.operators.matrix_gemm import MATRIX_KERNELS, MatrixKernel, build_matrix_gemm
from workloads.operators.operator import Operator
from workloads.operators.sparse_tiling import dense_cycles
from workloads.shapes import GemmShape, gemm_shape, output_size
from workloads.vendor.libraries import VENDOR_PRODUCTS, VendorProduct

_OF_FILE = {"real": captured_operands, "resampled": resampled_operands, "transposed": transposed_operands}
_BLOCK_COLUMNS = 64  # blocks of columns of a product by itself are a multiple of


@dataclass(frozen=True)
class GemmProblem:
    """A matrix product: name, shape and operands."""

    title: str
    """Name for messages."""
    shape: GemmShape
    """Shape."""
    data: Operands
    """Source of the operands."""
    unit: int = _BLOCK_COLUMNS
    """Divisor of a block's columns, where matrices exceed the GPU's memory and the product runs in blocks."""


def layer_problem(workload: LayerWorkload) -> GemmProblem:
    """Return a layer's forward pass as a product: filters times im2col of the input maps."""
    layer, data = workload.layer.shape, operands_of_layer(workload)
    return GemmProblem(workload.title, gemm_shape(layer, workload.batch), data, prod(output_size(layer)))


def operands_of_layer(workload: LayerWorkload) -> Operands:
    """Return the operands of a layer's product."""
    if workload.data == "synthetic":
        return SyntheticOperands(workload.sparsity, workload.seed, _zero_block(workload), workload.zero_window)
    return map_operands(workload, workload.im2col)


def map_operands(workload: LayerWorkload | ConvolutionWorkload, order: str = CHANNEL_FIRST) -> MapOperands:
    """Return the operands that follow from a layer's maps, captured or made up."""
    layer, seed = workload.layer.shape, workload.seed
    of_file = _OF_FILE.get(workload.data)
    if of_file is not None and workload.activations is not None:
        return of_file(layer, workload.batch, workload.activations, seed, order)
    return synthetic_map_operands(layer, workload.batch, workload.sparsity, seed, order, _zero_block(workload))


def _zero_block(workload: LayerWorkload | ConvolutionWorkload | GemmWorkload) -> tuple[int, int]:
    """Return rows and columns of the blocks in which made-up zeros are grouped."""
    return workload.zero_block_rows, workload.zero_block_columns


def gemm_problem(workload: GemmWorkload) -> GemmProblem:
    """Return a product of random operands."""
    shape = GemmShape(workload.m, workload.n, workload.k)
    return GemmProblem(
        workload.title,
        shape,
        SyntheticOperands(workload.sparsity, workload.seed, _zero_block(workload), workload.zero_window),
    )


class GemmJob(Job):
    """A matrix product by the configured kernels (gpusim.jobs.running.job.Job)."""

    kind = "run"

    def __init__(self, config: RunConfig, problem: GemmProblem) -> None:
        self._config, self._problem, self.title = config, problem, problem.title
        self.gpu, self.engine_spec, self.energy_spec = config.gpu, config.engine, config.energy
        self.options = JobOptions(verify=config.run.verify, draws=config.run.draws, launches=launch_options(config.run))

    @property
    def variants(self) -> Sequence[Variant]:
        """Return the dense kernel, the sparse one, or both for a comparison."""
        names = ENGINE_WAYS[self._config.run.engine]
        kernels = self._config.kernels
        label = {name: name if len(names) > 1 else "" for name in names}
        return [
            self._sparse_variant(label[name]) if name == "sparse" else self._variant(kernels.dense, label[name])
            for name in names
        ]

    def _sparse_variant(self, name: str) -> Variant:
        """Return the variant of the sparse kernel.

        Where the kernel is to be chosen, it is the first candidate, with a function that decides whether this one,
        another one or, with AUTO, the dense kernel is run.
        """
        sparse = self._config.kernels.sparse
        if sparse in FASTEST:
            return replace(self._variant(FASTEST[sparse][0], name), decide=partial(self._decide_fastest, name, sparse))
        if sparse != AUTO:
            return self._variant(sparse, name)
        return replace(self._variant(SPARSE_CHOICES[0], name), decide=partial(self._decide_sparse, name))

    def _decide_fastest(
        self, name: str, sparse: str, reporter: Reporter, stopped: Callable[[], bool]
    ) -> tuple[Variant, KernelChoice]:
        zeros = self._problem.data.zeros(self._block)
        return self._least(name, sparse_estimates(self._block, zeros, gpu_facts(self.gpu), FASTEST[sparse]), zeros)

    def _decide_sparse(
        self, name: str, reporter: Reporter, stopped: Callable[[], bool]
    ) -> tuple[Variant, KernelChoice]:
        shape, facts, dense = self._block, gpu_facts(self.gpu), self._config.kernels.dense
        zeros = self._problem.data.zeros(shape)
        expected = dense_cycles(shape, facts)
        if dense == AUTO:
            choice = choose_dense(shape, self.gpu, reporter, stopped)
            dense = choice.kernel
            expected = choice.cycles.get(dense, expected)
        return self._least(name, {**sparse_estimates(shape, zeros, facts), dense: expected}, zeros)

    def _least(self, name: str, estimates: Mapping[str, float], zeros: float) -> tuple[Variant, KernelChoice]:
        """Choose the kernel with the lowest estimate, in cycles."""
        figures = {kernel: int(cycles) if isfinite(cycles) else cycles for kernel, cycles in estimates.items()}
        choice = choose([Candidate(kernel, cycles, cycles) for kernel, cycles in figures.items()])
        return self._variant(choice.kernel, name), replace(choice, zeros=zeros)

    def _variant(self, kernel: str, name: str) -> Variant:
        """Return the variant of a kernel or a library by its name; with AUTO the likeliest kernel, with a function that
        decides.
        """
        if kernel == AUTO:
            likely = self._variant(likely_dense(self._block, self.gpu), name)
            # a run that is stopped at some cycle is a look at its beginning, for which nothing is measured
            return likely if self._config.run.max_cycles else replace(likely, decide=partial(self._decide, name))
        if kernel in VENDOR_PRODUCTS:
            return Variant(kernel, False, partial(self._prepare_library, VENDOR_PRODUCTS[kernel]), name)
        if kernel in MATRIX_KERNELS:
            matrix = MATRIX_KERNELS[kernel]
            return Variant(kernel, matrix.uses_engine, partial(self._prepare_matrix, matrix), name)
        row = GEMM_KERNELS[kernel]
        return Variant(kernel, row.uses_engine, partial(self._prepare, row), name)

    def _decide(self, name: str, reporter: Reporter, stopped: Callable[[], bool]) -> tuple[Variant, KernelChoice]:
        self._problem.data.zeros(self._block)  # data that do not fit are told before kernels are measured
        choice = choose_dense(self._block, self.gpu, reporter, stopped)
        return self._variant(choice.kernel, name), choice

    def resolved(self) -> dict[str, Any]:
        """Return the configuration, every value, as plain data."""
        return self._config.resolved()

    def _prepare_library(self, product: VendorProduct) -> Task:
        if self._exceeds_memory:
            raise UserError(
                f"{product.name}: {self.title}: A, B and C need"
                f" {FIXED_1(GemmBuffers.bytes_of(self._problem.shape) / 2**20)} MiB, the GPU has {self.gpu.memory_mib}"
                " (gpu.memory_mib); products of libraries are not run in blocks of columns: allowed are at most"
                f" {self._block.n} of the {self._problem.shape.n} columns"
            )
        return LibraryTask(library_product(product, self._problem.shape, self._problem.data, self.gpu))

    def _prepare(self, kernel: GemmKernel) -> Task:
        problem = self._problem
        try:
            operator = self.operator(kernel.name)
        except DeviceMemoryError:
            # the packed matrix that answers are compared with, and where it is written before the launch, that too
            copies = (1 + self._config.engine.compacts_on_write) * kernel.uses_engine
            columns = block_columns(kernel.name, problem.shape, problem.unit, self.gpu, copies)
            verified = self._config.run.verify
            return ColumnBlocks(
                kernel=kernel,
                shape=problem.shape,
                data=problem.data,
                columns=columns,
                gpu=self.gpu,
                check=self._check,
                compared=verified,
            )
        self._check(operator)
        zeros, zero_lines = operator.zero_fractions()
        return OperatorTask(operator, {"zero_fraction": zeros, "zero_line_fraction": zero_lines})

    def _prepare_matrix(self, kernel: MatrixKernel) -> Task:
        memory = DeviceMemory(self.gpu.memory_mib << 20, architecture=self.gpu.architecture)
        problem = self._problem
        operator = build_matrix_gemm(kernel, problem.shape, problem.data, memory, gpu_facts(self.gpu))
        self._check(operator)
        zeros, zero_lines = operator.zero_fractions()
        return OperatorTask(operator, {"zero_fraction": zeros, "zero_line_fraction": zero_lines})

    def _check(self, operator: Operator) -> None:
        """Raise UserError if the engine lacks what a launch with it needs."""
        for launch in (launch for launch in operator.launches if launch.regions):
            try:
                sib_layout(self._config.engine, launch.regions)
            except ValueError as error:
                raise UserError(f"engine: {error}") from None

    @property
    def _exceeds_memory(self) -> bool:
        return GemmBuffers.bytes_of(self._problem.shape) > self.gpu.memory_mib << 20

    @cached_property
    def _block(self) -> GemmShape:
        """Return the shape that is launched at a time, for which kernels are chosen: the whole, or a block that fits
        the memory.
        """
        shape = self._problem.shape
        if not self._exceeds_memory:
            return shape
        return replace(shape, n=block_columns(likely_dense(shape, self.gpu), shape, self._problem.unit, self.gpu))

    def operator(self, kernel: str) -> GemmOperator:
        """Make the product by a kernel, in a device memory of its own; raises DeviceMemoryError where it
        does not fit.
        """
        memory = DeviceMemory(self.gpu.memory_mib << 20, architecture=self.gpu.architecture)
        operator = build_gemm(kernel, self._problem.shape, self._problem.data, memory, gpu_facts(self.gpu))
        check_code_memory(operator, memory)
        return operator


def layer_job(config: RunConfig) -> GemmJob:
    """Make the job of a configuration whose workload is a layer."""
    assert isinstance(config.workload, LayerWorkload)
    return GemmJob(config, layer_problem(config.workload))


def gemm_job(config: RunConfig) -> GemmJob:
    """Make the job of a configuration whose workload is a product by itself."""
    assert isinstance(config.workload, GemmWorkload)
    return GemmJob(config, gemm_problem(config.workload))
