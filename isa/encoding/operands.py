"""Operands of decoded instructions: their types, constants, and which registers they name."""

import struct
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from isa.architecture import FIRST_VGPR, LITERAL_CODE
from isa.encoding.instruction import Instruction

_INLINE_FLOATS = {
    240: 0.5,
    241: -0.5,
    242: 1.0,
    243: -1.0,
    244: 2.0,
    245: -2.0,
    246: 4.0,
    247: -4.0,
    248: 0.15915494309189535,  # 1 / (2 pi)
}
_INLINE_2PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}


class Unsupported(Exception):
    """An instruction, or a form of it, that the interpreter does not implement; the message says what."""


class Operand(NamedTuple):
    """An operand: `field` of the encoding, `letter` and `bits` of its type (see isa/opcodes/table)."""

    field: str
    letter: str
    bits: int

    @property
    def dwords(self) -> int:
        """Number of registers that the operand takes."""
        return max(1, self.bits // 32)


@cache
def parse_operands(text: str) -> tuple[Operand, ...]:
    """Parse the operand signature of an opcode; operands without a type get letter '' and 0 bits."""
    out = []
    for token in text.split():
        field, _, kind = token.partition(":")
        typed = kind[:1] in "buif" and kind[1:].isdigit()
        out.append(Operand(field, kind[0] if typed else "", int(kind[1:]) if typed else 0))
    return tuple(out)


def float_bits(value: float, bits: int) -> int:
    """Return the IEEE bits of a number in a format of `bits` bits."""
    kind, whole = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]
    return int(struct.unpack(whole, struct.pack(kind, value))[0])


def constant_of(code: int, operand: Operand, literal: int | None) -> int | None:
    """Return the bits of a constant operand as its type reads them, None if `code` is no constant.

    GCN3 ISA manual, section 3.1.4 and 4.5: integers extend by their sign, inline floats take the operand's width, a
    literal gives a double its high dword and extends as the operand's type says.
    """
    mask = (1 << max(32, operand.bits)) - 1
    if 128 <= code <= 208:
        return (code - 128 if code <= 192 else 192 - code) & mask
    if code == 248:
        return _INLINE_2PI[operand.bits if operand.bits in _INLINE_2PI else 32]
    if code in _INLINE_FLOATS:
        return float_bits(_INLINE_FLOATS[code], operand.bits if operand.bits in (16, 32, 64) else 32)
    if code == LITERAL_CODE and literal is not None:
        if operand.bits == 64 and operand.letter == "f":
            return literal << 32
        if operand.bits == 64 and operand.letter == "i" and literal & 0x8000_0000:
            return literal | 0xFFFF_FFFF_0000_0000
        return literal
    return None


def highest_vgpr(instruction: Instruction, operands: Sequence[Operand]) -> int:
    """Return the highest vector register number among the operands with a field of their own, or -1."""
    top = -1
    for operand in operands:
        value = instruction.fields.get(operand.field)
        if value is None:
            continue
        if operand.field.startswith(("src", "ssrc")):
            if value < FIRST_VGPR:
                continue
            value -= FIRST_VGPR
        elif operand.field not in ("vdst", "vsrc1", "vdata", "addr", "data", "data0", "data1", "vaddr"):
            continue
        top = max(top, value + max(operand.dwords, 2 if operand.field == "vaddr" else 1) - 1)
    return top
