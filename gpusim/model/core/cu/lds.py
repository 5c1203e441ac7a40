"""The LDS of a CU: its banks, and the results on their way back to the wavefronts.

How many bank cycles an access takes is known from execution: the lanes' real addresses decide. A write or an atomic
whose lanes seldom meet in a bank takes longer, as addresses and data come in together: a multiple of the cycles that
it would take without such conflicts. Accesses follow one another; a result is there a fixed latency
after its last bank cycle, so results return in order.
"""

from gpusim.base.jit import Machine, jit
from gpusim.model.core.cu.state import EVENTS, SLOTS
from gpusim.model.core.cu.wave import WHO_PC, lgkm_down, recheck, vm_answered
from isa.trace import (
    ASKED_MASK,
    ASKED_SHIFT,
    BUSY_MASK,
    BUSY_SHIFT,
    LEAST_MASK,
    LEAST_SHIFT,
    RECORD_ATOMIC,
    RECORD_STORE,
)
from memory.unit_classes import CU_RETURN
from memory.waiting import LDS_BANKS, short
from memory.wheel import wake_at, within_reach

FLAT_MASK = (1 << (WHO_PC - 16)) - 1


@jit(inline=True)
def use_lds(m: Machine, now, cu, who, header):
    """Occupy the LDS banks with the access of a memory record's header; its result is announced to `who`."""
    cycles = (header >> BUSY_SHIFT) & BUSY_MASK
    if header & (RECORD_STORE | RECORD_ATOMIC):
        cycles = max(cycles, ((header >> LEAST_SHIFT) & LEAST_MASK) * m.cu.lds_write_passes)
    start = max(m.cu.lds_free[cu], now)
    end = start + cycles
    m.cu.lds_free[cu] = end
    use = m.cu.lds
    use.bytes_asked_for += (header >> ASKED_SHIFT) & ASKED_MASK
    if use.until == 0:
        use.until = start
    if end > use.until:
        use.span_cycles += end - use.until
        use.until = end
    if end - m.cu.lds_backlog > now + 1:
        short(m, LDS_BANKS + cu, now + 1, end - m.cu.lds_backlog)
    m.cu.lds_busy += cycles
    n = m.cu.lds_count[cu]
    q = (m.cu.lds_head[cu] + n) & (EVENTS - 1)
    m.cu.lds_at[cu, q] = end + m.cu.lds_latency
    m.cu.lds_who[cu, q] = who
    m.cu.lds_count[cu] = n + 1
    if n == 0:
        wake_at(m, CU_RETURN, within_reach(m, end + m.cu.lds_latency), cu)


@jit(inline=True)
def lds_results(m: Machine, now, cu):
    """Hand the LDS results that are due to their wavefronts; at least one access must be in flight."""
    while m.cu.lds_count[cu]:
        head = m.cu.lds_head[cu]
        if m.cu.lds_at[cu, head] > now:
            wake_at(m, CU_RETURN, within_reach(m, m.cu.lds_at[cu, head]), cu)
            break
        m.cu.lds_head[cu] = (head + 1) & (EVENTS - 1)
        m.cu.lds_count[cu] -= 1
        who = m.cu.lds_who[cu, head]
        w = cu * SLOTS + (who & 0xFF)
        token = (who >> 16) & FLAT_MASK
        if token:  # a FLAT instruction whose addresses lie in LDS
            vm_answered(m, now, cu, token - 1)
        elif (who >> 8) & 0xFF == m.cu.wave[w].generation:
            lgkm_down(m, now, w, who)
            recheck(m, now, w)
