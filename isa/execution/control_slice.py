"""The part of a kernel that decides what its wavefronts execute: its control flow, without what that leads to.

An instruction is needed if a branch may depend on what it writes: a backward slice (Weiser 1984) along the ways that
control flow can take. Loads are needed where they decide, stores to memory never are, so that executing the slice
leaves memory as it is. What is not needed is passed over, whole stretches of code at a time, and counted.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from isa.encoding.instruction import Instruction
from isa.encoding.operands import loads_into_lds
from isa.encoding.register_index import successors
from isa.execution.codes import Condition, InstructionKind
from isa.execution.program import Program
from isa.execution.wanted import mark
from isa.object.code_object import Kernel
from isa.opcodes.opcode import LDS

BLOCKS = 9  # columns of a prefix
_LEAST_PASSED = 3  # instructions that are passed over at once: fewer are as fast one by one
_ALWAYS = ("s_barrier", "s_endpgm", "s_setreg", "s_trap", "s_setkill")
_AT_RUN_TIME = "s_set_gpr_idx"
_CLOCKS = ("s_memtime", "s_memrealtime", "s_getreg")


class ControlSliceError(Exception):
    """What a kernel executes depends on more than its slice can know; says why."""


@dataclass(frozen=True)
class ControlSlice:
    """The slice of a program that decides a kernel's control flow."""

    program: Program
    """Sliced program."""
    passed: np.ndarray
    """int64 [instructions]: kernel instructions that each one represents, including itself and skipped ones."""
    block: np.ndarray
    """int64 [instructions]: number of the instruction's basic block."""
    read: int
    """Bit mask of the scalar registers whose initial values decide control flow."""

    def count_by_block(self) -> np.ndarray:
        """Return the prefix that counts instructions by basic block, these being dealt out to the columns in turn."""
        counted = np.zeros((len(self.passed), BLOCKS), np.int64)
        counted[np.arange(len(counted)), self.block % BLOCKS] = self.passed
        return prefix(counted)

    def count_by_kind(self, kinds: np.ndarray) -> np.ndarray:
        """Return the prefix that counts, of each of the kernel's instructions, what `kinds` says: int64 [instructions,
        BLOCKS].
        """
        before, at = prefix(kinds), np.arange(len(kinds))
        return prefix(before[at + self.passed] - before[at])


def prefix(counted: np.ndarray) -> np.ndarray:
    """Return the sums of the rows before each index: int64 [instructions + 1, BLOCKS]."""
    return np.concatenate([np.zeros((1, counted.shape[1]), np.int64), np.cumsum(counted, axis=0)])


def control_slice(program: Program) -> ControlSlice:
    """Return the slice of a kernel's program that decides its control flow; raises ControlSliceError."""
    instructions = program.instructions
    refuse(program.kernel, instructions)
    after = successors(instructions)
    entered = entered_instructions(instructions)
    table = program.table.copy()
    needed, wanted = _needed(instructions, after, [0] * len(instructions))
    passed = pass_needless(table, needed, entered)
    begins = np.zeros(len(table), np.int64)
    begins[[k for k in entered if k < len(table)]] = 1
    begins[[k + 1 for k, ways in enumerate(after) if k + 1 < len(table) and ways != [k + 1]]] = 1
    return ControlSlice(replace(program, table=table), passed, np.cumsum(begins), wanted[program.start_index])


def entered_instructions(instructions: Sequence[Instruction]) -> set[int]:
    """Return the numbers of the instructions that others jump to, or that follow a jump."""
    index = {instruction.address: k for k, instruction in enumerate(instructions)}
    entered = {index[t] for i in instructions for t in (i.branch_target, *i.jump_targets) if t in index}
    return entered | {k + 1 for k, i in enumerate(instructions) if "jump" in i.opcode.flags}


def pass_needless(table: np.ndarray, needed: Sequence[bool], entered: Set[int]) -> np.ndarray:
    """Have a program's table pass over what is not needed; return the instructions that each row stands for."""
    passed = np.ones(len(table), np.int64)
    k = 0
    while k < len(table):
        end = k
        while end < len(table) and not needed[end] and (end == k or end not in entered):
            end += 1
        table["kind"][k:end] = InstructionKind.NO_OPERATION
        if end - k >= _LEAST_PASSED and end < len(table):
            table["kind"][k], table["condition"][k], table["target"][k] = InstructionKind.BRANCH, Condition.ALWAYS, end
            passed[k] = end - k
        k = max(end, k + 1)
    return passed


def refuse(kernel: Kernel, instructions: Sequence[Instruction]) -> None:
    """Raise ControlSliceError for what a slice cannot follow."""
    if kernel.private_segment_bytes:
        raise ControlSliceError("it has private memory")
    for instruction in instructions:
        name = instruction.opcode.mnemonic
        if name.startswith(_AT_RUN_TIME):
            raise ControlSliceError(f"{name} at {instruction.address:#x} chooses registers while it runs")
        if "jump" in instruction.opcode.flags and not instruction.jump_targets:
            raise ControlSliceError(f"{name} at {instruction.address:#x} may go anywhere")


def needed_instructions(
    instructions: Sequence[Instruction], after: Sequence[Sequence[int]], asked: Sequence[int] = ()
) -> list[bool]:
    """Tell of each instruction whether control flow may depend on it; raises ControlSliceError.

    Args:
        after: The instructions that may follow each.
        asked: For each instruction, the registers that are to be known where it stands, though it need not be
            executed; none: those that control flow depends on are.
    """
    return _needed(instructions, after, asked or [0] * len(instructions))[0]


def _needed(
    instructions: Sequence[Instruction], after: Sequence[Sequence[int]], asked: Sequence[int]
) -> tuple[list[bool], list[int]]:
    """Return of each instruction whether it is needed, and the scalar registers that are wanted before it."""
    needed = [_is_control(each) for each in instructions]
    shared = False  # whether a needed instruction reads LDS: then whatever writes to it is needed
    while True:
        wanted = mark(needed, instructions, after, asked)
        reads_lds = any(n and _reads_lds(each) for n, each in zip(needed, instructions, strict=True))
        if shared or not reads_lds:
            break
        shared = True
        needed = [n or _writes_lds(each) for n, each in zip(needed, instructions, strict=True)]
    for need, instruction in zip(needed, instructions, strict=True):
        opcode = instruction.opcode
        if need and (opcode.mnemonic.startswith(_CLOCKS) or ("atomic" in opcode.flags and opcode.unit != LDS)):
            raise ControlSliceError(f"{opcode.mnemonic} at {instruction.address:#x} decides what is executed")
    return needed, wanted


def _is_control(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return bool(
        instruction.branch_target is not None
        or opcode.flags & {"jump", "ends_block"}
        or opcode.mnemonic.startswith(_ALWAYS)
    )


def _reads_lds(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return opcode.unit == LDS and bool(opcode.flags & {"load", "atomic"})


def _writes_lds(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return (opcode.unit == LDS and bool(opcode.flags & {"store", "atomic"})) or loads_into_lds(instruction)
