"""Operands of decoded instructions: where their values lie, and the pool of constants."""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.base.host_memory import zeroed
from gpusim.jit import address_of
from isa.encoding.instruction import Instruction
from isa.execution.layout import LANES, ROW_BYTES

LITERAL_CODE = 255
FIRST_VGPR = 256
SCALAR_REGISTERS = 128  # operand codes below it are scalar registers
SPECIAL_CODES = (251, 252, 253)  # VCCZ, EXECZ, SCC
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


@dataclass(frozen=True)
class Operand:
    """One operand: `field` of the encoding, `letter` and `bits` of its type (see isa/opcodes/table)."""

    field: str
    letter: str
    bits: int

    @property
    def dwords(self) -> int:
        """Registers it takes."""
        return max(1, self.bits // 32)


def parse_operands(text: str) -> list[Operand]:
    """Operand signature of an opcode; operands without a type get letter '' and 0 bits."""
    out = []
    for token in text.split():
        field, _, kind = token.partition(":")
        typed = kind[:1] in "buif" and kind[1:].isdigit()
        out.append(Operand(field, kind[0] if typed else "", int(kind[1:]) if typed else 0))
    return out


def float_bits(value: float, bits: int) -> int:
    """IEEE bits of a number."""
    kind, whole = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]
    return int(struct.unpack(whole, struct.pack(kind, value))[0])


def constant_of(code: int, operand: Operand, literal: int | None) -> int | None:
    """Bits of a constant operand as its type reads them, None if `code` is no constant.

    GCN3 ISA manual, section 3.1.4 and 4.5: integers extend by their sign, inline floats take the operand's
    width, a literal gives a double its high dword and extends as the operand's type says.
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


class Pool:
    """Constants that instructions read by address: 256-byte rows for vectors, 64-bit words for scalars."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], int] = {}
        self._words: dict[int, int] = {}
        self._row_values: list[int] = []
        self._row_patches: list[tuple[Any, int, int]] = []
        self._word_patches: list[tuple[Any, int, int]] = []

    def vector(self, row: np.ndarray, word: int, bits: int, dwords: int) -> None:
        """Let word `word` of a program row become the address of rows that hold `bits` in every lane."""
        key = (bits, dwords)
        if key not in self._rows:
            self._rows[key] = len(self._row_values)
            self._row_values += [(bits >> 32 * d) & 0xFFFF_FFFF for d in range(dwords)]
        self._row_patches.append((row, word, self._rows[key]))

    def scalar(self, row: np.ndarray, word: int, bits: int) -> None:
        """Let word `word` of a program row become the address of a 64-bit word that holds `bits`."""
        index = self._words.setdefault(bits & (1 << 64) - 1, len(self._words))
        self._word_patches.append((row, word, index))

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Lay the pool out and fill in the addresses; returns the buffers, to be kept alive."""
        rows = zeroed((len(self._row_values) + 1) * ROW_BYTES, huge_pages=False)
        lanes = rows.view(np.uint32).reshape(-1, LANES)
        for k, value in enumerate(self._row_values):
            lanes[k] = value
        words = np.array(list(self._words) or [0], np.uint64)
        for row, word, k in self._row_patches:
            row[word] = address_of(rows) + k * ROW_BYTES
        for row, word, k in self._word_patches:
            row[word] = address_of(words) + 8 * k
        return rows, words


def vgpr(number: int) -> int:
    """Byte offset of a vector register in the register file."""
    return number * ROW_BYTES


def highest_vgpr(instruction: Instruction, operands: list[Operand]) -> int:
    """Highest vector register number among the operands that say where they lie, or -1."""
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
