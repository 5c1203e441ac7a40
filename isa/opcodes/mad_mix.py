"""Multiply-adds of FP32 whose sources may be halves in FP16, unfused (gfx900; Vega ISA manual, V_MAD_MIX_F32).

op_sel_hi says that a source is in FP16, op_sel which half of the register it is, neg_hi takes its magnitude.
"""

from isa.opcodes.extension import Extension
from isa.opcodes.table import rows

EXTENSION = Extension(
    "mad_mix",
    rows=rows(
        """
encoding: vop3p valu
operands: vdst:f32 src0:mix src1:mix src2:mix
    0x20 v_mad_mix_f32
operands: vdst:f16 src0:mix src1:mix src2:mix
    0x21 v_mad_mixlo_f16
    0x22 v_mad_mixhi_f16
"""
    ),
)
