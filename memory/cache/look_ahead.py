"""Looking ahead in a CU's queue of vector memory instructions while look-up waits for a translation.

One page a cycle, in the order in which look-up will need them, at most as many as the L1 TLB has MSHRs: so the misses
of one instruction's pages, and of the instructions after it, overlap.
"""

from gpusim.jit import jit
from isa.trace import LINES_MASK, RECORD_ATOMIC, RECORD_STORE
from memory.cache.l1_state import MAX_QUEUE
from memory.translation.l1_tlb import ask_ahead, page_of
from memory.unit_classes import CU_LOOK_UP
from memory.wheel import wake_at


@jit(cold=True)
def look_ahead(m, now, cu, waited_for):
    """Ask for the next page after those already looked at; look-up waits for the page `waited_for`."""
    cache = m.l1.unit[cu]
    instruction = cache.ahead
    position = cache.ahead_position
    if instruction == 0 and position <= cache.q_position:
        position = cache.q_position + 1
        cache.ahead_page = waited_for
    page = cache.ahead_page
    found = 0
    while instruction < cache.q_count and not found:
        q = (cache.q_head + instruction) & (MAX_QUEUE - 1)
        header = cache.queue[q].header
        stride = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
        while position < header & LINES_MASK:
            page = page_of(m, cache.q_words[cache.queue[q].words + stride * position])
            if page != cache.ahead_page:
                found = 1
                break
            position += 1
        if not found:
            instruction += 1
            position = 0
    if found and ask_ahead(m, now, cu, page):
        cache.ahead_page = page
        position += 1
        wake_at(m, CU_LOOK_UP, now + 1, cu)
    cache.ahead = instruction
    cache.ahead_position = position
