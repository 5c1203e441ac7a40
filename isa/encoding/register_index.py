"""Vector registers indexed by M0: to which operands of each instruction s_set_gpr_idx_on has M0 added.

The mode is switched on and off by instructions of its own (GCN3 ISA manual, chapter 6: VGPR indexing), so that what it
is at an instruction follows from the ways that lead there. Code in which it depends on the way taken is refused.
"""

from collections.abc import Sequence
from itertools import pairwise

from isa.architecture import HW_MODE
from isa.encoding.instruction import Instruction
from isa.encoding.operands import UnsupportedInstructionError
from isa.encoding.registers import M0, registers

OFF = -1  # an instruction's vector registers are those that it names
SRC0, SRC1, SRC2, DST = 1, 2, 4, 8
SOURCES = (SRC0, SRC1, SRC2)
_ALL = SRC0 | SRC1 | SRC2 | DST
_ON, _INDEX, _MODE, _SWITCH_OFF = (f"s_set_gpr_idx_{name}" for name in ("on", "idx", "mode", "off"))


def indexed_operands(instructions: Sequence[Instruction], entry: int) -> list[int]:
    """Find the vector operands that M0 is added to.

    Args:
        instructions: in address order, as decode_kernel gives them.
        entry: address of the first one executed.

    Returns:
        For each instruction, OFF or the operands (SRC0, ... DST).

    Raises:
        UnsupportedInstructionError: the mode depends on the path taken, lasts across a jump through a register, or
            another instruction writes M0 while it is on.
    """
    modes: list[int | None] = [None] * len(instructions)
    if not any(i.opcode.mnemonic == _ON for i in instructions):
        return [OFF] * len(instructions)
    after = successors(instructions)
    reached = {k for ways in after for k in ways}
    pending = [
        (k, OFF) for k, instruction in enumerate(instructions) if k not in reached or instruction.address == entry
    ]
    while pending:
        k, mode = pending.pop()
        if modes[k] is not None:
            if modes[k] != mode:
                raise UnsupportedInstructionError(f"at {instructions[k].address:#x} it depends on the way taken")
            continue
        modes[k] = mode
        following = _mode_after(instructions[k], mode)
        pending += [(way, following) for way in after[k]]
    return [OFF if mode is None else mode for mode in modes]


def _mode_after(instruction: Instruction, mode: int) -> int:
    """Return the mode after an instruction that is executed in `mode`; raises UnsupportedInstructionError."""
    name, fields = instruction.opcode.mnemonic, instruction.fields
    if name == _ON:
        return fields["ssrc1"] & _ALL
    if mode == OFF or name == _SWITCH_OFF:
        return OFF
    if name == _MODE:
        return fields["simm16"] & _ALL
    where = f"at {instruction.address:#x}, while vector registers are indexed,"
    if name != _INDEX and registers(instruction)[1] & M0:
        raise UnsupportedInstructionError(f"{where} {name} writes M0")
    if "jump" in instruction.opcode.flags:
        raise UnsupportedInstructionError(f"{where} {name} jumps through a register")
    if name == "s_getreg_b32" and fields["simm16"] & 63 == HW_MODE:
        raise UnsupportedInstructionError(f"{where} {name} reads MODE")
    return mode


def successors(instructions: Sequence[Instruction]) -> list[list[int]]:
    """Return, for each of a kernel's instructions in address order, the numbers of those that may follow it."""
    index = {instruction.address: k for k, instruction in enumerate(instructions)}
    after: list[list[int]] = [[] for _ in instructions]
    for k, (one, other) in enumerate(pairwise(instructions)):
        if "ends_block" not in one.opcode.flags and one.address + one.size == other.address:
            after[k].append(k + 1)
    for k, instruction in enumerate(instructions):
        targets = (instruction.branch_target, *instruction.jump_targets)
        after[k] += [index[target] for target in targets if target in index]
    return after
