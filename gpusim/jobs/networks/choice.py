"""The fastest algorithm of each layer and pass on the simulated GPU (gpusim.jobs.running.choice).

With `convolution: auto` that of convolutions is found out for every pass, the dense one; with `attention: auto` that of
attention, forward. Where a run is compared with one that skips zeros, it is for
the forward passes that do, so that they are compared with the best. What bounds leave in question is run alone, over
made-up values, which do not decide its time: one algorithm of each pass at a time, all passes side by side. Launches
are sampled, and what a store knows of them is not run again. An algorithm is not asked about passes that it leaves to
another one, nor at all where the GPU's memory does not hold the network with its workspace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.config.network_run import AUTO, NetworkSettings
from gpusim.jobs.demand.launch_work import CODE_BYTES, LaunchWork
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.jobs.networks.launch_works import LaunchWorkCache
from gpusim.jobs.networks.launches import LaunchClass, classify_synthetic_launches
from gpusim.jobs.networks.run import NetworkRunRequest, build_schedule, run_iteration, selected_layers
from gpusim.jobs.networks.settings import iteration_settings
from gpusim.jobs.networks.storage import Storage, fits, network_plan
from gpusim.jobs.running.choice import Candidate, Measured, MeasurementRequest, choose_all
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import occupancy
from gpusim.model.core.sampled import WHOLE
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.record import KernelChoice
from isa.launch import Launch
from workloads.networks.binding import bind_primitives
from workloads.networks.graph import Network
from workloads.networks.kind import IterationSettings, Pass
from workloads.networks.kinds import KINDS
from workloads.networks.schedule import Schedule, Step
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.gemm_estimates import SIMD_LANES
from workloads.operators.primitive import TensorOperator
from workloads.operators.tiles import SIMDS

PASSES = frozenset({Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS})
ALGORITHMS = {name: kind.ALGORITHMS for name, kind in KINDS.items() if kind.ALGORITHMS}
ERROR = 0.03  # relative, of all that is measured at a time: less than the differences of algorithms
ATTAINED = 0.95  # of the SIMDs' rate, which no kernel exceeds: the best reaches 0.91 (docs/results/kernels.md)
LOOKED_AT_SHARE = 0.95  # of what the workgroups that are looked at say of all: those at an edge take less
# Wavefront instructions. What takes more to measure is left unmeasured where something else computes the pass: minutes
MOST_EFFORT = 2e9
# Launched one by one, of a pass: more take longer to begin than other algorithms to compute it, as of depthwise layers
MOST_PRODUCTS = 1024
SAMPLED_ROUNDS = 6  # rounds of workgroups that are simulated of a launch
ChoiceKey = tuple[str, Pass]
Asked = list[tuple[LaunchClass, Launch, LaunchWork]]  # by an operator, launch by launch


def chosen_kinds(settings: NetworkSettings) -> Mapping[str, Sequence[str]]:
    """Return the kinds of layers whose algorithms no setting names, with the algorithms to choose from."""
    convolution = dict.fromkeys(("convolution", "transposed_convolution"), settings.convolution)
    named = {**convolution, "attention": settings.attention}
    return {kind: ALGORITHMS[kind] for kind, said in named.items() if said == AUTO}


@dataclass(frozen=True)
class AlgorithmChoices:
    """Selected algorithms by layer and pass."""

    choices: Mapping[ChoiceKey, KernelChoice] = field(default_factory=dict)
    """Choice for each layer and pass."""
    exact: Mapping[LaunchClass, RunFacts] = field(default_factory=dict)
    """Facts of launches that the selection simulated whole, by class."""

    @property
    def by_step(self) -> Mapping[ChoiceKey, str]:
        """Algorithm by layer and pass."""
        return {place: choice.kernel for place, choice in self.choices.items()}


class _MeasurementStoppedError(Exception):
    """A measurement was stopped."""


def choose(
    network: Network, settings: NetworkSettings, wanted: NetworkRunRequest, reporter: Reporter, interrupt: Interrupt
) -> AlgorithmChoices:
    """Choose the algorithms that no setting names, and those that sparse ones are compared with.

    Raises UserError, and what a launch raises. Nothing is chosen after an interrupt.

    Args:
        network: The network.
        settings: Settings of a network's run.
        wanted: What of the network is run, and how.
        reporter: Where progress goes.
        interrupt: Tells that the run is to end.

    Raises:
        UserError: The network cannot be run so.
    """
    schedule = build_schedule(network, settings, wanted.batch, wanted.train)
    steps = _steps(schedule, settings, wanted) if wanted.timing else []
    candidates = _candidates(schedule, settings, steps, reporter)
    sampled = settings.model_copy(update={"sampling": precision(settings.sampling)})
    layers = frozenset(step.layer for step in steps)
    alone = replace(wanted, engine="off", data="synthetic", verify=False, launches=RunOptions(), layers=layers)
    known: dict[LaunchClass, RunFacts] = {}

    def measure(asked: Mapping[ChoiceKey, MeasurementRequest]) -> Mapping[ChoiceKey, Measured]:
        by_step = {place: request.name for place, request in asked.items()}
        names = ", ".join(sorted(set(by_step.values())))
        reporter.say(f"algorithms: measuring {len(asked)} of {len(candidates)} passes by {names}")
        how = replace(alone, places=frozenset(asked))
        record = run_iteration(network, sampled, how, reporter, interrupt, known=known, chosen=by_step)
        known.update(record.of_class)
        if record.stopped_by:
            raise _MeasurementStoppedError
        return {(s.step.layer, s.step.what): s.facts.cycles for s in record.steps if s.facts is not None}

    try:
        choices = choose_all(candidates, measure)
    except _MeasurementStoppedError:
        return AlgorithmChoices()  # what follows ends by the same interrupt
    exact = {
        launch_class.sampled(None): replace(facts, sampling=None)
        for launch_class, facts in known.items()
        if facts.sampling is None or facts.sampling.method == WHOLE
    }
    return AlgorithmChoices(choices, exact)


def precision(asked: SamplingSpec | None) -> SamplingSpec:
    """Return how launches are sampled for a choice: as precisely as algorithms differ, by whole workgroups.

    For a run that is to be known less well, as that is sampled: what the choice then loses lies within the run's error.
    """
    if asked is not None and asked.error > ERROR:
        return SamplingSpec(error=asked.error, confidence=asked.confidence, within=asked.goes_within)
    confidence = SamplingSpec().confidence if asked is None else asked.confidence
    return SamplingSpec(error=ERROR, confidence=confidence, within=False)


def _steps(schedule: Schedule, settings: NetworkSettings, wanted: NetworkRunRequest) -> list[Step]:
    """Return the steps whose algorithm is to be chosen."""
    network, selected = schedule.network, selected_layers(schedule.network, wanted.layers)
    here = [step for step in schedule.steps if selected is None or step.layer in selected]
    kinds, asked = chosen_kinds(settings), ("convolution", "transposed_convolution")
    steps = [
        step
        for step in here
        if step.what in PASSES
        and network[step.layer].kind_name in asked
        and (wanted.places is None or (step.layer, step.what) in wanted.places)
    ]
    if "convolution" not in kinds:
        sparse = iteration_settings(settings, sparse=True)
        compared = steps if wanted.engine == "both" else []
        steps = [
            s for s in compared if any(part.primitive.skips_zeros_of for part in bind_primitives(schedule, s, sparse))
        ]
    if "attention" in kinds:
        steps += [s for s in here if s.what is Pass.FORWARD and network[s.layer].kind_name == "attention"]
    return steps


def _candidates(
    schedule: Schedule, settings: NetworkSettings, steps: Sequence[Step], reporter: Reporter
) -> Mapping[ChoiceKey, Sequence[Candidate]]:
    """Return, by layer and pass, the algorithms that compute it themselves, with the fewest cycles that
    each can take.
    """
    candidates: dict[ChoiceKey, list[Candidate]] = {(step.layer, step.what): [] for step in steps}
    effort: dict[tuple[ChoiceKey, str], float] = {}
    looked = LaunchWorkCache(settings.gpu, accesses=False)
    for kind, names in ALGORITHMS.items():
        of_kind = [step for step in steps if schedule.network[step.layer].kind_name == kind]
        for name in names if of_kind else ():
            chosen = {(step.layer, step.what): name for step in of_kind}
            iteration = iteration_settings(settings, chosen=chosen)
            planned = network_plan(schedule, iteration)
            if not fits(planned, settings.gpu):
                reporter.say(f"{kind} by {name}: its workspace does not fit the GPU's memory")
                continue
            storage = Storage.allocate(planned, settings.gpu, CODE_BYTES)
            for step in of_kind:
                if not has_few_products(schedule, step, iteration):
                    continue
                operators = storage.operators(step, gpu_facts(settings.gpu), iteration)
                if any(getattr(operator.primitive, "algorithm", None) == name for operator in operators):
                    asked = [_look_at(operator, looked) for operator in operators]
                    least = plain_sum(map(_least, operators, asked, repeat(settings.gpu)))
                    candidates[step.layer, step.what].append(Candidate(name, least))
                    effort[(step.layer, step.what), name] = plain_sum(map(_effort, asked, repeat(settings.gpu)))
    for place, ways in candidates.items():
        most = max(MOST_EFFORT, min((effort[place, one.name] for one in ways), default=0))
        candidates[place] = [replace(one, measurable=effort[place, one.name] <= most) for one in ways]
    return {place: ways for place, ways in candidates.items() if ways}


def has_few_products(schedule: Schedule, step: Step, iteration: IterationSettings) -> bool:
    """Tell whether a step's algorithm may be the fastest, by the number of products that it launches one by one.

    Args:
        schedule: Steps of the iteration.
        step: One of its steps.
        iteration: Ways of the iteration, with the algorithm.
    """
    primitives = [part.primitive for part in bind_primitives(schedule, step, iteration)]
    return all(one.products <= MOST_PRODUCTS for one in primitives if isinstance(one, ConvolutionPass))


def _look_at(operator: TensorOperator, looked: LaunchWorkCache) -> Asked:
    """Return an operator's launches with their classes, and what each asks for: a tile that few results fill takes as
    many instructions as a full one.
    """
    classes = classify_synthetic_launches([operator])
    return list(zip(classes, operator.launches, looked.works(operator, classes), strict=True))


def _effort(asked: Asked, gpu: GpuSpec) -> float:
    """Estimate the wavefront instructions that measuring an operator simulates: of equal launches, those of one."""
    effort = dict[LaunchClass, float]()
    for one, launch, work in asked:
        at_a_time = gpu.cus * occupancy(launch, gpu.cu).workgroups_per_cu
        effort[one] = work.instructions * min(1.0, SAMPLED_ROUNDS * at_a_time / work.workgroups)
    return plain_sum(effort.values())


def _least(operator: TensorOperator, asked: Asked, gpu: GpuSpec) -> float:
    """Return a lower bound of the operator's cycles: from its multiply-accumulates, its instructions' cycles on the
    SIMDs, or its DRAM bytes, whichever is the most.

    Caches are empty when a launch begins; of what it stores, as much as L2 holds may stay there.
    """
    primitive, needed = operator.primitive, operator.primitive.work
    stays = len(operator.launches) * gpu.l2.size_kib << 10
    moved = needed.read_bytes + primitive.passed_on_bytes + max(0, needed.stored_bytes - stays)
    limited = gpu.dram.model != "ideal" or gpu.dram.ideal_bandwidth_gb_s
    return max(
        needed.needed_macs / (ATTAINED * gpu.cus * SIMDS * SIMD_LANES),
        LOOKED_AT_SHARE * plain_sum(work.valu_cycles for _, _, work in asked if work.counted) / (gpu.cus * SIMDS),
        moved / gpu.dram.bytes_per_s * gpu.clock_ghz * 1e9 if limited else 0.0,
    )
