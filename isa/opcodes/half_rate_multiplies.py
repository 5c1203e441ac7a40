"""32-bit integer multiplication at half the rate of additions (gfx906), where earlier GCN parts have a quarter.

No manual has a figure. clpeak's integer test, a chain of `v_mul_lo_u32` and additions, reaches 0.331 to 0.333 of the
same run's FP32 rate on three Vega 20 cards under two driver families, and 0.177 to 0.202 on Vega 10, Fiji, Polaris and
Tonga (gpusim/lab/microbench/references.py). 8 cycles beside an addition's 4 give 1/3, 16 give 1/5. The MI100 has the
same rate, 0.331. A die of the MI250X has 0.473, as 4 cycles give: the rate is that of doubles on each of these.

Only `v_mul_lo_u32` was measured. The upper halves and the 64-bit sums of a product are assumed to share its multiplier:
LLVM has all of them in one class (SISchedule.td, WriteIntMul), whose rate on gfx90a is that of doubles, as here.
"""

from isa.opcodes.extension import Extension
from isa.opcodes.table import rows

EXTENSION = Extension(
    "half_rate_multiplies",
    rows=rows(
        """
encoding: vop3 valu
operands: vdst:u64 sdst:b64 src0:u32 src1:u32 src2:u64 +half
    0x1e8 v_mad_u64_u32 +clamp
operands: vdst:i64 sdst:b64 src0:i32 src1:i32 src2:i64 +half
    0x1e9 v_mad_i64_i32 +clamp
operands: vdst:u32 src0:u32 src1:u32 +half
    0x285 v_mul_lo_u32
    0x286 v_mul_hi_u32
operands: vdst:i32 src0:i32 src1:i32 +half
    0x287 v_mul_hi_i32
"""
    ),
)
