"""A wavefront's state as text, by the names of its tables: what one looks at when a kernel computes wrongly.

`print(wavefront_text(context, slot))` after any slice; `instruction_text` shows what the interpreter made of one
instruction of the program.
"""

import ctypes
from collections.abc import Iterable

import numpy as np

from gpusim.base.jit import record_text, views
from isa.architecture import EXEC, FLAT_SCRATCH, LANES, M0, ROW_BYTES, VCC
from isa.encoding.disassembler import disassemble
from isa.execution.codes import InstructionKind
from isa.execution.executor import FunctionalContext
from isa.execution.program_table import PROGRAM_ROW
from isa.execution.state import MODE, SCALAR_FILE_BYTES, WAVEFRONT
from isa.trace import BARRIER, END, GRID_BARRIER, MORE

_STATUS = {MORE: "more to execute", BARRIER: "at a barrier", END: "ended", GRID_BARRIER: "at the grid's barrier"}
_PAIRS = {"EXEC": EXEC, "VCC": VCC, "FLAT_SCRATCH": FLAT_SCRATCH}


def scalar_registers(context: FunctionalContext, slot: int) -> np.ndarray:
    """Return the wavefront's scalar registers by operand code, uint32; shared with the interpreter.

    ValueError for a slot without registers: no wavefront was started in it, or its wavefront has ended.
    """
    wave = _with_registers(context, slot)
    return _words(wave.scalars, SCALAR_FILE_BYTES)


def vector_registers(context: FunctionalContext, slot: int) -> np.ndarray:
    """Return the wavefront's vector registers, uint32 [registers, lanes]; shared with the interpreter.

    ValueError for a slot without registers, as for `scalar_registers`.
    """
    wave = _with_registers(context, slot)
    return _words(wave.vectors, context.state.vector_registers * ROW_BYTES).reshape(-1, LANES)


def wavefront_text(context: FunctionalContext, slot: int, vectors: Iterable[int] = ()) -> str:
    """Describe the wavefront in `slot`: its record, its next instruction and its registers.

    Registers are the scalar ones that are not 0, and all lanes of those in `vectors`.
    """
    wave = context.wavefronts[slot]
    lines = [f"slot {slot}: {_STATUS[wave.status]}", record_text(WAVEFRONT, wave)]
    if wave.pc < len(context.instructions):
        instruction = context.instructions[wave.pc]
        lines.append(f"next instruction        {instruction.address:#x}: {disassemble(instruction)}")
    if not wave.register_file:
        return "\n".join([*lines, "no registers"])
    scalars = scalar_registers(context, slot)
    for name, code in _PAIRS.items():
        lines.append(f"{name:<24}{int(scalars[code]) | int(scalars[code + 1]) << 32:#018x}")
    lines.append(f"{'M0':<24}{scalars[M0]:#x}")
    lines.append(f"{'MODE':<24}{scalars[MODE]:#x}")
    for number in np.flatnonzero(scalars[:FLAT_SCRATCH]):
        lines.append(f"s{number:<23}{scalars[number]:#010x}")
    rows = vector_registers(context, slot)
    for vector in vectors:
        lines.append(f"v{vector}")
        for first in range(0, LANES, 8):
            lines.append(f"  {first:>2}: " + " ".join(f"{word:08x}" for word in rows[vector, first : first + 8]))
    return "\n".join(lines)


def instruction_text(context: FunctionalContext, index: int) -> str:
    """Describe an instruction of the program, with the fields of its row that are not 0."""
    row = views(context.program.table)[index]
    head = f"{index}: {disassemble(context.instructions[index])}"
    return "\n".join([head, f"{'case':<24}{InstructionKind(row.kind).name}", record_text(PROGRAM_ROW, row)])


def _with_registers(context: FunctionalContext, slot: int):
    wave = context.wavefronts[slot]
    if not wave.register_file:
        raise ValueError(f"slot {slot} holds no registers: no wavefront was started there, or it has ended")
    return wave


def _words(address: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint32 * (size // 4)).from_address(address))
