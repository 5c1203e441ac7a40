"""The time of a product by its launches: conversions beside the product itself."""

from functools import partial
from typing import Any

from gpusim.base.formats import TIMES
from gpusim.base.spec import param
from gpusim.base.sums import plain_sum
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
from gpusim.lab.papers.long_table import FigureValue
from gpusim.lab.papers.pictures import stacked
from gpusim.lab.papers.points import RunsFigure
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.values import FORMATS, list_groups
from gpusim.lab.papers.views import BREAKDOWN


def _check_ways(figure: Any) -> None:
    figure.require_ways(figure.base, *figure.conversions, *figure.judged)


@figure_kind("breakdown", RunsFigure, check_ways=_check_ways, formats={**FORMATS, "conversion_gain": TIMES})
def show_breakdown(
    figure: RunsFigure,
    publication: Publication,
    *,
    base: str = param(..., "the dense way", "user"),
    conversions: dict[str, tuple[str, ...]] = param(
        {}, "what names of kernels that convert begin with, by way", "user"
    ),
    judged: dict[str, tuple[str, ...]] = param({}, "comparisons that a way's values belong to, by way", "user"),
) -> FigureContent:
    """Show stacked bars: the time of each of a way's launches.

    Values: each way's speed-up over the dense one, its conversion's share, and its gain over other conversions.
    """
    rows, stacks, values = list[dict[str, Any]](), dict[str, dict[str, float]](), list[FigureValue]()
    for group in list_groups(publication, figure):
        cycles = {}  # of the launches that convert, and of the others, by way
        for path, way in group.ways.items():
            kernels, title = conversions.get(path, ()), publication.spec.paths[path].title
            converting = plain_sum(spent for name, spent in way.launches if name.startswith(kernels))
            product = plain_sum(spent for _, spent in way.launches) - converting
            cycles[path] = converting, product
            row = {"case": group.case, "batch": group.batch, "data": group.data, "way": title}
            row |= {"conversion": converting, "product": product, "share": converting / (converting + product)}
            rows.append({**row, "gain": group.speedup(path, base)})
            stacks[f"{title}, {group.data}"] = {"conversion": converting / 1e3, "product": product / 1e3}
        for path, (converting, product) in cycles.items():
            labels, estimate = {**group.labels, "path": path}, group.estimate("speedup", path, base)
            for comparison in judged.get(path, ()):
                if estimate is not None and path != base:
                    gain, width = estimate
                    explain, times = partial(group.reasons, path, base), group.times(base, path)
                    values.append(
                        FigureValue("speedup", comparison, labels, gain, explain=explain, half_width=width, ratio=times)
                    )
                if not converting:
                    continue
                share = converting / (converting + product)
                values.append(FigureValue("conversion_share", comparison, labels, share))
                for other, (theirs, _) in cycles.items():
                    if other != path and theirs:
                        over = {**labels, "over": other}
                        values.append(FigureValue("conversion_gain", comparison, over, theirs / converting))
    picture = stacked(figure.title, "cycles, thousands", stacks) if stacks else None
    return FigureContent([BREAKDOWN.table(rows)], values=values, picture=picture)
