"""The CUs' side of the crossbar on two threads, each with shader arrays of its own, equal to the bit to one.

A machine record and its part (`memory.parts`) run windows side by side while nothing in one can be noticed in the other
before the window's end:

- What crosses the crossbar takes longer. The L2 TLB answers after longer, too: it looks requests up when both have come
  to their cycle. A record that asks it runs no further cycle of the window, as the port's slots may be full.
- No wavefront ends in it, so that the dispatcher places none, and none enters a slice that is not made, or has a fault:
  how many instructions are left of slices says before which cycle that cannot be (`_first_trouble`).
- What is counted in an order, and slices that are asked for, is noted with its cycle, and put in order at the end.

Other windows one thread runs for both records, cycle by cycle (`run_in_step`).
"""

from gpusim.base.jit import Machine, address_in, jit, ld_i64
from gpusim.model.core.cu.dispatch import place_workgroups
from gpusim.model.core.cu.slices import CACHES, await_word, put_in_queue
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import (
    CU_WORDS,
    NEVER,
    PAUSED,
    SIMDS_BITS,
    SLOT_TRACE_BYTES,
    TRACE_BYTES,
    TURN_CYCLES,
)
from gpusim.model.core.cu.wave import NOT_OPEN, wave_of
from gpusim.model.core.run_units import run_near_units
from isa.trace import END, INSTRUCTIONS, SEGMENT_0, SEGMENTS, STATUS
from memory.cache.access import count_lines
from memory.parts import machine_at, note_orders, takes_dispatches
from memory.translation.l2_tlb import is_l2_tlb_due, run_l2_tlb
from memory.translation.state import TLB_WORDS
from memory.unit_classes import DISPATCH, TRANSLATION
from memory.waiting import CU_SPACE, freed, wait_for
from memory.wheel import SIZE, wake_at

FAR_OFF = 256  # instructions left of a slice, from which on they are not counted


@jit
def _left_of_slice(m: Machine, w):
    """Return how many instructions are left of the wavefront's slice, its next one included; FAR_OFF or more: many."""
    wave = m.cu.wave[w]
    base = m.run.trace_base + wave.trace_offset
    left = wave.segment_end - wave.pc
    segments = ld_i64(base, SEGMENTS)
    s = wave.segment + 1
    while s < segments and left < FAR_OFF:
        segment = ld_i64(base, SEGMENT_0 + s)
        left += (segment >> 32) - (segment & 0xFFFFFFFF)
        s += 1
    return left


@jit
def _first_trouble_of(m: Machine, main, now, end, w):
    """Return a cycle before which the wavefront neither ends nor enters a slice that may not be entered.

    A cycle from `end` on says nothing of later ones.
    """
    wave = m.cu.wave[w]
    of = machine_at(main, 0)
    first = w * SLOT_TRACE_BYTES
    next_trace = first + TRACE_BYTES if wave.trace_offset == first else first
    comes = max(now, wave.resume) if wave.state == PAUSED else now
    if wave.segment != NOT_OPEN:
        comes += TURN_CYCLES * (_left_of_slice(m, w) - 1)
        if comes >= end or ld_i64(m.run.trace_base + wave.trace_offset, STATUS) == END:
            return comes
    elif comes >= end:
        return comes
    number = m.slices.number[w]
    if number == 0:
        return NEVER  # it waits at a barrier for one that has not entered its slice before it
    await_word(of, address_in(of.slices.made, 0), number, CACHES)
    if ld_i64(m.run.trace_base + next_trace, STATUS) < 0:
        return comes
    return comes + TURN_CYCLES * (ld_i64(m.run.trace_base + next_trace, INSTRUCTIONS) - 1)


@jit
def _first_trouble(m: Machine, main, now, end, first_cu, end_cu):
    """Return a cycle before which no wavefront of the record does what only both together can."""
    earliest = NEVER
    for cu in range(first_cu, end_cu):
        bound = m.slices.bound[cu]
        if bound < end:
            bound = NEVER
            for simd in range(cu << SIMDS_BITS, (cu << SIMDS_BITS) + SIMDS):
                for rank in range(m.cu.simd[simd].resident):
                    bound = min(bound, _first_trouble_of(m, main, now, end, wave_of(m, simd, rank)))
            m.slices.bound[cu] = bound
        earliest = min(earliest, bound)
    return earliest


@jit
def _dispatcher_runs(m: Machine, now, end):
    """Tell whether the dispatcher is to run in one of some cycles."""
    for t in range(now, end):
        if m.wheel.row[t & (SIZE - 1), DISPATCH]:
            return 1
    return 0


@jit(outline=True)
def divided_until(m: Machine, now, end):
    """Return the cycle before which a machine and its part may run side by side from cycle `now` on, at most `end`."""
    p = machine_at(m.parts.part, 0)
    main = p.parts.main
    t = m.translation
    if t.w_count and t.w_done[t.w_head] < end:
        return now
    for word in range(TLB_WORDS):
        if t.asking[word] | p.translation.asking[word]:
            return now
    if m.run.next_workgroup < m.run.workgroups and _dispatcher_runs(m, now, end):
        return now
    end = min(end, _first_trouble(m, main, now, end, 0, m.parts.first_cu))
    return min(end, _first_trouble(p, main, now, end, m.parts.first_cu, m.cu.cus)) if end > now else now


@jit
def _put_in_order(m: Machine):
    """Put what both records have noted in the order of cycles; in one, the main record's units come first."""
    p = machine_at(m.parts.part, 0)
    i = 0
    j = 0
    while i < m.access.noted or j < p.access.noted:
        if j == p.access.noted or (i < m.access.noted and m.access.note[i, 0] <= p.access.note[j, 0]):
            count_lines(m, m.access.note[i, 1], m.access.note[i, 2])
            i += 1
        else:
            count_lines(m, p.access.note[j, 1], p.access.note[j, 2])
            j += 1
    m.access.noted = 0
    p.access.noted = 0
    i = 0
    j = 0
    while i < m.slices.noted or j < p.slices.noted:
        if j == p.slices.noted or (i < m.slices.noted and m.slices.note[i, 0] <= p.slices.note[j, 0]):
            entry = m.slices.note[i, 1]
            m.slices.number[entry >> 2] = put_in_queue(m, entry)
            i += 1
        else:
            entry = p.slices.note[j, 1]
            p.slices.number[entry >> 2] = put_in_queue(m, entry)
            j += 1
    m.slices.noted = 0
    p.slices.noted = 0


@jit
def _run_dispatcher(m: Machine, now):
    """Run the dispatcher after both records have run a cycle, if one of them has woken it."""
    p = machine_at(m.parts.part, 0)
    wanted = takes_dispatches(m)
    if takes_dispatches(p):
        freed(m, CU_SPACE)
    elif not wanted:
        return
    for word in range(CU_WORDS):
        m.run.may_have_space[word] |= p.run.may_have_space[word]
        p.run.may_have_space[word] = 0
    m.wheel.running = DISPATCH
    p.wheel.running = DISPATCH
    place_workgroups(m, now)
    m.wheel.running = -1
    p.wheel.running = -1
    wait_for(p, CU_SPACE, 0)  # whatever comes free there is told


@jit(outline=True)
def run_in_step(m: Machine, now, part_now, end):
    """Run both records up to cycle `end`, cycle by cycle, the main one from `now` and its part from `part_now` on.

    Returns the cycle after the last one: a fault, or the end of the last workgroup, comes before `end`.
    """
    p = machine_at(m.parts.part, 0)
    both_from = max(now, part_now)
    t = min(now, part_now)
    while t < end:
        m.wheel.now = max(m.wheel.now, t)
        p.wheel.now = max(p.wheel.now, t)
        if is_l2_tlb_due(m, t):
            m.wheel.running = TRANSLATION
            p.wheel.running = TRANSLATION
            m.wheel.active = max(m.wheel.active, t)
            if run_l2_tlb(m, t):
                if t + 1 >= now:
                    wake_at(m, TRANSLATION, t + 1, 0)
                else:
                    m.wheel.active = max(m.wheel.active, t + 1)  # it has run that cycle already
            m.wheel.running = -1
            p.wheel.running = -1
        if t >= now:
            run_near_units(m, t, t + 1)
        if t >= part_now:
            run_near_units(p, t, t + 1)
        if t >= both_from:
            if p.run.fault:
                m.run.fault = p.run.fault
            _run_dispatcher(m, t)
            if m.run.fault or m.run.done + p.run.done == m.run.workgroups:
                return t + 1
        t += 1
    return end


@jit
def begin_window(m: Machine):
    """Prepare both records for a window that they run side by side."""
    p = machine_at(m.parts.part, 0)
    note_orders(m, 1)
    note_orders(p, 1)


@jit
def finish_window(m: Machine, now, part_now, end):
    """Finish a window that both records have run side by side, up to the cycles to which they came."""
    p = machine_at(m.parts.part, 0)
    if min(now, part_now) < end:
        run_in_step(m, now, part_now, end)
    _put_in_order(m)
    note_orders(m, 0)
    note_orders(p, 0)
