"""Random instruction words of every format, mostly valid: fields are drawn from what their operands allow."""

import random
import re

from isa.encoding.decoder import allows
from isa.encoding.operand_text import bits_of
from isa.opcodes import GFX803, Architecture
from isa.opcodes.formats import DPP, SDWA
from isa.opcodes.opcode import Opcode

ENCODING_BITS = {
    "sop2": 0b10 << 30,
    "sopk": 0b1011 << 28,
    "sop1": 0b101111101 << 23,
    "sopc": 0b101111110 << 23,
    "sopp": 0b101111111 << 23,
    "smem": 0b110000 << 26,
    "vop2": 0,
    "vop1": 0b0111111 << 25,
    "vopc": 0b0111110 << 25,
    "vop3": 0b110100 << 26,
    "ds": 0b110110 << 26,
    "flat": 0b110111 << 26,
    "scratch": 0b110111 << 26 | 1 << 14,
    "global": 0b110111 << 26 | 2 << 14,
    "vop3p": 0b110100111 << 23,
    "mubuf": 0b111000 << 26,
    "mtbuf": 0b111010 << 26,
    "mimg": 0b111100 << 26,
}
# Literals with a notation of their own among them: small integers, and floats that are inline constants.
LITERALS = (0, 64, 65, 0x3C00, 0x3F800000, 0xBF000000, 0x3FF00000, 0x40000000, 0x3E22F983, 0xFFFFFFF0, 0xFFFFFFEF)
_SPECIAL_SOURCES = (102, 103, 104, 106, 107, 108, 110, 112, 118, 123, 124, 126, 127, 251, 252, 253)
_SPECIAL_REGISTERS = (102, 106, 124, 126)
_DPP_CONTROLS = (0x101, 0x10F, 0x111, 0x11F, 0x121, 0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143)
_VGPR_FIELDS = ("vdst", "vsrc1", "addr", "data", "data0", "data1", "vdata", "vaddr")


def opcodes(architecture: Architecture = GFX803) -> list[Opcode]:
    """Every opcode that the decoder accepts."""
    tables = architecture.tables
    return [o for e in ENCODING_BITS for o in tables.get(e, {}).values() if "refused" not in o.flags]


def random_words(
    draw: random.Random, opcode: Opcode, form: str = "plain", architecture: Architecture = GFX803
) -> list[int]:
    """Words of one instruction, its literal constant included.

    `form`: 'plain', or 'sdwa' and 'dpp' where the opcode allows them.
    """
    names = [operand.partition(":")[0] for operand in opcode.operands.split()]
    kinds = dict(operand.partition(":")[::2] for operand in opcode.operands.split())
    layout = _layout(opcode)
    bits = ENCODING_BITS[opcode.encoding]
    made = {}
    for name, low, width in architecture.formats[layout].fields:
        value = opcode.number if name == "op" else _field(draw, opcode, kinds, name, width)
        made[name] = (value & (1 << width) - 1, low)
    _match(draw, opcode, made)
    bits |= sum(value << low for value, low in made.values())
    words = [bits >> 32 * i & 0xFFFFFFFF for i in range(architecture.formats[layout].words)]
    if form != "plain":
        words[0] = words[0] & ~0x1FF | (SDWA if form == "sdwa" else DPP)
        word = "sdwa_vopc" if (form, opcode.encoding) == ("sdwa", "vopc") else form
        extension = _extension(draw, kinds, architecture.formats[word].fields)
        if "whole_result" in opcode.flags and form == "sdwa":
            extension = extension & ~(7 << 8) | 6 << 8
        if (
            form == "dpp"
            and architecture.wide_dpp
            and (any(kind and bits_of(kind) == 64 for kind in kinds.values()) or draw.random() < 0.2)
        ):
            extension = extension & ~(0x1FF << 8) | (0x150 | draw.randrange(16)) << 8
        if architecture is not GFX803 and form == "sdwa" and extension >> 31:
            words[0] = words[0] & ~(0xFF << 9) | draw.choice((draw.randrange(100), draw.randrange(128, 209))) << 9
        return [*words, extension]
    if opcode.encoding in ("sop1", "sop2", "sopc", "vop1", "vop2", "vopc", "sopk") and _has_literal(words[0], names):
        words.append(draw.choice((draw.getrandbits(32), draw.choice(LITERALS))))
    return words


def source_fields(opcode: Opcode, architecture: Architecture) -> list[tuple[int, int]]:
    """Return lowest bit and width of each source that may be of several kinds."""
    names = {operand.partition(":")[0] for operand in opcode.operands.split()}
    fields = architecture.formats[_layout(opcode)].fields
    return [(low, width) for name, low, width in fields if name in names and re.fullmatch(r"s?src[012]", name)]


def _layout(opcode: Opcode) -> str:
    names = {operand.partition(":")[0] for operand in opcode.operands.split()}
    layout = "vop3b" if opcode.encoding == "vop3" and {"sdst", "vdst"} <= names else opcode.encoding
    return next(iter(opcode.flags & {"matrix", "accumulation"}), layout)


def _match(draw: random.Random, opcode: Opcode, made: dict[str, tuple[int, int]]) -> None:
    """Make fields fit one another: an offset register of SMEM, the scalar address of GLOBAL and SCRATCH."""
    if "soffset_en" in made:
        uses = "offset:smem" in opcode.operands
        imm, enabled = (made["imm"][0], made["soffset_en"][0]) if uses else (0, 0)
        made["soffset_en"] = enabled, made["soffset_en"][1]
        made["soffset"] = draw.randrange(100) if enabled else 0, made["soffset"][1]
        if enabled and not imm:
            made["offset"] = 0, made["offset"][1]
        elif uses and imm:
            made["offset"] = draw.choice((draw.getrandbits(21), draw.randrange(100))), made["offset"][1]
    if made.get("lds", (0,))[0] and "acc" in made:
        made["acc"] = 0, made["acc"][1]
    if opcode.encoding in ("global", "scratch"):
        alone = draw.random() < 0.6
        saddr = 0x7F if alone else draw.randrange(0, 100, 2)
        made["saddr"] = saddr, made["saddr"][1]
        if opcode.encoding == "scratch" and not alone and "sve" not in made:
            made["addr"] = 0, made["addr"][1]


def forms(opcode: Opcode, architecture: Architecture = GFX803) -> list[str]:
    """The forms random_words can give to an opcode."""
    if opcode.encoding not in ("vop1", "vop2", "vopc"):
        return ["plain"]
    return ["plain", *(kind for kind in ("sdwa", "dpp") if allows(opcode, kind, architecture))]


def _has_literal(word: int, names: list[str]) -> bool:
    fields = [name for name in ("ssrc0", "ssrc1", "src0") if name in names]
    places = {"ssrc0": (0, 255), "ssrc1": (8, 255), "src0": (0, 511)}
    return "literal" in names or any(word >> places[f][0] & places[f][1] == 255 for f in fields)


def _source(draw: random.Random, scalar: bool, literal: bool, bits: int) -> int:
    kind = draw.random()
    if not scalar and kind < 0.5:
        return 256 + draw.randrange(256)
    if kind < 0.7:
        return draw.randrange(0, 96, max(1, bits // 32))
    if kind < 0.8:
        return draw.randrange(128, 209)
    if kind < 0.88:
        return draw.randrange(240, 249)
    if literal and kind < 0.95:
        return 255
    return draw.choice(_SPECIAL_SOURCES) if bits <= 32 else draw.choice((102, 104, 106, 112, 126, 253))


def _field(draw: random.Random, opcode: Opcode, kinds: dict[str, str], name: str, width: int) -> int:
    encoding, flags = opcode.encoding, opcode.flags
    if name in ("src0", "src1", "src2", "ssrc0", "ssrc1"):
        if name not in kinds:
            return 0
        bits = bits_of("f32" if kinds[name] in ("index", "mix") else kinds[name])
        place = name[-1]
        if "acc_src0" in flags:
            return 256 + draw.randrange(256)
        if f"vgpr_src{place}" in flags:
            return 256 + draw.randrange(256)
        if f"constant_src{place}" in flags:
            return draw.choice((256 + draw.randrange(256), draw.randrange(128, 209), draw.randrange(240, 249)))
        if f"sgpr_src{place}" in flags or f"mask_src{place}" in flags:
            return draw.choice((draw.randrange(0, 100, 2), 106))
        scalar = name[0] == "s" and name[1] == "s"
        scalar = scalar or f"scalar_src{place}" in flags
        if kinds[name] == "index":
            return draw.randrange(32)
        return _source(draw, scalar, encoding not in ("vop3", "vop3p"), bits)
    if name in ("sdst", "sdata") or (name == "vdst" and "sdst" in kinds and "vdst" not in kinds):
        if "sdst" not in kinds and "sdata" not in kinds:
            return 0
        bits = kinds.get("sdst", kinds.get("sdata", "b32"))
        step = 1 if bits == "imm" else min(4, max(1, int(bits[1:]) // 32))
        if encoding == "smem" or step > 2 or draw.random() < 0.8:
            return draw.randrange(0, 84, step)
        return draw.choice((102, 106, 126) if step == 2 else _SPECIAL_REGISTERS)
    if name == "simm16":
        return draw.choice((0, 1, draw.randrange(256), draw.randrange(65536))) if name in kinds else 0
    if name in _VGPR_FIELDS:
        used = name in kinds or (name == "vdst" and encoding in ("flat", "global", "scratch"))
        return draw.randrange(250) if used else 0
    if name in ("cbsz", "abid", "blgp") and ("accumulation" in flags or ("sparse" in flags and name == "blgp")):
        return 0
    if (name == "glc" and "no_return" in flags) or (name == "scc" and "no_scc" in flags):
        return 0
    if name == "op_sel" and encoding == "vop3":
        takes = 8 + sum(1 << i for i in range(3) if f"src{i}" in kinds) + 4 * ("op_sel_src2" in flags)
        return draw.getrandbits(4) & takes if "op_sel" in flags and draw.random() < 0.5 else 0
    if encoding == "vop3p" and name in ("neg", "neg_hi", "op_sel", "op_sel_hi", "op_sel_hi2"):
        return _packed_field(draw, kinds, name)
    if name in ("nv", "sdst_en", "saddr") or (name == "soffset" and encoding == "smem"):
        return 0
    if name == "soffset_en":
        return draw.randrange(2)
    if name in ("neg", "abs"):
        takes = [kinds.get(f"src{i}", "-")[0] == "f" or ("float_sources" in flags and i < 2) for i in range(3)]
        return draw.getrandbits(3) & sum(take << i for i, take in enumerate(takes)) if draw.random() < 0.4 else 0
    if name == "omod":
        return draw.randrange(4) if kinds.get("vdst", "-")[0] == "f" and draw.random() < 0.3 else 0
    if name == "clamp":
        return draw.randrange(2) if kinds.get("vdst", "-")[0] == "f" or "clamp" in flags else 0
    if name == "soffset":
        return _source(draw, True, False, 32) if "soffset" in kinds else 0
    if name == "gds":
        return int("gds_only" in flags or ("no_gds" not in flags and bool(kinds) and draw.random() < 0.1))
    if name == "tfe":
        return int(encoding in ("mubuf", "mimg") and bool(kinds) and "atomic" not in flags and draw.random() < 0.1)
    if name == "acc" and "lds_only" in flags:
        return 0
    if name == "lds":
        return int("to_lds" in flags and draw.random() < 0.1)
    if name == "reserved":
        return 0
    if name == "imm":
        return draw.randrange(2) if "offset" in kinds else 0
    if name == "sbase":
        return draw.randrange(0, 44, 2) if "sbase" in kinds else 0
    if name in ("srsrc", "ssamp"):
        return draw.randrange(24) if name in kinds else 0
    if encoding == "mimg" and name in ("lwe", "d16", "r128", "a16"):
        return int(draw.random() < 0.1 and not re.search("atomic|resinfo|pck|gather4", opcode.mnemonic))
    if name == "dmask":
        every = [3, 15] if "cmpswap" in opcode.mnemonic else [1, 3] if "atomic" in flags else range(1, 16)
        every = [1, 2, 4, 8] if "gather4" in opcode.mnemonic else every
        return draw.choice([*every])
    if name == "offset" and encoding == "smem":
        return draw.randrange(100) if "offset" in kinds else 0
    used = kinds or "gds_only" in flags or ("cache_bits" in flags and name in ("glc", "scc"))
    return draw.choice((0, draw.getrandbits(width))) if used else 0


def _packed_field(draw: random.Random, kinds: dict[str, str], name: str) -> int:
    """Halves and signs of VOP3P: as usual half of the time; no signs of integers."""
    every = sum(1 << i for i in range(3) if f"src{i}" in kinds)
    mixed = kinds["src0"] == "mix"
    usual = {"op_sel_hi": 0 if mixed else every & 3, "op_sel_hi2": 0 if mixed else every >> 2}.get(name, 0)
    if draw.random() < 0.5 or (name.startswith("neg") and kinds["src0"][0] != "f" and not mixed):
        return usual
    chosen = draw.getrandbits(3) & every
    return chosen >> 2 if name == "op_sel_hi2" else chosen & 3 if name == "op_sel_hi" else chosen


def _extension(draw: random.Random, kinds: dict[str, str], fields: tuple[tuple[str, int, int], ...]) -> int:
    """An SDWA or DPP word of these fields that fits the operands."""
    word = 0
    scalar = {number: draw.random() < 0.3 for number in (0, 1)}
    for name, low, width in fields:
        value = draw.getrandbits(width)
        source = "src0" if name.startswith("src0_") else "vsrc1" if name.startswith("src1_") else ""
        if source and source not in kinds:
            value = 0
        elif name.endswith("_sel"):
            value = draw.randrange(7)
        elif name.endswith("_scalar"):
            value = int(scalar[int(name[3])])
        elif name == "src0" and any(one[0] == "src0_scalar" for one in fields) and scalar[0]:
            value = draw.randrange(100)
        elif name == "omod":
            value = draw.randrange(4) if kinds.get("vdst", "-")[0] == "f" else 0
        elif name == "sdst":
            value = draw.randrange(0, 100, 2)
        elif name == "dst_unused":
            value = draw.randrange(3)
        elif name == "dpp_ctrl":
            value = draw.choice((draw.randrange(256), draw.choice(_DPP_CONTROLS)))
        elif source:
            floats = kinds[source][0] == "f" or (
                "vcc" in kinds and kinds[source] == "b32" and kinds.get("vdst") == "b32"
            )
            value &= int(floats != name.endswith("sext"))
        word |= value << low
    return word
