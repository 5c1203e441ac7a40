"""What workgroups of a launch would execute, counted without executing more of it than decides that."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from gpusim.base.jit import address_of
from isa.execution.control_slice import BLOCKS, ControlSlice, ControlSliceError, control_slice, prefix
from isa.execution.emulator import RunLoop, new_run, run_slices
from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext, compile_interpreter, program_of
from isa.execution.program import Program
from isa.launch import Launch
from isa.object.code_object import Kernel
from isa.region import PackedMatrix


@cache
def slice_of(kernel: Kernel) -> ControlSlice:
    """Return the slice of a kernel that decides its control flow, which is made once; raises ControlSliceError."""
    return control_slice(program_of(kernel))


def executed_blocks(
    launch: Launch,
    shadows: Sequence[PackedMatrix] | None = None,
    max_instructions: int = MAX_INSTRUCTIONS,
) -> np.ndarray:
    """Count the instructions that each workgroup of a launch executes, by basic block.

    Only what decides control flow is executed (`isa.execution.control_slice`); memory stays as it is. The counts are
    wrong where what is executed depends on what the launch itself writes to memory. Of workgroups that differ in
    numbers alone that nothing depends on, one is executed.

    Args:
        launch: the launch.
        shadows: compacted images of `launch.regions` (see `FunctionalContext.register_regions`); without them sparse
            loads are ordinary ones.
        max_instructions: of one wavefront, before it counts as an endless loop.

    Returns:
        int64 [workgroup, BLOCKS]; where all workgroups are alike, the rows share memory.

    Raises:
        ControlSliceError: the kernel cannot be sliced.
        ExecutionFault: the kernel is in error.
    """
    sliced = slice_of(launch.kernel)
    x, y, z = launch.workgroups
    told = _told_apart(launch, sliced.read)
    if not any(told):
        one = _counted(launch, sliced.program, sliced.count_by_block(), [range(1)], shadows, max_instructions)
        return np.broadcast_to(one, (x * y * z, BLOCKS))
    # one row of the grid, or one plane of it, where nothing tells it from the others
    last = max(axis for axis in range(3) if told[axis])
    size = (x, x * y, x * y * z)[last]
    found = _counted(launch, sliced.program, sliced.count_by_block(), [range(size)], shadows, max_instructions)
    return np.tile(found, (x * y * z // size, 1)) if size < x * y * z else found


def _told_apart(launch: Launch, read: int) -> tuple[bool, ...]:
    """Tell of each dimension of the grid whether workgroups may execute something else for their place along it.

    read: mask of the scalar registers whose first values decide. So does the grid's edge, where it cuts workgroups.
    """
    numbers, at = launch.kernel.enable_workgroup_id, launch.kernel.user_sgprs
    registers = [at + sum(numbers[:axis]) if numbers[axis] else None for axis in range(3)]
    sizes = zip(registers, launch.global_size, launch.local_size, strict=True)
    return tuple(bool(items % of_group) or (at is not None and bool(read >> at & 1)) for at, items, of_group in sizes)


def kinds_counted(kernel: Kernel, kinds: np.ndarray) -> tuple[Program, np.ndarray]:
    """Prepare a kernel for `executed_kinds`. One that cannot be sliced is executed with all that it stores.

    Args:
        kernel: the kernel.
        kinds: int64 [instructions, BLOCKS], what to count of each instruction.

    Returns:
        What is executed, and the prefix that counts.
    """
    try:
        sliced = slice_of(kernel)
    except ControlSliceError:
        return program_of(kernel), prefix(kinds)
    return sliced.program, sliced.count_by_kind(kinds)


def executed_kinds(
    launch: Launch,
    counted: tuple[Program, np.ndarray],
    workgroups: Sequence[int],
    shadows: Sequence[PackedMatrix] | None = None,
) -> np.ndarray:
    """Count what some workgroups of a launch execute, as `executed_blocks`.

    Args:
        launch: the launch.
        counted: of its kernel, from `kinds_counted`.
        workgroups: their numbers.
        shadows: compacted images of `launch.regions` (see `FunctionalContext.register_regions`); without them sparse
            loads are ordinary ones.

    Returns:
        int64 [workgroup, BLOCKS].

    Raises:
        ExecutionFault: the kernel is in error.
    """
    chosen = [range(k, k + 1) for k in workgroups]
    return _counted(launch, *counted, chosen, shadows, MAX_INSTRUCTIONS)


def _counted(
    launch: Launch,
    program: Program,
    before: np.ndarray,
    workgroups: Sequence[range],
    shadows: Sequence[PackedMatrix] | None,
    max_instructions: int,
) -> np.ndarray:
    """Execute a program on workgroups, one after another, and add up what a prefix says: int64 [workgroup, BLOCKS]."""
    alone = launch.workgroup_at_a_time
    context = FunctionalContext(
        launch, alone.wavefront_slots, alone.workgroup_slots, max_instructions, shared_trace=True, program=program
    )
    if shadows is not None:
        context.register_regions(shadows)
    compile_interpreter(run_slices)
    rows = []
    with context:
        for chosen in workgroups:
            counts = np.zeros((len(chosen), BLOCKS), np.int64)
            run, kept = new_run(context, chosen, alone)
            run.block_prefix, run.blocks = address_of(before), address_of(counts)
            RunLoop(context, run, address_of(kept[0])).run_to_end()
            rows.append(counts)
    return np.concatenate(rows)
