"""What some workgroups of a launch access, found by executing them without writing to memory.

Stores and atomics are executed as loads into registers that nothing reads, so that memory stays as it is and their
lines are those that they would touch. A workgroup is executed to its end, or as far as is enough to know it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpusim.base.jit import address_of
from isa.architecture import ROW_BYTES
from isa.execution.codes import Access, InstructionKind
from isa.execution.control_slice import ControlSliceError
from isa.execution.emulator import new_run, run_slices
from isa.execution.executor import FunctionalContext, compile_interpreter, program_of
from isa.execution.passage import needed_of
from isa.execution.program import Program
from isa.launch import Launch
from isa.region import PackedMatrix
from isa.trace import (
    BUSY_MASK,
    BUSY_SHIFT,
    LINE_ADDRESS_MASK,
    LINES_MASK,
    MEMORY_0,
    MEMORY_WORDS,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_SCALAR,
    RECORD_STORE,
    SEGMENT_0,
    SEGMENTS,
)

_MOST_RECORDS = 1024  # memory instructions of a workgroup: what follows in a loop is like it
_WRITING = (InstructionKind.FLAT, InstructionKind.BUFFER, InstructionKind.SEGMENT)


@dataclass(frozen=True)
class WorkgroupAccesses:
    """What a workgroup accesses in memory and LDS."""

    workgroup: int
    """Number of the workgroup."""
    instructions: int
    """Vector memory instructions."""
    path_cycles: int
    """Cycles on the address and data path."""
    lds_instructions: int
    """LDS instructions."""
    bank_cycles: int
    """LDS bank cycles."""
    lines: np.ndarray
    """int64: lines of all vector memory instructions, one after another, with repetitions."""
    deciding: np.ndarray
    """int64: distinct lines of the loads that addresses depend on."""
    written: np.ndarray
    """int64: distinct lines of stores and atomics."""
    loaded: np.ndarray
    """int64: distinct lines of loads from memory."""


def surveyed_accesses(
    launch: Launch,
    workgroups: Sequence[int],
    shadows: Sequence[PackedMatrix] | None = None,
) -> list[WorkgroupAccesses]:
    """Return what some workgroups of a launch access; memory stays as it is.

    Args:
        launch: the launch.
        workgroups: their numbers.
        shadows: compacted images of `launch.regions` (see `FunctionalContext.register_regions`).

    Raises:
        ControlSliceError: the kernel writes in a way that cannot be left out.
        ExecutionFault: the kernel is in error.
    """
    program, writes = _without_writes(program_of(launch.kernel))
    alone = launch.workgroup_at_a_time
    context = FunctionalContext(
        launch, alone.wavefront_slots, alone.workgroup_slots, shared_trace=True, program=program
    )
    if shadows is not None:
        context.register_regions(shadows)
    compile_interpreter(run_slices)
    kinds = program.table["kind"]
    records = np.flatnonzero((kinds >= InstructionKind.LDS) & (kinds <= InstructionKind.CACHE_CONTROL))
    decides = np.array(_deciding_instructions(launch), bool)
    with context:
        return [_surveyed(context, number, records, decides, writes) for number in workgroups]


def _deciding_instructions(launch: Launch) -> list[bool]:
    """Tell of each instruction whether addresses or control flow depend on it; none where that cannot be known."""
    try:
        return list(needed_of(launch.kernel))
    except ControlSliceError:
        return [False] * len(program_of(launch.kernel).instructions)


def _without_writes(program: Program) -> tuple[Program, np.ndarray]:
    """Return a program that loads where the kernel stores, and which instructions these are."""
    table = program.table.copy()
    writes = np.isin(table["kind"], _WRITING) & (table["access"] != Access.LOAD)
    other = (table["kind"] == InstructionKind.IMAGE) | (table["kind"] == InstructionKind.SMEM)
    for at in np.flatnonzero(other & (table["access"] != Access.LOAD)):
        instruction = program.instructions[at]
        raise ControlSliceError(f"{instruction.opcode.mnemonic} at {instruction.address:#x} writes to memory")
    table["access"][writes], table["signed"][writes] = Access.LOAD, 0
    table["destination"][writes] = program.vgprs * ROW_BYTES  # the interpreter's scratch rows
    return replace(program, table=table), writes


def _surveyed(
    context: FunctionalContext, number: int, records: np.ndarray, decides: np.ndarray, writes: np.ndarray
) -> WorkgroupAccesses:
    """Execute one workgroup, slice by slice."""
    _, kept = new_run(context, range(number, number + 1), context.launch.workgroup_at_a_time)
    trace = context.slices[0]
    counts = {"instructions": 0, "path_cycles": 0, "lds_instructions": 0, "bank_cycles": 0}
    looked_at = 0
    lines, deciding, written, loaded = (list[np.ndarray]() for _ in range(4))
    trace[MEMORY_WORDS] = trace[SEGMENTS] = 0
    while looked_at < _MOST_RECORDS:
        status = int(run_slices(address_of(kept[0]), 1))
        if status < 0:
            raise context.fault()
        spans = trace[SEGMENT_0 : SEGMENT_0 + int(trace[SEGMENTS])]
        firsts, ends = np.searchsorted(records, spans & 0xFFFF_FFFF), np.searchsorted(records, spans >> 32)
        order = [k for first, end in zip(firsts.tolist(), ends.tolist(), strict=True) for k in range(first, end)]
        looked_at += len(order)
        words, at = trace[MEMORY_0 : MEMORY_0 + int(trace[MEMORY_WORDS])].copy(), 0
        trace[MEMORY_WORDS] = trace[SEGMENTS] = 0  # a run's last slice is shown twice
        for k in order:
            header = int(words[at])
            step = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
            end = at + 1 + step * (header & LINES_MASK)
            touched = words[at + 1 : end : step] & LINE_ADDRESS_MASK
            at, instruction = end, records[k]
            if header & RECORD_LDS:
                counts["lds_instructions"] += 1
                counts["bank_cycles"] += header >> BUSY_SHIFT & BUSY_MASK
                continue
            if decides[instruction]:
                deciding.append(touched)
            if not writes[instruction]:
                loaded.append(touched)
            if header & RECORD_SCALAR:
                continue
            counts["instructions"] += 1
            counts["path_cycles"] += header >> BUSY_SHIFT & BUSY_MASK
            lines.append(touched)
            if writes[instruction]:
                written.append(touched)
        if status == 1:
            break
    context.again(context.launch)
    return WorkgroupAccesses(
        number,
        **counts,
        lines=_joined(lines),
        deciding=np.unique(_joined(deciding)),
        written=np.unique(_joined(written)),
        loaded=np.unique(_joined(loaded)),
    )


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
