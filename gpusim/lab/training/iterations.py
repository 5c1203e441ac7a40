"""Iterations of training executed on the simulated GPU, without timing: parameters stay in its memory between them."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gpusim.base.errors import SimulationError, UserError
from gpusim.base.formats import DIGITS_2
from gpusim.base.interrupt import INTERRUPTED, Interrupt
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.choice import choose
from gpusim.jobs.networks.execution import Execution, ExecutionOptions
from gpusim.jobs.networks.library import CODE_BYTES
from gpusim.jobs.networks.run import NetworkRunRequest, build_schedule, check_planned, run_iteration
from gpusim.jobs.networks.settings import iteration_settings
from gpusim.jobs.networks.storage import Storage, network_plan
from gpusim.jobs.networks.values import checked_arrays, fill
from workloads.networks.graph import Network
from workloads.networks.kind import Pass
from workloads.networks.tensor import TensorRole

DIVERGED = 1000
"""Multiple of the first loss from which on a training is given up: its values soon exceed the range of float32."""


class NetworkTraining:
    """A network in training on one batch after the other; raises UserError for what cannot be trained.

    Args:
        given: Arrays by tensor for the first iteration, parameters for example; the others are filled as in
            `gpusim.jobs.networks.values.fill`.
        source: Where arrays come from, for errors.
        chosen: Algorithms by layer and pass.
    """

    def __init__(
        self,
        network: Network,
        settings: NetworkSettings,
        batch: int,
        given: Mapping[str, np.ndarray] | None = None,
        source: str = "given",
        chosen: Mapping[tuple[str, Pass], str] | None = None,
    ) -> None:
        self.schedule = build_schedule(network, settings, batch, train=True)
        if "loss" not in self.schedule.tensors:
            raise UserError(f"{network.source}: a layer that is looked at alone has no loss to train by")
        self._settings, self._number, self._chosen = settings, 0, chosen
        iteration = iteration_settings(settings, chosen=chosen)
        beside_bytes = CODE_BYTES if iteration.multiplier is not None else 0
        planned = network_plan(self.schedule, iteration)
        check_planned(network, settings, planned, iteration)
        self._storage = Storage.allocate(planned, settings.gpu, beside_bytes)
        fill(self._storage, settings.seed, checked_arrays(self.schedule, given or {}, source))

    def step(self, inputs: Mapping[str, np.ndarray], compared: bool = False) -> float:
        """Run one iteration on a batch of inputs and `labels`, and return its loss. compared: check each result against
        NumPy.

        Raises UserError for inputs that do not fit, and SimulationError where a result is wrong.
        """
        for name, array in checked_arrays(self.schedule, inputs, "inputs").items():
            self._storage.array(name)[...] = array
        self._number += 1
        how = ExecutionOptions(timing=False, verified=compared)
        with Interrupt() as interrupt:
            execution = Execution(self._storage, self._settings.gpu, how, Reporter(quiet=True), interrupt)
            results = execution.run(iteration_settings(self._settings, self._number, chosen=self._chosen))
        if execution.partial:
            raise KeyboardInterrupt
        wrong = [f"{one.name}: {mismatch}" for one in results for mismatch in one.mismatches]
        if wrong:
            raise SimulationError("; ".join(wrong))
        return float(self.array("loss")[0])

    def array(self, name: str) -> np.ndarray:
        """Return a copy of a tensor; if its memory has been reused within the iteration, the copy holds the later
        values.
        """
        return self._storage.array(name).copy()


@dataclass(frozen=True)
class TrainingResult:
    """Result of a training of several iterations."""

    network: str
    """Name of the network."""
    gpu: str
    """Name of the GPU."""
    batch: int
    """Batch size in images."""
    losses: tuple[float, ...]
    """Mean loss of the batch in each iteration."""
    verified: bool
    """Every result of every iteration was compared with NumPy."""
    iteration_us: float | None = None
    """Kernel time of an iteration in microseconds; None: not simulated."""
    iteration_cycles: int | None = None
    """Kernel cycles of an iteration; None: not simulated."""

    def document(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self) | {"losses": list(self.losses), "kind": "train"}


def train(
    network: Network,
    settings: NetworkSettings,
    wanted: NetworkRunRequest,
    iterations: int,
    reporter: Reporter,
    arrays: Mapping[str, np.ndarray] | None = None,
    source: str = "inputs",
    report: Callable[[int, float], None] = lambda number, loss: None,
) -> TrainingResult:
    """Train for some iterations, each compared with NumPy if that is wanted, and time one of them.

    Args:
        network: The network.
        settings: Settings of a network's run.
        wanted: Batch, verify, timing, jobs and store count.
        iterations: How many.
        reporter: Where progress goes.
        arrays: Inputs and labels of some batches, which are taken in turn, and parameters to begin with; what is
            missing is made up, one batch for all iterations.
        source: Where arrays come from, for errors.
        report: Is called with the number and the loss of each.

    Raises:
        UserError: It cannot be trained so, or the loss diverges.
        SimulationError: A result is wrong.
    """
    wanted = replace(wanted, train=True)
    with Interrupt() as interrupt:
        chosen = choose(network, settings, wanted, reporter, interrupt).by_step
    batches, given = _batches(network, settings, wanted.batch, arrays or {}, source)
    training = NetworkTraining(network, settings, wanted.batch, {**given, **batches[0]}, source, chosen)
    # an input's memory may serve others once it has been read
    made_up = {
        name: training.array(name)
        for name, tensor in training.schedule.tensors.items()
        if tensor.role is TensorRole.INPUT
    }
    losses = []
    for number in range(iterations):
        losses.append(training.step({**made_up, **batches[number % len(batches)]}, wanted.verify))
        report(number + 1, losses[-1])
        if not losses[-1] <= DIVERGED * losses[0]:  # nor where it is not a number
            rate = settings.training.rate
            raise UserError(
                f"training.rate: {rate} is too large: the loss of {DIGITS_2(losses[0])} in iteration 1 is"
                f" {DIGITS_2(losses[-1])} in iteration {number + 1}; try {DIGITS_2(rate / 10)}"
            )
    done = TrainingResult(network.name, settings.gpu.name, wanted.batch, tuple(losses), wanted.verify)
    if not wanted.timing:
        return done
    once = replace(wanted, data="synthetic", verify=False)
    with Interrupt() as interrupt:
        record = run_iteration(network, settings, once, reporter, interrupt, chosen=chosen)
    if record.stopped_by == INTERRUPTED:
        raise KeyboardInterrupt
    facts = [step.facts for step in record.steps if step.facts is not None]
    time_us = plain_sum(launch.time_us for launch in facts)
    return replace(done, iteration_us=time_us, iteration_cycles=sum(launch.cycles for launch in facts))


def _batches(
    network: Network, settings: NetworkSettings, batch: int, arrays: Mapping[str, np.ndarray], source: str
) -> tuple[list[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """Return the user's inputs by batch, and the other arrays; raise UserError for numbers of images that differ."""
    tensors = build_schedule(network, settings, batch, train=True).tensors
    inputs = {name: a for name, a in arrays.items() if name in tensors and tensors[name].role is TensorRole.INPUT}
    others = {name: a for name, a in arrays.items() if name not in inputs}
    counts = {name: len(a) if a.ndim else 0 for name, a in inputs.items()}
    for name, count in counts.items():
        if not count or count % batch or count != next(iter(counts.values())):
            first, of_first = next(iter(counts.items()))
            raise UserError(
                f"{source}: '{name}' has {count} images, '{first}' {of_first}: must be as many, whole batches of"
                f" {batch}"
            )
    whole = next(iter(counts.values()), batch) // batch
    return [{n: a[k * batch : (k + 1) * batch] for n, a in inputs.items()} for k in range(whole)], others
