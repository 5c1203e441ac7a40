"""A decoded instruction: what the decoder, disassembler, interpreter and timing share."""

from dataclasses import dataclass, field

from isa.opcodes import GFX803, Architecture
from isa.opcodes.opcode import Opcode


@dataclass(frozen=True)
class Instruction:
    """A decoded instruction at byte `address` (as linked), `size` bytes long; `fields` are its encoding's raw fields.

    literal: the 32-bit literal constant that follows, if any. SDWA and DPP words are in `fields` under their names.
    jump_targets: of a jump through a register, the addresses that the code is known to compute for it;
    architecture: of the GPU that the code is for.
    """

    address: int
    size: int
    opcode: Opcode
    fields: dict[str, int] = field(default_factory=dict)
    literal: int | None = None
    jump_targets: tuple[int, ...] = ()
    architecture: Architecture = GFX803

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
