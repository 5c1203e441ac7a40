"""Graphics instructions: known by name, so that a program that holds one is refused with its name.

Compute kernels have no export targets and no interpolated attributes.
"""

from isa.opcodes.opcode import EXPORT, VALU, Opcode
from isa.opcodes.table import rows

VINTRP: tuple[Opcode, ...] = rows(
    "vintrp",
    VALU,
    """
operands: none +refused
    0x00 v_interp_p1_f32
    0x01 v_interp_p2_f32
    0x02 v_interp_mov_f32
""",
)

VOP3_VINTRP: tuple[Opcode, ...] = rows(
    "vop3",
    VALU,
    """
operands: none +refused
    0x270 v_interp_p1_f32
    0x271 v_interp_p2_f32
    0x272 v_interp_mov_f32
    0x274 v_interp_p1ll_f16
    0x275 v_interp_p1lv_f16
    0x276 v_interp_p2_f16
""",
)

EXP: tuple[Opcode, ...] = rows("exp", EXPORT, "operands: none +refused\n    0x00 exp")
