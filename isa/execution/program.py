"""Programs: a kernel's translation laid out in this process, where the interpreter executes it.

Instructions themselves are only needed by who says or asks something about them: messages, the timing model's tables.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isa.architecture import ROW_BYTES
from isa.encoding.control_flow import decode_kernel
from isa.encoding.instruction import Instruction
from isa.execution.codes import InstructionKind
from isa.execution.program_table import BROADCAST_ROWS
from isa.execution.translation import Translation, translate
from isa.lanes import library
from isa.object.code_object import Kernel
from isa.opcodes.opcode import UNIT_NAMES


@dataclass(frozen=True)
class Program:
    """A kernel made ready for the interpreter; contexts share it.

    table: records of PROGRAM_ROW, `patterns` in them the number of the instruction's first access pattern;
    index_of: int32, instruction index at each dword of the code or -1; patterns: access pattern entries needed,
    with_patterns: the instructions that have some;
    unit_prefix: int64 [instructions + 1, units], instructions of each unit before an index; flop_prefix: int64
    [instructions + 1], floating-point operations of a lane before an index, as `isa.trace` has those of a slice.
    """

    kernel: Kernel
    table: np.ndarray
    index_of: np.ndarray
    start_index: int
    end_index: int
    vgprs: int
    patterns: int
    with_patterns: np.ndarray
    unit_prefix: np.ndarray
    flop_prefix: np.ndarray
    keep: tuple[np.ndarray, ...]

    @cached_property
    def instructions(self) -> list[Instruction]:
        """The decoded instructions, a row of the table each."""
        return decode_kernel(self.kernel)


def build_program(kernel: Kernel) -> Program:
    """Translate a kernel; raises DecodeError, or ProgramError naming what is not implemented and where."""
    instructions = decode_kernel(kernel)
    return lay_out(kernel, translate(kernel, instructions), instructions)


def lay_out(kernel: Kernel, translation: Translation, instructions: list[Instruction] | None = None) -> Program:
    """Build the program of a translated kernel. instructions: the decoded ones, if they are at hand."""
    lanes = library()
    table = translation.table.copy()
    addresses = np.array([0, *(lanes.address(name, mode) for name, mode in translation.operations)], np.int64)
    for column in ("function", "source_sign", "output"):
        table[column] = addresses[table[column]]
    keep = translation.constants.lay_out(table)
    with_scalar = np.isin(table["kind"], (InstructionKind.VALU_ONE_SCALAR, InstructionKind.VALU_INDEXED))
    broadcast = with_scalar[:, None] & (table["source"] == BROADCAST_ROWS)
    table["source"][broadcast] = translation.vgprs * ROW_BYTES
    units = np.zeros((len(table) + 1, len(UNIT_NAMES)), np.int64)
    units[np.arange(1, len(table) + 1), table["unit"]] = 1
    program = Program(
        kernel,
        table,
        translation.index_of,
        translation.start_index,
        translation.end_index,
        translation.vgprs,
        translation.patterns,
        translation.with_patterns,
        np.cumsum(units, axis=0),
        np.append(0, np.cumsum(table["flops"])),
        keep,
    )
    if instructions is not None:
        program.__dict__["instructions"] = instructions  # where the cached property would put them
    return program
