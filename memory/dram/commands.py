"""DRAM commands and requests: what a request's way through its bank and each issued command do to the state."""

from gpusim.jit import ctz, jit, quotient, st_i64, unlikely
from memory.dram.spec import MAX_BANKS
from memory.dram.state import (
    ACTIVATE,
    ACTIVATES_IN_WINDOW,
    BUCKETS,
    CLOSED,
    CONFLICT,
    HIT,
    NEVER,
    PRECHARGE,
    PRECHARGE_ALL,
    READ,
    READ_BURST,
    RECORD_WORDS,
    REFRESH,
    SLOTS,
    WRITE,
)
from memory.ports import CAUSES, deliver_in_order, dram_space_freed


@jit
def line_of_row(m, local):
    """Which line of its row a channel's line is: its low bits, and the bits above the bank group."""
    d = m.dram
    low = local & ((1 << d.group_shift) - 1)
    high = (local >> (d.group_shift + d.group_bits)) & ((1 << (d.column_bits - d.group_shift)) - 1)
    return (high << d.group_shift) | low


@jit
def record_command(m, channel, clock, command, bank, row, column):
    d = m.dram
    if unlikely(d.record_address):
        if d.record_count < d.record_capacity:
            at = d.record_count * RECORD_WORDS
            st_i64(d.record_address, at, channel)
            st_i64(d.record_address, at + 1, clock)
            st_i64(d.record_address, at + 2, command)
            st_i64(d.record_address, at + 3, bank)
            st_i64(d.record_address, at + 4, row)
            st_i64(d.record_address, at + 5, column)
        d.record_count += 1


@jit(outline=True)
def choose(m, channel, kind, bank, clock):
    """Pick what a bank serves next: a line already begun, its oldest request if overdue, else its oldest row hit."""
    d = m.dram
    c = d.channel[channel]
    bit = 1 << bank
    c.hits[kind] &= ~bit
    c.misses[kind] &= ~bit
    begun = (c.begun[kind] >> bank) & 1
    s = c.chosen[kind, bank] if begun else c.head[kind, bank]
    if s >= 0:
        row = c.open_row[bank]
        overdue = d.fcfs or begun or clock - c.slot[s].arrived >= d.age_cap
        if row >= 0 and c.slot[s].row != row and not overdue:
            q = c.slot[s].next
            while q >= 0 and c.slot[q].row != row:
                q = c.slot[q].next
            if q >= 0:
                s = q
        c.claim[kind, bank] = c.slot[s].order * MAX_BANKS + bank
        if c.slot[s].row == row:
            c.hits[kind] |= bit
            c.column_not_before = min(c.column_not_before, c.column_ready[kind, bank])
        else:
            c.misses[kind] |= bit
            if row < 0:
                c.activate_not_before = min(c.activate_not_before, c.activate_ready[bank])
            else:
                t = min(c.precharge_not_before, c.precharge_ready[bank])
                c.precharge_not_before = t
    c.chosen[kind, bank] = s


@jit
def choose_both(m, channel, bank, clock):
    c = m.dram.channel[channel]
    if c.head[READ, bank] >= 0:
        choose(m, channel, READ, bank, clock)
    if c.head[WRITE, bank] >= 0:
        choose(m, channel, WRITE, bank, clock)


@jit(inline=True)
def enqueue(m, channel, s, clock):
    """The scheduler gets a request."""
    c = m.dram.channel[channel]
    kind = c.slot[s].kind
    bank = c.slot[s].bank
    c.slot[s].arrived = clock
    c.slot[s].order = c.sequence
    c.sequence += 1
    c.listed[kind] += 1
    tail = c.tail[kind, bank]
    c.slot[s].next = -1
    c.slot[s].previous = tail
    c.tail[kind, bank] = s
    if tail >= 0:
        c.slot[tail].next = s
    else:
        c.head[kind, bank] = s
    # a choice once made stays, unless the newcomer is the bank's only row hit
    if tail < 0 or ((c.misses[kind] >> bank) & 1 and c.slot[s].row == c.open_row[bank]):
        choose(m, channel, kind, bank, clock)


@jit(outline=True)
def _free_slots(m, channel, now):
    """Free the slots of the requests whose last burst has begun by core cycle `now`."""
    d = m.dram
    c = d.channel[channel]
    while c.done[c.done_head, 0] <= now:
        s = c.done[c.done_head, 1]
        c.done_head = (c.done_head + 1) & (SLOTS - 1)
        c.done_count -= 1
        if c.done_count == 0:
            c.done[c.done_head, 0] = NEVER
        kind = c.slot[s].kind
        if kind == WRITE:
            b = c.slot[s].local & (BUCKETS - 1)
            q = c.bucket[b]
            if q == s:
                c.bucket[b] = c.bucket_next[s]
            else:
                while c.bucket_next[q] != s:
                    q = c.bucket_next[q]
                c.bucket_next[q] = c.bucket_next[s]
        c.slot[s].next = c.free
        c.free = s
        c.held[kind] -= 1
        if c.held[kind] == d.depth[kind] - 1:
            dram_space_freed(m, now, channel)


@jit(inline=True)
def release(m, channel, now):
    """Free the slots of the requests whose last burst has begun by core cycle `now`."""
    c = m.dram.channel[channel]
    if c.done[c.done_head, 0] <= now:
        _free_slots(m, channel, now)


@jit(inline=True)
def _finish(m, channel, s, clock):
    """The last burst of a request begins at `clock`: deliver a read; the slot is free when its core cycle has come."""
    d = m.dram
    c = d.channel[channel]
    kind = c.slot[s].kind
    bank = c.slot[s].bank
    cycle = quotient(clock * d.cycles, d.clocks)
    if kind == READ:
        end = clock + d.read_data_end
        t = quotient(end * d.cycles + d.clocks - 1, d.clocks) + d.response_latency
        turn = (channel - cycle) & (m.map.dram_channels - 1)  # the order in which channels run in that cycle
        deliver_in_order(m, t, c.slot[s].port, c.slot[s].tag, cycle * CAUSES + 1 + turn)
        latency = t - c.slot[s].visible + d.request_latency
        c.read_latency += latency
        c.read_latency_max = max(c.read_latency_max, latency)
        if c.listed[READ] == 1:
            c.read_idle_since = clock
    found = c.slot[s].found
    if found == HIT:
        c.row_hits += 1
    elif found == CLOSED:
        c.row_misses += 1
    else:
        c.row_conflicts += 1
    after = c.slot[s].next
    before = c.slot[s].previous
    if before >= 0:
        c.slot[before].next = after
    else:
        c.head[kind, bank] = after
    if after >= 0:
        c.slot[after].previous = before
    else:
        c.tail[kind, bank] = before
    c.listed[kind] -= 1
    c.turn_served += 1
    q = (c.done_head + c.done_count) & (SLOTS - 1)
    c.done[q, 0] = cycle
    c.done[q, 1] = s
    c.done_count += 1
    choose(m, channel, kind, bank, clock)


@jit(inline=True)
def issue_column(m, channel, kind, bank, clock):
    """Send one burst of the bank's chosen request over the data bus."""
    d = m.dram
    c = d.channel[channel]
    s = c.chosen[kind, bank]
    group = bank & ((1 << d.group_bits) - 1)
    left = c.slot[s].left
    burst = ctz(left)
    left &= left - 1
    c.slot[s].left = left
    c.column_any[kind] = clock + d.tccd_short
    c.column_group[kind, group] = clock + d.tccd_long
    if kind == READ:
        c.column_any[WRITE] = max(c.column_any[WRITE], clock + d.read_to_write)
        c.bytes_read += d.burst_bytes
    else:
        c.column_any[READ] = max(c.column_any[READ], clock + d.write_to_read_short)
        c.column_group[READ, group] = max(c.column_group[READ, group], clock + d.write_to_read_long)
        c.bytes_written += d.burst_bytes
        if c.first_burst[s] == NEVER:
            c.first_burst[s] = quotient(clock * d.cycles, d.clocks)
    c.precharge_ready[bank] = max(c.precharge_ready[bank], clock + d.to_precharge[kind])
    c.data_bus_busy += d.burst_clocks
    column = line_of_row(m, c.slot[s].local)
    record_command(m, channel, clock, READ_BURST + kind, bank, c.slot[s].row, column * d.bursts + burst)
    if left:
        c.begun[kind] |= 1 << bank
    else:
        c.begun[kind] &= ~(1 << bank)
        _finish(m, channel, s, clock)


@jit(inline=True)
def issue_precharge(m, channel, kind, bank, clock):
    """Close the row that is in the way of the bank's chosen request."""
    d = m.dram
    c = d.channel[channel]
    record_command(m, channel, clock, PRECHARGE, bank, c.open_row[bank], 0)
    c.open_row[bank] = -1
    c.open_banks &= ~(1 << bank)
    c.activate_ready[bank] = max(c.activate_ready[bank], clock + d.trp)
    c.precharge_any = clock + d.tppd
    c.precharges += 1
    c.slot[c.chosen[kind, bank]].found = CONFLICT
    choose_both(m, channel, bank, clock)


@jit(inline=True)
def issue_activate(m, channel, kind, bank, clock):
    """Open the row of the bank's chosen request."""
    d = m.dram
    c = d.channel[channel]
    s = c.chosen[kind, bank]
    row = c.slot[s].row
    record_command(m, channel, clock, ACTIVATE, bank, row, 0)
    c.open_row[bank] = row
    c.open_banks |= 1 << bank
    c.column_ready[READ, bank] = clock + d.trcd[READ]
    c.column_ready[WRITE, bank] = clock + d.trcd[WRITE]
    c.precharge_ready[bank] = clock + d.tras
    c.activate_ready[bank] = clock + d.trc
    c.activate_any = clock + d.trrd_short
    c.activate_group[bank & ((1 << d.group_bits) - 1)] = clock + d.trrd_long
    oldest = c.window_oldest
    c.window[oldest] = clock
    c.window_oldest = (oldest + 1) & (ACTIVATES_IN_WINDOW - 1)
    c.activates += 1
    if c.slot[s].found == HIT:
        c.slot[s].found = CLOSED
    choose_both(m, channel, bank, clock)


@jit(cold=True)
def refresh_step(m, channel, clock):
    """Close all banks, then refresh; returns the next clock at which there is something to do."""
    d = m.dram
    c = d.channel[channel]
    any_open = 0
    precharge = c.precharge_any
    refresh = 0
    for bank in range(d.banks):
        refresh = max(refresh, c.activate_ready[bank])
        if c.open_row[bank] >= 0:
            any_open = 1
            precharge = max(precharge, c.precharge_ready[bank])
    if any_open:
        if clock < precharge:
            return precharge
        record_command(m, channel, clock, PRECHARGE_ALL, 0, 0, 0)
        c.precharges += 1
        c.precharge_any = clock + d.tppd
        c.open_banks = 0
        for bank in range(d.banks):
            if c.open_row[bank] >= 0:
                c.open_row[bank] = -1
                c.activate_ready[bank] = max(c.activate_ready[bank], clock + d.trp)
                choose_both(m, channel, bank, clock)
        return clock + 1
    if clock < refresh:
        return refresh
    record_command(m, channel, clock, REFRESH, 0, 0, 0)
    for bank in range(d.banks):
        c.activate_ready[bank] = clock + d.trfc
    c.refresh_at += d.trefi
    c.refreshes += 1
    return clock + 1
