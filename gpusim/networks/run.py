"""`gpusim.run_network` and the path of `gpusim net`: from a network and settings to the result of an iteration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.interrupt import INTERRUPTED, Interrupt
from gpusim.base.progress import Reporter, reporting
from gpusim.config.network_run import NetworkSettings
from gpusim.networks.binding import Iteration
from gpusim.networks.execution import Execution, How, StepResult
from gpusim.networks.kept import Kept
from gpusim.networks.storage import Storage, check_room, network_plan, written_results
from gpusim.networks.values import checked_arrays, fill
from workloads.networks.graph import Network
from workloads.networks.memory import MemoryPlan
from workloads.networks.schedule import Loss, Schedule, Update, inference, training
from workloads.networks.tensor import Role

MOST_REAL_BYTES = 3 << 30  # of an iteration whose values are computed: a process stays below 4 GiB
DataChoice = Literal["auto", "real", "synthetic"]


@dataclass(frozen=True)
class Wanted:
    """What of a network is run.

    layers: 'conv2:conv5', either end may be left out, or one layer; data: real: every step is executed on the values
    of those before; synthetic: launches are simulated alone, over made-up values; auto: real unless the iteration has
    more than MOST_REAL_BYTES; jobs: processes; keep: folder of what earlier runs found out about launches.
    """

    batch: int = 1
    train: bool = False
    layers: str | None = None
    data: DataChoice = "auto"
    verify: bool = True
    timing: bool = True
    jobs: int = 1
    keep: Path | None = None


@dataclass
class NetworkRecord:
    """What a run left behind.

    steps: those of the selected layers, in order; outputs: outputs of the network and gradients by tensor, where they
    were asked for; real: whether data were; stopped_by: empty for a run that was not stopped.
    """

    schedule: Schedule
    settings: NetworkSettings
    real: bool
    planned_bytes: int
    steps: list[StepResult]
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    stopped_by: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether all that was compared was as expected; None where nothing was."""
        compared = [step.verification.passed for step in self.steps if step.verification is not None]
        return all(compared) if compared else None


def schedule_of(network: Network, settings: NetworkSettings, batch: int, train: bool) -> Schedule:
    """The steps of an iteration; raises UserError."""
    if not train:
        return inference(network, batch)
    loss = Loss.GIVEN if network.input_gradients else Loss.CROSS_ENTROPY
    return training(network, batch, loss, Update(settings.training.update))


def run_iteration(
    network: Network,
    settings: NetworkSettings,
    wanted: Wanted,
    reporter: Reporter,
    interrupt: Interrupt,
    inputs: Mapping[str, np.ndarray] | None = None,
    keep_outputs: bool = False,
    source: str = "inputs",
) -> NetworkRecord:
    """Run one iteration; raises UserError, and what a launch raises.

    inputs: arrays by tensor: inputs by the graph's names, `labels`, parameters as 'conv1.weight'; source: where they
    come from, for errors; keep_outputs: needs real data.
    """
    schedule = schedule_of(network, settings, wanted.batch, wanted.train)
    selected = selected_layers(network, wanted.layers)
    given = checked_arrays(schedule, inputs or {}, source)
    iteration = Iteration.under(settings)
    planned = network_plan(schedule, iteration)
    real = wanted.data == "real" or (wanted.data == "auto" and planned.bytes <= MOST_REAL_BYTES)
    if not real and (given or keep_outputs):
        what = "inputs" if given else "outputs"
        raise UserError(
            f"{what}: {planned.bytes >> 20} MiB of tensors with batch {wanted.batch} are run on synthetic data; given"
            f" {what} need real data: up to {MOST_REAL_BYTES >> 20} MiB, or data = real"
        )

    def with_batch(batch: int) -> MemoryPlan:
        return network_plan(schedule_of(network, settings, batch, wanted.train), iteration)

    check_room(planned, settings.gpu, with_batch)
    storage = Storage.allocate(planned, settings.gpu)
    if real:
        fill(storage, settings.seed, given)
    how = How(selected, real, wanted.timing, wanted.verify and real, wanted.jobs, settings.sampling)
    kept = Kept(wanted.keep, settings.gpu) if wanted.keep is not None else None
    execution = Execution(storage, settings.gpu, how, reporter, interrupt, kept)
    outputs: dict[str, np.ndarray] = {}
    asked_for = written_results(schedule) if keep_outputs else set()

    def keep(name: str, array: np.ndarray) -> None:
        for one in {name, schedule.memory_of(name)} & asked_for:
            outputs[one] = array.copy()

    with reporting(reporter):
        steps = execution.run(iteration, keep if keep_outputs else None)
    if keep_outputs and not execution.partial:
        parameters = [n for n, t in schedule.tensors.items() if t.role is Role.PARAMETER and schedule.training]
        outputs |= {name: storage.array(name).copy() for name in parameters}
    stopped = (interrupt.reason or INTERRUPTED) if execution.partial else ""
    return NetworkRecord(schedule, settings, real, planned.bytes, steps, outputs, stopped)


def selected_layers(network: Network, text: str | None) -> frozenset[str] | None:
    """The layers that 'first:last' names, in the network's order; None: all. Raises UserError."""
    if text is None:
        return None
    names = [layer.name for layer in network.layers]
    if text in names:
        return frozenset({text})
    first, colon, last = text.partition(":")
    ends = [first or names[0], (last or names[-1]) if colon else first]
    for name in ends:
        if name not in names:
            raise UserError(f"layers: {unknown_name('layer', name, names)}")
    begin, end = map(names.index, ends)
    if begin > end:
        raise UserError(f"layers: '{ends[0]}' comes after '{ends[1]}' in {network.name}; allowed is first:last")
    return frozenset(names[begin : end + 1])
