"""Instruction issue: each cycle a CU visits one SIMD, which may issue one instruction of each kind.

The kinds are vector ALU, scalar (ALU or memory), vector memory, LDS and branch or message: five a cycle, from
different wavefronts. s_waitcnt, s_nop, s_barrier and s_endpgm are executed in the instruction buffers beside
them (AMD GCN whitepaper, 2012).
"""

import numpy as np

from gpusim.core.cu.code_table import (
    ACTION_MASK,
    ACTION_SHIFT,
    COHERENT,
    COUNTS_LGKM,
    CYCLES_MASK,
    CYCLES_SHIFT,
    INVALIDATE,
    PAUSE,
    SCALAR_RESULT,
    WAVE_BARRIER,
    WAVE_END,
)
from gpusim.core.cu.dispatch import end_wave
from gpusim.core.cu.fetch import fetch_filled
from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import (
    AT_BARRIER,
    EVENTS,
    EXECUTION,
    FETCH,
    FLAT_ENTRY,
    GREEDY,
    NEVER,
    OLDEST,
    SIMD_BITS,
    SIMDS_BITS,
    SLOTS,
    TRACE_BYTES,
)
from gpusim.core.cu.wave import (
    FOREVER,
    JUMPED,
    LDS_PIPE,
    REACH,
    SMEM_PIPE,
    TURN_CYCLES,
    VMEM_PIPE,
    account,
    account_issue,
    block_pipe,
    code_word,
    enter,
    pause,
    recheck,
    release_barrier,
    slot_of_rank,
    step,
    vm_answered,
    wake_simd,
    wake_to_resume,
    wave_of,
)
from gpusim.jit import ctz, jit, ld_i64, unlikely
from isa.encoding.instruction import BRANCH, INTERNAL, LDS, SALU, SMEM, VALU, VMEM
from isa.trace import (
    BUSY_MASK,
    BUSY_SHIFT,
    LINES_MASK,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_RETURN,
    RECORD_STORE,
)
from memory.cache.l1 import (
    FLAG_BYPASS,
    FLAG_INVALIDATE,
    LINE,
    RETURN_ENTRY,
    STORE_ANSWER,
    l1_next_load_done,
    l1_queue,
    l1_receive,
    l1_step,
    l1_take_lineless,
    l1_write_back,
)
from memory.cache.scalar import scalar_next_done, scalar_queue, scalar_receive, scalar_step
from memory.wheel import CU_ISSUE, CU_LOOK_UP, CU_RETURN, wake_at, wake_later

_NEVER_FULL = 1 << VALU | 1 << SALU | 1 << BRANCH | 1 << INTERNAL  # or free again within a turn


@jit
def _choose(m, g, unit, wanting):
    """Rank of the wavefront that issues to `unit`, by the scheduling policy."""
    c = m.cu
    if unlikely(c.policy != OLDEST):
        last = np.int64(c.simd[g].last[unit])
        if c.policy == GREEDY:
            if last > 0 and (wanting >> (last - 1)) & 1:
                return last - 1
        else:
            later = wanting & ~((1 << last) - 1)
            if later:
                return ctz(later)
    return ctz(wanting)


@jit(inline=True)
def _take_record(m, w):
    """Address of the wavefront's next memory record; moves past it."""
    c = m.cu
    record = m.run.trace_base + w * TRACE_BYTES + c.wave[w].memory_word * 8
    header = ld_i64(record, 0)
    words = header & LINES_MASK
    if header & (RECORD_STORE | RECORD_ATOMIC):
        words *= 2
    if header & RECORD_LDS:
        words = 0
    c.wave[w].memory_word += 1 + words
    return record


@jit(inline=True)
def _use_lds(m, now, cu, who, cycles):
    """Occupy the LDS banks; the result is announced to `who` after the LDS latency."""
    c = m.cu
    end = max(c.lds_free[cu], now) + cycles
    c.lds_free[cu] = end
    if end - c.lds_backlog > now + 1:
        block_pipe(m, LDS_PIPE + cu, now + 1, end - c.lds_backlog)
    c.lds_busy += cycles
    n = c.lds_count[cu]
    q = (c.lds_head[cu] + n) & (EVENTS - 1)
    c.lds_at[cu, q] = end + c.lds_latency
    c.lds_who[cu, q] = who
    c.lds_count[cu] = n + 1
    if n == 0:
        wake_later(m, CU_RETURN, end + c.lds_latency, cu)


@jit(inline=True)
def _issue_vmem(m, now, cu, w):
    wave = m.cu.wave[w]
    word = code_word(m, w)
    record = _take_record(m, w)
    header = ld_i64(record, 0)
    e = wave.vm_tail & 15
    wave.vm_tail += 1
    flat = 0
    if word & COUNTS_LGKM:
        flat = FLAT_ENTRY
        wave.lgkm += 1
    token = (w & (SLOTS - 1)) | e << 6 | wave.generation << 10
    if header & RECORD_LDS:
        wave.vm_left[e] = 1 | flat
        who = (w & (SLOTS - 1)) | wave.generation << 8 | (token + 1) << 16
        _use_lds(m, now, cu, who, (header >> BUSY_SHIFT) & BUSY_MASK)
        return
    answers = 1
    if header & (RECORD_STORE | RECORD_ATOMIC) and not header & RECORD_RETURN:
        answers = max(header & LINES_MASK, 1)
    wave.vm_left[e] = answers | flat
    flags = FLAG_BYPASS if word & COHERENT else 0
    if word & INVALIDATE:
        flags |= FLAG_INVALIDATE
    l1_queue(m, now, cu, record, flags, token)
    if m.l1.unit[cu].q_count == m.l1.queue_limit:
        block_pipe(m, VMEM_PIPE + cu, now + 1, FOREVER)


@jit(inline=True)
def _issue_lds(m, now, cu, w):
    c = m.cu
    record = _take_record(m, w)
    c.wave[w].lgkm += 1
    _use_lds(m, now, cu, (w & (SLOTS - 1)) | c.wave[w].generation << 8, (ld_i64(record, 0) >> BUSY_SHIFT) & BUSY_MASK)


@jit(inline=True)
def _issue_scalar_memory(m, now, cu, w):
    c = m.cu
    word = code_word(m, w)
    record = _take_record(m, w)
    c.wave[w].lgkm += 1
    flags = FLAG_INVALIDATE if word & INVALIDATE else 0
    scalar_queue(m, now, c.array[cu], cu, record, flags, w | c.wave[w].generation << 16)
    if m.scalar.q_count[cu] == m.scalar.queue_limit:
        block_pipe(m, SMEM_PIPE + cu, now + 1, FOREVER)


@jit
def _places(m, now, g, unit):
    """How many instructions of the SIMDs VMEM, SMEM or LDS can take now: 0, 1 (the last place), 2 for more."""
    c = m.cu
    cu = g >> SIMDS_BITS
    if unit == VMEM:
        return min(m.l1.queue_limit - m.l1.unit[cu].q_count, 2)
    if unit == SMEM:
        return min(m.scalar.queue_limit - m.scalar.q_count[cu], 2)
    waited = now - (c.lds_free[cu] - c.lds_backlog)
    return 0 if waited < 0 else (1 if waited < TURN_CYCLES else 2)


@jit
def _next_in_turn(m, cu, unit):
    """The SIMD behind the one that last issued to the unit whose wavefronts want it, -1 if none does."""
    c = m.cu
    for k in range(1, SIMDS + 1):
        simd = (c.served[cu, unit] + k) & (SIMDS - 1)
        if c.simd[cu * SIMDS + simd].want[unit]:
            return simd
    return -1


@jit
def _takes(m, now, g, unit):
    """1 if the unit takes an instruction of the SIMD's wavefronts now.

    The last place goes to the SIMDs that want it round robin: else a unit that is busy for a multiple of four cycles
    would always come free in the same SIMD's turn.
    """
    places = _places(m, now, g, unit)
    if places != 1:
        return places >> 1
    return 1 if _next_in_turn(m, g >> SIMDS_BITS, unit) == g & (SIMDS - 1) else 0


@jit(outline=True)
def _place_free(m, now, cu, unit, pipe, places):
    """A place of the CU's queue of the unit came free, so that there are `places`: visit the SIMDs that may take one.

    Who wants the only place but is not next in turn would be visited in vain.
    """
    c = m.cu
    if c.pipe[pipe].end == FOREVER:
        c.pipe[pipe].end = now
        simd = _next_in_turn(m, cu, unit)
        if simd >= 0:
            wake_simd(m, now, cu, simd)
    elif places == 2:
        for simd in range(SIMDS):
            if c.simd[cu * SIMDS + simd].want[unit]:
                wake_simd(m, now, cu, simd)


@jit
def _no_longer_wants(m, g, unit, rank):
    c = m.cu
    left = c.simd[g].want[unit] & ~(1 << rank)
    c.simd[g].want[unit] = left
    if left == 0:
        c.simd[g].wanted &= ~(1 << unit)


@jit(inline=True)
def _selected(m, now, g, unit, wanting):
    """Wavefront that issues to the unit now; its time is accounted for."""
    c = m.cu
    rank = _choose(m, g, unit, wanting)
    _no_longer_wants(m, g, unit, rank)
    c.simd[g].last[unit] = rank + 1
    c.served[g >> SIMDS_BITS, unit] = g & (SIMDS - 1)
    w = wave_of(m, g, rank)
    account_issue(m, now, w, unit)
    return w


@jit
def _go_on_after(m, now, w, cycles):
    """Step to the next instruction, which may issue in the SIMD's next turn, or `cycles` after it."""
    went = step(m, w)
    if went == JUMPED:
        pause(m, w, now + m.cu.branch_cycles, FETCH)
    elif went and cycles:
        pause(m, w, now + TURN_CYCLES + cycles, EXECUTION)
    elif went:
        enter(m, now + TURN_CYCLES, w)


@jit(inline=True)
def _issue_vector_alu(m, now, g, wanting):
    c = m.cu
    w = _selected(m, now, g, VALU, wanting)
    word = code_word(m, w)
    cycles = (word >> CYCLES_SHIFT) & CYCLES_MASK
    c.simd[g].valu_free = now + cycles
    c.valu_busy += cycles
    if cycles > TURN_CYCLES:
        block_pipe(m, g, now + TURN_CYCLES, now + cycles)
    if word & SCALAR_RESULT:
        c.wave[w].scalar_result = now
    _go_on_after(m, now, w, 0)
    return 1 << c.wave[w].rank


@jit
def _issue_other(m, now, g, unit, wanting):
    """Issue an instruction of another kind than vector ALU; returns its wavefront's bit."""
    c = m.cu
    cu = g >> SIMDS_BITS
    w = _selected(m, now, g, unit, wanting)
    if unit == VMEM:
        _issue_vmem(m, now, cu, w)
    elif unit == LDS:
        _issue_lds(m, now, cu, w)
    elif unit == SMEM:
        _issue_scalar_memory(m, now, cu, w)
    _go_on_after(m, now, w, (code_word(m, w) >> CYCLES_SHIFT) & CYCLES_MASK)
    return 1 << c.wave[w].rank


@jit
def _arrive_at_barrier(m, now, cu, w):
    """The wavefront is at the barrier; the last one of the workgroup lets all go on."""
    c = m.cu
    slot = c.wave[w].workgroup
    c.wg_arrived[cu, slot] += 1
    c.wave[w].state = AT_BARRIER
    if c.wg_arrived[cu, slot] == c.wg_left[cu, slot]:
        release_barrier(m, now, cu, slot)


@jit(inline=True)
def _internal(m, now, cu, w):
    """s_waitcnt whose limits hold, s_nop, s_sleep, s_barrier, s_endpgm and what else needs no unit."""
    word = code_word(m, w)
    action = (word >> ACTION_SHIFT) & ACTION_MASK
    if action == WAVE_BARRIER:
        _arrive_at_barrier(m, now, cu, w)
    elif action == WAVE_END:
        end_wave(m, now, w)
    elif action == PAUSE and (word >> CYCLES_SHIFT) & CYCLES_MASK > TURN_CYCLES - 1:
        if step(m, w):
            pause(m, w, now + 1 + ((word >> CYCLES_SHIFT) & CYCLES_MASK), EXECUTION)
    else:
        _go_on_after(m, now, w, 0)


@jit
def _resume(m, now, cu, g):
    """Let paused wavefronts whose time has come go on; the SIMD is visited again when the next one's comes."""
    c = m.cu
    asleep = c.simd[g].paused
    c.simd[g].next_resume = NEVER
    while asleep:
        rank = ctz(asleep)
        asleep &= asleep - 1
        w = wave_of(m, g, rank)
        if c.wave[w].resume <= now:
            c.simd[g].paused &= ~(1 << rank)
            account(m, w, now, c.wave[w].pause_reason)
            enter(m, now, w)  # it may have to pause again
        else:
            c.simd[g].next_resume = min(c.simd[g].next_resume, c.wave[w].resume)
    if c.simd[g].paused:
        wake_to_resume(m, g)


@jit
def _issue_internal(m, now, cu, g, ranks):
    """Execute the next instructions of wavefronts that need no unit, in the order of their slots."""
    c = m.cu
    slots = 0
    while ranks:
        slots |= 1 << slot_of_rank(m, g, ctz(ranks))
        ranks &= ranks - 1
    while slots:
        w = (g << SIMD_BITS) + ctz(slots)
        slots &= slots - 1
        _no_longer_wants(m, g, INTERNAL, c.wave[w].rank)
        account_issue(m, now, w, INTERNAL)
        _internal(m, now, cu, w)


@jit(inline=True)
def issue_tick(m, now, cu):
    """Visit the SIMD whose turn it is."""
    c = m.cu
    simd = now & (SIMDS - 1)
    g = cu << SIMDS_BITS | simd
    if c.simd[g].next_resume <= now:
        _resume(m, now, cu, g)
    issued = 0  # by rank: a wavefront issues once a turn
    kinds = c.simd[g].wanted
    if (kinds >> VALU) & (c.simd[g].valu_free <= now):
        issued = _issue_vector_alu(m, now, g, c.simd[g].want[VALU])
    if kinds & (1 << SALU | 1 << SMEM):
        # one scalar instruction a turn, of the ALU or of memory: the older wavefront's
        unit = SALU
        wanting = c.simd[g].want[SALU] & ~issued
        memory = c.simd[g].want[SMEM] & ~issued
        if memory and not (wanting >> ctz(wanting | memory)) & 1 and _takes(m, now, g, SMEM):
            unit = SMEM
            wanting = memory
        if wanting:
            issued |= _issue_other(m, now, g, unit, wanting)
    if kinds & (1 << VMEM):
        wanting = c.simd[g].want[VMEM] & ~issued
        if wanting and _takes(m, now, g, VMEM):
            issued |= _issue_other(m, now, g, VMEM, wanting)
    if kinds & (1 << LDS):
        wanting = c.simd[g].want[LDS] & ~issued
        if wanting and _takes(m, now, g, LDS):
            issued |= _issue_other(m, now, g, LDS, wanting)
    if kinds & (1 << BRANCH):
        wanting = c.simd[g].want[BRANCH] & ~issued
        if wanting:
            issued |= _issue_other(m, now, g, BRANCH, wanting)
    internal = c.simd[g].want[INTERNAL] & ~issued
    c.issue_cycles += (issued | internal) != 0
    if internal:
        _issue_internal(m, now, cu, g, internal)
    wanted = c.simd[g].wanted
    if wanted == 0:
        return
    again = wanted & _NEVER_FULL
    if wanted & (1 << SMEM):
        again |= _places(m, now, g, SMEM)
    if wanted & (1 << VMEM):
        again |= _places(m, now, g, VMEM)
    if again:
        wake_at(m, CU_ISSUE, now + TURN_CYCLES, cu)
    elif wanted & (1 << LDS):
        free = min(c.lds_free[cu] - c.lds_backlog, now + REACH)  # if that is before, the visit arms it again
        wake_simd(m, max(now + TURN_CYCLES, free), cu, simd)


@jit(inline=True)
def _lds_results(m, now, cu):
    c = m.cu
    while c.lds_count[cu]:
        h = c.lds_head[cu]
        if c.lds_at[cu, h] > now:
            wake_later(m, CU_RETURN, c.lds_at[cu, h], cu)
            break
        c.lds_head[cu] = (h + 1) & (EVENTS - 1)
        c.lds_count[cu] -= 1
        who = c.lds_who[cu, h]
        w = cu * SLOTS + (who & 0xFF)
        if who >> 16:
            vm_answered(m, now, cu, (who >> 16) - 1)
        elif (who >> 8) & 0xFF == c.wave[w].generation:
            c.wave[w].lgkm -= 1
            recheck(m, now, w)


@jit(inline=True)
def response_tick(m, now, cu):
    """A CU takes one answer from the crossbar. What look-up waits for may be free then."""
    token = l1_receive(m, now, cu)
    freed = LINE
    if token >= 0:
        vm_answered(m, now, cu, token)
        freed = STORE_ANSWER
    if m.l1.unit[cu].waits_for == freed:
        wake_at(m, CU_LOOK_UP, now, cu)


@jit(inline=True)
def return_tick(m, now, cu):
    """A CU's finished loads, stores without lines and LDS accesses. What look-up waits for may be free then."""
    u = m.l1.unit[cu]
    if u.r_head != u.r_scheduled:
        while True:
            token = l1_next_load_done(m, now, cu)
            if token < 0:
                break
            vm_answered(m, now, cu, token)
    if u.lineless:
        vm_answered(m, now, cu, l1_take_lineless(m, cu))
    if m.cu.lds_count[cu]:
        _lds_results(m, now, cu)
    if u.waits_for == RETURN_ENTRY:
        wake_at(m, CU_LOOK_UP, now, cu)


@jit(inline=True)
def look_up_tick(m, now, cu):
    """A CU's vector L1 looks one line up; a place of its queue may come free."""
    u = m.l1.unit[cu]
    if u.q_count == 0:
        l1_write_back(m, now, cu)
    elif l1_step(m, now, cu):
        _place_free(m, now, cu, VMEM, VMEM_PIPE + cu, m.l1.queue_limit - u.q_count)


@jit(inline=True)
def scalar_tick(m, now, array):
    """An array's scalar cache: one response, finished instructions, one line looked up."""
    c = m.cu
    mshr = scalar_receive(m, now, array)
    if mshr >= 0:
        fetch_filled(m, now, array, mshr)
    while True:
        who = scalar_next_done(m, now, array)
        if who < 0:
            break
        w = who & 0xFFFF
        if who >> 16 == c.wave[w].generation:
            c.wave[w].lgkm -= 1
            recheck(m, now, w)
    cu = scalar_step(m, now, array)
    if cu >= 0:
        _place_free(m, now, cu, SMEM, SMEM_PIPE + cu, m.scalar.queue_limit - m.scalar.q_count[cu])
