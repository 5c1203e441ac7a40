"""Running a step's operators: executed for their results, or simulated launch by launch, and compared with NumPy."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.base.progress import Progress, Reporter
from gpusim.core.facts import RunFacts
from gpusim.core.gpu_spec import GpuSpec
from gpusim.host.command_processor import CommandProcessor, LaunchCommand, RunOptions
from gpusim.networks.launches import deciding, has_tables
from gpusim.results.record import RunRecord, VerificationFacts
from isa.execution.emulator import run_functional
from isa.launch import Launch
from workloads.operators.operator import before
from workloads.operators.primitive import TensorOperator
from workloads.operators.verify import Verification, verify

Observer = Callable[[Progress], bool]
SEED = 1  # of made-up values
BLOCK = 1 << 20  # elements of them that differ
MOST_FILLED_BYTES = 3 << 29  # with made-up values
ROOM_BYTES = 13 << 28  # for them and for what launches store: a process stays below 4 GiB


class Stopped(Exception):
    """The observer ended a launch: nothing is known of the step."""


@dataclass(frozen=True)
class Outcome:
    """What running a step left behind.

    facts: of the launches that were simulated, by their number in the step; verification: None where nothing was
    compared; mismatches: for people.
    """

    facts: Mapping[int, RunFacts] = field(default_factory=dict)
    verification: VerificationFacts | None = None
    mismatches: Sequence[str] = ()


def run_step(
    operators: Sequence[TensorOperator],
    gpu: GpuSpec,
    simulated: Collection[int],
    compared: bool,
    observer: Observer,
    options: RunOptions = RunOptions(),
) -> Outcome:
    """Run all launches over the values in device memory, those of `simulated` numbers with timing.

    compared: with the reference; options: of the launches with timing. Raises Stopped, and what a launch raises.
    """
    facts: dict[int, RunFacts] = {}
    found: list[Verification] = []
    number = 0
    for operator in operators:
        inputs = before(operator) if compared else {}
        for launch in operator.launches:
            if number in simulated:
                facts[number] = simulate_launch(launch, gpu, observer, options)
            elif not run_functional(launch, observer=observer).finished:
                raise Stopped
            number += 1
        if compared:
            found.append(verify(operator, inputs))
    return Outcome(facts, *_worst(found)) if found else Outcome(facts)


def run_synthetic(
    operators: Sequence[TensorOperator],
    gpu: GpuSpec,
    simulated: Collection[int],
    observer: Observer,
    options: RunOptions = RunOptions(),
) -> Outcome:
    """Simulate launches alone, over made-up operands; of the others, those run that make tables for them."""
    facts: dict[int, RunFacts] = {}
    number = 0
    for operator in operators:
        _make_up(operator)
        last = max(simulated)
        for launch in operator.launches:
            if number in simulated:
                facts[number] = simulate_launch(launch, gpu, observer, options)
            elif number < last and has_tables(operator.primitive):
                run_functional(launch)
            number += 1
    return Outcome(facts)


def _make_up(operator: TensorOperator) -> None:
    """Random operands: a block of numbers again and again, whole where values decide the time.

    Elsewhere only so far as the host's memory allows: what follows is zero, and costs none. A kernel takes a branch
    where all lanes agree, as over zeros, which is some cycles in a launch.
    """
    decide = deciding(operator.primitive)
    left = filled_bytes(operator)
    for seed, (name, operand) in enumerate(operator.primitive.takes.items()):
        flat = operator.tensors[name].array.reshape(-1)
        if name not in decide:
            flat = flat[: left // operand.dtype.itemsize]
            left -= flat.nbytes
        block = operand.data(np.random.default_rng([SEED, seed]), (min(BLOCK, operand.size),)).astype(operand.dtype)
        for start in range(0, len(flat), len(block)):
            flat[start : start + len(block)] = block[: len(flat) - start]


def filled_bytes(operator: TensorOperator) -> int:
    """How much of the operands whose values do not decide the time is filled; what launches store takes memory too."""
    taken = operator.work.stored_bytes + sum(operand.size_bytes for operand in deciding(operator.primitive).values())
    return max(0, min(MOST_FILLED_BYTES, ROOM_BYTES - taken))


def simulate_launch(launch: Launch, gpu: GpuSpec, observer: Observer, options: RunOptions) -> RunFacts:
    """One launch from empty caches."""
    record = RunRecord(False, launch.kernel.name, [])
    CommandProcessor(gpu, Reporter(quiet=True)).run([LaunchCommand(launch)], record, options, observer)
    if record.partial:
        raise Stopped
    return record.launches[0]


def _worst(found: Sequence[Verification]) -> tuple[VerificationFacts, tuple[str, ...]]:
    """Of the step's operators, the one that comes closest to its bound, or exceeds it most."""
    worst = max(found, key=lambda one: (not one.passed, one.max_error / one.bound if one.bound else one.max_error))
    passed = all(one.passed for one in found)
    mismatches = tuple(str(mismatch) for one in found for mismatch in one.mismatches)
    return VerificationFacts(passed, worst.max_error, worst.bound), mismatches
