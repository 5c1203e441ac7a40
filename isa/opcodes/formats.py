"""Instruction formats: which bits tell the encoding, and where each field lies (GCN3 ISA manual, chapter 13)."""

from typing import NamedTuple


class Format(NamedTuple):
    """An encoding of `words` 32-bit words; fields are (name, lowest bit, width), bit 32 begins the second word."""

    words: int
    """32-bit words of the encoding."""
    fields: tuple[tuple[str, int, int], ...]
    """Name, lowest bit and width of each field."""


def layout(words: int, text: str) -> Format:
    """Parse a format of `words` 32-bit words; text: 'name:lowest bit:width' of each field, the opcode's first."""
    fields = []
    for item in text.split():
        name, low, width = item.split(":")
        fields.append((name, int(low), int(width)))
    return Format(words, tuple(fields))


FORMATS: dict[str, Format] = {
    "sop2": layout(1, "op:23:7 sdst:16:7 ssrc1:8:8 ssrc0:0:8"),
    "sopk": layout(1, "op:23:5 sdst:16:7 simm16:0:16"),
    "sop1": layout(1, "op:8:8 sdst:16:7 ssrc0:0:8"),
    "sopc": layout(1, "op:16:7 ssrc1:8:8 ssrc0:0:8"),
    "sopp": layout(1, "op:16:7 simm16:0:16"),
    "smem": layout(2, "op:18:8 imm:17:1 glc:16:1 sdata:6:7 sbase:0:6 offset:32:20"),
    "vop2": layout(1, "op:25:6 vdst:17:8 vsrc1:9:8 src0:0:9"),
    "vop1": layout(1, "op:9:8 vdst:17:8 src0:0:9"),
    "vopc": layout(1, "op:17:8 vsrc1:9:8 src0:0:9"),
    "vop3": layout(2, "op:16:10 clamp:15:1 abs:8:3 vdst:0:8 neg:61:3 omod:59:2 src2:50:9 src1:41:9 src0:32:9"),
    "vop3b": layout(2, "op:16:10 clamp:15:1 sdst:8:7 vdst:0:8 neg:61:3 omod:59:2 src2:50:9 src1:41:9 src0:32:9"),
    "vintrp": layout(1, "op:16:2 vdst:18:8 attr:10:6 attrchan:8:2 vsrc:0:8"),
    "ds": layout(2, "op:17:8 gds:16:1 offset1:8:8 offset0:0:8 vdst:56:8 data1:48:8 data0:40:8 addr:32:8"),
    "flat": layout(2, "op:18:7 reserved:0:13 slc:17:1 glc:16:1 vdst:56:8 tfe:55:1 data:40:8 addr:32:8"),
    "mubuf": layout(
        2,
        "op:18:7 slc:17:1 lds:16:1 glc:14:1 idxen:13:1 offen:12:1 offset:0:12"
        " soffset:56:8 tfe:55:1 srsrc:48:5 vdata:40:8 vaddr:32:8",
    ),
    "mtbuf": layout(
        2,
        "op:15:4 nfmt:23:3 dfmt:19:4 glc:14:1 idxen:13:1 offen:12:1 offset:0:12"
        " soffset:56:8 tfe:55:1 slc:54:1 srsrc:48:5 vdata:40:8 vaddr:32:8",
    ),
    "mimg": layout(
        2,
        "op:18:7 slc:25:1 lwe:17:1 tfe:16:1 r128:15:1 da:14:1 glc:13:1 unrm:12:1 dmask:8:4"
        " d16:63:1 ssamp:53:5 srsrc:48:5 vdata:40:8 vaddr:32:8",
    ),
    "exp": layout(2, "vm:12:1 done:11:1 compr:10:1 tgt:4:6 en:0:4 vsrc3:56:8 vsrc2:48:8 vsrc1:40:8 vsrc0:32:8"),
}

# The word after a VOP1, VOP2 or VOPC instruction whose src0 field holds one of these numbers.
SDWA, DPP, LITERAL = 249, 250, 255
SDWA_WORD = layout(
    1,
    "src0:0:8 dst_sel:8:3 dst_unused:11:2 clamp:13:1 src0_sel:16:3 src0_sext:19:1 src0_neg:20:1 src0_abs:21:1"
    " src1_sel:24:3 src1_sext:27:1 src1_neg:28:1 src1_abs:29:1",
)
DPP_WORD = layout(
    1,
    "src0:0:8 dpp_ctrl:8:9 bound_ctrl:19:1 src0_neg:20:1 src0_abs:21:1 src1_neg:22:1 src1_abs:23:1"
    " bank_mask:24:4 row_mask:28:4",
)

# Bits 31-26 of a 64-bit encoding's first word.
_LONG = {
    0b110000: "smem",
    0b110001: "exp",
    0b110100: "vop3",
    0b110101: "vintrp",
    0b110110: "ds",
    0b110111: "flat",
    0b111000: "mubuf",
    0b111010: "mtbuf",
    0b111100: "mimg",
}


def encoding_of(word: int) -> str | None:
    """Return the encoding that an instruction's first word has, None where the architecture defines none."""
    if word >> 31 == 0:
        top = word >> 25
        return "vop1" if top == 0b0111111 else "vopc" if top == 0b0111110 else "vop2"
    if word >> 30 == 0b10:
        top = word >> 23
        if top == 0b101111101:
            return "sop1"
        if top == 0b101111110:
            return "sopc"
        if top == 0b101111111:
            return "sopp"
        return "sopk" if word >> 28 == 0b1011 else "sop2"
    return _LONG.get(word >> 26)
