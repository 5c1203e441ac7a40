"""L1 TLBs, and what the first-level caches ask of them: may this line be looked up now?"""

from gpusim.base.jit import Machine, address_in, jit, st_i32
from isa.trace import LINE_ADDRESS_MASK
from memory.network.state import MAX_ARRAYS, MAX_CUS
from memory.parts import owner_of, stop_if_divided
from memory.sets.replacement import find_victim, on_hit, on_insert
from memory.sets.rows import next_order, way_of
from memory.translation.spec import MAX_PORT_QUEUE
from memory.translation.state import FIRST_INSTRUCTION_USER
from memory.unit_classes import CU_LOOK_UP, FETCH, SCALAR
from memory.unit_classes import TRANSLATION as TRANSLATION_CLASS
from memory.waiting import (
    INSTRUCTIONS,
    LOOK_UP,
    TLB_REQUEST,
    TRANSLATION,
    UNTIL_FREED,
    freed,
    is_short,
    no_longer_short,
    short,
    short_since,
    wait_for,
)
from memory.wheel import wake, wake_at

ON_ITS_WAY, ASKED = 1, 2


@jit
def wake_users(m: Machine, t, tlb):
    """Let the units that use an L1 TLB run in cycle `t`."""
    if tlb < MAX_CUS:
        wake(m, CU_LOOK_UP, t, tlb)
    else:
        wake(m, SCALAR, t, tlb - MAX_CUS)
        wake(m, FETCH, t, tlb - MAX_CUS)


@jit
def _l1_row(m: Machine, tlb):
    """Return the address of the only row of an L1 TLB, which is fully associative."""
    t = m.translation
    return address_in(t.l1_rows, 2 * tlb * t.l1_stride)


@jit
def _next_l1_order(m: Machine, tlb):
    t = m.translation
    t.l1_order[tlb] = next_order(t.l1_order[tlb], _l1_row(m, tlb), 1, t.l1_stride)
    return t.l1_order[tlb]


@jit
def _fill_l1(m: Machine, tlb, page):
    t = m.translation
    row = _l1_row(m, tlb)
    way = find_victim(t.l1_replacement, row, t.l1_stride, t.l1_entries, t.l1_order[tlb])
    st_i32(row, way, page)
    on_insert(t.l1_replacement, row, t.l1_stride, t.l1_entries, way, _next_l1_order(m, tlb))


@jit
def _request(m: Machine, now, tlb, page, waiter):
    """Ask the L2 TLB for a page.

    Returns ASKED, ON_ITS_WAY if that was done before, or 0 without an MSHR or a slot of the queue, for one of which the
    waiter then waits.
    """
    t = m.translation
    free = -1
    for k in range(t.l1_mshrs):
        if t.m_page[tlb, k] == page:
            return ON_ITS_WAY
        if t.m_page[tlb, k] < 0:
            free = k
    if free < 0 or t.r_count[tlb] >= t.port_limit:
        wait_for(m, TLB_REQUEST + tlb, waiter)
        return 0
    t.m_page[tlb, free] = page
    t.m_sent[tlb, free] = now
    t.requests += 1
    if t.ideal:
        t.l2_hits += 1
        t.m_ready[tlb, free] = now + t.latency
        t.answered[tlb] += 1
        wake_users(m, now + t.latency, tlb)
    else:
        q = (t.r_head[tlb] + t.r_count[tlb]) & (MAX_PORT_QUEUE - 1)
        t.r_page[tlb, q] = page
        t.r_seen[tlb, q] = now + 1
        t.r_count[tlb] += 1
        t.asking[tlb >> 5] |= 1 << (tlb & 31)
        wake_at(m, TRANSLATION_CLASS, now + 1, 0)
        stop_if_divided(m)
    return ASKED


@jit
def _looks_for(m: Machine, now, user):
    """Note that the user's look-up has come to another page, whose translation it waits for."""
    short(m, TRANSLATION + user, now, UNTIL_FREED)
    wait_for(m, TRANSLATION + user, LOOK_UP)


@jit
def _found(m: Machine, t, user):
    """Note that the translation that the user waits for is there in cycle `t`, and end the wait."""
    m.translation.stall_cycles += t - short_since(m, TRANSLATION + user)
    no_longer_short(m, t, TRANSLATION + user)
    freed(m, TRANSLATION + user)  # who waited is the one that found it


@jit
def _take_answers(m: Machine, now, tlb):
    """Fill an L1 TLB with the answers that are there, in the order in which they came."""
    t = m.translation
    while True:
        k = -1
        for other in range(t.l1_mshrs):
            ready = t.m_ready[tlb, other]
            if 0 <= ready <= now and (k < 0 or ready < t.m_ready[tlb, k]):
                k = other
        if k < 0:
            return
        page = t.m_page[tlb, k]
        ready = t.m_ready[tlb, k]
        _fill_l1(m, tlb, page)
        t.m_page[tlb, k] = -1
        t.m_ready[tlb, k] = -1
        t.answered[tlb] -= 1
        t.answers += 1
        t.request_latency += ready - t.m_sent[tlb, k]
        freed(m, TLB_REQUEST + tlb)  # its users were woken for this answer: none has to be woken for the MSHR
        for user in (tlb, tlb + MAX_ARRAYS):
            if (user == tlb or tlb >= MAX_CUS) and t.wait[user] == page:
                t.wait[user] = -1
                t.last[user] = page
                _found(m, ready, user)


@jit(outline=True)
def translate(m: Machine, now, user, page):
    """Do what `translated` does for another page than the user's last."""
    t = m.translation
    tlb = user if user < FIRST_INSTRUCTION_USER else user - MAX_ARRAYS
    if t.answered[tlb]:
        _take_answers(m, now, tlb)
        if t.last[user] == page:
            return 1
    if not is_short(m, TRANSLATION + user):
        _looks_for(m, now, user)
        t.lookups += 1
        if t.ahead[user]:
            t.ahead[user] -= 1
    if t.wait[user] >= 0:
        return 0
    row = _l1_row(m, tlb)
    way = way_of(row, t.l1_stride, page)
    if way < 0:
        asked = _request(m, now, tlb, page, LOOK_UP if user == tlb else INSTRUCTIONS)
        if asked:
            t.wait[user] = page
            if asked == ASKED:
                t.misses += 1
            else:
                t.merges += 1
        return 0
    t.hits += 1
    on_hit(t.l1_replacement, row, t.l1_stride, t.l1_entries, way, _next_l1_order(m, tlb))
    t.last[user] = page
    _found(m, now, user)
    return 1


@jit
def page_of(m: Machine, line):
    """Return the page of a line; a sparse line's is that of its address."""
    return (line & LINE_ADDRESS_MASK) >> m.translation.page_bits


@jit(inline=True)
def translated(m: Machine, now, user, line):
    """Return 1 if `user` may look the line up now; if not, 0, and its translation is asked for and the user woken."""
    page = page_of(m, line)
    if page == m.translation.last[user]:
        return 1
    return translate(m, now, user, page)


@jit
def ask_ahead(m: Machine, now, tlb, page):
    """Ask for a page that a vector L1's look-up will come to; returns 0 if that must wait."""
    t = m.translation
    if t.ahead[tlb] >= t.l1_mshrs:
        return 0
    if way_of(_l1_row(m, tlb), t.l1_stride, page) < 0:
        asked = _request(m, now, tlb, page, LOOK_UP)
        if not asked:
            return 0
        if asked == ASKED:
            t.early += 1
    t.ahead[tlb] += 1
    return 1


@jit
def answer(m: Machine, t, tlb, page):
    """Pass an answer of the L2 TLB to an L1 TLB, which may use the page from cycle `t` on."""
    of = owner_of(m, tlb)
    for k in range(m.translation.l1_mshrs):
        if of.translation.m_page[tlb, k] == page:
            of.translation.m_ready[tlb, k] = t
    of.translation.answered[tlb] += 1
    wake_users(of, t, tlb)
