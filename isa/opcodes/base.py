"""The instruction set of gfx803 (GFX8), which later generations change by extensions.

The VOP3 forms of VOP1, VOP2 and VOPC instructions are derived from their rows (GCN3 ISA manual, chapter 13: VOPC at 0,
VOP2 at 0x100, VOP1 at 0x140).
"""

from collections.abc import Iterable

from isa.opcodes.extension import Extension
from isa.opcodes.opcode import Opcode
from isa.opcodes.table import read_rows
from isa.opcodes.vopc import VOPC

BASE = Extension("base", (*read_rows("gfx803.txt"), *VOPC))

_VOP3_OFFSETS = {"vopc": 0x000, "vop2": 0x100, "vop1": 0x140}

Tables = dict[str, dict[int, Opcode]]


def tables(extensions: Iterable[Extension]) -> Tables:
    """Return the opcodes of BASE with `extensions`, by encoding and number; ValueError where one has a number twice."""
    made: Tables = {}
    rates: dict[int, int] = {}
    for extension in (BASE, *extensions):
        for encoding, number in extension.removed:
            del made[encoding][number]
        added: set[tuple[str, int]] = set()
        for opcode in extension.rows:
            if (opcode.encoding, opcode.number) in added:
                raise ValueError(f"opcode table: {opcode.encoding} 0x{opcode.number:x} twice: {opcode.mnemonic}")
            added.add((opcode.encoding, opcode.number))
            made.setdefault(opcode.encoding, {})[opcode.number] = opcode
        rates |= extension.rates
    long = made["vop3"]
    for encoding in _VOP3_OFFSETS:
        for opcode in made[encoding].values():
            if not opcode.flags & {"only_e32", "no_e64"}:
                form = _promoted(opcode)
                if form.number in long:
                    raise ValueError(f"opcode table: vop3 0x{form.number:x} twice: {form.mnemonic}")
                long[form.number] = form
    if rates:
        made = {e: {n: o._replace(rate=rates.get(o.rate, o.rate)) for n, o in t.items()} for e, t in made.items()}
    return made


def _promoted(opcode: Opcode) -> Opcode:
    """Return the VOP3 form of a VOP1, VOP2 or VOPC row: any source at any position, VCC replaced by an SGPR pair."""
    operands = []
    for position, operand in enumerate(opcode.operands.split()):
        if operand == "vcc":
            last_source = position > 1
            operands.append("src2:b64" if last_source else "sdst:b64")
        else:
            operands.append(operand.replace("vsrc1", "src1"))
    return opcode._replace(
        encoding="vop3",
        number=_VOP3_OFFSETS[opcode.encoding] + opcode.number,
        operands=" ".join(operands),
        flags=opcode.flags | {"promoted"} | ({"mask_src2"} if "src2:b64" in operands else set()),
    )
