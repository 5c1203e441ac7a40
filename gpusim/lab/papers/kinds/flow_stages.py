"""A circulant layer's iteration with a GPU for each stage of its flow, beside one GPU, and a batch on each."""

from collections.abc import Iterator

from gpusim.base.picture import Picture
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.network_points import NetworkPoint, network_points
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.specs.layer_figure import FlowStagesFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.trained import staged
from gpusim.lab.papers.values import FigureValue, times
from gpusim.lab.training.model_parallel import ModelParallelIteration
from workloads.circulant import STAGES

MIB = 1 << 20


def _staged(
    reproduction: Reproduction, figure: FlowStagesFigure, results: ReproductionResults
) -> Iterator[tuple[NetworkPoint, ModelParallelIteration]]:
    """Yield each known point in stages."""
    for point in network_points(reproduction, figure):
        if point.key in results.networks:
            yield point, staged(reproduction, figure.training, point, results)


def tables(reproduction: Reproduction, figure: FlowStagesFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of times and one of memory, a row for each point."""
    held = list(_staged(reproduction, figure, results))
    if not held:
        return
    ms, mib = "{:,.2f}".format, "{:,.1f}".format
    columns = [Column("run"), *(Column(f"{stage}, ms", ms) for stage in STAGES)]
    columns += [Column("links, ms"), Column("one GPU, ms", ms), Column("in stages, each waits, ms", ms)]
    columns += [Column("none waits, ms", ms), Column("over one GPU", times), Column("over a batch on each GPU", times)]
    rows: list[list[object]] = [
        [
            point.key,
            *(us / 1e3 for us in one.stages_us),
            " + ".join(ms(us / 1e3) for us in one.links_us),
            one.one_us / 1e3,
            one.waiting_us / 1e3,
            one.streaming_us / 1e3,
            one.one_us / one.streaming_us,
            one.over_batches,
        ]
        for point, one in held
    ]
    yield Table(columns, rows, "times", "Times of an iteration.")
    heads = [Column("run"), *(Column(f"{stage}, MiB", mib) for stage in STAGES), Column("one GPU, MiB", mib)]
    lines: list[list[object]] = [
        [point.key, *(size / MIB for size in one.stage_bytes), one.whole_bytes / MIB] for point, one in held
    ]
    yield Table(heads, lines, "memory", "Memory of the stages, and of an iteration on one GPU.")


def values(reproduction: Reproduction, figure: FlowStagesFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield by which factor stages are faster than one GPU, where iterations wait and where none does, and than a batch
    on each GPU; and the largest stage's share of one GPU's memory.
    """
    for point, one in _staged(reproduction, figure, results):
        yield FigureValue("stages_waiting", point.gpu, point.labels, one.one_us / one.waiting_us)
        yield FigureValue("stages_streaming", point.gpu, point.labels, one.one_us / one.streaming_us)
        yield FigureValue("stages_over_batches", point.gpu, point.labels, one.over_batches)
        yield FigureValue("largest_share", point.gpu, point.labels, max(one.stage_bytes) / one.whole_bytes)


def picture(reproduction: Reproduction, figure: FlowStagesFigure, results: ReproductionResults) -> Picture | None:
    """Draw an iteration of each point, on one GPU and in stages; None where no run is known."""
    held = list(_staged(reproduction, figure, results))
    if not held:
        return None
    drawn: dict[str, list[float | None]] = {
        "one GPU": [one.one_us / 1e3 for _, one in held],
        "in stages, each waits": [one.waiting_us / 1e3 for _, one in held],
        "in stages, none waits": [one.streaming_us / 1e3 for _, one in held],
        "a batch on each GPU, of a batch": [one.batches_us / len(STAGES) / 1e3 for _, one in held],
    }
    return bars(figure.title, [BarPanel("iteration, ms", [point.key for point, _ in held], drawn)])
