"""SOP1: scalar, one source (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import SALU, Opcode
from isa.opcodes.table import rows

SOP1: tuple[Opcode, ...] = rows(
    "sop1",
    SALU,
    """
operands: sdst:b32 ssrc0:b32
    0x00 s_mov_b32
    0x02 s_cmov_b32
    0x04 s_not_b32
    0x06 s_wqm_b32
    0x08 s_brev_b32
    0x28 s_quadmask_b32
    0x2a s_movrels_b32 +sgpr_src0
    0x2c s_movreld_b32
operands: sdst:b64 ssrc0:b64
    0x01 s_mov_b64
    0x03 s_cmov_b64
    0x05 s_not_b64
    0x07 s_wqm_b64
    0x09 s_brev_b64
    0x1e s_swappc_b64 +jump +sgpr_src0
    0x20 s_and_saveexec_b64
    0x21 s_or_saveexec_b64
    0x22 s_xor_saveexec_b64
    0x23 s_andn2_saveexec_b64
    0x24 s_orn2_saveexec_b64
    0x25 s_nand_saveexec_b64
    0x26 s_nor_saveexec_b64
    0x27 s_xnor_saveexec_b64
    0x29 s_quadmask_b64
    0x2b s_movrels_b64 +sgpr_src0
    0x2d s_movreld_b64
operands: sdst:i32 ssrc0:b32
    0x0a s_bcnt0_i32_b32
    0x0c s_bcnt1_i32_b32
    0x0e s_ff0_i32_b32
    0x10 s_ff1_i32_b32
    0x12 s_flbit_i32_b32
    0x16 s_sext_i32_i8
    0x17 s_sext_i32_i16
operands: sdst:i32 ssrc0:b64
    0x0b s_bcnt0_i32_b64
    0x0d s_bcnt1_i32_b64
    0x0f s_ff0_i32_b64
    0x11 s_ff1_i32_b64
    0x13 s_flbit_i32_b64
operands: sdst:i32 ssrc0:i32
    0x14 s_flbit_i32
    0x30 s_abs_i32
operands: sdst:i32 ssrc0:i64
    0x15 s_flbit_i32_i64
operands: sdst:b32 ssrc0:u32
    0x18 s_bitset0_b32
    0x1a s_bitset1_b32
operands: sdst:b64 ssrc0:u32
    0x19 s_bitset0_b64
    0x1b s_bitset1_b64
operands: sdst:b64
    0x1c s_getpc_b64
operands: ssrc0:b64 +jump +ends_block
    0x1d s_setpc_b64 +sgpr_src0
    0x1f s_rfe_b64 +sgpr_src0
operands: ssrc0:b32
    0x2e s_cbranch_join +branch +sgpr_src0
    0x32 s_set_gpr_idx_idx
""",
)
