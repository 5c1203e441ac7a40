"""VOP2: vector, two sources (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import VALU, Opcode
from isa.opcodes.table import rows

VOP2: tuple[Opcode, ...] = rows(
    "vop2",
    VALU,
    """
operands: vdst:b32 src0:b32 vsrc1:b32 vcc
    0x00 v_cndmask_b32 +float_sources
operands: vdst:f32 src0:f32 vsrc1:f32
    0x01 v_add_f32
    0x02 v_sub_f32
    0x03 v_subrev_f32
    0x04 v_mul_legacy_f32
    0x05 v_mul_f32
    0x0a v_min_f32
    0x0b v_max_f32
    0x16 v_mac_f32
operands: vdst:i32 src0:i32 vsrc1:i32
    0x06 v_mul_i32_i24 +clamp
    0x07 v_mul_hi_i32_i24
    0x0c v_min_i32
    0x0d v_max_i32
operands: vdst:u32 src0:u32 vsrc1:u32
    0x08 v_mul_u32_u24 +clamp
    0x09 v_mul_hi_u32_u24
    0x0e v_min_u32
    0x0f v_max_u32
operands: vdst:b32 src0:u32 vsrc1:b32
    0x10 v_lshrrev_b32
    0x12 v_lshlrev_b32
operands: vdst:i32 src0:u32 vsrc1:i32
    0x11 v_ashrrev_i32
operands: vdst:b32 src0:b32 vsrc1:b32
    0x13 v_and_b32
    0x14 v_or_b32
    0x15 v_xor_b32
operands: vdst:f32 src0:f32 literal:f32 vsrc1:f32 +only_e32
    0x17 v_madmk_f32
operands: vdst:f32 src0:f32 vsrc1:f32 literal:f32 +only_e32
    0x18 v_madak_f32
operands: vdst:u32 vcc src0:u32 vsrc1:u32
    0x19 v_add_u32 +clamp
    0x1a v_sub_u32 +clamp
    0x1b v_subrev_u32 +clamp
operands: vdst:u32 vcc src0:u32 vsrc1:u32 vcc
    0x1c v_addc_u32 +clamp
    0x1d v_subb_u32 +clamp
    0x1e v_subbrev_u32 +clamp
operands: vdst:f16 src0:f16 vsrc1:f16
    0x1f v_add_f16
    0x20 v_sub_f16
    0x21 v_subrev_f16
    0x22 v_mul_f16
    0x23 v_mac_f16
    0x2d v_max_f16
    0x2e v_min_f16
operands: vdst:f16 src0:f16 literal:f16 vsrc1:f16 +only_e32
    0x24 v_madmk_f16
operands: vdst:f16 src0:f16 vsrc1:f16 literal:f16 +only_e32
    0x25 v_madak_f16
operands: vdst:u16 src0:u16 vsrc1:u16
    0x26 v_add_u16 +clamp
    0x27 v_sub_u16 +clamp
    0x28 v_subrev_u16 +clamp
    0x29 v_mul_lo_u16
    0x2f v_max_u16
    0x31 v_min_u16
operands: vdst:b16 src0:u16 vsrc1:b16
    0x2a v_lshlrev_b16
    0x2b v_lshrrev_b16
operands: vdst:i16 src0:u16 vsrc1:i16
    0x2c v_ashrrev_i16
operands: vdst:i16 src0:i16 vsrc1:i16
    0x30 v_max_i16
    0x32 v_min_i16
operands: vdst:f16 src0:f16 vsrc1:i16
    0x33 v_ldexp_f16 +float_constants
""",
)
