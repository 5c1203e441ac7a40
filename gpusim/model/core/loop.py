"""The run loop over the wake-up wheel: in each cycle, the units that have something to do, class by class."""

from gpusim.base.jit import Machine, jit
from gpusim.model.core.run_units import run_units, wake_everything
from memory.cache.l1_stores import l1_release
from memory.cache.l2_flush import l2_flush
from memory.wheel import SIZE, anything_due

RUNNING, FINISHED, DEADLOCK, FAULT, LIVELOCK = range(5)


@jit
def run_cycles(m: Machine, limit):
    """Simulate until the kernel is done, faults or deadlocks, or cycle `limit` is reached; returns which.

    While a timeline is recorded it returns RUNNING early too, when the recorded events should be taken.
    """
    wheel = m.wheel
    run = m.run
    quiet = 0
    now = wheel.now
    while now < limit:
        if run.done == run.workgroups and m.l1.queued + m.scalar.queued + m.engine.writing == 0:
            if m.l1.dirty_lines:
                l1_release(m, now, m.cu.cus)
            elif not (m.l2.flushes and m.xbar.requests == m.xbar.responses) or l2_flush(m, now):
                # fetches that nobody needs any more may still be under way: the kernel ends before they come
                if run.ended == 0 and m.l2.flushes == 0 and m.xbar.requests == m.xbar.responses + m.icache.outstanding:
                    run.ended = now
                if m.xbar.requests == m.xbar.responses:
                    return FINISHED
        slot = now & (SIZE - 1)
        if run.every_cycle:
            quiet = 0 if anything_due(m, slot) else quiet + 1
            wake_everything(m, now)
        if anything_due(m, slot):
            run_units(m, now, slot)
            wheel.running = -1
            if run.fault:
                return FAULT
            if not run.every_cycle:
                quiet = 0
        else:
            quiet += 1
        if quiet > SIZE:
            return DEADLOCK
        now += 1
        wheel.now = now
        if m.timeline.placements and m.timeline.count + m.dram.record_count >= m.timeline.pause:
            break
    return RUNNING
