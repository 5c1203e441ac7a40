"""The L2 cache: channels interleaved by address, each of which takes and serves one request a cycle, in order.

A read that misses goes to DRAM, or, for a sparse line, to the compaction engine; both answer through the ports
(memory/cache/l2_fill.py), and other reads of the line merge in its MSHR. Where stores go is the write policy's: the
shipped L2 keeps them, without a fetch, in lines that hold a mask of their bytes, and writes them back when the line is
replaced (GCN's L2 has byte masks: AMD GCN whitepaper, 2012). Atomics are done here.
"""

from gpusim.base.jit import address_in, jit, ld_u32, popcount, prefetch
from memory.cache.access import served
from memory.cache.l2_dram import evict, fetch, pass_write_on, still_refused, write_through
from memory.cache.l2_fill import add_target, answer
from memory.cache.l2_state import (
    DIRTY,
    HELD,
    HIT,
    MAX_INPUT,
    MERGED,
    MISSED,
    MSHR_SHIFT,
    STALLED,
    bytes_of,
    first_slot,
    inserted,
    set_bytes,
    used,
    wait,
)
from memory.cache.missing import begin_miss, may_join, may_miss, next_mshr
from memory.cache.write_policy import ALL_BYTES, BACK, THROUGH, goes_below, is_kept
from memory.network.crossbar import crossbar_offers, crossbar_pick_request, crossbar_pop_request, crossbar_response_room
from memory.network.state import KIND_MASK, P_LINE, P_MASK, P_READY, P_SOURCE, READ, WRITE
from memory.sets.replacement import find_victim
from memory.sets.rows import is_filling, start_filling, way_of
from memory.unit_classes import L2_SERVE, L2_TAKE
from memory.waiting import L2_INPUT_SLOT, L2_LINE, RESPONSE_SLOT, SPARSE_SLOT, freed, wait_for, waits
from memory.wheel import wake_at


@jit
def _prefetch_row(m, channel, line):
    """Have the host fetch the row in which a line will be looked up in one of the next cycles.

    The tags of a large L2 do not stay in the host's caches.
    """
    l2 = m.l2
    base = first_slot(m, channel, line)
    prefetch(address_in(l2.rows, 2 * base))
    prefetch(address_in(l2.rows, 2 * base + l2.stride))
    prefetch(address_in(l2.note, base))


@jit(inline=True)
def _start_fetch(m, now, channel, line, row, base, way, found):
    """Fetch a line into a way of its set; returns its MSHR, or -1 if that must wait.

    found: the way holds the line in part, and keeps its bytes; else it holds another, whose dirty bytes go to DRAM.
    """
    l2 = m.l2
    slot = base + way
    l2.missed_in[channel] = base
    if not may_miss(l2.missing[channel]):
        wait(m, channel, L2_LINE + channel)
        return -1
    if not found and bytes_of(m, slot, DIRTY) and not evict(m, now, channel, slot, ld_u32(row, way)):
        return -1
    if not fetch(m, now, channel, line, next_mshr(l2.missing[channel])):
        return -1
    if found:
        used(m, channel, row, way)
    else:
        inserted(m, channel, row, way, line)
        set_bytes(m, slot, HELD, 0)
    start_filling(row, l2.stride, way)
    mshr = begin_miss(l2.missing[channel], slot)
    l2.note[slot] = mshr << MSHR_SHIFT | (l2.note[slot] & ((1 << MSHR_SHIFT) - 1))
    return mshr


@jit(cold=True)
def _atomic_through(m, now, channel, line, source, mask, since):
    """Execute an atomic in a write-through L2, which needs its line and room at DRAM at one time.

    If its line is not held, the atomic has it fetched, and waits for it at the head of its channel.
    """
    l2 = m.l2
    base = first_slot(m, channel, line)
    row = address_in(l2.rows, 2 * base)
    way = way_of(row, l2.stride, line)
    found = way >= 0
    if found and is_filling(row, l2.stride, way):
        if l2.atomic_result[channel] == HIT:
            l2.atomic_result[channel] = MERGED
        wait(m, channel, L2_LINE + channel)
        return STALLED
    if found and bytes_of(m, base + way, HELD) == ALL_BYTES:
        if not write_through(m, now, channel, line, mask):
            return STALLED
        used(m, channel, row, way)
        answer(m, now, now + l2.latency, channel, source, since)
        result = l2.atomic_result[channel]
        l2.atomic_result[channel] = HIT
        return result
    if not found:
        way = find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel])
    if way < 0:
        wait(m, channel, L2_LINE + channel)
    elif _start_fetch(m, now, channel, line, row, base, way, found) >= 0:
        l2.atomic_result[channel] = MISSED
        wait(m, channel, L2_LINE + channel)
    return STALLED


@jit(inline=True)
def _write(m, now, channel, line, source, mask, since, base, row, way):
    """Put a store's bytes into their line, into a new line, or pass them on to DRAM, as the write policy says.

    No other bytes are fetched: the line holds these alone until somebody reads it.
    """
    l2 = m.l2
    if l2.passes_on and goes_below(l2.write, l2.allocate, way >= 0):
        if not pass_write_on(m, now, channel, line, mask, row, way):
            return STALLED
        if not is_kept(l2.allocate, way >= 0):
            l2.writes_around += 1
            answer(m, now, now + l2.latency, channel, source, since)
            return MISSED
    if way >= 0:
        slot = base + way
        result = MERGED if is_filling(row, l2.stride, way) else HIT
        used(m, channel, row, way)
        set_bytes(m, slot, HELD, bytes_of(m, slot, HELD) | mask)
        if l2.write == BACK:
            set_bytes(m, slot, DIRTY, bytes_of(m, slot, DIRTY) | mask)
    else:
        way = find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel])
        if way < 0:
            wait(m, channel, L2_LINE + channel)
            return STALLED
        slot = base + way
        l2.missed_in[channel] = base
        if bytes_of(m, slot, DIRTY) and not evict(m, now, channel, slot, ld_u32(row, way)):
            return STALLED
        inserted(m, channel, row, way, line)
        set_bytes(m, slot, HELD, mask)
        set_bytes(m, slot, DIRTY, mask if l2.write == BACK else 0)
        l2.write_allocations += 1
        result = MISSED
    answer(m, now, now + l2.latency, channel, source, since)
    return result


@jit(inline=True)
def _read(m, now, channel, line, source, mask, since, base, row, way):
    """Serve a load, or an atomic, which needs its line as a load does and leaves bytes of it dirty."""
    l2 = m.l2
    found = way >= 0
    if found:
        slot = base + way
        if is_filling(row, l2.stride, way):
            if not may_join(l2.missing[channel]):
                wait(m, channel, L2_LINE + channel)
                return STALLED
            used(m, channel, row, way)
            add_target(m, channel, l2.note[slot] >> MSHR_SHIFT, source, since, mask)
            return MERGED
        if bytes_of(m, slot, HELD) == ALL_BYTES:
            used(m, channel, row, way)
            if source & KIND_MASK != READ:
                set_bytes(m, slot, DIRTY, bytes_of(m, slot, DIRTY) | mask)
            answer(m, now, now + l2.latency, channel, source, since)
            return HIT
    else:
        way = find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel])
        if way < 0:
            wait(m, channel, L2_LINE + channel)
            return STALLED
    mshr = _start_fetch(m, now, channel, line, row, base, way, found)
    if mshr < 0:
        return STALLED
    add_target(m, channel, mshr, source, since, mask)
    return MISSED


@jit(inline=True)
def _access(m, now, channel, line, source, mask, since):
    """Serve one request; returns HIT, MERGED, MISSED, or STALLED.

    With STALLED nothing has changed but write-backs and fetches that were begun.
    """
    l2 = m.l2
    kind = source & KIND_MASK
    base = first_slot(m, channel, line)
    row = address_in(l2.rows, 2 * base)
    way = way_of(row, l2.stride, line)
    if kind == WRITE:
        return _write(m, now, channel, line, source, mask, since, base, row, way)
    if l2.write == THROUGH and kind != READ:
        return _atomic_through(m, now, channel, line, source, mask, since)
    return _read(m, now, channel, line, source, mask, since, base, row, way)


@jit(outline=True)
def _serve_oldest(m, now, channel):
    """Serve the channel's oldest waiting request; returns 0 if it is stalled."""
    l2 = m.l2
    h = l2.i_head[channel]
    line = l2.input[channel, h, P_LINE]
    source = l2.input[channel, h, P_SOURCE]
    result = _access(m, now, channel, line, source, l2.input[channel, h, P_MASK], l2.input[channel, h, P_READY])
    if result == STALLED:
        return 0
    if m.timeline.on:
        served(m, channel, result, l2.input[channel, h, P_READY], source, line)
    if l2.until == 0:
        l2.until = now
    l2.span_cycles += now + 1 - l2.until
    l2.until = now + 1
    kind = source & KIND_MASK
    if kind == READ:
        l2.reads += 1
        l2.read_hits += result == HIT
    elif kind == WRITE:
        l2.writes += 1
    else:
        l2.atomics += 1
    if kind != READ:
        l2.bytes_written += popcount(l2.input[channel, h, P_MASK])
    if result == HIT:
        l2.hits += 1
    elif result == MERGED:
        l2.merges += 1
    else:
        l2.misses += 1
    l2.i_head[channel] = (h + 1) & (MAX_INPUT - 1)
    l2.i_count[channel] -= 1
    if l2.i_count[channel]:
        wake_at(m, L2_SERVE, now + 1, channel)
    if l2.i_count[channel] == l2.input_limit - 1 and freed(m, L2_INPUT_SLOT + channel):
        wake_at(m, L2_TAKE, now, channel)
    return 1


@jit(cold=True)
def _attribute_stall(m, now, channel):
    """Attribute the wait that has just ended to the engine if that caused it, else not.

    The engine caused it if it had no room for a sparse miss, or if its line was waited for.
    """
    l2 = m.l2
    if l2.freed_by_engine[channel] or l2.waits_for[channel] == SPARSE_SLOT + channel + 1:
        l2.engine_part[channel] += now - l2.attributed_to[channel]
    l2.freed_by_engine[channel] = 0
    l2.attributed_to[channel] = now


@jit(inline=True)
def _try_oldest(m, now, channel):
    """Serve the channel's oldest waiting request if its port has room and nothing stalls it."""
    l2 = m.l2
    since = l2.stalled_since[channel]
    served = 0
    if since >= 0:
        _attribute_stall(m, now, channel)
    if not crossbar_response_room(m, channel):
        wait(m, channel, RESPONSE_SLOT + channel)
    elif not still_refused(m, now, channel):
        served = _serve_oldest(m, now, channel)
    if served:
        if since >= 0:
            l2.stall_cycles[channel] += now - since
            l2.engine_stall_cycles[channel] += l2.engine_part[channel]
            l2.stalled_since[channel] = -1
            l2.waits_for[channel] = 0
    elif since < 0:
        l2.stalled_since[channel] = now
        l2.attributed_to[channel] = now
        l2.engine_part[channel] = 0
        l2.freed_by_engine[channel] = 0


@jit(inline=True)
def l2_serve_tick(m, now, channel):
    """Serve the channel's oldest waiting request, if there is one and what it waits for may have come free."""
    resource = m.l2.waits_for[channel] - 1
    if m.l2.i_count[channel] and not (resource >= 0 and waits(m, resource, channel)):
        _try_oldest(m, now, channel)


@jit(inline=True)
def l2_take_tick(m, now, channel):
    """Take one request from the crossbar if the channel has room; it is served in the next cycle at the soonest."""
    l2 = m.l2
    n = l2.i_count[channel]
    if n == l2.input_limit:
        wait_for(m, L2_INPUT_SLOT + channel, channel)
        return
    port = crossbar_pick_request(m, now, channel)
    if port < 0:
        return
    q = (l2.i_head[channel] + n) & (MAX_INPUT - 1)
    x = m.xbar
    h = crossbar_pop_request(m, now, channel, port)
    line = x.request[port, h, P_LINE]
    _prefetch_row(m, channel, line)
    l2.input[channel, q, P_LINE] = line
    l2.input[channel, q, P_SOURCE] = x.request[port, h, P_SOURCE]
    l2.input[channel, q, P_MASK] = x.request[port, h, P_MASK]
    l2.input[channel, q, P_READY] = now
    l2.i_count[channel] = n + 1
    wake_at(m, L2_SERVE, now + 1, channel)
    if crossbar_offers(m, channel):
        wake_at(m, L2_TAKE, now + 1, channel)
