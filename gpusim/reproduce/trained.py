"""A training whose GPU's times are those of a run of the publication."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpusim.config.reproduction import Reproduction
from gpusim.config.train_phase import load_training
from gpusim.reproduce.kept import Results
from gpusim.reproduce.kept_network import KeptNetwork
from gpusim.reproduce.network_points import NetworkPoint
from gpusim.training.measure import Measured, measure

_NO_STORE = Path("gpusim.db")  # is not read where the times are given
_ALSO_OF_TRAININGS = ("gpu.", "block_circulant.")  # what of a run's values a training has too


def trained(
    reproduction: Reproduction, training: str, point: NetworkPoint, results: Results, sets: Mapping[str, Any]
) -> Measured:
    """Simulate a training's stages with the times of a known point's layers; raise UserError.

    training: its file; sets: laid over it.
    """
    runs = reproduction.runs
    subject = runs.networks[point.network]
    laid: dict[str, Any] = {"network": subject.network, "batch": point.batch, "gpu": runs.gpu_files[point.gpu]}
    of_run = {**runs.sets, **subject.sets, **runs.ways[point.way].sets}
    laid |= {path: value for path, value in of_run.items() if path.startswith(_ALSO_OF_TRAININGS)}
    laid |= {"compute": {"layers": _times(results.networks[point.key])}}
    return measure(load_training(training, {**laid, **sets}), _NO_STORE)


def _times(kept: KeptNetwork) -> dict[str, dict[str, float]]:
    """Return the times of each layer's directions in milliseconds, as a training takes them."""
    found: dict[str, dict[str, float]] = {}
    for row in kept.rows:
        if row.by == "direction":
            found.setdefault(row.layer, {})[f"{row.part}_ms"] = row.metrics["kernel.time_us"] / 1e3
    return found
