"""Loops whose iterations need not all be simulated: what is known of one, and how a launch's wavefronts pass over some.

A loop serves if every iteration executes the same instructions, and if what it accesses follows from registers alone.
Then a wavefront is taken on by any number of iterations by executing what addresses and control flow need: a backward
slice (`isa.execution.control_slice`) of which registers hold what they would hold. What else registers and LDS hold is
of an earlier iteration, which nothing that takes time depends on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from gpusim.base.jit import address_of, records, views
from isa.encoding.instruction import Instruction
from isa.encoding.register_index import successors
from isa.encoding.registers import address_registers
from isa.execution.codes import InstructionKind
from isa.execution.control_slice import (
    ControlSliceError,
    entered_instructions,
    needed_instructions,
    pass_needless,
    refuse,
)
from isa.execution.executor import FunctionalContext, program_of
from isa.execution.producer import produce
from isa.execution.state import PASSAGE
from isa.execution.wave_state import start
from isa.launch import Launch
from isa.object.code_object import Kernel
from isa.opcodes.opcode import LDS, VMEM
from isa.trace import BARRIER, END, TRACE_WORDS

_LEAST_ITERATIONS = 4  # of which the first are looked at row for row
_MOST_ITERATIONS = 1 << 20


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel, as the first wavefront of a launch executes it."""

    stop: int
    """Number of an instruction that runs once in each iteration and that neither addresses nor control flow need."""
    needed: tuple[bool, ...]
    """bool [instructions]: instructions that addresses or control flow need."""
    first: int
    """Number of instructions up to and including the first `stop`."""
    length: int
    """Instructions of an iteration."""
    steps: int
    """Instructions of an iteration in the slice, with only the needed ones."""
    iterations: int
    """Number of times that `stop` is executed."""


class LoopFastForward:
    """What wavefronts of a running context pass over of a loop.

    wanted: int64 by wavefront slot, iterations to pass over before its next slice. Where a wavefront's loop ends
    before, or is not as the first one's, the launch ends with an ExecutionFault.
    """

    def __init__(self, context: FunctionalContext, loop: Loop) -> None:
        programs = _Programs(context, loop.stop, loop.needed)
        buffer = records(PASSAGE)
        state = views(buffer)[0]
        self.wanted, trace = np.zeros(context.slots, np.int64), np.zeros(TRACE_WORDS, np.int64)
        state.wanted, state.trace, state.length, state.steps = (
            address_of(self.wanted), address_of(trace), loop.length, loop.steps,
        )  # fmt: skip
        state.exact, state.fast, state.plain = map(address_of, (programs.exact, programs.fast, programs.plain))
        context.attach_passage(buffer, (programs.exact, programs.fast, programs.plain, self.wanted, trace))


class _Programs:
    """The programs of PASSAGE, for one context.

    Attributes:
        exact: Table of the exact program.
        fast: Table of the fast program.
        plain: Table of the plain program.
    """

    def __init__(self, context: FunctionalContext, stop: int, needed: Sequence[bool]) -> None:
        instructions, table = context.instructions, context.table
        self.plain, self.fast = table.copy(), table.copy()
        self.plain["kind"][~np.array(needed)] = InstructionKind.NO_OPERATION
        pass_needless(self.fast, needed, entered_instructions(instructions) | {stop, stop + 1})
        self.exact = self.plain.copy()
        for stopping in (self.exact, self.fast):
            stopping["kind"][stop] = InstructionKind.BARRIER


def find_loop(launch: Launch) -> Loop:
    """Find the loop that a launch's first wavefront spends most instructions in; raises ControlSliceError."""
    kernel = launch.kernel
    instructions = program_of(kernel).instructions
    needed = needed_of(kernel)
    stops = _stops(instructions, needed)
    if not stops:
        raise ControlSliceError("it has no loop whose accesses follow from registers alone")
    context = FunctionalContext(launch, launch.wavefronts_per_workgroup, 1, shared_trace=True)
    loops, why = [], "no loop of it has an instruction that neither addresses nor control flow need"
    with context:
        for stop in stops:
            try:
                loops.append(_measured(context, stop, needed))
            except ControlSliceError as refused:
                why = str(refused)
    if not loops:
        raise ControlSliceError(why)
    return max(loops, key=lambda measured: measured.length * measured.iterations)


@cache
def needed_of(kernel: Kernel) -> tuple[bool, ...]:
    """Tell of each instruction whether an address or control flow depends on it, found out once; raises
    ControlSliceError."""
    instructions = program_of(kernel).instructions
    refuse(kernel, instructions)
    after = successors(instructions)
    needed = needed_instructions(instructions, after, [address_registers(one) for one in instructions])
    for need, one in zip(needed, instructions, strict=True):
        opcode = one.opcode
        if need and opcode.unit == LDS and opcode.flags & {"load", "atomic"}:
            raise ControlSliceError(f"{opcode.mnemonic} at {one.address:#x} decides what is accessed")
    barrier = [one.opcode.mnemonic == "s_barrier" for one in instructions]
    return tuple(need and not waits for need, waits in zip(needed, barrier, strict=True))


def _stops(instructions: Sequence[Instruction], needed: Sequence[bool]) -> list[int]:
    """Return a place to stop at of each loop: in the block that ends with the jump back, or else in its first one, or
    elsewhere where no jump passes.
    """
    index = {one.address: k for k, one in enumerate(instructions)}
    entered = entered_instructions(instructions)
    ends = {k for k, one in enumerate(instructions) if one.branch_target is not None}
    stops = []
    for end, one in enumerate(instructions):
        begin = index.get(one.branch_target or -1, end + 1)
        if begin > end:
            continue
        if any(needed[k] and instructions[k].opcode.unit == VMEM for k in range(begin, end + 1)):
            continue  # what it loads decides
        latch = end
        while latch > begin and latch not in entered and latch - 1 not in ends:
            latch -= 1
        head = next((k for k in range(begin, end) if k in ends), end)
        places = (*range(latch, end), *range(begin, head), *_met_once(instructions, index, begin, end))
        stops += [k for k in places if not needed[k]][:1]
    return stops


def _met_once(instructions: Sequence[Instruction], index: Mapping[int, int], begin: int, end: int) -> list[int]:
    """Return the instructions of a loop that each iteration executes once: no jump in it leads past or around them."""
    around = [False] * (end + 1)
    for k in range(begin, end):
        instruction = instructions[k]
        for address in (instruction.branch_target, *instruction.jump_targets):
            target = index.get(address, -1) if address is not None else -1
            if begin <= target <= end:
                first, last = (target, k) if target <= k else (k + 1, target - 1)
                around[first : last + 1] = [True] * (last + 1 - first)
    return [k for k in range(begin, end) if not around[k]]


def _measured(context: FunctionalContext, stop: int, needed: tuple[bool, ...]) -> Loop:
    """Go through a loop with a launch's first wavefront; raises ControlSliceError if iterations differ, or are few."""
    programs = _Programs(context, stop, needed)
    start(context.address, 0, 0, 0)
    first, *lengths = (_to_the_stop(context, programs.exact) for _ in range(_LEAST_ITERATIONS))
    steps, iterations, length = 0, _LEAST_ITERATIONS, lengths[0]
    if set(lengths) != {length}:
        raise ControlSliceError(f"iterations of its loop differ: {lengths[0]} and {lengths[-1]} instructions")
    if not length:
        raise ControlSliceError("its loop has few iterations")
    while taken := _to_the_stop(context, programs.fast):
        steps = steps or taken
        iterations += 1
        if taken != steps:
            raise ControlSliceError("iterations of its loop differ")
        if iterations > _MOST_ITERATIONS:
            raise ControlSliceError("its loop does not end")
    context.state.program = address_of(context.table)
    return Loop(stop, needed, first, length, steps, iterations)


def _to_the_stop(context: FunctionalContext, program: np.ndarray) -> int:
    """Run the first wavefront to a program's stop; return how many rows it took, 0 if it has ended."""
    wave = context.wavefronts[0]
    context.state.program = address_of(program)
    if not wave.register_file:
        return 0
    before = wave.executed
    while (status := int(produce(context.address, 0, 0, 0))) not in (BARRIER, END):
        if status < 0:
            raise context.fault()
    return int(wave.executed - before) if status == BARRIER else 0
