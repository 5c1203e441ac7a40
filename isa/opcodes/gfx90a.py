"""GFX90A: one file of 512 registers, doubles in the matrix unit, pairs of FP32 (AMD CDNA 2 ISA manual).

Memory instructions may have accumulation registers for data (bit ACC), C and D of a matrix product vector registers.
SCC asks for coherence with other devices. Gone: samplers but for image_sample, LDS operations between two of its words,
the data share of the whole GPU but for its barriers. As all vector instructions reach the results of matrix products,
hazards concern all of them; products of FP64 (DMFMA below) and dot products have rules of their own. Doubles have the
full rate (LLVM: SIDPGFX90AFullSpeedModel). Matrix products take the vector ALU for four cycles, those of doubles
('alone') for all of theirs (AMD's matrix instruction calculator).
"""

from isa.opcodes.base import BASE
from isa.opcodes.extension import Extension
from isa.opcodes.formats import layout
from isa.opcodes.gfx9 import EXTENSION as GFX9
from isa.opcodes.gfx908 import OWN_FILE_NAMES, ROWS
from isa.opcodes.hazards import Hazard
from isa.opcodes.opcode import EIGHTH_RATE, FULL_RATE, HALF_RATE, SIXTEENTH_RATE, Opcode
from isa.opcodes.table import read_rows

_FLAT = "op:18:7 offset:0:13 lds:13:1 glc:16:1 slc:17:1 scc:25:1 vdst:56:8 acc:55:1 saddr:48:7 data:40:8 addr:32:8"
_BUFFER = "glc:14:1 idxen:13:1 offen:12:1 offset:0:12 soffset:56:8 acc:55:1 srsrc:48:5 vdata:40:8 vaddr:32:8"
_FLUSHED = ("f16", "bf16", "bf16_1k")  # whose denormals are zero (isa.lanes.matrix)


def _matrix(opcode: Opcode) -> Opcode:
    """Return a matrix product as this GPU computes it."""
    flushes = opcode.mnemonic.endswith(_FLUSHED)
    return opcode._replace(computes=f"{opcode.mnemonic}.flush") if flushes else opcode


def _gone(opcode: Opcode) -> bool:
    """Tell whether the GPU lacks one of the first generation's instructions."""
    sampler = opcode.encoding == "mimg" and "ssamp" in opcode.operands and opcode.mnemonic != "image_sample"
    return sampler or "_src2_" in opcode.mnemonic or opcode.mnemonic == "ds_ordered_count"


_OWN = read_rows("gfx90a.txt")
_OTHERS = tuple(opcode for opcode in _OWN if "matrix" not in opcode.flags)
_PRODUCTS = "LLVM 19 GCNHazardRecognizer, checkMAIHazards90A"
_OTHERS_AFTER = "LLVM 19 GCNHazardRecognizer, checkMAIVALUHazards"
_VECTOR = "VALU, VMEM, LDS or export"

_HAZARDS = (
    Hazard(
        "mfma-mfma-c",
        "MFMA writes registers",
        "MFMA reads some of them, but not the same, as SrcC",
        {2: 2, 8: 8, 16: 16},
        _PRODUCTS,
    ),
    Hazard(
        "mfma-dmfma-c", "MFMA writes registers", "DMFMA reads some of them as SrcC", {2: 3, 8: 9, 16: 17}, _PRODUCTS
    ),
    Hazard(
        "dmfma-dmfma-c",
        "DMFMA writes registers",
        "DMFMA reads some of them, but not the same, as SrcC",
        {4: 4, 8: 9},
        _PRODUCTS,
    ),
    Hazard("dmfma-same-c", "DMFMA of 4 passes", "DMFMA of 4 passes reads the same registers as SrcC", 4, _PRODUCTS),
    Hazard(
        "mfma-mfma-ab",
        "MFMA writes registers",
        "MFMA or DMFMA reads some of them as SrcA or SrcB",
        {2: 5, 8: 11, 16: 19},
        _PRODUCTS,
    ),
    Hazard(
        "dmfma-mfma-ab",
        "DMFMA writes registers",
        "MFMA or DMFMA reads some of them as SrcA or SrcB",
        {4: 6, 8: 11},
        _PRODUCTS,
    ),
    Hazard("mfma-read", "MFMA writes registers", f"{_VECTOR} reads one", {2: 5, 8: 11, 16: 19}, _OTHERS_AFTER),
    Hazard("mfma-write", "MFMA writes registers", f"{_VECTOR} writes one", {2: 5, 8: 11, 16: 19}, _OTHERS_AFTER),
    Hazard("mfma-c-write", "MFMA reads SrcC", f"{_VECTOR} writes some of it", {2: 1, 8: 7, 16: 15}, _OTHERS_AFTER),
    Hazard("dmfma-valu-read", "DMFMA writes registers", "VALU reads one", {4: 6, 8: 11}, _OTHERS_AFTER),
    Hazard(
        "dmfma-memory-read", "DMFMA writes registers", "VMEM, LDS or export reads one", {4: 9, 8: 18}, _OTHERS_AFTER
    ),
    Hazard("dmfma-write", "DMFMA writes registers", f"{_VECTOR} writes one", {4: 6, 8: 11}, _OTHERS_AFTER),
    Hazard("dmfma-fma", "DMFMA", "v_fma_f64, v_fmac_f64", 2, _OTHERS_AFTER),
    Hazard(
        "valu-dmfma-memory", "VALU writes a vector register, DMFMA follows", "VMEM or LDS reads it", 2, _OTHERS_AFTER
    ),
    Hazard(
        "dot-read",
        "a dot product writes a VGPR",
        f"{_VECTOR} reads it, but for the same instruction's SrcC",
        3,
        _OTHERS_AFTER,
    ),
    Hazard("dot-write", "a dot product writes a VGPR", f"{_VECTOR} writes it, but for the same", 3, _OTHERS_AFTER),
)

EXTENSION = Extension(
    "gfx90a",
    rows=(*(_matrix(opcode) for opcode in (*ROWS, *_OWN) if "matrix" in opcode.flags), *_OTHERS),
    removed=tuple((opcode.encoding, opcode.number) for opcode in (*BASE.rows, *GFX9.rows) if _gone(opcode)),
    formats={
        **dict.fromkeys(("flat", "global", "scratch"), layout(2, _FLAT)),
        "ds": layout(2, "op:17:8 acc:25:1 gds:16:1 offset1:8:8 offset0:0:8 vdst:56:8 data1:48:8 data0:40:8 addr:32:8"),
        "mubuf": layout(2, f"op:18:7 slc:17:1 lds:16:1 scc:15:1 {_BUFFER}"),
        "mtbuf": layout(2, f"op:15:4 nfmt:23:3 dfmt:19:4 slc:54:1 scc:53:1 {_BUFFER}"),
        "mimg": layout(
            2,
            "op:18:7 slc:25:1 lwe:17:1 acc:16:1 a16:15:1 da:14:1 glc:13:1 unrm:12:1 dmask:8:4 scc:7:1"
            " d16:63:1 ssamp:53:5 srsrc:48:5 vdata:40:8 vaddr:32:8",
        ),
    },
    hazards=_HAZARDS,
    removed_hazards=OWN_FILE_NAMES,
    rates=dict.fromkeys((HALF_RATE, EIGHTH_RATE, SIXTEENTH_RATE), FULL_RATE),
)
