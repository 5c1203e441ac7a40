"""What of a figure has not been run, or was by other sources than the last run: marked below its tables."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.page.blocks import Block, text
from gpusim.lab.papers.points import ReproductionPoint, list_points
from gpusim.lab.papers.specs.figure import Figure, RunsFigure
from gpusim.lab.papers.specs.reproduction import Reproduction

_OF_PLACE = ("case", "batch", "x", "y", "change")


class _PointSet(NamedTuple):
    """Points of a variant with one kind of data."""

    all: list[str]
    """Positions (case, batch and others) of all points."""
    some: list[str]
    """Positions of the marked points."""


def marks(reproduction: Reproduction, figure: Figure, results: ReproductionResults) -> Iterator[Block]:
    """Yield a line for the points that have not been run, and one for other sources whose runs stand here."""
    if not isinstance(figure, RunsFigure):
        return
    points = {point.key: point for point in list_points(reproduction, figure)}
    missing = points.keys() - results.points.keys()
    if missing:
        yield text(f"Not run, {_said(reproduction, points, missing)}.")
    by_sources: dict[str, set[str]] = {}
    for key in find_outdated_points(results) & points.keys():
        by_sources.setdefault(results.points[key].sources, set()).add(key)
    for sources, keys in sorted(by_sources.items()):
        yield text(
            f"Run by other sources than the last run ({sources or 'unknown'}), {_said(reproduction, points, keys)}."
        )


def find_outdated_points(results: ReproductionResults) -> set[str]:
    """Return the points whose runs are of other sources than the last run's."""
    return {key for key, one in results.points.items() if one.sources != results.said.get("sources", one.sources)}


def _said(reproduction: Reproduction, points: Mapping[str, ReproductionPoint], marked: Collection[str]) -> str:
    """Name points: how many of how many, and by way and data the places."""
    held: dict[str, _PointSet] = {}
    for key, point in points.items():
        labels = point.labels
        name = reproduction.spec.paths[labels["path"]].title
        one = held.setdefault(f"{name}, {labels['data']} data", _PointSet([], []))
        place = " ".join(labels[label] for label in _OF_PLACE if label in labels)
        one.all.append(place)
        if key in marked:
            one.some.append(place)
    parts = [
        f"{name}: {'all' if one.some == one.all else ', '.join(one.some)}" for name, one in held.items() if one.some
    ]
    return f"{len(marked)} of {len(points)} points: {'; '.join(parts)}"
