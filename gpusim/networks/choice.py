"""The fastest convolution algorithm of each layer and pass, as it was measured on the simulated GPU.

Every dense algorithm that computes a layer is run there alone, over made-up values, which do not decide its time; its
launches are sampled, and what a store knows of them is not run again. An algorithm is not asked about passes that it
leaves to another one, nor at all where the GPU's memory does not hold the network with its workspace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.network_run import AUTO, DEFAULT_ALGORITHM, NetworkSettings
from gpusim.core.facts import RunFacts
from gpusim.core.sampled import WHOLE
from gpusim.networks.binding import Iteration
from gpusim.networks.execution import StepResult
from gpusim.networks.launches import LaunchClass
from gpusim.networks.run import Wanted, run_iteration, schedule_of, selected_layers
from gpusim.networks.storage import fits, network_plan
from gpusim.sampling.spec import SamplingSpec
from workloads.networks.graph import Network
from workloads.networks.kind import Pass
from workloads.operators.conv_algorithms import DENSE_ALGORITHMS

PASSES = frozenset({Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS})
ERROR = 0.02  # of all that is measured for the choice: less than what algorithms differ by


@dataclass(frozen=True)
class Choice:
    """A step's algorithm. cycles: of each algorithm that computes it, the fastest first."""

    layer: str
    what: Pass
    cycles: Mapping[str, int]

    @property
    def algorithm(self) -> str:
        """The fastest."""
        return next(iter(self.cycles))


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
    alone = replace(wanted, engine="off", data="synthetic", verify=False, checked=False, layers=layers, passes=PASSES)
    schedule = schedule_of(network, settings, wanted.batch, wanted.train)
    measured: dict[str, list[StepResult]] = {}
    known: Mapping[LaunchClass, RunFacts] = {}
    for algorithm in DENSE_ALGORITHMS:
        other = settings.model_copy(update={"convolution": algorithm, "sampling": sampling})
        if not fits(network_plan(schedule, Iteration.under(other)), settings.gpu):
            reporter.say(f"convolution by {algorithm}: its workspace does not fit the GPU's memory")
            continue
        reporter.say(f"convolution by {algorithm}: measuring")
        record = run_iteration(network, other, alone, reporter, interrupt, known=known)
        known = record.of_class
        if record.stopped_by:
            return Chosen()  # what follows ends by the same interrupt
        measured[algorithm] = record.steps
    exact = {
        one: replace(facts, sampling=None)
        for one, facts in known.items()
        if facts.sampling is None or facts.sampling.method == WHOLE
    }
    return Chosen(_choices(measured), exact)


def _choices(measured: Mapping[str, Sequence[StepResult]]) -> list[Choice]:
    """Of each step, the algorithms by which its launches are others than the default's, and the default."""
    default = measured.get(DEFAULT_ALGORITHM, ())
    found = []
    for number, step in enumerate(default):
        cycles = {
            algorithm: steps[number].facts.cycles  # type: ignore[union-attr]
            for algorithm, steps in measured.items()
            if steps[number].facts is not None
            and (algorithm == DEFAULT_ALGORITHM or steps[number].classes != step.classes)
        }
        if cycles:
            found.append(Choice(step.step.layer, step.step.what, dict(sorted(cycles.items(), key=lambda one: one[1]))))
    return found


def lines(choices: Sequence[Choice]) -> list[str]:
    """Each choice as a line: the algorithm, and how many times as long others take."""
    return [
        f"{choice.layer} {choice.what}: {choice.algorithm}"
        + "".join(f", {name} {n / choice.cycles[choice.algorithm]:.2f}x" for name, n in list(choice.cycles.items())[1:])
        for choice in choices
    ]
