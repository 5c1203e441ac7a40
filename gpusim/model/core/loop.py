"""The run loop over the wake-up wheel: in each cycle, the units that have something to do, class by class."""

from gpusim.base.jit import Machine, jit
from gpusim.model.core.cu.slices import CHANNELS, finish_slices
from gpusim.model.core.run_units import run_far_units, run_near_units, wake_everything
from gpusim.model.core.side_by_side import MOST_QUIET, is_done, let_go, run_apart, run_far_side, run_part
from memory.cache.l1_stores import l1_release
from memory.cache.l2_flush import l2_flush
from memory.wheel import SIZE, far_due, near_due

RUNNING, FINISHED, DEADLOCK, FAULT, LIVELOCK = range(5)


@jit
def run_cycles(m: Machine, limit):
    """Simulate until the kernel is done, faults or deadlocks, or cycle `limit` is reached; returns which.

    While a timeline is recorded it returns RUNNING early too, when the recorded events should be taken.
    limit: minus a thread's number has this thread run what that one does (`gpusim.model.core.side_by_side`), for one
    that runs to a limit of its own meanwhile.
    """
    if limit < 0:
        if limit == -CHANNELS:
            run_far_side(m)
        else:
            run_part(m, -limit)
        return RUNNING
    status = _run_to(m, limit)
    finish_slices(m)
    if m.sides.joined:
        let_go(m)
    return status


@jit(inline=True)
def _run_to(m: Machine, limit):
    """Do what `run_cycles` does for a limit."""
    wheel = m.wheel
    run = m.run
    quiet = m.sides.quiet
    m.sides.quiet = 0
    now = wheel.now
    while now < limit:
        if m.parts.others and (is_done(m) or quiet > MOST_QUIET):
            m.sides.quiet = quiet  # one thread goes on with a whole record
            break
        if run.done == run.workgroups and m.l1.queued + m.scalar.queued + m.engine.writing == 0:
            if m.l1.dirty_lines:
                l1_release(m, now, m.cu.cus)
            elif not (m.l2.flushes and m.xbar.requests == m.xbar.responses) or l2_flush(m, now):
                # fetches that nobody needs any more may still be under way: the kernel ends before they come
                if run.ended == 0 and m.l2.flushes == 0 and m.xbar.requests == m.xbar.responses + m.icache.outstanding:
                    run.ended = now
                if m.xbar.requests == m.xbar.responses:
                    return FINISHED
        window = m.xbar.window
        if run.done == run.workgroups or run.every_cycle or m.timeline.placements or quiet > SIZE - window:
            window = 1
        if run.every_cycle:
            quiet = 0 if near_due(m, now & (SIZE - 1)) | far_due(m, now & (SIZE - 1)) else quiet + 1
            wake_everything(m, now)
        if m.sides.joined and window > 1 and quiet <= MOST_QUIET:
            end = run_apart(m, now, limit)
        else:
            end = run_near_units(m, now, min(now + window, limit))
            run_far_units(m, now, end)
        if run.fault:
            wheel.now = wheel.far_now = end - 1
            return FAULT
        if not run.every_cycle:
            quiet = min(quiet + end - now, end - 1 - max(wheel.active, wheel.far_active))
        if quiet > SIZE:
            wheel.now = wheel.far_now = end - 1
            return DEADLOCK
        now = end
        wheel.now = wheel.far_now = now
        if m.timeline.placements and m.timeline.count + m.dram.record_count >= m.timeline.pause:
            break
    return RUNNING
