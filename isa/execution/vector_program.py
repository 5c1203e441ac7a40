"""Program rows of vector arithmetic: VOP1, VOP2, VOPC, VOP3, with SDWA and DPP."""

import numpy as np

from isa.encoding.instruction import Instruction
from isa.encoding.operands import (
    FIRST_VGPR,
    LITERAL_CODE,
    SCALAR_REGISTERS,
    SPECIAL_CODES,
    Operand,
    Pool,
    Unsupported,
    constant_of,
    parse_operands,
    vgpr,
)
from isa.execution import layout as at
from isa.lanes import ABS_FLAG, CLAMP_FLAG, NEG_FLAG, LaneLibrary, dpp_lanes

_SDWA_DWORD = 6
_SIGN_HELPERS = {16: at.H_SIGN_F16, 32: at.H_SIGN_F32, 64: at.H_SIGN_F64}
_OUTPUT_HELPERS = {16: at.H_OUTPUT_F16, 32: at.H_OUTPUT_F32, 64: at.H_OUTPUT_F64}
_CARRIES = ("v_add_u32", "v_addc_u32")
_BORROWS = ("v_sub_u32", "v_subrev_u32", "v_subb_u32", "v_subbrev_u32")
_NOTHING = ("v_nop", "v_clrexcp")
_RELATIVE = {
    "v_movrels_b32": at.RELATIVE_SOURCE,
    "v_movreld_b32": at.RELATIVE_DESTINATION,
    "v_movrelsd_b32": at.RELATIVE_SOURCE | at.RELATIVE_DESTINATION,
}


def vector_row(row: np.ndarray, instruction: Instruction, pool: Pool, library: LaneLibrary, mode: int | None) -> None:
    """Fill the program row of a VOP instruction; raises Unsupported. mode: MODE where it is known, else None."""
    name = instruction.opcode.mnemonic
    if name in _NOTHING:
        row[at.I_KIND] = at.K_NOP
        return
    if name in ("v_readlane_b32", "v_writelane_b32", "v_readfirstlane_b32"):
        _lane_access(row, instruction, pool, name)
        return
    operation = name if library.has(name) else name.replace("v_cmpx_", "v_cmp_")
    moves = _RELATIVE.get(name, 0)
    if moves:
        operation = "v_mov_b32"
    clamp = instruction.fields.get("clamp", 0)
    if clamp and name not in _CARRIES + _BORROWS and library.has(f"{operation}.clamp"):
        operation, clamp = f"{operation}.clamp", 0
    if not library.has(operation):
        raise Unsupported("it has no semantics")
    signature = library.signature(operation)
    fields = instruction.fields
    for k in range(3):
        row[at.I_SOURCE + at.SOURCE_WORDS * k + at.SRC_SCALAR] = -1
    row[at.I_FUNCTION] = library.address(operation, mode)
    row[at.I_MASK_IN] = 4 * (at.S_VCC if signature.reads_mask else at.S_MODE)
    row[at.I_MASK_OUT] = 4 * (at.S_VCC if signature.returns_mask else at.S_SINK)
    if "sdst" in fields and signature.returns_mask:
        row[at.I_MASK_OUT] = 4 * fields["sdst"]
    slow = _sources(row, instruction, pool, signature)
    row[at.I_D] = vgpr(fields.get("vdst", 0))
    row[at.I_D_DWORDS] = signature.destination_dwords
    slow |= _result(row, instruction, signature.destination is not None, clamp)
    if "dpp_ctrl" in fields:
        row[at.I_DPP] = 1 | fields["dpp_ctrl"] << 8 | fields["bound_ctrl"] << 24
        row[at.I_DPP_LANES] = dpp_lanes(fields["row_mask"], fields["bank_mask"])
        slow = True
    if library.mode_with_destination(operation):
        row[at.I_FLAGS] |= at.FLAG_MODE_WITH_D
        slow = True
    if name.startswith("v_cmpx_"):
        row[at.I_FLAGS] |= at.FLAG_CMPX
        slow = True
    if moves:
        if (slow and row[at.I_SOURCE + at.SRC_SCALAR] < 0) or (moves & at.RELATIVE_SOURCE and not row[at.I_A_MASK]):
            raise Unsupported("its modifiers or its constant source are not implemented")
        row[at.I_KIND] = at.K_VECTOR_MOVE_RELATIVE
        row[at.I_SUBKIND] = moves
    elif slow and _one_scalar(row):
        row[at.I_KIND] = at.K_VALU_SCALAR
    elif slow:
        row[at.I_KIND] = at.K_VALU_SLOW
    else:
        masks = signature.reads_mask or signature.returns_mask
        row[at.I_KIND] = at.K_VALU_MASK if masks else at.K_VALU


def _one_scalar(row: np.ndarray) -> bool:
    """Turn a row whose only trouble is one scalar register, in however many sources, into the faster form."""
    if row[at.I_FLAGS] or row[at.I_OUTPUT] or row[at.I_SDWA_MERGE] or row[at.I_DPP]:
        return False
    sources = row[at.I_SOURCE : at.I_SOURCE + 3 * at.SOURCE_WORDS].reshape(3, at.SOURCE_WORDS)
    scalar = sources[:, at.SRC_SCALAR] >= 0
    if sources[:, [at.SRC_SIGN, at.SRC_SDWA]].any() or len({tuple(s) for s in sources[scalar].tolist()}) != 1:
        return False
    row[at.I_SCALAR], row[at.I_SCALAR_DWORDS] = sources[scalar][0][[at.SRC_SCALAR, at.SRC_DWORDS]]
    for k in np.flatnonzero(scalar):
        row[at.I_A + 2 * k], row[at.I_A_MASK + 2 * k] = at.BROADCAST_OFFSET, -1
    return True


def _source_operands(instruction: Instruction, reads_mask: bool, row: np.ndarray) -> list[Operand]:
    """The operands that are sources of values; notes where the lane mask is read."""
    out = []
    for place, operand in enumerate(parse_operands(instruction.opcode.operands)):
        if operand.field in ("vdst", "sdst") or operand.field == "vcc":
            continue
        promoted_mask = operand.field == "src2" and operand.letter == "b" and operand.bits == 64
        if reads_mask and promoted_mask and place > 1:
            code = instruction.fields["src2"]
            if code >= SCALAR_REGISTERS:
                raise Unsupported("its lane mask is a constant")
            row[at.I_MASK_IN] = 4 * code
            continue
        out.append(operand)
    return out


def _sources(row: np.ndarray, instruction: Instruction, pool: Pool, signature) -> bool:  # type: ignore[no-untyped-def]
    """Fill in the sources; returns whether the slow path is needed."""
    fields = instruction.fields
    operands = _source_operands(instruction, signature.reads_mask, row)
    if len(operands) != len(signature.sources):
        raise Unsupported(f"it has {len(operands)} sources where its semantics takes {len(signature.sources)}")
    slow = False
    for k, (operand, dwords) in enumerate(zip(operands, signature.source_dwords, strict=True)):
        word, words = at.I_A + 2 * k, at.I_SOURCE + at.SOURCE_WORDS * k
        row[words + at.SRC_DWORDS] = dwords
        code = LITERAL_CODE if operand.field == "literal" else fields[operand.field]
        if operand.field == "vsrc1":
            code += FIRST_VGPR
        constant = constant_of(code, operand, instruction.literal)
        if code >= FIRST_VGPR:
            row[word], row[word + 1] = vgpr(code - FIRST_VGPR), -1
        elif constant is not None:
            pool.vector(row, word, constant, dwords)
        elif code < SCALAR_REGISTERS or code in SPECIAL_CODES:
            if dwords > 2:
                raise Unsupported("a source of four registers is scalar")
            row[words + at.SRC_SCALAR] = 4 * code
            if code in SPECIAL_CODES:
                row[at.I_FLAGS] |= at.FLAG_SPECIAL
            slow = True
        else:
            raise Unsupported(f"source operand {code} is not implemented")
        slow |= _source_modifiers(row, words, fields, operand, instruction.opcode.encoding == "vop3")
    return slow


def _source_modifiers(row: np.ndarray, words: int, fields: dict[str, int], operand: Operand, vop3: bool) -> bool:
    number = 1 if operand.field == "vsrc1" else int(operand.field[-1]) if operand.field.startswith("src") else 3
    if number > 2:
        return False
    if vop3:
        negate, absolute = fields["neg"] >> number & 1, fields.get("abs", 0) >> number & 1
    else:
        negate, absolute = fields.get(f"src{number}_neg", 0), fields.get(f"src{number}_abs", 0)
    select, extend = fields.get(f"src{number}_sel", _SDWA_DWORD), fields.get(f"src{number}_sext", 0)
    if select != _SDWA_DWORD or extend:
        row[words + at.SRC_SDWA] = 1 | select << 8 | extend << 16
    if negate or absolute:
        if operand.letter not in ("f", "b") or operand.bits not in _SIGN_HELPERS:
            raise Unsupported("it negates an integer source")
        flags = (NEG_FLAG if negate else 0) | (ABS_FLAG if absolute else 0)
        row[words + at.SRC_SIGN] = _SIGN_HELPERS[operand.bits] << 8 | flags
    return bool(row[words + at.SRC_SDWA] or row[words + at.SRC_SIGN])


def _result(row: np.ndarray, instruction: Instruction, writes: bool, clamp: int) -> bool:
    """Fill in output modifiers and the SDWA destination; returns whether the slow path is needed.

    clamp: the clamp bit, unless the operation itself saturates.
    """
    fields, name = instruction.fields, instruction.opcode.mnemonic
    if not writes:
        return False  # a comparison's clamp bit only concerns exceptions
    omod = fields.get("omod", 0)
    destination = next(o for o in parse_operands(instruction.opcode.operands) if o.field == "vdst")
    slow = False
    if clamp or omod:
        if destination.letter == "f":
            flags = omod | (CLAMP_FLAG if clamp else 0)
            row[at.I_OUTPUT] = _OUTPUT_HELPERS[destination.bits] << 8 | flags
        elif name in _CARRIES and not omod:
            row[at.I_FLAGS] |= at.FLAG_CARRY_SATURATES
        elif name in _BORROWS and not omod:
            row[at.I_FLAGS] |= at.FLAG_BORROW_SATURATES
        else:
            raise Unsupported("clamp or output modifier of an integer result")
        slow = True
    if fields.get("dst_sel", _SDWA_DWORD) != _SDWA_DWORD:
        row[at.I_SDWA_MERGE] = 1 | fields["dst_sel"] << 8 | fields["dst_unused"] << 16
        slow = True
    return slow


def _lane_access(row: np.ndarray, instruction: Instruction, pool: Pool, name: str) -> None:
    """v_readlane, v_readfirstlane and v_writelane."""
    fields = instruction.fields
    source = fields["src0"]
    word32 = Operand("src0", "b", 32)
    if name == "v_writelane_b32":
        row[at.I_KIND], row[at.I_D] = at.K_WRITE_LANE, vgpr(fields["vdst"])
        scalar_operand(row, at.I_A, source, word32, instruction.literal, pool)
    else:
        if source < FIRST_VGPR:
            raise Unsupported("its source is not a vector register")
        row[at.I_KIND] = at.K_READ_LANE if name == "v_readlane_b32" else at.K_READ_FIRST_LANE
        row[at.I_D] = 4 * fields["sdst"]
        row[at.I_A], row[at.I_A_MASK] = vgpr(source - FIRST_VGPR), -1
    if name != "v_readfirstlane_b32":
        scalar_operand(row, at.I_B, fields["src1"], word32, instruction.literal, pool)


def scalar_operand(row: np.ndarray, word: int, code: int, operand: Operand, literal: int | None, pool: Pool) -> bool:
    """Fill in a scalar source at `word` (and its mask behind); returns whether it is SCC, VCCZ or EXECZ."""
    constant = constant_of(code, operand, literal)
    if constant is not None:
        pool.scalar(row, word, constant)
        return False
    if code >= SCALAR_REGISTERS and code not in SPECIAL_CODES:
        raise Unsupported(f"scalar source operand {code} is not implemented")
    row[word], row[word + 1] = 4 * code, -1
    return code in SPECIAL_CODES
