"""The time of a product by its launches: conversions beside the product itself."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Literal

from gpusim.base.formats import TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table
from gpusim.lab.papers.long_table import FigureValue
from gpusim.lab.papers.pictures import stacked
from gpusim.lab.papers.points import RunsFigure
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.values import FORMATS, CaseRuns, list_groups
from gpusim.lab.papers.views import BREAKDOWN


class BreakdownFigure(RunsFigure):
    """Stacked bars: the time of each of a way's launches."""

    kind: Literal["breakdown"] = param("breakdown", "what is shown", "")
    base: str = param(..., "the dense way", "user")
    conversions: dict[str, tuple[str, ...]] = param({}, "what names of kernels that convert begin with, by way", "user")
    judged: dict[str, tuple[str, ...]] = param({}, "comparisons that a way's values belong to, by way", "user")

    formats: ClassVar = {**FORMATS, "conversion_gain": TIMES}

    def check_ways(self) -> None:
        """Raise ValueError for an option of a way that the figure does not have."""
        self.require_ways(self.base, *self.conversions, *self.judged)

    def _cycles(self, group: CaseRuns) -> dict[str, tuple[int, int]]:
        """Return the cycles of the launches that convert, and of the others, by way."""
        found = {}
        for path, way in group.ways.items():
            kernels = self.conversions.get(path, ())
            converting = plain_sum(cycles for name, cycles in way.launches if name.startswith(kernels))
            found[path] = converting, plain_sum(cycles for _, cycles in way.launches) - converting
        return found

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each way."""
        yield BREAKDOWN.table(
            {"case": group.case, "batch": group.batch, "data": group.data, "way": publication.spec.paths[path].title}
            | {"conversion": converting, "product": product, "share": converting / (converting + product)}
            | {"gain": group.speedup(path, self.base)}
            for group in list_groups(publication, self)
            for path, (converting, product) in self._cycles(group).items()
        )

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield each way's speed-up over the dense one, its conversion's share, and its gain over other conversions."""
        for group in list_groups(publication, self):
            cycles = self._cycles(group)
            for path, (converting, product) in cycles.items():
                labels, estimate = {**group.labels, "path": path}, group.estimate("speedup", path, self.base)
                for comparison in self.judged.get(path, ()):
                    if estimate is not None and path != self.base:
                        gain, width = estimate
                        explain, times = partial(group.reasons, path, self.base), group.times(self.base, path)
                        yield FigureValue(
                            "speedup", comparison, labels, gain, explain=explain, half_width=width, ratio=times
                        )
                    if not converting:
                        continue
                    yield FigureValue("conversion_share", comparison, labels, converting / (converting + product))
                    for other, (theirs, _) in cycles.items():
                        if other != path and theirs:
                            over = {**labels, "over": other}
                            yield FigureValue("conversion_gain", comparison, over, theirs / converting)

    def picture(self, publication: Publication) -> Picture | None:
        """Draw stacked bars: conversion and product of each way."""
        parts = {
            f"{publication.spec.paths[path].title}, {group.data}": {
                "conversion": converting / 1e3,
                "product": product / 1e3,
            }
            for group in list_groups(publication, self)
            for path, (converting, product) in self._cycles(group).items()
        }
        return stacked(self.title, "cycles, thousands", parts) if parts else None
