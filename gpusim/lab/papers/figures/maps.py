"""Maps of where one way is faster than another: over two values of the machine, or over cases and shares of zeros."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from math import hypot
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from gpusim.base.formats import PERCENT, TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import Spec, param
from gpusim.base.table import MISSING, Table, columns
from gpusim.lab.papers.formats import thousands
from gpusim.lab.papers.long_table import FigureValue, RatioParts
from gpusim.lab.papers.pictures import HeatMapPanel, heat
from gpusim.lab.papers.points import RunsFigure, build_labels
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import PointRecord
from gpusim.lab.papers.values import FORMATS, CaseRuns, list_groups, list_reasons
from gpusim.lab.papers.views import LIMITS, ZEROS

NOWHERE, EVERYWHERE, BETWEEN = "at none", "at all", "at some in between"


class AxisSpec(Spec):
    """An axis of a map."""

    title: str = param(..., "what is varied, for people", "user")
    values: dict[str, dict[str, Any]] = param(
        ..., "values of the run's configuration by what is written at the axis, in order", "user", min_length=2
    )


class RatioSpec(Spec):
    """The colour of a heat map: the speed-up of one method over another."""

    title: str = param(..., "for people", "user")
    path: str = param(..., "the way", "user")
    base: str = param(..., "the other one", "user")
    comparison: str = param("ours", "the comparison that it belongs to", "user")


class RatioMapFigure(RunsFigure):
    """Base of figures of heat maps of speed-ups."""

    ratios: tuple[RatioSpec, ...] = param(..., "a panel each", "user", min_length=1)

    formats: ClassVar = FORMATS

    def check_ways(self) -> None:
        """Raise ValueError for a ratio of a way that the figure does not have."""
        for ratio in self.ratios:
            self.require_ways(ratio.path, ratio.base, option="ratios")


class MapFigure(RatioMapFigure):
    """Heat maps over two values of the machine or the layer: where one way wins over another."""

    kind: Literal["map"] = param("map", "what is shown", "")
    x: AxisSpec = param(..., "from left to right", "user")
    y: AxisSpec = param(..., "from bottom to top", "user")

    @model_validator(mode="after")
    def _is_one_point(self) -> "MapFigure":
        if len(self.cases) * len(self.batches) * len(self.data) != 1:
            raise ValueError("a map is of one case, one batch and one kind of data")
        return self

    def variations(self, path: str) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """Yield the places of the map."""
        for (y, below), (x, above) in product(self.y.values.items(), self.x.values.items()):
            yield {"x": x, "y": y}, {**below, **above}

    def _runs(self, publication: Publication, x: str, y: str) -> dict[str, PointRecord]:
        """Return the known runs at a place of the map, by way."""
        ((case, batch, data),) = self.places()
        runs = {}
        for path in self.paths:
            labels = build_labels(case, batch, data, path, publication.spec.paths[path].sparse)
            run = publication.results.points.get(" ".join([*labels.values(), x, y]))
            if run is not None:
                runs[path] = run
        return runs

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each place."""
        heads = columns(self.x.title, self.y.title)
        heads += columns(*(publication.spec.paths[path].title for path in self.paths), write=thousands)
        heads += columns(*(ratio.title for ratio in self.ratios), write=TIMES)
        rows: list[list[Any]] = []
        for y, x in product(self.y.values, self.x.values):
            runs = self._runs(publication, x, y)
            cycles = [runs[path].metrics["kernel.cycles"] if path in runs else None for path in self.paths]
            rows.append([x, y, *cycles, *(_speedup(runs, ratio) for ratio in self.ratios)])
        yield Table(heads, rows)

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the values of each ratio at each place, under the ratio's own name."""
        for y, x, ratio in product(self.y.values, self.x.values, self.ratios):
            runs = self._runs(publication, x, y)
            gain = _speedup(runs, ratio)
            if gain is not None:
                labels = {"x": x, "y": y, "path": ratio.path, "base": ratio.base}
                first, second = (runs[way] for way in (ratio.base, ratio.path))
                times = RatioParts(first.time_us, second.time_us)
                explain = partial(list_reasons, first, second)
                yield FigureValue("speedup", ratio.comparison, labels, gain, explain=explain, ratio=times)

    def picture(self, publication: Publication) -> Picture | None:
        """Draw a panel for each ratio."""
        runs = [[self._runs(publication, x, y) for x in self.x.values] for y in self.y.values]
        panels = [
            HeatMapPanel(ratio.title, [[_speedup(place, ratio) for place in row] for row in runs])
            for ratio in self.ratios
        ]
        x, y = ((axis.title, list(axis.values)) for axis in (self.x, self.y))
        return heat(self.title, x, y, panels)


def _speedup(runs: dict[str, PointRecord], ratio: RatioSpec) -> float | None:
    if ratio.path not in runs or ratio.base not in runs:
        return None
    return runs[ratio.base].time_us / runs[ratio.path].time_us


class BreakEvenFigure(RatioMapFigure):
    """Maps over cases with their batches and over data, in order of their zeros: from which share on a way wins."""

    kind: Literal["break_even"] = param("break_even", "what is shown", "")

    def _places(self, publication: Publication) -> dict[tuple[str, int], list[CaseRuns]]:
        """Return the groups of each case and batch, by their data."""
        found: dict[tuple[str, int], list[CaseRuns]] = {}
        for group in list_groups(publication, self):
            found.setdefault((group.case, group.batch), []).append(group)
        return found

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of the shares of zeros from which each ratio is above 1, and one of the ratios."""
        heads = columns("case", "batch")
        for ratio in self.ratios:
            heads += columns(f"{ratio.title}: faster", "by half-widths")
        rows: list[list[Any]] = []
        for place, groups in self._places(publication).items():
            rows.append(list(place))
            for ratio in self.ratios:
                above, at, below = (_crossing_of(groups, ratio, side) for side in (1, 0, -1))
                rows[-1] += [at, above if above == below else f"{above}; {below}"]
        yield Table(heads, rows, "", "At which of the shares of zeros a way is faster; between them by lines.")
        heads = columns("case", "batch") + columns(*ZEROS, write=PERCENT)
        heads += columns(*LIMITS, *(ratio.title for ratio in self.ratios), write=TIMES)
        rows = [
            [group.case, group.batch, group.zeros, group.map_zeros, group.limit, group.map_limit]
            + [group.speedup(ratio.path, ratio.base) for ratio in self.ratios]
            for groups in self._places(publication).values()
            for group in groups
        ]
        yield Table(heads, rows, "ratios", "How many times as fast.")

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield each ratio at each place, as speed-ups of its comparison."""
        for group, ratio in product(list_groups(publication, self), self.ratios):
            gain = group.speedup(ratio.path, ratio.base)
            if gain is not None:
                labels = {**group.labels, "path": ratio.path, "base": ratio.base}
                explain, width = partial(group.reasons, ratio.path, ratio.base), gain * _half_width(group, ratio)
                times = group.times(ratio.base, ratio.path)
                yield FigureValue(
                    "speedup", ratio.comparison, labels, gain, explain=explain, half_width=width, ratio=times
                )

    def picture(self, publication: Publication) -> Picture | None:
        """Draw a panel for each ratio: data from left to right, cases and batches from bottom to top."""
        places = self._places(publication)
        panels = [
            HeatMapPanel(
                ratio.title, [[g.speedup(ratio.path, ratio.base) for g in groups] for groups in places.values()]
            )
            for ratio in self.ratios
        ]
        y = [f"{case}, {batch}" for case, batch in places]
        return heat(self.title, ("data", list(self.data)), ("case and batch", y), panels)


def _half_width(group: CaseRuns, ratio: RatioSpec) -> float:
    return hypot(*(group.ways[path].half_width for path in (ratio.path, ratio.base)))


def _crossing_of(groups: Sequence[CaseRuns], ratio: RatioSpec, side: int) -> str:
    """Return the crossing of a ratio; side: of its values' half-widths that are added."""
    points = []
    for group in groups:
        gain = group.speedup(ratio.path, ratio.base)
        if gain is not None and group.zeros is not None:
            points.append((group.zeros, gain * (1 + side * _half_width(group, ratio))))
    return crossing(sorted(points))


def crossing(points: Sequence[tuple[float, float]]) -> str:
    """Say at which share of zeros a speed-up exceeds 1, by lines between points (zeros, speed-up) in order.

    'from' where it does at the last point and from there back to a crossing, 'up to' where it does at the first alone.
    """
    faster = [gain > 1 for _, gain in points]
    if all(faster) or not any(faster):
        return MISSING if not points else EVERYWHERE if faster[0] else NOWHERE
    if not faster[0] and not faster[-1]:
        return BETWEEN
    lines = pairwise(points) if not faster[-1] else reversed(list(pairwise(points)))
    (zeros, gain), (after, more) = next(ends for ends in lines if (ends[0][1] > 1) != (ends[1][1] > 1))
    return f"{'from' if faster[-1] else 'up to'} {PERCENT(zeros + (after - zeros) * (1 - gain) / (more - gain))}"
