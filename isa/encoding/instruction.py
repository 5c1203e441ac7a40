"""A decoded instruction: what the decoder, disassembler, interpreter and timing share."""

from dataclasses import dataclass, field

from isa.opcodes.opcode import Opcode


@dataclass(frozen=True)
class Instruction:
    """A decoded instruction at byte `address` (as linked), `size` bytes long; `fields` are its encoding's raw fields.

    literal: the 32-bit literal constant that follows, if any. SDWA and DPP words are in `fields` under their names.
    """

    address: int
    size: int
    opcode: Opcode
    fields: dict[str, int] = field(default_factory=dict)
    literal: int | None = None
