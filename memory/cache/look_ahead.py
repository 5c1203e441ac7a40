"""Looking ahead in a CU's queue of vector memory instructions while look-up waits for a translation.

One page a cycle, in the order in which look-up will need them, at most as many as the L1 TLB has MSHRs: so the misses
of one instruction's pages, and of the instructions behind it, overlap.
"""

from gpusim.jit import jit
from isa.trace import LINES_MASK, RECORD_ATOMIC, RECORD_STORE
from memory.cache.fields import VECTOR_QUEUE
from memory.translation.tlb import ask_ahead, page_of
from memory.wheel import CU_LOOK_UP, wake_at


@jit(cold=True)
def look_ahead(m, now, cu, waited_for):
    """Ask for the next page behind those already looked at; look-up waits for the page `waited_for`."""
    u = m.l1.unit[cu]
    behind = u.ahead
    position = u.ahead_position
    if behind == 0 and position <= u.q_position:
        position = u.q_position + 1
        u.ahead_page = waited_for
    page = u.ahead_page
    found = 0
    while behind < u.q_count and not found:
        q = (u.q_head + behind) & (VECTOR_QUEUE - 1)
        header = u.queue[q].header
        stride = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
        while position < header & LINES_MASK:
            page = page_of(m, u.q_words[u.queue[q].words + stride * position])
            if page != u.ahead_page:
                found = 1
                break
            position += 1
        if not found:
            behind += 1
            position = 0
    if found and ask_ahead(m, now, cu, page):
        u.ahead_page = page
        position += 1
        wake_at(m, CU_LOOK_UP, now + 1, cu)
    u.ahead = behind
    u.ahead_position = position
