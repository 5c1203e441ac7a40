"""A network with the compaction engine off, on, or both: what is run, and which dense algorithm the sparse one meets.

With both, the speed-up of a layer is against the fastest of all dense algorithms that compute it, not only that of the
iteration: the others' launches are simulated for that layer alone, over made-up values, which do not decide their time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.engine import check_share
from gpusim.config.network_run import NetworkSettings
from gpusim.config.workload import EngineMode
from gpusim.networks.binding import Iteration
from gpusim.networks.choice import Choice, choose
from gpusim.networks.run import NetworkRecord, Wanted, is_real, run_iteration, schedule_of
from gpusim.networks.storage import network_plan
from workloads.networks.graph import Network
from workloads.networks.kind import Pass
from workloads.operators.conv_algorithms import ALGORITHMS, DENSE_ALGORITHMS

# key in the JSON object, as `gpusim run` has it, and the mode of each variant
VARIANTS: Mapping[EngineMode, tuple[tuple[str, EngineMode], ...]] = {
    "off": (("", "off"),),
    "on": (("", "on"),),
    "both": (("dense", "off"), ("sparse", "on")),
}


@dataclass
class ModesRecord:
    """What a run in one mode or both left behind.

    variants: records by their keys, as far as they were run; alternatives: of the layers that skip zeros, forward, by
    dense algorithms other than the iteration's; choices: of algorithms by layer and pass, where they were measured;
    stopped_by: empty for a run that was not stopped.
    """

    mode: EngineMode
    variants: dict[str, NetworkRecord] = field(default_factory=dict)
    alternatives: list[NetworkRecord] = field(default_factory=list)
    choices: Sequence[Choice] = ()

    @property
    def last(self) -> NetworkRecord:
        """The variant that was run last."""
        return list(self.variants.values())[-1]

    @property
    def stopped_by(self) -> str:
        """Empty for a run that was not stopped."""
        return next((r.stopped_by for r in [*self.variants.values(), *self.alternatives] if r.stopped_by), "")

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
            return found
    if len(variants) > 1 and not chosen.choices:  # the dense variant has the fastest already
        _run_alternatives(network, settings, wanted, reporter, interrupt, found)
    return found


def _decided(network: Network, settings: NetworkSettings, wanted: Wanted) -> Wanted:
    """With real data or without, alike in all variants: the sparse one's workspace is the larger."""
    if wanted.data != "auto" or wanted.engine == "off":
        return wanted
    schedule = schedule_of(network, settings, wanted.batch, wanted.train)
    planned = network_plan(schedule, Iteration.under(settings, sparse=True))
    return replace(wanted, data="real" if is_real(wanted, planned) else "synthetic")


def _run_alternatives(
    network: Network,
    settings: NetworkSettings,
    wanted: Wanted,
    reporter: Reporter,
    interrupt: Interrupt,
    found: ModesRecord,
) -> None:
    """The layers that skip zeros by every other dense algorithm, forward and alone."""
    sparse = found.variants["sparse"]
    layers = frozenset(s.step.layer for s in sparse.steps if s.skips_zeros and s.step.what is Pass.FORWARD)
    if not layers:
        return
    alone = replace(wanted, engine="off", train=False, data="synthetic", verify=False, layers=layers)
    known = sparse.of_class
    for algorithm in DENSE_ALGORITHMS:
        if algorithm == settings.convolution:
            continue
        reporter.say(f"dense: {', '.join(sorted(layers))} by {algorithm}")
        other = settings.model_copy(update={"convolution": algorithm})
        record = run_iteration(network, other, alone, reporter, interrupt, known=known)
        found.alternatives.append(record)
        known = record.of_class
        if record.stopped_by:
            return
