"""VOP3P: arithmetic on two 16-bit halves of a register at once (Vega ISA manual, chapters 6 and 12).

op_sel and op_sel_hi choose the half that the lower and the upper result take of each source, neg and neg_hi negate it.
"""

from isa.opcodes.extension import Extension
from isa.opcodes.formats import layout
from isa.opcodes.table import rows

EXTENSION = Extension(
    "packed",
    rows=rows(
        """
encoding: vop3p valu
operands: vdst:i16x2 src0:i16x2 src1:i16x2 src2:i16x2
    0x00 v_pk_mad_i16 +clamp
operands: vdst:u16x2 src0:u16x2 src1:u16x2
    0x01 v_pk_mul_lo_u16
    0x0a v_pk_add_u16 +clamp
    0x0b v_pk_sub_u16 +clamp
    0x0c v_pk_max_u16
    0x0d v_pk_min_u16
operands: vdst:i16x2 src0:i16x2 src1:i16x2
    0x02 v_pk_add_i16 +clamp
    0x03 v_pk_sub_i16 +clamp
    0x07 v_pk_max_i16
    0x08 v_pk_min_i16
operands: vdst:b16x2 src0:u16x2 src1:b16x2
    0x04 v_pk_lshlrev_b16
    0x05 v_pk_lshrrev_b16
operands: vdst:i16x2 src0:u16x2 src1:i16x2
    0x06 v_pk_ashrrev_i16
operands: vdst:u16x2 src0:u16x2 src1:u16x2 src2:u16x2
    0x09 v_pk_mad_u16 +clamp
operands: vdst:f16x2 src0:f16x2 src1:f16x2 src2:f16x2
    0x0e v_pk_fma_f16
operands: vdst:f16x2 src0:f16x2 src1:f16x2
    0x0f v_pk_add_f16
    0x10 v_pk_mul_f16
    0x11 v_pk_min_f16
    0x12 v_pk_max_f16
"""
    ),
    formats={
        "vop3p": layout(
            2,
            "op:16:7 clamp:15:1 op_sel_hi2:14:1 op_sel:11:3 neg_hi:8:3 vdst:0:8"
            " neg:61:3 op_sel_hi:59:2 src2:50:9 src1:41:9 src0:32:9",
        )
    },
    encodings=((0xFF800000, 0xD3800000, "vop3p"),),
)
