"""The CUs' side of the crossbar on several threads, each with shader arrays of its own, equal to the bit to one.

A machine record and its parts (`memory.parts`) run windows side by side while nothing in one can be noticed in another
before the window's end:

- What crosses the crossbar takes longer. The L2 TLB answers after longer, too: it looks requests up when all have come
  to their cycle. A record that asks it runs no further cycle of the window, as the port's slots may be full.
- No wavefront ends in it, so that the dispatcher places none, and none enters a slice that is not made, or has a fault:
  how many instructions are left of slices says before which cycle that cannot be (`_first_trouble`).
- What is counted in an order, and slices that are asked for, is noted with its cycle, and put in order at the end.

Other windows one thread runs for all records, cycle by cycle (`run_in_step`).
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
from memory.parts import come_to, main_of, note_orders, record_of, takes_dispatches
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
def _first_trouble_of(m: Machine, now, end, w):
    """Return a cycle before which the wavefront neither ends nor enters a slice that may not be entered.

    A cycle from `end` on says nothing of later ones.
    """
    wave = m.cu.wave[w]
    main = main_of(m)
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
    await_word(main, address_in(main.slices.made, 0), number, CACHES)
    if ld_i64(m.run.trace_base + next_trace, STATUS) < 0:
        return comes
    return comes + TURN_CYCLES * (ld_i64(m.run.trace_base + next_trace, INSTRUCTIONS) - 1)


@jit
def _first_trouble(m: Machine, now, end):
    """Return a cycle before which no wavefront of the record does what only all records together can."""
    earliest = NEVER
    for cu in range(m.parts.first_cu, m.parts.end_cu):
        bound = m.slices.bound[cu]
        if bound < end:
            bound = NEVER
            for simd in range(cu << SIMDS_BITS, (cu << SIMDS_BITS) + SIMDS):
                for rank in range(m.cu.simd[simd].resident):
                    bound = min(bound, _first_trouble_of(m, now, end, wave_of(m, simd, rank)))
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
    """Return the cycle before which a machine and its parts may run side by side from cycle `now` on, at most `end`."""
    t = m.translation
    if t.w_count and t.w_done[t.w_head] < end:
        return now
    for number in range(1 + m.parts.others):
        of = record_of(m, number).translation
        for word in range(TLB_WORDS):
            if of.asking[word]:
                return now
    if m.run.next_workgroup < m.run.workgroups and _dispatcher_runs(m, now, end):
        return now
    for number in range(1 + m.parts.others):
        end = min(end, _first_trouble(record_of(m, number), now, end))
        if end <= now:
            return now
    return end


@jit
def _put_in_order(m: Machine, first, end):
    """Put what records have noted in some cycles in the order of cycles; in one, of records."""
    for t in range(first, end):
        for number in range(1 + m.parts.others):
            of = record_of(m, number)
            at = of.access.ordered
            while at < of.access.noted and of.access.note[at, 0] == t:
                count_lines(m, of.access.note[at, 1], of.access.note[at, 2])
                at += 1
            of.access.ordered = at
            at = of.slices.ordered
            while at < of.slices.noted and of.slices.note[at, 0] == t:
                entry = of.slices.note[at, 1]
                of.slices.number[entry >> 2] = put_in_queue(m, entry)
                at += 1
            of.slices.ordered = at


@jit
def _run_dispatcher(m: Machine, now):
    """Run the dispatcher after all records have run a cycle, if one of them has woken it."""
    wanted = takes_dispatches(m)
    for number in range(1, 1 + m.parts.others):
        if takes_dispatches(record_of(m, number)):
            freed(m, CU_SPACE)
            wanted = True
    if not wanted:
        return
    for number in range(1 + m.parts.others):
        of = record_of(m, number)
        of.wheel.running = DISPATCH
        if number:
            for word in range(CU_WORDS):
                m.run.may_have_space[word] |= of.run.may_have_space[word]
                of.run.may_have_space[word] = 0
    place_workgroups(m, now)
    for number in range(1 + m.parts.others):
        of = record_of(m, number)
        of.wheel.running = -1
        if number:
            wait_for(of, CU_SPACE, 0)  # whatever comes free there is told


@jit
def _run_l2_tlb(m: Machine, now):
    """Run the L2 TLB in a cycle, which the main record may have run already."""
    for number in range(1 + m.parts.others):
        record_of(m, number).wheel.running = TRANSLATION
    m.wheel.active = max(m.wheel.active, now)
    if run_l2_tlb(m, now):
        if now + 1 >= m.parts.came:
            wake_at(m, TRANSLATION, now + 1, 0)
        else:
            m.wheel.active = max(m.wheel.active, now + 1)
    for number in range(1 + m.parts.others):
        record_of(m, number).wheel.running = -1


@jit(outline=True)
def run_in_step(m: Machine, end):
    """Run all records from the cycles to which they have come up to cycle `end`, cycle by cycle.

    Returns the cycle after the last one: a fault, or the end of the last workgroup, comes before `end`.
    """
    t = m.parts.came
    all_from = t
    for number in range(1, 1 + m.parts.others):
        came = record_of(m, number).parts.came
        t = min(t, came)
        all_from = max(all_from, came)
    while t < end:
        for number in range(1 + m.parts.others):
            wheel = record_of(m, number).wheel
            wheel.now = max(wheel.now, t)
        if is_l2_tlb_due(m, t):
            _run_l2_tlb(m, t)
        done = 0
        for number in range(1 + m.parts.others):
            of = record_of(m, number)
            if t >= of.parts.came:
                run_near_units(of, t, t + 1)
            if t >= all_from and of.run.fault:
                m.run.fault = of.run.fault
            done += of.run.done
        if t >= all_from:
            _run_dispatcher(m, t)
            if m.run.fault or done == m.run.workgroups:
                return t + 1
        t += 1
    return end


@jit
def begin_window(m: Machine, now, is_apart):
    """Prepare all records for a window that they run side by side (1), or in step (0)."""
    for number in range(1 + m.parts.others):
        of = record_of(m, number)
        note_orders(of, is_apart)
        come_to(of, now)


@jit
def finish_window(m: Machine, first, end):
    """Finish a window that all records have run side by side, up to the cycles to which they came."""
    least = end
    for number in range(1 + m.parts.others):
        least = min(least, record_of(m, number).parts.came)
    if least < end:
        run_in_step(m, end)
    _put_in_order(m, first, end)
    for number in range(1 + m.parts.others):
        of = record_of(m, number)
        note_orders(of, 0)
        of.access.noted = of.access.ordered = 0
        of.slices.noted = of.slices.ordered = 0
