"""The stages of a training, with a run's times of layers, on several storages."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from gpusim.base.picture import Picture
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.network_points import NetworkPoint, network_points
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.specs.layer_figure import StagesFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.trained import trained
from gpusim.lab.papers.values import FigureValue
from gpusim.lab.training.measure import TrainingMeasurement

ITERATION = "iteration"


def _measured(
    reproduction: Reproduction, figure: StagesFigure, results: ReproductionResults
) -> Iterator[tuple[NetworkPoint, Mapping[str, TrainingMeasurement]]]:
    """Yield each known point with its training on each storage."""
    for point in network_points(reproduction, figure):
        if point.key in results.networks:
            on = {
                one: trained(reproduction, figure.training, point, results, {"storage": one}) for one in figure.storages
            }
            yield point, {Path(storage).stem: found for storage, found in on.items()}


def _work(found: TrainingMeasurement) -> dict[str, float]:
    """Return what each stage works in an iteration, and how long that is, in milliseconds."""
    return {**{one.stage: one.work_ms for one in found.stages}, ITERATION: found.pace.iteration_us / 1e3}


def tables(reproduction: Reproduction, figure: StagesFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of each point: a row for each storage, a column for each stage."""
    write = partial("{:,.1f}".format)
    for point, on in _measured(reproduction, figure, results):
        heads = list(_work(next(iter(on.values()))))
        columns = [Column("storage"), *(Column(f"{head}, ms", write) for head in heads), Column("bound by")]
        rows: list[list[object]] = [
            [name, *_work(one).values(), one.bound or "nothing alone"] for name, one in on.items()
        ]
        yield Table(columns, rows, point.key.replace(" ", "-"), f"{point.key}.")


def values(reproduction: Reproduction, figure: StagesFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the milliseconds of each stage and of an iteration; prefetching over that on the first storage; and an
    iteration over the computation and over prefetching.
    """
    for point, on in _measured(reproduction, figure, results):
        first = _work(next(iter(on.values())))
        for storage, found in on.items():
            work, labels = _work(found), {**point.labels, "storage": storage}
            for stage, ms in work.items():
                yield FigureValue("ms", point.gpu, {**labels, "stage": stage}, ms)
            computed = work["compute"] + work["update"]
            yield FigureValue("prefetch_over_first", point.gpu, labels, work["prefetch"] / first["prefetch"])
            yield FigureValue("iteration_over_computation", point.gpu, labels, work[ITERATION] / computed)
            yield FigureValue("iteration_over_prefetch", point.gpu, labels, work[ITERATION] / work["prefetch"])


def picture(reproduction: Reproduction, figure: StagesFigure, results: ReproductionResults) -> Picture | None:
    """Draw a panel for each point: a group for each stage, a bar for each storage; None where no run is known."""
    panels = []
    for point, on in _measured(reproduction, figure, results):
        work = {name: _work(found) for name, found in on.items()}
        stages = list(next(iter(work.values())))
        series: dict[str, list[float | None]] = {name: [held[stage] for stage in stages] for name, held in work.items()}
        panels.append(BarPanel(f"{point.key}: ms", stages, series))
    return bars(figure.title, panels) if panels else None
