"""What a sweep's points would cost before any runs: those that the store lacks, by like runs or by bounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.axis_roles import roles_of
from gpusim.base.errors import UserError
from gpusim.base.extensions import known_kind, load
from gpusim.base.sums import plain_sum
from gpusim.config.sweep import SweepSpec
from gpusim.jobs.estimates.checked import load_checked
from gpusim.jobs.estimates.whole_runs import NOTE, estimated_job
from gpusim.results.store.costs import RunCost, SimilarRuns
from gpusim.results.store.keeper import StoreWriter
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.work import RunDescription
from gpusim.study.sweep.points import Point, list_points, random_points
from gpusim.study.sweep.tasks import PointTask, check_paths, prepared

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
    """Estimate a sweep's missing points; of a search as many as it has, drawn at random. Raise UserError.

    A point without any like run is estimated by bounds (`gpusim.jobs.estimates`); one that cannot be made costs
    nothing, as the notes say.
    """
    check_paths(spec)
    points = list(_drawn(spec)) if spec.method == "search" else list_points(spec)
    lacking: list[tuple[Point, PointTask, RunCost | None]] = []
    there, notes = 0, list[str]()
    if store.exists():
        with StoreReader(store) as results, StoreWriter(store) as keeper:
            like = SimilarRuns(results, spec.kind)
            for point, work, task in _possible(spec, points, file):
                if keeper.found(work) is not None:
                    there += 1
                else:
                    lacking.append((point, task, like.of(work.configuration)))
            notes = like.notes()
    else:
        lacking = [(point, task, None) for point, _, task in _possible(spec, points, file)]
    unknown = {number: (point, task) for number, (point, task, cost) in enumerate(lacking) if cost is None}
    found = _by_bounds(spec, unknown)
    if unknown:
        notes += [NOTE, *load_checked().notes()]
    costs = [(point, cost or found.get(number)) for number, (point, _, cost) in enumerate(lacking)]
    missing = [(point, cost) for point, cost in costs if cost is not None]
    impossible = len(points) - there - len(missing)
    if impossible:
        notes.append(f"{impossible} points cannot be made, and cost nothing: the sweep keeps them as failed")
    return SweepEstimate(len(points), there, missing, notes)


def _possible(
    spec: SweepSpec, points: Sequence[Point], file: Path
) -> Iterator[tuple[Point, RunDescription, PointTask]]:
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


def _by_bounds(spec: SweepSpec, points: Mapping[int, tuple[Point, PointTask]]) -> dict[int, RunCost]:
    """Estimate points by bounds: some of each workload and environment, and the others as these in the mean."""
    roles = roles_of(spec.axes, spec.roles)
    groups: dict[str, list[int]] = {}
    for number, (point, _) in points.items():
        held = [point[path] for path, role in roles.items() if role in ("workload", "environment")]
        groups.setdefault(repr(held), []).append(number)
    found: dict[int, RunCost] = {}
    for numbers in groups.values():
        asked = {number: points[number][1] for number in _spread(numbers)}
        looked = _looked_at(spec, asked)
        if not looked:
            continue
        mean = RunCost(
            plain_sum(one.cpu_s for one in looked.values()) / len(looked),
            plain_sum(one.cycles for one in looked.values()) / len(looked),
            max(one.memory_mb for one in looked.values()),
        )
        found |= {number: looked.get(number, mean) for number in numbers if number in looked or number not in asked}
    return found


def _looked_at(spec: SweepSpec, tasks: Mapping[int, PointTask]) -> dict[int, RunCost]:
    """Estimate points' tasks; one that can be no job, of which the sweep itself will say why, is left out."""
    found: dict[int, RunCost] = {}
    for number, task in tasks.items():
        try:
            found[number] = _cost(spec, task)
        except UserError:
            continue
    return found


def _spread(numbers: Sequence[int]) -> list[int]:
    """Return some of the numbers, evenly spread, the first and the last among them."""
    most = min(MOST_LOOKED_AT, len(numbers))
    return [numbers[round(k * (len(numbers) - 1) / max(most - 1, 1))] for k in range(most)]


def _cost(spec: SweepSpec, task: PointTask) -> RunCost:
    make, arguments = task.make, task.arguments  # type: ignore[attr-defined]
    own = known_kind(spec.kind).estimate
    found = load(own)(*arguments) if own else estimated_job(make(*arguments))
    assert found is not None, f"{spec.kind}: is no list of launches"
    cost: RunCost = found.cost
    return cost
