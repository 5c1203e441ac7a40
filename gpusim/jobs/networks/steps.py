"""Running a step's operators: executed for their results, timed launch by launch, and compared with NumPy.

A launch is timed in a memory of its own, so that its time follows from the launch and from nothing that ran before.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpusim.base.errors import SimulationError
from gpusim.base.formats import COUNT
from gpusim.base.host_memory import resident_bytes
from gpusim.base.progress import Progress, Reporter
from gpusim.jobs.host.command_processor import CommandProcessor, Observer, RunOptions, execute
from gpusim.jobs.networks.contents import fill_arrays, list_discardable, make_up_values
from gpusim.jobs.networks.launches import PrecedingLaunch
from gpusim.jobs.networks.locality import locality
from gpusim.jobs.networks.placement import PAGE_BYTES, LaunchPlacement, place_arrays
from gpusim.jobs.running.operators import operator_command
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.record import RunRecord, VerificationFacts
from isa.architecture import LANES
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from spartan.engine_spec import EngineSpec
from workloads.operators.operator import before
from workloads.operators.primitive import TensorOperator
from workloads.operators.verify import Verification, verify
from workloads.shapes import round_up

MOST_RESIDENT_BYTES = 1 << 31  # of a process: above, the memory of results of made-up values is given back


class CycleLimitError(SimulationError):
    """A launch reached its limit of cycles."""


class LaunchStoppedError(Exception):
    """The observer ended a launch: the step has no result."""


@dataclass(frozen=True)
class LaunchTimingOptions:
    """Options for simulating the launches of a step."""

    engine_spec: EngineSpec | None = None
    """Engine for launches with sparse regions; None: no engine."""
    launches: RunOptions = field(default_factory=RunOptions)
    """Checks, listings and limits of launches."""
    sampling: Mapping[int, SamplingSpec] = field(default_factory=dict)
    """Sampling by number of launch; others are simulated whole."""
    l1_bypass: bool | None = None
    """Loads bypass L1; None: as `gpu.l1.bypass` says."""


@dataclass(frozen=True)
class ZeroFractions:
    """Zeros in the operands whose zeros a step skips."""

    fraction: float
    """Share of zeros in the operands' elements."""
    of_terms: float
    """Share of zeros in the terms of the products, padding included."""


@dataclass(frozen=True)
class StepOutcome:
    """Results of running a step."""

    facts: Mapping[int, RunFacts] = field(default_factory=dict)
    """Facts of simulated launches by number in the step."""
    verification: VerificationFacts | None = None
    """Comparison with NumPy; None: not compared."""
    mismatches: Sequence[str] = ()
    """Messages about wrong results."""
    zeros: ZeroFractions | None = None
    """Shares of zeros; None: no zeros are skipped."""


def run_step(
    operators: Sequence[TensorOperator],
    gpu: GpuSpec,
    simulated: Collection[int],
    compared: bool,
    observer: Observer,
    timing: LaunchTimingOptions = LaunchTimingOptions(),
    processor: CommandProcessor | None = None,
) -> StepOutcome:
    """Run all launches over the values in device memory, those of `simulated` numbers with timing.

    Args:
        operators: the step's operators.
        gpu: the GPU.
        simulated: numbers in the step of the launches that are timed.
        compared: compare results with the reference.
        observer: called during each launch, ends it by returning False.
        timing: options.
        processor: one whose caches hold what earlier launches left there, so that launches are timed where their arrays
            lie; None: each is timed in a memory of its own.

    Returns:
        The results.

    Raises:
        LaunchStoppedError: the observer ended a launch; and what a launch raises.
    """
    facts: dict[int, RunFacts] = {}
    verifications: list[Verification] = []
    number, zeros = 0, None
    for operator in operators:
        inputs = before(operator) if compared else {}
        if compared or simulated:
            zeros = zeros or _zeros(operator)
        for of_operator, launch in enumerate(operator.launches):
            sampling = timing.sampling.get(number)
            if processor is not None and number in simulated:
                facts[number] = simulate_launch(launch, observer, processor, timing, sampling)
                _note_locality(facts[number], operator, launch)
            else:
                if number in simulated:
                    facts[number] = _simulate_alone(operator, of_operator, gpu, observer, timing, sampling)
                if not execute(launch, observer=observer, residency=residency(launch, gpu)).finished:
                    raise LaunchStoppedError
            number += 1
        if compared:
            verifications.append(verify(operator, inputs))
    verified, mismatches = _worst(verifications) if verifications else (None, ())
    return StepOutcome(facts, verified, mismatches, zeros)


def run_synthetic(
    operator: TensorOperator,
    gpu: GpuSpec,
    simulated: Collection[int],
    observer: Observer,
    timing: LaunchTimingOptions = LaunchTimingOptions(),
    sparsity: float = 0.0,
    before: Sequence[PrecedingLaunch] = (),
) -> StepOutcome:
    """Simulate launches of an operator alone, over made-up operands; launches that make tables for them are executed.

    Args:
        operator: the operator.
        gpu: the GPU.
        simulated: numbers in the operator of the launches that are timed; `timing` has their sampling by these numbers.
        observer: called during each launch, ends it by returning False.
        timing: options.
        sparsity: zeros, uniformly random, among the values of operands whose zeros are skipped.
        before: launches that run before each one, for what they leave in L2.

    Returns:
        The results.

    Raises:
        LaunchStoppedError: the observer ended a launch; and what a launch raises.
    """
    make_up_values(operator, sparsity)
    zeros = _zeros(operator)
    facts: dict[int, RunFacts] = {}
    executed = 0
    for number in sorted(simulated):
        _execute_decisive(operator, range(executed, number), gpu)
        executed = number
        sampling = timing.sampling.get(number)
        facts[number] = _simulate_alone(operator, number, gpu, observer, timing, sampling, before, sparsity)
    return StepOutcome(facts, zeros=zeros)


def _execute_decisive(operator: TensorOperator, numbers: range, gpu: GpuSpec) -> None:
    """Execute those of some launches whose results decide the time of later ones."""
    for number in sorted(set(numbers) & set(operator.decisive)):
        launch = operator.launches[number]
        execute(launch, residency=residency(launch, gpu))


def _simulate_alone(
    operator: TensorOperator,
    number: int,
    gpu: GpuSpec,
    observer: Observer,
    timing: LaunchTimingOptions,
    sampling: SamplingSpec | None,
    before: Sequence[PrecedingLaunch] = (),
    sparsity: float = 0.0,
) -> RunFacts:
    """Simulate a launch of an operator in a memory of its own, after the launches of `before` in the same memory.

    Its results are nobody's. Values that decide its time are taken from the operator's tensors.
    """
    launch = operator.launches[number]
    chain = [(preceding.operator, preceding.launch) for preceding in before] + [(operator, launch)]
    placement = place_arrays(chain, timing.launches.perturbation)
    memory = placement.allocate(gpu.architecture, sum(_code_and_private_bytes(each, gpu) for _, each in chain))
    processor = new_processor(gpu, timing)
    for preceding in before:
        _make_values(preceding.operator, preceding.number, gpu, sparsity)
        fill_arrays(preceding.operator, preceding.launch, placement, memory)
        plain = replace(timing, launches=RunOptions(), l1_bypass=preceding.one.l1_bypass)
        discarding = _discarding(preceding.operator, preceding.launch, placement, memory, observer)
        simulate_launch(placement.move(preceding.launch, memory), discarding, processor, plain, sampling)
    if before:  # they may have had the operator's memory
        _make_values(operator, number, gpu, sparsity)
    fill_arrays(operator, launch, placement, memory)
    moved = placement.move(launch, memory)
    discarding = _discarding(operator, launch, placement, memory, observer)
    facts = simulate_launch(moved, discarding, processor, timing, sampling)
    _note_locality(facts, operator, moved)
    return facts


def _code_and_private_bytes(launch: Launch, gpu: GpuSpec) -> int:
    """Return the device memory that a launch takes beside its arrays, each part with what guards it."""
    kernel = launch.kernel
    private = residency(launch, gpu).wavefront_slots * LANES * round_up(kernel.private_segment_bytes, 4)
    return len(kernel.image) + private + 8 * PAGE_BYTES


def _make_values(operator: TensorOperator, number: int, gpu: GpuSpec, sparsity: float) -> None:
    """Make the values that decide the time of a launch of an operator over made-up operands."""
    make_up_values(operator, sparsity)
    _execute_decisive(operator, range(number), gpu)


def _note_locality(facts: RunFacts, operator: TensorOperator, launch: Launch) -> None:
    """Add how a workgroup's values lie to one another, where the operator's value is told by that."""
    if value_bytes := operator.primitive.value_bytes(launch.kernel.name):
        facts.add("layer", locality(launch, value_bytes))


def _zeros(operator: TensorOperator) -> ZeroFractions | None:
    """Count the zeros of the operands whose zeros are skipped; None where none are."""
    skipped = [operator.inputs[name] for name in operator.primitive.skips_zeros_of]
    if not skipped:
        return None
    work = operator.work
    set_, size = (sum(count) for count in zip(*((np.count_nonzero(x), x.size) for x in skipped), strict=True))
    return ZeroFractions(float(1.0 - set_ / size), float(1.0 - work.needed_macs / work.macs))


def _discarding(
    operator: TensorOperator, launch: Launch, placement: LaunchPlacement, memory: DeviceMemory, observer: Observer
) -> Observer:
    """Return an observer that gives the memory of results back to the host once the process exceeds
    MOST_RESIDENT_BYTES.

    Tables are read, and so are the zeros to skip: an operator that skips zeros keeps the given observer.
    """
    if operator.primitive.skips_zeros_of:
        return observer
    results = list_discardable(operator, launch, placement)

    def observe(progress: Progress) -> bool:
        if results and (resident_bytes() or 0) > MOST_RESIDENT_BYTES:
            for address, size_bytes in results:
                memory.discard(address, size_bytes)
        return observer(progress)

    return observe


def new_processor(gpu: GpuSpec, timing: LaunchTimingOptions) -> CommandProcessor:
    """Return a command processor with empty caches that simulates launches; without sparse regions a launch has all of
    L2.
    """
    return CommandProcessor(gpu, Reporter(quiet=True), engine_spec=timing.engine_spec)


def simulate_launch(
    launch: Launch,
    observer: Observer,
    processor: CommandProcessor,
    timing: LaunchTimingOptions = LaunchTimingOptions(),
    sampling: SamplingSpec | None = None,
) -> RunFacts:
    """Simulate one launch, in whole or sampled; it finds in L2 what `gpu.caches` says."""
    record = RunRecord(bool(launch.regions), launch.kernel.name, [])
    # values that decide its time are the operator's: a launch that makes them is executed in whole before
    command = operator_command(launch, decisive=False, l1_bypass=timing.l1_bypass)
    processor.run([command], record, replace(timing.launches, sampling=sampling), observer)
    if record.partial and timing.launches.max_cycles and record.launches[0].cycles >= timing.launches.max_cycles:
        raise CycleLimitError(f"'{launch.kernel.short_name}' reached {COUNT(timing.launches.max_cycles)} cycles")
    if record.partial:
        raise LaunchStoppedError
    return record.launches[0]


def _worst(verifications: Sequence[Verification]) -> tuple[VerificationFacts, tuple[str, ...]]:
    """Return the facts of the step's worst comparison: the one closest to its bound, or farthest above it; and all
    mismatches.
    """
    worst = max(
        verifications, key=lambda one: (not one.passed, one.max_error / one.bound if one.bound else one.max_error)
    )
    passed = all(one.passed for one in verifications)
    mismatches = tuple(str(mismatch) for one in verifications for mismatch in one.mismatches)
    return VerificationFacts(passed, worst.max_error, worst.bound), mismatches
