"""Maps of where one way is faster than another: over two values of the machine, or over cases and shares of zeros."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from math import hypot
from typing import Any

from gpusim.base.formats import PERCENT, TIMES
from gpusim.base.spec import Spec, param
from gpusim.base.table import MISSING, Table, columns
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
from gpusim.lab.papers.formats import thousands
from gpusim.lab.papers.long_table import FigureValue, RatioParts
from gpusim.lab.papers.pictures import HeatMapPanel, heat
from gpusim.lab.papers.points import RunsFigure, build_labels
from gpusim.lab.papers.publication import Publication
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


def _check_ratios(figure: Any) -> None:
    for ratio in figure.ratios:
        figure.require_ways(ratio.path, ratio.base, option="ratios")


def _check_map(figure: Any) -> None:
    _check_ratios(figure)
    if len(figure.cases) * len(figure.batches) * len(figure.data) != 1:
        raise ValueError("a map is of one case, one batch and one kind of data")


def _vary(figure: Any, path: str) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield the places of the map."""
    for (y, below), (x, above) in product(figure.y.values.items(), figure.x.values.items()):
        yield {"x": x, "y": y}, {**below, **above}


@figure_kind("map", RunsFigure, check_ways=_check_map, variations=_vary, formats=FORMATS)
def show_map(
    figure: RunsFigure,
    publication: Publication,
    *,
    ratios: tuple[RatioSpec, ...] = param(..., "a panel each", "user", min_length=1),
    x: AxisSpec = param(..., "from left to right", "user"),
    y: AxisSpec = param(..., "from bottom to top", "user"),
) -> FigureContent:
    """Show heat maps over two values of the machine or the layer: where one way wins over another.

    Values: each ratio at each place, under the ratio's own name.
    """
    ((case, batch, data),) = figure.places()
    points, paths = publication.results.points, publication.spec.paths
    rows, values = list[list[Any]](), list[FigureValue]()
    gains: list[list[list[float | None]]] = [[[] for _ in y.values] for _ in ratios]
    for (row, below), left in product(enumerate(y.values), x.values):
        runs = {}  # known ones at this place, by way
        for path in figure.paths:
            labels = build_labels(case, batch, data, path, paths[path].sparse)
            if (run := points.get(" ".join([*labels.values(), left, below]))) is not None:
                runs[path] = run
        rows.append(
            [left, below, *(runs[path].metrics["kernel.cycles"] if path in runs else None for path in figure.paths)]
        )
        for number, ratio in enumerate(ratios):
            gain = None
            if ratio.path in runs and ratio.base in runs:
                first, second = runs[ratio.base], runs[ratio.path]
                gain, times = first.time_us / second.time_us, RatioParts(first.time_us, second.time_us)
                labels = {"x": left, "y": below, "path": ratio.path, "base": ratio.base}
                explain = partial(list_reasons, first, second)
                values.append(FigureValue("speedup", ratio.comparison, labels, gain, explain=explain, ratio=times))
            rows[-1].append(gain)
            gains[number][row].append(gain)
    heads = columns(x.title, y.title) + columns(*(paths[path].title for path in figure.paths), write=thousands)
    heads += columns(*(ratio.title for ratio in ratios), write=TIMES)
    panels = [HeatMapPanel(ratio.title, of_ratio) for ratio, of_ratio in zip(ratios, gains, strict=True)]
    across, up = ((axis.title, list(axis.values)) for axis in (x, y))
    picture = heat(figure.title, across, up, panels)
    return FigureContent([Table(heads, rows)], values=values, picture=picture)


@figure_kind("break_even", RunsFigure, check_ways=_check_ratios, formats=FORMATS)
def show_break_even(
    figure: RunsFigure,
    publication: Publication,
    *,
    ratios: tuple[RatioSpec, ...] = param(..., "a panel each", "user", min_length=1),
) -> FigureContent:
    """Show maps over cases with their batches and over data, in order of their zeros: from which share on a way wins.

    Values: each ratio at each place, as speed-ups of its comparison.
    """
    places: dict[tuple[str, int], list[CaseRuns]] = {}
    values, gains = list[FigureValue](), list[list[Any]]()
    for group in list_groups(publication, figure):
        places.setdefault((group.case, group.batch), []).append(group)
        for ratio in ratios:
            if (gain := group.speedup(ratio.path, ratio.base)) is not None:
                labels = {**group.labels, "path": ratio.path, "base": ratio.base}
                explain, width = partial(group.reasons, ratio.path, ratio.base), gain * _half_width(group, ratio)
                times = group.times(ratio.base, ratio.path)
                values.append(
                    FigureValue(
                        "speedup", ratio.comparison, labels, gain, explain=explain, half_width=width, ratio=times
                    )
                )
    heads, rows = columns("case", "batch"), list[list[Any]]()
    for ratio in ratios:
        heads += columns(f"{ratio.title}: faster", "by half-widths")
    for place, groups in places.items():
        rows.append(list(place))
        for ratio in ratios:
            above, at, below = (_crossing_of(groups, ratio, side) for side in (1, 0, -1))
            rows[-1] += [at, above if above == below else f"{above}; {below}"]
        gains += [
            [group.case, group.batch, group.zeros, group.map_zeros, group.limit, group.map_limit]
            + [group.speedup(ratio.path, ratio.base) for ratio in ratios]
            for group in groups
        ]
    crossings = Table(heads, rows, "", "At which of the shares of zeros a way is faster; between them by lines.")
    heads = columns("case", "batch") + columns(*ZEROS, write=PERCENT)
    heads += columns(*LIMITS, *(ratio.title for ratio in ratios), write=TIMES)
    panels = [
        HeatMapPanel(ratio.title, [[g.speedup(ratio.path, ratio.base) for g in groups] for groups in places.values()])
        for ratio in ratios
    ]
    rows_of_map = [f"{case}, {batch}" for case, batch in places]
    picture = heat(figure.title, ("data", list(figure.data)), ("case and batch", rows_of_map), panels)
    tables = [crossings, Table(heads, gains, "ratios", "How many times as fast.")]
    return FigureContent(tables, values=values, picture=picture)


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
