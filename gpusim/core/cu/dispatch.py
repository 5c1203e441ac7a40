"""The dispatcher: places workgroups on compute units that have room, one shader array after another."""

from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import FREE, GREEDY, IDLE, MAX_WORKGROUPS, OLDEST, ORDER_BITS, SIMD_BITS, SIMDS_BITS, SLOTS
from gpusim.core.cu.wave import forget_fetches, open_slice, pause, redirect, release_barrier, wave_of
from gpusim.jit import call_i64_4, ctz, jit, unlikely
from memory.timeline import ENDED, PLACED, record
from memory.wheel import DISPATCH, wake


@jit
def _has_room(m, cu):
    c = m.cu
    run = m.run
    if c.wg_resident[cu] >= run.workgroups_per_cu:
        return 0
    room = 0
    for simd in range(SIMDS):
        room += run.waves_per_simd - c.simd[cu * SIMDS + simd].resident
    return 1 if room >= run.workgroup_waves else 0


@jit
def _emptiest_simd(m, cu):
    c = m.cu
    best = 0
    for simd in range(1, SIMDS):
        if c.simd[cu * SIMDS + simd].resident < c.simd[cu * SIMDS + best].resident:
            best = simd
    return best


@jit
def _place_wave(m, now, cu, group_slot, workgroup, number):
    """Give a wavefront a slot and its initial state; it may issue after the launch latency. 0 on a fault."""
    c = m.cu
    run = m.run
    g = cu * SIMDS + _emptiest_simd(m, cu)
    i = ctz(c.simd[g].free)
    c.simd[g].free &= ~(1 << i)
    w = (g << SIMD_BITS) + i
    wave = c.wave[w]
    rank = c.simd[g].resident
    c.simd[g].order |= i << (ORDER_BITS * rank)
    wave.rank = rank
    c.simd[g].resident = rank + 1
    wave.workgroup = group_slot
    c.wg_slot[cu, group_slot, number] = w & (SLOTS - 1)
    wave.generation = (wave.generation + 1) & 0xFF
    wave.lgkm = 0
    wave.vm_head = 0
    wave.vm_tail = 0
    wave.scalar_result = 0
    c.started[w] = now
    wave.mark = now
    run.waves_left += 1
    if unlikely(m.timeline.placements):
        record(m, PLACED, w, workgroup, number)
    status = call_i64_4(run.start, run.producer, w, workgroup, number | (cu * MAX_WORKGROUPS + group_slot) << 32)
    if status < 0:
        run.fault = status
        return 0
    if not open_slice(m, w):
        return 0
    redirect(m, w)
    pause(m, w, now + c.launch_cycles, IDLE)
    return 1


@jit(outline=True)
def dispatch_tick(m, now):
    """Place the next workgroup if the dispatcher is free and a CU has room."""
    c = m.cu
    run = m.run
    if run.next_workgroup >= run.workgroups or run.fault:
        return
    if run.dispatch_free > now:
        wake(m, DISPATCH, run.dispatch_free, 0)
        return
    for step in range(c.cus):
        at = run.cu_next + step
        if at >= c.cus:
            at -= c.cus
        cu = run.cu_order[at]
        if _has_room(m, cu):
            run.cu_next = at + 1 if at + 1 < c.cus else 0
            slot = 0
            while c.wg_used[cu, slot]:
                slot += 1
            n = run.workgroup_waves
            c.wg_used[cu, slot] = 1
            c.wg_size[cu, slot] = n
            c.wg_left[cu, slot] = n
            c.wg_arrived[cu, slot] = 0
            if c.wg_resident[cu] == 0:
                c.active_since[cu] = now
            c.wg_resident[cu] += 1
            workgroup = run.next_workgroup
            run.next_workgroup += 1
            for number in range(n):
                if not _place_wave(m, now, cu, slot, workgroup, number):
                    return
            run.dispatch_free = now + n * run.dispatch_interval
            run.dispatch_waits = 0
            wake(m, DISPATCH, run.dispatch_free, 0)
            return
    run.dispatch_waits = 1


@jit
def _close_rank(mask, rank):
    """The mask by rank without the bit of a rank, the younger ones moved up."""
    low = (1 << rank) - 1
    return (mask & low) | ((mask >> (rank + 1)) << rank)


@jit(cold=True)
def _close_last(m, g, rank):
    """Who issued last to each unit, now that the wavefront of a rank has ended and younger ones move up."""
    c = m.cu
    for unit in range(8):
        if c.policy == GREEDY and c.simd[g].last[unit] == rank + 1:
            c.simd[g].last[unit] = 0  # who issued last is gone: the oldest comes next
        elif c.simd[g].last[unit] > rank:
            c.simd[g].last[unit] -= 1


@jit(outline=True)
def end_wave(m, now, w):
    """The wavefront ends: free its slot, move younger ones up, and free the workgroup with its last."""
    c = m.cu
    wave = c.wave[w]
    run = m.run
    g = w >> SIMD_BITS
    cu = g >> SIMDS_BITS
    c.resident_cycles += wave.mark - c.started[w]
    if unlikely(m.timeline.placements):
        record(m, ENDED, w, wave.mark, 0)
    rank = wave.rank
    units = c.simd[g].wanted
    while units:
        unit = ctz(units)
        units &= units - 1
        c.simd[g].want[unit] = _close_rank(c.simd[g].want[unit], rank)
    if unlikely(c.policy != OLDEST):
        _close_last(m, g, rank)
    c.simd[g].paused = _close_rank(c.simd[g].paused, rank)
    n = c.simd[g].resident - 1
    order = c.simd[g].order
    older = (1 << (ORDER_BITS * rank)) - 1
    c.simd[g].order = (order & older) | ((order >> ORDER_BITS) & ~older)
    for r in range(rank, n):
        c.wave[wave_of(m, g, r)].rank = r
    c.simd[g].resident = n
    c.simd[g].free |= 1 << (w & ((1 << SIMD_BITS) - 1))
    wave.state = FREE
    forget_fetches(m, w)
    run.waves_left -= 1
    run.waves_done += 1
    slot = wave.workgroup
    left = c.wg_left[cu, slot] - 1
    c.wg_left[cu, slot] = left
    if left == 0:
        c.wg_used[cu, slot] = 0
        c.wg_resident[cu] -= 1
        if c.wg_resident[cu] == 0:
            c.active_cycles += max(wave.mark - c.active_since[cu], 0)
        run.done += 1
    elif c.wg_arrived[cu, slot] == left:
        release_barrier(m, now, cu, slot)
    if run.dispatch_waits:
        wake(m, DISPATCH, now, 0)
