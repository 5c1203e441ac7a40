"""A large product in part: two of fewer columns of C, and the line through their times.

What a column costs once the GPU is full is the line's slope; how long filling and emptying takes, its height at no
columns. The last round of workgroups is rarely full: both products leave as many compute units idle in it as the
whole one does, where they are long enough.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError

if TYPE_CHECKING:
    from gpusim.correlation.predict import SgemmKernel
    from workloads.vendor.tensile import SgemmProblem


def two_shorter(
    problem: "SgemmProblem", kernel: "SgemmKernel", resident: int, limit_gflop: float
) -> tuple["SgemmProblem", "SgemmProblem"]:
    """Return two products of fewer columns, the shorter first, each with no more work than the limit.

    resident: workgroups that the GPU holds at a time, a round of them. All edges of C stay as they are. Raises
    UserError where not even two columns of tiles are within the limit.
    """
    rows, columns = kernel.workgroups(problem)
    most = min(columns - 1, int(columns * limit_gflop / (problem.flop * 1e-9)))
    if most < 2:
        raise UserError(
            f"{problem.transposes} {problem.m}x{problem.n}x{problem.k}: to be run in part, it must be cut into columns "
            f"of tiles, and two of {columns} have more work than {limit_gflop:g} GFLOP (--limit)"
        )
    step = resident // math.gcd(resident, rows * kernel.split_k)  # columns of tiles in whole rounds
    long = columns - step * -(-(columns - most) // step)
    if long < 2:
        long = most
    short = long - step * max(1, long // (2 * step))
    if short < 1:
        short = long // 2
    width = kernel.tile[1]
    edge = problem.n - (columns - 1) * width  # of the last column of tiles
    sizes = ((count - 1) * width + edge for count in (short, long))
    shorter, longer = (replace(problem, n=n) for n in sizes)
    return shorter, longer


def extrapolated(n: int, short: tuple[int, float], long: tuple[int, float]) -> float:
    """Return the time at n columns, on the line through two pairs of columns and time."""
    slope = (long[1] - short[1]) / (long[0] - short[0])
    return long[1] + slope * (n - long[0])
