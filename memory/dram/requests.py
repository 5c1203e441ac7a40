"""Requests of a channel: their slots, their way to the scheduler, their order within a bank, and their end."""

from gpusim.base.jit import Machine, jit, quotient
from memory.address_map import bank_of_line
from memory.dram.constants import (
    ACTIVATE,
    CLOSED,
    HIT,
    MAX_BANKS,
    NEVER,
    PRECHARGE,
    READ,
    READ_BURST,
    WRITE,
)
from memory.dram.scheduler import oldest_goes_first
from memory.dram.state import BUCKETS, SLOTS
from memory.ports import CAUSES, deliver_in_order, dram_space_freed
from memory.unit_classes import DRAM as DRAM_CLASS
from memory.wheel import SIZE, wake, wake_at


@jit(inline=True)
def bank_and_row(m: Machine, line, local):
    """Return the bank (bits 0-7) and row (from bit 8) of a line; local: its number within the channel."""
    dram = m.dram
    # pseudo-channels change with every few lines, so that a stream uses both data buses
    pseudo_channel = (local >> dram.group_shift) & ((1 << dram.pseudo_bits) - 1)
    local >>= dram.pseudo_bits + dram.rank_shift + dram.column_bits
    # ranks change last but for the row: to change them costs idle clocks of the data bus
    rank = (local & ((1 << dram.rank_bits) - 1)) | pseudo_channel
    return (local >> dram.rank_bits) << 8 | rank << dram.rank_shift | bank_of_line(m, line)


@jit
def line_of_row(m: Machine, local):
    """Return which line of its row a channel's line is: its low bits, and the bits above the bank group."""
    dram = m.dram
    low = local & ((1 << dram.group_shift) - 1)
    high = local >> (dram.group_shift + dram.pseudo_bits + dram.group_bits)
    return ((high & ((1 << (dram.column_bits - dram.group_shift)) - 1)) << dram.group_shift) | low


@jit(outline=True)
def choose(m: Machine, channel, kind, bank, clock):
    """Pick the request that a bank serves next.

    It is a line already begun, its oldest request if that goes first, else its oldest row hit.
    """
    state = m.dram.channel[channel]
    bit = 1 << bank
    state.hits[kind] &= ~bit
    state.misses[kind] &= ~bit
    begun = (state.begun[kind] >> bank) & 1
    s = state.chosen[kind, bank] if begun else state.head[kind, bank]
    if s >= 0:
        row = state.open_row[bank]
        first = begun or oldest_goes_first(m, channel, kind, bank, s, clock)
        if row >= 0 and state.slot[s].row != row and not first:
            hit = state.slot[s].next
            while hit >= 0 and state.slot[hit].row != row:
                hit = state.slot[hit].next
            if hit >= 0:
                s = hit
        state.claim[kind, bank] = state.slot[s].order * MAX_BANKS + bank
        if state.slot[s].row == row:
            state.hits[kind] |= bit
            state.column_not_before = min(state.column_not_before, state.earliest[bank, READ_BURST + kind])
        else:
            state.misses[kind] |= bit
            if row < 0:
                state.activate_not_before = min(state.activate_not_before, state.earliest[bank, ACTIVATE])
            else:
                state.precharge_not_before = min(state.precharge_not_before, state.earliest[bank, PRECHARGE])
    state.chosen[kind, bank] = s


@jit
def choose_both(m: Machine, channel, bank, clock):
    """Pick the bank's next read and its next write anew, as its row was opened or closed."""
    state = m.dram.channel[channel]
    if state.head[READ, bank] >= 0:
        choose(m, channel, READ, bank, clock)
    if state.head[WRITE, bank] >= 0:
        choose(m, channel, WRITE, bank, clock)


@jit(inline=True)
def enqueue(m: Machine, channel, s, clock):
    """Hand a request to the scheduler, as the last of its bank."""
    state = m.dram.channel[channel]
    kind = state.slot[s].kind
    bank = state.slot[s].bank
    state.slot[s].arrived = clock
    state.slot[s].order = state.sequence
    state.sequence += 1
    state.listed[kind] += 1
    tail = state.tail[kind, bank]
    state.slot[s].next = -1
    state.slot[s].previous = tail
    state.tail[kind, bank] = s
    if tail >= 0:
        state.slot[tail].next = s
    else:
        state.head[kind, bank] = s
    # a choice once made stays, unless the newcomer is the bank's only row hit
    if tail < 0 or ((state.misses[kind] >> bank) & 1 and state.slot[s].row == state.open_row[bank]):
        choose(m, channel, kind, bank, clock)


@jit(inline=True)
def finish(m: Machine, channel, s, clock):
    """Complete a request whose last burst begins at `clock`: deliver a read.

    The slot is free when the core cycle of that clock has come.
    """
    dram = m.dram
    state = dram.channel[channel]
    kind = state.slot[s].kind
    bank = state.slot[s].bank
    cycle = quotient(clock * dram.cycles, dram.clocks)
    if kind == READ:
        end = clock + dram.read_data_end
        t = quotient(end * dram.cycles + dram.clocks - 1, dram.clocks) + dram.response_latency
        # answers that come in one cycle are ordered as if channels ran in that cycle, not ahead of it
        order = (channel - cycle) & (m.map.dram_channels - 1)
        deliver_in_order(m, t, state.slot[s].port, state.slot[s].tag, cycle * CAUSES + 1 + order)
        latency = t - state.slot[s].visible + dram.request_latency
        state.read_latency += latency
        state.read_latency_max = max(state.read_latency_max, latency)
        if state.listed[READ] == 1:
            state.read_idle_since = clock
    found = state.slot[s].found
    if found == HIT:
        state.row_hits += 1
    elif found == CLOSED:
        state.row_misses += 1
    else:
        state.row_conflicts += 1
    after = state.slot[s].next
    before = state.slot[s].previous
    if before >= 0:
        state.slot[before].next = after
    else:
        state.head[kind, bank] = after
    if after >= 0:
        state.slot[after].previous = before
    else:
        state.tail[kind, bank] = before
    state.listed[kind] -= 1
    state.batches += state.served == 0
    state.served += 1
    last = (state.done_head + state.done_count) & (SLOTS - 1)
    state.done[last, 0] = cycle
    state.done[last, 1] = s
    state.done_count += 1
    choose(m, channel, kind, bank, clock)


@jit(outline=True)
def _free_slots(m: Machine, channel, now):
    """Free the slots of the requests whose last burst has begun by core cycle `now`."""
    dram = m.dram
    state = dram.channel[channel]
    while state.done[state.done_head, 0] <= now:
        s = state.done[state.done_head, 1]
        state.done_head = (state.done_head + 1) & (SLOTS - 1)
        state.done_count -= 1
        if state.done_count == 0:
            state.done[state.done_head, 0] = NEVER
        kind = state.slot[s].kind
        if kind == WRITE:
            _forget_write(m, channel, s)
        state.slot[s].next = state.free
        state.free = s
        state.held[kind] -= 1
        if state.held[kind] == dram.depth[kind] - 1:
            dram_space_freed(m, now, channel)


@jit(inline=True)
def release(m: Machine, channel, now):
    """Free the slots of the requests whose last burst has begun by core cycle `now`."""
    state = m.dram.channel[channel]
    if state.done[state.done_head, 0] <= now:
        _free_slots(m, channel, now)


@jit
def held_write(m: Machine, channel, local):
    """Return the slot of the held write of a line, -1 if there is none."""
    state = m.dram.channel[channel]
    s = state.bucket[local & (BUCKETS - 1)]
    while s >= 0 and state.slot[s].local != local:
        s = state.bucket_next[s]
    return s


@jit(inline=True)
def remember_write(m: Machine, channel, s):
    """Let later reads and writes of the line find the write in slot `s`."""
    state = m.dram.channel[channel]
    b = state.slot[s].local & (BUCKETS - 1)
    state.bucket_next[s] = state.bucket[b]
    state.bucket[b] = s


@jit(inline=True)
def _forget_write(m: Machine, channel, s):
    state = m.dram.channel[channel]
    b = state.slot[s].local & (BUCKETS - 1)
    q = state.bucket[b]
    if q == s:
        state.bucket[b] = state.bucket_next[s]
    else:
        while state.bucket_next[q] != s:
            q = state.bucket_next[q]
        state.bucket_next[q] = state.bucket_next[s]


@jit(outline=True)
def accept(m: Machine, now, channel, line, local, kind):
    """Give a request a slot and send it to the scheduler; returns the slot."""
    dram = m.dram
    state = dram.channel[channel]
    s = state.free
    state.free = state.slot[s].next
    where = bank_and_row(m, line, local)
    state.slot[s].kind = kind
    state.slot[s].local = local
    state.slot[s].bank = where & 255
    state.slot[s].row = where >> 8
    state.slot[s].found = HIT
    state.first_burst[s] = NEVER
    t = now + dram.request_latency
    state.slot[s].visible = t
    state.held[kind] += 1
    state.inbound[(state.inbound_head + state.inbound_count) & (SLOTS - 1)] = s
    state.inbound_count += 1
    if not now <= state.next_look <= t:
        state.next_look = min(t, now + SIZE - 1)
        wake_at(m, DRAM_CLASS, state.next_look, channel)
    return s


@jit(outline=True)
def refuse(m: Machine, channel):
    """Have the channel run when its next request is served, to wake the unit that found a queue full."""
    state = m.dram.channel[channel]
    if state.done_count:
        wake(m, DRAM_CLASS, state.done[state.done_head, 0], channel)
