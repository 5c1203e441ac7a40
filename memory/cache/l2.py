"""The L2 cache: channels interleaved by address, each of which takes and serves one request a cycle, in order.

A read that misses goes to DRAM, or, for a sparse line, to the compaction engine; both answer through the ports
(memory/cache/l2_fill.py), and other reads of the line merge in its MSHR. Where stores go is the write policy's: the
shipped L2 keeps them, without a fetch, in lines that hold a mask of their bytes, and writes them back when the line is
replaced (GCN's L2 has byte masks: AMD GCN whitepaper, 2012). Atomics are done here.

A line of 128 bytes has two parts of 64, each with masks of its own, and one tag. Requests are of 64 bytes, as L1's
lines; AMD's counters for these caches know reads of DRAM of 32 and 64 bytes alone (TCC_EA_RDREQ, TCC_EA_RDREQ_32B).
So a miss has DRAM asked for its part, and in the next cycle for the other one, unless that is there in whole; the line
is filled when both have come (assumed). The engine compacts 64 bytes at a time: of its lines a part is fetched alone.
"""

from gpusim.base.jit import Machine, address_in, jit, ld_u32, popcount, prefetch
from isa.trace import LINE_SPARSE
from memory.cache.access import served
from memory.cache.l2_dram import evict, fetch, fetch_due, pass_write_on, still_refused, write_through
from memory.cache.l2_fill import add_target, answer
from memory.cache.l2_state import (
    DIRTY,
    HELD,
    HIT,
    MAX_INPUT,
    MERGED,
    MISSED,
    MSHR_SHIFT,
    P_BASE,
    STALLED,
    bytes_of,
    first_slot,
    inserted,
    mshr_of,
    part_in,
    set_bytes,
    tag_of,
    used,
    wait,
)
from memory.cache.missing import begin_miss, may_join, may_miss, next_mshr
from memory.cache.write_policy import ALL_BYTES, BACK, THROUGH, goes_below, is_kept
from memory.network.crossbar import (
    crossbar_offers,
    crossbar_other_half,
    crossbar_pick_request,
    crossbar_pop_request,
    crossbar_response_space,
    wait_for_answer_credit,
)
from memory.network.state import JOINED, KIND_MASK, P_LINE, P_MASK, P_READY, P_SOURCE, READ, WRITE
from memory.sets.replacement import find_victim
from memory.sets.rows import is_filling, start_filling, way_of
from memory.unit_classes import L2_SERVE, L2_TAKE
from memory.waiting import L2_INPUT_SLOT, L2_LINE, RESPONSE_SLOT, SPARSE_SLOT, freed, wait_for, waits
from memory.wheel import wake_at


@jit
def _prefetch_row(m: Machine, base):
    """Have the host fetch the row from a slot on, in which a line will be looked up in one of the next cycles.

    The tags of a large L2 do not stay in the host's caches.
    """
    l2 = m.l2
    prefetch(address_in(l2.rows, 2 * base))
    prefetch(address_in(l2.rows, 2 * base + l2.stride))
    prefetch(address_in(l2.note, base << l2.part_bits))


@jit(outline=True)
def _begin_parts(m: Machine, now, channel, line, first, mshr):
    """Note which parts of a line are fetched, one of which has been asked for. first: the line's first part."""
    l2 = m.l2
    l2.coming[channel, mshr] = 1 << part_in(m, line)
    l2.left[channel, mshr] = 1
    if not line & LINE_SPARSE and bytes_of(m, first | part_in(m, line ^ 1), HELD) != ALL_BYTES:
        l2.coming[channel, mshr] = 3
        l2.left[channel, mshr] = 2
        l2.due[channel] = (line ^ 1) + 1
        l2.due_mshr[channel] = mshr
        wake_at(m, L2_SERVE, now + 1, channel)


@jit(inline=True)
def _start_fetch(m: Machine, now, channel, line, row, base, way, in_part):
    """Fetch a line into a way of its set; returns its MSHR, or -1 if that must wait.

    in_part: the way holds the line in part, and keeps its bytes; else it holds another, whose dirty bytes go to DRAM.
    """
    l2 = m.l2
    slot = base + way
    l2.missed_in[channel] = base
    if not may_miss(l2.missing[channel]):
        wait(m, channel, L2_LINE + channel)
        return -1
    if not in_part and not evict(m, now, channel, slot, ld_u32(row, way)):
        return -1
    if not fetch(m, now, channel, line, next_mshr(l2.missing[channel])):
        return -1
    if in_part:
        used(m, channel, row, way)
    else:
        inserted(m, channel, row, slot, way, line)
    start_filling(row, l2.stride, way)
    mshr = begin_miss(l2.missing[channel], slot)
    first = slot << l2.part_bits
    l2.note[first] = mshr << MSHR_SHIFT | (l2.note[first] & ((1 << MSHR_SHIFT) - 1))
    if l2.part_bits:
        _begin_parts(m, now, channel, line, first, mshr)
    return mshr


@jit(cold=True)
def _atomic_through(m: Machine, now, channel, line, source, mask, since):
    """Execute an atomic in a write-through L2, which needs its line and space at DRAM at one time.

    If its line is not held, the atomic has it fetched, and waits for it at the head of its channel.
    """
    l2 = m.l2
    base = first_slot(m, channel, line)
    row = address_in(l2.rows, 2 * base)
    way = way_of(row, l2.stride, tag_of(m, line))
    present = way >= 0
    if present and is_filling(row, l2.stride, way):
        if l2.atomic_result[channel] == HIT:
            l2.atomic_result[channel] = MERGED
        wait(m, channel, L2_LINE + channel)
        return STALLED
    if present and bytes_of(m, (base + way) << l2.part_bits | part_in(m, line), HELD) == ALL_BYTES:
        if not write_through(m, now, channel, line, mask):
            return STALLED
        used(m, channel, row, way)
        answer(m, now, now + l2.latency, channel, source, since)
        result = l2.atomic_result[channel]
        l2.atomic_result[channel] = HIT
        return result
    if not present:
        way = find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel])
    if way < 0:
        wait(m, channel, L2_LINE + channel)
    elif _start_fetch(m, now, channel, line, row, base, way, present) >= 0:
        l2.atomic_result[channel] = MISSED
        if l2.due[channel] == 0:  # else it is looked up again in the next cycle, after the other part's fetch
            wait(m, channel, L2_LINE + channel)
    return STALLED


@jit(inline=True)
def _write(m: Machine, now, channel, line, source, mask, since, base, row, way):
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
        part = (base + way) << l2.part_bits | part_in(m, line)
        result = MERGED if is_filling(row, l2.stride, way) else HIT
        used(m, channel, row, way)
        set_bytes(m, part, HELD, bytes_of(m, part, HELD) | mask)
        if l2.write == BACK:
            set_bytes(m, part, DIRTY, bytes_of(m, part, DIRTY) | mask)
    else:
        way = find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel])
        if way < 0:
            wait(m, channel, L2_LINE + channel)
            return STALLED
        slot = base + way
        l2.missed_in[channel] = base
        if not evict(m, now, channel, slot, ld_u32(row, way)):
            return STALLED
        inserted(m, channel, row, slot, way, line)
        part = slot << l2.part_bits | part_in(m, line)
        set_bytes(m, part, HELD, mask)
        set_bytes(m, part, DIRTY, mask if l2.write == BACK else 0)
        l2.write_allocations += 1
        result = MISSED
    answer(m, now, now + l2.latency, channel, source, since)
    return result


@jit
def _comes(m: Machine, channel, mshr, line, part):
    """Tell whether a part of a line that is being filled will be there: all of it, where lines have one."""
    l2 = m.l2
    if l2.part_bits == 0:
        return True
    return l2.coming[channel, mshr] >> part_in(m, line) & 1 != 0 or bytes_of(m, part, HELD) == ALL_BYTES


@jit(inline=True)
def _read(m: Machine, now, channel, line, source, mask, since, base, row, way):
    """Serve a load, or an atomic, which needs its line as a load does and leaves bytes of it dirty."""
    l2 = m.l2
    present = way >= 0
    if present:
        part = (base + way) << l2.part_bits | part_in(m, line)
        if is_filling(row, l2.stride, way):
            mshr = mshr_of(m, base + way)
            if not (_comes(m, channel, mshr, line, part) and may_join(l2.missing[channel])):
                wait(m, channel, L2_LINE + channel)
                return STALLED
            used(m, channel, row, way)
            add_target(m, channel, mshr, source, since, mask, part_in(m, line))
            return MERGED
        if bytes_of(m, part, HELD) == ALL_BYTES:
            used(m, channel, row, way)
            if source & KIND_MASK != READ:
                set_bytes(m, part, DIRTY, bytes_of(m, part, DIRTY) | mask)
            answer(m, now, now + l2.latency, channel, source, since)
            return HIT
    else:
        way = find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel])
        if way < 0:
            wait(m, channel, L2_LINE + channel)
            return STALLED
    mshr = _start_fetch(m, now, channel, line, row, base, way, present)
    if mshr < 0:
        return STALLED
    add_target(m, channel, mshr, source, since, mask, part_in(m, line))
    return MISSED


@jit(inline=True)
def _access(m: Machine, now, channel, line, source, mask, since, base):
    """Serve one request; returns HIT, MERGED, MISSED, or STALLED.

    With STALLED nothing has changed but write-backs and fetches that were begun.
    """
    l2 = m.l2
    kind = source & KIND_MASK
    row = address_in(l2.rows, 2 * base)
    way = way_of(row, l2.stride, tag_of(m, line))
    if kind == WRITE:
        return _write(m, now, channel, line, source, mask, since, base, row, way)
    if l2.write == THROUGH and kind != READ:
        return _atomic_through(m, now, channel, line, source, mask, since)
    return _read(m, now, channel, line, source, mask, since, base, row, way)


@jit(outline=True)
def _serve_oldest(m: Machine, now, channel):
    """Serve the channel's oldest waiting request; returns 0 if it is stalled."""
    l2 = m.l2
    h = l2.i_head[channel]
    line = l2.input[channel, h, P_LINE]
    source = l2.input[channel, h, P_SOURCE]
    mask, since, base = l2.input[channel, h, P_MASK], l2.input[channel, h, P_READY], l2.input[channel, h, P_BASE]
    result = _access(m, now, channel, line, source, mask, since, base)
    if result == STALLED:
        return 0
    if m.timeline.on:
        served(m, channel, result, since, source, line)
    if l2.since == 0:
        l2.since = now
    l2.span_cycles = now + 1 - l2.since
    kind = source & KIND_MASK
    if kind == READ:
        l2.reads += 1
        l2.read_hits += result == HIT
    else:
        if kind == WRITE:
            l2.writes += 1
        else:
            l2.atomics += 1
        l2.bytes_written += popcount(mask)
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
def _attribute_stall(m: Machine, now, channel):
    """Attribute the wait that has just ended to the engine if that caused it, else not.

    The engine caused it if it had no space for a sparse miss, or if its line was waited for.
    """
    l2 = m.l2
    if l2.freed_by_engine[channel] or l2.waits_for[channel] == SPARSE_SLOT + channel + 1:
        l2.engine_part[channel] += now - l2.attributed_to[channel]
    l2.freed_by_engine[channel] = 0
    l2.attributed_to[channel] = now


@jit(inline=True)
def _begin_stall(m: Machine, now, channel):
    """Note that the channel's oldest request, if there is one, waits from this cycle on, unless it does already."""
    l2 = m.l2
    if l2.i_count[channel] and l2.stalled_since[channel] < 0:
        l2.stalled_since[channel] = now
        l2.attributed_to[channel] = now
        l2.engine_part[channel] = 0
        l2.freed_by_engine[channel] = 0


@jit(outline=True)
def _serve_other_half(m: Machine, now, channel):
    """Serve the oldest waiting request in the cycle of the one before it, whose line's other half it is."""
    l2 = m.l2
    h = l2.i_head[channel]
    if crossbar_response_space(m, now, channel):
        if _serve_oldest(m, now, channel):
            return
        _begin_stall(m, now, channel)
    l2.input[channel, h, P_SOURCE] ^= JOINED  # it is served later, alone


@jit(inline=True)
def _try_oldest(m: Machine, now, channel):
    """Serve the channel's oldest waiting request if its port has space and nothing stalls it."""
    l2 = m.l2
    since = l2.stalled_since[channel]
    served = 0
    if since >= 0:
        _attribute_stall(m, now, channel)
    if not crossbar_response_space(m, now, channel):
        l2.waits_for[channel] = RESPONSE_SLOT + channel + 1
        wait_for_answer_credit(m, channel, channel, L2_SERVE)
    elif not still_refused(m, now, channel):
        served = _serve_oldest(m, now, channel)
    if served:
        if since >= 0:
            l2.stall_cycles[channel] += now - since
            l2.engine_stall_cycles[channel] += l2.engine_part[channel]
            l2.stalled_since[channel] = -1
            l2.waits_for[channel] = 0
        if l2.i_count[channel] and l2.input[channel, l2.i_head[channel], P_SOURCE] & JOINED:
            _serve_other_half(m, now, channel)
    else:
        _begin_stall(m, now, channel)


@jit(inline=True)
def l2_serve_tick(m: Machine, now, channel):
    """Serve the channel's oldest waiting request, if there is one and what it waits for may have come free."""
    l2 = m.l2
    resource = l2.waits_for[channel] - 1
    if (l2.i_count[channel] or l2.due[channel]) and not (resource >= 0 and waits(m, resource, channel)):
        if l2.due[channel] and not fetch_due(m, now, channel):
            _begin_stall(m, now, channel)
        elif l2.i_count[channel]:
            _try_oldest(m, now, channel)


@jit(inline=True)
def _take(m: Machine, now, channel, port, joined):
    """Take the port's oldest request for the channel; returns its position in the port."""
    l2, x = m.l2, m.xbar
    n = l2.i_count[channel]
    q = (l2.i_head[channel] + n) & (MAX_INPUT - 1)
    h = crossbar_pop_request(m, now, channel, port)
    line = x.request[port, h, P_LINE]
    base = first_slot(m, channel, line)
    _prefetch_row(m, base)
    l2.input[channel, q, P_BASE] = base
    l2.input[channel, q, P_LINE] = line
    l2.input[channel, q, P_SOURCE] = x.request[port, h, P_SOURCE] | joined
    l2.input[channel, q, P_MASK] = x.request[port, h, P_MASK]
    l2.input[channel, q, P_READY] = now
    l2.i_count[channel] = n + 1
    return h


@jit(outline=True)
def _take_other_half(m: Machine, now, channel, port, h):
    """Take the other half of the line of the request popped at `h`, if the port has it next and there is space."""
    if m.l2.i_count[channel] < m.l2.input_limit and crossbar_other_half(m, now, channel, port, h):
        _take(m, now, channel, port, JOINED)


@jit(inline=True)
def l2_take_tick(m: Machine, now, channel):
    """Take one request from the crossbar if the channel has space; it is served in the next cycle at the soonest."""
    l2 = m.l2
    if l2.i_count[channel] == l2.input_limit:
        wait_for(m, L2_INPUT_SLOT + channel, channel)
        return
    port = crossbar_pick_request(m, now, channel)
    if port < 0:
        return
    h = _take(m, now, channel, port, 0)
    if m.xbar.joins:
        _take_other_half(m, now, channel, port, h)
    wake_at(m, L2_SERVE, now + 1, channel)
    if crossbar_offers(m, channel):
        wake_at(m, L2_TAKE, now + 1, channel)
