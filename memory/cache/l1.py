"""The vector L1 cache of a CU: its queue of vector memory instructions, and the look-up of their lines.

In order, as GCN's texture cache: instructions are looked up line by line, one line a cycle, once the line's address
is translated (memory/translation/tlb.py). A look-up never waits for an earlier miss: misses to one line merge in its
MSHR, and loads wait for their data in return entries, from which it goes to registers in the order of instructions
(memory/cache/l1_returns.py). Atomics and accesses marked `glc` are done in L2, as LLVM's memory model for GFX6 to GFX9
has it. A store goes on to L2 at once, unless the configuration lets it stay (memory/cache/l1_stores.py).

The CU core queues instructions with `l1_queue` and learns of finished ones from `l1_next_load_done`, `l1_receive` and
`l1_take_done_store`. A *token* is the core's own name of an instruction in flight.
"""

import numpy as np

from gpusim.base.jit import Machine, address_in, jit, ld_i64, st_i32
from isa.trace import (
    ASKED_MASK,
    ASKED_SHIFT,
    BUSY_MASK,
    BUSY_SHIFT,
    LINE_SPARSE,
    LINES_MASK,
    RECORD_ATOMIC,
    RECORD_RETURN,
    RECORD_STORE,
)
from memory.cache.access import looked_up
from memory.cache.l1_returns import schedule_returns
from memory.cache.l1_state import (
    DIRECT,
    FAR_WORDS,
    FLAG_BYPASS,
    FLAG_INVALIDATE,
    HIT,
    MAX_QUEUE,
    MERGE,
    MISS,
    NEAR_WORDS,
    STALL,
    first_slot,
    next_use,
)
from memory.cache.l1_stores import all_written_back, held_in_part, line_is_clean, look_up_store, make_space, store_kept
from memory.cache.look_ahead import look_ahead
from memory.cache.missing import LAST, NO_SLOT, begin_miss, join_miss, may_join, may_miss
from memory.network.crossbar import crossbar_has_space, crossbar_send, wait_for_credit
from memory.network.state import ATOMIC, ATOMIC_RETURN, READ, SOURCE_CU_SHIFT, SOURCE_ID_SHIFT, WRITE
from memory.rings import RING_FRONT
from memory.sets.replacement import find_victim, invalidate, on_hit, on_insert
from memory.sets.rows import is_filling, start_filling, way_of
from memory.translation.l1_tlb import page_of, translate
from memory.unit_classes import CU_LOOK_UP, CU_RETURN
from memory.waiting import (
    L1_LINE,
    L1_RETURN_ENTRY,
    L1_STORE,
    LOOK_UP,
    TRANSLATION,
    is_short,
    short_since,
    wait_for,
)
from memory.wheel import wake_at, within_reach


@jit
def l1_queue(m: Machine, now, cu, record, flags, token):
    """Queue the instruction whose memory record lies at address `record`; the core has checked `queue_limit`."""
    l1 = m.l1
    cache = l1.unit[cu]
    n = cache.q_count
    q = (cache.q_head + n) & (MAX_QUEUE - 1)
    header = ld_i64(record, 0)
    words = header & LINES_MASK
    if header & (RECORD_STORE | RECORD_ATOMIC):
        words *= 2  # a byte mask follows each line
    # most instructions have few lines: these lie together, so that the queue stays in the host's cache
    at = q * NEAR_WORDS if words <= NEAR_WORDS else MAX_QUEUE * NEAR_WORDS + q * FAR_WORDS
    cache.queue[q].header = header | flags
    cache.queue[q].token = token
    cache.queue[q].words = at
    for i in range(words):
        cache.q_words[at + i] = ld_i64(record, 1 + i)
    cache.q_count = n + 1
    l1.queued += 1
    # with others before it, it is come to when they are done; but looking ahead for pages may go on with it
    if n == 0 or is_short(m, TRANSLATION + cu):
        wake_at(m, CU_LOOK_UP, now + 1, cu)


@jit
def _wait_for_line(m: Machine, now, cu, mshr, entry):
    """Have a load wait for the line of an MSHR."""
    cache = m.l1.unit[cu]
    target = cache.target[join_miss(cache.missing, mshr, LAST)]
    target.entry = entry
    target.since = now


@jit
def _join(m: Machine, now, cu, slot, entry):
    """Have a load wait for a line that is being filled; returns 0 without a free target."""
    l1 = m.l1
    cache = l1.unit[cu]
    if not may_join(cache.missing):
        wait_for(m, L1_LINE + cu, LOOK_UP)
        return 0
    _wait_for_line(m, now, cu, l1.filled_by[slot], entry)
    return 1


@jit(cold=True)
def _longest_filling(m: Machine, now, cu, base):
    """Return the way whose line was asked for longest ago, in a set whose ways are all being filled."""
    l1 = m.l1
    cache = l1.unit[cu]
    first = 0
    earliest = now
    for way in range(l1.ways):
        since = cache.target[cache.missing.mshr[l1.filled_by[base + way]].first].since
        if since < earliest:
            earliest = since
            first = way
    return first


@jit(inline=True)
def _fetch(m: Machine, now, cu, line, entry, base, row, way):
    """Ask L2 for a line, into the way that holds it in part, or if that is -1, in the place of another; 0: must wait.

    What a miss needs is looked for in this order: an MSHR with a target, a packet's space in the crossbar, a way.
    """
    l1 = m.l1
    cache = l1.unit[cu]
    if not may_miss(cache.missing):
        wait_for(m, L1_LINE + cu, LOOK_UP)
        return 0
    if not crossbar_has_space(m, now, cu):
        wait_for_credit(m, cu)
        return 0
    if way < 0:
        way = find_victim(l1.replacement, row, l1.stride, l1.ways, cache.order)
        if way < 0:
            if l1.full_set_waits:
                wait_for(m, L1_LINE + cu, LOOK_UP)
                return 0
            way = _longest_filling(m, now, cu, base)
        if l1.keeps_stores and not make_space(m, now, cu, row, base, way):
            return 0
        if is_filling(row, l1.stride, way):  # loads that wait for that line get their data, the cache does not keep it
            cache.missing.mshr[l1.filled_by[base + way]].slot = NO_SLOT
        st_i32(row, way, line)
        on_insert(l1.replacement, row, l1.stride, l1.ways, way, next_use(m, cu))
    else:
        on_hit(l1.replacement, row, l1.stride, l1.ways, way, next_use(m, cu))
    start_filling(row, l1.stride, way)
    mshr = begin_miss(cache.missing, base + way)
    l1.filled_by[base + way] = mshr
    _wait_for_line(m, now, cu, mshr, entry)
    crossbar_send(m, now, cu, line, READ | cu << SOURCE_CU_SHIFT | mshr << SOURCE_ID_SHIFT, 0)
    return 1


@jit(inline=True)
def _look_up(m: Machine, now, cu, line, entry):
    """Look a load's line up; returns HIT, MERGE, MISS, or STALL with nothing changed."""
    l1 = m.l1
    base = first_slot(m, cu, line)
    row = address_in(l1.rows, 2 * base)
    way = way_of(row, l1.stride, line)
    if way < 0 or (l1.keeps_stores and held_in_part(m, row, base, way)):
        return MISS if _fetch(m, now, cu, line, entry, base, row, way) else STALL
    filling = is_filling(row, l1.stride, way)
    if filling and not _join(m, now, cu, base + way, entry):
        return STALL
    on_hit(l1.replacement, row, l1.stride, l1.ways, way, next_use(m, cu))
    return MERGE if filling else HIT


@jit
def _start(m: Machine, now, cu, header, token):
    """Begin the oldest instruction's look-up; returns 0 if a load or atomic that returns data lacks a return entry."""
    l1 = m.l1
    cache = l1.unit[cu]
    if not header & (RECORD_STORE | RECORD_ATOMIC) or header & RECORD_RETURN:
        tail = cache.r_tail
        if tail - cache.r_head >= l1.return_limit:
            wait_for(m, L1_RETURN_ENTRY + cu, LOOK_UP)
            return 0
        e = tail & (l1.return_ring - 1)
        cache.entry[e].open = 1
        cache.entry[e].at = now
        cache.entry[e].beats = max((header >> BUSY_SHIFT) & BUSY_MASK, 1)
        cache.entry[e].token = token
        cache.r_tail = tail + 1
        cache.q_entry = e
    cache.q_started = now
    return 1


@jit(inline=True)
def _store_or_atomic(m: Machine, now, cu, q, header, line, mask):
    """Send one line of a store or an atomic on to L2, or keep it; returns 0 if it must wait."""
    l1 = m.l1
    cache = l1.unit[cu]
    token = np.int64(cache.queue[q].token)
    if l1.keeps_stores:
        result = look_up_store(m, now, cu, line, mask, header)
        if result == STALL:
            return 0
        if result != MISS:
            store_kept(m, now, cu, token, line, result)
            return 1
    if not crossbar_has_space(m, now, cu):
        wait_for_credit(m, cu)
        return 0
    if header & RECORD_RETURN:
        cache.entry[cache.q_entry].open += 1
        source = ATOMIC_RETURN | cu << SOURCE_CU_SHIFT | (cache.q_entry | DIRECT) << SOURCE_ID_SHIFT
    else:
        if cache.stores_out >= l1.store_limit:
            wait_for(m, L1_STORE + cu, LOOK_UP)
            return 0
        cache.stores_out += 1
        kind = ATOMIC if header & RECORD_ATOMIC else WRITE
        source = kind | cu << SOURCE_CU_SHIFT | token << SOURCE_ID_SHIFT
    crossbar_send(m, now, cu, line, source, mask)
    if m.timeline.on:
        looked_up(m, cu, MISS, token, line)
    l1.writes += 1
    l1.misses += 1
    return 1


@jit
def _passes(m: Machine, header, line):
    """Return 1 if a load's line is read from L2 without a look-up, else 0."""
    # a sparse line is no memory that another CU could write to: `glc` does not matter for it
    return 1 if m.l1.bypass or (header & FLAG_BYPASS and not line & LINE_SPARSE) else 0


@jit(cold=True)
def _read_past_cache(m: Machine, now, cu, line, entry):
    """Read a line from L2 without a look-up; returns 0 if that must wait."""
    l1 = m.l1
    if l1.keeps_stores and not line_is_clean(m, now, cu, line):
        return 0
    if not crossbar_has_space(m, now, cu):
        wait_for_credit(m, cu)
        return 0
    l1.unit[cu].entry[entry].open += 1
    crossbar_send(m, now, cu, line, READ | cu << SOURCE_CU_SHIFT | (entry | DIRECT) << SOURCE_ID_SHIFT, 0)
    l1.latency -= now  # and its arrival adds the cycle in which it is there
    l1.misses += 1
    return 1


@jit(inline=True)
def _load(m: Machine, now, cu, q, header, line):
    """Look one line of a load up, or send it past the cache; returns 0 if it must wait."""
    l1 = m.l1
    cache = l1.unit[cu]
    e = cache.q_entry
    if _passes(m, header, line):
        if not _read_past_cache(m, now, cu, line, e):
            return 0
        result = MISS
    else:
        result = _look_up(m, now, cu, line, e)
        if result == STALL:
            return 0
        if result == HIT:
            cache.entry[e].at = max(cache.entry[e].at, now + l1.hit_latency)
            l1.latency += l1.hit_latency
            l1.hits += 1
        else:
            cache.entry[e].open += 1
            if result == MERGE:
                l1.merges += 1
            else:
                l1.misses += 1
    if m.timeline.on:
        looked_up(m, cu, result, np.int64(cache.queue[q].token), line)
    l1.reads += 1
    return 1


@jit(inline=True)
def _translated(m: Machine, now, cu, line):
    """Return 1 if the line's translation is there, else 0, and then look later pages up ahead: misses overlap."""
    page = page_of(m, line)
    if page == m.translation.last[cu]:
        return 1
    ahead = m.translation.ahead[cu]
    if translate(m, now, cu, page):
        if ahead:  # one of the pages looked ahead for has been come to: there is space for one more
            look_ahead(m, now, cu, page)
        return 1
    if short_since(m, TRANSLATION + cu) < now:
        look_ahead(m, now, cu, page)
    else:
        wake_at(m, CU_LOOK_UP, now + 1, cu)
    return 0


@jit(inline=True)
def _finish(m: Machine, now, cu, q, header, lines):
    """Complete the oldest instruction, all looked up; the next one is when its addresses are worked out."""
    l1 = m.l1
    cache = l1.unit[cu]
    l1.bytes_asked_for += (header >> ASKED_SHIFT) & ASKED_MASK
    if header & FLAG_INVALIDATE:
        rows = address_in(l1.rows, cu * l1.sets * 2 * l1.stride)
        invalidate(l1.replacement, rows, l1.sets, l1.stride, l1.ways)
    if not header & (RECORD_STORE | RECORD_ATOMIC) or header & RECORD_RETURN:
        cache.entry[cache.q_entry].open -= 1
        schedule_returns(m, cu)
    elif lines == 0:  # a store with EXEC = 0: nobody answers it
        cache.done_store = cache.queue[q].token + 1
        wake_at(m, CU_RETURN, now + 1, cu)
    # 64 addresses are worked out 16 a cycle, and as many lines as they touch are looked up beside that
    cycles = max(l1.address_cycles, (header >> BUSY_SHIFT) & BUSY_MASK)
    cache.look_free = max(now + 1, cache.q_started + cycles)
    cache.q_position = 0
    cache.q_started = -1
    cache.q_head = (q + 1) & (MAX_QUEUE - 1)
    cache.q_count -= 1
    l1.queued -= 1
    if cache.ahead:
        cache.ahead -= 1
    else:
        cache.ahead_position = 0
    if cache.q_count:
        wake_at(m, CU_LOOK_UP, within_reach(m, cache.look_free), cu)
    elif cache.q_head >= RING_FRONT:
        cache.q_head = 0


@jit(inline=True)
def _waits_for_next(m: Machine, now, cu, header, line):
    """Have look-up wait for what the next line of the instruction cannot do without: the request port, a store's slot.

    The try in the next cycle would find just that, as nothing else enters or leaves the cache's sets meanwhile: up to
    half of the visits to look-up where lines miss or stores are many. Returns 1 if it waits.
    """
    l1 = m.l1
    cache = l1.unit[cu]
    writes = header & (RECORD_STORE | RECORD_ATOMIC)
    space = crossbar_has_space(m, now + 1, cu)
    if space and not (writes and cache.stores_out >= l1.store_limit and not header & RECORD_RETURN):
        return 0
    if l1.keeps_stores or page_of(m, line) != m.translation.last[cu]:
        return 0
    if space:
        wait_for(m, L1_STORE + cu, LOOK_UP)
    else:
        if not (writes or _passes(m, header, line)):
            row = address_in(l1.rows, 2 * first_slot(m, cu, line))
            if not may_miss(cache.missing) or way_of(row, l1.stride, line) >= 0:
                return 0
        wait_for_credit(m, cu)
    cache.stalled_since = now + 1
    return 1


@jit(inline=True)
def l1_step(m: Machine, now, cu):
    """Look up one line of the oldest queued instruction, which must be there; returns 1 if a queue slot came free."""
    l1 = m.l1
    cache = l1.unit[cu]
    if cache.look_free > now:
        wake_at(m, CU_LOOK_UP, within_reach(m, cache.look_free), cu)
        return 0
    q = cache.q_head
    header = cache.queue[q].header
    position = cache.q_position
    lines = header & LINES_MASK
    writes = header & (RECORD_STORE | RECORD_ATOMIC)
    stride = 2 if writes else 1
    at = cache.queue[q].words + stride * position
    line = cache.q_words[at]
    if lines and not _translated(m, now, cu, line):
        return 0
    moved = 1
    if header & FLAG_INVALIDATE and not all_written_back(m, now, cu):
        moved = 0
    elif position == 0 and cache.q_started < 0:
        moved = _start(m, now, cu, header, np.int64(cache.queue[q].token))
    if moved and lines:
        if writes:
            moved = _store_or_atomic(m, now, cu, q, header, line, cache.q_words[at + 1])
        else:
            moved = _load(m, now, cu, q, header, line)
    if not moved:
        if cache.stalled_since < 0:
            cache.stalled_since = now
        return 0
    if cache.stalled_since >= 0:
        l1.stall_cycles += now - cache.stalled_since
        cache.stalled_since = -1
    l1.busy += 1
    if lines:
        if l1.since == 0:
            l1.since = now
        l1.span_cycles = now + 1 - l1.since
    position += 1
    if position < lines:
        cache.q_position = position
        if not _waits_for_next(m, now, cu, header, cache.q_words[at + stride]):
            wake_at(m, CU_LOOK_UP, now + 1, cu)
        return 0
    _finish(m, now, cu, q, header, lines)
    return 1
