"""Program rows of scalar arithmetic and program control: SOP1, SOP2, SOPK, SOPC, SOPP."""

import numpy as np

from isa.encoding.instruction import Instruction
from isa.encoding.operands import SCALAR_REGISTERS, Operand, Pool, Unsupported, parse_operands
from isa.execution import layout as at
from isa.execution.vector_program import scalar_operand
from isa.lanes import LaneLibrary

_BRANCHES = {
    "s_branch": at.ALWAYS,
    "s_cbranch_scc0": at.SCC0,
    "s_cbranch_scc1": at.SCC1,
    "s_cbranch_vccz": at.VCCZ,
    "s_cbranch_vccnz": at.VCCNZ,
    "s_cbranch_execz": at.EXECZ,
    "s_cbranch_execnz": at.EXECNZ,
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
    ]
)
_TRAP_ABORT, _TRAP_DEBUG = 2, 3  # LLVM AMDGPU guide, trap handler: llvm.trap, llvm.debugtrap
_READABLE = (at.HW_MODE, at.HW_STATUS, at.HW_TRAPSTS, at.HW_ID)
_MOVES = {
    "s_movrels_b32": at.RELATIVE_SOURCE,
    "s_movrels_b64": at.RELATIVE_SOURCE,
    "s_movreld_b32": at.RELATIVE_DESTINATION,
    "s_movreld_b64": at.RELATIVE_DESTINATION,
}


def scalar_row(row: np.ndarray, instruction: Instruction, pool: Pool, library: LaneLibrary, mode: int | None) -> None:
    """Fill the program row of a SOP instruction; branch targets are filled in by the caller. Raises Unsupported."""
    name = instruction.opcode.mnemonic
    fields = instruction.fields
    operands = parse_operands(instruction.opcode.operands)
    if name in _NOTHING:
        row[at.I_KIND] = at.K_NOP
    elif name == "s_barrier":
        row[at.I_KIND] = at.K_BARRIER
    elif name == "s_endpgm":
        row[at.I_KIND] = at.K_END
    elif name == "s_trap":
        number = fields["simm16"]
        if number not in (_TRAP_ABORT, _TRAP_DEBUG):
            raise Unsupported(f"nothing handles trap {number}")
        row[at.I_KIND] = at.K_TRAP if number == _TRAP_ABORT else at.K_NOP  # no debugger: its trap returns at once
    elif name in _BRANCHES:
        row[at.I_KIND], row[at.I_CONDITION] = at.K_BRANCH, _BRANCHES[name]
    elif name == "s_getpc_b64":
        row[at.I_KIND], row[at.I_D] = at.K_GET_PC, 4 * fields["sdst"]
    elif name in ("s_setpc_b64", "s_swappc_b64"):
        if fields["ssrc0"] >= SCALAR_REGISTERS:
            raise Unsupported("its target is not a register")
        row[at.I_KIND] = at.K_SET_PC if name == "s_setpc_b64" else at.K_SWAP_PC
        row[at.I_A], row[at.I_D] = 4 * fields["ssrc0"], 4 * fields["sdst"]
    elif name in ("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"):
        _hardware_register(row, instruction, pool, name)
    elif name in _MOVES:
        row[at.I_KIND], row[at.I_SUBKIND] = at.K_SCALAR_MOVE_RELATIVE, _MOVES[name]
        row[at.I_D], row[at.I_D_DWORDS] = 4 * fields["sdst"], operands[0].dwords
        if scalar_operand(row, at.I_A, fields["ssrc0"], operands[1], instruction.literal, pool):
            raise Unsupported("its source is a status bit")
        if _MOVES[name] == at.RELATIVE_SOURCE and not row[at.I_A_MASK]:
            raise Unsupported("its source is a constant")
    else:
        _arithmetic(row, instruction, operands, pool, library)


def _arithmetic(
    row: np.ndarray, instruction: Instruction, operands: list[Operand], pool: Pool, library: LaneLibrary
) -> None:
    name, fields = instruction.opcode.mnemonic, instruction.fields
    if instruction.opcode.encoding == "sopp" or not library.has(name):
        raise Unsupported("it has no semantics")
    row[at.I_KIND] = at.K_SALU
    row[at.I_FUNCTION] = library.address(name)
    row[at.I_D] = 4 * at.S_SINK
    word = at.I_A
    dwords = at.I_A_DWORDS
    for operand in operands:
        if operand.field == "sdst":
            # comparisons (s_cmpk) name a register that they only read
            row[at.I_D], row[at.I_D_DWORDS] = 4 * fields["sdst"], library.signature(name).destination_dwords
        elif operand.field == "simm16":
            pool.scalar(row, word, fields["simm16"])
            row[dwords] = 1
        elif operand.field in ("ssrc0", "ssrc1"):
            row[dwords] = operand.dwords
            if scalar_operand(row, word, fields[operand.field], operand, instruction.literal, pool):
                row[at.I_KIND] = at.K_SALU_SPECIAL
            word, dwords = at.I_B, at.I_B_DWORDS
        else:
            raise Unsupported(f"operand {operand.field} is not implemented")
    for word, dwords in ((at.I_A, at.I_A_DWORDS), (at.I_B, at.I_B_DWORDS)):
        if not row[dwords]:  # no such source: anything readable
            pool.scalar(row, word, 0)
    if "saveexec" in name:
        row[at.I_KIND] = at.K_SAVEEXEC


def _hardware_register(row: np.ndarray, instruction: Instruction, pool: Pool, name: str) -> None:
    """s_getreg and s_setreg: register number, offset and size lie in simm16 (GCN3 ISA manual, section 12.3)."""
    fields = instruction.fields
    selector = fields["simm16"]
    number, offset, size = selector & 63, selector >> 6 & 31, (selector >> 11) + 1
    row[at.I_IMMEDIATE] = selector
    if name == "s_getreg_b32":
        if number not in _READABLE:
            raise Unsupported(f"hardware register {number} cannot be read")
        row[at.I_KIND], row[at.I_D] = at.K_GET_REGISTER, 4 * fields["sdst"]
        return
    if number == at.HW_MODE and offset + size > at.MODE_BITS:
        raise Unsupported("it writes MODE bits other than rounding, denormals, DX10_CLAMP and IEEE")
    if number not in (at.HW_MODE, at.HW_TRAPSTS):
        raise Unsupported(f"hardware register {number} cannot be written")
    row[at.I_KIND] = at.K_SET_REGISTER
    if name == "s_setreg_imm32_b32":
        pool.scalar(row, at.I_A, instruction.literal or 0)
    else:
        row[at.I_A], row[at.I_A_MASK] = 4 * fields["sdst"], -1
