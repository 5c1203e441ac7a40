"""The disassembler: an instruction as assembly text, word for word as llvm-objdump writes it for its GPU."""

from collections.abc import Callable

from isa.architecture import FIRST_VGPR, INLINE_CONSTANTS
from isa.encoding.images import image_data_dwords, image_form
from isa.encoding.instruction import Instruction
from isa.encoding.operand_text import bits_of, literal_text, number_text, register_text, source_text, vgpr_text
from isa.encoding.operands import (
    NO_SCALAR_ADDRESS,
    SEGMENTS,
    address_dwords,
    loads_into_lds,
    parse_operands,
    segment_offset,
)
from isa.encoding.special_text import (
    buffer_format_text,
    dpp_text,
    gpr_idx_text,
    hwreg9_text,
    hwreg942_text,
    hwreg_text,
    message9_text,
    message_text,
    swizzle_text,
    waitcnt_text,
    wide_waitcnt_text,
)

_SDWA_SELECT = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_SDWA_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_OMOD = ("", " mul:2", " mul:4", " div:2")


def disassemble(instruction: Instruction) -> str:
    """Return the instruction as one line of text: mnemonic, operands, modifiers."""
    operands = _operands(instruction)
    text = _mnemonic(instruction)
    if operands:
        text += " " + ", ".join(operands)
    return text + _modifiers(instruction)


def _mnemonic(instruction: Instruction) -> str:
    opcode, fields = instruction.opcode, instruction.fields
    if opcode.encoding == "vopc":
        # LLVM writes the suffix of SDWA only where the destination can be chosen
        return opcode.mnemonic + ("_e32" if "src0_sel" not in fields else "_sdwa" if "sdst" in fields else "")
    if opcode.encoding in ("vop1", "vop2"):
        if "src0_sel" in fields:
            return opcode.mnemonic + "_sdwa"
        if "dpp_ctrl" in fields:
            return opcode.mnemonic + "_dpp"
        return opcode.mnemonic + ("_e32" if "only_e32" not in opcode.flags and opcode.operands else "")
    if "promoted" in opcode.flags and opcode.operands:
        return opcode.mnemonic + "_e64"
    return opcode.mnemonic


def _operands(instruction: Instruction) -> list[str]:
    encoding = instruction.opcode.encoding
    if encoding in ("mubuf", "mtbuf"):
        return _buffer_operands(instruction)
    if encoding == "mimg":
        return _image_operands(instruction)
    texts = []
    for operand in instruction.opcode.operands.split():
        name, _, kind = operand.partition(":")
        if name == "vdst" and encoding in ("flat", *SEGMENTS):
            if loads_into_lds(instruction) or ("atomic" in instruction.opcode.flags and not instruction.fields["glc"]):
                continue
        text = _operand(instruction, name, kind)
        if text:
            texts.append(text)
    return texts


def _operand(instruction: Instruction, name: str, kind: str) -> str:
    fields, encoding, ttmp = (
        instruction.fields,
        instruction.opcode.encoding,
        instruction.architecture.first_trap_register,
    )
    if name == "vcc":
        return register_text(fields["sdst"], "b64", ttmp) if encoding == "vopc" and "sdst" in fields else "vcc"
    if name == "simm16":
        return _constant(instruction, kind)
    if name == "literal":
        assert instruction.literal is not None
        return literal_text(instruction.literal, kind) if kind == "b32" else f"0x{instruction.literal:x}"
    if name == "offset":
        return _scalar_offset(fields, ttmp)
    value = fields[name]
    if name == "saddr":
        return (
            "off"
            if value == NO_SCALAR_ADDRESS
            else register_text(value, "b64" if encoding == "global" else "b32", ttmp)
        )
    if kind == "segment":
        count = address_dwords(instruction)
        return vgpr_text(value, f"b{32 * count}") if count else "off"
    if name == "vsrc1" and fields.get("src1_scalar"):
        return _modified(instruction, 1, source_text(value, kind, None, ttmp), value in INLINE_CONSTANTS)
    if name in ("vdst", "vsrc1", "addr", "data", "data0", "data1"):
        text = vgpr_text(value, kind)
        return _modified(instruction, 1, text, False) if name == "vsrc1" else text
    if name == "sbase":
        return register_text(2 * value, kind, ttmp)
    if name in ("sdst", "sdata"):
        return number_text(value) if kind == "imm" else register_text(value, kind, ttmp)
    if kind == "index":
        return gpr_idx_text(value)
    if kind == "i16" and "float_constants" in instruction.opcode.flags:
        kind = "f16"
    if encoding == "vop3p":
        if instruction.opcode.flags & {"matrix", "accumulation"}:
            constant = "f64" if kind.startswith("f64") else "f32"
            return source_text(value, constant if value < FIRST_VGPR else kind, None, ttmp)
        return _packed_source(instruction, int(name[-1]), kind)
    text = source_text(value, kind, instruction.literal, ttmp)
    if encoding in ("vop1", "vop2", "vopc", "vop3"):
        return _modified(instruction, int(name[-1]), text, value in INLINE_CONSTANTS)
    return text


def _scalar_offset(fields: dict[str, int], ttmp: int) -> str:
    if "soffset_en" not in fields:
        return f"0x{fields['offset']:x}" if fields["imm"] else register_text(fields["offset"] & 0x7F, "b32", ttmp)
    offset = fields["offset"] - (fields["offset"] >> 20 << 21)
    if fields["soffset_en"]:
        register = register_text(fields["soffset"], "b32", ttmp)
        return f"{register} offset:{'-' if offset < 0 else ''}0x{abs(offset):x}" if fields["imm"] else register
    if fields["imm"]:
        return f"{'-' if offset < 0 else ''}0x{abs(offset):x}"
    return register_text(fields["offset"] & 0x7F, "b32", ttmp)


def _packed_source(instruction: Instruction, number: int, kind: str) -> str:
    """Write a source of VOP3P; those of mixed precision have their magnitude and negation with the operand."""
    fields, ttmp = instruction.fields, instruction.architecture.first_trap_register
    if kind != "mix":
        if kind.endswith("32x2"):  # the constant is of 32 bits, a register's number means two
            code = fields[f"src{number}"]
            return source_text(code, "f32" if code in INLINE_CONSTANTS else "b64", None, ttmp)
        scalar = "f16" if kind == "f16x2" else "b32" if "x" in kind else kind
        return source_text(fields[f"src{number}"], scalar, None, ttmp)
    code = fields[f"src{number}"]
    text = source_text(code, "f32", None, ttmp)
    if fields["neg_hi"] >> number & 1:
        text = f"|{text}|"
    elif code in INLINE_CONSTANTS and fields["neg"] >> number & 1:
        return f"neg({text})"
    return f"-{text}" if fields["neg"] >> number & 1 else text


def _modified(instruction: Instruction, number: int, text: str, constant: bool) -> str:
    """Return the text of an operand with its negation, magnitude or sign extension."""
    fields = instruction.fields
    if "neg" in fields:
        negate, magnitude, extend = fields["neg"] >> number & 1, fields.get("abs", 0) >> number & 1, 0
    else:
        negate, magnitude = fields.get(f"src{number}_neg", 0), fields.get(f"src{number}_abs", 0)
        extend = fields.get(f"src{number}_sext", 0)
    if magnitude:
        text = f"|{text}|"
    if negate:
        text = f"neg({text})" if constant and not magnitude else f"-{text}"
    return f"sext({text})" if extend else text


def _constant(instruction: Instruction, kind: str) -> str:
    value = instruction.fields["simm16"]
    writers: dict[str, Callable[[int], str]] = {
        "branch": str,  # in words; llvm-objdump writes it as an unsigned number
        "waitcnt": waitcnt_text,
        "waitcnt9": wide_waitcnt_text,
        "message": message_text,
        "message9": message9_text,
        "hwreg": hwreg_text,
        "hwreg9": hwreg9_text,
        "hwreg942": hwreg942_text,
        "gpr_idx": gpr_idx_text,
    }
    if kind in writers:
        return writers[kind](value)
    if kind == "hex":
        return f"0x{value:x}"
    if kind == "optional":
        return str(value) if value else ""
    return number_text(value)


def _modifiers(instruction: Instruction) -> str:
    opcode, fields = instruction.opcode, instruction.fields
    encoding = opcode.encoding
    if "dpp_ctrl" in fields:
        return dpp_text(fields)
    if "src0_sel" in fields:
        return _sdwa_modifiers(instruction)
    if encoding == "vop3":
        return _op_sel(instruction) + (" clamp" if fields["clamp"] else "") + _OMOD[fields["omod"]]
    if encoding == "vop3p" and opcode.flags & {"matrix", "accumulation"}:
        text = "".join(f" {name}:{fields[name]}" for name in ("cbsz", "abid") if fields[name])
        blgp = fields["blgp"]
        if blgp and "negates" in opcode.flags:
            return text + " neg:[" + ",".join(str(blgp >> place & 1) for place in range(3)) + "]"
        return text + (f" blgp:{blgp}" if blgp else "")
    if encoding == "vop3p":
        return _packed_modifiers(instruction)
    if encoding == "smem":
        return " glc" if fields["glc"] and opcode.flags & {"load", "store", "atomic"} else ""
    if encoding == "ds":
        return _ds_modifiers(instruction)
    if encoding in ("flat", *SEGMENTS):
        text = f" offset:{segment_offset(instruction)}" if fields.get("offset") else ""
        return text + _cache_bits(instruction) + (" lds" if fields.get("lds") else "")
    if "cache_bits" in opcode.flags:
        return _cache_bits(instruction)
    if encoding in ("mubuf", "mtbuf") and opcode.operands:
        return _buffer_modifiers(instruction)
    if encoding == "mimg":
        return _image_modifiers(fields)
    return ""


def _op_sel(instruction: Instruction) -> str:
    """Write which halves a VOP3 instruction takes and writes: a bit for each source, then the result's."""
    chosen = instruction.fields.get("op_sel", 0)
    if not chosen:
        return ""
    places = [int(o.field[-1]) for o in parse_operands(instruction.opcode.operands) if o.field.startswith("src")]
    if "op_sel_src2" in instruction.opcode.flags:
        places.append(2)
    return " op_sel:[" + ",".join(str(chosen >> place & 1) for place in (*places, 3)) + "]"


def _packed_modifiers(instruction: Instruction) -> str:
    fields, operands = instruction.fields, instruction.opcode.operands
    mixed = ":mix" in operands
    count = sum(o.field.startswith("src") for o in parse_operands(operands))
    every = (1 << count) - 1
    upper = (fields["op_sel_hi"] | fields["op_sel_hi2"] << 2) & every
    lists = [("op_sel", fields["op_sel"], 0), ("op_sel_hi", upper, 0 if mixed else every)]
    if not mixed:
        lists += [("neg_lo", fields["neg"], 0), ("neg_hi", fields["neg_hi"], 0)]
    text = ""
    for name, value, usual in lists:
        if value & every != usual:
            text += f" {name}:[" + ",".join(str(value >> place & 1) for place in range(count)) + "]"
    return text + (" clamp" if fields["clamp"] else "")


def _sdwa_modifiers(instruction: Instruction) -> str:
    fields, operands = instruction.fields, instruction.opcode.operands
    text = (" clamp" if fields.get("clamp") else "") + _OMOD[fields.get("omod", 0)]
    if instruction.opcode.encoding != "vopc":
        if not operands:
            return text
    if instruction.opcode.encoding != "vopc" and "whole_result" not in instruction.opcode.flags:
        text += f" dst_sel:{_SDWA_SELECT[fields['dst_sel']]} dst_unused:{_SDWA_UNUSED[fields['dst_unused']]}"
    text += f" src0_sel:{_SDWA_SELECT[fields['src0_sel']]}"
    if "vsrc1" in operands:
        text += f" src1_sel:{_SDWA_SELECT[fields['src1_sel']]}"
    return text


def _ds_modifiers(instruction: Instruction) -> str:
    fields, flags = instruction.fields, instruction.opcode.flags
    offset = fields["offset0"] | fields["offset1"] << 8
    text = ""
    if "two_offsets" in flags:
        text += f" offset0:{fields['offset0']}" if fields["offset0"] else ""
        text += f" offset1:{fields['offset1']}" if fields["offset1"] else ""
    elif offset and instruction.opcode.operands + "".join(flags):
        text = f" offset:{swizzle_text(offset)}" if "swizzle" in flags else f" offset:{offset}"
    return text + (" gds" if "gds_only" in flags or (fields["gds"] and "acc" not in fields) else "")


def _buffer_operands(instruction: Instruction) -> list[str]:
    fields, operands = instruction.fields, instruction.opcode.operands.split()
    if not operands:
        return []
    texts = []
    if not fields.get("lds", 0):
        bits = max(32, bits_of(operands[0].partition(":")[2])) + 32 * fields.get("tfe", 0)
        texts.append(vgpr_text(fields["vdata"], f"b{bits}"))
    registers = fields["offen"] + fields["idxen"]
    texts.append(vgpr_text(fields["vaddr"], f"b{32 * registers}") if registers else "off")
    ttmp = instruction.architecture.first_trap_register
    texts.append(register_text(4 * fields["srsrc"], "b128", ttmp))
    texts.append(source_text(fields["soffset"], "b32", None, ttmp))
    return texts


def _buffer_modifiers(instruction: Instruction) -> str:
    fields = instruction.fields
    text = buffer_format_text(fields["dfmt"], fields["nfmt"]) if "nfmt" in fields else ""
    text += "".join(f" {name}" for name in ("idxen", "offen") if fields[name])
    if fields["offset"]:
        text += f" offset:{fields['offset']}"
    return text + _cache_bits(instruction) + "".join(f" {name}" for name in ("tfe", "lds") if fields.get(name))


def _cache_bits(instruction: Instruction) -> str:
    names = zip(("glc", "slc", "scc"), instruction.architecture.cache_bits, strict=True)
    return "".join(f" {text}" for field, text in names if instruction.fields.get(field))


def _image_operands(instruction: Instruction) -> list[str]:
    """Write data, address, resource and sampler; of an address, like LLVM, the registers of one coordinate.

    How many coordinates there are is not in the instruction.
    """
    opcode, fields, form = instruction.opcode, instruction.fields, image_form(instruction.opcode)
    ttmp = instruction.architecture.first_trap_register
    data = image_data_dwords(opcode, fields, instruction.architecture)
    address = 1 + form.offsets + form.bias + form.compares + form.derivatives
    texts = [vgpr_text(fields["vdata"], f"b{32 * data}"), vgpr_text(fields["vaddr"], f"b{32 * address}")]
    texts.append(register_text(4 * fields["srsrc"], "b256", ttmp))
    return [*texts, register_text(4 * fields["ssamp"], "b128", ttmp)] if "ssamp:" in opcode.operands else texts


def _image_modifiers(fields: dict[str, int]) -> str:
    text = f" dmask:0x{fields['dmask']:x}" if fields["dmask"] else ""
    text += " unorm" if fields["unrm"] else ""
    return text + "".join(
        f" {n}" for n in ("glc", "slc", "scc", "r128", "a16", "tfe", "lwe", "da", "d16") if fields.get(n)
    )
