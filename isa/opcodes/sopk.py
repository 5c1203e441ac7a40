"""SOPK: scalar with a 16-bit constant (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import SALU, Opcode
from isa.opcodes.table import rows

SOPK: tuple[Opcode, ...] = rows(
    "sopk",
    SALU,
    """
operands: sdst:i32 simm16:hex
    0x00 s_movk_i32
    0x01 s_cmovk_i32
    0x02 s_cmpk_eq_i32
    0x03 s_cmpk_lg_i32
    0x04 s_cmpk_gt_i32
    0x05 s_cmpk_ge_i32
    0x06 s_cmpk_lt_i32
    0x07 s_cmpk_le_i32
    0x0e s_addk_i32
    0x0f s_mulk_i32
operands: sdst:u32 simm16:hex
    0x08 s_cmpk_eq_u32
    0x09 s_cmpk_lg_u32
    0x0a s_cmpk_gt_u32
    0x0b s_cmpk_ge_u32
    0x0c s_cmpk_lt_u32
    0x0d s_cmpk_le_u32
operands: sdst:b64 simm16:branch +branch +jump
    0x10 s_cbranch_i_fork
operands: sdst:b32 simm16:hwreg
    0x11 s_getreg_b32
operands: simm16:hwreg sdst:b32
    0x12 s_setreg_b32
operands: simm16:hwreg literal:b32
    0x14 s_setreg_imm32_b32
""",
)
