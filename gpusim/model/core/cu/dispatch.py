"""The dispatcher: places workgroups, in the order of their numbers, on compute units that have space.

Each shader engine launches the wavefronts of one workgroup after another, side by side with the other engines. Which
compute unit gets a workgroup, of those with space whose engine may launch, is the order's (`dispatch_order.py`).
"""

from gpusim.base.jit import ONE, Machine, call_i64_4, ctz, jit
from gpusim.model.core.cu.dispatch_order import choose_position, resident_waves
from gpusim.model.core.cu.instruction_buffer import forget_fetches, redirect
from gpusim.model.core.cu.scheduling import OLDEST, forget_rank
from gpusim.model.core.cu.slices import begin_workgroup, first_slice
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import (
    CU_WORDS,
    FREE,
    IDLE,
    MAX_WORKGROUPS,
    NEVER,
    ORDER_BITS,
    SIMD_BITS,
    SIMDS_BITS,
    SLOT_TRACE_BYTES,
    SLOTS,
)
from gpusim.model.core.cu.wave import NOT_OPEN, open_slice, pause, release_barrier, wave_of
from memory.parts import is_dispatcher_held, owner_of
from memory.timeline import ENDED, PLACED, record
from memory.unit_classes import DISPATCH
from memory.waiting import CU_SPACE, freed, wait_for
from memory.wheel import wake


@jit
def _has_space(m: Machine, cu):
    """Return 1 if the CU can hold another workgroup: wavefront slots, and the kernel's limit of workgroups per CU."""
    run = m.run
    if m.cu.wg_resident[cu] >= run.workgroups_per_cu:
        return 0
    return 1 if SIMDS * run.waves_per_simd - resident_waves(m, cu) >= run.workgroup_waves else 0


@jit
def _emptiest_simd(m: Machine, cu):
    """Return the SIMD of the CU with the fewest resident wavefronts, 0 to 3, the lowest number on a tie."""
    best = 0
    for simd in range(1, SIMDS):
        if m.cu.simd[cu * SIMDS + simd].resident < m.cu.simd[cu * SIMDS + best].resident:
            best = simd
    return best


@jit
def _place_wave(m: Machine, now, cu, group_slot, workgroup, number):
    """Give a wavefront a slot and its initial state; it may issue after the launch latency. Returns 0 on a fault."""
    run = m.run
    simd = cu * SIMDS + _emptiest_simd(m, cu)
    state = m.cu.simd[simd]
    i = ctz(state.free)
    state.free &= ~(1 << i)
    w = (simd << SIMD_BITS) + i
    wave = m.cu.wave[w]
    rank = state.resident
    state.order |= i << (ORDER_BITS * rank)
    wave.rank = rank
    state.resident = rank + 1
    wave.workgroup = group_slot
    m.cu.wg_slot[cu, group_slot, number] = w & (SLOTS - 1)
    wave.generation = (wave.generation + 1) & 0xFF
    wave.lgkm = 0
    wave.vm_head = 0
    wave.vm_tail = 0
    wave.scalar_result = 0
    m.cu.started[w] = now
    m.cu.priority[w] = 0
    wave.mark = now
    run.waves_left += 1
    if m.timeline.placements:
        record(m, PLACED, w, workgroup, number)
    place = number | (cu * MAX_WORKGROUPS + group_slot) << 32
    if m.slices.ahead:
        first_slice(m, w, workgroup, place)
    else:
        status = call_i64_4(run.start, run.producer, w, workgroup, place)
        if status < 0:
            run.fault = status
            return 0
        wave.trace_offset = w * SLOT_TRACE_BYTES
    if run.begins:
        wave.pc = run.begins - 1
        wave.segment = NOT_OPEN
    elif not open_slice(m, w):
        return 0
    redirect(m, w)
    pause(m, w, now + m.cu.launch_cycles, IDLE)
    return 1


@jit
def _place_workgroup(m: Machine, now, cu, workgroup):
    slot = 0
    while m.cu.wg_used[cu, slot]:
        slot += 1
    n = m.run.workgroup_waves
    m.cu.wg_used[cu, slot] = 1
    m.cu.wg_size[cu, slot] = n
    m.cu.wg_left[cu, slot] = n
    m.cu.wg_arrived[cu, slot] = 0
    if m.slices.ahead:
        begin_workgroup(m, cu, slot, n)
    if m.cu.wg_resident[cu] == 0:
        m.cu.active_since[cu] = now
    m.cu.wg_resident[cu] += 1
    for number in range(n):
        if not _place_wave(m, now, cu, slot, workgroup, number):
            return


@jit
def _next_position(m: Machine):
    """Return the position of the CU that gets the next workgroup, among the able ones; -1 if none has space."""
    run = m.run
    at = choose_position(m)
    while at >= 0 and not _has_space(owner_of(m, run.cu_order[at]), run.cu_order[at]):
        bit = ONE << (at & 63)
        run.able[at >> 6] ^= bit
        run.may_have_space[at >> 6] ^= bit
        at = choose_position(m)
    return at


@jit(outline=True)
def dispatch_tick(m: Machine, now):
    """Place the next workgroups, unless the dispatcher is held."""
    if not is_dispatcher_held(m):
        place_workgroups(m, now)


@jit(outline=True)
def place_workgroups(m: Machine, now):
    """Place the next workgroups, as many as the engines that may launch and the CUs with space can take."""
    run = m.run
    while run.next_workgroup < run.workgroups and not run.fault:
        for word in range(CU_WORDS):
            run.able[word] = 0
        next_free = NEVER
        for engine in range(run.engines):
            if run.engine_free[engine] <= now:
                for word in range(CU_WORDS):
                    run.able[word] |= run.engine_cus[engine, word] & run.may_have_space[word]
            else:
                next_free = min(next_free, run.engine_free[engine])
        at = _next_position(m)
        if at < 0:
            wait_for(m, CU_SPACE, 0)
            if next_free < NEVER:
                wake(m, DISPATCH, next_free, 0)
            return
        run.cu_next = at + 1
        cu = run.cu_order[at]
        run.next_workgroup += 1
        owner = owner_of(m, cu)
        _place_workgroup(owner, now, cu, run.next_workgroup - 1 + run.skipped)
        run.fault = owner.run.fault
        run.engine_free[run.engine_of[cu]] = now + run.workgroup_waves * run.launch_interval


@jit
def _without_rank(mask, rank):
    """Return the mask by rank without the bit of one rank, with the bits of younger wavefronts moved down."""
    low = (1 << rank) - 1
    return (mask & low) | ((mask >> (rank + 1)) << rank)


@jit(outline=True)
def end_wave(m: Machine, now, w):
    """End the wavefront: free its slot, renumber younger ones, and free the workgroup if this was its last."""
    wave = m.cu.wave[w]
    run = m.run
    simd = w >> SIMD_BITS
    state = m.cu.simd[simd]
    cu = simd >> SIMDS_BITS
    m.cu.resident_cycles += wave.mark - m.cu.started[w]
    if m.timeline.placements:
        record(m, ENDED, w, wave.mark, 0)
    rank = wave.rank
    units = state.wanted
    while units:
        unit = ctz(units)
        units &= units - 1
        state.want[unit] = _without_rank(state.want[unit], rank)
    if m.cu.policy != OLDEST:
        forget_rank(m, simd, rank)
    state.paused = _without_rank(state.paused, rank)
    n = state.resident - 1
    order = state.order
    older = (1 << (ORDER_BITS * rank)) - 1
    state.order = (order & older) | ((order >> ORDER_BITS) & ~older)
    for r in range(rank, n):
        m.cu.wave[wave_of(m, simd, r)].rank = r
    state.resident = n
    state.free |= 1 << (w & ((1 << SIMD_BITS) - 1))
    wave.state = FREE
    forget_fetches(m, w)
    run.waves_left -= 1
    run.waves_done += 1
    slot = wave.workgroup
    left = m.cu.wg_left[cu, slot] - 1
    m.cu.wg_left[cu, slot] = left
    if left == 0:
        m.cu.wg_used[cu, slot] = 0
        m.cu.wg_resident[cu] -= 1
        if m.cu.wg_resident[cu] == 0:
            m.cu.active_cycles += max(wave.mark - m.cu.active_since[cu], 0)
        run.done += 1
    elif m.cu.wg_arrived[cu, slot] == left:
        release_barrier(m, now, cu, slot)
    at = run.position[cu]
    run.may_have_space[at >> 6] |= ONE << (at & 63)
    if freed(m, CU_SPACE):
        wake(m, DISPATCH, now, 0)
