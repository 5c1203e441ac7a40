"""A wavefront's way through its trace: next instruction, readiness, waiting, and where its cycles went."""

from gpusim.core.cu.code_table import (
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
from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import (
    ARRIVALS,
    AT_BARRIER,
    CU_BITS,
    EXECUTION,
    FETCH,
    FETCHING,
    FLAT_ENTRY,
    ISSUED,
    LGKM_FULL,
    MAX_IN_FLIGHT,
    MAX_SIMDS,
    MEMORY,
    MISSING,
    NEVER,
    NOT_SELECTED,
    ORDER_BITS,
    PAUSED,
    PIPES,
    READY,
    REASONS,
    SIMD_BITS,
    SIMDS_BITS,
    SLOTS,
    STARVED,
    SYNCHRONIZATION,
    THROTTLE,
    TRACE_BYTES,
    VM_FULL,
    WAITING,
    WANT,
)
from gpusim.jit import call_i64_4, jit, ld_i64, st_i64, unlikely
from isa.encoding.instruction import LDS, SMEM, VALU, VMEM
from isa.trace import MEMORY_0, SEGMENT_0, SEGMENTS
from memory.network.state import MAX_CUS
from memory.timeline import CHARGED, RETURNED, record
from memory.wheel import CU_ISSUE, SIZE, wake_at
from memory.wheel import FETCH as FETCH_CLASS

LDS_PIPE = MAX_SIMDS
VMEM_PIPE = LDS_PIPE + MAX_CUS
SMEM_PIPE = VMEM_PIPE + MAX_CUS
NO_PIPE = SMEM_PIPE + MAX_CUS
assert PIPES == NO_PIPE + MAX_CUS
_FIRST_PIPE = {LDS: LDS_PIPE, VMEM: VMEM_PIPE, SMEM: SMEM_PIPE}
_FIRST_PIPES = sum(_FIRST_PIPE.get(unit, NO_PIPE) // MAX_CUS << (4 * unit) for unit in range(8))  # of units but VALU
TURN_CYCLES = SIMDS  # a SIMD is visited every fourth cycle
FOREVER = 1 << 60
REACH = SIZE - SIMDS  # cycles for which the wheel holds a turn of each SIMD
JUMPED = 2  # what `step` returns for a branch that was taken


@jit
def slot_of_rank(m, g, rank):
    """Number of the wavefront of a rank among the SIMD's slots."""
    return (m.cu.simd[g].order >> (ORDER_BITS * rank)) & ((1 << ORDER_BITS) - 1)


@jit
def wave_of(m, g, rank):
    """Slot of a SIMD's wavefront of a rank."""
    return (g << SIMD_BITS) + slot_of_rank(m, g, rank)


@jit(outline=True)
def wake_simd(m, t, cu, simd):
    """Visit the SIMD in its first turn at or after cycle `t`, at most REACH away, that is still to come."""
    t = max(t, m.wheel.now + (m.wheel.running >= CU_ISSUE))
    wake_at(m, CU_ISSUE, t + ((simd - t) & (SIMDS - 1)), cu)


@jit(cold=True)
def _charge_in_detail(m, w, reason, cycles):
    """Note the cycles by static instruction and, while one is drawn, for the timeline."""
    at = m.cu.wave[w].pc * REASONS + reason
    st_i64(m.run.hotspots, at, ld_i64(m.run.hotspots, at) + cycles)
    if m.timeline.on:
        record(m, CHARGED, w | reason << 16, m.cu.wave[w].pc, cycles)


@jit
def charge(m, w, reason, cycles):
    """The wavefront spent `cycles` on `reason`, in front of its next instruction."""
    m.cu.stalls[w >> CU_BITS, reason] += cycles
    if unlikely(m.run.hotspots):
        _charge_in_detail(m, w, reason, cycles)


@jit
def account(m, w, t, reason):
    """The wavefront's time up to cycle `t` went to `reason`."""
    c = m.cu
    spent = t - c.wave[w].mark
    if spent > 0:
        charge(m, w, reason, spent)
        c.wave[w].mark = t


@jit
def pipe_blocked(m, pipe, t):
    """Cycles before `t` in which the pipe could not take an instruction."""
    p = m.cu.pipe[pipe]
    return p.total + max(min(t, p.end) - p.start, 0)


@jit
def block_pipe(m, pipe, start, end):
    """The pipe takes nothing in cycles [start, end); intervals follow one another in time."""
    p = m.cu.pipe[pipe]
    p.total += max(p.end - p.start, 0)
    p.start = start
    p.end = max(start, end)


@jit
def pipe_of(unit, w):
    """The pipe that instructions of `unit` go through; units without one have a pipe that is never blocked."""
    return w >> SIMD_BITS if unit == VALU else MAX_CUS * ((_FIRST_PIPES >> (4 * unit)) & 15) + (w >> CU_BITS)


@jit
def code_word(m, w):
    """The code table's word of the wavefront's next instruction."""
    return ld_i64(m.run.code, m.cu.wave[w].pc)


@jit
def counters_allow(m, w, word):
    """1 if an s_waitcnt's limits hold."""
    wave = m.cu.wave[w]
    vm = wave.vm_tail - wave.vm_head
    return 1 if vm <= ((word >> VM_SHIFT) & COUNT_MASK) and wave.lgkm <= ((word >> LGKM_SHIFT) & COUNT_MASK) else 0


@jit
def wake_to_resume(m, g):
    """Visit the SIMD when its first paused wavefront may go on, or before if that is out of the wheel's reach."""
    c = m.cu
    t = min(c.simd[g].next_resume, m.wheel.now + REACH)
    c.simd[g].next_resume = t
    wake_simd(m, t, g >> SIMDS_BITS, g & (SIMDS - 1))


@jit(inline=True)
def pause(m, w, t, reason):
    """Let the wavefront go on in cycle `t`; until then its time goes to `reason`."""
    c = m.cu
    wave = c.wave[w]
    wave.state = PAUSED
    wave.resume = t
    wave.pause_reason = reason
    g = w >> SIMD_BITS
    c.simd[g].next_resume = min(c.simd[g].next_resume, t)
    c.simd[g].paused |= 1 << wave.rank
    wake_to_resume(m, g)


@jit(inline=True)
def enter(m, t, w):
    """Put the wavefront, ready from cycle `t`, among those who want its next instruction's unit, or let it wait."""
    c = m.cu
    wave = c.wave[w]
    if wave.ready_at > t:
        if wave.ready_at == NEVER:
            wave.state = FETCHING
        else:
            pause(m, w, wave.ready_at, FETCH)
        return
    word = code_word(m, w)
    late = word >> RESULT_SHIFT
    if unlikely(late and wave.scalar_result + late > t):
        pause(m, w, wave.scalar_result + late, EXECUTION)
        return
    unit = word & 15
    if (word >> ACTION_SHIFT) & ACTION_MASK == WAIT and not counters_allow(m, w, word):
        wave.state = WAITING
        return
    if unlikely((unit == VMEM) & (wave.vm_tail - wave.vm_head >= MAX_IN_FLIGHT)):  # one branch, in place of two
        wave.state = VM_FULL
        return
    if unlikely((unit == LDS or unit == SMEM or word & COUNTS_LGKM) and wave.lgkm >= MAX_IN_FLIGHT):
        wave.state = LGKM_FULL
        return
    wave.state = READY
    g = w >> SIMD_BITS
    c.simd[g].want[unit] |= 1 << wave.rank
    c.simd[g].wanted |= 1 << unit
    wave.snapshot = pipe_blocked(m, pipe_of(unit, w), t)


@jit(outline=True)
def released(m, now, w, reason):
    """What the wavefront waited for has happened: its time so far went to `reason`, and it may issue from now on."""
    account(m, w, now, reason)
    enter(m, now, w)
    g = w >> SIMD_BITS
    wake_simd(m, now, g >> SIMDS_BITS, g & (SIMDS - 1))


@jit(inline=True)
def recheck(m, now, w):
    """One of the wavefront's counters went down."""
    wave = m.cu.wave[w]
    state = wave.state
    if state == WAITING:
        if counters_allow(m, w, code_word(m, w)):
            released(m, now, w, MEMORY)
    elif unlikely(
        (state == VM_FULL and wave.vm_tail - wave.vm_head < MAX_IN_FLIGHT)
        or (state == LGKM_FULL and wave.lgkm < MAX_IN_FLIGHT)
    ):
        released(m, now, w, THROTTLE)


@jit
def _want_fetch(m, w):
    c = m.cu
    cu = w >> CU_BITS
    array = c.array[cu]
    c.fetch[cu, WANT] |= 1 << (w & (SLOTS - 1))
    c.fetching_cus[array] |= c.bit_in_array[cu]
    wake_at(m, FETCH_CLASS, m.wheel.now + 1, array)


@jit
def _stand_in_granule(m, w):
    """The wavefront may go on to the end of its segment or of its granule, whichever comes first."""
    wave = m.cu.wave[w]
    end = wave.segment_end
    if not m.icache.ideal:
        end = min(end, ld_i64(m.run.granule_ends, wave.granule))
    wave.stop = end


@jit
def _next_granule(m, w):
    """The wavefront has used up a granule: its buffer has room for another one."""
    c = m.cu
    wave = c.wave[w]
    cu = w >> CU_BITS
    slot = 1 << (w & (SLOTS - 1))
    g = wave.granule + 1
    wave.granule = g
    if g < wave.next_granule:
        wave.ready_at = wave.arrives[g & (ARRIVALS - 1)]
    else:
        wave.ready_at = NEVER
        c.fetch[cu, STARVED] |= slot
    room = wave.next_granule < min(g + c.buffer_granules, m.run.granules)
    if room and not c.fetch[cu, MISSING] & slot:
        _want_fetch(m, w)


@jit
def forget_fetches(m, w):
    """Nothing is fetched for the wavefront any more."""
    c = m.cu
    cu = w >> CU_BITS
    others = ~(1 << (w & (SLOTS - 1)))
    c.fetch[cu, WANT] &= others
    c.fetch[cu, STARVED] &= others
    c.fetch[cu, MISSING] &= others


@jit
def redirect(m, w):
    """The wavefront goes on at another place: its instruction buffer is empty."""
    c = m.cu
    wave = c.wave[w]
    if not m.icache.ideal:
        forget_fetches(m, w)
        granules = ld_i64(m.run.granules_of, wave.pc)
        wave.granule = granules & GRANULE_MASK
        wave.next_granule = granules >> FIRST_GRANULE_SHIFT
        wave.ready_at = NEVER
        c.fetch[w >> CU_BITS, STARVED] |= 1 << (w & (SLOTS - 1))
        _want_fetch(m, w)
    _stand_in_granule(m, w)


@jit
def open_slice(m, w):
    """Ask the producer for the wavefront's next slice and stand at its first instruction; 0 on a fault."""
    wave = m.cu.wave[w]
    run = m.run
    status = call_i64_4(run.produce, run.producer, w, 0, 0)
    if status < 0:
        run.fault = status
        return 0
    segment = ld_i64(run.trace_base + w * TRACE_BYTES, SEGMENT_0)
    wave.segment = 0
    wave.pc = segment & 0xFFFFFFFF
    wave.segment_end = segment >> 32
    wave.memory_word = MEMORY_0
    return 1


@jit(inline=True)
def step(m, w):
    """Go to the next instruction of the trace; 0 on a fault, JUMPED if a branch was taken, 1 if not."""
    wave = m.cu.wave[w]
    pc = wave.pc + 1
    if pc < wave.stop:
        wave.pc = pc
        return 1
    if pc < wave.segment_end:
        wave.pc = pc
    else:
        base = m.run.trace_base + w * TRACE_BYTES
        s = wave.segment + 1
        if s == ld_i64(base, SEGMENTS):
            if not open_slice(m, w):
                return 0
            s = 0
        else:
            segment = ld_i64(base, SEGMENT_0 + s)
            wave.segment = s
            wave.pc = segment & 0xFFFFFFFF
            wave.segment_end = segment >> 32
        if s or wave.pc != pc:
            redirect(m, w)
            return JUMPED
    if not m.icache.ideal and pc == ld_i64(m.run.granule_ends, wave.granule):
        _next_granule(m, w)
    _stand_in_granule(m, w)
    return 1


@jit(inline=True)
def account_issue(m, now, w, unit):
    """The wavefront issues now: split the time it was ready into pipe blocked and not selected."""
    c = m.cu
    wave = c.wave[w]
    spent = now - wave.mark
    if spent > 0:
        # less than nothing if the pipe came free before the cycle from which the wavefront wanted it
        blocked = max(min(spent, pipe_blocked(m, pipe_of(unit, w), now) - wave.snapshot), 0)
        if blocked:
            charge(m, w, THROTTLE if unit == VMEM or unit == SMEM else EXECUTION, blocked)
        charge(m, w, NOT_SELECTED, spent - blocked)
    charge(m, w, ISSUED, TURN_CYCLES)
    wave.mark = now + TURN_CYCLES
    c.issued[unit] += 1
    m.run.instructions += 1


@jit(outline=True)
def vm_answered(m, now, cu, token):
    """An answer for the vector memory instruction `token`; instructions leave vmcnt in order."""
    c = m.cu
    if unlikely(m.timeline.on):
        record(m, RETURNED, cu, token, 0)
    w = cu * SLOTS + (token & 63)
    wave = c.wave[w]
    if (token >> 10) & 0xFF != wave.generation:
        return
    e = (token >> 6) & 15
    left = wave.vm_left[e] - 1
    changed = 0
    if left == FLAT_ENTRY:
        left = 0
        wave.lgkm -= 1
        changed = 1
    wave.vm_left[e] = left
    h = wave.vm_head
    if left == 0 and (h & 15) == e:
        t = wave.vm_tail
        while h < t and wave.vm_left[h & 15] == 0:
            h += 1
        wave.vm_head = h
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
        if c.wave[x].state == AT_BARRIER and c.wave[x].workgroup == slot:
            t = max(now + 1, c.wave[x].mark)
            account(m, x, t, SYNCHRONIZATION)
            if not step(m, x):
                return
            released(m, t, x, SYNCHRONIZATION)
