"""What in a kernel's code can see the order in which wavefronts' slices are executed.

Two answers: workgroups may be executed side by side if nothing sees which is executed when, but for what is watched
(`isa.execution.watch`); a slice may be executed before timing needs it (`gpusim.model.core.cu.slices`) if, beside that,
no wavefront looks for what others have changed in memory or LDS without a barrier.
"""

import numpy as np

from isa.architecture import HW_ID
from isa.execution.codes import Access, AtomicOperation, InstructionKind, LaneExchange, ScalarForm
from isa.execution.program import Program
from isa.execution.special_instructions import SELECTOR_NUMBER

_SUMS = AtomicOperation.ADD, AtomicOperation.SUB
_ALONE = (
    AtomicOperation.SIGNED_MIN,
    AtomicOperation.UNSIGNED_MIN,
    AtomicOperation.SIGNED_MAX,
    AtomicOperation.UNSIGNED_MAX,
)
_BITWISE = AtomicOperation.AND, AtomicOperation.OR, AtomicOperation.XOR
_COMMUTING = frozenset((*_SUMS, *_ALONE, *_BITWISE))
_VECTOR_MEMORY = (InstructionKind.FLAT, InstructionKind.SEGMENT, InstructionKind.BUFFER, InstructionKind.IMAGE)


def workgroup_order_reason(program: Program) -> str:
    """Return what of a program can see in which order workgroups run, or in which slots; empty if nothing can."""
    table = program.table
    kinds = table["kind"]
    if program.kernel.private_segment_bytes:
        return "it has private memory, whose addresses depend on the order of workgroups"
    if np.isin(kinds, (InstructionKind.GRID_BARRIER, InstructionKind.GRID_INIT)).any():
        return "workgroups meet at a barrier of the grid"
    if ((kinds == InstructionKind.SMEM) & (table["scalar_form"] == ScalarForm.CLOCK)).any():
        return "it reads a clock, which counts the instructions of all workgroups"
    numbers = table["hardware_register"] & SELECTOR_NUMBER
    if ((kinds == InstructionKind.GET_REGISTER) & (numbers == HW_ID)).any():
        return "it reads in which slot a wavefront runs"
    return ""


def _commute(atomics: np.ndarray) -> bool:
    """Tell whether atomics, rows of a program's table, leave the same in any order, and return nothing.

    Two that do not commute, as a sum and a minimum, are of two words, or a barrier is between them: else they race.
    """
    return not atomics["returns"].any() and frozenset(atomics["atomic"].tolist()) <= _COMMUTING


def slice_order_reason(program: Program) -> str:
    """Return what of a program can see when a slice is executed, barring races; empty if nothing can."""
    table = program.table
    kinds = table["kind"]
    if reason := workgroup_order_reason(program):
        return reason
    memory = np.isin(kinds, (*_VECTOR_MEMORY, InstructionKind.LDS))
    counts = np.isin(table["exchange"], (LaneExchange.APPEND, LaneExchange.CONSUME))
    atomics = table[memory & (table["access"] == Access.ATOMIC)]
    if not _commute(atomics) or (kinds[counts] == InstructionKind.LANE_EXCHANGE).any():
        return "it has atomics, whose order is that of wavefronts"
    cache_control = (kinds == InstructionKind.SMEM) & (table["scalar_form"] == ScalarForm.CACHE_CONTROL)
    coherent = np.array([bool(instruction.fields.get("glc")) for instruction in program.instructions])
    loads = np.isin(kinds, _VECTOR_MEMORY) & (table["access"] == Access.LOAD) & (table["sparse"] == 0)
    if (cache_control | (kinds == InstructionKind.CACHE_CONTROL) | (loads & coherent)).any():
        return "it looks for what others have stored"
    return ""
