"""The opcode table of gfx803: every instruction, one row each, in one file per encoding.

`table` says how rows are written, `formats` where the fields of an encoding lie. The VOP3 forms of VOP1, VOP2 and
VOPC instructions are derived from their rows (GCN3 ISA manual, chapter 13: VOPC at 0, VOP2 at 0x100, VOP1 at 0x140).
"""

from collections.abc import Iterator

from isa.opcodes.ds import DS
from isa.opcodes.flat import FLAT
from isa.opcodes.mtbuf import MTBUF
from isa.opcodes.mubuf import MUBUF
from isa.opcodes.opcode import Opcode
from isa.opcodes.refused import EXP, MIMG, VINTRP, VOP3_VINTRP
from isa.opcodes.smem import SCALAR_MEMORY
from isa.opcodes.sop1 import SOP1
from isa.opcodes.sop2 import SOP2
from isa.opcodes.sopc import SOPC
from isa.opcodes.sopk import SOPK
from isa.opcodes.sopp import SOPP
from isa.opcodes.vop1 import VOP1
from isa.opcodes.vop2 import VOP2
from isa.opcodes.vop3 import VOP3
from isa.opcodes.vopc import VOPC

_VOP3_OFFSETS = {"vopc": 0x000, "vop2": 0x100, "vop1": 0x140}


def _promoted(opcode: Opcode) -> Opcode:
    """Return the VOP3 form of a VOP1, VOP2 or VOPC row: any source at any position, VCC replaced by an SGPR pair."""
    operands = []
    for position, operand in enumerate(opcode.operands.split()):
        if operand == "vcc":
            last_source = position > 1
            operands.append("src2:b64" if last_source else "sdst:b64")
        else:
            operands.append(operand.replace("vsrc1", "src1"))
    return Opcode(
        opcode.mnemonic,
        "vop3",
        _VOP3_OFFSETS[opcode.encoding] + opcode.number,
        " ".join(operands),
        opcode.unit,
        opcode.rate,
        opcode.flags | {"promoted"} | ({"mask_src2"} if "src2:b64" in operands else set()),
    )


def _tables() -> dict[str, dict[int, Opcode]]:
    promoted = tuple(_promoted(o) for o in VOP1 + VOP2 + VOPC if "only_e32" not in o.flags)
    tables: dict[str, dict[int, Opcode]] = {}
    everything: tuple[tuple[Opcode, ...], ...] = (
        SOP1,
        SOP2,
        SOPK,
        SOPC,
        SOPP,
        SCALAR_MEMORY,
        VOP1,
        VOP2,
        VOPC,
        VOP3,
        promoted,
        VOP3_VINTRP,
    )
    everything += (VINTRP, DS, FLAT, MUBUF, MTBUF, MIMG, EXP)
    for opcodes in everything:
        for opcode in opcodes:
            table = tables.setdefault(opcode.encoding, {})
            if opcode.number in table:
                raise ValueError(f"opcode table: {opcode.encoding} 0x{opcode.number:x} twice: {opcode.mnemonic}")
            table[opcode.number] = opcode
    return tables


TABLES: dict[str, dict[int, Opcode]] = _tables()


def all_opcodes() -> Iterator[Opcode]:
    """Yield every row of the table, ordered by encoding and number; 'refused' ones are known by name only."""
    for table in TABLES.values():
        for number in sorted(table):
            yield table[number]
