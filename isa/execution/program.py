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
    """A kernel translated for the interpreter; contexts share it."""

    kernel: Kernel
    """Kernel."""
    table: np.ndarray
    """PROGRAM_ROW [instructions]; its `patterns` is the number of the instruction's first access pattern."""
    index_of: np.ndarray
    """int32 [dwords]: index of the instruction at each dword of the kernel's own part of the code; -1: none."""
    indexed_from: int
    """Bytes of code before that part."""
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
    unit_prefix: np.ndarray
    """int64 [instructions + 1, units]: number of instructions of each unit before an index."""
    flop_prefix: np.ndarray
    """int64 [instructions + 1]: floating-point operations of a lane before an index."""
    keep: tuple[np.ndarray, ...]
    """Arrays to whose addresses the table refers."""

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
        kernel=kernel,
        table=table,
        index_of=translation.index_of,
        indexed_from=translation.indexed_from,
        start_index=translation.start_index,
        end_index=translation.end_index,
        vgprs=translation.vgprs,
        patterns=translation.patterns,
        with_patterns=translation.with_patterns,
        unit_prefix=np.cumsum(units, axis=0),
        flop_prefix=np.append(0, np.cumsum(table["flops"])),
        keep=keep,
    )
    if instructions is not None:
        program.__dict__["instructions"] = instructions  # where the cached property would put them
    return program
