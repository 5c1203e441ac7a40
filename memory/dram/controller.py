"""The DRAM channels as the rest of the machine sees them: reads, writes, and the core cycles in which they run.

A channel has banks, buses and a controller of its own. The machine counts core cycles, a channel counts its command
clocks (`clock` below). A run of the unit in core cycle `now` decides every command clock that begins in this cycle;
running a channel more often changes nothing. A channel that holds no request stands still and makes up for the missed
refreshes when the next request comes.
"""

from gpusim.base.jit import Machine, jit, popcount, quotient
from isa.trace import LINE_BYTES
from memory.address_map import dram_local_line
from memory.dram.advance import advance
from memory.dram.commands import bytes_of_burst
from memory.dram.constants import NEVER, READ, WHOLE_LINE, WRITE
from memory.dram.requests import accept, enqueue, held_write, refuse, release, remember_write
from memory.dram.state import DRAM, DRAM_COUNTERS, MICRO, SLOTS, bus_busy_cycles, configure_dram, dram_totals
from memory.ports import DRAM_WRITES, ENGINE_FROM_DRAM, anyone_waits_for_dram, deliver, dram_space_freed
from memory.unit_classes import DRAM as DRAM_CLASS
from memory.wheel import SIZE, wake

__all__ = [
    "DRAM",
    "DRAM_COUNTERS",
    "bus_busy_cycles",
    "configure_dram",
    "dram_has_space",
    "dram_pending",
    "dram_read",
    "dram_tick",
    "dram_totals",
    "dram_write",
]


@jit(cold=True)
def _ideal_tick(m: Machine, now, channel):
    dram_space_freed(m, now, channel)


@jit(inline=True)
def dram_tick(m: Machine, now, channel):
    """Run a channel in core cycle `now`: take what has arrived, decide this cycle's command clocks."""
    dram = m.dram
    state = dram.channel[channel]
    if dram.ideal:
        _ideal_tick(m, now, channel)
        return
    if now >= state.next_look:
        ahead = quotient((now + 1) * dram.clocks + dram.cycles - 1, dram.cycles)
        horizon = now + dram.look_ahead
        look = NEVER
        undecided = 0
        while state.inbound_count and not undecided:
            s = state.inbound[state.inbound_head]
            t = state.slot[s].visible
            if t > horizon or (t > now and state.listed[READ] + state.listed[WRITE] == 0):
                look = t
                break
            clock = quotient(t * dram.clocks + dram.cycles - 1, dram.cycles)
            if state.clock < clock:
                advance(m, channel, clock, ahead)
                undecided = 1 if state.clock < clock else 0
            if undecided:
                look = t
            else:
                enqueue(m, channel, s, clock)
                state.clock = clock
                state.inbound_head = (state.inbound_head + 1) & (SLOTS - 1)
                state.inbound_count -= 1
        if state.listed[READ] + state.listed[WRITE]:
            if not undecided:
                advance(m, channel, quotient((horizon + 1) * dram.clocks + dram.cycles - 1, dram.cycles), ahead)
            if state.listed[READ] + state.listed[WRITE]:
                look = min(look, max(quotient(state.clock * dram.cycles, dram.clocks), now + 1))
        if look < NEVER:
            look = min(look, now + SIZE - 1)
            wake(m, DRAM_CLASS, look, channel)
        state.next_look = look
    release(m, channel, now)
    if state.done_count and anyone_waits_for_dram(m, channel):
        wake(m, DRAM_CLASS, state.done[state.done_head, 0], channel)


@jit(cold=True)
def _ideal(m: Machine, now, channel, kind):
    """Return the cycle in which an access is done in the ideal model, 0 if the channel's backlog fills its queue."""
    dram = m.dram
    state = dram.channel[channel]
    line = dram.ideal_line_microcycles
    start = max(now * MICRO, state.ideal_free)
    space = now * MICRO + dram.depth[kind] * line
    if line and start >= space:
        wake(m, DRAM_CLASS, now + (start - space) // MICRO + 1, channel)
        return 0
    state.ideal_free = start + line
    return (start + line + MICRO - 1) // MICRO + dram.ideal_latency


@jit(inline=True)
def dram_has_space(m: Machine, now, queue):
    """Return 1 if a request that a queue (as `memory.ports` numbers them) has refused may find space in it now."""
    dram = m.dram
    if dram.ideal:
        return 1
    channel = queue & (DRAM_WRITES - 1)
    kind = WRITE if queue >= DRAM_WRITES else READ
    release(m, channel, now - 1)
    if dram.channel[channel].held[kind] < dram.depth[kind]:
        return 1
    refuse(m, channel)
    return 0


@jit
def _note_access(m: Machine, now):
    """Note when the last access was accepted, and when the first one, in any channel."""
    dram = m.dram
    if dram.until == 0:
        dram.until = now
    dram.span_cycles += now + 1 - dram.until
    dram.until = now + 1


@jit(inline=True)
def dram_read(m: Machine, now, channel, line, port, tag):
    """Read a line (byte address >> 6) of a channel, which is answered through `port` with `tag`.

    Returns 1, or 0 if the read queue is full.
    """
    dram = m.dram
    local = dram_local_line(m, line)
    state = dram.channel[channel]
    t = 0
    if dram.ideal:
        t = _ideal(m, now, channel, READ)
        if t == 0:
            return 0
        state.bytes_read += LINE_BYTES
    else:
        release(m, channel, now - 1)
        # a read of a line that is only partly queued goes to the bank and is completed from the queue on return
        w = held_write(m, channel, local)
        if w >= 0 and state.mask[w] == WHOLE_LINE:
            t = now + dram.request_latency + dram.response_latency
            state.read_forwards += 1
    if t:
        deliver(m, t, port, tag)
        state.read_latency += t - now
        state.read_latency_max = max(state.read_latency_max, t - now)
    else:
        if state.held[READ] >= dram.depth[READ]:
            refuse(m, channel)
            return 0
        s = accept(m, now, channel, line, local, READ)
        state.slot[s].port = port
        state.slot[s].tag = tag
        state.slot[s].left = (1 << dram.bursts) - 1
    state.reads += 1
    _note_access(m, now)
    if port >= ENGINE_FROM_DRAM:
        state.engine_reads += 1
    return 1


@jit(inline=True)
def dram_write(m: Machine, now, channel, line, mask):
    """Write the bytes of a channel's line that `mask` names (bit 0: first byte).

    Returns 1, or 0 if the write queue is full.
    """
    dram = m.dram
    state = dram.channel[channel]
    if dram.ideal:
        if _ideal(m, now, channel, WRITE) == 0:
            return 0
        state.bytes_written += LINE_BYTES
        state.bytes_dirty += popcount(mask)
        state.masked_bursts += mask != WHOLE_LINE
        state.writes += 1
        _note_access(m, now)
        return 1
    release(m, channel, now - 1)
    left = 0
    for burst in range(dram.bursts):
        if bytes_of_burst(m, mask, burst):
            left |= 1 << burst
    local = dram_local_line(m, line)
    s = held_write(m, channel, local)
    # a write that is begun gains no bytes, however many of its bursts are left: how many are decided depends on how
    # far the channel has looked ahead. One that is decided ahead of time has all its bytes
    whole_and_ahead = s >= 0 and state.mask[s] == WHOLE_LINE and state.first_burst[s] >= now
    if s >= 0 and (whole_and_ahead or state.first_burst[s] == NEVER):
        state.bytes_merged += popcount(mask & state.mask[s])
        if not whole_and_ahead:
            state.mask[s] |= mask
            state.slot[s].left |= left
        state.write_merges += 1
    elif left:
        if state.held[WRITE] >= dram.depth[WRITE]:
            refuse(m, channel)
            return 0
        s = accept(m, now, channel, line, local, WRITE)
        state.mask[s] = mask
        state.slot[s].left = left
        remember_write(m, channel, s)
    state.writes += 1
    _note_access(m, now)
    return 1


@jit
def dram_pending(m: Machine):
    """Return the number of requests that the channels hold and have not yet served."""
    total = 0
    for channel in range(m.map.dram_channels):
        release(m, channel, m.wheel.far_now)
        held = m.dram.channel[channel].held
        total += held[READ] + held[WRITE]
    return total
