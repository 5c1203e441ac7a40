"""What the sparsity monitor measures of a map along a training."""

from collections.abc import Iterator
from dataclasses import replace

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor import picture as drawing
from gpusim.lab.monitor.curves import find_curves
from gpusim.lab.monitor.replay import MapReplay, Replay, replay
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.specs.figure import MonitorFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import OURS, FigureValue


def _replayed(figure: MonitorFigure) -> tuple[Replay, MapReplay]:
    """Return the replay of the monitor over all maps, whose states they share; and that of the map shown."""
    held = replay(find_curves(figure.curves), MonitorSpec(**figure.settings))
    return held, next(one for one in held.maps if one.name == figure.map)


def tables(reproduction: Reproduction, figure: MonitorFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of the map's processes: their iterations, the sparsity measured, and the true one at their ends."""
    _, shown = _replayed(figure)
    columns = [Column("first iteration"), Column("last"), Column("measured", percent), Column("true", percent)]
    rows = [[p.start, p.last, p.sparsity, float(shown.truth[p.last])] for p in shown.processes]
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: MonitorFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield mean and largest error of the belief, and the shares of iterations with a measurement and sparse."""
    _, shown = _replayed(figure)
    found = {"mean_error": shown.mean_error, "largest_error": shown.max_error, "measured": shown.share_measured}
    found["sparse"] = shown.share_sparse
    for measure, value in found.items():
        if value is not None:
            yield FigureValue(measure, OURS, {"map": figure.map}, value)


def picture(reproduction: Reproduction, figure: MonitorFigure, results: ReproductionResults) -> Picture:
    """Draw the true sparsity as a line, each process as a cross, hibernation shaded."""
    held, shown = _replayed(figure)
    return drawing.picture(replace(held, maps=(shown,)))
