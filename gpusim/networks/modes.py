"""A network with the compaction engine off, on, or both.

With both, the dense variant computes each layer that skips zeros in the sparse one by its fastest dense algorithm
(gpusim.networks.choice), so that what is said of either is a comparison with the best.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.engine import check_share
from gpusim.config.network_run import NetworkSettings
from gpusim.config.workload import EngineMode
from gpusim.networks.binding import Iteration
from gpusim.networks.choice import Place, choose
from gpusim.networks.run import NetworkRecord, Wanted, is_real, run_iteration, schedule_of
from gpusim.networks.storage import network_plan
from gpusim.results.record import KernelChoice
from workloads.networks.graph import Network
from workloads.operators.conv_algorithms import ALGORITHMS

# key in the JSON object, as `gpusim run` has it, and the mode of each variant
VARIANTS: Mapping[EngineMode, tuple[tuple[str, EngineMode], ...]] = {
    "off": (("", "off"),),
    "on": (("", "on"),),
    "both": (("dense", "off"), ("sparse", "on")),
}


@dataclass
class ModesRecord:
    """What a run in one mode or both left behind.

    variants: records by their keys, as far as they were run; choices: of dense algorithms by layer and pass, where
    they are not as the settings name them; stopped_by: empty for a run that was not stopped.
    """

    mode: EngineMode
    variants: dict[str, NetworkRecord] = field(default_factory=dict)
    choices: Mapping[Place, KernelChoice] = field(default_factory=dict)

    @property
    def last(self) -> NetworkRecord:
        """The variant that was run last."""
        return list(self.variants.values())[-1]

    @property
    def stopped_by(self) -> str:
        """Empty for a run that was not stopped."""
        return next((r.stopped_by for r in self.variants.values() if r.stopped_by), "")

    @property
    def passed(self) -> bool | None:
        """Whether all that was compared with NumPy was as expected; None where nothing was."""
        compared = [record.passed for record in self.variants.values() if record.passed is not None]
        return all(compared) if compared else None


def run_modes(
    network: Network,
    settings: NetworkSettings,
    wanted: Wanted,
    reporter: Reporter,
    interrupt: Interrupt,
    inputs: Mapping[str, np.ndarray] | None = None,
    keep_outputs: bool = False,
    source: str = "inputs",
) -> ModesRecord:
    """Run an iteration in each variant of `wanted.engine`, each on the same inputs; an interrupt ends it.

    Arguments and errors: as of `gpusim.networks.run.run_iteration`.
    """
    variants = VARIANTS[wanted.engine]
    if keep_outputs and len(variants) > 1:
        raise UserError("outputs: engine both runs the network twice; with outputs on or off is allowed")
    if wanted.engine != "off" and ALGORITHMS[settings.sparse_convolution].uses_engine:
        try:
            check_share(settings.gpu, settings.engine)
        except ValueError as error:
            raise UserError(str(error)) from None
    wanted = _decided(network, settings, wanted)
    chosen = choose(network, settings, wanted, reporter, interrupt)
    found = ModesRecord(wanted.engine, choices=chosen.choices)
    known = chosen.exact
    for name, mode in variants:
        if name:
            reporter.say(f"{name}: engine {mode}")
        of_mode = replace(wanted, engine=mode)
        record = run_iteration(
            network, settings, of_mode, reporter, interrupt, inputs, keep_outputs, source, known, chosen.by_step
        )
        found.variants[name], known = record, record.of_class
        if record.stopped_by:
            break
    return found


def _decided(network: Network, settings: NetworkSettings, wanted: Wanted) -> Wanted:
    """With real data or without, alike in all variants: the sparse one's workspace is the larger."""
    if wanted.data != "auto" or wanted.engine == "off":
        return wanted
    schedule = schedule_of(network, settings, wanted.batch, wanted.train)
    planned = network_plan(schedule, Iteration.under(settings, sparse=True))
    return replace(wanted, data="real" if is_real(wanted, planned) else "synthetic")
