"""From decoded instructions to the interpreter's program table.

One row of int64 words an instruction (`isa.execution.layout`): which of the interpreter's cases it is, the address of
its lane function, where its operands lie. Constants become rows (vector) or words (scalar) of a pool. What is not
implemented is refused here, before anything runs.
"""

from dataclasses import dataclass

import numpy as np

from isa.encoding.decoder import branch_target, decode_kernel
from isa.encoding.instruction import UNIT_NAMES, Instruction
from isa.encoding.operands import Pool, Unsupported, highest_vgpr, parse_operands
from isa.execution import layout as at
from isa.execution.memory_program import memory_row
from isa.execution.scalar_program import scalar_row
from isa.execution.vector_program import vector_row
from isa.lanes import LaneLibrary, library
from isa.object.code_object import CodeObjectError, Kernel

_BUILDERS = {
    **dict.fromkeys(("vop1", "vop2", "vopc", "vop3"), vector_row),
    **dict.fromkeys(("sop1", "sop2", "sopk", "sopc", "sopp"), scalar_row),
    **dict.fromkeys(("smem", "ds", "flat", "mubuf"), memory_row),
}
_WITH_PATTERNS = (at.K_LDS, at.K_FLAT, at.K_BUFFER)


class ProgramError(CodeObjectError):
    """A kernel that holds an instruction which is not implemented."""


@dataclass(frozen=True)
class Program:
    """A kernel made ready for the interpreter; contexts share it.

    table: int64 [instructions, ROW_WORDS], M_PATTERN as the number of the instruction's first access pattern;
    index_of: int32, instruction index at each dword of the code or -1; patterns: access pattern entries needed;
    unit_prefix: int64 [instructions + 1, units], instructions of each unit before an index.
    """

    kernel: Kernel
    instructions: list[Instruction]
    table: np.ndarray
    index_of: np.ndarray
    start_index: int
    end_index: int
    vgprs: int
    patterns: int
    unit_prefix: np.ndarray
    keep: tuple[np.ndarray, ...]


def initial_mode(kernel: Kernel) -> int:
    """The MODE register at a wavefront's start, bits 9:0."""
    clamp, ieee = kernel.dx10_clamp << at.MODE_DX10_CLAMP_BIT, kernel.ieee_mode << at.MODE_IEEE_BIT
    return kernel.float_mode | clamp | ieee


def _writes_mode(instruction: Instruction) -> bool:
    writes = instruction.opcode.mnemonic in ("s_setreg_b32", "s_setreg_imm32_b32")
    return writes and instruction.fields["simm16"] & 63 == at.HW_MODE


def build_program(kernel: Kernel) -> Program:
    """Translate a kernel; raises DecodeError, or ProgramError naming what is not implemented and where."""
    instructions = decode_kernel(kernel)
    lanes = library()
    pool = Pool()
    table = np.zeros((len(instructions), at.ROW_WORDS), np.int64)
    index_of = np.full(len(kernel.code) // 4 + 1, -1, np.int32)
    for i, instruction in enumerate(instructions):
        index_of[(instruction.address - kernel.code_address) // 4] = i
    patterns, top = 0, -1
    mode = None if any(_writes_mode(i) for i in instructions) else initial_mode(kernel)
    for i, instruction in enumerate(instructions):
        row = table[i]
        _fill(row, instruction, pool, lanes, kernel, mode)
        row[at.I_UNIT] = instruction.opcode.unit
        if row[at.I_KIND] in (at.K_GET_PC, at.K_SWAP_PC):
            row[at.I_NEXT_BYTE] = instruction.address + instruction.size - kernel.code_address
        target = branch_target(instruction)
        if target is not None:
            row[at.I_TARGET] = index_of[(target - kernel.code_address) // 4]
        if row[at.I_KIND] in _WITH_PATTERNS:
            row[at.M_PATTERN] = patterns
            patterns += at.PATTERN_WAYS
        top = max(top, highest_vgpr(instruction, parse_operands(instruction.opcode.operands)))
    end = next((i for i, row in enumerate(table) if row[at.I_KIND] == at.K_END), None)
    if end is None:
        raise ProgramError(f"kernel '{kernel.name}' has no s_endpgm")
    prefix = np.zeros((len(instructions) + 1, len(UNIT_NAMES)), np.int64)
    for i, instruction in enumerate(instructions):
        prefix[i + 1] = prefix[i]
        prefix[i + 1, instruction.opcode.unit] += 1
    keep = pool.finish()
    vgprs = max(kernel.vgprs, top + 1)
    with_scalar = table[:, at.I_KIND] == at.K_VALU_SCALAR
    for word in (at.I_A, at.I_B, at.I_C):
        table[with_scalar & (table[:, word] == at.BROADCAST_OFFSET), word] = vgprs * at.ROW_BYTES
    start = int(index_of[kernel.entry // 4])
    return Program(kernel, instructions, table, index_of, start, end, vgprs, patterns, prefix, keep)


def _fill(
    row: np.ndarray, instruction: Instruction, pool: Pool, lanes: LaneLibrary, kernel: Kernel, mode: int | None
) -> None:
    opcode = instruction.opcode
    try:
        builder = _BUILDERS.get(opcode.encoding)
        if builder is None:
            raise Unsupported("this encoding is not implemented")
        builder(row, instruction, pool, lanes, mode)
    except Unsupported as reason:
        raise ProgramError(
            f"kernel '{kernel.name}': {opcode.mnemonic} ({opcode.encoding.upper()}) at {instruction.address:#x}"
            f" is not implemented: {reason}"
        ) from None
