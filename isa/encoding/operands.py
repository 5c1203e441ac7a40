"""Operands of decoded instructions: their types, constants, and which registers they name."""

import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from isa.architecture import FIRST_VGPR, LITERAL_CODE
from isa.encoding.images import image_address_dwords, image_data_dwords
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
SEGMENTS = ("global", "scratch")
LAST_VGPR = 255
NO_SCALAR_ADDRESS = 0x7F  # in SADDR (Vega ISA manual, chapter 13: FLAT)

_INLINE_2PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}


_TYPE = re.compile(r"([buif])(\d+)(?:x(\d+))?")


class UnsupportedInstructionError(Exception):
    """An instruction, or a form of it, that the interpreter does not implement; the message says what."""


class EncodedOperand(NamedTuple):
    """An operand of an opcode (isa/opcodes/table)."""

    field: str
    """Field of the encoding."""
    letter: str
    """Letter of the type; empty: no type."""
    bits: int
    """Size in bits, of all `parts` together."""
    parts: int = 1
    """Number of packed values."""

    @property
    def dwords(self) -> int:
        """Number of registers that the operand takes."""
        return max(1, self.bits // 32)


@cache
def parse_operands(text: str) -> tuple[EncodedOperand, ...]:
    """Parse the operand signature of an opcode; operands without a type get letter '' and 0 bits."""
    out = []
    for token in text.split():
        field, _, kind = token.partition(":")
        typed = _TYPE.fullmatch("f32" if kind == "mix" else kind)
        if typed is None:
            out.append(EncodedOperand(field, "", 0))
        else:
            parts = int(typed[3] or 1)
            out.append(EncodedOperand(field, typed[1], int(typed[2]) * parts, parts))
    return tuple(out)


def float_bits(value: float, bits: int) -> int:
    """Return the IEEE bits of a number in a format of `bits` bits."""
    kind, whole = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]
    return int(struct.unpack(whole, struct.pack(kind, value))[0])


def constant_of(code: int, operand: EncodedOperand, literal: int | None) -> int | None:
    """Return the bits of a constant operand as its type reads them.

    GCN3 ISA manual, section 3.1.4 and 4.5: integers extend by their sign, inline floats take the operand's width, a
    literal gives a double its high dword and extends as the operand's type says. Of two FP16 numbers side by side an
    inline float is the lower one (LLVM: getInlineEncodingV216).

    Args:
        code: the operand's code.
        operand: its type and width.
        literal: the instruction's literal dword.

    Returns:
        The bits; None if `code` is no constant.
    """
    if operand.parts == 2 and operand.letter in "fb":
        operand = operand._replace(bits=operand.bits // 2)
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


def address_dwords(instruction: Instruction) -> int:
    """Return how many vector registers the address of a FLAT, GLOBAL or SCRATCH instruction takes.

    With a scalar address beside it, GLOBAL's is an offset of 32 bits, and SCRATCH has none (Vega ISA manual, chapter
    9) but where a bit of its own, SVE, says so (CDNA 3 ISA manual, section 9.1).
    """
    if "sve" in instruction.fields:
        return instruction.fields["sve"]
    wide = {"flat": 2, "global": 2, "scratch": 1}[instruction.opcode.encoding]
    alone = instruction.fields.get("saddr", NO_SCALAR_ADDRESS) == NO_SCALAR_ADDRESS
    return wide if alone or instruction.opcode.encoding == "flat" else wide - 1


def loads_into_lds(instruction: Instruction) -> bool:
    """Tell whether what a vector memory instruction loads goes to LDS, and to no register."""
    return bool(instruction.fields.get("lds")) or "lds_only" in instruction.opcode.flags


def segment_offset(instruction: Instruction) -> int:
    """Return the bytes that a FLAT, GLOBAL or SCRATCH instruction adds to its address; FLAT's are never negative."""
    offset = instruction.fields.get("offset", 0)
    return offset if instruction.opcode.encoding == "flat" or offset < 1 << 12 else offset - (1 << 13)


def _last_of_image(instruction: Instruction, field: str) -> int:
    """Return the last register that an image instruction can have of its data or its address, -1 for other fields."""
    opcode, fields = instruction.opcode, instruction.fields
    if field == "vaddr":
        return fields["vaddr"] + image_address_dwords(opcode, fields)[1] - 1
    if field == "vdata":
        return fields["vdata"] + image_data_dwords(opcode, fields, instruction.architecture) - 1
    return -1


def highest_vgpr(instruction: Instruction, operands: Sequence[EncodedOperand]) -> int:
    """Return the highest vector register number among the operands with a field of their own.

    Args:
        instruction: the instruction.
        operands: its operands.

    Returns:
        The number, or -1.
    """
    top = -1
    for operand in operands:
        value = instruction.fields.get(operand.field)
        if value is None or (operand.field in ("vdst", "vdata") and loads_into_lds(instruction)):
            continue
        if operand.field.startswith(("src", "ssrc")):
            if value < FIRST_VGPR:
                continue
            value -= FIRST_VGPR
        elif operand.field == "vsrc1" and instruction.fields.get("src1_scalar"):
            continue
        elif instruction.opcode.encoding == "mimg":
            top = max(top, min(_last_of_image(instruction, operand.field), LAST_VGPR))
            continue
        elif operand.field == "addr" and instruction.opcode.encoding in SEGMENTS:
            top = max(top, value + address_dwords(instruction) - 1)
            continue
        elif operand.field not in ("vdst", "vsrc1", "vdata", "addr", "data", "data0", "data1", "vaddr"):
            continue
        top = max(top, value + max(operand.dwords, 2 if operand.field == "vaddr" else 1) - 1)
    return top
