"""Networks run as jobs, and what a terminal shows of their results."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.choice import ChoiceKey
from gpusim.jobs.networks.execution import Execution, ExecutionOptions
from gpusim.jobs.networks.job import NetworkJob
from gpusim.jobs.networks.run import NetworkRecord, NetworkRunRequest
from gpusim.jobs.networks.settings import iteration_settings
from gpusim.jobs.networks.storage import Storage, network_plan
from gpusim.jobs.networks.values import checked_arrays, fill
from gpusim.jobs.running import runner
from gpusim.results.records.record import KernelChoice, RunRecord
from gpusim.results.report import terminal
from gpusim.results.report.document import document
from workloads.networks.graph import Network
from workloads.networks.schedule import inference

GPU = load_gpu("mi6")


@dataclass
class Ran:
    """A job that was run, and its records: one of each variant."""

    job: NetworkJob
    records: list[RunRecord]

    @property
    def tree(self) -> dict[str, Any]:
        """The JSON object."""
        return document(self.job.resolved(), self.records, [v.name for v in self.job.variants], self.job.about)

    @property
    def variants(self) -> Mapping[str, NetworkRecord]:
        """What each variant left behind, by its name."""
        return self.job.found

    @property
    def last(self) -> NetworkRecord:
        """The variant that was run last."""
        return list(self.job.found.values())[-1]

    @property
    def passed(self) -> bool | None:
        """Whether every result was as expected; None where nothing was compared."""
        compared = [r.verification.passed for r in self.records if r.verification is not None]
        return all(compared) if compared else None

    @property
    def choices(self) -> dict[ChoiceKey, KernelChoice]:
        """How algorithms were chosen, by layer and pass."""
        found = {}
        for step in self.last.schedule.steps:
            choice = self.job.get_choice((step.layer, step.what))
            if choice is not None:
                found[step.layer, step.what] = choice
        return found


def run_job(described: Mapping[str, Any], settings: Mapping[str, Any] | None = None, **wanted: Any) -> Ran:
    """Run a network's iteration as a job."""
    held = NetworkSettings(**{"gpu": GPU, **(settings or {})})
    job = NetworkJob(load_network(described), held, NetworkRunRequest(**wanted))
    with Interrupt() as interrupt:
        return Ran(job, runner.run(job, Reporter(quiet=True), interrupt))


class Terminal(io.StringIO):
    """A terminal that is written to."""

    def isatty(self) -> bool:
        return True


def shown(tree: Mapping[str, Any], columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines that a terminal of so many columns shows of a result, without colours."""
    monkeypatch.setenv("COLUMNS", str(columns))
    out = Terminal()
    terminal.show(tree, out)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()


def piped(tree: Mapping[str, Any]) -> str:
    """Return what a pipe gets of a result."""
    out = io.StringIO()
    terminal.show(tree, out)
    return out.getvalue()


def executed(
    network: Network, given: Mapping[str, np.ndarray], batch: int = 1, **more: Any
) -> tuple[dict[str, np.ndarray], list[str]]:
    """An inference through all kernels, without timing: outputs by the layer's name, and what differs from NumPy.

    more: of the settings.
    """
    settings = NetworkSettings(gpu=load_gpu("mi6"), **more)
    schedule = inference(network, batch)
    storage = Storage.allocate(network_plan(schedule, iteration_settings(settings)), settings.gpu)
    fill(storage, settings.seed, checked_arrays(schedule, given, "given"))
    with Interrupt() as interrupt:
        how = ExecutionOptions(timing=False, verified=True)
        results = Execution(storage, settings.gpu, how, Reporter(quiet=True), interrupt).run(
            iteration_settings(settings)
        )
    wrong = [f"{one.name}: {mismatch}" for one in results for mismatch in one.mismatches]
    return {layer.name: storage.array(schedule.outputs[layer.name]).copy() for layer in network.outputs}, wrong
