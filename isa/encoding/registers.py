"""Which registers an instruction reads and writes, as bit masks: what dependency rules are about.

Bit n stands for operand code n: scalar registers below 128 (VCC 106, M0 124, EXEC 126), the status bits VCCZ, EXECZ
and SCC at 251 to 253, vector register n at 256 + n. Who writes VCC or EXEC writes VCCZ or EXECZ. EXEC counts as read
where an instruction names it or stores it, not by every vector instruction that it masks; of relative moves
(v_movrel, s_movrel) only the registers they name are reported.
"""

import re
from functools import cache

from isa import architecture
from isa.architecture import FIRST_VGPR, SCALAR_REGISTERS, STATUS_CODES, VECTOR_FILE
from isa.encoding.images import image_address_dwords, image_data_dwords
from isa.encoding.instruction import Instruction
from isa.encoding.operands import (
    NO_SCALAR_ADDRESS,
    SEGMENTS,
    EncodedOperand,
    address_dwords,
    loads_into_lds,
    parse_operands,
)
from isa.opcodes.opcode import LDS, Opcode

VCC, EXEC = 3 << architecture.VCC, 3 << architecture.EXEC
M0 = 1 << architecture.M0
VCCZ, EXECZ, SCC = (1 << code for code in STATUS_CODES)
SCALARS = (1 << SCALAR_REGISTERS) - 1
VGPRS = ((1 << 2 * VECTOR_FILE) - 1) << FIRST_VGPR  # accumulation registers among them

_CONDITIONS = {"scc0": SCC, "scc1": SCC, "vccz": VCCZ, "vccnz": VCCZ, "execz": EXECZ, "execnz": EXECZ}
BRANCH_CONDITIONS = {f"s_cbranch_{condition}": bit for condition, bit in _CONDITIONS.items()}
# scalar instructions that leave SCC as it is, by the beginning of their names; comparisons all write it
_KEEP_SCC = re.compile(
    "s_(cselect|mul_i32|bfm|mov|cmov|brev|ff|flbit|sext|bitset|getpc|setpc|swappc|rfe|cbranch|set_gpr|getreg|setreg|mulk"
    "|setvskip|mul_hi|pack|call|bitreplicate)"
)
_READ_SCC = ("s_cselect", "s_cmov", "s_addc", "s_subb")
_READ_DESTINATION = re.compile(
    "s_(cmov|cmpk|addk|mulk|bitset|setreg_b32|cbranch_i_fork)|v_(mac|fmac|pk_fmac|dot2c|dot4c|dot8c|smfmac)_"
)
_HALF_KEPT = ("_keep_f16", "_keep_u16", "_keep_i16")  # results of 16 bits that leave the other half
_KEEP_DESTINATION = ("s_cmpk", "s_setreg_b32", "s_cbranch_i_fork")
_CHANGE_M0 = ("s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode")
_READ_M0 = ("s_sendmsg", "s_movrel", "v_movrel", *_CHANGE_M0)


def scalar_mask(first: int, count: int = 1) -> int:
    """Return the mask of consecutive scalar registers.

    Args:
        first: operand code of the first.
        count: how many.

    Returns:
        The mask.
    """
    return ((1 << count) - 1) << first


def vgpr_mask(first: int, count: int = 1) -> int:
    """Return the mask of `count` vector registers from v`first` on."""
    return ((1 << count) - 1) << (FIRST_VGPR + first)


def source_mask(code: int, dwords: int) -> int:
    """Return the mask of what a source operand names: registers or a status bit, 0 for a constant."""
    if code < SCALAR_REGISTERS or code >= FIRST_VGPR:
        return scalar_mask(code, dwords)
    return 1 << code if code in STATUS_CODES else 0


def registers(instruction: Instruction, halves: bool = True) -> tuple[int, int]:
    """Return the registers that an instruction reads and writes.

    Args:
        instruction: the instruction.
        halves: a result of 16 bits reads its register for the half that it leaves.

    Returns:
        A mask of those read and one of those written.
    """
    opcode, fields = instruction.opcode, instruction.fields
    operands, reads, writes, destination_read, half_read, destination_kept = _plan(opcode)
    destination_read |= half_read and halves
    sources_begun, into_lds = False, loads_into_lds(instruction)
    reads |= M0 if into_lds else 0
    if opcode.mnemonic == "v_swap_b32":
        both = vgpr_mask(fields["vdst"]) | source_mask(fields["src0"], 1)
        return both, both
    for operand in operands:
        field, dwords = operand.field, operand.dwords
        if field in ("src0", "src1", "src2", "ssrc0", "ssrc1", "soffset"):
            sources_begun = True
            reads |= source_mask(fields[field], dwords)
        elif field == "vcc":
            named = scalar_mask(fields["sdst"], 2) if opcode.encoding == "vopc" and "sdst" in fields else VCC
            reads, writes = (reads | VCC, writes) if sources_begun else (reads, writes | named)
        elif field in ("vdst", "sdst"):
            mask = vgpr_mask(fields[field], dwords) if field == "vdst" else scalar_mask(fields[field], dwords)
            returns = not (opcode.encoding in ("flat", *SEGMENTS) and "atomic" in opcode.flags and not fields["glc"])
            if returns and not destination_kept and not into_lds:
                writes |= mask
            if destination_read:
                reads |= mask
        elif field == "vsrc1" and fields.get("src1_scalar"):
            reads |= source_mask(fields["vsrc1"], dwords)
        elif field == "addr" and opcode.encoding in SEGMENTS:
            reads |= vgpr_mask(fields["addr"], address_dwords(instruction))
        elif field == "saddr":
            reads |= _scalar_address(instruction)
        elif field in ("vsrc1", "addr", "data", "data0", "data1"):
            reads |= vgpr_mask(fields[field], dwords)
        elif field == "vaddr":
            reads |= _vector_address(instruction)
        elif field == "vdata":
            if opcode.encoding == "mimg":
                dwords = image_data_dwords(opcode, fields, instruction.architecture)
            if "load" not in opcode.flags:
                reads |= vgpr_mask(fields["vdata"], dwords)
            if ("load" in opcode.flags and not into_lds) or ("atomic" in opcode.flags and fields["glc"]):
                writes |= vgpr_mask(fields["vdata"], dwords)
        elif field in ("srsrc", "ssamp"):
            reads |= scalar_mask(4 * fields[field], dwords)
        elif field == "sbase":
            reads |= scalar_mask(2 * fields["sbase"], dwords)
        elif field == "offset":
            reads |= _offset_register(fields)
        elif field == "sdata" and operand.bits:
            if "store" in opcode.flags:
                reads |= scalar_mask(fields["sdata"], dwords)
            else:
                writes |= scalar_mask(fields["sdata"], dwords)
    if writes & VCC:
        writes |= VCCZ
    if writes & EXEC:
        writes |= EXECZ
    return reads, writes


def address_registers(instruction: Instruction) -> int:
    """Return the mask of the registers that decide where a memory instruction accesses, 0 for another instruction."""
    opcode, fields = instruction.opcode, instruction.fields
    if opcode.encoding not in ("flat", *SEGMENTS, "mubuf", "mtbuf", "mimg", "ds", "smem"):
        return 0
    mask = M0 if opcode.encoding == "ds" or loads_into_lds(instruction) else 0
    mask |= EXEC if opcode.encoding != "smem" else 0
    for operand in parse_operands(opcode.operands):
        field = operand.field
        if field == "addr":
            dwords = address_dwords(instruction) if opcode.encoding in SEGMENTS else operand.dwords
            mask |= vgpr_mask(fields["addr"], dwords)
        elif field == "vaddr":
            mask |= _vector_address(instruction)
        elif field == "soffset":
            mask |= source_mask(fields["soffset"], operand.dwords)
        elif field in ("srsrc", "ssamp"):
            mask |= scalar_mask(4 * fields[field], operand.dwords)
        elif field == "sbase":
            mask |= scalar_mask(2 * fields["sbase"], operand.dwords)
        elif field == "offset" and opcode.encoding == "smem":
            mask |= _offset_register(fields)
        elif field == "saddr":
            mask |= _scalar_address(instruction)
    return mask


def _vector_address(instruction: Instruction) -> int:
    """Return the mask of a buffer's address, or of all that an image's can be."""
    fields = instruction.fields
    if instruction.opcode.encoding != "mimg":
        return vgpr_mask(fields["vaddr"], fields["offen"] + fields["idxen"])
    return vgpr_mask(fields["vaddr"], image_address_dwords(instruction.opcode, fields)[1]) & VGPRS


def image_address_guessed(instruction: Instruction) -> int:
    """Return the mask of vector registers that an image's address may have, by its resource, beside those it has."""
    fields = instruction.fields
    if instruction.opcode.encoding != "mimg":
        return 0
    least, _ = image_address_dwords(instruction.opcode, fields)
    return _vector_address(instruction) & ~vgpr_mask(fields["vaddr"], least)


def _scalar_address(instruction: Instruction) -> int:
    """Return the mask of a GLOBAL or SCRATCH instruction's scalar address; 0 where it has none."""
    number = instruction.fields["saddr"]
    if number == NO_SCALAR_ADDRESS:
        return 0
    return scalar_mask(number, 2 if instruction.opcode.encoding == "global" else 1)


def _offset_register(fields: dict[str, int]) -> int:
    """Return the mask of the scalar register that an SMEM instruction adds to its address; 0 where there is none."""
    if fields.get("soffset_en"):
        return scalar_mask(fields["soffset"])
    return 0 if fields["imm"] else scalar_mask(fields["offset"] & 0x7F)


@cache
def _plan(opcode: Opcode) -> tuple[tuple[EncodedOperand, ...], int, int, bool, bool, bool]:
    """Return what an opcode reads and writes.

    That is: its operands, what is read and written without being named, whether the destination is read, whether it is
    for the half that a result of 16 bits leaves, and whether it is kept.
    """
    name = opcode.mnemonic
    reads = BRANCH_CONDITIONS.get(name, 0)
    writes = 0
    if opcode.encoding in ("sop1", "sop2", "sopc", "sopk"):
        writes |= 0 if _KEEP_SCC.match(name) else SCC
        reads |= SCC if name.startswith(_READ_SCC) else 0
    if "saveexec" in name or "wrexec" in name:
        reads, writes = reads | EXEC, writes | EXEC
    if name.startswith("v_cmpx"):
        writes |= EXEC
    if name.startswith("v_div_fmas"):
        reads |= VCC
    if name.startswith(_READ_M0) or opcode.unit == LDS:
        reads |= M0
    if name in _CHANGE_M0:
        writes |= M0
    kept = name.startswith(_KEEP_DESTINATION)
    halves = "d16" in opcode.flags or "_mixlo_" in name or "_mixhi_" in name or "op_sel" in opcode.flags
    halves = halves or opcode.operation.endswith(_HALF_KEPT)
    return parse_operands(opcode.operands), reads, writes, _READ_DESTINATION.match(name) is not None, halves, kept
