"""A training whose GPU's times are those of a run of the publication."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.kept_network import NetworkPointRecord
from gpusim.lab.papers.network_points import NetworkPoint
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.training.measure import PipelineTiming, TrainingMeasurement, measure, simulate_pace
from gpusim.lab.training.model_parallel import ModelParallelIteration, split_into_stages
from gpusim.lab.training.spec import load_training
from workloads.circulant import STAGES

_NO_STORE = Path("gpusim.db")  # is not read where the times are given
_ALSO_OF_TRAININGS = ("gpu.", "block_circulant.")  # what of a run's values a training has too


def trained(
    reproduction: Reproduction,
    training: str,
    point: NetworkPoint,
    results: ReproductionResults,
    sets: Mapping[str, Any],
) -> TrainingMeasurement:
    """Simulate a training's stages with the times of a known point's layers; raise UserError.

    training: its file; sets: laid over it.
    """
    return measure(load_training(training, {**_laid(reproduction, point, results), **sets}), _NO_STORE)


def paces(
    reproduction: Reproduction, training: str, point: NetworkPoint, results: ReproductionResults, counts: Sequence[int]
) -> dict[int, PipelineTiming]:
    """Simulate a training with the times of a known point's layers on some numbers of GPUs, each once for all that is
    shown of it; raise UserError. training: its file.
    """
    laid = json.dumps(_laid(reproduction, point, results))
    return {count: _pace(training, laid, count) for count in counts}


@cache
def _pace(training: str, laid: str, count: int) -> PipelineTiming:
    return simulate_pace(load_training(training, {**json.loads(laid), "gpus": [count]}), _NO_STORE)


def staged(
    reproduction: Reproduction, training: str, point: NetworkPoint, results: ReproductionResults
) -> ModelParallelIteration:
    """Return a known point's iteration with a GPU for each stage of its flow; raise UserError. training: its file."""
    asked = load_training(training, {**_laid(reproduction, point, results), "gpus": [len(STAGES)]})
    return split_into_stages(asked, [(one.kernel, one.time_us) for one in results.networks[point.key].launches])


def _laid(reproduction: Reproduction, point: NetworkPoint, results: ReproductionResults) -> dict[str, Any]:
    """Return what a point says of a training: network, batch, GPU, circulant layers, times of layers."""
    runs = reproduction.runs
    subject = runs.networks[point.network]
    laid: dict[str, Any] = {"network": subject.network, "batch": point.batch, "gpu": runs.gpu_files[point.gpu]}
    of_run = {**runs.sets, **subject.sets, **runs.ways[point.way].sets}
    laid |= {path: value for path, value in of_run.items() if path.startswith(_ALSO_OF_TRAININGS)}
    return laid | {"compute": {"layers": _times(results.networks[point.key])}}


def _times(kept: NetworkPointRecord) -> dict[str, dict[str, float]]:
    """Return the times of each layer's directions in milliseconds, as a training takes them."""
    found: dict[str, dict[str, float]] = {}
    for row in kept.rows:
        if row.by == "direction":
            found.setdefault(row.layer, {})[f"{row.part}_ms"] = row.metrics["kernel.time_us"] / 1e3
    return found
