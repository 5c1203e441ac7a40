"""The fastest convolution algorithm of each layer and pass, as it was measured on the simulated GPU.

Every dense algorithm that computes a layer is run there alone, over made-up values, which do not decide its time; its
launches are sampled, and what a store knows of them is not run again. Those that need the fewest multiply-accumulates
are measured first; one whose multiply-accumulates alone would take longer than the best of those is not. An algorithm
is not asked about passes that it leaves to another one, nor at all where the GPU's memory does not hold the network
with its workspace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.network_run import AUTO, DEFAULT_ALGORITHM, NetworkSettings
from gpusim.core.facts import RunFacts
from gpusim.core.sampled import WHOLE
from gpusim.host.command_processor import RunOptions
from gpusim.networks.binding import Iteration, parts_of
from gpusim.networks.launches import LaunchClass
from gpusim.networks.run import Wanted, run_iteration, schedule_of, selected_layers
from gpusim.networks.storage import fits, network_plan
from gpusim.sampling.spec import SamplingSpec
from workloads.networks.graph import Network
from workloads.networks.kind import Pass
from workloads.networks.schedule import Schedule
from workloads.operators.conv_algorithms import DENSE_ALGORITHMS
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.gemm_estimates import SIMD_LANES
from workloads.operators.tiles import SIMDS

PASSES = frozenset({Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS})
ERROR = 0.03  # of all that is measured for the choice: less than what algorithms differ by
ATTAINED = 0.95  # of the SIMDs' rate, which no kernel exceeds: the best reaches 0.91 (docs/kernels.md)
Place = tuple[str, Pass]


@dataclass(frozen=True)
class Choice:
    """A step's algorithm.

    cycles: of each algorithm that was measured, the fastest first; slower: the others that compute it, with the cycles
    that they take at least.
    """

    layer: str
    what: Pass
    cycles: Mapping[str, int]
    slower: Mapping[str, float] = field(default_factory=dict)

    @property
    def algorithm(self) -> str:
        """The fastest."""
        return next(iter(self.cycles))

    @property
    def best(self) -> int:
        """Its cycles."""
        return self.cycles[self.algorithm]


@dataclass(frozen=True)
class Chosen:
    """What was chosen. by_step: algorithm by step; exact: launches that were simulated in whole on the way."""

    choices: Sequence[Choice] = ()
    exact: Mapping[LaunchClass, RunFacts] = field(default_factory=dict)

    @property
    def by_step(self) -> Mapping[tuple[str, Pass], str]:
        """Algorithm by layer and pass."""
        return {(choice.layer, choice.what): choice.algorithm for choice in self.choices}


def choose(
    network: Network, settings: NetworkSettings, wanted: Wanted, reporter: Reporter, interrupt: Interrupt
) -> Chosen:
    """Measure the algorithms where `settings` leave the choice to measurement; nothing is chosen otherwise.

    Raises UserError, and what a launch raises.
    """
    if settings.convolution != AUTO:
        return Chosen()
    selected = selected_layers(network, wanted.layers)
    layers = frozenset(
        layer.name
        for layer in network.layers
        if layer.kind_name == "convolution" and (selected is None or layer.name in selected)
    )
    if not layers or not wanted.timing:
        return Chosen()
    confidence = settings.sampling.confidence if settings.sampling is not None else SamplingSpec().confidence
    sampling = SamplingSpec(error=ERROR, confidence=confidence)
    alone = replace(wanted, engine="off", data="synthetic", verify=False, launches=RunOptions(), layers=layers)
    schedule = schedule_of(network, settings, wanted.batch, wanted.train)
    candidates = _candidates(schedule, settings, layers)
    found: dict[Place, Choice] = {}
    known: Mapping[LaunchClass, RunFacts] = {}
    for algorithm, least in candidates.items():
        other = settings.model_copy(update={"convolution": algorithm, "sampling": sampling})
        if not fits(network_plan(schedule, Iteration.under(other)), settings.gpu):
            reporter.say(f"convolution by {algorithm}: its workspace does not fit the GPU's memory")
            continue
        asked = {place for place, cycles in least.items() if place not in found or cycles < found[place].best}
        for place in set(least) - asked:
            found[place] = replace(found[place], slower={**found[place].slower, algorithm: least[place]})
        if not asked:
            reporter.say(f"convolution by {algorithm}: slower everywhere")
            continue
        reporter.say(f"convolution by {algorithm}: measuring {len(asked)} of {len(least)} passes")
        places = frozenset(asked)
        record = run_iteration(network, other, replace(alone, places=places), reporter, interrupt, known=known)
        known = record.of_class
        if record.stopped_by:
            return Chosen()  # what follows ends by the same interrupt
        for step in record.steps:
            if step.facts is not None:
                place = step.step.layer, step.step.what
                found[place] = _with(found.get(place, Choice(*place, {})), algorithm, step.facts.cycles)
    exact = {
        one: replace(facts, sampling=None)
        for one, facts in known.items()
        if facts.sampling is None or facts.sampling.method == WHOLE
    }
    return Chosen([found[place] for place in _places(schedule, layers) if place in found], exact)


def _places(schedule: Schedule, layers: frozenset[str]) -> list[Place]:
    """The layers' passes that algorithms are chosen for, in the schedule's order."""
    return [(step.layer, step.what) for step in schedule.steps if step.layer in layers and step.what in PASSES]


def _candidates(
    schedule: Schedule, settings: NetworkSettings, layers: frozenset[str]
) -> Mapping[str, Mapping[Place, float]]:
    """By algorithm the passes that it computes itself, with the cycles that multiply-accumulates take of each at least.

    Those that need the fewest of the definition's come first; of several, the default.
    """
    rate = ATTAINED * settings.gpu.cus * SIMDS * SIMD_LANES
    steps = [step for step in schedule.steps if step.layer in layers and step.what in PASSES]
    found: dict[str, dict[Place, float]] = {}
    parts: dict[str, float] = {}
    for name in DENSE_ALGORITHMS:
        iteration = Iteration.under(settings.model_copy(update={"convolution": name}))
        least, macs = {}, 0
        for step in steps:
            primitives = [part.primitive for part in parts_of(schedule, step, iteration)]
            if any(isinstance(one, ConvolutionPass) and one.algorithm == name for one in primitives):
                least[step.layer, step.what] = sum(one.needed_macs for one in primitives) / rate
                macs += sum(one.macs for one in primitives)
        if least:
            found[name], parts[name] = least, sum(least.values()) / macs
    order = sorted(found, key=lambda name: (f"{parts[name] * rate:.1f}", name != DEFAULT_ALGORITHM))
    return {name: found[name] for name in order}


def _with(choice: Choice, algorithm: str, cycles: int) -> Choice:
    """With what an algorithm takes."""
    ordered = sorted({**choice.cycles, algorithm: cycles}.items(), key=lambda one: one[1])
    return replace(choice, cycles=dict(ordered))


def lines(choices: Sequence[Choice]) -> list[str]:
    """Each choice as a line: the algorithm, and how many times as long others take, or would at least."""
    return [
        f"{choice.layer} {choice.what}: {choice.algorithm}"
        + "".join(f", {name} {n / choice.best:.2f}x" for name, n in list(choice.cycles.items())[1:])
        + "".join(f", {name} >= {n / choice.best:.2f}x" for name, n in choice.slower.items())
        for choice in choices
    ]
