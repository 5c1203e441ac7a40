"""The L2 TLB: it looks requests up, round robin over the L1 TLBs, and has its misses walked for."""

from gpusim.base.jit import Machine, address_in, ctz, jit, st_i32
from memory.parts import owner_of, record_of
from memory.sets.replacement import find_victim, on_hit, on_insert
from memory.sets.rows import next_order, way_of
from memory.translation.l1_tlb import answer, wake_users
from memory.translation.spec import MAX_PORT_QUEUE
from memory.translation.state import MAX_TLBS, TLB_WORDS
from memory.translation.walks import end_walk, walk_for
from memory.unit_classes import TRANSLATION
from memory.waiting import TLB_REQUEST, freed
from memory.wheel import wake, wake_at


@jit
def _l2_row(m: Machine, page):
    t = m.translation
    return address_in(t.l2_rows, 2 * (page & (t.l2_sets - 1)) * t.l2_stride)


@jit
def _next_l2_order(m: Machine):
    t = m.translation
    t.l2_order = next_order(t.l2_order, address_in(t.l2_rows, 0), t.l2_sets, t.l2_stride)
    return t.l2_order


@jit
def _fill_l2(m: Machine, page):
    t = m.translation
    row = _l2_row(m, page)
    way = find_victim(t.l2_replacement, row, t.l2_stride, t.l2_ways, t.l2_order)
    st_i32(row, way, page)
    on_insert(t.l2_replacement, row, t.l2_stride, t.l2_ways, way, _next_l2_order(m))


@jit
def _next_port(m: Machine, now):
    """Return the L1 TLB whose oldest request the L2 TLB looks up next, round robin, or -1."""
    t = m.translation
    low = (1 << (t.next_tlb & 31)) - 1
    for step in range(TLB_WORDS + 1):
        word = (t.next_tlb >> 5) + step
        if word >= TLB_WORDS:
            word -= TLB_WORDS
        bits = t.asking[word]
        for part in range(1, 1 + m.parts.others):
            bits |= record_of(m, part).translation.asking[word]
        if step == 0:
            bits &= ~low
        elif step == TLB_WORDS:
            bits &= low
        while bits:
            tlb = word * 32 + ctz(bits)
            of = owner_of(m, tlb).translation
            if of.r_seen[tlb, of.r_head[tlb]] <= now:
                return tlb
            bits &= bits - 1
    return -1


@jit
def _look_up(m: Machine, now, tlb, page):
    """Look a request up in the L2 TLB; returns 0 if it needs a walk and no further one can start."""
    t = m.translation
    row = _l2_row(m, page)
    way = way_of(row, t.l2_stride, page)
    if way >= 0:
        on_hit(t.l2_replacement, row, t.l2_stride, t.l2_ways, way, _next_l2_order(m))
        t.l2_hits += 1
        answer(m, now + t.latency, tlb, page)
        return 1
    return walk_for(m, now, tlb, page)


@jit(outline=True)
def translation_tick(m: Machine, now):
    """Run a cycle of the L2 TLB and the walkers, unless they are held."""
    if m.parts.held == 0 and run_l2_tlb(m, now):
        wake_at(m, TRANSLATION, now + 1, 0)


@jit
def is_l2_tlb_due(m: Machine, now):
    """Tell whether the L2 TLB has something to do in a cycle."""
    t = m.translation
    return (t.w_count and t.w_done[t.w_head] <= now) or _next_port(m, now) >= 0


@jit(outline=True)
def run_l2_tlb(m: Machine, now):
    """Do what the L2 TLB and the walkers do in a cycle: walks that are done, then look-ups of earlier requests.

    Returns 1 if it is to look again in the next cycle.
    """
    t = m.translation
    again = 0
    while t.w_count and t.w_done[t.w_head] <= now:
        _fill_l2(m, t.w_page[t.w_head])
        end_walk(m, now)
    for _ in range(t.l2_ports):
        tlb = _next_port(m, now)
        if tlb < 0:
            break
        owner = owner_of(m, tlb)
        of = owner.translation
        if not _look_up(m, now, tlb, of.r_page[tlb, of.r_head[tlb]]):
            break
        n = of.r_count[tlb]
        of.r_head[tlb] = (of.r_head[tlb] + 1) & (MAX_PORT_QUEUE - 1)
        of.r_count[tlb] = n - 1
        t.next_tlb = tlb + 1 if tlb + 1 < MAX_TLBS else 0
        if n == 1:
            of.asking[tlb >> 5] &= ~(1 << (tlb & 31))
        if n == t.port_limit and freed(owner, TLB_REQUEST + tlb):
            wake_users(owner, now, tlb)
        again = 1
    if t.w_count:
        wake(m, TRANSLATION, t.w_done[t.w_head], 0)
    return again
