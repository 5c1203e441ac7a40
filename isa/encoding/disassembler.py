"""The disassembler: an instruction as assembly text, word for word as llvm-objdump writes it for gfx803."""

from collections.abc import Callable

from isa.encoding.instruction import Instruction
from isa.encoding.operand_text import bits_of, literal_text, number_text, register_text, source_text, vgpr_text
from isa.encoding.special_text import (
    buffer_format_text,
    dpp_text,
    gpr_idx_text,
    hwreg_text,
    message_text,
    swizzle_text,
    waitcnt_text,
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
        return opcode.mnemonic + ("_e32" if "src0_sel" not in fields else "")
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
    texts = []
    for operand in instruction.opcode.operands.split():
        name, _, kind = operand.partition(":")
        if name == "vdst" and encoding == "flat" and "atomic" in instruction.opcode.flags:
            if not instruction.fields["glc"]:
                continue
        text = _operand(instruction, name, kind)
        if text:
            texts.append(text)
    return texts


def _operand(instruction: Instruction, name: str, kind: str) -> str:
    fields = instruction.fields
    if name == "vcc":
        return "vcc"
    if name == "simm16":
        return _constant(instruction, kind)
    if name == "literal":
        assert instruction.literal is not None
        return literal_text(instruction.literal, kind) if kind == "b32" else f"0x{instruction.literal:x}"
    if name == "offset":
        return f"0x{fields['offset']:x}" if fields["imm"] else register_text(fields["offset"] & 0x7F, "b32")
    value = fields[name]
    if name in ("vdst", "vsrc1", "addr", "data", "data0", "data1"):
        text = vgpr_text(value, kind)
        return _modified(instruction, 1, text, False) if name == "vsrc1" else text
    if name == "sbase":
        return register_text(2 * value, kind)
    if name in ("sdst", "sdata"):
        return number_text(value) if kind == "imm" else register_text(value, kind)
    if kind == "index":
        return gpr_idx_text(value)
    if kind == "i16" and "float_constants" in instruction.opcode.flags:
        kind = "f16"
    text = source_text(value, kind, instruction.literal)
    if instruction.opcode.encoding in ("vop1", "vop2", "vopc", "vop3"):
        return _modified(instruction, int(name[-1]), text, 128 <= value <= 248)
    return text


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
        "message": message_text,
        "hwreg": hwreg_text,
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
        return (" clamp" if fields["clamp"] else "") + _OMOD[fields["omod"]]
    if encoding == "smem":
        return " glc" if fields["glc"] and opcode.flags & {"load", "store"} else ""
    if encoding == "ds":
        return _ds_modifiers(instruction)
    if encoding == "flat":
        return "".join(f" {name}" for name in ("glc", "slc") if fields[name])
    if encoding in ("mubuf", "mtbuf") and opcode.operands:
        return _buffer_modifiers(instruction)
    return ""


def _sdwa_modifiers(instruction: Instruction) -> str:
    fields, operands = instruction.fields, instruction.opcode.operands
    text = " clamp" if fields["clamp"] else ""
    if instruction.opcode.encoding != "vopc":
        if not operands:
            return text
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
    return text + (" gds" if fields["gds"] or "gds_only" in flags else "")


def _buffer_operands(instruction: Instruction) -> list[str]:
    fields, operands = instruction.fields, instruction.opcode.operands.split()
    if not operands:
        return []
    texts = []
    if not fields.get("lds", 0):
        bits = max(32, bits_of(operands[0].partition(":")[2])) + 32 * fields["tfe"]
        texts.append(vgpr_text(fields["vdata"], f"b{bits}"))
    registers = fields["offen"] + fields["idxen"]
    texts.append(vgpr_text(fields["vaddr"], f"b{32 * registers}") if registers else "off")
    texts.append(register_text(4 * fields["srsrc"], "b128"))
    texts.append(source_text(fields["soffset"], "b32", None))
    return texts


def _buffer_modifiers(instruction: Instruction) -> str:
    fields = instruction.fields
    text = buffer_format_text(fields["dfmt"], fields["nfmt"]) if "nfmt" in fields else ""
    text += "".join(f" {name}" for name in ("idxen", "offen") if fields[name])
    if fields["offset"]:
        text += f" offset:{fields['offset']}"
    return text + "".join(f" {name}" for name in ("glc", "slc", "tfe", "lds") if fields.get(name))
