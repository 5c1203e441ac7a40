"""Dot products of the parts of registers, added to a sum (gfx906; LLVM: FeatureDot1Insts, FeatureDot2Insts)."""

from isa.opcodes.extension import Extension
from isa.opcodes.table import rows

EXTENSION = Extension(
    "dot",
    rows=rows(
        """
encoding: vop3p valu
operands: vdst:f32 src0:f16x2 src1:f16x2 src2:f32
    0x23 v_dot2_f32_f16
operands: vdst:i32 src0:i16x2 src1:i16x2 src2:i32
    0x26 v_dot2_i32_i16 +clamp
operands: vdst:u32 src0:u16x2 src1:u16x2 src2:u32
    0x27 v_dot2_u32_u16 +clamp
operands: vdst:i32 src0:i8x4 src1:i8x4 src2:i32
    0x28 v_dot4_i32_i8 +clamp
operands: vdst:u32 src0:u8x4 src1:u8x4 src2:u32
    0x29 v_dot4_u32_u8 +clamp
operands: vdst:i32 src0:i4x8 src1:i4x8 src2:i32
    0x2a v_dot8_i32_i4 +clamp
operands: vdst:u32 src0:u4x8 src1:u4x8 src2:u32
    0x2b v_dot8_u32_u4 +clamp
"""
    ),
)
