"""Marks that known faults of compilers leave in machine code, which runs as it stands and computes something else.

lost-clamp: clang 17 turns `x < 128u ? 0u : x - 128u` into a subtraction that saturates and, where the constant is a
literal, into the short encoding, which has no clamp: `v_subrev_u32_e32 v1, vcc, 0x80, v0`. LLVM writes every other
subtraction of a constant as an addition, so that this instruction alone tells.

early-reload: without optimisation (-O0) clang reloads spilled registers where control flow joins, before EXEC is
restored there: `buffer_load_dword v1, off, s[0:3], 0 offset:8` in front of `s_or_b64 exec, exec, s[4:5]`. Lanes that
come from elsewhere keep what the register held.

Hand-written assembly may have either on purpose.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isa.architecture import EXEC
from isa.encoding import registers
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.opcodes.formats import LITERAL

FAULTS = {
    "lost-clamp": "a literal is subtracted without the clamp that clang 17 means (`x < 128u ? 0u : x - 128u`)",
    "early-reload": "a spilled register is reloaded before EXEC is restored (clang at -O0)",
}


class MiscompiledInstruction(NamedTuple):
    """An instruction that shows a known compiler fault."""

    fault: str
    """Fault: one of FAULTS."""
    instruction: Instruction
    """Instruction."""

    @property
    def text(self) -> str:
        """The mark in one line."""
        return f"0x{self.instruction.address:x}: {disassemble(self.instruction)}: {FAULTS[self.fault]}"


def find_marks(instructions: Sequence[Instruction]) -> list[MiscompiledInstruction]:
    """Find the marks of compilers' faults among a kernel's instructions, in address order."""
    found = [MiscompiledInstruction("lost-clamp", one) for one in instructions if _subtracts_literal(one)]
    found += [MiscompiledInstruction("early-reload", one) for one in _early_reloads(instructions)]
    return sorted(found, key=lambda mark: mark.instruction.address)


def _subtracts_literal(one: Instruction) -> bool:
    """Tell whether a literal is subtracted in the encoding that has no clamp."""
    return one.opcode.mnemonic == "v_subrev_u32" and one.opcode.encoding == "vop2" and one.fields.get("src0") == LITERAL


def _early_reloads(instructions: Sequence[Instruction]) -> Iterator[Instruction]:
    """Yield loads from private memory between a join of control flow and its s_or_b64 exec, exec."""
    joins = {each.branch_target for each in instructions if each.opcode.mnemonic == "s_cbranch_execz"}
    loads: list[Instruction] | None = None  # since a join; None: behind none, or EXEC was written
    for each in instructions:
        if each.address in joins:
            loads = []
        if loads is None:
            continue
        if each.opcode.mnemonic == "s_or_b64" and EXEC in (each.fields["sdst"], each.fields["ssrc0"]):
            yield from loads
            loads = None
        elif "ends_block" in each.opcode.flags or each.branch_target or registers.registers(each)[1] & registers.EXEC:
            loads = None
        elif each.opcode.mnemonic.startswith("buffer_load_dword") and not (
            each.fields["offen"] or each.fields["idxen"]
        ):
            loads.append(each)
