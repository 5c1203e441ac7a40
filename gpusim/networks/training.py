"""Iterations of training executed on the simulated GPU, without timing: parameters stay in its memory between them."""

from collections.abc import Mapping

import numpy as np

from gpusim.base.errors import SimulationError, UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.network_run import NetworkSettings
from gpusim.networks.binding import Iteration
from gpusim.networks.execution import Execution, How
from gpusim.networks.library import CODE_BYTES
from gpusim.networks.run import schedule_of
from gpusim.networks.storage import Storage, network_plan
from gpusim.networks.values import checked_arrays, fill
from workloads.networks.graph import Network


class Training:
    """A network in training on one batch after the other; raises UserError for what cannot be trained.

    given: arrays by tensor for the first iteration, parameters for example; the others are filled as in
    `gpusim.networks.values.fill`.
    """

    def __init__(
        self, network: Network, settings: NetworkSettings, batch: int, given: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.schedule = schedule_of(network, settings, batch, train=True)
        if "loss" not in self.schedule.tensors:
            raise UserError(f"{network.source}: a layer that is looked at alone has no loss to train by")
        self._settings, self._number = settings, 0
        iteration = Iteration.under(settings)
        beside_bytes = CODE_BYTES if iteration.multiplier is not None else 0
        self._storage = Storage.allocate(network_plan(self.schedule, iteration), settings.gpu, beside_bytes)
        fill(self._storage, settings.seed, checked_arrays(self.schedule, given or {}, "given"))

    def step(self, inputs: Mapping[str, np.ndarray], compared: bool = False) -> float:
        """Run one iteration on a batch of inputs and `labels`, and return its loss. compared: check each result against
        NumPy.

        Raises UserError for inputs that do not fit, and SimulationError where a result is wrong.
        """
        for name, array in checked_arrays(self.schedule, inputs, "inputs").items():
            self._storage.array(name)[...] = array
        self._number += 1
        how = How(timing=False, verified=compared)
        with Interrupt() as interrupt:
            execution = Execution(self._storage, self._settings.gpu, how, Reporter(quiet=True), interrupt)
            results = execution.run(Iteration.under(self._settings, self._number))
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
