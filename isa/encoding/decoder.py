"""The decoder: machine code to instructions (GCN3 ISA manual, chapter 13)."""

from contextlib import suppress
from functools import cache

from gpusim.base.errors import UserError
from isa.architecture import FIRST_VGPR, VCC
from isa.encoding.accumulation import number_registers
from isa.encoding.instruction import Instruction
from isa.encoding.validity import checks_of, extension_problem
from isa.opcodes import ARCHITECTURES, GFX803, Architecture
from isa.opcodes.formats import DPP, LITERAL, SDWA, Format
from isa.opcodes.later import CDNA, describe_support, later_instruction
from isa.opcodes.opcode import Opcode

_SOURCES = ("ssrc0", "ssrc1", "src0")


class DecodeError(UserError):
    """Bytes that are not an instruction of the GPU; the message names address, words and encoding."""


def decode(
    code: bytes, address: int = 0, start: int = 0, end: int | None = None, architecture: Architecture = GFX803
) -> list[Instruction]:
    """Decode the instructions in code[start:end], one after another; `address` is where code[0] is linked (bytes).

    Raises DecodeError for an unknown encoding and for an instruction cut off at `end`.
    """
    end = len(code) if end is None else min(end, len(code))
    instructions = []
    offset = start
    while offset < end:
        instruction = decode_one(code, address, offset, end, architecture)
        instructions.append(instruction)
        offset += instruction.size
    return instructions


def decode_one(code: bytes, address: int, offset: int, end: int, architecture: Architecture = GFX803) -> Instruction:
    """Decode the instruction at code[offset]; code[0] is linked at `address`. Raises DecodeError."""
    here = address + offset
    word = _word(code, offset, end, here, "an instruction")
    encoding = architecture.encoding_of(word)
    if encoding is None:
        elsewhere = _elsewhere(code, offset, end, architecture)
        what = f": {elsewhere}" if elsewhere else f" has no encoding of {architecture.name}"
        raise DecodeError(f"0x{here:x}: 0x{word:08x}{what}")
    layout = architecture.formats[encoding]
    bits, size = word, 4 * layout.words
    if layout.words == 2:
        bits |= _word(code, offset + 4, end, here, encoding.upper()) << 32
    _, low, width = layout.fields[0]
    number = bits >> low & (1 << width) - 1
    opcode = architecture.tables[encoding].get(number)
    if opcode is None:
        elsewhere = _elsewhere(code, offset, end, architecture)
        what = elsewhere or f"{encoding.upper()} has no opcode {number} (0x{number:x})"
        raise DecodeError(f"0x{here:x}: {_words(bits, size)}: {what}")
    if "refused" in opcode.flags:
        raise DecodeError(
            f"0x{here:x}: {_words(bits, size)}: {opcode.mnemonic} ({encoding.upper()}) is a graphics instruction,"
            " which is not supported"
        )
    plan = _plan(opcode, architecture)
    fields = _extract(plan.layout, bits)
    if plan.accumulates:
        number_registers(opcode, fields)
    if plan.sdst_is_vdst:
        fields["sdst"] = fields.pop("vdst")
    literal = None
    problem = None
    if encoding in ("vop1", "vop2", "vopc") and fields["src0"] in (SDWA, DPP):
        _extend(opcode, fields, _word(code, offset + 4, end, here, encoding.upper()), here, architecture)
        problem = extension_problem(opcode, fields, architecture.wide_dpp)
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
    return Instruction(here, size, opcode, fields, literal, architecture=architecture)


class _Plan:
    """The parts of decoding that depend on the opcode alone, worked out once."""

    def __init__(self, opcode: Opcode, architecture: Architecture) -> None:
        names = [operand.partition(":")[0] for operand in opcode.operands.split()]
        vop3b = opcode.encoding == "vop3" and "sdst" in names and "vdst" in names
        special = next(iter(opcode.flags & {"matrix", "accumulation"}), "")
        layout = "vop3b" if vop3b else special or opcode.encoding
        self.layout = architecture.formats[layout]
        has_bit = any(name == "acc" for name, _, _ in self.layout.fields)
        self.accumulates = has_bit or any(f"acc_{name}" in opcode.flags for name in ("vdst", "src0"))
        self.checks = checks_of(opcode, layout, architecture)
        self.sdst_is_vdst = opcode.encoding in ("vop1", "vop3") and "sdst" in names and "vdst" not in names
        self.has_literal = "literal" in names
        self.literal_sources = tuple(n for n in _SOURCES if n in names and opcode.encoding not in ("vop3", "vop3p"))


@cache
def _plan(opcode: Opcode, architecture: Architecture) -> _Plan:
    return _Plan(opcode, architecture)


def _elsewhere(code: bytes, offset: int, end: int, architecture: Architecture) -> str:
    """Name the instruction that later GPUs have in these words, and those GPUs; '' where none is known to have one."""
    names = [name for name in ARCHITECTURES if name not in CDNA or name == architecture.name]
    mnemonics: dict[str, str] = {}
    for other in names[names.index(architecture.name) + 1 :]:
        with suppress(DecodeError):
            mnemonics[other] = decode_one(code, 0, offset, end, ARCHITECTURES[other]).opcode.mnemonic
    if mnemonics:
        mnemonic = next(iter(mnemonics.values()))
        return describe_support(
            mnemonic, tuple(gpu for gpu, name in mnemonics.items() if name == mnemonic), architecture.name
        )
    later = later_instruction(int.from_bytes(code[offset : offset + 4], "little"))
    return describe_support(*later, architecture.name) if later else ""


def _extract(layout: Format, bits: int) -> dict[str, int]:
    return {name: bits >> low & (1 << width) - 1 for name, low, width in layout.fields if name != "op"}


def _extend(opcode: Opcode, fields: dict[str, int], word: int, here: int, architecture: Architecture) -> None:
    """Add the SDWA or DPP word's fields; src0 becomes the VGPR that the word names."""
    kind = "sdwa" if fields["src0"] == SDWA else "dpp"
    if not allows(opcode, kind, architecture):
        raise DecodeError(
            f"0x{here:x}: {opcode.mnemonic} ({opcode.encoding.upper()}) has no {kind.upper()} form (word 0x{word:08x})"
        )
    extra = _extract(architecture.formats["sdwa_vopc" if (kind, opcode.encoding) == ("sdwa", "vopc") else kind], word)
    fields.update(extra)
    fields["src0"] = extra["src0"] + (0 if extra.get("src0_scalar") else FIRST_VGPR)
    if not fields.pop("sdst_en", 1):
        fields["sdst"] = VCC


@cache
def allows(opcode: Opcode, kind: str, architecture: Architecture = GFX803) -> bool:
    """Tell whether a VOP1, VOP2 or VOPC opcode may carry an 'sdwa' or 'dpp' word.

    Operands of 64 bits never do, but for 'dpp' where the architecture moves them too.
    """
    if opcode.flags & {f"no_{kind}", "only_e32"}:
        return False
    if kind == "dpp" and architecture.wide_dpp and opcode.encoding != "vopc":
        return True
    return not any(operand.endswith("64") for operand in opcode.operands.split())


def _word(code: bytes, offset: int, end: int, here: int, what: str) -> int:
    if offset + 4 > end:
        raise DecodeError(f"0x{here:x}: the code ends within {what}")
    return int.from_bytes(code[offset : offset + 4], "little")


def _words(bits: int, size: int) -> str:
    return " ".join(f"0x{bits >> 32 * i & 0xFFFFFFFF:08x}" for i in range(size // 4))
