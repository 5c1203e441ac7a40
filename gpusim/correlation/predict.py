"""What the model says of measured points: each is launched as it was measured, in processes side by side."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.base.children import Children
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.measured import MeasuredTable, Point
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.occupancy import occupancy
from gpusim.correlation.extrapolation import extrapolated, two_shorter
from gpusim.correlation.kernels import KernelSource

if TYPE_CHECKING:
    from gpusim.core.facts import RunFacts
    from isa.launch import Launch
    from workloads.vendor.column_lanes import ColumnLanesKernel
    from workloads.vendor.tensile import SgemmProblem, TensileKernel

    SgemmKernel = TensileKernel | ColumnLanesKernel

MEMORY_MIB = 16384  # more than the card has: a table may hold products that were measured in parts


@dataclass(frozen=True)
class Prediction:
    """A point on the model.

    time_us: of its kernels, at the clock of the table; first_us: the same with empty caches, None where it was
    extrapolated; launches: kernels of one call; workgroups: of the product; bound: the largest bound of the roofline;
    utilization: that bound / cycles; simulated: the share of the product's columns in the longest of its runs; facts:
    of that run's launches as one, None of what was read from a file.
    """

    point: Point
    time_us: float
    first_us: float | None
    launches: int
    workgroups: int
    bound: str
    utilization: float
    simulated: float
    facts: "RunFacts | None" = None

    @property
    def extrapolated(self) -> bool:
        """Whether the product was run in part only."""
        return self.simulated < 1.0


@dataclass(frozen=True)
class Conditions:
    """What all points are run under. limit_gflop: a larger product is run in part."""

    gpu: GpuSpec
    alpha: float
    beta: float
    warm_below_gflop: float
    limit_gflop: float

    @classmethod
    def of(cls, table: MeasuredTable, limit_gflop: float) -> "Conditions":
        """Take the conditions from a table: its GPU at the clock at which it was measured."""
        gpu = table.gpu if table.clock_ghz is None else replaced(table.gpu, "clock_ghz", table.clock_ghz)
        return cls(gpu, table.alpha, table.beta, table.warm_below_gflop, limit_gflop)

    def with_gpu(self, gpu: GpuSpec) -> "Conditions":
        """Return the same conditions for another GPU."""
        return replace(self, gpu=gpu)


def replaced(gpu: GpuSpec, path: str, value: Any) -> GpuSpec:
    """Return the GPU with one value of its configuration changed, such as `l2.channels`; raises UserError."""
    from gpusim.config.gpu import load_gpu

    return load_gpu(gpu.model_dump(mode="json"), {path: value})


class _Task(NamedTuple):
    """A point in a process of its own. name: for messages."""

    name: str
    key: Any


def predicted(
    points: Sequence[tuple[Any, Point]],
    conditions: Sequence[Conditions],
    paths: list[Path],
    multiply_accumulate: bool,
    jobs: int,
) -> Iterator[tuple[Any, Prediction]]:
    """Run each (key, point) under the condition at the same position, and yield key and prediction as each is done.

    jobs: processes. Raises what a run raises, in the calling process.
    """
    kernels = KernelSource(paths, multiply_accumulate)
    # the longest first, so that none is left alone at the end
    work = sorted(zip(points, conditions, strict=True), key=lambda job: -_cost(job[0][1], job[1]))
    if jobs == 1:
        for (key, point), condition in work:
            yield key, predict(point, condition, kernels)
        return
    from gpusim.core.prepare import prepare_core

    prepare_core()  # what is compiled or loaded here all processes have
    children = Children(jobs)
    try:
        while work or children.running:
            while work and not children.full:
                (key, point), condition = work.pop(0)
                children.start(_Task(point.label, key), partial(predict, point, condition, kernels))
            for task, prediction in children.finished():
                yield task.key, prediction
    finally:
        children.stop()


def _cost(point: Point, conditions: Conditions) -> float:
    gflop = min(point.gflop, 1.5 * conditions.limit_gflop)
    return 2 * gflop if point.gflop < conditions.warm_below_gflop else gflop


def kernel_of(point: Point) -> "SgemmKernel":
    """Return how a point's kernel splits its work, by the kernel's name."""
    from workloads.vendor.column_lanes import NAME, ColumnLanesKernel
    from workloads.vendor.tensile import TensileKernel

    return ColumnLanesKernel() if point.kernel == NAME else TensileKernel.named(point.kernel)


def predict(point: Point, conditions: Conditions, kernels: KernelSource) -> Prediction:
    """Run one point in this process."""
    from workloads.vendor.tensile import SgemmProblem

    kernel = kernel_of(point)
    problem = SgemmProblem(point.transposes, point.m, point.n, point.k, conditions.alpha, conditions.beta)
    tiles = math.prod(kernel.workgroups(problem)) * kernel.split_k
    if point.gflop < conditions.warm_below_gflop:
        first, warm = _run(problem, kernel, conditions, kernels, 2)
        return _prediction(point, warm, tiles, _time(warm), _time(first), 1.0)
    if point.gflop <= conditions.limit_gflop:
        (only,) = _run(problem, kernel, conditions, kernels, 1)
        return _prediction(point, only, tiles, _time(only), _time(only), 1.0)
    resident = _resident(problem, kernel, conditions.gpu, kernels)
    short, long = two_shorter(problem, kernel, resident, conditions.limit_gflop)
    (brief,), (longer,) = (_run(part, kernel, conditions, kernels, 1) for part in (short, long))
    time_us = extrapolated(point.n, (short.n, _time(brief)), (long.n, _time(longer)))
    return _prediction(point, longer, tiles, time_us, None, long.n / point.n)


def _resident(problem: "SgemmProblem", kernel: "SgemmKernel", gpu: GpuSpec, kernels: KernelSource) -> int:
    """Workgroups of the product's kernel that the GPU holds at a time."""
    product = _launches(replace(problem, n=1), kernel, gpu, kernels)[-1]
    return gpu.cus * occupancy(product, gpu.cu).workgroups_per_cu


def _launches(
    problem: "SgemmProblem", kernel: "SgemmKernel", gpu: GpuSpec, kernels: KernelSource
) -> "tuple[Launch, ...]":
    from isa.device_memory import DeviceMemory

    memory = DeviceMemory(max(gpu.memory_mib, MEMORY_MIB) << 20)
    return kernel.launches(problem, kernels, memory)


def _run(
    problem: "SgemmProblem", kernel: "SgemmKernel", conditions: Conditions, kernels: KernelSource, times: int
) -> "list[list[RunFacts]]":
    """Return the facts of each call's launches; the first call has empty caches, each further one what the previous
    call left there.
    """
    from gpusim.host.command_processor import CommandProcessor, LaunchCommand
    from gpusim.results.record import RunRecord

    launches = _launches(problem, kernel, conditions.gpu, kernels)
    record = RunRecord(False, kernel.name, [])
    commands = [LaunchCommand(launch, warm=True) for launch in launches * times]
    CommandProcessor(conditions.gpu, Reporter(quiet=True)).run(commands, record)
    return [record.launches[at : at + len(launches)] for at in range(0, len(commands), len(launches))]


def _time(call: "list[RunFacts]") -> float:
    return plain_sum(facts.time_us for facts in call)


def _prediction(
    point: Point, call: "list[RunFacts]", tiles: int, time_us: float, first_us: float | None, simulated: float
) -> Prediction:
    product = call[-1]
    bounds = {name: cycles for name, cycles in product.roofline.items() if name != "latency"}
    bound = max(bounds, key=lambda name: bounds[name])
    share = bounds[bound] / product.kernel.cycles
    from gpusim.core.facts import combined

    return Prediction(point, time_us, first_us, len(call), tiles, bound, share, simulated, combined(call))
