"""What the model says of measured points: each is launched as it was measured, in processes side by side.

A large product is not run whole: two shorter ones, of fewer columns of C, say what a column costs once the GPU is
full, and how long filling and emptying it takes. Both have the remainder of the whole one in tiles that are resident
at a time, where they are long enough, so that the last tiles leave as many compute units idle.
"""

import math
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.config.measured import MeasuredTable, Point
from gpusim.core.gpu_spec import GpuSpec
from gpusim.correlation.kernels import KernelSource

if TYPE_CHECKING:
    from gpusim.core.facts import RunFacts
    from workloads.vendor.tensile import SgemmProblem, TensileKernel

MEMORY_MIB = 16384  # more than the card has: a table may hold products that were measured in parts
SHORTEST_ROUNDS = 2  # of resident workgroups, in the shorter of two runs


@dataclass(frozen=True)
class Prediction:
    """A point on the model.

    time_us: of its kernels, at the clock of the table; first_us: the same with empty caches, None where it was not run;
    launches: kernels of one call; workgroups: of the product; bound: the largest bound of the roofline; utilization:
    that bound / cycles; simulated: the share of the product's columns that was run, more than 1 where it was run again.
    """

    point: Point
    time_us: float
    first_us: float | None
    launches: int
    workgroups: int
    bound: str
    utilization: float
    simulated: float


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
        """As the table says: its GPU at the clock it was measured at."""
        gpu = table.gpu if table.clock_ghz is None else replaced(table.gpu, "clock_ghz", table.clock_ghz)
        return cls(gpu, table.alpha, table.beta, table.warm_below_gflop, limit_gflop)

    def with_gpu(self, gpu: GpuSpec) -> "Conditions":
        """The same for another GPU."""
        return replace(self, gpu=gpu)


def replaced(gpu: GpuSpec, path: str, value: Any) -> GpuSpec:
    """The GPU with one value of its configuration changed, `l2.channels`; raises UserError."""
    from gpusim.config.gpu import load_gpu

    return load_gpu(gpu.model_dump(mode="json"), {path: value})


class _Worker:
    """A process's kernels: read once."""

    kernels: KernelSource | None = None


def _start(paths: list[Path], multiply_accumulate: bool) -> None:
    _Worker.kernels = KernelSource(paths, multiply_accumulate)


def predicted(
    points: Sequence[tuple[Any, Point]],
    conditions: Sequence[Conditions],
    paths: list[Path],
    multiply_accumulate: bool,
    jobs: int,
) -> Iterator[tuple[Any, Prediction]]:
    """Each (key, point) run under the condition at its place, with its key, in the order in which they are done.

    jobs: processes. Raises what a run raises, in the process that asked.
    """
    work = sorted(zip(points, conditions, strict=True), key=lambda job: -_cost(job[0][1], job[1]))
    if jobs == 1:
        _start(paths, multiply_accumulate)
        for (key, point), condition in work:
            yield key, predict(point, condition)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _start, (paths, multiply_accumulate)) as pool:
        # the first alone: it compiles what all need
        (key, point), condition = work[-1]
        yield key, pool.submit(predict, point, condition).result()
        running: dict[Future[Prediction], Any] = {
            pool.submit(predict, point, condition): key for (key, point), condition in work[:-1]
        }
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()


def _cost(point: Point, conditions: Conditions) -> float:
    gflop = min(point.gflop, 1.5 * conditions.limit_gflop)
    return 2 * gflop if point.gflop < conditions.warm_below_gflop else gflop


def predict(point: Point, conditions: Conditions) -> Prediction:
    """Run one point in this process."""
    from workloads.vendor.tensile import SgemmProblem, TensileKernel

    kernel = TensileKernel.named(point.kernel)
    problem = SgemmProblem(point.transposes, point.m, point.n, point.k, conditions.alpha, conditions.beta)
    tiles = math.prod(kernel.workgroups(problem)) * kernel.split_k
    if point.gflop < conditions.warm_below_gflop:
        first, warm = _run(problem, kernel, conditions, 2)
        return _prediction(point, warm, tiles, _time(warm), _time(first), 2.0)
    if point.gflop <= conditions.limit_gflop:
        (only,) = _run(problem, kernel, conditions, 1)
        return _prediction(point, only, tiles, _time(only), _time(only), 1.0)
    short, long = _shorter(problem, kernel, conditions)
    (brief,), (longer,) = (_run(part, kernel, conditions, 1) for part in (short, long))
    slope = (_time(longer) - _time(brief)) / (long.n - short.n)
    time_us = _time(longer) + slope * (point.n - long.n)
    return _prediction(point, longer, tiles, time_us, None, (short.n + long.n) / point.n)


def _shorter(
    problem: "SgemmProblem", kernel: "TensileKernel", conditions: Conditions
) -> tuple["SgemmProblem", "SgemmProblem"]:
    """Two products of fewer columns within the limit of work; raises UserError where not even one tile is."""
    rows, columns = kernel.workgroups(problem)
    width = kernel.tile[1]
    most = int(columns * conditions.limit_gflop / (problem.flop * 1e-9))
    resident = conditions.gpu.cus * SHORTEST_ROUNDS
    step = resident // math.gcd(resident, rows * kernel.split_k)  # columns of tiles in whole rounds
    if most < 2:
        raise UserError(f"{problem}: two columns of tiles are more work than {conditions.limit_gflop:g} GFLOP")
    if columns - step * ((columns - most) // step + 1) >= 1:
        long = columns - step * -(-(columns - most) // step)
        short = long - step * max(1, long // (2 * step))
        if short < 1:
            short = max(1, long // 2)
    else:
        long, short = most, most // 2
    edge = problem.n - (columns - 1) * width  # of the last column of tiles
    return tuple(replace(problem, n=(count - 1) * width + edge) for count in (short, long))  # type: ignore[return-value]


def _run(
    problem: "SgemmProblem", kernel: "TensileKernel", conditions: Conditions, times: int
) -> "list[list[RunFacts]]":
    """The facts of each call's launches, the first with empty caches, each next one with what the one before left."""
    from gpusim.host.command_processor import CommandProcessor, LaunchCommand
    from gpusim.results.record import RunRecord
    from isa.device_memory import DeviceMemory
    from workloads.vendor.tensile import TensileGemm

    assert _Worker.kernels is not None
    memory = DeviceMemory(max(conditions.gpu.memory_mib, MEMORY_MIB) << 20)
    launches = TensileGemm.allocate(problem, kernel, _Worker.kernels, memory).launches
    record = RunRecord(False, kernel.name, [])
    commands = [LaunchCommand(launch, warm=True) for launch in launches * times]
    CommandProcessor(conditions.gpu, Reporter(quiet=True)).run(commands, record)
    return [record.launches[at : at + len(launches)] for at in range(0, len(commands), len(launches))]


def _time(call: "list[RunFacts]") -> float:
    return sum(facts.time_us for facts in call)


def _prediction(
    point: Point, call: "list[RunFacts]", tiles: int, time_us: float, first_us: float | None, simulated: float
) -> Prediction:
    product = call[-1]
    bounds = {name: cycles for name, cycles in product.roofline.items() if name != "latency"}
    bound = max(bounds, key=lambda name: bounds[name])
    share = bounds[bound] / product.kernel.cycles
    return Prediction(point, time_us, first_us, len(call), tiles, bound, share, simulated)


def default_jobs() -> int:
    """Processes: as many as this process has processors."""
    return len(os.sched_getaffinity(0))
