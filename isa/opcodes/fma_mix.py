"""Fused multiply-adds of FP32 whose sources may be halves in FP16, v_fmac_f32 (gfx906; LLVM: FeatureFmaMixInsts)."""

from isa.opcodes.extension import Extension
from isa.opcodes.table import rows

EXTENSION = Extension(
    "fma_mix",
    rows=rows(
        """
encoding: vop3p valu
operands: vdst:f32 src0:mix src1:mix src2:mix
    0x20 v_fma_mix_f32
operands: vdst:f16 src0:mix src1:mix src2:mix
    0x21 v_fma_mixlo_f16
    0x22 v_fma_mixhi_f16
encoding: vop2 valu
operands: vdst:f32 src0:f32 vsrc1:f32
    0x3b v_fmac_f32 +no_sdwa
operands: vdst:b32 src0:b32 vsrc1:b32
    0x3d v_xnor_b32
"""
    ),
)
