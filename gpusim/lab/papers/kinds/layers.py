"""Measures of networks' layers: bars of each measure, or one bar with the measures as its parts."""

from collections.abc import Iterator, Sequence
from functools import partial

from gpusim.base.picture import Picture
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.layer_values import (
    LayerMeasurement,
    LayerRow,
    all_rows,
    format_measure,
    group_by_network,
    layer_values,
    measure_rows,
    series_of,
    title_of,
)
from gpusim.lab.papers.pictures import BarPanel, bars, stacked
from gpusim.lab.papers.specs.layer_figure import LayersFigure, StackFigure
from gpusim.lab.papers.specs.reproduction import Reproduction

values = layer_values
HALF_WIDTH = "±"


def tables(reproduction: Reproduction, figure: LayersFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of each network and measure: a row for each layer, a column for each point."""
    rows = all_rows(reproduction, figure, results)
    several = len({row.point.network for row in rows}) > 1
    for network, held in group_by_network(rows):
        for name in figure.measures:
            file = "-".join(
                part for part in (network if several else "", name if len(figure.measures) > 1 else "") if part
            )
            yield _table(figure, name, held, file, f"{network}, {title_of(figure, name)}.")


def _table(figure: LayersFigure, name: str, rows: Sequence[LayerRow], file: str, title: str) -> Table:
    write = partial(format_measure, figure.measures[name])
    found = _by_place(measure_rows(figure, name, rows))
    points = list(dict.fromkeys(row.point for row in rows))
    series = series_of(points)
    sampled = [p for p in points if any(one.half_width for (key, _), one in found.items() if key == p.key)]
    columns = [Column("layer")]
    for point in points:
        columns.append(Column(series[point.key], write))
        columns += [Column(f"{HALF_WIDTH} {series[point.key]}", write)] if point in sampled else []
    lines = []
    for place in dict.fromkeys(row.name for row in rows):
        line: list[object] = [place]
        for point in points:
            one = found.get((point.key, place))
            line.append(None if one is None else one.value)
            line += [None if one is None else one.half_width] if point in sampled else []
        lines.append(line)
    return Table(columns, lines, file, title)


def _by_place(found: Sequence[LayerMeasurement]) -> dict[tuple[str, str], LayerMeasurement]:
    """Return what was measured by point and row's name."""
    return {(one.of.point.key, one.of.name): one for one in found}


def picture(reproduction: Reproduction, figure: LayersFigure, results: ReproductionResults) -> Picture | None:
    """Draw a panel of bars for each network and measure; None where no run is known."""
    panels = []
    rows = all_rows(reproduction, figure, results)
    several = len({row.point.network for row in rows}) > 1
    for network, held in group_by_network(rows):
        for name in figure.measures:
            title = f"{network}: {title_of(figure, name)}" if several else title_of(figure, name)
            panels.append(_panel(figure, name, held, title))
    return bars(figure.title, panels, sharex=not several) if panels else None


def _panel(figure: LayersFigure, name: str, rows: Sequence[LayerRow], title: str) -> BarPanel:
    found, points = _by_place(measure_rows(figure, name, rows)), list(dict.fromkeys(row.point for row in rows))
    places, series = list(dict.fromkeys(row.name for row in rows)), series_of(points)
    heights: dict[str, list[float | None]] = {}
    widths: dict[str, list[float]] = {}
    for point in points:
        held = [found.get((point.key, place)) for place in places]
        heights[series[point.key]] = [None if one is None else one.value for one in held]
        widths[series[point.key]] = [0.0 if one is None else one.half_width for one in held]
    return BarPanel(title, places, heights, widths)


def stack_tables(reproduction: Reproduction, figure: StackFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of each network: a row for each layer of each point, a column for each part."""
    rows = all_rows(reproduction, figure, results)
    several = len({row.point.network for row in rows}) > 1
    for network, held in group_by_network(rows):
        bars_ = _stacks(figure, held)
        columns = [Column("layer"), Column("run")]
        columns += [
            Column(title_of(figure, name), partial(format_measure, spec)) for name, spec in figure.measures.items()
        ]
        lines = [
            [place, run, *(parts.get(title_of(figure, name)) for name in figure.measures)]
            for (place, run), parts in bars_.items()
        ]
        yield Table(columns, lines, network if several else "", f"{network}.")


def _stacks(figure: StackFigure, rows: Sequence[LayerRow]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the parts of each bar, by the row's name and the point's short name."""
    series = series_of(list(dict.fromkeys(row.point for row in rows)))
    found: dict[tuple[str, str], dict[str, float]] = {(row.name, series[row.point.key]): {} for row in rows}
    for name in figure.measures:
        for one in measure_rows(figure, name, rows):
            found[one.of.name, series[one.of.point.key]][title_of(figure, name)] = one.value
    return found


def stack_picture(reproduction: Reproduction, figure: StackFigure, results: ReproductionResults) -> Picture | None:
    """Draw stacked bars; None where no run is known."""
    rows = all_rows(reproduction, figure, results)
    if not rows:
        return None
    several = len({row.point.key for row in rows}) > 1
    held = {
        f"{place} {run}" if several else place: parts
        for _, some in group_by_network(rows)
        for (place, run), parts in _stacks(figure, some).items()
    }
    axis = "share" if all(spec.shown == "percent" or spec.share for spec in figure.measures.values()) else figure.title
    return stacked(figure.title, axis, held)
