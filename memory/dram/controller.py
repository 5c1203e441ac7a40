"""DRAM channels: banks, rows, buses, refresh, and the controllers that schedule them, command by command.

The machine counts core cycles, a channel counts its part's command clocks (`clocks` below). A run of the unit
in core cycle `now` decides every command clock that begins in this cycle; what could be issued when is a
function of state and clock alone, so running a channel more often changes nothing. A channel that holds no
request stands still and makes up for the missed refreshes when the next request comes.
"""

from gpusim.jit import ctz, jit, quotient, unlikely
from memory.address_map import dram_local_line
from memory.dram.commands import (
    enqueue,
    issue_activate,
    issue_column,
    issue_precharge,
    refresh_step,
    release,
)
from memory.dram.spec import LINE_BYTES, MAX_BANKS
from memory.dram.state import (
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
from memory.ports import DRAM_WRITES, ENGINE_FROM_DRAM, deliver, dram_space_freed
from memory.wheel import DRAM as DRAM_CLASS
from memory.wheel import SIZE, wake, wake_at

__all__ = [
    "DRAM",
    "DRAM_COUNTERS",
    "configure_dram",
    "dram_has_room",
    "dram_pending",
    "dram_read",
    "dram_tick",
    "dram_totals",
    "dram_write",
]

ENDING = 2  # added to READ or WRITE: a turn that ends with the lines begun
ALL_BANKS = -1
WHOLE_LINE = -1  # mask of all 64 bytes


@jit(inline=True)
def _place(m, local):
    """Where a channel's line lies: bank (bits 0-7), row (from bit 8)."""
    d = m.dram
    group = (local >> d.group_shift) & ((1 << d.group_bits) - 1)
    local >>= d.group_bits + d.column_bits
    bank = local & ((1 << d.bank_bits) - 1)
    row = local >> d.bank_bits
    if d.bank_hash:
        bank ^= row & ((1 << d.bank_bits) - 1)
        group ^= (row >> d.bank_bits) & ((1 << d.group_bits) - 1)
    return (row << 8) | (bank << d.group_bits) | group


@jit(inline=True)
def _ready_column(m, channel, kind, banks, clock):
    """Bank of the oldest request in `banks` that can have a burst now, or -1 - the first clock for one."""
    d = m.dram
    c = d.channel[channel]
    groups = (1 << d.group_bits) - 1
    best = NEVER
    soonest = NEVER
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = max(c.column_ready[kind, bank], c.column_group[kind, bank & groups])
        # NEVER is a bit that only negative numbers have set: no branch, as which bank comes late has no pattern
        best = min(best, c.claim[kind, bank] | ((clock - t) & NEVER))
        soonest = min(soonest, t)
    return best & (MAX_BANKS - 1) if best < NEVER else -1 - soonest


@jit(inline=True)
def _ready_activate(m, channel, kind, banks, clock):
    """Bank of the oldest request in `banks` whose row can be opened now, or -1 - the first clock for one."""
    d = m.dram
    c = d.channel[channel]
    groups = (1 << d.group_bits) - 1
    best = NEVER
    soonest = NEVER
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = max(c.activate_ready[bank], c.activate_group[bank & groups])
        # NEVER is a bit that only negative numbers have set: no branch, as which bank comes late has no pattern
        best = min(best, c.claim[kind, bank] | ((clock - t) & NEVER))
        soonest = min(soonest, t)
    return best & (MAX_BANKS - 1) if best < NEVER else -1 - soonest


@jit(inline=True)
def _ready_precharge(m, channel, kind, banks, clock):
    """Bank of the oldest request in `banks` whose old row can be closed now, or -1 - the first clock for one."""
    c = m.dram.channel[channel]
    best = NEVER
    soonest = NEVER
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = c.precharge_ready[bank]
        # NEVER is a bit that only negative numbers have set: no branch, as which bank comes late has no pattern
        best = min(best, c.claim[kind, bank] | ((clock - t) & NEVER))
        soonest = min(soonest, t)
    return best & (MAX_BANKS - 1) if best < NEVER else -1 - soonest


@jit(inline=True)
def _turn(m, channel, clock):
    """READ or WRITE: whose turn it is; plus ENDING if the turn ends with the lines that are begun.

    A turn lasts a batch of requests while the other side presses, so neither starves.
    """
    d = m.dram
    c = d.channel[channel]
    turn = c.turn
    reads = c.listed[READ]
    writes = c.listed[WRITE]
    had_batch = c.turn_served >= d.batch
    if turn == READ:
        if reads:
            change = writes >= d.write_high and had_batch
        else:
            idle = clock >= c.read_idle_since + d.write_idle
            change = writes > d.write_low or (writes > 0 and idle)
    else:
        change = writes == 0 or (reads > 0 and (writes <= d.write_low or had_batch))
    if change:
        if c.begun[turn]:
            return turn + ENDING
        turn = READ + WRITE - turn
        c.turn = turn
        c.turn_served = 0
        c.column_not_before = 0
        c.activate_not_before = 0
        c.precharge_not_before = 0
        c.turns += 1
    return turn


@jit
def _oldest_bank(m, channel, kind):
    """Bit of the bank that holds the oldest request of a kind, 0 if there is none."""
    c = m.dram.channel[channel]
    banks = c.hits[kind] | c.misses[kind]
    best_order = NEVER
    best = 0
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        order = c.slot[c.head[kind, bank]].order
        if order < best_order:
            best_order = order
            best = 1 << bank
    return best


@jit
def _advance(m, channel, limit, ahead):
    """Decide all clocks before `limit`, jumping over those in which nothing can be issued.

    Clocks from `ahead` on lie in later core cycles. They are decided only as long as reads are listed (the kernel
    does not end before they are answered), and no burst of a write that may still gain bytes.
    """
    d = m.dram
    c = d.channel[channel]
    clock = c.clock
    while clock < limit:
        too_early = clock >= ahead and c.listed[READ] == 0
        soonest = c.refresh_at
        if clock >= soonest:
            if too_early:
                break
            clock = refresh_step(m, channel, clock)
            continue
        kind = _turn(m, channel, clock)
        allowed = ALL_BANKS
        if kind >= ENDING:
            kind -= ENDING
            allowed = c.begun[kind]
        if c.listed[kind] == 0:
            if c.listed[WRITE]:
                soonest = min(soonest, c.read_idle_since + d.write_idle)
            clock = soonest
            continue
        if unlikely(d.fcfs):
            allowed = _oldest_bank(m, channel, kind)
        issued = 0
        banks = c.hits[kind] & allowed
        if banks:
            t = max(c.column_any[kind], c.column_not_before)
            if c.misses[kind] & allowed == 0:
                # nothing else can be done before: go there at once
                clock = max(clock, min(t, soonest))
                if clock >= min(limit, soonest):
                    continue
                too_early = clock >= ahead and c.listed[READ] == 0
            if clock >= t:
                bank = _ready_column(m, channel, kind, banks, clock)
                if bank >= 0:
                    if too_early or (kind == WRITE and clock >= ahead and c.mask[c.chosen[WRITE, bank]] != WHOLE_LINE):
                        break
                    issue_column(m, channel, kind, bank, clock)
                    issued = 1
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        c.column_not_before = t
            soonest = min(soonest, t)
        row_bus_free = issued == 0 or d.split_bus
        banks = c.misses[kind] & allowed & ~c.open_banks
        if banks and row_bus_free:
            t = max(c.activate_any, c.window[c.window_oldest] + d.tfaw)
            t = max(t, c.activate_not_before)
            if clock >= t:
                bank = _ready_activate(m, channel, kind, banks, clock)
                if bank >= 0:
                    if too_early:
                        break
                    issue_activate(m, channel, kind, bank, clock)
                    issued = 1
                    row_bus_free = False
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        c.activate_not_before = t
            soonest = min(soonest, t)
        banks = c.misses[kind] & allowed & c.open_banks
        if banks and row_bus_free:
            t = max(c.precharge_any, c.precharge_not_before)
            if clock >= t:
                bank = _ready_precharge(m, channel, kind, banks, clock)
                if bank >= 0:
                    if too_early:
                        break
                    issue_precharge(m, channel, kind, bank, clock)
                    issued = 1
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        c.precharge_not_before = t
            soonest = min(soonest, t)
        clock = clock + 1 if issued else soonest
    c.clock = clock


@jit(inline=True)
def dram_tick(m, now, channel):
    """Run a channel in core cycle `now`: take what has arrived, decide this cycle's command clocks."""
    d = m.dram
    c = d.channel[channel]
    if unlikely(d.ideal):
        dram_space_freed(m, now, channel)
        return
    if now >= c.next_look:
        ahead = quotient((now + 1) * d.clocks + d.cycles - 1, d.cycles)
        horizon = now + d.look_ahead
        look = NEVER
        undecided = 0
        while c.inbound_count and not undecided:
            s = c.inbound[c.inbound_head]
            t = c.slot[s].visible
            if t > horizon or (t > now and c.listed[READ] + c.listed[WRITE] == 0):
                look = t
                break
            clock = quotient(t * d.clocks + d.cycles - 1, d.cycles)
            if c.clock < clock:
                _advance(m, channel, clock, ahead)
                undecided = 1 if c.clock < clock else 0
            if undecided:
                look = t
            else:
                enqueue(m, channel, s, clock)
                c.clock = clock
                c.inbound_head = (c.inbound_head + 1) & (SLOTS - 1)
                c.inbound_count -= 1
        if c.listed[READ] + c.listed[WRITE]:
            if not undecided:
                _advance(m, channel, quotient((horizon + 1) * d.clocks + d.cycles - 1, d.cycles), ahead)
            if c.listed[READ] + c.listed[WRITE]:
                look = min(look, max(quotient(c.clock * d.cycles, d.clocks), now + 1))
        if look < NEVER:
            look = min(look, now + SIZE - 1)
            wake(m, DRAM_CLASS, look, channel)
        c.next_look = look
    release(m, channel, now)
    if c.done_count and (m.ports.dram_waiters[channel] | m.ports.dram_waiters[channel + DRAM_WRITES]):
        wake(m, DRAM_CLASS, c.done[c.done_head, 0], channel)


@jit(cold=True)
def _ideal(m, now, channel, kind):
    """Ideal model: cycle in which an access is done, 0 if the channel's backlog is as long as its queue."""
    d = m.dram
    c = d.channel[channel]
    line = d.ideal_line_microcycles
    start = max(now * MICRO, c.ideal_free)
    room = now * MICRO + d.depth[kind] * line
    if line and start >= room:
        wake(m, DRAM_CLASS, now + (start - room) // MICRO + 1, channel)
        return 0
    c.ideal_free = start + line
    return (start + line + MICRO - 1) // MICRO + d.ideal_latency


@jit
def _held_write(m, channel, local):
    """Slot of the held write of a line, -1 if there is none."""
    c = m.dram.channel[channel]
    s = c.bucket[local & (BUCKETS - 1)]
    while s >= 0 and c.slot[s].local != local:
        s = c.bucket_next[s]
    return s


@jit(outline=True)
def _accept(m, now, channel, local, kind):
    """Give a request a slot and send it to the scheduler; returns the slot."""
    d = m.dram
    c = d.channel[channel]
    s = c.free
    c.free = c.slot[s].next
    place = _place(m, local)
    c.slot[s].kind = kind
    c.slot[s].local = local
    c.slot[s].bank = place & 255
    c.slot[s].row = place >> 8
    c.slot[s].found = HIT
    c.first_burst[s] = NEVER
    t = now + d.request_latency
    c.slot[s].visible = t
    c.held[kind] += 1
    c.inbound[(c.inbound_head + c.inbound_count) & (SLOTS - 1)] = s
    c.inbound_count += 1
    if not now <= c.next_look <= t:
        c.next_look = min(t, now + SIZE - 1)
        wake_at(m, DRAM_CLASS, c.next_look, channel)
    return s


@jit(outline=True)
def _refuse(m, channel):
    """A queue is full: the channel runs when its next request is served, to tell who waits."""
    c = m.dram.channel[channel]
    if c.done_count:
        wake(m, DRAM_CLASS, c.done[c.done_head, 0], channel)


@jit(inline=True)
def dram_has_room(m, now, queue):
    """1 if a request that a queue (as `memory.ports` numbers them) has refused may now find a place in it."""
    d = m.dram
    if unlikely(d.ideal):
        return 1
    channel = queue & (DRAM_WRITES - 1)
    kind = WRITE if queue >= DRAM_WRITES else READ
    release(m, channel, now - 1)
    if d.channel[channel].held[kind] < d.depth[kind]:
        return 1
    _refuse(m, channel)
    return 0


@jit(inline=True)
def dram_read(m, now, channel, line, port, tag):
    """Read a line (byte address >> 6) of a channel; answered through `port` with `tag`. 0: the read queue is full."""
    d = m.dram
    local = dram_local_line(m, line)
    c = d.channel[channel]
    t = 0
    if unlikely(d.ideal):
        t = _ideal(m, now, channel, READ)
        if t == 0:
            return 0
        c.bytes_read += LINE_BYTES
    else:
        release(m, channel, now - 1)
        # a read of a line that is only partly queued goes to the bank and is completed from the queue on return
        w = _held_write(m, channel, local)
        if w >= 0 and c.mask[w] == WHOLE_LINE:
            t = now + d.request_latency + d.response_latency
            c.read_forwards += 1
    if t:
        deliver(m, t, port, tag)
        c.read_latency += t - now
        c.read_latency_max = max(c.read_latency_max, t - now)
    else:
        if c.held[READ] >= d.depth[READ]:
            _refuse(m, channel)
            return 0
        s = _accept(m, now, channel, local, READ)
        c.slot[s].port = port
        c.slot[s].tag = tag
        c.slot[s].left = (1 << d.bursts) - 1
    c.reads += 1
    if port >= ENGINE_FROM_DRAM:
        c.engine_reads += 1
    return 1


@jit(inline=True)
def dram_write(m, now, channel, line, mask):
    """Write the bytes of a channel's line that `mask` names (bit 0: first byte). 0: the write queue is full."""
    d = m.dram
    c = d.channel[channel]
    if unlikely(d.ideal):
        if _ideal(m, now, channel, WRITE) == 0:
            return 0
        c.bytes_written += LINE_BYTES
        c.writes += 1
        return 1
    release(m, channel, now - 1)
    left = 0
    burst_bytes = d.burst_bytes
    burst_mask = WHOLE_LINE if d.bursts == 1 else (1 << burst_bytes) - 1
    for burst in range(d.bursts):
        if (mask >> (burst * burst_bytes)) & burst_mask:
            left |= 1 << burst
    local = dram_local_line(m, line)
    s = _held_write(m, channel, local)
    begun = s >= 0 and c.first_burst[s] < now
    if s >= 0 and not (begun and c.slot[s].left == 0):
        c.mask[s] |= mask
        if begun or c.first_burst[s] == NEVER:  # one decided ahead of time has all its bursts
            c.slot[s].left |= left
        c.write_merges += 1
    elif left:
        if c.held[WRITE] >= d.depth[WRITE]:
            _refuse(m, channel)
            return 0
        s = _accept(m, now, channel, local, WRITE)
        c.mask[s] = mask
        c.slot[s].left = left
        b = local & (BUCKETS - 1)
        c.bucket_next[s] = c.bucket[b]
        c.bucket[b] = s
    c.writes += 1
    return 1


@jit
def dram_pending(m):
    """Requests that the channels hold and have not yet served."""
    total = 0
    for channel in range(m.map.dram_channels):
        release(m, channel, m.wheel.now)
        held = m.dram.channel[channel].held
        total += held[READ] + held[WRITE]
    return total
