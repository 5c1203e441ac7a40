"""A wavefront's way through its trace: next instruction, readiness, waiting, and where its cycles went."""

from gpusim.core.code_table import (
    ACTION_MASK,
    ACTION_SHIFT,
    COUNT_MASK,
    COUNTS_LGKM,
    FIRST_GRANULE_SHIFT,
    GRANULE_MASK,
    LGKM_SHIFT,
    RESULT_SHIFT,
    VM_SHIFT,
    WAIT,
)
from gpusim.core.cu_spec import MAX_WAVES_PER_SIMD, SIMDS
from gpusim.core.cu_state import (
    ARRIVALS,
    ARRIVES,
    AT_BARRIER,
    EXECUTION,
    FETCH,
    FETCHING,
    FLAT_ENTRY,
    GRANULE,
    ISSUED,
    LGKM_FULL,
    MAX_IN_FLIGHT,
    MAX_SIMDS,
    MEMORY,
    MEMORY_WORD,
    MISSING,
    NEVER,
    NEXT_GRANULE,
    NOT_SELECTED,
    PAUSED,
    PC,
    READY,
    READY_AT,
    REASONS,
    SEGMENT,
    SEGMENT_END,
    SLOTS,
    STARVED,
    STOP,
    SYNCHRONISATION,
    THROTTLE,
    TRACE_BYTES,
    VM_FULL,
    WAITING,
    WANT,
)
from gpusim.jit import call_i64_4, jit, ld_i64, outlined, st_i64
from isa.instruction import LDS, SMEM, VALU, VMEM
from isa.trace import MEMORY_0, SEGMENT_0, SEGMENTS
from memory.crossbar import MAX_CUS
from memory.timeline import CHARGED, RETURNED, record
from memory.wheel import CU_ISSUE, SIZE, wake
from memory.wheel import FETCH as FETCH_CLASS

LDS_PIPE = MAX_SIMDS
VMEM_PIPE = MAX_SIMDS + MAX_CUS
SMEM_PIPE = MAX_SIMDS + 2 * MAX_CUS
TURN_CYCLES = SIMDS  # a SIMD is visited every fourth cycle
FOREVER = 1 << 60
JUMPED = 2  # what `step` returns for a branch that was taken


@jit
def wake_simd(m, t, cu, simd):
    """Visit the SIMD in its first turn at or after cycle `t` that is still to come."""
    now = m.wheel.now
    t = max(t, now if m.wheel.running < CU_ISSUE else now + 1)
    t += (simd - t) & (SIMDS - 1)
    if t >= now + SIZE:
        t -= (t - now - SIZE + SIMDS) // SIMDS * SIMDS  # the last turn within the wheel; the visit arms it again
    wake(m, CU_ISSUE, t, cu)


@jit
def _charge_in_detail(m, w, reason, cycles):
    """Note the cycles by static instruction and, while one is drawn, for the timeline."""
    outlined()
    at = m.cu.way[w, PC] * REASONS + reason
    st_i64(m.run.hotspots, at, ld_i64(m.run.hotspots, at) + cycles)
    if m.timeline.on:
        record(m, CHARGED, w | reason << 16, m.cu.way[w, PC], cycles)


@jit
def charge(m, w, reason, cycles):
    """The wavefront spent `cycles` on `reason`, in front of its next instruction."""
    m.cu.stalls[w // SLOTS, reason] += cycles
    if m.run.hotspots:
        _charge_in_detail(m, w, reason, cycles)


@jit
def account(m, w, t, reason):
    """The wavefront's time up to cycle `t` went to `reason`."""
    c = m.cu
    spent = t - c.mark[w]
    if spent > 0:
        charge(m, w, reason, spent)
        c.mark[w] = t


@jit
def pipe_blocked(m, pipe, t):
    """Cycles before `t` in which the pipe could not take an instruction."""
    c = m.cu
    inside = min(t, c.pipe_to[pipe]) - c.pipe_from[pipe]
    return c.pipe_total[pipe] + max(inside, 0)


@jit
def block_pipe(m, pipe, start, end):
    """The pipe takes nothing in cycles [start, end); intervals follow one another in time."""
    c = m.cu
    c.pipe_total[pipe] += max(c.pipe_to[pipe] - c.pipe_from[pipe], 0)
    c.pipe_from[pipe] = start
    c.pipe_to[pipe] = max(start, end)


@jit
def pipe_of(unit, w):
    """The pipe that instructions of `unit` go through, or -1."""
    if unit == VALU:
        return w // MAX_WAVES_PER_SIMD
    if unit == LDS:
        return LDS_PIPE + w // SLOTS
    if unit == VMEM:
        return VMEM_PIPE + w // SLOTS
    if unit == SMEM:
        return SMEM_PIPE + w // SLOTS
    return -1


@jit
def code_word(m, w):
    """The code table's word of the wavefront's next instruction."""
    return ld_i64(m.run.code, m.cu.way[w, PC])


@jit
def counters_allow(m, w, word):
    """1 if an s_waitcnt's limits hold."""
    c = m.cu
    vm = c.vm_tail[w] - c.vm_head[w]
    return 1 if vm <= ((word >> VM_SHIFT) & COUNT_MASK) and c.lgkm[w] <= ((word >> LGKM_SHIFT) & COUNT_MASK) else 0


@jit
def pause(m, w, t, reason):
    """Let the wavefront go on in cycle `t`; until then its time goes to `reason`."""
    c = m.cu
    c.state[w] = PAUSED
    c.resume[w] = t
    c.pause_reason[w] = reason
    c.paused[w // MAX_WAVES_PER_SIMD] |= 1 << c.rank[w]
    wake_simd(m, t, w // SLOTS, (w % SLOTS) // MAX_WAVES_PER_SIMD)


@jit
def enter(m, t, w):
    """Put the wavefront, ready from cycle `t`, among those who want its next instruction's unit, or let it wait."""
    c = m.cu
    if c.way[w, READY_AT] > t:
        if c.way[w, READY_AT] == NEVER:
            c.state[w] = FETCHING
        else:
            pause(m, w, c.way[w, READY_AT], FETCH)
        return
    word = code_word(m, w)
    late = word >> RESULT_SHIFT
    if late and c.scalar_result[w] + late > t:
        pause(m, w, c.scalar_result[w] + late, EXECUTION)
        return
    unit = word & 15
    if (word >> ACTION_SHIFT) & ACTION_MASK == WAIT and not counters_allow(m, w, word):
        c.state[w] = WAITING
        return
    if unit == VMEM and c.vm_tail[w] - c.vm_head[w] >= MAX_IN_FLIGHT:
        c.state[w] = VM_FULL
        return
    if (unit == LDS or unit == SMEM or word & COUNTS_LGKM) and c.lgkm[w] >= MAX_IN_FLIGHT:
        c.state[w] = LGKM_FULL
        return
    c.state[w] = READY
    c.want[w // MAX_WAVES_PER_SIMD, unit] |= 1 << c.rank[w]
    pipe = pipe_of(unit, w)
    if pipe >= 0:
        c.snapshot[w] = pipe_blocked(m, pipe, t)


@jit
def released(m, now, w, reason):
    """What the wavefront waited for has happened: its time so far went to `reason`, and it may issue from now on."""
    account(m, w, now, reason)
    enter(m, now, w)
    wake_simd(m, now, w // SLOTS, (w % SLOTS) // MAX_WAVES_PER_SIMD)


@jit
def recheck(m, now, w):
    """One of the wavefront's counters went down."""
    c = m.cu
    state = c.state[w]
    if state == WAITING:
        if counters_allow(m, w, code_word(m, w)):
            released(m, now, w, MEMORY)
    elif state == VM_FULL:
        if c.vm_tail[w] - c.vm_head[w] < MAX_IN_FLIGHT:
            released(m, now, w, THROTTLE)
    elif state == LGKM_FULL:
        if c.lgkm[w] < MAX_IN_FLIGHT:
            released(m, now, w, THROTTLE)


@jit
def _want_fetch(m, w):
    c = m.cu
    cu = w // SLOTS
    array = c.array[cu]
    c.fetch[cu, WANT] |= 1 << (w % SLOTS)
    c.fetching_cus[array] |= c.bit_in_array[cu]
    wake(m, FETCH_CLASS, m.wheel.now + 1, array)


@jit
def _stand_in_granule(m, w):
    """The wavefront may go on to the end of its segment or of its granule, whichever comes first."""
    c = m.cu
    end = c.way[w, SEGMENT_END]
    if not m.icache.ideal:
        end = min(end, ld_i64(m.run.granule_ends, c.way[w, GRANULE]))
    c.way[w, STOP] = end


@jit
def _next_granule(m, w):
    """The wavefront has used up a granule: its buffer has room for another one."""
    c = m.cu
    cu = w // SLOTS
    slot = 1 << (w % SLOTS)
    g = c.way[w, GRANULE] + 1
    c.way[w, GRANULE] = g
    if g < c.way[w, NEXT_GRANULE]:
        c.way[w, READY_AT] = c.way[w, ARRIVES + (g & (ARRIVALS - 1))]
    else:
        c.way[w, READY_AT] = NEVER
        c.fetch[cu, STARVED] |= slot
    room = c.way[w, NEXT_GRANULE] < min(g + c.buffer_granules, m.run.granules)
    if room and not c.fetch[cu, MISSING] & slot:
        _want_fetch(m, w)


@jit
def forget_fetches(m, w):
    """Nothing is fetched for the wavefront any more."""
    c = m.cu
    cu = w // SLOTS
    others = ~(1 << (w % SLOTS))
    c.fetch[cu, WANT] &= others
    c.fetch[cu, STARVED] &= others
    c.fetch[cu, MISSING] &= others


@jit
def redirect(m, w):
    """The wavefront goes on at another place: its instruction buffer is empty."""
    c = m.cu
    if not m.icache.ideal:
        forget_fetches(m, w)
        granules = ld_i64(m.run.granules_of, c.way[w, PC])
        c.way[w, GRANULE] = granules & GRANULE_MASK
        c.way[w, NEXT_GRANULE] = granules >> FIRST_GRANULE_SHIFT
        c.way[w, READY_AT] = NEVER
        c.fetch[w // SLOTS, STARVED] |= 1 << (w % SLOTS)
        _want_fetch(m, w)
    _stand_in_granule(m, w)


@jit
def open_slice(m, w):
    """Ask the producer for the wavefront's next slice and stand at its first instruction; 0 on a fault."""
    c = m.cu
    run = m.run
    status = call_i64_4(run.produce, run.producer, w, 0, 0)
    if status < 0:
        run.fault = status
        return 0
    segment = ld_i64(run.trace_base + w * TRACE_BYTES, SEGMENT_0)
    c.way[w, SEGMENT] = 0
    c.way[w, PC] = segment & 0xFFFFFFFF
    c.way[w, SEGMENT_END] = segment >> 32
    c.way[w, MEMORY_WORD] = MEMORY_0
    return 1


@jit
def step(m, w):
    """Go to the next instruction of the trace; 0 on a fault, JUMPED if a branch was taken, 1 if not."""
    c = m.cu
    pc = c.way[w, PC] + 1
    if pc < c.way[w, STOP]:
        c.way[w, PC] = pc
        return 1
    if pc < c.way[w, SEGMENT_END]:
        c.way[w, PC] = pc
    else:
        base = m.run.trace_base + w * TRACE_BYTES
        s = c.way[w, SEGMENT] + 1
        if s == ld_i64(base, SEGMENTS):
            if not open_slice(m, w):
                return 0
            s = 0
        else:
            segment = ld_i64(base, SEGMENT_0 + s)
            c.way[w, SEGMENT] = s
            c.way[w, PC] = segment & 0xFFFFFFFF
            c.way[w, SEGMENT_END] = segment >> 32
        if s or c.way[w, PC] != pc:
            redirect(m, w)
            return JUMPED
    if not m.icache.ideal and pc == ld_i64(m.run.granule_ends, c.way[w, GRANULE]):
        _next_granule(m, w)
    _stand_in_granule(m, w)
    return 1


@jit
def account_issue(m, now, w, unit):
    """The wavefront issues now: split the time it was ready into pipe blocked and not selected."""
    c = m.cu
    spent = now - c.mark[w]
    if spent > 0:
        pipe = pipe_of(unit, w)
        blocked = 0
        if pipe >= 0:
            # less than nothing if the pipe came free before the cycle from which the wavefront wanted it
            blocked = max(min(spent, pipe_blocked(m, pipe, now) - c.snapshot[w]), 0)
        if blocked:
            charge(m, w, THROTTLE if unit == VMEM or unit == SMEM else EXECUTION, blocked)
        charge(m, w, NOT_SELECTED, spent - blocked)
    charge(m, w, ISSUED, TURN_CYCLES)
    c.mark[w] = now + TURN_CYCLES
    c.issued[unit] += 1
    m.run.instructions += 1


@jit
def vm_answered(m, now, cu, token):
    """An answer for the vector memory instruction `token`; instructions leave vmcnt in order."""
    c = m.cu
    if m.timeline.on:
        record(m, RETURNED, cu, token, 0)
    w = cu * SLOTS + (token & 63)
    if (token >> 10) & 0xFF != c.generation[w]:
        return
    e = (token >> 6) & 15
    left = c.vm_left[w, e] - 1
    changed = 0
    if left == FLAT_ENTRY:
        left = 0
        c.lgkm[w] -= 1
        changed = 1
    c.vm_left[w, e] = left
    h = c.vm_head[w]
    if left == 0 and (h & 15) == e:
        t = c.vm_tail[w]
        while h < t and c.vm_left[w, h & 15] == 0:
            h += 1
        c.vm_head[w] = h
        changed = 1
    if changed:
        recheck(m, now, w)


@jit
def release_barrier(m, now, cu, slot):
    """All wavefronts of the workgroup that have not ended are at the barrier: let them go on."""
    c = m.cu
    c.wg_arrived[cu, slot] = 0
    for number in range(c.wg_size[cu, slot]):
        x = cu * SLOTS + c.wg_slot[cu, slot, number]
        if c.state[x] == AT_BARRIER and c.workgroup[x] == slot:
            t = max(now + 1, c.mark[x])
            account(m, x, t, SYNCHRONISATION)
            if not step(m, x):
                return
            released(m, t, x, SYNCHRONISATION)
