"""GFX908: matrix products and the accumulation registers that hold their sums (AMD CDNA 1 ISA manual, chapter 8).

An instruction multiplies matrices whose elements lie in the registers of all 64 lanes and adds a third one
(`isa.lanes.matrix`). Sums lie in accumulation registers, a0 to a255, a file of their own; the decoder numbers them
after the vector registers (`isa.encoding.accumulation`). Beside these: dot products that add to their destination,
and additions of FP32 and of two FP16 in memory that return nothing.

MI100 misreads an inline constant in place of C, which LLVM calls FeatureMFMAInlineLiteralBug: such code is refused.

Passes of four cycles that a product takes are its flags 'pass2' to 'pass16': LLVM's SISchedule.td (MI100) and AMD's
matrix instruction calculator. Its rate class says for how long it takes the vector ALU, which is free for others
during the rest: eight cycles (same calculator: 56 of 64, 24 of 32 and 0 of 8 cycles are left for others).
"""

from isa.opcodes.extension import Extension
from isa.opcodes.formats import layout
from isa.opcodes.table import read_rows

ROWS = read_rows("gfx908.txt")
_MATRIX_FIELDS = "op:16:7 vdst:0:8 cbsz:8:3 abid:11:4 acc_cd:15:1 blgp:61:3 acc:59:2 src2:50:9 src1:41:9 src0:32:9"
_MOVE_FIELDS = "op:16:7 vdst:0:8 cbsz:8:3 abid:11:3 blgp:61:3 src2:50:9 src1:41:9 src0:32:9"
_CONSTANT_BUG = frozenset(("constant_bug", "sums_accumulate"))

EXTENSION = Extension(
    "gfx908",
    rows=tuple(o._replace(flags=o.flags | _CONSTANT_BUG) if "matrix" in o.flags else o for o in ROWS),
    formats={"matrix": layout(2, _MATRIX_FIELDS), "accumulation": layout(2, _MOVE_FIELDS)},
)
