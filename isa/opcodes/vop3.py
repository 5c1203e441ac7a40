"""VOP3: vector instructions that have only the 64-bit encoding (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import VALU, Opcode
from isa.opcodes.table import rows

VOP3: tuple[Opcode, ...] = rows(
    "vop3",
    VALU,
    """
operands: vdst:f32 src0:f32 src1:f32 src2:f32
    0x1c0 v_mad_legacy_f32
    0x1c1 v_mad_f32
    0x1c4 v_cubeid_f32
    0x1c5 v_cubesc_f32
    0x1c6 v_cubetc_f32
    0x1c7 v_cubema_f32
    0x1d0 v_min3_f32
    0x1d3 v_max3_f32
    0x1d6 v_med3_f32
operands: vdst:i32 src0:i32 src1:i32 src2:i32
    0x1c2 v_mad_i32_i24 +clamp
    0x1d1 v_min3_i32
    0x1d4 v_max3_i32
    0x1d7 v_med3_i32
operands: vdst:u32 src0:u32 src1:u32 src2:u32
    0x1c3 v_mad_u32_u24 +clamp
    0x1c8 v_bfe_u32
    0x1d2 v_min3_u32
    0x1d5 v_max3_u32
    0x1d8 v_med3_u32
    0x1dc v_sad_u32 +clamp
operands: vdst:i32 src0:i32 src1:u32 src2:u32
    0x1c9 v_bfe_i32
operands: vdst:b32 src0:b32 src1:b32 src2:b32
    0x1ca v_bfi_b32
    0x1cd v_lerp_u8
    0x1ed v_perm_b32
operands: vdst:f32 src0:f32 src1:f32 src2:f32 +quarter
    0x1cb v_fma_f32
    0x1de v_div_fixup_f32
    0x1e2 v_div_fmas_f32
operands: vdst:f64 src0:f64 src1:f64 src2:f64 +sixteenth
    0x1cc v_fma_f64
    0x1e3 v_div_fmas_f64
operands: vdst:b32 src0:b32 src1:b32 src2:u32
    0x1ce v_alignbit_b32
    0x1cf v_alignbyte_b32
operands: vdst:u32 src0:b32 src1:b32 src2:u32
    0x1d9 v_sad_u8 +clamp
    0x1da v_sad_hi_u8 +clamp
    0x1db v_sad_u16 +clamp
    0x1e4 v_msad_u8 +clamp
operands: vdst:b32 src0:f32 src1:u32 src2:b32
    0x1dd v_cvt_pk_u8_f32
operands: vdst:f64 src0:f64 src1:f64 src2:f64 +eighth
    0x1df v_div_fixup_f64
operands: vdst:f32 sdst:b64 src0:f32 src1:f32 src2:f32 +quarter
    0x1e0 v_div_scale_f32
operands: vdst:f64 sdst:b64 src0:f64 src1:f64 src2:f64 +eighth
    0x1e1 v_div_scale_f64
operands: vdst:b64 src0:b64 src1:b32 src2:b64 +quarter
    0x1e5 v_qsad_pk_u16_u8 +clamp
    0x1e6 v_mqsad_pk_u16_u8 +clamp
operands: vdst:b128 src0:b64 src1:b32 src2:b128 +quarter
    0x1e7 v_mqsad_u32_u8 +vgpr_src2 +clamp
operands: vdst:u64 sdst:b64 src0:u32 src1:u32 src2:u64 +quarter
    0x1e8 v_mad_u64_u32 +clamp
operands: vdst:i64 sdst:b64 src0:i32 src1:i32 src2:i64 +quarter
    0x1e9 v_mad_i64_i32 +clamp
operands: vdst:f16 src0:f16 src1:f16 src2:f16
    0x1ea v_mad_f16
    0x1ee v_fma_f16
    0x1ef v_div_fixup_f16
operands: vdst:u16 src0:u16 src1:u16 src2:u16
    0x1eb v_mad_u16 +clamp
operands: vdst:i16 src0:i16 src1:i16 src2:i16
    0x1ec v_mad_i16 +clamp
operands: vdst:b32 src0:f32 src1:u32
    0x1f0 v_cvt_pkaccum_u8_f32
operands: vdst:f64 src0:f64 src1:f64 +eighth
    0x280 v_add_f64
    0x282 v_min_f64
    0x283 v_max_f64
operands: vdst:f64 src0:f64 src1:f64 +sixteenth
    0x281 v_mul_f64
operands: vdst:f64 src0:f64 src1:i32 +eighth
    0x284 v_ldexp_f64
operands: vdst:u32 src0:u32 src1:u32 +quarter
    0x285 v_mul_lo_u32
    0x286 v_mul_hi_u32
operands: vdst:i32 src0:i32 src1:i32 +quarter
    0x287 v_mul_hi_i32
operands: vdst:f32 src0:f32 src1:i32
    0x288 v_ldexp_f32
operands: sdst:b32 src0:b32 src1:u32
    0x289 v_readlane_b32 +vgpr_src0 +scalar_src1
operands: vdst:b32 src0:b32 src1:u32
    0x28a v_writelane_b32 +scalar_src0 +scalar_src1
operands: vdst:u32 src0:b32 src1:u32
    0x28b v_bcnt_u32_b32
    0x28c v_mbcnt_lo_u32_b32
    0x28d v_mbcnt_hi_u32_b32
operands: vdst:b64 src0:u32 src1:b64 +half
    0x28f v_lshlrev_b64
    0x290 v_lshrrev_b64
operands: vdst:i64 src0:u32 src1:i64 +half
    0x291 v_ashrrev_i64
operands: vdst:f64 src0:f64 src1:u32 +sixteenth
    0x292 v_trig_preop_f64
operands: vdst:b32 src0:u32 src1:u32
    0x293 v_bfm_b32
    0x297 v_cvt_pk_u16_u32
operands: vdst:b32 src0:f32 src1:f32
    0x294 v_cvt_pknorm_i16_f32
    0x295 v_cvt_pknorm_u16_f32
    0x296 v_cvt_pkrtz_f16_f32
operands: vdst:b32 src0:i32 src1:i32
    0x298 v_cvt_pk_i16_i32
""",
)
