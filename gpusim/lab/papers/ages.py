"""How old a publication's points are, by the present model and by what each of them would be run with now."""

from collections.abc import Mapping
from pathlib import Path

from gpusim.lab.papers.network_points import NetworkFigure
from gpusim.lab.papers.plan import ReproductionPlan, plan_points
from gpusim.lab.papers.points import RunsFigure
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.records import PointRecord, ReproductionResults
from gpusim.lab.versions.age import FigureAge, compare_version
from gpusim.lab.versions.equivalence import load_equivalences
from gpusim.lab.versions.model import RESULTS, present_model


def list_kernels(results: ReproductionResults, key: str) -> set[str]:
    """Return the kernels that a point launched.

    Args:
        results: The results.
        key: Key of the point.
    """
    record = results.runs[key]
    if isinstance(record, PointRecord):
        return {kernel for kernel, _ in record.launches}
    return {launch.kernel for launch in record.launches}


def kind_of_point(results: ReproductionResults, key: str) -> str:
    """Return the kind of a point: the kernels of a product, or that it is a network.

    Args:
        results: The results.
        key: Key of the point.
    """
    is_product = isinstance(results.runs[key], PointRecord)
    return ", ".join(sorted(list_kernels(results, key))) if is_product else "network"


def point_ages(
    publication: Publication, folder: Path = RESULTS, plan: ReproductionPlan | None = None
) -> Mapping[str, FigureAge]:
    """Return the age of each known point. Points are planned only where the model has not changed.

    Args:
        publication: The publication with its results.
        folder: Where equivalences are declared.
        plan: All its points, where they are planned already.

    Returns:
        Ages by key.
    """
    results, name = publication.results, publication.reproduction.name
    now, equivalences = present_model(), load_equivalences(folder)
    kinds = {key: kind_of_point(results, key) for key in results.runs}
    ages = {key: compare_version(run.version, name, now, equivalences, kinds[key]) for key, run in results.runs.items()}
    if not any(age.is_current for age in ages.values()):
        return ages
    plan = plan or plan_points(publication.reproduction, publication.figures)
    for key, planned in plan.points.items():
        if key in ages and ages[key].is_current:
            own = planned.version(list_kernels(results, key)).own
            ages[key] = compare_version(results.runs[key].version, name, {**now, **own}, equivalences, kinds[key])
    return ages


def figure_keys(publication: Publication, figure: Figure) -> list[str]:
    """Return the keys of the known points of a figure, in order.

    Args:
        publication: The publication with its results.
        figure: One of its figures.
    """
    keys: list[str] = []
    if isinstance(figure, RunsFigure):
        keys = [point.key for point in figure.points(publication.spec)]
    elif isinstance(figure, NetworkFigure):
        keys = [point.key for point in figure.points(publication.reproduction)]
    return [key for key in dict.fromkeys(keys) if key in publication.results.runs]
