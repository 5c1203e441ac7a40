"""VOPC: vector compares, the result is a lane mask in VCC (GCN3 ISA manual, chapter 12).

The numbers are regular: a type's block of conditions, then the block that writes EXEC as well (v_cmpx).
"""

from isa.opcodes.opcode import VALU, Opcode
from isa.opcodes.table import row

_RATE_MARKS = {"f64": ("eighth",), "i64": ("half",), "u64": ("half",)}
_CLASS_NUMBERS = {"f32": 0x10, "f64": 0x12, "f16": 0x14}

_FLOAT_CONDITIONS = ("f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru")
_FLOAT_NUMBERS = {"f16": (0x20, 0x30), "f32": (0x40, 0x50), "f64": (0x60, 0x70)}

_INTEGER_CONDITIONS = ("f", "lt", "eq", "le", "gt", "ne", "ge", "t")
_INTEGER_NUMBERS = {
    "i16": (0xA0, 0xB0),
    "u16": (0xA8, 0xB8),
    "i32": (0xC0, 0xD0),
    "u32": (0xC8, 0xD8),
    "i64": (0xE0, 0xF0),
    "u64": (0xE8, 0xF8),
}


def _compare(number: int, name: str, first: str, second: str) -> Opcode:
    marks = {"compare", "no_dpp", *_RATE_MARKS.get(first, ())}
    return row("vopc", VALU, number, name, f"vcc src0:{first} vsrc1:{second}", frozenset(marks))


def _table() -> tuple[Opcode, ...]:
    opcodes = []
    for kind, number in _CLASS_NUMBERS.items():
        opcodes.append(_compare(number, f"v_cmp_class_{kind}", kind, "b32"))
        opcodes.append(_compare(number + 1, f"v_cmpx_class_{kind}", kind, "b32"))
    for conditions, numbers in ((_FLOAT_CONDITIONS, _FLOAT_NUMBERS), (_INTEGER_CONDITIONS, _INTEGER_NUMBERS)):
        for kind, blocks in numbers.items():
            for prefix, block in zip(("v_cmp", "v_cmpx"), blocks, strict=True):
                opcodes += [_compare(block + i, f"{prefix}_{c}_{kind}", kind, kind) for i, c in enumerate(conditions)]
    return tuple(sorted(opcodes, key=lambda opcode: opcode.number))


VOPC: tuple[Opcode, ...] = _table()
