"""What the model says of measured points: each is launched as it was measured, in processes side by side."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.base.children import ProcessPool
from gpusim.base.errors import GpusimError, UserError
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import AUTO
from gpusim.lab.silicon.kernels import KernelSource
from gpusim.lab.silicon.measured import GeneralSpec, MeasuredPoint, MeasuredTable, ProductPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.sampling.spec import SamplingSpec
from workloads.vendor.tensile import takes_pointers

if TYPE_CHECKING:
    from gpusim.model.core.facts import RunFacts
    from isa.launch import Launch
    from workloads.vendor.column_lanes import ColumnLanesKernel
    from workloads.vendor.tensile import TensileKernel, TensileProblem

    GemmKernel = TensileKernel | ColumnLanesKernel

MEMORY_MIB = 16384  # whatever the card has: a table may hold products that were measured in parts
WHOLE, SAMPLED, EXTRAPOLATED = "whole", "sampled", "extrapolated"


@dataclass(frozen=True)
class Prediction:
    """A point on the model.

    time_us: of its kernels, at the clock of the table; first_us: the same with empty caches, None where it is not
    known; launches: kernels of one call; workgroups: of the product; bound: the largest bound of the roofline;
    utilization: that bound / cycles; simulated: the share of its instructions that was simulated; half_width_us: of
    time_us, 0 of a product that was run whole; None where it is not known: earlier versions went by a line through two
    shorter products; facts: of the launches as one, None of what was read from a file; im2col_us: of a convolution by
    a library's products, what moves images before and after them, which is in time_us; by: of a convolution by our
    algorithms, the one that was chosen.
    """

    point: MeasuredPoint
    time_us: float
    first_us: float | None
    launches: int
    workgroups: int
    bound: str
    utilization: float
    simulated: float
    half_width_us: float | None = 0.0
    facts: "RunFacts | None" = None
    im2col_us: float | None = None
    by: str = ""

    @classmethod
    def of(
        cls, point: MeasuredPoint, call: "Sequence[RunFacts]", longest: "RunFacts", workgroups: int,
        first_us: float | None = None, launches: int | None = None, im2col_us: float | None = None, by: str = "",
    ) -> "Prediction":  # fmt: skip
        """Make a prediction of the facts of a call. longest: of its launches, the one whose bound is told."""
        from gpusim.model.core.facts import combined

        bounds = {name: cycles for name, cycles in longest.roofline.items() if name != "latency"}
        bound = max(bounds, key=lambda name: bounds[name])
        share = bounds[bound] / longest.kernel.cycles
        facts = combined(list(call))
        simulated, half_width_us = 1.0, 0.0
        if facts.sampling is not None and facts.sampling.doubts:
            simulated = facts.sampling.fraction
            half_width_us = facts.sampling.half_width("kernel", "cycles") / (facts.kernel.clock_ghz * 1e3)
        held = (len(call) if launches is None else launches, workgroups, bound, share, simulated, half_width_us)
        return cls(point, _time(call), first_us, *held, facts, im2col_us, by)

    @property
    def how(self) -> str:
        """How the time was found: WHOLE, SAMPLED or EXTRAPOLATED."""
        if self.half_width_us is None:
            return EXTRAPOLATED
        return WHOLE if self.simulated >= 1.0 else SAMPLED


@dataclass(frozen=True)
class Conditions:
    """What all points are run under. sampling: how larger products than limit_gflop are sampled; None: all are run
    whole."""

    gpu: GpuSpec
    alpha: float
    beta: float
    warm_below_gflop: float
    limit_gflop: float
    sampling: SamplingSpec | None
    staggered: str = "none"
    general: GeneralSpec = field(default_factory=GeneralSpec)
    convolution: str = AUTO

    @classmethod
    def of(cls, table: MeasuredTable, limit_gflop: float, sampling: SamplingSpec | None) -> "Conditions":
        """Take the conditions from a table: its GPU at the clock at which it was measured."""
        gpu = table.gpu if table.clock_ghz is None else replaced(table.gpu, "clock_ghz", table.clock_ghz)
        return cls(
            *(gpu, table.alpha, table.beta, table.warm_below_gflop, limit_gflop, sampling, table.staggered),
            *(table.general, table.convolution),
        )

    def changed(self, path: str, value: Any) -> "Conditions":
        """Return the same conditions with one value of the GPUs' configurations changed; of general batches' own GPU
        its clock is not. Raise UserError.
        """
        own = self.general.gpu
        if own is not None and path != "clock_ghz":
            own = replaced(own, path, value)
        general = self.general.model_copy(update={"gpu": own})
        return replace(self, gpu=replaced(self.gpu, path, value), general=general)

    def get_gpu(self, point: ProductPoint) -> GpuSpec:
        """Return the GPU on which the point was measured, at the clock that it had."""
        general = self.general if takes_pointers(point.kernel) else GeneralSpec()
        gpu = self.gpu if general.gpu is None else general.gpu
        return gpu if general.clock_ghz is None else replaced(gpu, "clock_ghz", general.clock_ghz)

    def get_sampling(self, point: MeasuredPoint) -> SamplingSpec | None:
        """Return how the point is sampled; None: it is run whole."""
        return self.sampling if point.gflop > self.limit_gflop else None

    def calls(self, point: MeasuredPoint) -> int:
        """Return how often the point is run: the last call counts."""
        return 2 if point.gflop < self.warm_below_gflop else 1


def replaced(gpu: GpuSpec, path: str, value: Any) -> GpuSpec:
    """Return the GPU with one value of its configuration changed, such as `l2.channels`; raises UserError."""
    from gpusim.config.gpu import load_gpu

    return load_gpu(gpu.model_dump(mode="json"), {path: value})


class _Task(NamedTuple):
    """A point in a process of its own. name: for messages."""

    name: str
    key: Any


def predicted(
    points: Sequence[tuple[Any, MeasuredPoint]], conditions: Sequence[Conditions], kernels: KernelSource, jobs: int
) -> Iterator[tuple[Any, Prediction | GpusimError]]:
    """Run each (key, point) under the condition at the same position, and yield its key and what came of it as it is
    done: a point that fails stops no other.

    jobs: processes; one alone takes the points as they come, several begin at the end: there the longest is first.
    """
    work = list(zip(points, conditions, strict=True))
    if jobs == 1:
        for (key, point), condition in work:
            try:
                yield key, predict(point, condition, kernels)
            except GpusimError as error:
                yield key, error
        return
    from gpusim.model.core.prepare import prepare_core

    prepare_core()  # what is compiled or loaded here all processes have
    children = ProcessPool(jobs)
    try:
        while work or children.running:
            while work and not children.full:
                (key, point), condition = work.pop()
                children.start(_Task(point.label, key), partial(predict, point, condition, kernels))
            for task, outcome in children.outcomes():
                yield task.key, outcome
    finally:
        children.stop()


def predict(point: MeasuredPoint, conditions: Conditions, kernels: KernelSource) -> Prediction:
    """Run one point in this process."""
    if isinstance(point, ConvolutionPoint):
        from gpusim.lab.silicon.convolutions import predict_own, predict_same

        return predict_same(point, conditions, kernels) if point.same_solver else predict_own(point, conditions)
    problem, kernel = build_problem(point, conditions)
    first, *later = _run(point, conditions, kernels)
    call = later[-1] if later else first
    tiles = math.prod(kernel.workgroups(problem)) * kernel.split_k
    return Prediction.of(point, call, call[-1], tiles, _time(first))


def build_problem(point: ProductPoint, conditions: Conditions) -> "tuple[TensileProblem, GemmKernel]":
    """Return the product of a point, and how its kernel, by its name, splits it; raises UserError."""
    from workloads.vendor.column_lanes import NAME, ColumnLanesKernel
    from workloads.vendor.tensile import TensileKernel, TensileProblem

    if not point.kernel:
        raise UserError(f"no {point.transposes} product to take a kernel from: name one in a column 'kernel'")
    kernel = ColumnLanesKernel() if point.kernel == NAME else TensileKernel.named(point.kernel)
    general = takes_pointers(point.kernel)
    scalars = conditions.general if general else conditions
    staggered = conditions.staggered == "all" or (conditions.staggered == "pointers" and general)
    values = (scalars.alpha, scalars.beta, point.batch, staggered, conditions.get_gpu(point).cus)
    return TensileProblem(point.transposes, point.m, point.n, point.k, *values), kernel


def build_launches(problem: "TensileProblem", kernel: "GemmKernel", kernels: KernelSource) -> "tuple[Launch, ...]":
    """Lay the operands of a product into memory and return its launches; raises UserError."""
    from isa.device_memory import DeviceMemory

    return kernel.launches(problem, kernels, DeviceMemory(MEMORY_MIB << 20))


def _run(point: ProductPoint, conditions: Conditions, kernels: KernelSource) -> "list[list[RunFacts]]":
    """Return the facts of each call's launches; the first call has empty caches, each further one what the previous
    call left there.
    """
    launches = build_launches(*build_problem(point, conditions), kernels)
    again = launches * conditions.calls(point)
    found = run_warm(again, point.kernel, conditions.get_gpu(point), conditions.get_sampling(point))
    return [found[at : at + len(launches)] for at in range(0, len(again), len(launches))]


def run_warm(launches: "Sequence[Launch]", name: str, gpu: GpuSpec, sampling: SamplingSpec | None) -> "list[RunFacts]":
    """Return the facts of launches that run one after another; each finds in caches what those before it left."""
    from gpusim.jobs.host.command_processor import CommandProcessor, LaunchCommand, RunOptions
    from gpusim.results.records.record import RunRecord

    record = RunRecord(False, name, [])
    # no kernel's time depends on what another one has computed
    commands = [LaunchCommand(launch, warm=True, decisive=False) for launch in launches]
    CommandProcessor(gpu, Reporter(quiet=True)).run(commands, record, RunOptions(sampling=sampling))
    return record.launches


def _time(call: "Sequence[RunFacts]") -> float:
    return plain_sum(facts.time_us for facts in call)
