"""`gpusim.run_network`: a network's iteration, run from a script."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.progress import Reporter
from gpusim.config.files import Given, opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import load_network
from gpusim.config.network_run import load_settings
from gpusim.config.tree import Sets
from gpusim.config.workload import EngineMode
from gpusim.jobs.api.frames import rows_frame
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.jobs.networks.job import NetworkJob
from gpusim.jobs.networks.run import DataChoice, Gains, NetworkRunRequest
from gpusim.jobs.running.script import RunResult, ran
from gpusim.results.records.record import RunRecord

Phase = Literal["inference", "train"]


class NetworkResult(RunResult):
    """The result of a network's run: the object that `gpusim net --json` writes, as attributes and a mapping.

    `result.kernel.cycles`, `result["rows"][0]["time_us"]`; of engine="both" `result.dense`, `result.sparse` and
    `result.normalized`; with gains `result["without"]`, `result["with"]` and `result.normalized`. outputs: arrays by
    tensor, where they were asked for.
    """

    def __init__(self, values: Mapping[str, Any], records: Sequence[RunRecord], job: NetworkJob) -> None:
        super().__init__(values, records)
        self.outputs = job.outputs

    def frame(self) -> Any:
        """Return a `pandas.DataFrame` of the rows: by variant, layer and pass; raise UserError without pandas."""
        return rows_frame(self.to_dict())


def run_network(
    network: Given,
    *,
    batch: int | None = None,
    phase: Phase = "inference",
    layers: str | None = None,
    gpu: Given = "mi6",
    sets: Sets = (),
    data: DataChoice = "auto",
    jobs: int = 1,
    inputs: Mapping[str, np.ndarray] | None = None,
    outputs: bool = False,
    verify: bool = True,
    store: str | Path | None = None,
    engine: EngineMode = "off",
    gains: Gains = "",
    checked: bool = False,
    quiet: bool = False,
) -> NetworkResult:
    """Run a network's layers on the simulated GPU, as `gpusim net` does, and return what each cost.

    Args:
        network: a file, a shipped one's name, or a mapping such as a YAML file holds.
        batch: images; None: the file's, or 1.
        phase: "inference" or "train".
        layers: "conv2:conv5" reports these alone; None: all.
        gpu: a GPU's file, name or mapping.
        sets: values laid over it, and `training.rate` and the like.
        data: "real", "synthetic" or "auto".
        jobs: processes.
        inputs: arrays by tensor: inputs, `labels`, parameters.
        outputs: keep outputs and gradients.
        verify: compare with NumPy.
        store: a file where what is found out about launches is kept for later runs.
        engine: "on": convolutions over activation maps skip zeros; "off"; or "both", compared.
        gains: "fusion" or "l1_bypass": without it and with it, compared.
        checked: assert the model's conservation laws.
        quiet: report no progress on standard error.

    Returns:
        Metrics of the network, its layers and launches.

    Raises:
        UserError: the network cannot be run so.
        SimulationError: a launch failed.
    """
    choices = (
        ("phase", phase, Phase),
        ("data", data, DataChoice),
        ("engine", engine, EngineMode),
        ("gains", gains, Gains),
    )
    for name, value, allowed in ((name, value, get_args(kind)) for name, value, kind in choices):
        if value not in allowed:
            raise UserError(f"{name}: {unknown_name('choice', str(value), allowed)}")
    if jobs < 1:
        raise UserError(f"jobs: {jobs} is not allowed: must be at least 1")
    loaded = load_network(network)
    settings = load_settings(opened(gpu, GPU_FOLDER, "gpu"), sets)
    images = batch if batch is not None else loaded.batch or 1
    wanted = NetworkRunRequest(
        images,
        phase == "train",
        layers,
        data,
        verify,
        jobs=jobs,
        store=None if store is None else Path(store),
        launches=RunOptions(checked),
        engine=engine,
        gains=gains,
    )
    job = NetworkJob(loaded, settings, wanted, inputs, outputs)
    return NetworkResult(*ran(job, Reporter(quiet)), job)
