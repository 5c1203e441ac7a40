"""What the model says of measured points: each is launched as it was measured, in processes side by side."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.base.children import ProcessPool
from gpusim.base.errors import GpusimError, UserError
from gpusim.lab.silicon.convolutions import predict_own, predict_same
from gpusim.lab.silicon.kernels import KernelSource
from gpusim.lab.silicon.measured import MeasuredPoint, ProductPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.prediction import MEMORY_MIB, Conditions, Prediction, call_us, run_warm
from workloads.vendor.tensile import takes_pointers

if TYPE_CHECKING:
    from gpusim.model.core.facts import RunFacts
    from isa.launch import Launch
    from workloads.vendor.column_lanes import ColumnLanesKernel
    from workloads.vendor.tensile import TensileKernel, TensileProblem

    GemmKernel = TensileKernel | ColumnLanesKernel


class _Task(NamedTuple):
    """A point that runs in its own process."""

    name: str
    """Name for messages."""
    key: Any
    """Key of the point."""


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
        return predict_same(point, conditions, kernels) if point.same_solver else predict_own(point, conditions)
    problem, kernel = build_problem(point, conditions)
    first, *later = _run(point, conditions, kernels)
    call = later[-1] if later else first
    tiles = math.prod(kernel.workgroups(problem)) * kernel.split_k
    return Prediction.of(point, call, max(call, key=lambda facts: facts.kernel.cycles), tiles, call_us(first))


def build_problem(point: ProductPoint, conditions: Conditions) -> "tuple[TensileProblem, GemmKernel]":
    """Return the product of a point, and how its kernel, by its name, splits it.

    Args:
        point: The point.
        conditions: Kernels and GPU.

    Raises:
        UserError: No kernel has that name.
    """
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
    """Lay the operands of a product into memory and return its launches.

    Args:
        problem: The product.
        kernel: The kernel.
        kernels: Where its code is.

    Raises:
        UserError: The operands do not fit the memory.
    """
    from isa.device_memory import DeviceMemory

    return kernel.launches(problem, kernels, DeviceMemory(MEMORY_MIB << 20))


def _run(point: ProductPoint, conditions: Conditions, kernels: KernelSource) -> "list[list[RunFacts]]":
    """Return the facts of each call's launches; the first call has empty caches, each further one what the previous
    call left there.
    """
    launches = build_launches(*build_problem(point, conditions), kernels)
    machine = conditions.get_gpu(point), conditions.get_sampling(point)
    found = run_warm(launches, point.kernel, *machine, conditions.calls(point), conditions.invalidated)
    return [found[at : at + len(launches)] for at in range(0, len(found), len(launches))]
