"""Program rows of scalar arithmetic and program control: SOP1, SOP2, SOPK, SOPC, SOPP."""

from collections.abc import Sequence
from typing import Any

from isa.architecture import (
    HW_ID,
    HW_MODE,
    HW_SH_MEM_BASES,
    HW_STATUS,
    HW_TRAPSTS,
    M0,
    MODE_BITS,
    MODE_HALF_OVERFLOW_BIT,
    SCALAR_REGISTERS,
)
from isa.encoding.instruction import Instruction
from isa.encoding.operands import EncodedOperand, UnsupportedInstructionError, parse_operands
from isa.execution.codes import RELATIVE_DESTINATION, RELATIVE_SOURCE, Condition, InstructionKind
from isa.execution.constants import Constants
from isa.execution.operations import OperationTable
from isa.execution.state import SINK
from isa.execution.vector_program import scalar_operand

_BRANCHES = {
    "s_branch": Condition.ALWAYS,
    "s_cbranch_scc0": Condition.SCC0,
    "s_cbranch_scc1": Condition.SCC1,
    "s_cbranch_vccz": Condition.VCCZ,
    "s_cbranch_vccnz": Condition.VCCNZ,
    "s_cbranch_execz": Condition.EXECZ,
    "s_cbranch_execnz": Condition.EXECNZ,
}
# No effect on results. Messages: interrupts and debug data have no receiver, geometry shaders do not exist here.
_NOTHING = frozenset(
    [
        "s_nop",
        "s_sleep",
        "s_setprio",
        "s_waitcnt",
        "s_icache_inv",
        "s_incperflevel",
        "s_decperflevel",
        "s_ttracedata",
        "s_wakeup",
        "s_sendmsg",
        "s_set_gpr_idx_off",  # what it ends is known when the program is built: isa.encoding.register_index
    ]
)
_TRAP_ABORT, _TRAP_DEBUG = 2, 3  # LLVM AMDGPU guide, trap handler: llvm.trap, llvm.debugtrap
_READABLE = (HW_MODE, HW_STATUS, HW_TRAPSTS, HW_ID)
_SET_INDEX = ("s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode")
_MOVES = {
    "s_movrels_b32": RELATIVE_SOURCE,
    "s_movrels_b64": RELATIVE_SOURCE,
    "s_movreld_b32": RELATIVE_DESTINATION,
    "s_movreld_b64": RELATIVE_DESTINATION,
}


def scalar_row(
    row: Any, instruction: Instruction, constants: Constants, library: OperationTable, mode: int | None
) -> None:
    """Fill the program row of a SOP instruction; branch targets are filled in by the caller. Raises
    UnsupportedInstructionError."""
    name = instruction.opcode.mnemonic
    fields = instruction.fields
    operands = parse_operands(instruction.opcode.operands)
    if name in _NOTHING:
        row.kind = InstructionKind.NO_OPERATION
    elif name == "s_barrier":
        row.kind = InstructionKind.BARRIER
    elif name == "s_endpgm":
        row.kind = InstructionKind.END
    elif name == "s_trap":
        number = fields["simm16"]
        if number not in (_TRAP_ABORT, _TRAP_DEBUG):
            raise UnsupportedInstructionError(f"nothing handles trap {number}")
        row.kind = (
            InstructionKind.TRAP if number == _TRAP_ABORT else InstructionKind.NO_OPERATION
        )  # no debugger: its trap returns at once
    elif name == "s_call_b64":
        row.kind, row.condition, row.destination = InstructionKind.BRANCH, Condition.CALL, 4 * fields["sdst"]
    elif name in _BRANCHES:
        row.kind, row.condition = InstructionKind.BRANCH, _BRANCHES[name]
    elif name == "s_getpc_b64":
        row.kind, row.destination = InstructionKind.GET_PC, 4 * fields["sdst"]
    elif name in ("s_setpc_b64", "s_swappc_b64"):
        if fields["ssrc0"] >= SCALAR_REGISTERS:
            raise UnsupportedInstructionError("its target is not a register")
        row.kind = InstructionKind.SET_PC if name == "s_setpc_b64" else InstructionKind.SWAP_PC
        row.source[0], row.destination = 4 * fields["ssrc0"], 4 * fields["sdst"]
    elif name in ("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"):
        _hardware_register(row, instruction, constants, name)
    elif name in _MOVES:
        row.kind, row.relative = InstructionKind.SCALAR_MOVE_RELATIVE, _MOVES[name]
        row.destination, row.destination_dwords = 4 * fields["sdst"], operands[0].dwords
        if scalar_operand(row, 0, fields["ssrc0"], operands[1], instruction.literal, constants):
            raise UnsupportedInstructionError("its source is a status bit")
        if _MOVES[name] == RELATIVE_SOURCE and not row.source_relative[0]:
            raise UnsupportedInstructionError("its source is a constant")
    else:
        _arithmetic(row, instruction, operands, constants, library)


def _arithmetic(
    row: Any,
    instruction: Instruction,
    operands: Sequence[EncodedOperand],
    constants: Constants,
    library: OperationTable,
) -> None:
    name, fields = instruction.opcode.mnemonic, instruction.fields
    if not library.has(name):
        raise UnsupportedInstructionError("it has no semantics")
    row.kind = InstructionKind.SALU
    row.function = library.address(name)
    row.destination = 4 * SINK
    if name in _SET_INDEX:
        row.destination, row.destination_dwords = 4 * M0, 1
    k = 0
    for operand in operands:
        if operand.field == "sdst":
            # comparisons (s_cmpk) name a register that they only read
            row.destination, row.destination_dwords = 4 * fields["sdst"], library.signature(name).destination_dwords
        elif operand.field == "simm16":
            constants.scalar(row, k, fields["simm16"])
            row.source_dwords[k] = 1
        elif operand.field == "ssrc1" and name == "s_set_gpr_idx_on":  # no register: which operands are indexed
            constants.scalar(row, 1, fields["ssrc1"])
            row.source_dwords[1] = 1
        elif operand.field in ("ssrc0", "ssrc1"):
            row.source_dwords[k] = operand.dwords
            if scalar_operand(row, k, fields[operand.field], operand, instruction.literal, constants):
                row.kind = InstructionKind.SALU_STATUS
            k = 1
        else:
            raise UnsupportedInstructionError(f"operand {operand.field} is not implemented")
    for k in (0, 1):
        if not row.source_dwords[k]:  # no such source: anything readable
            constants.scalar(row, k, 0)
    if "saveexec" in name or "wrexec" in name:
        row.kind = InstructionKind.SAVE_EXEC
        row.returns = 1 if "wrexec" in name else 0


def writes_half_overflow(instruction: Instruction) -> bool:
    """Tell whether s_setreg writes MODE's FP16_OVFL alone, which the architecture has."""
    if instruction.opcode.mnemonic not in ("s_setreg_b32", "s_setreg_imm32_b32"):
        return False
    alone = instruction.fields["simm16"] == HW_MODE | MODE_HALF_OVERFLOW_BIT << 6
    return alone and instruction.architecture.generation != "GFX8"


def _hardware_register(row: Any, instruction: Instruction, constants: Constants, name: str) -> None:
    """Fill the row of s_getreg or s_setreg.

    Register number, offset and size lie in simm16 (GCN3 ISA manual, section 12.3).
    """
    fields = instruction.fields
    selector = fields["simm16"]
    number, offset, size = selector & 63, selector >> 6 & 31, (selector >> 11) + 1
    row.hardware_register = selector
    if name == "s_getreg_b32":
        apertures = number == HW_SH_MEM_BASES and "hwreg9" in instruction.opcode.operands
        if number not in _READABLE and not apertures:
            raise UnsupportedInstructionError(f"hardware register {number} cannot be read")
        row.kind, row.destination = InstructionKind.GET_REGISTER, 4 * fields["sdst"]
        return
    if number == HW_MODE and offset + size > MODE_BITS and not writes_half_overflow(instruction):
        raise UnsupportedInstructionError("it writes MODE bits other than rounding, denormals, DX10_CLAMP and IEEE")
    if number not in (HW_MODE, HW_TRAPSTS):
        raise UnsupportedInstructionError(f"hardware register {number} cannot be written")
    row.kind = InstructionKind.SET_REGISTER
    if name == "s_setreg_imm32_b32":
        constants.scalar(row, 0, instruction.literal or 0)
    else:
        row.source[0], row.source_relative[0] = 4 * fields["sdst"], -1
