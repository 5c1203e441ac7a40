"""DRAM commands and requests: what a request's way through its bank and each issued command do to the state."""

from gpusim.jit import ctz, jit, st_i64
from memory.dram_spec import LINE_BYTES
from memory.dram_state import (
    ACTIVATE,
    ACTIVATES_IN_WINDOW,
    BUCKETS,
    CLOSED,
    CONFLICT,
    HIT,
    PRECHARGE,
    PRECHARGE_ALL,
    READ,
    READ_BURST,
    RECORD_WORDS,
    REFRESH,
    WRITE,
)
from memory.ports import deliver, dram_space_freed


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
    if d.record_address:
        if d.record_count < d.record_capacity:
            at = d.record_count * RECORD_WORDS
            st_i64(d.record_address, at, channel)
            st_i64(d.record_address, at + 1, clock)
            st_i64(d.record_address, at + 2, command)
            st_i64(d.record_address, at + 3, bank)
            st_i64(d.record_address, at + 4, row)
            st_i64(d.record_address, at + 5, column)
        d.record_count += 1


@jit
def choose(m, channel, kind, bank, clock):
    """Pick what a bank serves next: a line already begun, its oldest request if overdue, else its oldest row hit."""
    d = m.dram
    bit = 1 << bank
    d.hits[channel, kind] &= ~bit
    d.misses[channel, kind] &= ~bit
    begun = (d.begun[channel, kind] >> bank) & 1
    s = d.chosen[channel, kind, bank] if begun else d.head[channel, kind, bank]
    if s >= 0:
        row = d.open_row[channel, bank]
        overdue = d.fcfs or begun or clock - d.arrived[channel, s] >= d.age_cap
        if row >= 0 and d.row[channel, s] != row and not overdue:
            q = d.next[channel, s]
            while q >= 0 and d.row[channel, q] != row:
                q = d.next[channel, q]
            if q >= 0:
                s = q
        if d.row[channel, s] == row:
            d.hits[channel, kind] |= bit
            d.column_not_before[channel] = min(d.column_not_before[channel], d.column_ready[channel, kind, bank])
        else:
            d.misses[channel, kind] |= bit
            if row < 0:
                d.activate_not_before[channel] = min(d.activate_not_before[channel], d.activate_ready[channel, bank])
            else:
                t = min(d.precharge_not_before[channel], d.precharge_ready[channel, bank])
                d.precharge_not_before[channel] = t
    d.chosen[channel, kind, bank] = s


@jit
def choose_both(m, channel, bank, clock):
    d = m.dram
    if d.head[channel, READ, bank] >= 0:
        choose(m, channel, READ, bank, clock)
    if d.head[channel, WRITE, bank] >= 0:
        choose(m, channel, WRITE, bank, clock)


@jit
def enqueue(m, channel, s, clock):
    """The scheduler gets a request."""
    d = m.dram
    kind = d.kind[channel, s]
    bank = d.bank[channel, s]
    d.arrived[channel, s] = clock
    d.order[channel, s] = d.sequence[channel]
    d.sequence[channel] += 1
    d.listed[channel, kind] += 1
    tail = d.tail[channel, kind, bank]
    d.next[channel, s] = -1
    d.previous[channel, s] = tail
    d.tail[channel, kind, bank] = s
    if tail >= 0:
        d.next[channel, tail] = s
    else:
        d.head[channel, kind, bank] = s
    # a choice once made stays, unless the newcomer is the bank's only row hit
    if tail < 0 or ((d.misses[channel, kind] >> bank) & 1 and d.row[channel, s] == d.open_row[channel, bank]):
        choose(m, channel, kind, bank, clock)


@jit
def _finish(m, now, channel, s, clock):
    """The last burst of a request is on its way: deliver a read, free the slot."""
    d = m.dram
    kind = d.kind[channel, s]
    bank = d.bank[channel, s]
    if kind == READ:
        end = clock + d.read_data_end
        t = (end * d.cycles + d.clocks - 1) // d.clocks + d.response_latency
        deliver(m, t, d.port[channel, s], d.tag[channel, s])
        latency = t - d.accepted[channel, s]
        d.read_latency[channel] += latency
        d.read_latency_max[channel] = max(d.read_latency_max[channel], latency)
        if d.listed[channel, READ] == 1:
            d.read_idle_since[channel] = clock
    else:
        b = d.local[channel, s] & (BUCKETS - 1)
        q = d.bucket[channel, b]
        if q == s:
            d.bucket[channel, b] = d.bucket_next[channel, s]
        else:
            while d.bucket_next[channel, q] != s:
                q = d.bucket_next[channel, q]
            d.bucket_next[channel, q] = d.bucket_next[channel, s]
    found = d.found[channel, s]
    if found == HIT:
        d.row_hits[channel] += 1
    elif found == CLOSED:
        d.row_misses[channel] += 1
    else:
        d.row_conflicts[channel] += 1
    after = d.next[channel, s]
    before = d.previous[channel, s]
    if before >= 0:
        d.next[channel, before] = after
    else:
        d.head[channel, kind, bank] = after
    if after >= 0:
        d.previous[channel, after] = before
    else:
        d.tail[channel, kind, bank] = before
    d.next[channel, s] = d.free[channel]
    d.free[channel] = s
    d.listed[channel, kind] -= 1
    d.held[channel, kind] -= 1
    d.turn_served[channel] += 1
    if d.held[channel, kind] == d.depth[kind] - 1:
        dram_space_freed(m, now, channel)
    choose(m, channel, kind, bank, clock)


@jit
def issue_column(m, now, channel, kind, bank, clock):
    """Send one burst of the bank's chosen request over the data bus."""
    d = m.dram
    s = d.chosen[channel, kind, bank]
    group = bank & ((1 << d.group_bits) - 1)
    left = d.left[channel, s]
    burst = ctz(left)
    left &= left - 1
    d.left[channel, s] = left
    d.column_any[channel, kind] = clock + d.tccd_short
    d.column_group[channel, kind, group] = clock + d.tccd_long
    if kind == READ:
        d.column_any[channel, WRITE] = max(d.column_any[channel, WRITE], clock + d.read_to_write)
        d.bytes_read[channel] += LINE_BYTES // d.bursts
    else:
        d.column_any[channel, READ] = max(d.column_any[channel, READ], clock + d.write_to_read_short)
        d.column_group[channel, READ, group] = max(d.column_group[channel, READ, group], clock + d.write_to_read_long)
        d.bytes_written[channel] += LINE_BYTES // d.bursts
    d.precharge_ready[channel, bank] = max(d.precharge_ready[channel, bank], clock + d.to_precharge[kind])
    d.data_bus_busy[channel] += d.burst_clocks
    column = line_of_row(m, d.local[channel, s])
    record_command(m, channel, clock, READ_BURST + kind, bank, d.row[channel, s], column * d.bursts + burst)
    if left:
        d.begun[channel, kind] |= 1 << bank
    else:
        d.begun[channel, kind] &= ~(1 << bank)
        _finish(m, now, channel, s, clock)


@jit
def issue_precharge(m, channel, kind, bank, clock):
    """Close the row that is in the way of the bank's chosen request."""
    d = m.dram
    record_command(m, channel, clock, PRECHARGE, bank, d.open_row[channel, bank], 0)
    d.open_row[channel, bank] = -1
    d.open_banks[channel] &= ~(1 << bank)
    d.activate_ready[channel, bank] = max(d.activate_ready[channel, bank], clock + d.trp)
    d.precharge_any[channel] = clock + d.tppd
    d.precharges[channel] += 1
    d.found[channel, d.chosen[channel, kind, bank]] = CONFLICT
    choose_both(m, channel, bank, clock)


@jit
def issue_activate(m, channel, kind, bank, clock):
    """Open the row of the bank's chosen request."""
    d = m.dram
    s = d.chosen[channel, kind, bank]
    row = d.row[channel, s]
    record_command(m, channel, clock, ACTIVATE, bank, row, 0)
    d.open_row[channel, bank] = row
    d.open_banks[channel] |= 1 << bank
    d.column_ready[channel, READ, bank] = clock + d.trcd[READ]
    d.column_ready[channel, WRITE, bank] = clock + d.trcd[WRITE]
    d.precharge_ready[channel, bank] = clock + d.tras
    d.activate_ready[channel, bank] = clock + d.trc
    d.activate_any[channel] = clock + d.trrd_short
    d.activate_group[channel, bank & ((1 << d.group_bits) - 1)] = clock + d.trrd_long
    oldest = d.window_oldest[channel]
    d.window[channel, oldest] = clock
    d.window_oldest[channel] = (oldest + 1) & (ACTIVATES_IN_WINDOW - 1)
    d.activates[channel] += 1
    if d.found[channel, s] == HIT:
        d.found[channel, s] = CLOSED
    choose_both(m, channel, bank, clock)


@jit
def refresh_step(m, channel, clock):
    """Close all banks, then refresh; returns the next clock at which there is something to do."""
    d = m.dram
    any_open = 0
    precharge = d.precharge_any[channel]
    refresh = 0
    for bank in range(d.banks):
        refresh = max(refresh, d.activate_ready[channel, bank])
        if d.open_row[channel, bank] >= 0:
            any_open = 1
            precharge = max(precharge, d.precharge_ready[channel, bank])
    if any_open:
        if clock < precharge:
            return precharge
        record_command(m, channel, clock, PRECHARGE_ALL, 0, 0, 0)
        d.precharges[channel] += 1
        d.precharge_any[channel] = clock + d.tppd
        d.open_banks[channel] = 0
        for bank in range(d.banks):
            if d.open_row[channel, bank] >= 0:
                d.open_row[channel, bank] = -1
                d.activate_ready[channel, bank] = max(d.activate_ready[channel, bank], clock + d.trp)
                choose_both(m, channel, bank, clock)
        return clock + 1
    if clock < refresh:
        return refresh
    record_command(m, channel, clock, REFRESH, 0, 0, 0)
    for bank in range(d.banks):
        d.activate_ready[channel, bank] = clock + d.trfc
    d.refresh_at[channel] += d.trefi
    d.refreshes[channel] += 1
    return clock + 1
