"""From which share of zeros on one way is faster than another, over cases and batches."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import hypot

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.table import MISSING, Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.pictures import HeatMapPanel, heat
from gpusim.lab.papers.specs.figure import BreakEvenFigure, RatioSpec
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import CaseRuns, FigureValue, groups, limit_of, measured, reasons_of, times

NOWHERE, EVERYWHERE, BETWEEN = "at none", "at all", "at some in between"
Place = tuple[str, int]  # case and batch


def _places(
    reproduction: Reproduction, figure: BreakEvenFigure, results: ReproductionResults
) -> dict[Place, list[CaseRuns]]:
    """Return the groups of each case and batch, by their data."""
    held: dict[Place, list[CaseRuns]] = {}
    for group in groups(reproduction, figure, results):
        held.setdefault((group.case, group.batch), []).append(group)
    return held


def _width(group: CaseRuns, ratio: RatioSpec) -> float:
    return hypot(*(group.ways[path].half_width for path in (ratio.path, ratio.base)))


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
    return f"{'from' if faster[-1] else 'up to'} {percent(zeros + (after - zeros) * (1 - gain) / (more - gain))}"


def _crossing(held: Sequence[CaseRuns], ratio: RatioSpec, side: int = 0) -> str:
    """Return the crossing of a ratio; side: of its values' half-widths that are added."""
    points = []
    for group in held:
        gain = measured(group, "speedup", ratio.path, ratio.base)
        if gain is not None and group.zeros is not None:
            points.append((group.zeros, gain * (1 + side * _width(group, ratio))))
    return crossing(sorted(points))


def tables(reproduction: Reproduction, figure: BreakEvenFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of the shares of zeros from which each ratio is above 1, and one of the ratios."""
    held = _places(reproduction, figure, results)
    columns = [Column("case"), Column("batch")]
    for ratio in figure.ratios:
        columns += [Column(f"{ratio.title}: faster"), Column("by half-widths")]
    rows = []
    for (case, batch), place in held.items():
        found: list[str | int] = [case, batch]
        for ratio in figure.ratios:
            ends = [_crossing(place, ratio, side) for side in (1, -1)]
            found += [_crossing(place, ratio), ends[0] if ends[0] == ends[1] else "; ".join(ends)]
        rows.append(found)
    yield Table(columns, rows, "", "At which of the shares of zeros a way is faster; between them by lines.")
    columns = [Column("case"), Column("batch"), Column("zeros", percent), Column("limit 1/(1-s)", times)]
    columns += [Column(ratio.title, times) for ratio in figure.ratios]
    yield Table(
        columns,
        [
            [group.case, group.batch, group.zeros, None if group.zeros is None else limit_of(group.zeros)]
            + [measured(group, "speedup", ratio.path, ratio.base) for ratio in figure.ratios]
            for place in held.values()
            for group in place
        ],
        "ratios",
        "How many times as fast.",
    )


def values(reproduction: Reproduction, figure: BreakEvenFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield each ratio at each place, as speed-ups of its comparison."""
    for place in _places(reproduction, figure, results).values():
        for group in place:
            for ratio in figure.ratios:
                gain = measured(group, "speedup", ratio.path, ratio.base)
                if gain is not None:
                    labels = {**group.labels, "path": ratio.path, "base": ratio.base}
                    reasons = tuple(reasons_of(group.ways[ratio.base], group.ways[ratio.path]))
                    width = gain * _width(group, ratio)
                    yield FigureValue("speedup", ratio.comparison, labels, gain, reasons=reasons, half_width=width)


def picture(reproduction: Reproduction, figure: BreakEvenFigure, results: ReproductionResults) -> Picture | None:
    """Draw a panel for each ratio: data from left to right, cases and batches from bottom to top."""
    held = _places(reproduction, figure, results)
    panels = [
        HeatMapPanel(
            ratio.title, [[measured(g, "speedup", ratio.path, ratio.base) for g in place] for place in held.values()]
        )
        for ratio in figure.ratios
    ]
    if all(value is None for panel in panels for row in panel.values for value in row):
        return None
    y = [f"{case}, {batch}" for case, batch in held]
    return heat(figure.title, ("data", list(figure.data)), ("case and batch", y), panels)
