"""GFX942: matrix products of FP8, of sparse matrices and of reduced FP32 (AMD CDNA 3 ISA manual).

Matrix products have the number of their blocks in their names, keep denormals, and of BF16 are those of four elements a
lane alone. Of memory instructions the bits GLC, SLC and SCC are called SC0, NT and SC1, which say how far they reach.
Private memory has an address of its own from the start (LLVM: FeatureArchitectedFlatScratch); SCRATCH instructions may
have a vector and a scalar address, or none (bit SVE). Gone: images, products that are rounded before they are added.
Loads into LDS are instructions of their own, but for those from buffers.
"""

from isa.opcodes.base import BASE
from isa.opcodes.extension import Extension
from isa.opcodes.formats import layout
from isa.opcodes.gfx9 import EXTENSION as GFX9
from isa.opcodes.gfx90a import EXTENSION as GFX90A
from isa.opcodes.gfx908 import EXTENSION as GFX908
from isa.opcodes.table import read_rows

_OWN = read_rows("gfx942.txt")
_NUMBERS = {(opcode.encoding, opcode.number) for opcode in _OWN}
_FLAT = "offset:0:13 glc:16:1 slc:17:1 scc:25:1 vdst:56:8 acc:55:1 saddr:48:7 data:40:8 addr:32:8"
_REPLACED = [(o.encoding, o.number) for o in GFX90A.rows if "matrix" in o.flags]
_GONE = ("v_mac_f32", "v_mad_f32", "v_mad_legacy_f32")

EXTENSION = Extension(
    "gfx942",
    rows=(*(o._replace(flags=o.flags - {"no_scc"}) for o in GFX90A.rows if "no_scc" in o.flags), *_OWN),
    removed=(
        *sorted({(o.encoding, o.number) for o in (*BASE.rows, *GFX9.rows) if o.encoding == "mimg"} - {*GFX90A.removed}),
        *((o.encoding, o.number) for o in BASE.rows if o.mnemonic in _GONE),
        *(place for place in _REPLACED if place not in _NUMBERS),
    ),
    # its own rules of matrix products are not listed: its timing is refused, and others' are not its
    removed_hazards=tuple(
        sorted({hazard.name for hazard in (*GFX908.hazards, *GFX90A.hazards)} - {*GFX90A.removed_hazards})
    ),
    formats={
        **dict.fromkeys(("flat", "global"), layout(2, f"op:18:7 {_FLAT}")),
        "scratch": layout(2, f"op:18:7 sve:13:1 {_FLAT}"),
    },
)
