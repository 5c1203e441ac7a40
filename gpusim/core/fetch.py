"""Instruction fetch: each wavefront's instruction buffer, filled from the array's instruction cache.

The code is seen in *granules*: what a buffer's capacity and a fetch of 32 bytes have in common. A wavefront reads from
one granule; behind it lie those that are fetched or under way. Each cycle a CU may fetch for one of its wavefronts:
first those whose next instruction is missing, then those with room in the buffer, round robin in both. CUs that meet
at a bank of the cache are served in an order that rotates every cycle.
"""

from gpusim.core.cu_state import ARRIVALS, FETCH, FETCHING, SLOTS
from gpusim.core.wave import pause
from gpusim.jit import ctz, jit
from memory.instruction_cache import FETCH_HIT, FETCH_STALLED, instruction_fill, instruction_look_up
from memory.wheel import FETCH as FETCH_CLASS
from memory.wheel import wake


@jit
def _line_to_fetch(m, w):
    """Line of the wavefront's next granule to fetch."""
    return m.run.code_line + (m.cu.next_granule[w] >> m.run.line_granule_bits)


@jit
def _arrives(m, w, t):
    """The wavefront's next granules, as many as a fetch brings, are in its buffer from cycle `t` on."""
    c = m.cu
    g = c.next_granule[w]
    end = min(c.granule[w] + c.buffer_granules, m.run.granules)
    while True:
        c.arrives[w, g & (ARRIVALS - 1)] = t
        if g == c.granule[w]:
            c.ready_at[w] = t
            c.starved[w // SLOTS] &= ~(1 << (w % SLOTS))
            if c.state[w] == FETCHING:
                pause(m, w, t, FETCH)
        g += 1
        if g >= end or g & (c.fetch_granules - 1) == 0:
            break
    c.next_granule[w] = g
    if g >= end:
        c.fetch_want[w // SLOTS] &= ~(1 << (w % SLOTS))


@jit
def _choose(m, cu):
    """Slot of the wavefront that the CU fetches for: the starved ones first, round robin."""
    c = m.cu
    wants = c.fetch_want[cu]
    if wants & c.starved[cu]:
        wants &= c.starved[cu]
    later = wants & ~((1 << c.fetch_turn[cu]) - 1)
    return ctz(later) if later else ctz(wants)


@jit
def fetch_tick(m, now, array):
    """One cycle of an array's fetch: at most one for each CU and one from each bank."""
    c = m.cu
    i = m.icache
    cus = m.scalar.cus_per_array
    busy = 0
    again = 0
    for k in range(cus):
        cu = array * cus + (now + k) % cus
        if c.fetch_want[cu] == 0:
            continue
        again = 1
        slot = _choose(m, cu)
        w = cu * SLOTS + slot
        line = _line_to_fetch(m, w)
        bank = 1 << (line & (i.banks - 1))
        if busy & bank:
            continue
        busy |= bank
        result = instruction_look_up(m, now, array, line)
        if result == FETCH_STALLED:
            continue
        c.fetch_turn[cu] = slot + 1
        if result == FETCH_HIT:
            _arrives(m, w, now + i.latency)
        else:
            c.fetch_want[cu] &= ~(1 << slot)
            c.fetch_missing[cu] |= 1 << slot
    if again:
        wake(m, FETCH_CLASS, now + 1, array)


@jit
def fetch_filled(m, now, array, mshr):
    """A line of the array's instruction cache has come: it goes on to all wavefronts that wait for it."""
    c = m.cu
    line = instruction_fill(m, now, array, mshr)
    cus = m.scalar.cus_per_array
    for cu in range(array * cus, (array + 1) * cus):
        missing = c.fetch_missing[cu]
        while missing:
            slot = ctz(missing)
            missing &= missing - 1
            w = cu * SLOTS + slot
            if _line_to_fetch(m, w) == line:
                c.fetch_missing[cu] &= ~(1 << slot)
                c.fetch_want[cu] |= 1 << slot
                _arrives(m, w, now + m.icache.latency)
    wake(m, FETCH_CLASS, now, array)
