"""An iteration on several GPUs, with the times of runs' layers, and what of it waits for gradients."""

from collections.abc import Iterator
from functools import partial

from gpusim.base.picture import Picture
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.network_points import NetworkPoint, network_points
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.specs.layer_figure import ScalingFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.trained import paces
from gpusim.lab.papers.values import FigureValue, times
from gpusim.lab.training.measure import PipelineTiming

_Paces = dict[int, PipelineTiming]


def _measured(
    reproduction: Reproduction, figure: ScalingFigure, results: ReproductionResults
) -> Iterator[tuple[NetworkPoint, _Paces]]:
    """Yield each known point with its training on each number of GPUs."""
    for point in network_points(reproduction, figure):
        if point.key in results.networks:
            yield point, paces(reproduction, figure.training, point, results, figure.gpus_trained)


def _together(
    reproduction: Reproduction, figure: ScalingFigure, results: ReproductionResults
) -> Iterator[tuple[NetworkPoint, _Paces, _Paces | None]]:
    """Yield each known point with its training, and that of the first way; None where this is not known."""
    first = figure.ways[0] if figure.ways else next(iter(reproduction.runs.ways))
    held = list(_measured(reproduction, figure, results))
    firsts = {(p.network, p.batch, p.gpu): on for p, on in held if p.way == first}
    for point, on in held:
        yield point, on, firsts.get((point.network, point.batch, point.gpu))


def tables(reproduction: Reproduction, figure: ScalingFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each way and number of GPUs."""
    milliseconds = partial("{:,.2f}".format)
    columns = [Column("run"), Column("GPUs"), Column("iteration, ms", milliseconds)]
    columns += [Column("sum of gradients, ms", milliseconds), Column("exposed, ms", milliseconds)]
    columns += [Column("speed-up over the first way", times)]
    rows: list[list[object]] = []
    for point, on, first in _together(reproduction, figure, results):
        for count, pace in on.items():
            gain = None if first is None else first[count].iteration_us / pace.iteration_us
            rows.append(
                [
                    point.key,
                    count,
                    pace.iteration_us / 1e3,
                    pace.communication_us / 1e3,
                    pace.exposed_us / 1e3,
                    gain,
                ]
            )
    if rows:
        yield Table(columns, rows)


def values(reproduction: Reproduction, figure: ScalingFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield iteration and exposed time in ms of each way and number of GPUs, and the speed-up over the first way."""
    for point, on, first in _together(reproduction, figure, results):
        for count, pace in on.items():
            labels = {**point.labels, "gpus": str(count)}
            yield FigureValue("iteration_ms", point.gpu, labels, pace.iteration_us / 1e3)
            yield FigureValue("exposed_ms", point.gpu, labels, pace.exposed_us / 1e3)
            if first is not None and first is not on:
                yield FigureValue("speedup", point.gpu, labels, first[count].iteration_us / pace.iteration_us)


def picture(reproduction: Reproduction, figure: ScalingFigure, results: ReproductionResults) -> Picture | None:
    """Draw an iteration of each way on each number of GPUs; None where no run is known."""
    counts = [str(count) for count in figure.gpus_trained]
    held: dict[str, list[float | None]] = {
        point.key: [pace.iteration_us / 1e3 for pace in on.values()]
        for point, on in _measured(reproduction, figure, results)
    }
    return bars(figure.title, [BarPanel("iteration, ms, by GPUs", counts, held)]) if held else None
