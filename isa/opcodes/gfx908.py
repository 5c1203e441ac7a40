"""GFX908: matrix products and the accumulation registers that hold their sums (AMD CDNA 1 ISA manual, chapter 8).

An instruction multiplies matrices whose elements lie in the registers of all 64 lanes and adds a third one
(`isa.lanes.matrix`). Sums lie in accumulation registers, a0 to a255, a file of their own; the decoder numbers them
after the vector registers (`isa.encoding.accumulation`). Beside these: dot products that add to their destination,
and additions of FP32 and of two FP16 in memory that return nothing.

MI100 misreads an inline constant in place of C, which LLVM calls FeatureMFMAInlineLiteralBug: such code is refused.

Passes of four cycles that a product takes are its flags 'pass2' to 'pass16': LLVM's SISchedule.td (MI100) and AMD's
matrix instruction calculator. Its rate class says for how long it takes the vector ALU, which is free for others
during the rest: eight cycles (same calculator: 56 of 64, 24 of 32 and 0 of 8 cycles are left for others). Hazards are
by passes, too, since software must wait for a product's sums: LLVM's alone, as the manual's table was not at hand.
"""

from isa.opcodes.extension import Extension
from isa.opcodes.formats import layout
from isa.opcodes.hazards import Hazard
from isa.opcodes.table import read_rows

ROWS = read_rows("gfx908.txt")
_MATRIX_FIELDS = "op:16:7 vdst:0:8 cbsz:8:3 abid:11:4 acc_cd:15:1 blgp:61:3 acc:59:2 src2:50:9 src1:41:9 src0:32:9"
_MOVE_FIELDS = "op:16:7 vdst:0:8 cbsz:8:3 abid:11:3 blgp:61:3 src2:50:9 src1:41:9 src0:32:9"
_CONSTANT_BUG = frozenset(("constant_bug", "sums_accumulate"))
_PRODUCTS = "LLVM 19 GCNHazardRecognizer, checkMAIHazards908"
_MEMORY = "LLVM 19 GCNHazardRecognizer, checkMAILdStHazards"

_OWN_FILE_HAZARDS = (
    Hazard("dot-mfma", "a dot product writes a VGPR", "MFMA reads it", 2, _PRODUCTS),
    Hazard("exec-accvgpr-write", "VALU writes EXEC", "v_accvgpr_write", 4, _PRODUCTS),
    Hazard("valu-accvgpr-write", "VALU writes a VGPR", "v_accvgpr_write reads it", 2, _PRODUCTS),
    Hazard("mfma-accvgpr-read", "MFMA writes an AccVGPR", "v_accvgpr_read reads it", {2: 4, 8: 10, 16: 18}, _PRODUCTS),
    Hazard(
        "mfma-accvgpr-write", "MFMA writes an AccVGPR", "v_accvgpr_write writes it", {2: 1, 8: 7, 16: 15}, _PRODUCTS
    ),
    Hazard("mfma-c-accvgpr-write", "MFMA reads SrcC", "v_accvgpr_write writes it", {8: 5, 16: 13}, _PRODUCTS),
    Hazard("accvgpr-write-mfma-c", "v_accvgpr_write", "MFMA reads it as SrcC", 1, _PRODUCTS),
    Hazard("accvgpr-write-mfma-ab", "v_accvgpr_write", "MFMA reads it as SrcA or SrcB", 3, _PRODUCTS),
    Hazard("accvgpr-write-read", "v_accvgpr_write", "v_accvgpr_read reads it", 3, _PRODUCTS),
    Hazard("accvgpr-write-write", "v_accvgpr_write", "v_accvgpr_write writes the same", 3, _PRODUCTS),
    Hazard("accvgpr-read-memory", "v_accvgpr_read", "VMEM or LDS reads its VGPR", 2, _MEMORY),
    Hazard(
        "valu-accvgpr-memory",
        "VALU writes a VGPR, v_accvgpr_read or v_accvgpr_write follows",
        "VMEM or LDS reads it",
        2,
        _MEMORY,
    ),
)
OWN_FILE_NAMES = tuple(hazard.name for hazard in _OWN_FILE_HAZARDS)
"""Hazards of accumulation registers as a file of their own."""

EXTENSION = Extension(
    "gfx908",
    rows=tuple(o._replace(flags=o.flags | _CONSTANT_BUG) if "matrix" in o.flags else o for o in ROWS),
    formats={"matrix": layout(2, _MATRIX_FIELDS), "accumulation": layout(2, _MOVE_FIELDS)},
    hazards=(
        Hazard("exec-mfma", "VALU writes EXEC", "MFMA", 4, _PRODUCTS),
        Hazard("valu-mfma", "VALU, but no dot product, writes a vector register", "MFMA reads it", 2, _PRODUCTS),
        Hazard(
            "mfma-mfma-c", "MFMA writes registers", "MFMA reads some of them, but not the same, as SrcC", 2, _PRODUCTS
        ),
        Hazard("mfma-mfma-ab", "MFMA writes registers", "MFMA reads some of them as SrcA or SrcB", 4, _PRODUCTS),
        *_OWN_FILE_HAZARDS,
    ),
)
