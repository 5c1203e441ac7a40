"""From decoded instructions to rows of the interpreter's program table, wherever that will lie.

One row an instruction (`isa.execution.program_table`): which of the interpreter's cases it is, its lane function, where
its operands lie. What is not implemented is refused here, before anything runs. No address is in a translation: in the
columns of functions stand numbers of `operations`, from 1 on, and constants are listed apart.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpusim.base.jit import records, views
from isa.architecture import HW_MODE, MODE_DX10_CLAMP_BIT, MODE_IEEE_BIT, ROW_BYTES
from isa.encoding.instruction import Instruction
from isa.encoding.operands import UnsupportedInstructionError, highest_vgpr, parse_operands
from isa.encoding.register_index import indexed_operands
from isa.execution.codes import Condition, InstructionKind
from isa.execution.constants import Constants, ConstantValues
from isa.execution.memory_program import memory_row
from isa.execution.operations import OperationKey, OperationTable
from isa.execution.program_table import PROGRAM_ROW
from isa.execution.scalar_program import scalar_row, writes_half_overflow
from isa.execution.state import PATTERN_WAYS, RESULT_ROW
from isa.execution.vector_program import index_registers, vector_row
from isa.lanes import library
from isa.object.code_object import CodeObjectError, Kernel
from isa.opcodes.float_operations import PRECISIONS, float_operations
from isa.trace import FLOPS_BITS

BUILDERS = {  # the encodings that are executed
    **dict.fromkeys(("vop1", "vop2", "vopc", "vop3", "vop3p"), vector_row),
    **dict.fromkeys(("sop1", "sop2", "sopk", "sopc", "sopp"), scalar_row),
    **dict.fromkeys(("smem", "ds", "flat", "global", "scratch", "mubuf", "mimg"), memory_row),
}
# vector instructions with results of FP16 or FP8 that can be larger than the largest number; v_cvt_pkrtz rounds to it
_CAN_OVERFLOW = re.compile(
    r"v_(?!cmp|mfma|smfmac|dot2|pack_|(pk_)?(max|min|med)|(ceil|floor|trunc|rndne|fract|frexp\w*|sin|cos|sqrt)_"
    r"|cvt_(f32|pk_f32|i16|u16|norm|pknorm|pkrtz)).*(f16|cvt_(pk|sr)_(fp8|bf8)_f32)"
)
_WITH_PATTERNS = (InstructionKind.LDS, InstructionKind.FLAT, InstructionKind.BUFFER, InstructionKind.SEGMENT)


class ProgramError(CodeObjectError):
    """A kernel that holds an instruction which is not implemented."""


class Translation(NamedTuple):
    """A kernel's program rows with their constants and operations, under the same names as in `Program`."""

    table: np.ndarray
    """PROGRAM_ROW [instructions]."""
    operations: tuple[OperationKey, ...]
    """Operations with their modes, by number from 1."""
    constants: ConstantValues
    """Constants that rows refer to."""
    index_of: np.ndarray
    """int32 [dwords]: index of the instruction at each dword; -1: none."""
    indexed_from: int
    """Bytes of code before the kernel's own part."""
    start_index: int
    """Index of the first instruction."""
    end_index: int
    """Index after the last instruction of the kernel's own code."""
    vgprs: int
    """Number of vector registers."""
    patterns: int
    """Number of access pattern entries."""
    with_patterns: np.ndarray
    """int64: indices of the instructions with access patterns."""


def initial_mode(kernel: Kernel) -> int:
    """Return the MODE register at a wavefront's start, bits 9:0."""
    clamp, ieee = kernel.dx10_clamp << MODE_DX10_CLAMP_BIT, kernel.ieee_mode << MODE_IEEE_BIT
    return kernel.float_mode | clamp | ieee


def _writes_mode(instruction: Instruction) -> bool:
    writes = instruction.opcode.mnemonic in ("s_setreg_b32", "s_setreg_imm32_b32")
    return writes and instruction.fields["simm16"] & 63 == HW_MODE


def _check_overflow(kernel: Kernel, instructions: Sequence[Instruction]) -> None:
    """Refuse what FP16_OVFL changes: a result in FP16 or FP8 that can be too large. Programs set it for others, too."""
    if not any(map(writes_half_overflow, instructions)):
        return
    for one in instructions:
        if _CAN_OVERFLOW.match(one.opcode.mnemonic):
            what = f"{one.opcode.mnemonic} at {one.address:#x} is not implemented in a kernel that sets MODE.FP16_OVFL"
            raise ProgramError(f"kernel '{kernel.name}': {what}")


def translate(kernel: Kernel, instructions: Sequence[Instruction]) -> Translation:
    """Translate a kernel's instructions into rows; raises ProgramError naming what is not implemented and where."""
    _check_overflow(kernel, instructions)
    lanes = OperationTable(library())
    constants = Constants()
    dwords = (np.array([one.address for one in instructions], np.int64) - kernel.code_address) // 4
    # a library's code objects have thousands of kernels in one text of 100 MB: an index of all of it for each kernel
    # would be the most of what a process with many of them takes
    first = int(dwords.min())
    index_of = np.full(int(dwords.max()) - first + 1, -1, np.int32)
    index_of[dwords - first] = np.arange(len(instructions))
    patterns, top = 0, -1
    with_patterns = []
    mode = None if any(_writes_mode(i) for i in instructions) else initial_mode(kernel)
    table = records(PROGRAM_ROW, len(instructions))
    contents = table.view(np.uint8).reshape(len(table), -1)
    indexed = _indexed_operands(kernel, instructions)
    # most instructions of a large kernel stand in it several times
    first_like: dict[tuple[bytes, int], int] = {}
    for i, (instruction, row) in enumerate(zip(instructions, views(table), strict=True)):
        constants.row_number = i
        offset = instruction.address - kernel.code_address
        like = first_like.setdefault((kernel.code[offset : offset + instruction.size], indexed[i]), i)
        if like == i:
            _fill(row, instruction, constants, lanes, kernel, mode, indexed[i])
            row.unit = instruction.opcode.unit
            top = max(top, highest_vgpr(instruction, parse_operands(instruction.opcode.operands)))
        else:  # what depends on its place is filled in below
            contents[i] = contents[like]
            constants.repeat(like)
        kind = row.kind
        if kind in (InstructionKind.GET_PC, InstructionKind.SWAP_PC) or (
            kind == InstructionKind.BRANCH and row.condition == Condition.CALL
        ):
            row.next_byte = instruction.address + instruction.size - kernel.code_address
        if instruction.branch_target is not None:
            row.target = int(index_of[(instruction.branch_target - kernel.code_address) // 4 - first])
        if kind in _WITH_PATTERNS:
            row.patterns = patterns
            with_patterns.append(i)
            patterns += PATTERN_WAYS
    ends = np.flatnonzero(table["kind"] == InstructionKind.END)
    if not len(ends):
        raise ProgramError(f"kernel '{kernel.name}' has no s_endpgm")
    registers = max(kernel.vgprs, top + 1)
    table["destination"][table["to_lds"] == 1] = (registers + RESULT_ROW) * ROW_BYTES
    return Translation(
        table=table,
        operations=lanes.operations,
        constants=constants.values(),
        index_of=index_of,
        indexed_from=4 * first,
        start_index=int(index_of[kernel.entry // 4 - first]),
        end_index=int(ends[0]),
        vgprs=registers,
        patterns=patterns,
        with_patterns=np.array(with_patterns, np.int64),
    )


def _indexed_operands(kernel: Kernel, instructions: Sequence[Instruction]) -> list[int]:
    try:
        return indexed_operands(instructions, kernel.code_address + kernel.entry)
    except UnsupportedInstructionError as reason:
        raise ProgramError(
            f"kernel '{kernel.name}': indexing of vector registers is not implemented: {reason}"
        ) from None


def _fill(
    row: Any,
    instruction: Instruction,
    constants: Constants,
    lanes: OperationTable,
    kernel: Kernel,
    mode: int | None,
    indexed: int,
) -> None:
    opcode = instruction.opcode
    try:
        builder = BUILDERS.get(opcode.encoding)
        if builder is None:
            raise UnsupportedInstructionError("this encoding is not implemented")
        builder(row, instruction, constants, lanes, mode)
        bits, operations = float_operations(opcode.mnemonic)
        row.flops = operations << FLOPS_BITS * list(PRECISIONS).index(bits)
        if indexed > 0 and builder is vector_row:
            index_registers(row, instruction, indexed)
    except UnsupportedInstructionError as reason:
        raise ProgramError(
            f"kernel '{kernel.name}': {opcode.mnemonic} ({opcode.encoding.upper()}) at {instruction.address:#x}"
            f" is not implemented: {reason}"
        ) from None
