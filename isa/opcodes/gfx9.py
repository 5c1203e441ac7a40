"""GFX9: what Vega changes of the instruction set (Vega ISA manual, chapters 12 and 13; LLVM's tables for gfx900).

Encodings: offsets in FLAT instructions and the segments GLOBAL and SCRATCH; a signed offset beside a register in SMEM;
op_sel in VOP3; scalar sources, output modifiers and a chosen destination of comparisons in SDWA. Instructions:
additions without carry (v_add_u32 is one now, and those with carry have other names), three-operand integer
arithmetic, 16-bit forms of what had 32 bits alone, loads and stores of half a register (d16), wider scalar arithmetic.
Gone: relative moves of vector registers. Hazards: what reads M0.
A fused multiply-add has the rate of an addition (LLVM: FeatureFastFMAF32 of gfx900).
"""

from isa.opcodes.base import BASE
from isa.opcodes.extension import Extension
from isa.opcodes.formats import layout
from isa.opcodes.hazards import Hazard
from isa.opcodes.opcode import SMEM, Opcode
from isa.opcodes.table import read_rows, row

_ROWS = read_rows("gfx9.txt")

_ATOMIC = frozenset({"atomic"})
_ATOMICS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")

_TO_LDS = ("_load_ubyte", "_load_sbyte", "_load_ushort", "_load_sshort", "_load_dword")


def _scalar_atomics() -> tuple[Opcode, ...]:
    """Return SMEM's atomics, whose numbers are regular: of buffers from 0x40 on, of addresses from 0x80 on."""
    made: list[Opcode] = []
    for first, prefix, base in ((0x40, "s_buffer_atomic", "b128"), (0x80, "s_atomic", "b64")):
        for wide, suffix in ((0, ""), (0x20, "_x2")):
            for number, name in enumerate(_ATOMICS):
                bits = (64 if wide else 32) * (2 if name == "cmpswap" else 1)
                operands = f"sdata:b{bits} sbase:{base} offset:smem"
                made.append(row("smem", SMEM, first + wide + number, f"{prefix}_{name}{suffix}", operands, _ATOMIC))
    return tuple(made)


def _segment(name: str) -> tuple[Opcode, ...]:
    """Return FLAT's instructions as those of a segment, 'global' or 'scratch', which has a scalar address beside it."""
    made = []
    for opcode in (*BASE.rows, *_ROWS):
        if opcode.encoding != "flat" or (name == "scratch" and "atomic" in opcode.flags):
            continue
        address = "addr:segment saddr" if opcode.operands.endswith("addr:b64") else "addr:segment"
        operands = opcode.operands.replace("addr:b64", address)
        if not address.endswith("saddr"):
            operands += " saddr"
        mnemonic = opcode.mnemonic.replace("flat_", f"{name}_")
        flags = opcode.flags | {"to_lds"} if mnemonic.endswith(_TO_LDS) else opcode.flags
        made.append(opcode._replace(mnemonic=mnemonic, encoding=name, operands=operands, flags=flags))
    return tuple(made)


_SDWA_SOURCES = (
    "src0_sel:16:3 src0_sext:19:1 src0_neg:20:1 src0_abs:21:1 src0_scalar:23:1"
    " src1_sel:24:3 src1_sext:27:1 src1_neg:28:1 src1_abs:29:1 src1_scalar:31:1"
)
_FLAT = layout(2, "op:18:7 offset:0:13 lds:13:1 glc:16:1 slc:17:1 vdst:56:8 nv:55:1 saddr:48:7 data:40:8 addr:32:8")
_VOP3_SOURCES = "vdst:0:8 neg:61:3 omod:59:2 src2:50:9 src1:41:9 src0:32:9"

_M0_READ = (
    "Vega ISA manual, section 4.5: manually inserted wait states; LLVM GCNHazardRecognizer for GFX9"
    " (hasReadM0MovRelInterpHazard, hasReadM0LdsDmaHazard, hasReadM0LdsDirectHazard); Mesa aco_insert_NOPs for GFX9"
)

EXTENSION = Extension(
    "gfx9",
    rows=_ROWS + _scalar_atomics() + _segment("global") + _segment("scratch"),
    removed=(("vop1", 0x36), ("vop1", 0x38)),
    formats={
        "vop3": layout(2, f"op:16:10 clamp:15:1 op_sel:11:4 abs:8:3 {_VOP3_SOURCES}"),
        "smem": layout(
            2, "op:18:8 imm:17:1 glc:16:1 nv:15:1 soffset_en:14:1 sdata:6:7 sbase:0:6 offset:32:21 soffset:57:7"
        ),
        **dict.fromkeys(("flat", "global", "scratch"), _FLAT),
        "mimg": layout(
            2,
            "op:18:7 slc:25:1 lwe:17:1 tfe:16:1 a16:15:1 da:14:1 glc:13:1 unrm:12:1 dmask:8:4"
            " d16:63:1 ssamp:53:5 srsrc:48:5 vdata:40:8 vaddr:32:8",
        ),
        "sdwa": layout(1, f"src0:0:8 dst_sel:8:3 dst_unused:11:2 clamp:13:1 omod:14:2 {_SDWA_SOURCES}"),
        "sdwa_vopc": layout(1, f"src0:0:8 sdst:8:7 sdst_en:15:1 {_SDWA_SOURCES}"),
    },
    encodings=(
        (0xFC00C000, 0xDC000000, "flat"),
        (0xFC00C000, 0xDC004000, "scratch"),
        (0xFC00C000, 0xDC008000, "global"),
    ),
    hazards=(
        Hazard("m0-relative-move", "SALU writes M0", "s_movrels, s_movreld", 1, _M0_READ),
        Hazard("m0-lds", "SALU writes M0", "LDS by M0: ds_*_addtid, loads into LDS, src_lds_direct", 1, _M0_READ),
    ),
)
