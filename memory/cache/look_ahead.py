"""Looking ahead in a CU's queue of vector memory instructions for the pages that look-up will come to.

As in hardware, translations are looked up ahead of tags while those wait, but lines come to the tags in their order:
the UTCL1 of later parts has a FIFO that hides the UTCL2's latency, counts misses under misses, and stands still while
the translation of the FIFO's oldest line is not there (AMD, *MI350 Series performance counters*: TCP_UTCL1_LFIFO_FULL,
TCP_UTCL1_TRANSLATION_MISS_UNDER_MISS, TCP_UTCL1_STALL_LFIFO_NOT_RES). Here the instructions queued at the L1 are that
FIFO. One page a cycle is looked ahead for while look-up waits, then one for each that it comes to, at most as many as
the L1 TLB has MSHRs.
"""

from gpusim.base.jit import Machine, jit
from isa.trace import LINES_MASK, RECORD_ATOMIC, RECORD_STORE
from memory.cache.l1_state import MAX_QUEUE
from memory.translation.l1_tlb import ask_ahead, page_of
from memory.unit_classes import CU_LOOK_UP
from memory.wheel import wake_at


@jit(cold=True)
def look_ahead(m: Machine, now, cu, come_to):
    """Ask for the next page after those already looked at; look-up has come to the page `come_to`."""
    cache = m.l1.unit[cu]
    instruction = cache.ahead
    position = cache.ahead_position
    if instruction == 0 and position <= cache.q_position:
        position = cache.q_position + 1
        cache.ahead_page = come_to
    page = cache.ahead_page
    new_page = 0
    while instruction < cache.q_count and not new_page:
        q = (cache.q_head + instruction) & (MAX_QUEUE - 1)
        header = cache.queue[q].header
        stride = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
        while position < header & LINES_MASK:
            page = page_of(m, cache.q_words[cache.queue[q].words + stride * position])
            if page != cache.ahead_page:
                new_page = 1
                break
            position += 1
        if not new_page:
            instruction += 1
            position = 0
    if new_page and ask_ahead(m, now, cu, page):
        cache.ahead_page = page
        position += 1
        wake_at(m, CU_LOOK_UP, now + 1, cu)
    cache.ahead = instruction
    cache.ahead_position = position
