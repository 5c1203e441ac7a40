"""Ways beside one another: cycles and measures of each case, batch and data as a table and as grouped bars."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Literal

from gpusim.base.formats import PERCENT, TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.lab.papers.formats import plus_minus, thousands
from gpusim.lab.papers.long_table import FigureValue, Where, matches
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.points import ANY_DATA, ReproductionPoint, RunsFigure, does_fit
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.specs.reproduction import ComparisonSpec
from gpusim.lab.papers.values import FORMATS, MEASURES, CaseRuns, limit_of, list_groups
from gpusim.lab.papers.views import CASE, LIMITS, ZEROS


def head_of(group: CaseRuns) -> list[Any]:
    """Return the first cells of a group's row: case, batch and data."""
    return [group.case, group.batch, group.data]


class ComparisonFigure(RunsFigure):
    """Bars: a group for each case, batch and data, a bar for each way, a panel for each measure."""

    kind: Literal["compared"] = param("compared", "what is shown", "")
    measures: tuple[str, ...] = param(("speedup",), "what is measured", "user", min_length=1)
    normalized_to: str | None = param(
        None, "the way that all bars are compared with; null: each comparison has its own", "user"
    )

    padding: bool = param(False, "claims are also of the speed-ups that padding alone allows", "user")

    formats: ClassVar = {**FORMATS, "padding_limit": TIMES}

    def check_ways(self) -> None:
        """Raise ValueError for a base that the figure does not have."""
        if self.normalized_to is not None:
            self.require_ways(self.normalized_to, option="normalized_to")

    def bars(self, publication: Publication) -> list[ComparisonSpec]:
        """Return the bars: all ways over one base, or the pair of each comparison that the figure has."""
        spec, base = publication.spec, self.normalized_to
        if base is not None:
            return [ComparisonSpec(title=spec.paths[path].title, path=path, base=base) for path in self.paths]
        return [pair for pair in spec.comparisons.values() if self.has_pair(pair)]

    def has_pair(self, pair: ComparisonSpec | None) -> bool:
        """Tell whether the figure has both ways of a comparison."""
        return pair is not None and {pair.path, pair.base} <= {*self.paths}

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of each bar's measures (of speed-ups with the engine's share and the limit), one of cycles."""
        groups = list_groups(publication, self)
        yield self._table_of_measures(publication, groups)
        yield self._table_of_cycles(publication, groups)

    def _table_of_measures(self, publication: Publication, groups: list[CaseRuns]) -> Table:
        spec, bars_, heads = publication.spec, self.bars(publication), list(CASE)
        for measure in self.measures:
            before = "" if len(self.measures) == 1 else f"{MEASURES[measure].title}: "
            heads += columns(*(f"{before}{bar.title}" for bar in bars_), write=MEASURES[measure].shown)
        rows = [
            [*head_of(group), *(group.measured(m, bar.path, bar.base) for m in self.measures for bar in bars_)]
            for group in groups
        ]
        if "speedup" in self.measures:
            is_shared = self.has_pair(spec.engine_share)
            heads += columns(*["the engine's own share"] * is_shared, *LIMITS, write=TIMES)
            for row, group in zip(rows, groups, strict=True):
                row += [engine_share(publication, group)] * is_shared + [group.limit, group.map_limit]
        title = MEASURES[self.measures[0]].title.capitalize() if len(self.measures) == 1 else "Measures"
        if self.normalized_to is not None and self.measures == ("speedup",):
            title += f" over {spec.paths[self.normalized_to].title}"
        return Table(heads, rows, title=f"{title}.")

    def _table_of_cycles(self, publication: Publication, groups: list[CaseRuns]) -> Table:
        spec = publication.spec
        last = list(spec.comparisons.values())[-1:]  # kernels of its ways may be chosen by shape
        chosen = [path for pair in last for path in (pair.base, pair.path) if path in self.paths]
        heads = [*CASE, *columns(*ZEROS, write=PERCENT), *columns("fits the GPU's memory")]
        heads += columns(*(spec.paths[path].title for path in self.paths), write=thousands)
        heads += columns(*(f"kernel of {spec.paths[path].title}" for path in chosen))
        heads += columns("largest half-width", write=plus_minus) + columns("simulated", write=PERCENT)
        rows = []
        for group in groups:
            ways = group.ways.values()
            row = [*head_of(group), group.zeros, group.map_zeros, does_fit(spec, self, group.case, group.batch)]
            row += [group.metric(path, "kernel.cycles") for path in self.paths]
            row += [_kernel(group, path) for path in chosen]
            row.append(max((way.half_width for way in ways), default=None))
            rows.append([*row, plain_sum(way.fraction for way in ways) / len(ways) if ways else None])
        return Table(heads, rows, "cycles", "Cycles.")

    def picture(self, publication: Publication) -> Picture | None:
        """Draw a panel of grouped bars for each measure."""
        groups = [group for group in list_groups(publication, self) if group.ways]
        if not groups:
            return None
        panels = []
        for name in self.measures:
            heights, widths = dict[str, list[float | None]](), dict[str, list[float]]()
            for bar in self.bars(publication):
                values = [group.measured(name, bar.path, bar.base) for group in groups]
                heights[bar.title] = values
                if name == "speedup":
                    found = [group.estimate(name, bar.path, bar.base) for group in groups]
                    widths[bar.title] = [0.0 if one is None else one[1] for one in found]
            line = 0.0 if "change" in MEASURES[name].title else 1.0
            labels = [" ".join(group.labels.values()) for group in groups]
            panels.append(BarPanel(MEASURES[name].title, labels, heights, widths, line))
        return bars(self.title, panels)

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the values of each comparison, for each group and measure."""
        for group in list_groups(publication, self):
            for name, pair in publication.spec.comparisons.items():
                labels = {**group.labels, "path": pair.path, "base": pair.base}
                if self.padding and self.has_pair(pair):
                    yield FigureValue("padding_limit", name, labels, limit_of(group.padding))
                for measure in self.measures:
                    estimate = group.estimate(measure, pair.path, pair.base)
                    if estimate is None:
                        continue
                    is_gain = measure == "speedup"
                    yield FigureValue(
                        measure=measure,
                        comparison=name,
                        labels=labels,
                        value=estimate[0],
                        limit=group.limit if is_gain else None,
                        explain=partial(group.reasons, pair.path, pair.base),
                        count=group.count,
                        half_width=estimate[1],
                        ratio=group.times(pair.base, pair.path) if is_gain else None,
                    )

    def list_missing(self, publication: Publication, where: Where, column: str) -> list[str]:
        """List the points of a comparison's ways with some labels that have not been run."""
        asked = {point.key for point in self._points_of_claim(publication, where, column)}
        return sorted(asked - publication.results.points.keys())

    def _points_of_claim(self, publication: Publication, where: Where, column: str) -> Iterator[ReproductionPoint]:
        pair, paths = publication.spec.comparisons[column], publication.spec.paths
        ways = {"path": pair.path, "base": pair.base}
        if not self.has_pair(pair) or not matches(ways, {n: w for n, w in where.items() if n in ways}):
            return
        run = {part for way in ways.values() for part in (way, *paths[way].made_of)}
        for point in self.points(publication.spec):
            labels = {n: w for n, w in where.items() if n in point.labels and n not in ways}
            if point.labels["data"] == ANY_DATA:
                labels.pop("data", None)
            if point.labels["path"] in run and matches(point.labels, labels):
                yield point


def engine_share(publication: Publication, group: CaseRuns) -> float | None:
    """Return the speed-up by the engine of the kernel that would otherwise convert in software.

    Args:
        publication: The publication with its results.
        group: Runs of one case and data.
    """
    share = publication.spec.engine_share
    return None if share is None else group.speedup(share.path, share.base)


def _kernel(group: CaseRuns, path: str) -> str | None:
    """Return the kernel that takes longest; None where the way's run is unknown."""
    launches = group.ways[path].launches if path in group.ways else []
    return max(launches, key=lambda launch: launch[1])[0] if launches else None
