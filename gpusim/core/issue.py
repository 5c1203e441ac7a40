"""Instruction issue: each cycle a CU visits one SIMD, which may issue one instruction of each kind.

The kinds are vector ALU, scalar (ALU or memory), vector memory, LDS and branch or message: five a cycle, from
different wavefronts. s_waitcnt, s_nop, s_barrier and s_endpgm are executed in the instruction buffers beside
them (AMD GCN whitepaper, 2012).
"""

from gpusim.core.code_table import (
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
from gpusim.core.cu_spec import MAX_WAVES_PER_SIMD, SIMDS
from gpusim.core.cu_state import (
    AT_BARRIER,
    EVENTS,
    EXECUTION,
    FETCH,
    FLAT_ENTRY,
    GREEDY,
    MEMORY_WORD,
    OLDEST,
    SLOTS,
    TRACE_BYTES,
)
from gpusim.core.dispatch import end_wave
from gpusim.core.fetch import fetch_filled
from gpusim.core.wave import (
    FOREVER,
    JUMPED,
    LDS_PIPE,
    SMEM_PIPE,
    TURN_CYCLES,
    VMEM_PIPE,
    account_issue,
    block_pipe,
    code_word,
    enter,
    pause,
    recheck,
    release_barrier,
    released,
    step,
    vm_answered,
    wake_simd,
)
from gpusim.jit import ctz, jit, ld_i64
from isa.instruction import BRANCH, INTERNAL, LDS, SALU, SMEM, VALU, VMEM
from isa.trace import (
    BUSY_MASK,
    BUSY_SHIFT,
    LINES_MASK,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_RETURN,
    RECORD_STORE,
)
from memory.l1 import FLAG_BYPASS, FLAG_INVALIDATE, l1_next_ack, l1_next_load_done, l1_queue, l1_receive, l1_step
from memory.scalar_cache import scalar_next_done, scalar_queue, scalar_receive, scalar_step
from memory.wheel import CU_MEMORY, wake


@jit
def _choose(m, g, unit, wanting):
    """Rank of the wavefront that issues to `unit`, by the scheduling policy."""
    c = m.cu
    if c.policy != OLDEST:
        last = c.last[g, unit]
        if c.policy == GREEDY:
            if last > 0 and (wanting >> (last - 1)) & 1:
                return last - 1
        else:
            later = wanting & ~((1 << last) - 1)
            if later:
                return ctz(later)
    return ctz(wanting)


@jit
def _go_on(m, now, w):
    """Step to the next instruction, which may issue in the SIMD's next turn."""
    if step(m, w):
        enter(m, now + TURN_CYCLES, w)


@jit
def _take_record(m, w):
    """Address of the wavefront's next memory record; moves past it."""
    c = m.cu
    record = m.run.trace_base + w * TRACE_BYTES + c.way[w, MEMORY_WORD] * 8
    header = ld_i64(record, 0)
    words = header & LINES_MASK
    if header & (RECORD_STORE | RECORD_ATOMIC):
        words *= 2
    if header & RECORD_LDS:
        words = 0
    c.way[w, MEMORY_WORD] += 1 + words
    return record


@jit
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
        wake(m, CU_MEMORY, end + c.lds_latency, cu)


@jit
def _issue_vmem(m, now, cu, w):
    c = m.cu
    word = code_word(m, w)
    record = _take_record(m, w)
    header = ld_i64(record, 0)
    e = c.vm_tail[w] & 15
    c.vm_tail[w] += 1
    flat = 0
    if word & COUNTS_LGKM:
        flat = FLAT_ENTRY
        c.lgkm[w] += 1
    token = (w - cu * SLOTS) | e << 6 | c.generation[w] << 10
    if header & RECORD_LDS:
        c.vm_left[w, e] = 1 | flat
        _use_lds(
            m, now, cu, (w - cu * SLOTS) | c.generation[w] << 8 | (token + 1) << 16, (header >> BUSY_SHIFT) & BUSY_MASK
        )
        return
    answers = 1
    if header & (RECORD_STORE | RECORD_ATOMIC) and not header & RECORD_RETURN:
        answers = max(header & LINES_MASK, 1)
    c.vm_left[w, e] = answers | flat
    flags = FLAG_BYPASS if word & COHERENT else 0
    if word & INVALIDATE:
        flags |= FLAG_INVALIDATE
    l1_queue(m, now, cu, record, flags, token)
    if m.l1.q_count[cu] == m.l1.queue_limit:
        block_pipe(m, VMEM_PIPE + cu, now + 1, FOREVER)


@jit
def _issue_lds(m, now, cu, w):
    c = m.cu
    record = _take_record(m, w)
    c.lgkm[w] += 1
    _use_lds(m, now, cu, (w - cu * SLOTS) | c.generation[w] << 8, (ld_i64(record, 0) >> BUSY_SHIFT) & BUSY_MASK)


@jit
def _issue_scalar_memory(m, now, cu, w):
    c = m.cu
    word = code_word(m, w)
    record = _take_record(m, w)
    c.lgkm[w] += 1
    flags = FLAG_INVALIDATE if word & INVALIDATE else 0
    scalar_queue(m, now, cu, record, flags, w | c.generation[w] << 16)
    if m.scalar.q_count[cu] == m.scalar.queue_limit:
        block_pipe(m, SMEM_PIPE + cu, now + 1, FOREVER)


@jit
def _places(m, now, g, unit):
    """How many instructions of the SIMDs the unit can take now: 0, 1 (the last place), 2 for more."""
    c = m.cu
    cu = g // SIMDS
    if unit == VALU:
        return 2 if c.valu_free[g] <= now else 0
    if unit == VMEM:
        return min(m.l1.queue_limit - m.l1.q_count[cu], 2)
    if unit == SMEM:
        return min(m.scalar.queue_limit - m.scalar.q_count[cu], 2)
    if unit == LDS:
        waited = now - (c.lds_free[cu] - c.lds_backlog)
        return 0 if waited < 0 else (1 if waited < TURN_CYCLES else 2)
    return 2


@jit
def _takes(m, now, g, unit):
    """1 if the unit takes an instruction of the SIMD's wavefronts now.

    The last place goes to the SIMDs that want it round robin: else a unit that is busy for a multiple of four cycles
    would always come free in the same SIMD's turn.
    """
    c = m.cu
    places = _places(m, now, g, unit)
    if places != 1:
        return places >> 1
    cu = g // SIMDS
    for k in range(1, SIMDS + 1):
        other = cu * SIMDS + ((c.served[cu, unit] + k) & (SIMDS - 1))
        if c.want[other, unit]:
            return 1 if other == g else 0
    return 0


@jit
def _issue(m, now, g, unit, rank):
    """Issue the next instruction of the wavefront of that rank, which is of the unit."""
    c = m.cu
    cu = g // SIMDS
    c.want[g, unit] &= ~(1 << rank)
    c.last[g, unit] = rank + 1
    c.served[cu, unit] = g & (SIMDS - 1)
    w = g * MAX_WAVES_PER_SIMD + c.order[g, rank]
    account_issue(m, now, w, unit)
    word = code_word(m, w)
    cycles = (word >> CYCLES_SHIFT) & CYCLES_MASK
    if unit == VALU:
        c.valu_free[g] = now + cycles
        c.valu_busy += cycles
        if cycles > TURN_CYCLES:
            block_pipe(m, g, now + TURN_CYCLES, now + cycles)
        if word & SCALAR_RESULT:
            c.scalar_result[w] = now
        cycles = 0
    elif unit == VMEM:
        _issue_vmem(m, now, cu, w)
    elif unit == LDS:
        _issue_lds(m, now, cu, w)
    elif unit == SMEM:
        _issue_scalar_memory(m, now, cu, w)
    went = step(m, w)
    if went == JUMPED:
        pause(m, w, now + c.branch_cycles, FETCH)
    elif went and cycles:
        pause(m, w, now + TURN_CYCLES + cycles, EXECUTION)
    elif went:
        enter(m, now + TURN_CYCLES, w)


@jit
def _arrive_at_barrier(m, now, cu, w):
    """The wavefront is at the barrier; the last one of the workgroup lets all go on."""
    c = m.cu
    slot = c.workgroup[w]
    c.wg_arrived[cu, slot] += 1
    c.state[w] = AT_BARRIER
    if c.wg_arrived[cu, slot] == c.wg_left[cu, slot]:
        release_barrier(m, now, cu, slot)


@jit
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
        _go_on(m, now, w)


@jit
def issue_tick(m, now, cu):
    """Visit the SIMD whose turn it is."""
    c = m.cu
    simd = now & (SIMDS - 1)
    g = cu * SIMDS + simd
    asleep = c.paused[g]
    while asleep:
        rank = ctz(asleep)
        asleep &= asleep - 1
        w = g * MAX_WAVES_PER_SIMD + c.order[g, rank]
        if c.resume[w] <= now:
            c.paused[g] &= ~(1 << rank)
            released(m, now, w, c.pause_reason[w])
        else:
            wake_simd(m, c.resume[w], cu, simd)
    issued = 0  # by rank: a wavefront issues once a turn
    for kind in range(INTERNAL):
        unit = kind
        wanting = c.want[g, unit] & ~issued
        if kind == SALU and _takes(m, now, g, SMEM):
            # one scalar instruction a turn, of the ALU or of memory: the older wavefront's
            memory = c.want[g, SMEM] & ~issued
            if memory and not (wanting >> ctz(wanting | memory)) & 1:
                unit = SMEM
                wanting = memory
        if wanting and kind != SMEM and _takes(m, now, g, unit):
            rank = _choose(m, g, unit, wanting)
            issued |= 1 << rank
            _issue(m, now, g, unit, rank)
    internal = c.want[g, INTERNAL] & ~issued
    if issued | internal:
        c.issue_cycles += 1
    slots = 0
    while internal:
        slots |= 1 << c.order[g, ctz(internal)]
        internal &= internal - 1
    while slots:
        w = g * MAX_WAVES_PER_SIMD + ctz(slots)
        slots &= slots - 1
        c.want[g, INTERNAL] &= ~(1 << c.rank[w])
        account_issue(m, now, w, INTERNAL)
        _internal(m, now, cu, w)
    again = c.want[g, VALU] | c.want[g, SALU] | c.want[g, BRANCH] | c.want[g, INTERNAL]
    if _places(m, now, g, SMEM):
        again |= c.want[g, SMEM]
    if _places(m, now, g, VMEM):
        again |= c.want[g, VMEM]
    if again:
        wake_simd(m, now + TURN_CYCLES, cu, simd)
    elif c.want[g, LDS]:
        wake_simd(m, max(now + TURN_CYCLES, c.lds_free[cu] - c.lds_backlog), cu, simd)


@jit
def _lds_results(m, now, cu):
    c = m.cu
    while c.lds_count[cu]:
        h = c.lds_head[cu]
        if c.lds_at[cu, h] > now:
            wake(m, CU_MEMORY, c.lds_at[cu, h], cu)
            break
        c.lds_head[cu] = (h + 1) & (EVENTS - 1)
        c.lds_count[cu] -= 1
        who = c.lds_who[cu, h]
        w = cu * SLOTS + (who & 0xFF)
        if who >> 16:
            vm_answered(m, now, cu, (who >> 16) - 1)
        elif (who >> 8) & 0xFF == c.generation[w]:
            c.lgkm[w] -= 1
            recheck(m, now, w)


@jit
def memory_tick(m, now, cu):
    """A CU's memory side: one response, finished loads and stores, LDS results, one line looked up."""
    l1_receive(m, now, cu)
    token = l1_next_load_done(m, now, cu)
    while token >= 0:
        vm_answered(m, now, cu, token)
        token = l1_next_load_done(m, now, cu)
    token = l1_next_ack(m, cu)
    while token >= 0:
        vm_answered(m, now, cu, token)
        token = l1_next_ack(m, cu)
    _lds_results(m, now, cu)
    if l1_step(m, now, cu) and m.cu.pipe_to[VMEM_PIPE + cu] == FOREVER:
        m.cu.pipe_to[VMEM_PIPE + cu] = now
        for simd in range(SIMDS):
            if m.cu.want[cu * SIMDS + simd, VMEM]:
                wake_simd(m, now, cu, simd)


@jit
def scalar_tick(m, now, array):
    """An array's scalar cache: one response, finished instructions, one line looked up."""
    c = m.cu
    mshr = scalar_receive(m, now, array)
    if mshr >= 0:
        fetch_filled(m, now, array, mshr)
    who = scalar_next_done(m, now, array)
    while who >= 0:
        w = who & 0xFFFF
        if who >> 16 == c.generation[w]:
            c.lgkm[w] -= 1
            recheck(m, now, w)
        who = scalar_next_done(m, now, array)
    cu = scalar_step(m, now, array)
    if cu >= 0 and c.pipe_to[SMEM_PIPE + cu] == FOREVER:
        c.pipe_to[SMEM_PIPE + cu] = now
        for simd in range(SIMDS):
            if c.want[cu * SIMDS + simd, SMEM]:
                wake_simd(m, now, cu, simd)
