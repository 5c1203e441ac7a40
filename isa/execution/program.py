"""From decoded instructions to the interpreter's program table.

One row an instruction (`isa.execution.program_table`): which of the interpreter's cases it is, the address of its lane
function, where its operands lie. What is not implemented is refused here, before anything runs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.jit import records, views
from isa.architecture import HW_MODE, MODE_DX10_CLAMP_BIT, MODE_IEEE_BIT, ROW_BYTES
from isa.encoding.control_flow import decode_kernel
from isa.encoding.instruction import Instruction
from isa.encoding.operands import Unsupported, highest_vgpr, parse_operands
from isa.execution.codes import Kind
from isa.execution.constants import Constants
from isa.execution.memory_program import memory_row
from isa.execution.program_table import BROADCAST_ROWS, PROGRAM_ROW, SOURCES
from isa.execution.scalar_program import scalar_row
from isa.execution.state import PATTERN_WAYS
from isa.execution.vector_program import vector_row
from isa.lanes import LaneLibrary, library
from isa.object.code_object import CodeObjectError, Kernel
from isa.opcodes.opcode import UNIT_NAMES

BUILDERS = {  # the encodings that are executed
    **dict.fromkeys(("vop1", "vop2", "vopc", "vop3"), vector_row),
    **dict.fromkeys(("sop1", "sop2", "sopk", "sopc", "sopp"), scalar_row),
    **dict.fromkeys(("smem", "ds", "flat", "mubuf"), memory_row),
}
_WITH_PATTERNS = (Kind.LDS, Kind.FLAT, Kind.BUFFER)


class ProgramError(CodeObjectError):
    """A kernel that holds an instruction which is not implemented."""


@dataclass(frozen=True)
class Program:
    """A kernel made ready for the interpreter; contexts share it.

    table: records of PROGRAM_ROW, `patterns` in them the number of the instruction's first access pattern;
    index_of: int32, instruction index at each dword of the code or -1; patterns: access pattern entries needed,
    with_patterns: the instructions that have some;
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
    with_patterns: np.ndarray
    unit_prefix: np.ndarray
    keep: tuple[np.ndarray, ...]


def initial_mode(kernel: Kernel) -> int:
    """The MODE register at a wavefront's start, bits 9:0."""
    clamp, ieee = kernel.dx10_clamp << MODE_DX10_CLAMP_BIT, kernel.ieee_mode << MODE_IEEE_BIT
    return kernel.float_mode | clamp | ieee


def _writes_mode(instruction: Instruction) -> bool:
    writes = instruction.opcode.mnemonic in ("s_setreg_b32", "s_setreg_imm32_b32")
    return writes and instruction.fields["simm16"] & 63 == HW_MODE


def build_program(kernel: Kernel) -> Program:
    """Translate a kernel; raises DecodeError, or ProgramError naming what is not implemented and where."""
    instructions = decode_kernel(kernel)
    lanes = library()
    constants = Constants()
    index_of = np.full(len(kernel.code) // 4 + 1, -1, np.int32)
    for i, instruction in enumerate(instructions):
        index_of[(instruction.address - kernel.code_address) // 4] = i
    patterns, top = 0, -1
    with_patterns = []
    mode = None if any(_writes_mode(i) for i in instructions) else initial_mode(kernel)
    table = records(PROGRAM_ROW, len(instructions))
    rows = views(table)
    for i, (instruction, row) in enumerate(zip(instructions, rows, strict=True)):
        _fill(row, instruction, constants, lanes, kernel, mode)
        row.unit = instruction.opcode.unit
        if row.kind in (Kind.GET_PC, Kind.SWAP_PC):
            row.next_byte = instruction.address + instruction.size - kernel.code_address
        if instruction.branch_target is not None:
            row.target = int(index_of[(instruction.branch_target - kernel.code_address) // 4])
        if row.kind in _WITH_PATTERNS:
            row.patterns = patterns
            with_patterns.append(i)
            patterns += PATTERN_WAYS
        top = max(top, highest_vgpr(instruction, parse_operands(instruction.opcode.operands)))
    end = next((i for i, row in enumerate(rows) if row.kind == Kind.END), None)
    if end is None:
        raise ProgramError(f"kernel '{kernel.name}' has no s_endpgm")
    keep = constants.finish()
    vgprs = max(kernel.vgprs, top + 1)
    for row in rows:
        if row.kind == Kind.VALU_ONE_SCALAR:
            for k in range(SOURCES):
                if row.source[k] == BROADCAST_ROWS:
                    row.source[k] = vgprs * ROW_BYTES
    prefix = np.zeros((len(instructions) + 1, len(UNIT_NAMES)), np.int64)
    for i, instruction in enumerate(instructions):
        prefix[i + 1] = prefix[i]
        prefix[i + 1, instruction.opcode.unit] += 1
    start = int(index_of[kernel.entry // 4])
    return Program(
        kernel,
        instructions,
        table,
        index_of,
        start,
        end,
        vgprs,
        patterns,
        np.array(with_patterns, np.int64),
        prefix,
        keep,
    )


def _fill(
    row: Any, instruction: Instruction, constants: Constants, lanes: LaneLibrary, kernel: Kernel, mode: int | None
) -> None:
    opcode = instruction.opcode
    try:
        builder = BUILDERS.get(opcode.encoding)
        if builder is None:
            raise Unsupported("this encoding is not implemented")
        builder(row, instruction, constants, lanes, mode)
    except Unsupported as reason:
        raise ProgramError(
            f"kernel '{kernel.name}': {opcode.mnemonic} ({opcode.encoding.upper()}) at {instruction.address:#x}"
            f" is not implemented: {reason}"
        ) from None
