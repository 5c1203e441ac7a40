"""SOP2: scalar, two sources (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import SALU, Opcode
from isa.opcodes.table import rows

SOP2: tuple[Opcode, ...] = rows(
    "sop2",
    SALU,
    """
operands: sdst:u32 ssrc0:u32 ssrc1:u32
    0x00 s_add_u32
    0x01 s_sub_u32
    0x04 s_addc_u32
    0x05 s_subb_u32
    0x07 s_min_u32
    0x09 s_max_u32
    0x25 s_bfe_u32
operands: sdst:i32 ssrc0:i32 ssrc1:i32
    0x02 s_add_i32
    0x03 s_sub_i32
    0x06 s_min_i32
    0x08 s_max_i32
    0x24 s_mul_i32
    0x2a s_absdiff_i32
operands: sdst:b32 ssrc0:b32 ssrc1:b32
    0x0a s_cselect_b32
    0x0c s_and_b32
    0x0e s_or_b32
    0x10 s_xor_b32
    0x12 s_andn2_b32
    0x14 s_orn2_b32
    0x16 s_nand_b32
    0x18 s_nor_b32
    0x1a s_xnor_b32
operands: sdst:b64 ssrc0:b64 ssrc1:b64
    0x0b s_cselect_b64
    0x0d s_and_b64
    0x0f s_or_b64
    0x11 s_xor_b64
    0x13 s_andn2_b64
    0x15 s_orn2_b64
    0x17 s_nand_b64
    0x19 s_nor_b64
    0x1b s_xnor_b64
operands: sdst:b32 ssrc0:b32 ssrc1:u32
    0x1c s_lshl_b32
    0x1e s_lshr_b32
operands: sdst:b64 ssrc0:b64 ssrc1:u32
    0x1d s_lshl_b64
    0x1f s_lshr_b64
operands: sdst:i32 ssrc0:i32 ssrc1:u32
    0x20 s_ashr_i32
    0x26 s_bfe_i32
operands: sdst:i64 ssrc0:i64 ssrc1:u32
    0x21 s_ashr_i64
    0x28 s_bfe_i64
operands: sdst:b32 ssrc0:u32 ssrc1:u32
    0x22 s_bfm_b32
operands: sdst:b64 ssrc0:u32 ssrc1:u32
    0x23 s_bfm_b64
operands: sdst:u64 ssrc0:u64 ssrc1:u32
    0x27 s_bfe_u64
operands: ssrc0:b64 ssrc1:b64 +branch +jump
    0x29 s_cbranch_g_fork
operands: ssrc0:b64 ssrc1:b32 +jump +ends_block
    0x2b s_rfe_restore_b64
""",
)
