"""The decoder: machine code to instructions (GCN3 ISA manual, chapter 13)."""

from functools import cache

from gpusim.base.errors import UserError
from isa.architecture import FIRST_VGPR
from isa.encoding.instruction import Instruction
from isa.encoding.validity import checks_of, extension_problem
from isa.opcodes import TABLES
from isa.opcodes.formats import DPP, DPP_WORD, FORMATS, LITERAL, SDWA, SDWA_WORD, Format, encoding_of
from isa.opcodes.opcode import Opcode

_SOURCES = ("ssrc0", "ssrc1", "src0")


class DecodeError(UserError):
    """Bytes that are not an instruction of gfx803; the message names address, words and encoding."""


def decode(code: bytes, address: int = 0, start: int = 0, end: int | None = None) -> list[Instruction]:
    """Decode the instructions in code[start:end], one after another; `address` is where code[0] is linked (bytes).

    Raises DecodeError for an unknown encoding and for an instruction cut off at `end`.
    """
    end = len(code) if end is None else min(end, len(code))
    instructions = []
    offset = start
    while offset < end:
        instruction = decode_one(code, address, offset, end)
        instructions.append(instruction)
        offset += instruction.size
    return instructions


def decode_one(code: bytes, address: int, offset: int, end: int) -> Instruction:
    """Decode the instruction at code[offset]; code[0] is linked at `address`. Raises DecodeError."""
    here = address + offset
    word = _word(code, offset, end, here, "an instruction")
    encoding = encoding_of(word)
    if encoding is None:
        raise DecodeError(f"0x{here:x}: 0x{word:08x} has no encoding of gfx803")
    layout = FORMATS[encoding]
    bits, size = word, 4 * layout.words
    if layout.words == 2:
        bits |= _word(code, offset + 4, end, here, encoding.upper()) << 32
    _, low, width = layout.fields[0]
    number = bits >> low & (1 << width) - 1
    opcode = TABLES[encoding].get(number)
    if opcode is None:
        raise DecodeError(f"0x{here:x}: {_words(bits, size)}: {encoding.upper()} has no opcode {number} (0x{number:x})")
    if "refused" in opcode.flags:
        raise DecodeError(
            f"0x{here:x}: {_words(bits, size)}: {opcode.mnemonic} ({encoding.upper()}) is a graphics instruction,"
            " which is not supported"
        )
    plan = _plan(opcode)
    fields = _extract(plan.layout, bits)
    if plan.sdst_is_vdst:
        fields["sdst"] = fields.pop("vdst")
    literal = None
    problem = None
    if encoding in ("vop1", "vop2", "vopc") and fields["src0"] in (SDWA, DPP):
        _extend(opcode, fields, _word(code, offset + 4, end, here, encoding.upper()), here)
        problem = extension_problem(opcode, fields)
        size = 8
    elif plan.has_literal or any(fields.get(name) == LITERAL for name in plan.literal_sources):
        literal = _word(code, offset + size, end, here, f"{opcode.mnemonic}'s literal constant")
        size += 4
    for check in plan.checks:
        problem = problem or check(fields)
    if problem:
        raise DecodeError(
            f"0x{here:x}: {_words(bits, 4 * layout.words)}: {opcode.mnemonic} ({encoding.upper()}): {problem}"
        )
    return Instruction(here, size, opcode, fields, literal)


class _Plan:
    """The parts of decoding that depend on the opcode alone, worked out once."""

    def __init__(self, opcode: Opcode) -> None:
        names = [operand.partition(":")[0] for operand in opcode.operands.split()]
        vop3b = opcode.encoding == "vop3" and "sdst" in names and "vdst" in names
        layout = "vop3b" if vop3b else opcode.encoding
        self.layout = FORMATS[layout]
        self.checks = checks_of(opcode, layout)
        self.sdst_is_vdst = opcode.encoding in ("vop1", "vop3") and "sdst" in names and "vdst" not in names
        self.has_literal = "literal" in names
        self.literal_sources = tuple(n for n in _SOURCES if n in names and opcode.encoding != "vop3")


@cache
def _plan(opcode: Opcode) -> _Plan:
    return _Plan(opcode)


def _extract(layout: Format, bits: int) -> dict[str, int]:
    return {name: bits >> low & (1 << width) - 1 for name, low, width in layout.fields if name != "op"}


def _extend(opcode: Opcode, fields: dict[str, int], word: int, here: int) -> None:
    """Add the SDWA or DPP word's fields; src0 becomes the VGPR that the word names."""
    kind = "sdwa" if fields["src0"] == SDWA else "dpp"
    if not allows(opcode, kind):
        raise DecodeError(
            f"0x{here:x}: {opcode.mnemonic} ({opcode.encoding.upper()}) has no {kind.upper()} form (word 0x{word:08x})"
        )
    extra = _extract(SDWA_WORD if kind == "sdwa" else DPP_WORD, word)
    fields.update(extra)
    fields["src0"] = FIRST_VGPR + extra["src0"]


@cache
def allows(opcode: Opcode, kind: str) -> bool:
    """Tell whether a VOP1, VOP2 or VOPC opcode may carry an 'sdwa' or 'dpp' word: 64-bit operands never do."""
    if opcode.flags & {f"no_{kind}", "only_e32"}:
        return False
    return not any(operand.endswith("64") for operand in opcode.operands.split())


def _word(code: bytes, offset: int, end: int, here: int, what: str) -> int:
    if offset + 4 > end:
        raise DecodeError(f"0x{here:x}: the code ends within {what}")
    return int.from_bytes(code[offset : offset + 4], "little")


def _words(bits: int, size: int) -> str:
    return " ".join(f"0x{bits >> 32 * i & 0xFFFFFFFF:08x}" for i in range(size // 4))
