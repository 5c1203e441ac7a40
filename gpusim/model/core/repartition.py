"""What the command processor does between two launches, where the compaction engine comes or goes.

The engine reads DRAM, not L2, so that the activations which a kernel has just written must be there: before a launch
with the engine all dirty lines are written back (GFX8's ACQUIRE_MEM knows no ranges). They are, too, where L2's sets
change, since each line then has another set, and where ways are taken from it. Lines of ways that stay are kept. What
that takes are cycles of the launch before its first workgroup. So are those of the engine's write phase, where the
matrix is to lie compacted in DRAM.
"""

from collections.abc import Callable
from typing import Any

from gpusim.base.jit import Machine
from gpusim.model.core.cu.state import NEVER
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import FINISHED, run_cycles
from memory.cache.l2_contents import L2Contents, dirty_lines, lose_lines
from memory.cache.l2_state import await_end, begin_flush, configure_l2
from memory.l2_share import L2Share
from memory.sets.replacement import POLICIES
from memory.unit_classes import DISPATCH, ENGINE
from memory.wheel import let_sleep, wake_at_start


def restore_l2(m: Machine, contents: L2Contents, gpu: GpuSpec, taken: L2Share | None) -> None:
    """Put the L2 contents that the launch before left into a machine before its first cycle, after due write-backs.

    taken: the share of L2 that the engine has in this launch, None: it has no engine.
    """
    if not contents.matches_machine(m):
        return  # another GPU's, or nothing
    (sets, ways), whole, left = contents.sets_and_ways, gpu.l2.sets_and_ways(), gpu.l2.sets_and_ways(taken)
    if sets > whole[0] or ways > whole[1]:
        return
    orders_stay = not POLICIES[gpu.l2.replacement].power_of_two  # a tree over the ways is another one over fewer
    if left == (sets, ways):
        contents.restore(m)
    elif left[0] == sets and left[1] > ways and taken is None and orders_stay:
        contents.restore_ways(m)
        return
    else:
        contents.restore_as_it_was(m)
    if taken is None and left == (sets, ways):
        return
    if dirty_lines(m):
        _before_the_launch(m, begin_flush)
    if left != (sets, ways):
        clean = L2Contents()
        clean.keep(m)
        lose_lines(m)
        configure_l2(m, gpu.l2, taken, gpu.replacement_seed)
        if left[0] == sets and orders_stay:
            clean.restore_ways(m)
    await_end(m, gpu.l2)


def write_compacted(m: Machine, gpu: GpuSpec, advance: Callable[[], int]) -> int:
    """Have the engine, which is set up for the launch, write the sparse regions to DRAM in compacted form.

    advance: runs the machine's loop and returns its status, which this function returns: RUNNING if the run was stopped
    before the write phase ended, and then the launch must not begin.
    """
    status = _before_the_launch(m, lambda m: wake_at_start(m, ENGINE), advance)
    if status == FINISHED:
        await_end(m, gpu.l2)
    return status


def _before_the_launch(m: Machine, begin: Callable[[Any], None], advance: Callable[[], int] | None = None) -> int:
    """Run the work that `begin` starts to its end on a machine where nothing else runs; the launch begins after it."""
    run = m.run
    let_sleep(m, DISPATCH)
    workgroups, run.workgroups = int(run.workgroups), 0
    begin(m)
    status = run_cycles(m, NEVER) if advance is None else advance()
    assert status == FINISHED or advance is not None, status
    run.workgroups, run.ended = workgroups, 0
    if status == FINISHED:
        wake_at_start(m, DISPATCH)
    return status
