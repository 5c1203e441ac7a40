"""Maps over two values of the machine or the layer: where one way wins over another."""

from collections.abc import Iterator
from itertools import product

from gpusim.base.picture import Picture
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import PointRecord, ReproductionResults
from gpusim.lab.papers.pictures import HeatMapPanel, heat
from gpusim.lab.papers.points import build_labels
from gpusim.lab.papers.specs.figure import MapFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import FigureValue, reasons_of, thousands, times


def _way(
    reproduction: Reproduction, figure: MapFigure, results: ReproductionResults, path: str, x: str, y: str
) -> PointRecord | None:
    (case,), (data,), (batch,) = figure.cases, figure.data, figure.batches
    labels = {**build_labels(case, batch, data, path, reproduction.spec.paths[path].sparse), "x": x, "y": y}
    return results.points.get(" ".join(labels.values()))


def _ratio(way: PointRecord | None, base: PointRecord | None) -> float | None:
    if way is None or base is None:
        return None
    return float(base.metrics["kernel.time_us"] / way.metrics["kernel.time_us"])


def tables(reproduction: Reproduction, figure: MapFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each place."""
    spec = reproduction.spec
    columns = [Column(figure.x.title), Column(figure.y.title)]
    columns += [Column(spec.paths[path].title, thousands) for path in figure.paths]
    columns += [Column(ratio.title, times) for ratio in figure.ratios]
    rows = []
    for y in figure.y.values:
        for x in figure.x.values:
            ways = {path: _way(reproduction, figure, results, path, x, y) for path in figure.paths}
            cycles = [None if way is None else way.metrics["kernel.cycles"] for way in ways.values()]
            rows.append([x, y, *cycles, *(_ratio(ways[r.path], ways[r.base]) for r in figure.ratios)])
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: MapFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the values of each ratio at each place, under the ratio's own name."""
    for y, x, ratio in product(figure.y.values, figure.x.values, figure.ratios):
        way, base = (_way(reproduction, figure, results, path, x, y) for path in (ratio.path, ratio.base))
        gain = _ratio(way, base)
        if gain is not None and way is not None and base is not None:
            labels = {"x": x, "y": y, "path": ratio.path, "base": ratio.base}
            yield FigureValue("speedup", ratio.comparison, labels, gain, reasons=tuple(reasons_of(base, way)))


def picture(reproduction: Reproduction, figure: MapFigure, results: ReproductionResults) -> Picture | None:
    """Draw a panel for each ratio."""
    panels = []
    for ratio in figure.ratios:
        held = [
            [
                _ratio(*(_way(reproduction, figure, results, path, x, y) for path in (ratio.path, ratio.base)))
                for x in figure.x.values
            ]
            for y in figure.y.values
        ]
        panels.append(HeatMapPanel(ratio.title, held))
    if all(value is None for panel in panels for row in panel.values for value in row):
        return None
    x, y = ((axis.title, list(axis.values)) for axis in (figure.x, figure.y))
    return heat(figure.title, x, y, panels)
