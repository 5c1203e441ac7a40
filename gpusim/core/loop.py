"""The run loop over the wake-up wheel: in each cycle, the units that have something to do, class by class.

Within a class units run by number, L2 and DRAM channels from one that rotates with the cycle: where two of them want
the same place of a queue in one cycle, it is each one's turn as often.
"""

from gpusim.core.cu.dispatch import dispatch_tick
from gpusim.core.cu.fetch import fetch_tick
from gpusim.core.cu.issue import issue_tick, look_up_tick, response_tick, return_tick, scalar_tick
from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import SIMDS_BITS
from gpusim.jit import address_in, ctz, ctz_from, jit, prefetch, unlikely
from memory.cache.l1 import l1_release
from memory.cache.l2 import l2_fill_tick, l2_serve_tick, l2_take_tick
from memory.dram.controller import dram_tick
from memory.translation.tlb import translation_tick
from memory.wheel import (
    CU_ISSUE,
    CU_LOOK_UP,
    CU_RESPONSE,
    CU_RETURN,
    DISPATCH,
    DRAM,
    ENGINE,
    FETCH,
    L2_FILL,
    L2_SERVE,
    L2_TAKE,
    SCALAR,
    SIZE,
    TRANSLATION,
    anything_due,
    due,
    due_of_wide,
    wake,
)
from spartan.engine import engine_tick

RUNNING, FINISHED, DEADLOCK, FAULT, LIVELOCK = range(5)


@jit(cold=True)
def _wake_everything(m, now):
    """Let every unit run this cycle."""
    for unit in range(m.cu.cus):
        wake(m, CU_RESPONSE, now, unit)
        wake(m, CU_RETURN, now, unit)
        wake(m, CU_LOOK_UP, now, unit)
        wake(m, CU_ISSUE, now, unit)
    for unit in range(m.scalar.arrays):
        wake(m, SCALAR, now, unit)
        wake(m, FETCH, now, unit)
    for unit in range(m.map.l2_channels):
        wake(m, L2_FILL, now, unit)
        wake(m, L2_SERVE, now, unit)
        wake(m, L2_TAKE, now, unit)
    for unit in range(m.map.dram_channels):
        wake(m, DRAM, now, unit)
    if m.run.engine_on:
        wake(m, ENGINE, now, 0)
    wake(m, TRANSLATION, now, 0)
    wake(m, DISPATCH, now, 0)


@jit(inline=True)
def _run_units(m, now, slot):
    """Run all units that have something to do this cycle, in the order of their classes.

    Where that pays, the state of the unit behind is prefetched; behind the last one is an address that nobody reads.
    """
    if due(m, slot, TRANSLATION):
        translation_tick(m, now)
    units = due_of_wide(m, slot, CU_RESPONSE)
    while units:
        response_tick(m, now, ctz(units))
        units &= units - 1
    units = due_of_wide(m, slot, CU_RETURN)
    while units:
        return_tick(m, now, ctz(units))
        units &= units - 1
    units = due_of_wide(m, slot, CU_LOOK_UP)
    while units:
        cu = ctz(units)
        units &= units - 1
        prefetch(address_in(m.l1.unit, ctz(units)))
        look_up_tick(m, now, cu)
    units = due_of_wide(m, slot, SCALAR)
    while units:
        scalar_tick(m, now, ctz(units))
        units &= units - 1
    units = due_of_wide(m, slot, FETCH)
    while units:
        fetch_tick(m, now, ctz(units))
        units &= units - 1
    first = now & (m.map.l2_channels - 1)
    units = due(m, slot, L2_FILL)
    while units:
        channel = ctz_from(units, first)
        units ^= 1 << channel
        l2_fill_tick(m, now, channel)
    units = due(m, slot, L2_SERVE)
    while units:
        channel = ctz_from(units, first)
        units ^= 1 << channel
        l2_serve_tick(m, now, channel)
    units = due(m, slot, L2_TAKE)
    while units:
        channel = ctz_from(units, first)
        units ^= 1 << channel
        l2_take_tick(m, now, channel)
    if due(m, slot, ENGINE):
        engine_tick(m, now)
    units = due(m, slot, DRAM)
    first = now & (m.map.dram_channels - 1)
    while units:
        channel = ctz_from(units, first)
        units ^= 1 << channel
        dram_tick(m, now, channel)
    units = due_of_wide(m, slot, CU_ISSUE)
    while units:
        cu = ctz(units)
        units &= units - 1
        prefetch(address_in(m.cu.simd, ctz(units) << SIMDS_BITS | now & (SIMDS - 1)))
        issue_tick(m, now, cu)
    if due(m, slot, DISPATCH):
        dispatch_tick(m, now)


@jit
def run_cycles(m, limit):
    """Simulate until the kernel is done, faults or deadlocks, or cycle `limit` is reached; returns which.

    While a timeline is recorded it returns RUNNING early too, when the recorded events should be taken.
    """
    wheel = m.wheel
    run = m.run
    quiet = 0
    now = wheel.now
    while now < limit:
        if run.done == run.workgroups and m.l1.queued + m.scalar.queued == 0:
            if unlikely(m.l1.dirty_lines):
                l1_release(m, now, m.cu.cus)
            else:
                if run.ended == 0 and m.xbar.requests == m.xbar.responses + m.icache.outstanding:
                    run.ended = now
                if m.xbar.requests == m.xbar.responses:
                    return FINISHED
        slot = now & (SIZE - 1)
        if run.every_cycle:
            quiet = 0 if anything_due(m, slot) else quiet + 1
            _wake_everything(m, now)
        if anything_due(m, slot):
            _run_units(m, now, slot)
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
