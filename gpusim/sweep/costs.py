"""What a sweep's points would cost before any runs: those that the store lacks, by like runs that it has."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.config.sweep import SweepSpec
from gpusim.store.costs import Cost, LikeRuns
from gpusim.store.keeper import Keeper
from gpusim.store.reading import Results
from gpusim.sweep.points import Point, points_of, random_points
from gpusim.sweep.tasks import check_paths, prepared


@dataclass(frozen=True)
class Estimated:
    """points: of the sweep; there: those in the store; missing: the others with their costs, None: there is no like
    run; error: the median factor by which such estimates were off; known: like runs."""

    points: int
    there: int
    missing: Sequence[tuple[Point, Cost | None]]
    error: float | None
    known: int


def estimated(spec: SweepSpec, file: Path, store: Path) -> Estimated:
    """Estimate a sweep's missing points; of a search as many as it has, drawn at random. Raise UserError.

    Of a network without like runs the processor time is that of the fit (`gpusim.estimates`).
    """
    check_paths(spec)
    points = list(_drawn(spec)) if spec.method == "search" else points_of(spec)
    if not store.exists():
        return Estimated(len(points), 0, [(point, _fitted(spec, point, file)) for point in points], None, 0)
    missing: list[tuple[Point, Cost | None]] = []
    with Results(store) as results, Keeper(store) as keeper:
        like = LikeRuns(results, spec.kind)
        for point in points:
            try:
                work, _ = prepared(spec, point, file)
            except UserError:
                continue  # a point that cannot be costs nothing
            if keeper.found(work) is None:
                missing.append((point, like.of(work.configuration) or _fitted(spec, point, file)))
        return Estimated(len(points), len(points) - len(missing), missing, like.error(), len(like))


def _drawn(spec: SweepSpec) -> list[Point]:
    assert spec.points is not None
    found = random_points(spec, spec.seed)
    return [next(found) for _ in range(spec.points)]


def _fitted(spec: SweepSpec, point: Point, file: Path) -> Cost | None:
    """Return the processor time of a network's point by the fit; None for other kinds."""
    if spec.kind != "net":
        return None
    from gpusim.estimates.network import cost_of

    _, task = prepared(spec, point, file)
    found = cost_of(*task.arguments)  # type: ignore[attr-defined]
    return Cost(found.cpu_s, 0.0, 0.0)
