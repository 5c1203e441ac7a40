"""A decoded instruction: what the decoder, disassembler, interpreter and timing share."""

from dataclasses import dataclass, field

from isa.opcodes import GFX803, Architecture
from isa.opcodes.opcode import Opcode


@dataclass(frozen=True)
class Instruction:
    """A decoded instruction."""

    address: int
    """Byte address, as linked."""
    size: int
    """Size in bytes."""
    opcode: Opcode
    """Row of the opcode table."""
    fields: dict[str, int] = field(default_factory=dict)
    """Raw fields of its encoding, including those of an SDWA or DPP word."""
    literal: int | None = None
    """32-bit literal constant after the instruction; None: none."""
    jump_targets: tuple[int, ...] = ()
    """For a jump through a register, the addresses that the code is known to compute for it."""
    architecture: Architecture = GFX803
    """Architecture of the code's GPU."""

    @property
    def branch_target(self) -> int | None:
        """The byte address that a direct branch goes to when taken; None for any other instruction.

        The offset counts 32-bit words from the following instruction (GCN3 ISA manual, S_BRANCH).
        """
        if "simm16:branch" not in self.opcode.operands:
            return None
        return self.address + self.size + 4 * signed16(self.fields["simm16"])


def signed16(value: int) -> int:
    """Return a 16-bit field as a signed number."""
    return value - 0x10000 if value & 0x8000 else value
