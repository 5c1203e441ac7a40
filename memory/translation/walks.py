"""Page walks: the L2 TLB's misses, oldest first, each with the L1 TLBs that wait for its page."""

from gpusim.base.jit import Machine, ctz, jit
from memory.translation.l1_tlb import answer
from memory.translation.spec import MAX_WALKS
from memory.translation.state import TLB_WORDS
from memory.waiting import LOOK_UP, PAGE_WALK, freed, wait_for


@jit
def walk_for(m: Machine, now, tlb, page):
    """Let an L1 TLB wait for the page's walk, begun if there is none; returns 0 where too many are under way."""
    t = m.translation
    n = t.w_count
    q = -1
    for k in range(n):
        if t.w_page[(t.w_head + k) & (MAX_WALKS - 1)] == page:
            q = (t.w_head + k) & (MAX_WALKS - 1)
            t.l2_merges += 1
    if q < 0:
        if n >= t.walk_limit:
            wait_for(m, PAGE_WALK, LOOK_UP)
            return 0
        q = (t.w_head + n) & (MAX_WALKS - 1)
        done = max(now + t.latency, t.walker_free[t.walker_next]) + t.walk_cycles
        t.walker_free[t.walker_next] = done
        t.walker_next = (t.walker_next + 1) % t.walkers
        t.w_page[q] = page
        t.w_done[q] = done
        t.w_count = n + 1
        t.walks += 1
    t.w_tlbs[q, tlb >> 5] |= 1 << (tlb & 31)
    return 1


@jit
def end_walk(m: Machine, now):
    """Answer the L1 TLBs that wait for the page of the oldest walk, which is done."""
    t = m.translation
    h = t.w_head
    page = t.w_page[h]
    for word in range(TLB_WORDS):
        bits = t.w_tlbs[h, word]
        t.w_tlbs[h, word] = 0
        while bits:
            answer(m, now, word * 32 + ctz(bits), page)
            bits &= bits - 1
    t.w_head = (h + 1) & (MAX_WALKS - 1)
    t.w_count -= 1
    freed(m, PAGE_WALK)  # look-ups follow in this cycle: nobody has to be woken
