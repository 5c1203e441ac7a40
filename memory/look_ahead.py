"""Looking ahead in a CU's queue of vector memory instructions while look-up waits for a translation.

One page a cycle, in the order in which look-up will need them, at most as many as the L1 TLB has MSHRs: so the misses
of one instruction's pages, and of the instructions behind it, overlap.
"""

from gpusim.jit import jit, seldom
from isa.trace import LINES_MASK, RECORD_ATOMIC, RECORD_STORE
from memory.cache_fields import VECTOR_QUEUE
from memory.translation import ask_ahead, page_of
from memory.wheel import CU_MEMORY, wake


@jit
def look_ahead(m, now, cu, waited_for):
    """Ask for the next page behind those already looked at; look-up waits for the page `waited_for`."""
    seldom()
    l1 = m.l1
    behind = l1.ahead[cu]
    position = l1.ahead_position[cu]
    if behind == 0 and position <= l1.q_position[cu]:
        position = l1.q_position[cu] + 1
        l1.ahead_page[cu] = waited_for
    page = l1.ahead_page[cu]
    found = 0
    while behind < l1.q_count[cu] and not found:
        q = (l1.q_head[cu] + behind) & (VECTOR_QUEUE - 1)
        header = l1.q_header[cu, q]
        stride = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
        while position < header & LINES_MASK:
            page = page_of(m, l1.q_words[cu, q, stride * position])
            if page != l1.ahead_page[cu]:
                found = 1
                break
            position += 1
        if not found:
            behind += 1
            position = 0
    if found and ask_ahead(m, now, cu, page):
        l1.ahead_page[cu] = page
        position += 1
        wake(m, CU_MEMORY, now + 1, cu)
    l1.ahead[cu] = behind
    l1.ahead_position[cu] = position
