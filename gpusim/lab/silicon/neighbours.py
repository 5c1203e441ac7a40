"""Measured products beside their neighbours in the table: which readings contradict those of the same work?

The rule knows the measurements alone, not the model. Neighbours have the same kind of kernel, tile, split of K, K and
batch, so that each workgroup does the same work; and a number of workgroups within a factor of two. Their times may
differ by as much. A reading is contradicted where it is three times the median of two or more neighbours, or a third.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from gpusim.lab.silicon.measured import MeasuredPoint, ProductPoint
from workloads.vendor.tensile import TensileError, TensileKernel, TensileProblem

WORKGROUPS_FACTOR = 2.0
LEAST_NEIGHBOURS = 2


def with_neighbours(points: Sequence[MeasuredPoint]) -> list[MeasuredPoint]:
    """Return all points of a table, each product with its time over the median of its neighbours."""
    by_work: dict[tuple[object, ...], list[tuple[int, float]]] = {}
    places = [_work_of(point) for point in points]
    for point, (work, workgroups) in zip(points, places, strict=True):
        by_work.setdefault(work, []).append((workgroups, point.time_us))
    compared: list[MeasuredPoint] = []
    for point, (work, workgroups) in zip(points, places, strict=True):
        alike = list(by_work[work])
        alike.remove((workgroups, point.time_us))
        low, high = workgroups / WORKGROUPS_FACTOR, workgroups * WORKGROUPS_FACTOR
        times_us = [time_us for count, time_us in alike if low <= count <= high]
        if isinstance(point, ProductPoint) and workgroups and len(times_us) >= LEAST_NEIGHBOURS:
            compared.append(replace(point, over_neighbours=point.time_us / median(times_us)))
        else:
            compared.append(point)
    return compared


def _work_of(point: MeasuredPoint) -> tuple[tuple[object, ...], int]:
    """Return what the neighbours of a point have in common with it, and its workgroups; 0 where it is no product, or
    its kernel's name does not say them."""
    if not isinstance(point, ProductPoint):
        return (), 0
    try:
        kernel = TensileKernel.named(point.kernel)
    except TensileError:
        return (), 0
    problem = TensileProblem(point.transposes, point.m, point.n, point.k, batch=point.batch)
    shape = (kernel.tile, kernel.turn, kernel.split_k, kernel.precision, kernel.pointers, point.is_compiled)
    return (*shape, point.k, point.batch), math.prod(kernel.workgroups(problem)) * kernel.split_k
