"""Double precision at half the rate of single (gfx906; LLVM: FeatureHalfRate64Ops; Instinct MI60: 7.4 TFLOPS).

Reciprocals and roots of doubles have the quarter rate of other transcendental functions (LLVM's SIFullSpeedModel).
"""

from isa.opcodes.extension import Extension
from isa.opcodes.opcode import EIGHTH_RATE, HALF_RATE, SIXTEENTH_RATE
from isa.opcodes.table import rows

EXTENSION = Extension(
    "half_rate_doubles",
    rows=rows(
        """
encoding: vop1 valu
operands: vdst:f64 src0:f64 +quarter
    0x25 v_rcp_f64
    0x26 v_rsq_f64
    0x28 v_sqrt_f64
encoding: vop3 valu
operands: vdst:f64 src0:f64 src1:u32 +quarter
    0x292 v_trig_preop_f64
"""
    ),
    rates={EIGHTH_RATE: HALF_RATE, SIXTEENTH_RATE: HALF_RATE},
)
