"""What each point costs, and whether it can be run at all: found out for all of them before the first one is run.

The rates are fixed, apart from those of `gpusim.jobs.estimates.run_costs`, which follow the host: `--budget` and the
draw of rows decide by them, and a table has to have the same rows on every machine.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.base.errors import GpusimError
from gpusim.base.formats import FIXED_1, GENERAL, GROUPED_0
from gpusim.lab.silicon.kernels import KernelSource
from gpusim.lab.silicon.measured import LaunchOverhead, MeasuredPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.predict import build_launches, build_problem
from gpusim.lab.silicon.prediction import Conditions
from gpusim.model.core.occupancy import occupancy
from isa.encoding.control_flow import decode_kernel
from isa.opcodes.float_operations import multiply_accumulates

if TYPE_CHECKING:
    from gpusim.lab.silicon.predict import GemmKernel
    from isa.encoding.instruction import Instruction
    from isa.launch import Launch
    from workloads.vendor.tensile import TensileProblem

# what a processor simulates in a second, fitted to ten of AMD's products: those above ten seconds within a fifth
INSTRUCTIONS_PER_S = 26e6  # of wavefronts
LINES_PER_S = 1.06e6  # that L2 is asked for
MATRIX_PRODUCTS_PER_S = 2e6  # measured: each computes thousands of multiply-accumulates
SAMPLED_ROUNDS = 10  # of resident workgroups: what a sampled product usually takes
_LANES = 64
_LINE_BYTES = 64
# multiply-accumulates of a lane, by instruction
_MULTIPLY_ACCUMULATE = {
    **dict.fromkeys(("v_mac_f32", "v_fma_f32", "v_fmac_f32", "v_fma_f64", "v_mad_mix_f32", "v_fma_mix_f32"), 1),
    **dict.fromkeys(("v_dot2_f32_f16", "v_pk_fma_f16"), 2),
}
_MATRIX_INSTRUCTION = re.compile(r"_MI(\d+)x(\d+)x(\d+)x(\d+)_")  # in a kernel's name: m, n, k, blocks


@dataclass(frozen=True)
class PointCosts:
    """Points with their estimated cost before they are run."""

    cost_s: dict[MeasuredPoint, float]
    """Processor seconds of the points that can be run."""
    refused: dict[MeasuredPoint, str]
    """Reason for each point that cannot be run."""


def no_measurement(point: MeasuredPoint, launches: LaunchOverhead) -> str:
    """Say why a point's time cannot be that of one launch of its kernel; empty where it can.

    Args:
        point: The point.
        launches: Time that no kernel takes.
    """
    least_us = launches.of(point) if point.own_launch_us is None else point.own_launch_us
    if point.time_us > least_us:
        return ""
    return (
        f"measured are {FIXED_1(point.time_us)} us, and a measurement holds {GENERAL(least_us)} us beside its kernels:"
        " not the time of one product (that of a batch, whose size is not said, divided by it?)"
    )


def check(
    points: Sequence[MeasuredPoint],
    conditions: Conditions,
    kernels: KernelSource,
    budget_s: float | None = None,
    launches: LaunchOverhead = LaunchOverhead(0.0),
) -> PointCosts:
    """Estimate each point's cost, and find those that cannot be run.

    Args:
        points: Points of a table.
        conditions: Kernels and GPU.
        kernels: Where their code is.
        budget_s: Most processor seconds of one.
        launches: What measurements hold beside the kernels.
    """
    costs = PointCosts({}, {})
    for point in points:
        impossible = no_measurement(point, launches)
        if impossible:
            costs.refused[point] = impossible
            continue
        try:
            seconds = _seconds(point, conditions, kernels)
        except GpusimError as error:
            costs.refused[point] = str(error)
            continue
        if budget_s is not None and seconds > budget_s:
            costs.refused[point] = (
                f"about {GROUPED_0(seconds)} processor seconds, more than --budget {GENERAL(budget_s)}"
            )
        else:
            costs.cost_s[point] = seconds
    return costs


def _seconds(point: MeasuredPoint, conditions: Conditions, kernels: KernelSource) -> float:
    if isinstance(point, ConvolutionPoint):
        return _of_convolution(point, conditions, kernels)
    problem, kernel = build_problem(point, conditions)
    product = next(one for one in build_launches(problem, kernel, kernels) if one.kernel.name == point.kernel)
    whole = conditions.calls(point) * _product_seconds(problem, kernel, product)
    if conditions.get_sampling(point) is None:
        return whole
    gpu = conditions.get_gpu(point)
    resident = gpu.cus * occupancy(product, gpu.cu).workgroups_per_cu
    return whole * min(1.0, SAMPLED_ROUNDS * resident / math.prod(product.workgroups))


def least_seconds(point: MeasuredPoint, conditions: Conditions) -> float:
    """Return the least that a point takes in whole where its kernel's code is not at hand: no instructions but its
    multiply-accumulates.

    Args:
        point: A measured point.
        conditions: How it is run.
    """
    if isinstance(point, ConvolutionPoint):
        return conditions.calls(point) * point.gflop * 1e9 / (2 * _LANES) / INSTRUCTIONS_PER_S
    problem, kernel = build_problem(point, conditions)
    found = _MATRIX_INSTRUCTION.search(point.kernel)
    least = _multiplications(problem, kernel) / (math.prod(map(int, found.groups())) / _LANES if found else 1)
    each = least / (MATRIX_PRODUCTS_PER_S if found else INSTRUCTIONS_PER_S) + _lines(problem, kernel) / LINES_PER_S
    return conditions.calls(point) * each


def _of_convolution(point: ConvolutionPoint, conditions: Conditions, kernels: KernelSource) -> float:
    """Estimate the seconds of a convolution: the product twice and what moves images, or our algorithms."""
    from gpusim.lab.silicon.convolutions import own_effort, timed
    from workloads.vendor.tensile import TensileKernel, TensileProblem

    if not point.same_solver:
        return own_effort(point, conditions.gpu) / INSTRUCTIONS_PER_S
    made = timed(point, conditions, kernels)
    transposes, m, n, k, batch = point.product
    problem, kernel = TensileProblem(transposes, m, n, k, batch=batch), TensileKernel.named(point.kernel)
    c, moves = point.convolution, len(made.before) + len(made.after)
    columns = 4 * c.shape[0] * c.depth * c.positions / _LINE_BYTES
    return 2 * _product_seconds(problem, kernel, made.product[-1]) + moves * columns / LINES_PER_S


def _product_seconds(problem: "TensileProblem", kernel: "GemmKernel", product: "Launch") -> float:
    """Estimate the seconds of a product: the multiply-accumulates of whole tiles, each with its share of the loop's
    other instructions, and the lines."""
    instructions, products = _per_multiplication(decode_kernel(product.kernel))
    each = instructions / INSTRUCTIONS_PER_S + products / MATRIX_PRODUCTS_PER_S
    return _multiplications(problem, kernel) * each + _lines(problem, kernel) / LINES_PER_S


def _multiplications(problem: "TensileProblem", kernel: "GemmKernel") -> float:
    """Count the multiply-accumulates of wavefronts in whole tiles."""
    return math.prod(kernel.workgroups(problem)) * math.prod(kernel.tile) * problem.k / _LANES


def _lines(problem: "TensileProblem", kernel: "GemmKernel") -> float:
    """Return the cache lines of A and B that all workgroups load, each those of its tile."""
    return math.prod(kernel.workgroups(problem)) * sum(kernel.tile) * problem.k * kernel.element_bytes / _LINE_BYTES


def _per_multiplication(instructions: "Sequence[Instruction]") -> tuple[float, float]:
    """Return the instructions per multiply-accumulate of the loop that has the most of these, and the matrix products
    among them; one instruction without such a loop."""
    most, length, products = 0, 1, 0
    for branch in instructions:
        target = branch.branch_target
        if target is None or target > branch.address:
            continue
        loop = [one for one in instructions if target <= one.address <= branch.address]
        count = sum(map(_multiply_accumulates, loop))
        if count > most:
            most, length, products = count, len(loop), sum("matrix" in one.opcode.flags for one in loop)
    return length / (most or 1), products / (most or 1)


def _multiply_accumulates(instruction: "Instruction") -> int:
    """Count an instruction's multiply-accumulates of a lane."""
    found = _MULTIPLY_ACCUMULATE.get(instruction.opcode.mnemonic, 0)
    return multiply_accumulates(instruction.opcode) if "matrix" in instruction.opcode.flags else found
