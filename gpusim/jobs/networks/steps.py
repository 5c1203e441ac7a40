"""Running a step's operators: executed for their results, or simulated launch by launch, and compared with NumPy."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpusim.base.errors import SimulationError
from gpusim.base.host_memory import repeat, resident_bytes
from gpusim.base.progress import Progress, Reporter
from gpusim.jobs.host.command_processor import CommandProcessor, LaunchCommand, RunOptions, execute
from gpusim.jobs.networks.launches import PrecedingLaunch, deciding
from gpusim.jobs.networks.locality import locality
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.record import RunRecord, VerificationFacts
from isa.launch import Launch
from spartan.engine_spec import EngineSpec
from workloads.operators.operator import before
from workloads.operators.primitive import TensorOperator
from workloads.operators.tensor import FLOAT
from workloads.operators.verify import Verification, verify

Observer = Callable[[Progress], bool]
SEED = 1  # of the random generator for made-up values
BLOCK = 1 << 20  # elements, after which made-up values repeat
MOST_FILLED_BYTES = 1 << 29  # of memory with made-up values
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

    compared: with the reference; processor: its caches hold what earlier launches left there; None: they are empty.
    Raises LaunchStoppedError, and what a launch raises.
    """
    processor = processor or new_processor(gpu, timing)
    facts: dict[int, RunFacts] = {}
    found: list[Verification] = []
    number, zeros = 0, None
    for operator in operators:
        inputs = before(operator) if compared else {}
        if compared or simulated:
            zeros = zeros or _zeros(operator)
        for launch in operator.launches:
            if number in simulated:
                facts[number] = simulate_launch(launch, observer, processor, timing, timing.sampling.get(number))
                _note_locality(facts[number], operator, launch)
            elif not execute(launch, observer=observer, residency=residency(launch, gpu)).finished:
                raise LaunchStoppedError
            number += 1
        if compared:
            found.append(verify(operator, inputs))
    verified, mismatches = _worst(found) if found else (None, ())
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
    """Simulate launches of an operator alone, over made-up operands; launches that make tables for them are also run.

    simulated, timing.sampling: by number in the operator; sparsity: zeros, uniformly random, among the values of
    operands whose zeros are skipped; before: launches that run first, for what they leave in L2.
    """
    needed = {n for n in operator.decisive if n < max(simulated)} | set(simulated)
    _make_up(operator, [operator.launches[n] for n in needed], sparsity)
    zeros = _zeros(operator)
    facts: dict[int, RunFacts] = {}
    seen_by = _discarding(operator, observer)
    processor = new_processor(gpu, timing)
    for number in sorted(needed):
        launch = operator.launches[number]
        if number in simulated:
            sampling = timing.sampling.get(number)
            for one in before:
                _make_up(one.operator, [one.launch], sparsity)
                plain = replace(timing, launches=RunOptions(), l1_bypass=one.one.l1_bypass)
                simulate_launch(one.launch, seen_by, processor, plain, sampling)
            facts[number] = simulate_launch(launch, seen_by, processor, timing, sampling)
            _note_locality(facts[number], operator, launch)
        else:
            execute(launch, residency=residency(launch, gpu))
    return StepOutcome(facts, zeros=zeros)


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


def _make_up(operator: TensorOperator, launches: Sequence[Launch], sparsity: float) -> None:
    """Fill the operands of these launches with random numbers: the same block repeated, in whole where values decide
    the time.

    Elsewhere only as far as the host's memory allows: the rest is zero and takes no memory. A kernel takes a branch
    where all lanes agree, as over zeros, which is some cycles in a launch.
    """
    decide, left = deciding(operator.primitive), MOST_FILLED_BYTES
    addresses = [address for launch in launches for address in launch.pointers]
    for seed, (name, operand) in enumerate(operator.primitive.takes.items()):
        tensor = operator.tensors[name]
        flat = tensor.array.reshape(-1)
        if name not in decide:
            if not any(tensor.address <= address < tensor.address + tensor.size_bytes for address in addresses):
                continue
            flat = flat[: left // operand.dtype.itemsize]
            left -= flat.nbytes
        random = np.random.default_rng([SEED, seed])
        block = operand.data(random, (min(BLOCK, operand.size),)).astype(operand.dtype)
        if name in operator.primitive.skips_zeros_of:
            block[random.random(len(block)) < sparsity] = 0
        repeat(flat, block)


def _discarding(operator: TensorOperator, observer: Observer) -> Observer:
    """Return an observer that gives the memory of results back to the host once the process exceeds
    MOST_RESIDENT_BYTES.

    Results of made-up values are read by nobody. Tables are read, and so are the zeros to skip: an operator that skips
    zeros keeps the given observer.
    """
    primitive = operator.primitive
    if primitive.skips_zeros_of:
        return observer
    kept = deciding(primitive)
    stored = [operator.tensors[name] for name in primitive.gives if name not in kept]
    stored += [operator.tensors[name] for name, held in primitive.workspace.items() if held.dtype == FLOAT]

    def observe(progress: Progress) -> bool:
        if (resident_bytes() or 0) > MOST_RESIDENT_BYTES:
            for tensor in stored:
                tensor.memory.discard(tensor.address, tensor.size_bytes)
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
    command = LaunchCommand(launch, l1_bypass=timing.l1_bypass)
    processor.run([command], record, replace(timing.launches, sampling=sampling), observer)
    if record.partial and timing.launches.max_cycles and record.launches[0].cycles >= timing.launches.max_cycles:
        raise CycleLimitError(f"'{launch.kernel.short_name}' reached {timing.launches.max_cycles:,} cycles")
    if record.partial:
        raise LaunchStoppedError
    return record.launches[0]


def _worst(found: Sequence[Verification]) -> tuple[VerificationFacts, tuple[str, ...]]:
    """Return the facts of the step's worst comparison: the one closest to its bound, or farthest above it; and all
    mismatches.
    """
    worst = max(found, key=lambda one: (not one.passed, one.max_error / one.bound if one.bound else one.max_error))
    passed = all(one.passed for one in found)
    mismatches = tuple(str(mismatch) for one in found for mismatch in one.mismatches)
    return VerificationFacts(passed, worst.max_error, worst.bound), mismatches
