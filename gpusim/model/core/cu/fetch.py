"""Instruction fetch: each wavefront's instruction buffer, filled from the array's instruction cache.

The code is seen in *granules*: what a buffer's capacity and a fetch of 32 bytes have in common. A wavefront reads from
one granule; after it come those that are fetched or under way. Each cycle a CU may fetch for one of its wavefronts:
first those whose next instruction is missing, then those with space in the buffer, round robin in both. CUs that want
different lines of one bank of the cache are served in an order that rotates every cycle; those that want the same line
are served by one read.
"""

from gpusim.base.jit import Machine, ctz, ctz_from, jit
from gpusim.model.core.cu.state import ARRIVALS, FETCH, FETCHING, MISSING, NEXT_SLOT, SLOTS, STARVED, WANT
from gpusim.model.core.cu.wave import pause
from memory.cache.instruction import (
    FETCH_HIT,
    FETCH_STALLED,
    bank_can_read,
    instruction_fill,
    instruction_look_up,
    use_bank,
)
from memory.unit_classes import FETCH as FETCH_CLASS
from memory.wheel import wake_at


@jit
def _line_to_fetch(m: Machine, w):
    return m.run.code_line + (m.cu.wave[w].next_granule >> m.run.line_granule_bits)


@jit
def _arrives(m: Machine, cu, slot, t):
    """Note that the wavefront's next granules, as many as a fetch brings, are in its buffer from cycle `t` on."""
    w = cu * SLOTS + slot
    wave = m.cu.wave[w]
    granule = wave.next_granule
    end = min(wave.granule + m.cu.buffer_granules, m.run.granules)
    more = True
    while more:
        wave.arrives[granule & (ARRIVALS - 1)] = t
        if granule == wave.granule:
            wave.ready_at = t
            m.cu.fetch[cu, STARVED] &= ~(1 << slot)
            if wave.state == FETCHING:
                pause(m, w, t, FETCH)
        granule += 1
        more = granule < end and granule & (m.cu.fetch_granules - 1) != 0
    wave.next_granule = granule
    if granule >= end:
        m.cu.fetch[cu, WANT] &= ~(1 << slot)


@jit(inline=True)
def _fetch_for(m: Machine, now, array, cu, busy):
    """Fetch for one of the CU's wavefronts, starved ones first, round robin; returns the banks busy afterwards."""
    wants = m.cu.fetch[cu, WANT]
    if wants & m.cu.fetch[cu, STARVED]:
        wants &= m.cu.fetch[cu, STARVED]
    later = wants & ~((1 << m.cu.fetch[cu, NEXT_SLOT]) - 1)
    slot = ctz(later) if later else ctz(wants)
    line = _line_to_fetch(m, cu * SLOTS + slot)
    if not bank_can_read(m, busy, line):
        return busy
    result = instruction_look_up(m, now, array, line)
    if result != FETCH_STALLED:
        m.cu.fetch[cu, NEXT_SLOT] = slot + 1
        if result == FETCH_HIT:
            _arrives(m, cu, slot, now + m.icache.latency)
        else:
            m.cu.fetch[cu, WANT] &= ~(1 << slot)
            m.cu.fetch[cu, MISSING] |= 1 << slot
    return use_bank(m, busy, line, result != FETCH_STALLED)


@jit(inline=True)
def fetch_tick(m: Machine, now, array):
    """Fetch for an array's CUs in this cycle: at most once for each CU, and one line from each bank."""
    cus_per_array = m.scalar.cus_per_array
    first = array * cus_per_array
    # a division costs as much as a fetch, and most arrays have a power of two of CUs
    goes_first = now & (cus_per_array - 1) if cus_per_array & (cus_per_array - 1) == 0 else now % cus_per_array
    asking = m.cu.fetching_cus[array]
    busy = 0
    left = 0
    while asking:
        k = ctz_from(asking, goes_first)
        asking ^= 1 << k
        if m.cu.fetch[first + k, WANT]:
            busy = _fetch_for(m, now, array, first + k, busy)
            left |= (m.cu.fetch[first + k, WANT] != 0) << k
    m.cu.fetching_cus[array] = left
    if left:
        wake_at(m, FETCH_CLASS, now + 1, array)


@jit
def fetch_filled(m: Machine, now, array, mshr):
    """Pass a line that has come to the array's instruction cache on to all wavefronts that wait for it."""
    line = instruction_fill(m, now, array, mshr)
    first = array * m.scalar.cus_per_array
    for k in range(m.scalar.cus_per_array):
        missing = m.cu.fetch[first + k, MISSING]
        while missing:
            slot = ctz(missing)
            missing &= missing - 1
            if _line_to_fetch(m, (first + k) * SLOTS + slot) == line:
                m.cu.fetch[first + k, MISSING] &= ~(1 << slot)
                m.cu.fetch[first + k, WANT] |= 1 << slot
                m.cu.fetching_cus[array] |= 1 << k
                _arrives(m, first + k, slot, now + m.icache.latency)
    wake_at(m, FETCH_CLASS, now, array)
