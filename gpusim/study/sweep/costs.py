"""What a sweep's points would cost before any runs: those that the store lacks, by like runs or by bounds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.axis_roles import roles_of
from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.config.sweep import SweepSpec
from gpusim.jobs.estimates.run_costs import CostEstimator, RunCost
from gpusim.results.store.keeper import StoreWriter
from gpusim.results.store.work import RunDescription
from gpusim.study.sweep.points import Point, list_points, random_points
from gpusim.study.sweep.tasks import JobTask, check_paths, prepared

MOST_LOOKED_AT = 6  # points of a workload whose launches are looked at; the others are taken to be as these


@dataclass(frozen=True)
class SweepEstimate:
    """Estimated cost of a sweep."""

    points: int
    """Number of points."""
    there: int
    """Number of points in the store."""
    missing: Sequence[tuple[Point, RunCost]]
    """Other points with their costs."""
    notes: Sequence[str]
    """Basis of the estimates, with the errors of earlier ones."""


def estimated(spec: SweepSpec, file: Path, store: Path) -> SweepEstimate:
    """Estimate a sweep's missing points; of a search as many as it has, drawn at random.

    A point without any like run is estimated by bounds (`gpusim.jobs.estimates`); one that cannot be made costs
    nothing, as the notes say.

    Args:
        spec: The sweep.
        file: File of the sweep.
        store: File of the store.

    Raises:
        UserError: A point is not allowed.
    """
    check_paths(spec)
    points = list(_drawn(spec)) if spec.method == "search" else list_points(spec)
    estimator, there = CostEstimator(store, spec.kind), 0
    missing: list[tuple[Point, JobTask, RunCost | None]] = []
    with StoreWriter(store) if store.exists() else nullcontext() as keeper:
        for point, work, task in _possible(spec, points, file):
            if keeper is not None and keeper.found(work) is not None:
                there += 1
            else:
                missing.append((point, task, estimator.from_similar(work)))
    unknown = {number: (point, task) for number, (point, task, cost) in enumerate(missing) if cost is None}
    by_bounds = _by_bounds(spec, unknown, estimator)
    costs = [(point, cost or by_bounds.get(number)) for number, (point, _, cost) in enumerate(missing)]
    known = [(point, cost) for point, cost in costs if cost is not None]
    impossible, notes = len(points) - there - len(known), estimator.notes()
    if impossible:
        notes.append(f"{impossible} points cannot be made, and cost nothing: the sweep keeps them as failed")
    return SweepEstimate(len(points), there, known, notes)


def _possible(spec: SweepSpec, points: Sequence[Point], file: Path) -> Iterator[tuple[Point, RunDescription, JobTask]]:
    """Yield point, work and task of each point of which there is a configuration."""
    for point in points:
        try:
            work, task = prepared(spec, point, file)
        except UserError:
            continue
        yield point, work, task


def _drawn(spec: SweepSpec) -> list[Point]:
    assert spec.points is not None
    found = random_points(spec, spec.seed)
    return [next(found) for _ in range(spec.points)]


def _by_bounds(
    spec: SweepSpec, points: Mapping[int, tuple[Point, JobTask]], estimator: CostEstimator
) -> dict[int, RunCost]:
    """Estimate points by bounds: some of each workload and environment, and the others as these in the mean."""
    roles = roles_of(spec.axes, spec.roles)
    groups: dict[str, list[int]] = {}
    for number, (point, _) in points.items():
        shared = [point[path] for path, role in roles.items() if role in ("workload", "environment")]
        groups.setdefault(repr(shared), []).append(number)
    costs: dict[int, RunCost] = {}
    for numbers in groups.values():
        chosen, counted = _spread(numbers), dict[int, RunCost]()
        for number in chosen:
            with suppress(UserError):  # it can be no job: the sweep itself will say why
                counted[number] = estimator.from_launches(points[number][1].job())
        if counted:
            mean = RunCost(
                plain_sum(cost.cpu_s for cost in counted.values()) / len(counted),
                plain_sum(cost.cycles for cost in counted.values()) / len(counted),
                max(cost.memory_mb for cost in counted.values()),
            )
            costs |= dict.fromkeys(set(numbers) - set(chosen), mean) | counted
    return costs


def _spread(numbers: Sequence[int]) -> list[int]:
    """Return some of the numbers, evenly spread, the first and the last among them."""
    most = min(MOST_LOOKED_AT, len(numbers))
    return [numbers[round(k * (len(numbers) - 1) / max(most - 1, 1))] for k in range(most)]
