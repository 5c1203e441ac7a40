"""Operands as text: registers, inline constants and literals, as LLVM's AMDGPU assembler names them."""

from isa.architecture import VECTOR_FILE

# Special scalar registers by operand number; pairs carry the name of their first half without '_lo'.
_PAIRS = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 108: "tba", 110: "tma", 126: "exec"}
_SINGLES = {
    124: "m0",
    125: "null",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}
_TTMP_END = 124
_FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0")
_FLOAT_0, _FLOAT_INVERSE_2PI = 240, 248
_FLOAT_BITS = {
    32: (0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983),
    64: (0x3FE00000, 0xBFE00000, 0x3FF00000, 0xBFF00000, 0x40000000, 0xC0000000, 0x40100000, 0xC0100000),
    16: (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118),
}


def bits_of(kind: str) -> int:
    """Return the width of an operand type such as 'f32' or 'f16x2'."""
    size, _, count = kind[1:].partition("x")
    return int(size) * int(count or 1)


def vgpr_text(number: int, kind: str) -> str:
    """Write VGPR `number` and its successors, as many as the type is wide; those from 256 on accumulate."""
    count = max(1, bits_of(kind) // 32)
    file, number = "va"[number // VECTOR_FILE], number % VECTOR_FILE
    return f"{file}{number}" if count == 1 else f"{file}[{number}:{number + count - 1}]"


def register_text(number: int, kind: str, first_ttmp: int) -> str:
    """Write the scalar or special register with operand number `number`; groups begin at an aligned number.

    first_ttmp: number of the first register of the trap handler.
    """
    count = max(1, bits_of(kind) // 32)
    if number in _SINGLES:
        return _SINGLES[number]
    if count > 1:
        number -= number % min(count, 4)
        if count == 2 and number in _PAIRS and not first_ttmp <= number < _TTMP_END:
            return _PAIRS[number]
    elif number & ~1 in _PAIRS and not first_ttmp <= number < _TTMP_END:
        return _PAIRS[number & ~1] + ("_hi" if number & 1 else "_lo")
    name = "s"
    if first_ttmp <= number < _TTMP_END:
        name, number = "ttmp", number - first_ttmp
    return f"{name}{number}" if count == 1 else f"{name}[{number}:{number + count - 1}]"


def source_text(number: int, kind: str, literal: int | None, first_ttmp: int) -> str:
    """Write a source operand: VGPR (256 and up), inline constant, literal or scalar register (as `register_text`)."""
    if number >= 256:
        return vgpr_text(number - 256, kind)
    if number == 255 and literal is not None:
        return literal_text(literal, kind)
    if 128 <= number <= 192:
        return str(number - 128)
    if 193 <= number <= 208:
        return str(192 - number)
    if _FLOAT_0 <= number <= _FLOAT_INVERSE_2PI and bits_of(kind) == 16 and kind[0] != "f":
        return f"0x{_FLOAT_BITS[16][number - _FLOAT_0]:x}"
    if _FLOAT_0 <= number < _FLOAT_INVERSE_2PI:
        return _FLOATS[number - _FLOAT_0]
    if number == _FLOAT_INVERSE_2PI:
        return "0.15915494309189532" if bits_of(kind) == 64 else "0.15915494"
    return register_text(number, kind, first_ttmp)


def literal_text(value: int, kind: str) -> str:
    """Write a 32-bit literal; values that an inline constant has are written as that constant.

    Like llvm-objdump, 16-bit floats are read from the low half alone, 16-bit integers from the whole literal, and
    64-bit integers have no negative and no floating-point constants. Of two FP16 the upper one must be zero.
    """
    width = bits_of(kind)
    if kind == "f64" and value:  # the literal is the upper half
        return _FLOATS[_FLOAT_BITS[64].index(value)] if value in _FLOAT_BITS[64] else f"0x{value:x}"
    if width == 64:
        return number_text(value)
    compared = 16 if kind == "f16" else 32
    value &= (1 << compared) - 1
    signed = value - (1 << compared) if value >> compared - 1 else value
    if -16 <= signed <= 64:
        return str(signed)
    floats = _FLOAT_BITS[16 if kind == "f16x2" else compared]
    if value in floats:
        return (*_FLOATS, "0.15915494")[floats.index(value)]
    return f"0x{value & (1 << width) - 1:x}"


def number_text(value: int) -> str:
    """Write a constant: decimal where a positive inline constant would hold it, else hexadecimal."""
    return str(value) if value <= 64 else f"0x{value:x}"
