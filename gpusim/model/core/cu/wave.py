"""A wavefront's way through its trace: next instruction, readiness, waiting, and where its cycles went."""

import numpy as np

from gpusim.base.jit import Machine, call_i64_4, jit, ld_i64
from gpusim.model.core.cu.accounts import account, taken_by
from gpusim.model.core.cu.code_table import (
    ACTION_MASK,
    ACTION_SHIFT,
    COUNTS_LGKM,
    LGKM_MASK,
    LGKM_SHIFT,
    RESULT_SHIFT,
    VM_MASK,
    VM_SHIFT,
    WAIT,
)
from gpusim.model.core.cu.instruction_buffer import next_granule, redirect, stand_in_granule
from gpusim.model.core.cu.slices import enter_next_slice
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import (
    AT_BARRIER,
    EXECUTION,
    FETCH,
    FETCHING,
    FLAT_ENTRY,
    LGKM_FULL,
    MAX_IN_FLIGHT,
    MEMORY,
    NEVER,
    ORDER_BITS,
    PAUSED,
    READY,
    SIMD_BITS,
    SIMDS_BITS,
    SLOTS,
    SYNCHRONIZATION,
    THROTTLE,
    TOKEN_ENTRY_SHIFT,
    TOKEN_GENERATION_SHIFT,
    VM_ENTRIES,
    VM_FULL,
    WAITING,
)
from isa.opcodes.opcode import LDS, SMEM, VMEM
from isa.trace import FLOPS, FLOPS_BITS, FLOPS_MASK, MEMORY_0, SEGMENT_0, SEGMENTS
from memory.cache.access import WAITED, add
from memory.timeline import RETURNED, record
from memory.unit_classes import CU_ISSUE
from memory.waiting import cycles_short
from memory.wheel import SIZE, wake_at

REACH = SIZE - SIMDS  # cycles for which the wheel holds a turn of each SIMD
WHO_PC = 40  # of what an LDS or scalar memory instruction is announced as: its static instruction from this bit
JUMPED = 2  # what `step` returns for a branch that was taken
NOT_OPEN = -1  # in place of a segment: the wavefront's first slice is not open yet


@jit
def slot_of_rank(m: Machine, simd, rank):
    """Return the slot number, within the SIMD, of its wavefront of a rank."""
    return (m.cu.simd[simd].order >> (ORDER_BITS * rank)) & ((1 << ORDER_BITS) - 1)


@jit
def wave_of(m: Machine, simd, rank):
    """Return the wavefront slot, in the machine, of the SIMD's wavefront of a rank."""
    return (simd << SIMD_BITS) + slot_of_rank(m, simd, rank)


@jit(outline=True)
def wake_simd(m: Machine, t, simd):
    """Visit the SIMD in its first turn at or after cycle `t`, at most REACH away, that is still to come."""
    t = max(t, m.wheel.now + (m.wheel.running >= CU_ISSUE))
    wake_at(m, CU_ISSUE, t + ((simd - t) & (SIMDS - 1)), simd >> SIMDS_BITS)


@jit
def code_word(m: Machine, w):
    """Return the code table's word of the wavefront's next instruction."""
    return ld_i64(m.run.code, m.cu.wave[w].pc)


@jit
def counters_allow(m: Machine, w, word):
    """Return 1 if the wavefront's counters are within the limits of the s_waitcnt `word`, else 0."""
    wave = m.cu.wave[w]
    vm = wave.vm_tail - wave.vm_head
    return 1 if vm <= ((word >> VM_SHIFT) & VM_MASK) and wave.lgkm <= ((word >> LGKM_SHIFT) & LGKM_MASK) else 0


@jit
def wake_for_paused(m: Machine, simd):
    """Visit the SIMD when its first paused wavefront may go on, or before if that is out of the wheel's reach."""
    t = min(m.cu.simd[simd].next_resume, m.wheel.now + REACH)
    m.cu.simd[simd].next_resume = t
    wake_simd(m, t, simd)


@jit(inline=True)
def pause(m: Machine, w, t, reason):
    """Let the wavefront go on in cycle `t`; until then its time goes to `reason`."""
    wave = m.cu.wave[w]
    wave.state = PAUSED
    wave.resume = t
    wave.pause_reason = reason
    simd = w >> SIMD_BITS
    m.cu.simd[simd].next_resume = min(m.cu.simd[simd].next_resume, t)
    m.cu.simd[simd].paused |= 1 << wave.rank
    wake_for_paused(m, simd)


@jit(cold=True)
def _wait_for_scalar_result(m: Machine, w, t):
    """Pause the wavefront until cycle `t`, when the scalar register that its next instruction reads is written."""
    pause(m, w, t, EXECUTION)


@jit(cold=True)
def _wait_for_a_count(m: Machine, w, state):
    """Let the wavefront wait, in state VM_FULL or LGKM_FULL, as that counter cannot count another instruction."""
    m.cu.wave[w].state = state


@jit(inline=True)
def enter(m: Machine, t, w):
    """Put the wavefront, ready from cycle `t`, among those who want its next instruction's unit, or let it wait."""
    wave = m.cu.wave[w]
    if wave.ready_at > t:  # the instruction buffer does not hold it yet
        if wave.ready_at == NEVER:
            wave.state = FETCHING
        else:
            pause(m, w, wave.ready_at, FETCH)
        return
    word = code_word(m, w)
    # a scalar register that a vector instruction writes is there some cycles later (docs/reference/hazards.md)
    late = word >> RESULT_SHIFT
    if late and wave.scalar_result + late > t:
        _wait_for_scalar_result(m, w, wave.scalar_result + late)
        return
    unit = word & 15
    if (word >> ACTION_SHIFT) & ACTION_MASK == WAIT and not counters_allow(m, w, word):
        wave.state = WAITING
        return
    # with as many in flight as vmcnt or lgkmcnt can count the next one waits (GCN3 ISA manual, section 4.4)
    if (unit == VMEM) & (wave.vm_tail - wave.vm_head >= m.cu.vm_limit):  # one branch, in place of two
        _wait_for_a_count(m, w, VM_FULL)
        return
    if (unit == LDS or unit == SMEM or word & COUNTS_LGKM) and wave.lgkm >= MAX_IN_FLIGHT:
        _wait_for_a_count(m, w, LGKM_FULL)
        return
    wave.state = READY
    simd = w >> SIMD_BITS
    m.cu.simd[simd].want[unit] |= 1 << wave.rank
    m.cu.simd[simd].wanted |= 1 << unit
    wave.snapshot = cycles_short(m, taken_by(unit, w), t)


@jit(outline=True)
def released(m: Machine, now, w, reason):
    """Let the wavefront continue, as what it waited for has happened; its time so far is charged to `reason`."""
    account(m, w, now, reason)
    enter(m, now, w)
    wake_simd(m, now, w >> SIMD_BITS)


@jit(cold=True)
def _recheck_full(m: Machine, now, w, state):
    """Let a wavefront in state VM_FULL or LGKM_FULL continue if that counter has space, after one went down."""
    wave = m.cu.wave[w]
    if state == VM_FULL:
        space = m.cu.vm_limit - (wave.vm_tail - wave.vm_head)
    else:
        space = MAX_IN_FLIGHT - wave.lgkm
    if space > 0:
        released(m, now, w, THROTTLE)


@jit(inline=True)
def recheck(m: Machine, now, w):
    """Let the wavefront continue if it waits for one of its counters, one of which went down, and the wait is over."""
    wave = m.cu.wave[w]
    state = wave.state
    if state == WAITING:
        if counters_allow(m, w, code_word(m, w)):
            released(m, now, w, MEMORY)
    elif state == VM_FULL or state == LGKM_FULL:
        _recheck_full(m, now, w, state)


@jit
def open_slice(m: Machine, w):
    """Let the wavefront stand at the first instruction of its next slice; 0 on a fault."""
    wave = m.cu.wave[w]
    run = m.run
    if m.slices.ahead:
        if not enter_next_slice(m, w):
            return 0
    else:
        status = call_i64_4(run.produce, run.producer, w, 0, 0)
        if status < 0:
            run.fault = status
            return 0
    base = run.trace_base + wave.trace_offset
    flops = ld_i64(base, FLOPS)
    run.single_flops += flops & FLOPS_MASK
    run.double_flops += (flops >> FLOPS_BITS) & FLOPS_MASK
    run.half_flops += (flops >> 2 * FLOPS_BITS) & FLOPS_MASK
    segment = ld_i64(base, SEGMENT_0)
    wave.segment = 0
    wave.pc = segment & 0xFFFFFFFF
    wave.segment_end = segment >> 32
    wave.memory_word = MEMORY_0
    return 1


@jit(outline=True)
def begin_slices(m: Machine, w):
    """Open the first slice of a wavefront that may now issue, at the instruction that has been fetched; 0 on a fault.

    Meanwhile it could be made by another thread.
    """
    if not open_slice(m, w):
        return 0
    stand_in_granule(m, w)
    return 1


@jit(inline=True)
def step(m: Machine, w):
    """Go to the next instruction of the trace; 0 on a fault, JUMPED if a branch was taken, 1 if not."""
    wave = m.cu.wave[w]
    pc = wave.pc + 1
    if pc < wave.stop:
        wave.pc = pc
        return 1
    if pc < wave.segment_end:
        wave.pc = pc
    else:
        base = m.run.trace_base + wave.trace_offset
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
        next_granule(m, w)
    stand_in_granule(m, w)
    return 1


@jit(cold=True)
def _waited_for(m: Machine, now, w, pc):
    """Charge what the wavefront has waited since an answer came last to the instruction that is answered now."""
    wave = m.cu.wave[w]
    add(m, pc, WAITED, max(now - max(wave.waited_since, wave.mark), 0))  # its turn to issue is not over yet
    wave.waited_since = now


@jit(inline=True)
def lgkm_down(m: Machine, now, w, who):
    """Count an LDS or scalar memory instruction as done; who: what it was announced as, the instruction from WHO_PC."""
    wave = m.cu.wave[w]
    if m.access.table and (wave.state == WAITING or wave.state == LGKM_FULL):
        if wave.state == LGKM_FULL or wave.lgkm > (code_word(m, w) >> LGKM_SHIFT) & LGKM_MASK:
            _waited_for(m, now, w, who >> WHO_PC)
    wave.lgkm -= 1


@jit(outline=True)
def vm_answered(m: Machine, now, cu, token):
    """Take an answer for the vector memory instruction `token`; instructions leave vmcnt in order."""
    if m.timeline.on:
        record(m, RETURNED, cu, token, 0)
    w = cu * SLOTS + (token & (SLOTS - 1))
    wave = m.cu.wave[w]
    if (token >> TOKEN_GENERATION_SHIFT) & 0xFF != wave.generation:
        return
    e = (token >> TOKEN_ENTRY_SHIFT) & (VM_ENTRIES - 1)
    left = wave.vm_left[e] - 1
    changed = 0
    flat = 0
    before = wave.vm_tail - wave.vm_head
    if left == FLAT_ENTRY:
        left = 0
        flat = 1
        wave.lgkm -= 1
        changed = 1
    wave.vm_left[e] = left
    h = wave.vm_head
    if left == 0 and (h & (VM_ENTRIES - 1)) == e:
        t = wave.vm_tail
        while h < t and wave.vm_left[h & (VM_ENTRIES - 1)] == 0:
            h += 1
        wave.vm_head = h
        changed = 1
    if changed:
        if m.access.table and (wave.state == WAITING or wave.state == VM_FULL):
            if wave.state == VM_FULL or flat or before > (code_word(m, w) >> VM_SHIFT) & VM_MASK:
                _waited_for(m, now, w, np.int64(wave.vm_pc[e]))
        recheck(m, now, w)


@jit
def release_barrier(m: Machine, now, cu, slot):
    """Release the workgroup's wavefronts from the barrier, at which all that have not ended have arrived."""
    m.cu.wg_arrived[cu, slot] = 0
    for number in range(m.cu.wg_size[cu, slot]):
        x = cu * SLOTS + m.cu.wg_slot[cu, slot, number]
        if m.cu.wave[x].state == AT_BARRIER and m.cu.wave[x].workgroup == slot:
            t = max(now + 1, m.cu.wave[x].mark)
            account(m, x, t, SYNCHRONIZATION)
            if not step(m, x):
                return
            released(m, t, x, SYNCHRONIZATION)


@jit(cold=True)
def release_grid_barrier(m: Machine, now, resource):
    """Release from a barrier of the grid all wavefronts that wait there.

    The answer takes as long as one of the LDS: of the global data share no figure is published.
    """
    m.cu.grid_arrived[resource] = 0
    for x in range(m.cu.cus * SLOTS):
        if m.cu.grid_at[x] == resource + 1:
            m.cu.grid_at[x] = 0
            t = max(now + 1, m.cu.wave[x].mark)
            account(m, x, t, SYNCHRONIZATION)
            if not step(m, x):
                return
            pause(m, x, t + m.cu.lds_latency, SYNCHRONIZATION)
