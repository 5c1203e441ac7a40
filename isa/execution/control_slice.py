"""The part of a kernel that decides what its wavefronts execute: its control flow, without what that leads to.

An instruction is needed if a branch may depend on what it writes: a backward slice (Weiser 1984) along the ways that
control flow can take. Loads are needed where they decide, stores to memory never are, so that executing the slice
leaves memory as it is. What is not needed is passed over, whole stretches of code at a time, and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isa.encoding.instruction import Instruction
from isa.encoding.register_index import successors
from isa.encoding.registers import EXEC, EXECZ, SCALARS, SCC, VCC, VCCZ, VGPRS, registers
from isa.execution.codes import Condition, Kind
from isa.execution.program import Program
from isa.object.code_object import Kernel
from isa.opcodes.opcode import LDS, VALU, VMEM

BLOCKS = 8  # columns of a prefix
_LEAST_PASSED = 3  # instructions that are passed over at once: fewer are as fast one by one
_ALWAYS = ("s_barrier", "s_endpgm", "s_setreg", "s_trap", "s_setkill")
_AT_RUN_TIME = "s_set_gpr_idx"
_CLOCKS = ("s_memtime", "s_memrealtime", "s_getreg")
_NARROWING = ("s_and_saveexec", "v_cmpx")


class NotSliced(Exception):
    """What a kernel executes depends on more than its slice can know; says why."""


@dataclass(frozen=True)
class ControlSlice:
    """A program that executes what decides a kernel's control flow.

    passed: int64 [instructions], how many of the kernel's instructions each one stands for, itself included: those that
    are passed over count where they are passed over. block: of each instruction the number of its basic block.
    """

    program: Program
    passed: np.ndarray
    block: np.ndarray

    def by_block(self) -> np.ndarray:
        """Return the prefix that counts instructions by basic block, these being dealt out to the columns in turn."""
        counted = np.zeros((len(self.passed), BLOCKS), np.int64)
        counted[np.arange(len(counted)), self.block % BLOCKS] = self.passed
        return prefix(counted)

    def by_kind(self, kinds: np.ndarray) -> np.ndarray:
        """Return the prefix that counts, of each of the kernel's instructions, what `kinds` says: int64 [instructions,
        BLOCKS].
        """
        before, at = prefix(kinds), np.arange(len(kinds))
        return prefix(before[at + self.passed] - before[at])


def prefix(counted: np.ndarray) -> np.ndarray:
    """Return the sums of the rows before each index: int64 [instructions + 1, BLOCKS]."""
    return np.concatenate([np.zeros((1, counted.shape[1]), np.int64), np.cumsum(counted, axis=0)])


def control_slice(program: Program) -> ControlSlice:
    """Return the slice of a kernel's program that decides its control flow; raises NotSliced."""
    instructions = program.instructions
    _refuse(program.kernel, instructions)
    after = successors(instructions)
    index = {instruction.address: k for k, instruction in enumerate(instructions)}
    entered = {index[t] for i in instructions for t in (i.branch_target, *i.jump_targets) if t in index}
    entered |= {k + 1 for k, i in enumerate(instructions) if "jump" in i.opcode.flags}
    needed = needed_instructions(instructions, after)
    table = program.table.copy()
    passed = np.ones(len(table), np.int64)
    k = 0
    while k < len(table):
        end = k
        while end < len(table) and not needed[end] and (end == k or end not in entered):
            end += 1
        table["kind"][k:end] = Kind.NO_OPERATION
        if end - k >= _LEAST_PASSED and end < len(table):
            table["kind"][k], table["condition"][k], table["target"][k] = Kind.BRANCH, Condition.ALWAYS, end
            passed[k] = end - k
        k = max(end, k + 1)
    begins = np.zeros(len(table), np.int64)
    begins[[k for k in entered if k < len(table)]] = 1
    begins[[k + 1 for k, ways in enumerate(after) if k + 1 < len(table) and ways != [k + 1]]] = 1
    return ControlSlice(replace(program, table=table), passed, np.cumsum(begins))


def _refuse(kernel: Kernel, instructions: Sequence[Instruction]) -> None:
    """Raise NotSliced for what a slice cannot follow."""
    if kernel.private_segment_bytes:
        raise NotSliced("it has private memory")
    for instruction in instructions:
        name = instruction.opcode.mnemonic
        if name.startswith(_AT_RUN_TIME):
            raise NotSliced(f"{name} at {instruction.address:#x} chooses registers while it runs")
        if "jump" in instruction.opcode.flags and not instruction.jump_targets:
            raise NotSliced(f"{name} at {instruction.address:#x} may go anywhere")


def needed_instructions(instructions: Sequence[Instruction], after: Sequence[Sequence[int]]) -> list[bool]:
    """Tell of each instruction whether control flow may depend on it; raises NotSliced.

    after: the instructions that may follow each.
    """
    effects = [_effects(one) for one in instructions]
    narrowing = all(_narrows(one) for one, (_, writes, _) in zip(instructions, effects, strict=True) if writes & EXEC)
    needed = [_is_control(one) for one in instructions]
    shared = False  # whether a needed instruction reads LDS: then whatever writes to it is needed
    while True:
        _mark(needed, effects, after, narrowing)
        reads_lds = any(n and _reads_lds(one) for n, one in zip(needed, instructions, strict=True))
        if shared or not reads_lds:
            break
        shared = True
        needed = [n or _writes_lds(one) for n, one in zip(needed, instructions, strict=True)]
    for need, instruction in zip(needed, instructions, strict=True):
        opcode = instruction.opcode
        if need and (opcode.mnemonic.startswith(_CLOCKS) or ("atomic" in opcode.flags and opcode.unit != LDS)):
            raise NotSliced(f"{opcode.mnemonic} at {instruction.address:#x} decides what is executed")
    return needed


def _mark(
    needed: list[bool], effects: Sequence[tuple[int, int, int]], after: Sequence[Sequence[int]], narrowing: bool
) -> None:
    """Mark, backwards along control flow, all instructions that write what a needed one reads.

    effects: registers read, written, and overwritten as a whole; narrowing: lanes are only ever switched off, so that
    a vector register is overwritten in all lanes that will be looked at.
    """
    before: list[list[int]] = [[] for _ in needed]
    for k, ways in enumerate(after):
        for way in ways:
            before[way].append(k)
    wanted = [0] * len(needed)  # registers, before each instruction
    pending = list(range(len(needed)))
    while pending:
        k = pending.pop()
        reads, writes, overwrites = effects[k]
        live = 0
        for way in after[k]:
            live |= wanted[way]
        needed[k] = needed[k] or bool(writes & live)
        if needed[k]:
            live &= ~(overwrites if narrowing else overwrites & (SCALARS | SCC))
            live |= reads
        if live != wanted[k]:
            wanted[k] = live
            pending += before[k]


def _effects(instruction: Instruction) -> tuple[int, int, int]:
    """Return the registers that an instruction reads, writes, and overwrites as a whole (where lanes are active)."""
    opcode = instruction.opcode
    reads, writes = registers(instruction)
    reads |= (VCC if reads & VCCZ else 0) | (EXEC if reads & EXECZ else 0)
    if opcode.unit in (VALU, VMEM, LDS):
        reads |= EXEC
    if "movrel" in opcode.mnemonic:  # M0 says which registers
        every = VGPRS if opcode.unit == VALU else SCALARS
        reads, writes = (reads | every, writes | every) if "movrels" in opcode.mnemonic else (reads, writes | every)
        return reads & ~(VCCZ | EXECZ), writes & ~(VCCZ | EXECZ), 0
    writes &= ~(VCCZ | EXECZ)
    partly = opcode.mnemonic.startswith("v_writelane") or any(
        word in instruction.fields for word in ("dst_sel", "dpp_ctrl")
    )
    return reads & ~(VCCZ | EXECZ), writes, 0 if partly else writes


def _is_control(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return bool(
        instruction.branch_target is not None
        or opcode.flags & {"jump", "ends_block"}
        or opcode.mnemonic.startswith(_ALWAYS)
    )


def _narrows(instruction: Instruction) -> bool:
    """Tell whether an instruction that writes EXEC switches lanes off alone."""
    return instruction.opcode.mnemonic.startswith(_NARROWING)


def _reads_lds(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return opcode.unit == LDS and bool(opcode.flags & {"load", "atomic"})


def _writes_lds(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    return (opcode.unit == LDS and bool(opcode.flags & {"store", "atomic"})) or bool(instruction.fields.get("lds"))
