"""Program rows of vector arithmetic: VOP1, VOP2, VOPC, VOP3, with SDWA and DPP."""

from typing import Any

from isa.architecture import (
    FIRST_VGPR,
    INLINE_CONSTANTS,
    LITERAL_CODE,
    MODE_IEEE_BIT,
    MODE_SINGLE_RESULTS,
    MODE_WIDE_RESULTS,
    PRIVATE_BASE,
    SCALAR_REGISTERS,
    SHARED_BASE,
    STATUS_CODES,
    VCC,
)
from isa.encoding.instruction import Instruction
from isa.encoding.operands import EncodedOperand, UnsupportedInstructionError, constant_of, parse_operands
from isa.encoding.register_index import DST, SRC2
from isa.encoding.register_index import SOURCES as INDEXED_SOURCES
from isa.execution.codes import RELATIVE_DESTINATION, RELATIVE_SOURCE, InstructionKind, Saturation
from isa.execution.constants import Constants, vgpr
from isa.execution.operations import OperationTable
from isa.execution.program_table import BROADCAST_ROWS, SOURCES
from isa.execution.state import MODE, SINK
from isa.lanes import ABS_FLAG, CLAMP_FLAG, NEG_FLAG, Signature, dpp_lanes
from isa.lanes.matrix import matrix_product

_SDWA_LOWER_WORD, _SDWA_UPPER_WORD, _SDWA_DWORD, _SDWA_PRESERVE = 4, 5, 6, 2
_FLOAT_BITS = (16, 32, 64)
_CARRIES = ("v_add_u32", "v_addc_u32")
_BORROWS = ("v_sub_u32", "v_subrev_u32", "v_subb_u32", "v_subbrev_u32")
_VECTOR_SOURCES = {
    InstructionKind.READ_LANE: (0,),
    InstructionKind.READ_FIRST_LANE: (0,),
    InstructionKind.WRITE_LANE: (),
}  # others may have any
_NOTHING = ("v_nop", "v_clrexcp")
_RELATIVE = {
    "v_movrels_b32": RELATIVE_SOURCE,
    "v_movreld_b32": RELATIVE_DESTINATION,
    "v_movrelsd_b32": RELATIVE_SOURCE | RELATIVE_DESTINATION,
}


def vector_row(
    row: Any, instruction: Instruction, constants: Constants, library: OperationTable, mode: int | None
) -> None:
    """Fill the program row of a VOP instruction; raises UnsupportedInstructionError. mode: MODE where it is known, else
    None."""
    name = instruction.opcode.operation
    if name in _NOTHING:
        row.kind = InstructionKind.NO_OPERATION
        return
    if name == "v_swap_b32":
        row.kind, row.destination = InstructionKind.SWAP_REGISTERS, vgpr(instruction.fields["vdst"])
        row.source[0] = vgpr(instruction.fields["src0"] - FIRST_VGPR)
        return
    if name in ("v_readlane_b32", "v_writelane_b32", "v_readfirstlane_b32"):
        _lane_access(row, instruction, constants, name)
        return
    operation = name if library.has(name) else name.replace("v_cmpx_", "v_cmp_")
    moves = _RELATIVE.get(name, 0)
    if moves:
        operation = "v_mov_b32"
    clamp = instruction.fields.get("clamp", 0)
    if clamp and name not in _CARRIES + _BORROWS and library.has(f"{operation}.clamp"):
        operation, clamp = f"{operation}.clamp", 0
    if not library.has(operation):
        raise UnsupportedInstructionError("it has no semantics")
    signature = library.signature(operation)
    fields = instruction.fields
    row.source_scalar = (-1, -1, -1)
    row.function = library.address(operation, mode)
    row.mask_in = 4 * (VCC if signature.reads_mask else MODE)
    row.mask_out = 4 * (VCC if signature.returns_mask else SINK)
    if "sdst" in fields and signature.returns_mask:
        row.mask_out = 4 * fields["sdst"]
    general = _sources(row, instruction, constants, library, signature)
    row.destination = vgpr(fields.get("vdst", 0))
    row.destination_dwords = signature.destination_dwords
    general |= _result(row, instruction, library, signature.destination is not None, clamp)
    if "dpp_ctrl" in fields:
        row.dpp, row.dpp_control, row.dpp_bound = 1, fields["dpp_ctrl"], fields["bound_ctrl"]
        row.dpp_lanes = dpp_lanes(fields["row_mask"], fields["bank_mask"])
        general = True
    if library.mode_with_destination(operation):
        row.mode_with_destination = 1
        general = True
    if name.startswith("v_cmpx_"):
        row.writes_exec = 1
        general = True
    if moves:
        if (general and row.source_scalar[0] < 0) or (moves & RELATIVE_SOURCE and not row.source_relative[0]):
            raise UnsupportedInstructionError("its modifiers or its constant source are not implemented")
        row.kind = InstructionKind.VECTOR_MOVE_RELATIVE
        row.relative = moves
    elif general and _one_scalar(row):
        row.kind = InstructionKind.VALU_ONE_SCALAR
    elif general:
        row.kind = InstructionKind.VALU_GENERAL
    else:
        masks = signature.reads_mask or signature.returns_mask
        row.kind = InstructionKind.VALU_LANE_MASK if masks else InstructionKind.VALU


def index_registers(row: Any, instruction: Instruction, indexed: int) -> None:
    """Have M0 added to those operands of a vector instruction (isa.encoding.register_index); raises
    UnsupportedInstructionError."""
    name = instruction.opcode.operation
    vector_sources = _VECTOR_SOURCES.get(row.kind, range(SOURCES))
    sources = [k for k in vector_sources if row.source_relative[k] and row.source[k] != BROADCAST_ROWS]
    chosen = [k for k in sources if indexed & INDEXED_SOURCES[k]]
    writes = "vdst" in instruction.fields and bool(indexed & DST)
    if not (chosen or writes) or row.kind == InstructionKind.NO_OPERATION:
        return
    if row.kind not in (InstructionKind.VALU, InstructionKind.VALU_ONE_SCALAR):
        raise UnsupportedInstructionError(
            "its lane mask, modifiers or access to a lane are not implemented for indexed registers"
        )
    if name.startswith(("v_mac_", "v_fmac_")) and bool(indexed & SRC2) != writes:
        raise UnsupportedInstructionError("its sum would be read from another register than it is written to")
    row.kind = InstructionKind.VALU_INDEXED
    row.destination_indexed = -1 if writes else 0
    for k in chosen:
        row.source_indexed[k] = -1


def _one_scalar(row: Any) -> bool:
    """Change a row that needs VALU_GENERAL only for one scalar register, in any of its sources, to the faster form."""
    if row.reads_status or row.writes_exec or row.mode_with_destination or row.saturation:
        return False
    if row.output or row.merges or row.dpp or any(row.source_sign) or any(row.source_sdwa):
        return False
    scalar = [k for k in range(SOURCES) if row.source_scalar[k] >= 0]
    if len({(row.source_scalar[k], row.source_dwords[k]) for k in scalar}) != 1:
        return False
    row.scalar, row.scalar_dwords = row.source_scalar[scalar[0]], row.source_dwords[scalar[0]]
    for k in scalar:
        row.source[k], row.source_relative[k] = BROADCAST_ROWS, -1
    return True


def _source_operands(instruction: Instruction, reads_mask: bool, row: Any) -> list[EncodedOperand]:
    """Return the operands that are sources of values; notes in the row where the lane mask is read."""
    out = []
    for position, operand in enumerate(parse_operands(instruction.opcode.operands)):
        if operand.field in ("vdst", "sdst") or operand.field == "vcc":
            continue
        promoted_mask = operand.field == "src2" and operand.letter == "b" and operand.bits == 64
        if reads_mask and promoted_mask and position > 1:
            code = instruction.fields["src2"]
            if code >= SCALAR_REGISTERS:
                raise UnsupportedInstructionError("its lane mask is a constant")
            row.mask_in = 4 * code
            continue
        out.append(operand)
    return out


def _sources(
    row: Any, instruction: Instruction, constants: Constants, library: OperationTable, signature: Signature
) -> bool:
    """Fill in the sources; returns whether VALU_GENERAL is needed."""
    fields = instruction.fields
    operands = _source_operands(instruction, signature.reads_mask, row)
    if len(operands) != len(signature.sources):
        raise UnsupportedInstructionError(
            f"it has {len(operands)} sources where its semantics takes {len(signature.sources)}"
        )
    general = False
    for k, (operand, dwords) in enumerate(zip(operands, signature.source_dwords, strict=True)):
        row.source_dwords[k] = dwords
        code = LITERAL_CODE if operand.field == "literal" else fields[operand.field]
        if operand.field == "vsrc1" and not fields.get("src1_scalar"):
            code += FIRST_VGPR
        if operand.field in ("src0", "src1", "src2") and _is_half(instruction, operand):
            operand = operand._replace(bits=16)
        constant = constant_of(code, operand, instruction.literal)
        if constant is not None and "matrix" in instruction.opcode.flags:
            if "constant_bug" in instruction.opcode.flags:
                raise UnsupportedInstructionError("this GPU misreads an inline constant in place of C")
            constant = _each_element(code, operand)
        if code >= FIRST_VGPR:
            row.source[k], row.source_relative[k] = vgpr(code - FIRST_VGPR), -1
        elif constant is not None:
            constants.vector(row, k, constant, dwords)
        elif code < SCALAR_REGISTERS or code in STATUS_CODES:
            if dwords > 2:
                raise UnsupportedInstructionError("a source of four registers is scalar")
            row.source_scalar[k] = 4 * code
            if code in STATUS_CODES:
                row.reads_status = 1
            general = True
        else:
            raise UnsupportedInstructionError(f"source operand {code} is not implemented")
        general |= _source_modifiers(row, k, instruction, operand, library)
    return general


def _source_modifiers(
    row: Any, k: int, instruction: Instruction, operand: EncodedOperand, library: OperationTable
) -> bool:
    """Fill in the modifiers of source `k`; returns whether it has any."""
    fields = instruction.fields
    number = 1 if operand.field == "vsrc1" else int(operand.field[-1]) if operand.field.startswith("src") else 3
    if number > 2:
        return False
    if "matrix" in instruction.opcode.flags:
        return _matrix_modifiers(row, k, instruction, operand, library)
    if "accumulation" in instruction.opcode.flags:
        return False
    if instruction.opcode.encoding == "vop3p":
        return _packed_modifiers(row, k, instruction, operand, library)
    if instruction.opcode.encoding == "vop3":
        negate, absolute = fields["neg"] >> number & 1, fields.get("abs", 0) >> number & 1
    else:
        negate, absolute = fields.get(f"src{number}_neg", 0), fields.get(f"src{number}_abs", 0)
    select, extend = fields.get(f"src{number}_sel", _SDWA_DWORD), fields.get(f"src{number}_sext", 0)
    if fields.get("op_sel", 0) >> number & 1:
        if operand.bits != 16:
            raise UnsupportedInstructionError("it selects half of a source of 32 bits")
        select = _SDWA_UPPER_WORD
    if select != _SDWA_DWORD or extend:
        row.source_sdwa[k], row.source_select[k], row.source_extend[k] = 1, select, extend
    if negate or absolute:
        if operand.parts > 1:
            raise UnsupportedInstructionError("it negates a source of several numbers")
        if operand.letter not in ("f", "b") or operand.bits not in _FLOAT_BITS:
            raise UnsupportedInstructionError("it negates an integer source")
        flags = (NEG_FLAG if negate else 0) | (ABS_FLAG if absolute else 0)
        row.source_sign[k], row.source_sign_flags[k] = library.address(f"row_sign_f{operand.bits}"), flags
    return bool(row.source_sdwa[k] or row.source_sign[k])


def _each_element(code: int, operand: EncodedOperand) -> int:
    """Return the bits of a matrix all of whose elements are one inline constant."""
    bits = operand.bits // operand.parts
    constant = constant_of(code, operand._replace(bits=bits, parts=1), None)
    assert constant is not None
    return sum(constant << bits * part for part in range(operand.parts))


def _matrix_modifiers(
    row: Any, k: int, instruction: Instruction, operand: EncodedOperand, library: OperationTable
) -> bool:
    """Fill in which lanes A and B of a matrix product come from; returns whether they change the source."""
    fields, product = instruction.fields, matrix_product(instruction.opcode.operation)
    if "sparse" in instruction.opcode.flags:
        if k < 2 or fields["cbsz"] or not fields["abid"]:  # CBSZ: the first set of indices
            return False
        bits = 2 * product.stored
        row.source_sign[k], row.source_sign_flags[k] = library.address("row_index_set"), fields["abid"] * bits % 32
        return True
    if k == 0 and fields["cbsz"]:
        if 1 << fields["cbsz"] > product.blocks or fields["abid"] >> fields["cbsz"]:
            raise UnsupportedInstructionError(
                f"CBSZ {fields['cbsz']} and ABID {fields['abid']} name more blocks than its {product.blocks}"
            )
        helper, flags = "row_share_blocks", fields["cbsz"] | fields["abid"] << 3 | (product.m.bit_length() - 1) << 8
    elif "negates" in instruction.opcode.flags:
        if not fields["blgp"] >> k & 1:
            return False
        if k == 2:
            raise UnsupportedInstructionError("it negates C")
        row.source_sign[k], row.source_sign_flags[k] = library.address("row_sign_f64"), NEG_FLAG
        return True
    elif k == 1 and fields["blgp"]:
        helper, flags = "row_permute_blocks", fields["blgp"]
    else:
        return False
    row.source_sign[k] = library.address(helper if operand.dwords == 1 else f"{helper}_x2")
    row.source_sign_flags[k] = flags
    return True


def _is_half(instruction: Instruction, operand: EncodedOperand) -> bool:
    """Tell whether a source of mixed precision is in FP16."""
    if ":mix" not in instruction.opcode.operands:
        return False
    fields, number = instruction.fields, int(operand.field[-1])
    return bool((fields["op_sel_hi"] | fields["op_sel_hi2"] << 2) >> number & 1)


def _packed_modifiers(
    row: Any, k: int, instruction: Instruction, operand: EncodedOperand, library: OperationTable
) -> bool:
    """Fill in which halves of a source VOP3P takes, and their signs; returns whether it changes the source."""
    fields, number = instruction.fields, int(operand.field[-1])
    upper = (fields["op_sel_hi"] | fields["op_sel_hi2"] << 2) >> number & 1
    lower, negate, negate_upper = (fields[name] >> number & 1 for name in ("op_sel", "neg", "neg_hi"))
    if ":mix" in instruction.opcode.operands:
        helper, flags, usual = "row_mix", upper | (lower & upper) << 1 | negate_upper << 2 | negate << 3, 0
    elif operand.parts == 2:
        helper = "row_packed_f32" if operand.bits == 64 else "row_packed"
        # of each source of v_pk_mov_b32 one half is taken, by op_sel (LLVM, SIInstrInfo::expandMovDPP64 and V_MOV_B64)
        takes_upper = lower or (upper and instruction.opcode.operation != "v_pk_mov_b32")
        if operand.bits == 64 and takes_upper and fields[f"src{number}"] in INLINE_CONSTANTS:
            raise UnsupportedInstructionError("a constant has no upper half to be selected")
        flags, usual = lower | upper << 1 | negate << 2 | negate_upper << 3, 2
        if (negate or negate_upper) and operand.letter != "f":
            raise UnsupportedInstructionError("it negates an integer source")
    elif lower or negate_upper or (negate and operand.letter != "f"):
        raise UnsupportedInstructionError("it selects halves of a source that has none, or negates one")
    else:
        helper, flags, usual = "row_sign_f32", NEG_FLAG if negate else 0, 0
    if flags != usual:
        row.source_sign[k], row.source_sign_flags[k] = library.address(helper), flags
    return flags != usual


def _result(row: Any, instruction: Instruction, library: OperationTable, writes: bool, clamp: int) -> bool:
    """Fill in output modifiers and the SDWA destination; returns whether VALU_GENERAL is needed.

    clamp: the clamp bit, unless the operation itself saturates.
    """
    fields, name = instruction.fields, instruction.opcode.operation
    if not writes:
        return False  # a comparison's clamp bit only concerns exceptions
    omod = fields.get("omod", 0)
    destination = next(o for o in parse_operands(instruction.opcode.operands) if o.field == "vdst")
    general = False
    if clamp or omod:
        if destination.letter == "f":
            bits = destination.bits // destination.parts
            form = f"f{bits}x{destination.parts}" if destination.parts > 1 else f"f{bits}"
            row.output = library.address(f"row_output_{form}")
            row.output_flags = omod | (CLAMP_FLAG if clamp else 0)
            results = MODE_SINGLE_RESULTS if bits == 32 else MODE_WIDE_RESULTS
            row.output_refused_by = results | 1 << MODE_IEEE_BIT
        elif name in _CARRIES and not omod:
            row.saturation = Saturation.CARRY
        elif name in _BORROWS and not omod:
            row.saturation = Saturation.BORROW
        else:
            raise UnsupportedInstructionError("clamp or output modifier of an integer result")
        general = True
    chosen = _half_written(instruction, bool(row.output))
    if chosen is not None:
        row.merges, row.merge_select, row.merge_unused = 1, chosen, _SDWA_PRESERVE
        general = True
    if fields.get("dst_sel", _SDWA_DWORD) != _SDWA_DWORD:
        row.merges, row.merge_select, row.merge_unused = 1, fields["dst_sel"], fields["dst_unused"]
        general = True
    return general


def _half_written(instruction: Instruction, limited: bool) -> int | None:
    """Return which half of its destination an instruction writes alone, as SDWA selects it; None: its operation does.

    limited: the result goes through an output modifier, which clears the other half.
    """
    opcode = instruction.opcode
    if opcode.mnemonic.startswith(("v_cvt_pk_fp8_", "v_cvt_pk_bf8_")):
        return _SDWA_UPPER_WORD if instruction.fields["op_sel"] >> 3 else _SDWA_LOWER_WORD
    if "_mixlo_" in opcode.mnemonic or "_mixhi_" in opcode.mnemonic:
        return _SDWA_UPPER_WORD if "_mixhi_" in opcode.mnemonic else _SDWA_LOWER_WORD
    if instruction.fields.get("op_sel", 0) >> 3:
        if not opcode.operands.startswith(("vdst:f16", "vdst:u16", "vdst:i16")):
            raise UnsupportedInstructionError("it selects half of a result of 32 bits")
        return _SDWA_UPPER_WORD
    keeps = opcode.operation.endswith(("_keep_f16", "_keep_u16", "_keep_i16")) or "op_sel" in opcode.flags
    return _SDWA_LOWER_WORD if keeps and limited and opcode.operands.startswith("vdst:f16") else None


def _lane_access(row: Any, instruction: Instruction, constants: Constants, name: str) -> None:
    """Fill the row of v_readlane, v_readfirstlane or v_writelane."""
    fields = instruction.fields
    source = fields["src0"]
    word32 = EncodedOperand("src0", "b", 32)
    if name == "v_writelane_b32":
        row.kind, row.destination = InstructionKind.WRITE_LANE, vgpr(fields["vdst"])
        scalar_operand(row, 0, source, word32, instruction.literal, constants)
    else:
        if source < FIRST_VGPR:
            raise UnsupportedInstructionError("its source is not a vector register")
        row.kind = InstructionKind.READ_LANE if name == "v_readlane_b32" else InstructionKind.READ_FIRST_LANE
        row.destination = 4 * fields["sdst"]
        row.source[0], row.source_relative[0] = vgpr(source - FIRST_VGPR), -1
    if name != "v_readfirstlane_b32":
        scalar_operand(row, 1, fields["src1"], word32, instruction.literal, constants)


def scalar_operand(
    row: Any, number: int, code: int, operand: EncodedOperand, literal: int | None, constants: Constants
) -> bool:
    """Fill in scalar source `k`; returns whether it is SCC, VCCZ or EXECZ."""
    constant = constant_of(code, operand, literal)
    if constant is not None:
        constants.scalar(row, number, constant)
        return False
    aperture = code in (SHARED_BASE, PRIVATE_BASE) and operand.dwords == 2
    if code >= SCALAR_REGISTERS and code not in STATUS_CODES and not aperture:
        raise UnsupportedInstructionError(f"scalar source operand {code} is not implemented")
    row.source[number], row.source_relative[number] = 4 * code, -1
    return code in STATUS_CODES
