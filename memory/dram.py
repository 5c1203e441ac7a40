"""DRAM channels: banks, rows, buses, refresh, and the controllers that schedule them, command by command.

The machine counts core cycles, a channel counts its part's command clocks (`clocks` below). A run of the unit
in core cycle `now` decides every command clock that begins in this cycle; what could be issued when is a
function of state and clock alone, so running a channel more often changes nothing. A channel that holds no
request stands still and makes up for the missed refreshes when the next request comes.
"""

from gpusim.jit import ctz, jit
from memory.address_map import dram_channel, dram_local_line
from memory.dram_commands import (
    enqueue,
    issue_activate,
    issue_column,
    issue_precharge,
    line_of_row,
    refresh_step,
)
from memory.dram_spec import LINE_BYTES
from memory.dram_state import (
    BUCKETS,
    DRAM,
    DRAM_COUNTERS,
    HIT,
    MICRO,
    NEVER,
    READ,
    SLOTS,
    WRITE,
    configure_dram,
    dram_totals,
)
from memory.ports import ENGINE_FROM_DRAM, deliver, dram_space_freed
from memory.wheel import DRAM as DRAM_CLASS
from memory.wheel import wake

__all__ = [
    "DRAM",
    "DRAM_COUNTERS",
    "configure_dram",
    "dram_pending",
    "dram_place",
    "dram_read",
    "dram_tick",
    "dram_totals",
    "dram_write",
]

ENDING = 2  # added to READ or WRITE: a turn that ends with the lines begun
ALL_BANKS = -1
WHOLE_LINE = -1  # mask of all 64 bytes


@jit
def dram_place(m, line):
    """Where a line lies in its channel: bank (bits 0-7), line of the row (bits 8-23), row (from bit 24)."""
    d = m.dram
    local = dram_local_line(m, line)
    column = line_of_row(m, local)
    group = (local >> d.group_shift) & ((1 << d.group_bits) - 1)
    local >>= d.group_bits + d.column_bits
    bank = local & ((1 << d.bank_bits) - 1)
    row = local >> d.bank_bits
    if d.bank_hash:
        bank ^= row & ((1 << d.bank_bits) - 1)
        group ^= (row >> d.bank_bits) & ((1 << d.group_bits) - 1)
    return (row << 24) | (column << 8) | (bank << d.group_bits) | group


@jit
def _ready_column(m, channel, kind, banks, clock):
    """Bank of the oldest request in `banks` that can have a burst now, or -1 - the first clock for one."""
    d = m.dram
    groups = (1 << d.group_bits) - 1
    best = -1
    best_order = NEVER
    soonest = NEVER
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = max(d.column_ready[channel, kind, bank], d.column_group[channel, kind, bank & groups])
        if t <= clock:
            order = d.order[channel, d.chosen[channel, kind, bank]]
            if order < best_order:
                best_order = order
                best = bank
        elif t < soonest:
            soonest = t
    return best if best >= 0 else -1 - soonest


@jit
def _ready_activate(m, channel, kind, banks, clock):
    """Bank of the oldest request in `banks` whose row can be opened now, or -1 - the first clock for one."""
    d = m.dram
    groups = (1 << d.group_bits) - 1
    best = -1
    best_order = NEVER
    soonest = NEVER
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = max(d.activate_ready[channel, bank], d.activate_group[channel, bank & groups])
        if t <= clock:
            order = d.order[channel, d.chosen[channel, kind, bank]]
            if order < best_order:
                best_order = order
                best = bank
        elif t < soonest:
            soonest = t
    return best if best >= 0 else -1 - soonest


@jit
def _ready_precharge(m, channel, kind, banks, clock):
    """Bank of the oldest request in `banks` whose old row can be closed now, or -1 - the first clock for one."""
    d = m.dram
    best = -1
    best_order = NEVER
    soonest = NEVER
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = d.precharge_ready[channel, bank]
        if t <= clock:
            order = d.order[channel, d.chosen[channel, kind, bank]]
            if order < best_order:
                best_order = order
                best = bank
        elif t < soonest:
            soonest = t
    return best if best >= 0 else -1 - soonest


@jit
def _turn(m, channel, clock):
    """READ or WRITE: whose turn it is; plus ENDING if the turn ends with the lines that are begun.

    A turn lasts a batch of requests while the other side presses, so neither starves.
    """
    d = m.dram
    turn = d.turn[channel]
    reads = d.listed[channel, READ]
    writes = d.listed[channel, WRITE]
    had_batch = d.turn_served[channel] >= d.write_high - d.write_low
    if turn == READ:
        if reads:
            change = writes >= d.write_high and had_batch
        else:
            idle = clock >= d.read_idle_since[channel] + d.write_idle
            change = writes > d.write_low or (writes > 0 and idle)
    else:
        change = writes == 0 or (reads > 0 and (writes <= d.write_low or had_batch))
    if change:
        if d.begun[channel, turn]:
            return turn + ENDING
        turn = READ + WRITE - turn
        d.turn[channel] = turn
        d.turn_served[channel] = 0
        d.column_not_before[channel] = 0
        d.activate_not_before[channel] = 0
        d.precharge_not_before[channel] = 0
        d.turns[channel] += 1
    return turn


@jit
def _oldest_bank(m, channel, kind):
    """Bit of the bank that holds the oldest request of a kind, 0 if there is none."""
    d = m.dram
    banks = d.hits[channel, kind] | d.misses[channel, kind]
    best_order = NEVER
    best = 0
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        order = d.order[channel, d.head[channel, kind, bank]]
        if order < best_order:
            best_order = order
            best = 1 << bank
    return best


@jit
def _advance(m, now, channel, limit):
    """Decide all clocks before `limit`, jumping over those in which nothing can be issued."""
    d = m.dram
    clock = d.clock[channel]
    while clock < limit:
        soonest = d.refresh_at[channel]
        if clock >= soonest:
            clock = refresh_step(m, channel, clock)
            continue
        kind = _turn(m, channel, clock)
        allowed = ALL_BANKS
        if kind >= ENDING:
            kind -= ENDING
            allowed = d.begun[channel, kind]
        if d.listed[channel, kind] == 0:
            if d.listed[channel, WRITE]:
                soonest = min(soonest, d.read_idle_since[channel] + d.write_idle)
            clock = soonest
            continue
        if d.fcfs:
            allowed = _oldest_bank(m, channel, kind)
        issued = 0
        banks = d.hits[channel, kind] & allowed
        if banks:
            t = max(d.column_any[channel, kind], d.column_not_before[channel])
            if clock >= t:
                bank = _ready_column(m, channel, kind, banks, clock)
                if bank >= 0:
                    issue_column(m, now, channel, kind, bank, clock)
                    issued = 1
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        d.column_not_before[channel] = t
            soonest = min(soonest, t)
        row_bus_free = issued == 0 or d.split_bus
        banks = d.misses[channel, kind] & allowed & ~d.open_banks[channel]
        if banks and row_bus_free:
            t = max(d.activate_any[channel], d.window[channel, d.window_oldest[channel]] + d.tfaw)
            t = max(t, d.activate_not_before[channel])
            if clock >= t:
                bank = _ready_activate(m, channel, kind, banks, clock)
                if bank >= 0:
                    issue_activate(m, channel, kind, bank, clock)
                    issued = 1
                    row_bus_free = False
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        d.activate_not_before[channel] = t
            soonest = min(soonest, t)
        banks = d.misses[channel, kind] & allowed & d.open_banks[channel]
        if banks and row_bus_free:
            t = max(d.precharge_any[channel], d.precharge_not_before[channel])
            if clock >= t:
                bank = _ready_precharge(m, channel, kind, banks, clock)
                if bank >= 0:
                    issue_precharge(m, channel, kind, bank, clock)
                    issued = 1
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        d.precharge_not_before[channel] = t
            soonest = min(soonest, t)
        clock = clock + 1 if issued else soonest
    d.clock[channel] = clock


@jit
def dram_tick(m, now, channel):
    """Run a channel in core cycle `now`: take what has arrived, decide this cycle's command clocks."""
    d = m.dram
    if d.ideal:
        dram_space_freed(m, now, channel)
        return
    while d.inbound_count[channel]:
        s = d.inbound[channel, d.inbound_head[channel]]
        t = d.visible[channel, s]
        if t > now:
            wake(m, DRAM_CLASS, t, channel)
            break
        clock = (t * d.clocks + d.cycles - 1) // d.cycles
        _advance(m, now, channel, clock)
        enqueue(m, channel, s, clock)
        d.clock[channel] = clock
        d.inbound_head[channel] = (d.inbound_head[channel] + 1) & (SLOTS - 1)
        d.inbound_count[channel] -= 1
    if d.listed[channel, READ] + d.listed[channel, WRITE]:
        _advance(m, now, channel, ((now + 1) * d.clocks + d.cycles - 1) // d.cycles)
        if d.listed[channel, READ] + d.listed[channel, WRITE]:
            wake(m, DRAM_CLASS, d.clock[channel] * d.cycles // d.clocks, channel)


@jit
def _ideal(m, now, channel, kind):
    """Ideal model: cycle in which an access is done, 0 if the channel's backlog is as long as its queue."""
    d = m.dram
    line = d.ideal_line_microcycles
    start = max(now * MICRO, d.ideal_free[channel])
    room = now * MICRO + d.depth[kind] * line
    if line and start >= room:
        wake(m, DRAM_CLASS, now + (start - room) // MICRO + 1, channel)
        return 0
    d.ideal_free[channel] = start + line
    d.data_bus_busy[channel] += d.bursts * d.burst_clocks
    return (start + line + MICRO - 1) // MICRO + d.ideal_latency


@jit
def _held_write(m, channel, local):
    """Slot of the held write of a line, -1 if there is none."""
    d = m.dram
    s = d.bucket[channel, local & (BUCKETS - 1)]
    while s >= 0 and d.local[channel, s] != local:
        s = d.bucket_next[channel, s]
    return s


@jit
def _accept(m, now, channel, line, kind):
    """Give a request a slot and send it to the scheduler; returns the slot."""
    d = m.dram
    s = d.free[channel]
    d.free[channel] = d.next[channel, s]
    place = dram_place(m, line)
    d.kind[channel, s] = kind
    d.local[channel, s] = dram_local_line(m, line)
    d.bank[channel, s] = place & 255
    d.row[channel, s] = place >> 24
    d.found[channel, s] = HIT
    d.accepted[channel, s] = now
    t = now + d.request_latency
    d.visible[channel, s] = t
    d.held[channel, kind] += 1
    d.inbound[channel, (d.inbound_head[channel] + d.inbound_count[channel]) & (SLOTS - 1)] = s
    d.inbound_count[channel] += 1
    wake(m, DRAM_CLASS, t, channel)
    return s


@jit
def dram_read(m, now, line, port, tag):
    """Read a line (byte address >> 6); answered through `port` with `tag`. 1: accepted, 0: read queue full."""
    d = m.dram
    channel = dram_channel(m, line)
    t = 0
    if d.ideal:
        t = _ideal(m, now, channel, READ)
        if t == 0:
            d.read_full[channel] += 1
            return 0
        d.bytes_read[channel] += LINE_BYTES
    else:
        # a read of a line that is only partly queued goes to the bank and is completed from the queue on return
        w = _held_write(m, channel, dram_local_line(m, line))
        if w >= 0 and d.mask[channel, w] == WHOLE_LINE:
            t = now + d.request_latency + d.response_latency
            d.read_forwards[channel] += 1
    if t:
        deliver(m, t, port, tag)
        d.read_latency[channel] += t - now
        d.read_latency_max[channel] = max(d.read_latency_max[channel], t - now)
    else:
        if d.held[channel, READ] >= d.depth[READ]:
            d.read_full[channel] += 1
            return 0
        s = _accept(m, now, channel, line, READ)
        d.port[channel, s] = port
        d.tag[channel, s] = tag
        d.left[channel, s] = (1 << d.bursts) - 1
    d.reads[channel] += 1
    if port >= ENGINE_FROM_DRAM:
        d.engine_reads[channel] += 1
    return 1


@jit
def dram_write(m, now, line, mask):
    """Write the bytes of a line that `mask` names (bit 0: first byte). 1: accepted, 0: write queue full."""
    d = m.dram
    channel = dram_channel(m, line)
    if d.ideal:
        if _ideal(m, now, channel, WRITE) == 0:
            d.write_full[channel] += 1
            return 0
        d.bytes_written[channel] += LINE_BYTES
        d.writes[channel] += 1
        return 1
    left = 0
    burst_bytes = LINE_BYTES // d.bursts
    burst_mask = WHOLE_LINE if d.bursts == 1 else (1 << burst_bytes) - 1
    for burst in range(d.bursts):
        if (mask >> (burst * burst_bytes)) & burst_mask:
            left |= 1 << burst
    local = dram_local_line(m, line)
    s = _held_write(m, channel, local)
    if s >= 0:
        d.mask[channel, s] |= mask
        d.left[channel, s] |= left
        d.write_merges[channel] += 1
    elif left:
        if d.held[channel, WRITE] >= d.depth[WRITE]:
            d.write_full[channel] += 1
            return 0
        s = _accept(m, now, channel, line, WRITE)
        d.mask[channel, s] = mask
        d.left[channel, s] = left
        b = local & (BUCKETS - 1)
        d.bucket_next[channel, s] = d.bucket[channel, b]
        d.bucket[channel, b] = s
    d.writes[channel] += 1
    return 1


@jit
def dram_pending(m):
    """Requests that the channels hold and have not yet served."""
    total = 0
    for channel in range(m.map.dram_channels):
        total += m.dram.held[channel, READ] + m.dram.held[channel, WRITE]
    return total
