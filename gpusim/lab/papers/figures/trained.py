"""Trainings whose GPU's times are those of a publication's runs: their stages, several GPUs, a GPU for each stage."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from gpusim.base.formats import GROUPED_1, GROUPED_2, TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.table import Table, columns
from gpusim.config import files
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
StageMs = dict[str, float]  # milliseconds by stage


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


class StagesFigure(TrainedFigure):
    """Bars of the stages of a training, which a run's times of layers are part of, on several storages."""

    kind: Literal["stages"] = param("stages", "what is shown", "")
    storages: tuple[str, ...] = param(..., "storages: shipped ones' names, or files", "user", min_length=1)

    formats: ClassVar = {
        "ms": MS,
        **dict.fromkeys(("prefetch_over_first", "iteration_over_computation", "iteration_over_prefetch"), TIMES),
    }

    def _measured(self, publication: Publication) -> Iterator[tuple[NetworkPoint, dict[str, StageMs], list[str]]]:
        """Yield each known point with the times of stages and iteration on each storage, and what bounds these."""
        for point, _ in self.known_points(publication):
            work, bounds = dict[str, StageMs](), []
            for storage in self.storages:
                settings = {**self.settings(publication, point), "storage": storage}
                found: TrainingMeasurement = measure(load_training(self.training, settings), _NO_STORE)
                stages = {one.stage: one.work_ms for one in found.stages}
                work[Path(storage).stem] = {**stages, ITERATION: found.pace.iteration_us / 1e3}
                bounds.append(found.bound or "nothing alone")
            yield point, work, bounds

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of each point: a row for each storage, a column for each stage."""
        for point, work, bounds in self._measured(publication):
            stages = next(iter(work.values()))
            heads = columns("storage") + columns(*(f"{stage}, ms" for stage in stages), write=GROUPED_1)
            rows = [[name, *ms.values(), bound] for (name, ms), bound in zip(work.items(), bounds, strict=True)]
            yield Table(heads + columns("bound by"), rows, point.key.replace(" ", "-"), f"{point.key}.")

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the milliseconds of each stage and of an iteration; prefetching over that on the first storage; and an
        iteration over the computation and over prefetching.
        """
        for point, work, _ in self._measured(publication):
            first = next(iter(work.values()))
            for storage, ms in work.items():
                labels = {**point.labels, "storage": storage}
                for stage, spent in ms.items():
                    yield FigureValue("ms", point.gpu, {**labels, "stage": stage}, spent)
                ratios = {
                    "prefetch_over_first": ms["prefetch"] / first["prefetch"],
                    "iteration_over_computation": ms[ITERATION] / (ms["compute"] + ms["update"]),
                    "iteration_over_prefetch": ms[ITERATION] / ms["prefetch"],
                }
                yield from list_values([FigureRecord(labels, ratios, comparison=point.gpu)])

    def picture(self, publication: Publication) -> Picture | None:
        """Draw a panel for each point: a group for each stage, a bar for each storage."""
        panels = [
            BarPanel(
                f"{point.key}: ms", list(next(iter(work.values()))), {n: list(ms.values()) for n, ms in work.items()}
            )
            for point, work, _ in self._measured(publication)
        ]
        return bars(self.title, panels) if panels else None


class ScalingFigure(TrainedFigure):
    """Bars of an iteration on several GPUs with the times of runs' layers: each way against the first."""

    kind: Literal["scaling"] = param("scaling", "what is shown", "")
    gpus_trained: tuple[GpuCount, ...] = param(
        ..., "numbers of GPUs, each with a batch of its own", "user", min_length=1
    )

    formats: ClassVar = {"speedup": TIMES}

    def records(self, publication: Publication) -> list[FigureRecord]:
        """List each known point's training on each number of GPUs, with what the first way takes; None: not known."""
        first = self.ways[0] if self.ways else next(iter(publication.reproduction.runs.ways))
        paces = {
            (point, count): _simulate_pace(self.training, json.dumps(self.settings(publication, point)), count)
            for point, _ in self.known_points(publication)
            for count in self.gpus_trained
        }
        records = []
        for (point, count), pace in paces.items():
            base = paces.get((replace(point, way=first), count))
            gain = None if base is None else base.iteration_us / pace.iteration_us
            values: dict[str, Any] = {"iteration_ms": pace.iteration_us / 1e3, "exposed_ms": pace.exposed_us / 1e3}
            values |= {"sum_ms": pace.communication_us / 1e3, "gain": gain, "run": point.key, "count": count}
            values["speedup"] = gain if point.way != first else None
            records.append(FigureRecord({**point.labels, "gpus": str(count)}, values, comparison=point.gpu))
        return records

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each way and number of GPUs."""
        records = self.records(publication)
        if records:
            yield SCALING.table(record.row for record in records)

    def picture(self, publication: Publication) -> Picture | None:
        """Draw an iteration of each way on each number of GPUs."""
        records = self.records(publication)
        panel = build_panel("iteration, ms, by GPUs", records, ("gpus", "run", "iteration_ms"))
        return bars(self.title, [panel]) if records else None


@cache
def _simulate_pace(training: str, settings: str, count: int) -> PipelineTiming:
    """Simulate a training on some GPUs, once for all that is shown of it. settings: as JSON."""
    return simulate_pace(load_training(training, {**json.loads(settings), "gpus": [count]}), _NO_STORE)


class FlowStagesFigure(TrainedFigure):
    """Bars of a layer's iteration with a GPU for each stage of its flow, beside one GPU, and a batch on each.

    The training's topology is that of the GPUs.
    """

    kind: Literal["flow_stages"] = param("flow_stages", "what is shown", "")

    formats: ClassVar = dict.fromkeys(("stages_waiting", "stages_streaming", "stages_over_batches"), TIMES)

    def records(self, publication: Publication) -> Iterator[FigureRecord]:
        """Yield each known point in stages."""
        for point, run in self.known_points(publication):
            settings = {**self.settings(publication, point), "gpus": [len(STAGES)]}
            launches = [(one.kernel, one.time_us) for one in run.launches]
            records = split_into_stages(load_training(self.training, settings), launches)
            values = {
                "stages_waiting": records.one_us / records.waiting_us,
                "stages_streaming": records.one_us / records.streaming_us,
                "stages_over_batches": records.over_batches,
                "largest_share": max(records.stage_bytes) / records.whole_bytes,
                "links": " + ".join(GROUPED_2(us / 1e3) for us in records.links_us),
                "one GPU": records.one_us / 1e3,
                "in stages, each waits": records.waiting_us / 1e3,
                "in stages, none waits": records.streaming_us / 1e3,
                "a batch on each GPU, of a batch": records.batches_us / len(STAGES) / 1e3,
                "whole_mib": records.whole_bytes / MIB,
            }
            values |= {f"{stage}_ms": us / 1e3 for stage, us in zip(STAGES, records.stages_us, strict=True)}
            values |= {f"{stage}_mib": size / MIB for stage, size in zip(STAGES, records.stage_bytes, strict=True)}
            yield FigureRecord(point.labels, {**values, "run": point.key}, comparison=point.gpu)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of times and one of memory, a row for each point."""
        records = list(self.records(publication))
        if not records:
            return
        yield FLOW_TIMES.table(record.row for record in records)
        yield FLOW_MEMORY.table(record.row for record in records)

    def picture(self, publication: Publication) -> Picture | None:
        """Draw an iteration of each point, on one GPU and in stages."""
        records = list(self.records(publication))
        drawn = ("one GPU", "in stages, each waits", "in stages, none waits", "a batch on each GPU, of a batch")
        heights = {name: [one.values[name] for one in records] for name in drawn}
        panel = BarPanel("iteration, ms", [one.values["run"] for one in records], heights)
        return bars(self.title, [panel]) if records else None
