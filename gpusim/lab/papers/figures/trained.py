"""Trainings whose GPU's times are those of a publication's runs: their stages, several GPUs, a GPU for each stage."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from gpusim.base.formats import GROUPED_1, GROUPED_2, TIMES
from gpusim.base.spec import param
from gpusim.base.table import Table, columns
from gpusim.config import files
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
from gpusim.lab.papers.formats import MS
from gpusim.lab.papers.long_table import FigureRecord, FigureValue, list_values
from gpusim.lab.papers.network_points import NetworkFigure, NetworkPoint
from gpusim.lab.papers.pictures import BarPanel, bars, build_panel
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.views import FLOW_MEMORY, FLOW_TIMES, SCALING
from gpusim.lab.training.measure import PipelineTiming, TrainingMeasurement, measure, simulate_pace
from gpusim.lab.training.model_parallel import split_into_stages
from gpusim.lab.training.spec import FOLDER as TRAINING_FOLDER
from gpusim.lab.training.spec import GpuCount, load_training
from workloads.circulant import STAGES

MIB = 1 << 20
ITERATION = "iteration"
_NO_STORE = Path("gpusim.db")  # is not read where the times are given
_ALSO_OF_TRAININGS = ("gpu.", "block_circulant.")  # what of a run's values a training has too


class TrainedFigure(NetworkFigure):
    """Base of figures of a training with the times of runs' layers."""

    training: str = param(..., "a training of gpusim train-phase: a shipped one's name, or a file", "user")

    def located(self, path: Path) -> Self:
        """Return the figure with its training's file found; raise UserError."""
        return self.model_copy(update={"training": str(files.find(self.training, TRAINING_FOLDER, path))})

    def settings(self, publication: Publication, point: NetworkPoint) -> dict[str, Any]:
        """Return what a known point says of a training: network, batch, GPU, circulant layers, times of layers."""
        runs = publication.reproduction.runs
        subject = runs.networks[point.network]
        settings: dict[str, Any] = {"network": subject.network, "batch": point.batch, "gpu": runs.gpu_files[point.gpu]}
        of_run = {**runs.sets, **subject.sets, **runs.ways[point.way].sets}
        settings |= {path: value for path, value in of_run.items() if path.startswith(_ALSO_OF_TRAININGS)}
        layers: dict[str, dict[str, float]] = {}
        for row in publication.results.networks[point.key].rows:
            if row.by == "direction":
                layers.setdefault(row.layer, {})[f"{row.part}_ms"] = row.metrics["kernel.time_us"] / 1e3
        return settings | {"compute": {"layers": layers}}


@figure_kind(
    "stages",
    TrainedFigure,
    formats={"ms": MS}
    | dict.fromkeys(("prefetch_over_first", "iteration_over_computation", "iteration_over_prefetch"), TIMES),
)
def show_stages(
    figure: TrainedFigure,
    publication: Publication,
    *,
    storages: tuple[str, ...] = param(..., "storages: shipped ones' names, or files", "user", min_length=1),
) -> FigureContent:
    """Show bars of the stages of a training, which a run's times of layers are part of, on several storages.

    Values: the milliseconds of each stage and of an iteration; prefetching over that on the first storage; and an
    iteration over the computation and over prefetching.
    """
    tables, values, panels = [], list[FigureValue](), []
    for point, _ in figure.known_points(publication):
        work, rows = dict[str, dict[str, float]](), []  # milliseconds by storage and stage
        for storage in storages:
            settings = {**figure.settings(publication, point), "storage": storage}
            found: TrainingMeasurement = measure(load_training(figure.training, settings), _NO_STORE)
            ms = {one.stage: one.work_ms for one in found.stages} | {ITERATION: found.pace.iteration_us / 1e3}
            work[Path(storage).stem] = ms
            rows.append([Path(storage).stem, *ms.values(), found.bound or "nothing alone"])
        first = next(iter(work.values()))
        heads = columns("storage") + columns(*(f"{stage}, ms" for stage in first), write=GROUPED_1)
        tables.append(Table(heads + columns("bound by"), rows, point.key.replace(" ", "-"), f"{point.key}."))
        panels.append(BarPanel(f"{point.key}: ms", list(first), {name: list(ms.values()) for name, ms in work.items()}))
        for name, ms in work.items():
            labels = {**point.labels, "storage": name}
            values += [FigureValue("ms", point.gpu, {**labels, "stage": stage}, spent) for stage, spent in ms.items()]
            ratios = {
                "prefetch_over_first": ms["prefetch"] / first["prefetch"],
                "iteration_over_computation": ms[ITERATION] / (ms["compute"] + ms["update"]),
                "iteration_over_prefetch": ms[ITERATION] / ms["prefetch"],
            }
            values += list_values([FigureRecord(labels, ratios, comparison=point.gpu)])
    return FigureContent(tables, values=values, picture=bars(figure.title, panels) if panels else None)


@figure_kind("scaling", TrainedFigure, formats={"speedup": TIMES})
def show_scaling(
    figure: TrainedFigure,
    publication: Publication,
    *,
    gpus_trained: tuple[GpuCount, ...] = param(
        ..., "numbers of GPUs, each with a batch of its own", "user", min_length=1
    ),
) -> FigureContent:
    """Show bars of an iteration on several GPUs with the times of runs' layers: each way against the first."""
    first = figure.ways[0] if figure.ways else next(iter(publication.reproduction.runs.ways))
    paces = {
        (point, count): _simulate_pace(figure.training, json.dumps(figure.settings(publication, point)), count)
        for point, _ in figure.known_points(publication)
        for count in gpus_trained
    }
    records = []
    for (point, count), pace in paces.items():
        base = paces.get((replace(point, way=first), count))
        gain = None if base is None else base.iteration_us / pace.iteration_us
        values: dict[str, Any] = {"iteration_ms": pace.iteration_us / 1e3, "exposed_ms": pace.exposed_us / 1e3}
        values |= {"sum_ms": pace.communication_us / 1e3, "gain": gain, "run": point.key, "count": count}
        values["speedup"] = gain if point.way != first else None
        records.append(FigureRecord({**point.labels, "gpus": str(count)}, values, comparison=point.gpu))
    panel = build_panel("iteration, ms, by GPUs", records, ("gpus", "run", "iteration_ms"))
    tables = [SCALING.table(record.row for record in records)] if records else []
    return FigureContent(tables, records, bars(figure.title, [panel]) if records else None)


@cache
def _simulate_pace(training: str, settings: str, count: int) -> PipelineTiming:
    """Simulate a training on some GPUs, once for all that is shown of it. settings: as JSON."""
    return simulate_pace(load_training(training, {**json.loads(settings), "gpus": [count]}), _NO_STORE)


@figure_kind(
    "flow_stages",
    TrainedFigure,
    formats=dict.fromkeys(("stages_waiting", "stages_streaming", "stages_over_batches"), TIMES),
)
def show_flow_stages(figure: TrainedFigure, publication: Publication) -> FigureContent:
    """Show bars of a layer's iteration with a GPU for each stage of its flow, beside one GPU, and a batch on each.

    The training's topology is that of the GPUs.
    """
    records = []
    for point, run in figure.known_points(publication):
        settings = {**figure.settings(publication, point), "gpus": [len(STAGES)]}
        launches = [(each.kernel, each.time_us) for each in run.launches]
        split = split_into_stages(load_training(figure.training, settings), launches)
        values = {
            "stages_waiting": split.one_us / split.waiting_us,
            "stages_streaming": split.one_us / split.streaming_us,
            "stages_over_batches": split.over_batches,
            "largest_share": max(split.stage_bytes) / split.whole_bytes,
            "links": " + ".join(GROUPED_2(us / 1e3) for us in split.links_us),
            "one GPU": split.one_us / 1e3,
            "in stages, each waits": split.waiting_us / 1e3,
            "in stages, none waits": split.streaming_us / 1e3,
            "a batch on each GPU, of a batch": split.batches_us / len(STAGES) / 1e3,
            "whole_mib": split.whole_bytes / MIB,
        }
        values |= {f"{stage}_ms": us / 1e3 for stage, us in zip(STAGES, split.stages_us, strict=True)}
        values |= {f"{stage}_mib": size / MIB for stage, size in zip(STAGES, split.stage_bytes, strict=True)}
        records.append(FigureRecord(point.labels, {**values, "run": point.key}, comparison=point.gpu))
    if not records:
        return FigureContent([])
    drawn = ("one GPU", "in stages, each waits", "in stages, none waits", "a batch on each GPU, of a batch")
    heights = {name: [each.values[name] for each in records] for name in drawn}
    panel = BarPanel("iteration, ms", [each.values["run"] for each in records], heights)
    tables = [view.table(record.row for record in records) for view in (FLOW_TIMES, FLOW_MEMORY)]
    return FigureContent(tables, records, bars(figure.title, [panel]))
