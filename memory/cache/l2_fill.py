"""L2's way back: lines that have come are filled in, and the requests that waited for them answered, oldest first."""

from gpusim.base.jit import Machine, address_in, jit
from memory.cache.l2_state import DIRTY, HELD, T_MASK, T_PART, T_SINCE, T_SOURCE, bytes_of, set_bytes
from memory.cache.missing import LAST, end_miss, join_miss, next_target
from memory.cache.write_policy import ALL_BYTES
from memory.network.crossbar import crossbar_respond, crossbar_response_space, wait_for_answer_credit
from memory.network.state import KIND_MASK, READ
from memory.ports import L2_FROM_DRAM, L2_FROM_ENGINE, port_ready, port_take
from memory.timeline import ANSWERED, record
from memory.unit_classes import L2_FILL, L2_SERVE
from memory.waiting import FILLS, L2_LINE, freed
from memory.wheel import wake, wake_at


@jit
def answer(m: Machine, now, t, channel, source, since):
    """Answer the request that came in cycle `since`, from cycle `t` on, when the channel's response port is free."""
    leaves = crossbar_respond(m, now, t, channel, source)
    if m.timeline.on:
        record(m, ANSWERED, channel | since << 8, source, leaves)
    if source & KIND_MASK == READ:
        m.l2.read_latency += leaves - since
        m.l2.reads_answered += 1


@jit(inline=True)
def add_target(m: Machine, channel, mshr, source, since, mask, part):
    """Have a request wait for the line of an MSHR, after those that already do."""
    l2 = m.l2
    target = join_miss(l2.missing[channel], mshr, LAST)
    l2.target[channel, target, T_SOURCE] = source
    l2.target[channel, target, T_SINCE] = since
    l2.target[channel, target, T_MASK] = mask
    l2.target[channel, target, T_PART] = part


@jit(outline=True)
def _hold_parts(m: Machine, first, coming):
    """Note that parts of a line, of which the first is given, are there in whole. coming: their mask."""
    for part in range(2):
        if coming >> part & 1:
            set_bytes(m, first | part, HELD, ALL_BYTES)


@jit(inline=True)
def _fill(m: Machine, now, channel, mshr, from_engine):
    """Complete the fill of an MSHR's line, if all of it has come, and serve its targets, oldest first."""
    l2 = m.l2
    if l2.part_bits:
        l2.left[channel, mshr] -= 1
        if l2.left[channel, mshr]:
            return
    missing = l2.missing[channel]
    slot = end_miss(missing, mshr, address_in(l2.rows, 0), l2.stride)
    first = slot << l2.part_bits
    if l2.part_bits:
        _hold_parts(m, first, l2.coming[channel, mshr])
    else:
        set_bytes(m, first, HELD, ALL_BYTES)
    if freed(m, L2_LINE + channel):
        l2.freed_by_engine[channel] = from_engine
        wake_at(m, L2_SERVE, now, channel)
    if slot & ~(l2.stride - 1) == l2.missed_in[channel] and l2.waits_for[channel]:
        # another way may be the victim now, so that what it waits for may not be what it needs
        l2.waits_for[channel] = 0
        l2.freed_by_engine[channel] = from_engine
        wake_at(m, L2_SERVE, now, channel)
    target = missing.mshr[mshr].first
    while target >= 0:
        source = l2.target[channel, target, T_SOURCE]
        if source & KIND_MASK != READ:
            part = first | l2.target[channel, target, T_PART]
            set_bytes(m, part, DIRTY, bytes_of(m, part, DIRTY) | l2.target[channel, target, T_MASK])
        answer(m, now, now + l2.fill_latency, channel, source, l2.target[channel, target, T_SINCE])
        target = next_target(missing, target)


@jit
def _take_fill(m: Machine, now, channel, port):
    """Take the oldest line from a port that holds some, if it is there and the channel can answer; 1 if it did."""
    p = m.ports
    took = 0
    if crossbar_response_space(m, now, channel):
        if port_ready(m, now, port):
            _fill(m, now, channel, port_take(m, port), 1 if port >= L2_FROM_ENGINE else 0)
            took = 1
        if p.count[port] and (p.far or port_ready(m, now, port)):
            wake(m, L2_FILL, p.ready[port, p.head[port]], channel)
    else:
        wait_for_answer_credit(m, channel, FILLS, L2_FILL)
    return took


@jit(inline=True)
def l2_fill_tick(m: Machine, now, channel):
    """Take at most one fill from each port of the channel."""
    l2 = m.l2
    if m.ports.count[L2_FROM_DRAM + channel]:
        l2.fills += _take_fill(m, now, channel, L2_FROM_DRAM + channel)
    if m.ports.count[L2_FROM_ENGINE + channel]:
        l2.sparse_fills += _take_fill(m, now, channel, L2_FROM_ENGINE + channel)
