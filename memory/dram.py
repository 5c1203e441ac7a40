"""DRAM channels: banks, rows, buses, refresh, and the controllers that schedule them, command by command.

The machine counts core cycles, a channel counts its part's command clocks (`clocks` below). A run of the unit
in core cycle `now` decides every command clock that begins in this cycle; what could be issued when is a
function of state and clock alone, so running a channel more often changes nothing. A channel that holds no
request stands still and makes up for the missed refreshes when the next request comes.
"""

from fractions import Fraction
from math import ceil
from typing import Any

from gpusim.jit import Field, State, ctz, jit, st_i64
from memory.address_map import MAX_DRAM_CHANNELS as CHANNELS
from memory.address_map import dram_channel, dram_local_line
from memory.dram_spec import LINE_BYTES, MAX_BANKS, MAX_QUEUE, DramSpec, resolve
from memory.ports import ENGINE_FROM_DRAM, deliver, dram_space_freed
from memory.wheel import DRAM as DRAM_CLASS
from memory.wheel import wake

READ, WRITE, ENDING = 0, 1, 2
HIT, CLOSED, CONFLICT = 0, 1, 2  # what a request found in its bank
ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ_BURST, WRITE_BURST, REFRESH = range(6)
RECORD_WORDS = 6  # channel, clock, command, bank, row, burst column

SLOTS = 2 * MAX_QUEUE
# strides off the powers of two: fields of one slot or bank must not all fall into one set of the host's cache
SLOT_STRIDE = SLOTS + 9
BANK_STRIDE = MAX_BANKS + 1
BUCKETS = 64
WHOLE_LINE = -1  # mask of all 64 bytes
NEVER = 1 << 60
ALL_BANKS = -1
MICRO = 1_000_000
ACTIVATES_IN_WINDOW = 4
MAX_RATIO_TERM = 1_000_000  # keeps cycle * ratio far below 63 bits

DRAM_COUNTERS: dict[str, tuple[str, str]] = {
    "reads": ("lines", "reads accepted"),
    "engine_reads": ("lines", "of them those whose answer goes to the compaction engine"),
    "writes": ("lines", "writes accepted"),
    "read_forwards": ("lines", "reads answered from a queued write of the whole line"),
    "write_merges": ("lines", "writes that joined a queued write of the same line"),
    "bytes_read": ("bytes", "read over the data bus"),
    "bytes_written": ("bytes", "written over the data bus, masked bytes of a burst included"),
    "row_hits": ("lines", "requests that found their row open"),
    "row_misses": ("lines", "requests that found their bank precharged"),
    "row_conflicts": ("lines", "requests that found another row open in their bank"),
    "activates": ("commands", "rows opened"),
    "precharges": ("commands", "precharge commands, precharge-all counted once"),
    "refreshes": ("commands", "all-bank refreshes"),
    "data_bus_busy": ("command clocks", "clocks in which the data bus carried data"),
    "turns": ("", "changes between reading and writing"),
    "read_full": ("attempts", "reads refused because the read queue was full"),
    "write_full": ("attempts", "writes refused because the write queue was full"),
    "read_latency": ("core cycles", "from acceptance to delivery, summed over reads"),
    "read_latency_max": ("core cycles", "longest from acceptance to delivery"),
}

_TIMING = {
    "trcd": Field((2,), "activate to read, to write"),
    "trp": Field((), "precharge to activate"),
    "tras": Field((), "activate to precharge"),
    "trc": Field((), "activate to activate of a bank"),
    "to_precharge": Field((2,), "read, write command to precharge"),
    "trrd_short": Field((), "activate to activate of another bank group"),
    "trrd_long": Field((), "activate to activate of the same bank group"),
    "tfaw": Field((), "first to fifth activate"),
    "tppd": Field((), "precharge to precharge"),
    "tccd_short": Field((), "column command to one of another bank group"),
    "tccd_long": Field((), "column command to one of the same bank group"),
    "read_to_write": Field((), "read to write command"),
    "write_to_read_short": Field((), "write to read command of another bank group"),
    "write_to_read_long": Field((), "write to read command of the same bank group"),
    "read_data_end": Field((), "read command to the end of its data"),
    "burst_clocks": Field((), "data-bus clocks of a burst"),
    "trfc": Field((), "refresh to activate"),
    "trefi": Field((), "interval of refreshes"),
}

_SETTINGS = {
    "ideal": Field((), "1: fixed latency and bandwidth instead of banks and commands"),
    "ideal_latency": Field((), "latency of the ideal model in core cycles"),
    "ideal_line_microcycles": Field((), "a channel's time for a line in 1e-6 core cycles, 0: no limit"),
    "clocks": Field((), "command clocks in `cycles` core cycles"),
    "cycles": Field((), "core cycles of `clocks` command clocks"),
    "request_latency": Field((), "core cycles from acceptance to the scheduler, at least 1"),
    "response_latency": Field((), "core cycles from the end of the data to delivery"),
    "depth": Field((2,), "reads, writes that a channel holds"),
    "write_high": Field((), "held writes that start a drain"),
    "write_low": Field((), "held writes that end a drain if reads wait"),
    "write_idle": Field((), "clocks without reads after which few writes are written too"),
    "age_cap": Field((), "clocks after which a request goes before row hits"),
    "fcfs": Field((), "1: only the oldest request is served"),
    "split_bus": Field((), "1: row commands have a bus of their own"),
    "banks": Field((), "banks of a channel"),
    "group_bits": Field((), "log2 of bank groups"),
    "bank_bits": Field((), "log2 of banks in a group"),
    "column_bits": Field((), "log2 of lines in a row"),
    "bank_hash": Field((), "1: row bits are XORed into bank and group"),
    "bursts": Field((), "bursts of a line"),
    "record_address": Field((), "buffer for issued commands, 0: none"),
    "record_capacity": Field((), "commands it holds"),
    "record_count": Field((), "commands issued since recording began"),
}

_CHANNEL = {
    "clock": Field((CHANNELS,), "next clock to decide"),
    "refresh_at": Field((CHANNELS,), "clock from which a refresh is due"),
    "turn": Field((CHANNELS,), "READ or WRITE: who has the data bus"),
    "turn_served": Field((CHANNELS,), "requests served in this turn"),
    "read_idle_since": Field((CHANNELS,), "clock of the last read when none is left"),
    "held": Field((CHANNELS, 2), "reads, writes accepted and not served"),
    "listed": Field((CHANNELS, 2), "of them those that have reached the scheduler"),
    "sequence": Field((CHANNELS,), "requests that have reached the scheduler so far"),
    "inbound": Field((CHANNELS, SLOTS), "ring of slots on their way to the scheduler"),
    "inbound_head": Field((CHANNELS,), "position of the oldest"),
    "inbound_count": Field((CHANNELS,), "slots in the ring"),
    "free": Field((CHANNELS,), "first free slot, linked through `next`"),
    "bucket": Field((CHANNELS, BUCKETS), "first held write of a hash bucket, -1: none"),
    "column_any": Field((CHANNELS, 2), "first clock for a read, a write to any bank"),
    "column_group": Field((CHANNELS, 2, BANK_STRIDE), "first clock for a read, a write to a bank group"),
    "activate_any": Field((CHANNELS,), "first clock for an activate of any bank"),
    "activate_group": Field((CHANNELS, BANK_STRIDE), "first clock for an activate in a bank group"),
    "window": Field((CHANNELS, ACTIVATES_IN_WINDOW), "clocks of the last four activates"),
    "window_oldest": Field((CHANNELS,), "position of the oldest of them"),
    "column_not_before": Field((CHANNELS,), "clock before which looking for a bank to read or write is in vain"),
    "activate_not_before": Field((CHANNELS,), "clock before which looking for a bank to open is in vain"),
    "precharge_not_before": Field((CHANNELS,), "clock before which looking for a bank to close is in vain"),
    "precharge_any": Field((CHANNELS,), "first clock for a precharge of any bank"),
    "ideal_free": Field((CHANNELS,), "ideal model: when the channel is free, in 1e-6 core cycles"),
}

_BANK = {
    "open_row": Field((CHANNELS, BANK_STRIDE), "open row, -1: precharged"),
    "open_banks": Field((CHANNELS,), "banks with an open row"),
    "activate_ready": Field((CHANNELS, BANK_STRIDE), "first clock for an activate"),
    "precharge_ready": Field((CHANNELS, BANK_STRIDE), "first clock for a precharge"),
    "column_ready": Field((CHANNELS, 2, BANK_STRIDE), "first clock for a read, a write"),
    "head": Field((CHANNELS, 2, BANK_STRIDE), "oldest read, write of the bank, -1: none"),
    "tail": Field((CHANNELS, 2, BANK_STRIDE), "youngest read, write of the bank"),
    "chosen": Field((CHANNELS, 2, BANK_STRIDE), "read, write that the bank serves next"),
    "hits": Field((CHANNELS, 2), "banks whose chosen request finds its row open"),
    "misses": Field((CHANNELS, 2), "banks whose chosen request needs a row command"),
    "begun": Field((CHANNELS, 2), "banks whose chosen request has had some of its bursts"),
}

_SLOT = {
    "kind": Field((CHANNELS, SLOT_STRIDE), "READ or WRITE"),
    "local": Field((CHANNELS, SLOT_STRIDE), "line number in the channel"),
    "port": Field((CHANNELS, SLOT_STRIDE), "port that awaits a read"),
    "tag": Field((CHANNELS, SLOT_STRIDE), "what the read answers"),
    "mask": Field((CHANNELS, SLOT_STRIDE), "bytes of a write"),
    "left": Field((CHANNELS, SLOT_STRIDE), "bursts still to do, one bit each"),
    "bank": Field((CHANNELS, SLOT_STRIDE), "bank of the line"),
    "row": Field((CHANNELS, SLOT_STRIDE), "row of the line"),
    "found": Field((CHANNELS, SLOT_STRIDE), "HIT, CLOSED or CONFLICT"),
    "accepted": Field((CHANNELS, SLOT_STRIDE), "core cycle of acceptance"),
    "visible": Field((CHANNELS, SLOT_STRIDE), "core cycle in which the scheduler gets it"),
    "arrived": Field((CHANNELS, SLOT_STRIDE), "clock in which the scheduler got it"),
    "order": Field((CHANNELS, SLOT_STRIDE), "its place in the order of arrival"),
    "next": Field((CHANNELS, SLOT_STRIDE), "next younger of the bank, or next free slot"),
    "previous": Field((CHANNELS, SLOT_STRIDE), "next older of the bank"),
    "bucket_next": Field((CHANNELS, SLOT_STRIDE), "next write of the hash bucket"),
}

DRAM = State(
    "dram",
    _TIMING
    | _SETTINGS
    | _CHANNEL
    | _BANK
    | _SLOT
    | {k: Field((CHANNELS,), f"{meaning} ({unit})") for k, (unit, meaning) in DRAM_COUNTERS.items()},
)


def configure_dram(m: Any, spec: DramSpec, core_clock_hz: float) -> None:
    """Set up `m.dram` for `spec`, all rows closed and all counters 0; the address map must be configured before."""
    d, timing = m.dram, resolve(spec)
    channels = spec.channels
    if m.map.dram_channels != channels:
        raise ValueError(f"the address map has {m.map.dram_channels} DRAM channels, the specification {channels}")
    for name in DRAM.fields:
        value = getattr(d, name)
        if getattr(value, "shape", ()):
            value[...] = 0
        else:
            setattr(d, name, 0)
    d.trcd[READ], d.trcd[WRITE] = timing.trcd_read, timing.trcd_write
    d.to_precharge[READ] = timing.trtp
    d.to_precharge[WRITE] = timing.tcwl + timing.burst_clocks + timing.twr
    for name in ("trp", "tras", "trc", "trrd_short", "trrd_long", "tfaw", "tppd", "tccd_short", "tccd_long"):
        setattr(d, name, getattr(timing, name))
    d.read_to_write = max(timing.tcl + timing.burst_clocks + timing.turnaround - timing.tcwl, timing.tccd_short)
    d.write_to_read_short = timing.tcwl + timing.burst_clocks + timing.twtr_short
    d.write_to_read_long = timing.tcwl + timing.burst_clocks + timing.twtr_long
    d.read_data_end = timing.tcl + timing.burst_clocks
    d.burst_clocks, d.bursts = timing.burst_clocks, timing.bursts_per_line
    d.trfc, d.trefi = timing.trfc, timing.trefi
    d.refresh_at[:] = timing.trefi

    ratio = Fraction(timing.clock_hz / core_clock_hz).limit_denominator(MAX_RATIO_TERM)
    d.clocks, d.cycles = ratio.numerator, ratio.denominator
    d.request_latency = max(1, ceil(spec.request_latency_ns * core_clock_hz / 1e9))
    d.response_latency = ceil(spec.response_latency_ns * core_clock_hz / 1e9)
    d.ideal = int(spec.model == "ideal")
    d.ideal_latency = max(1, ceil(spec.ideal_latency_ns * core_clock_hz / 1e9))
    if spec.ideal_bandwidth_gb_s:
        lines_per_cycle = spec.ideal_bandwidth_gb_s * 1e9 / channels / LINE_BYTES / core_clock_hz
        d.ideal_line_microcycles = max(1, round(MICRO / lines_per_cycle))
    d.depth[READ], d.depth[WRITE] = spec.read_queue, spec.write_queue
    d.write_high, d.write_low, d.write_idle = spec.write_high, spec.write_low, spec.write_idle_clocks
    d.age_cap, d.fcfs = spec.age_cap_clocks, int(spec.scheduler == "fcfs")
    d.split_bus, d.bank_hash = int(timing.separate_row_bus), int(spec.bank_hash)
    d.banks = timing.banks
    d.group_bits = timing.bank_groups.bit_length() - 1
    d.bank_bits = timing.banks_per_group.bit_length() - 1
    d.column_bits = timing.lines_per_row.bit_length() - 1

    for array in (d.open_row, d.head, d.tail, d.chosen, d.bucket):
        array[...] = -1
    d.window[...] = -NEVER
    d.next[:, : SLOTS - 1] = range(1, SLOTS)
    d.next[:, SLOTS - 1] = -1


def dram_totals(m: Any) -> dict[str, int]:
    """The counters over all channels (sums, and the maximum for a maximum), and `bus_busy_cycles` in core cycles."""
    d = m.dram
    totals = {name: int(getattr(d, name).sum()) for name in DRAM_COUNTERS}
    totals["read_latency_max"] = int(d.read_latency_max.max())
    totals["bus_busy_cycles"] = totals["data_bus_busy"] * int(d.cycles) // int(d.clocks)
    return totals


@jit
def dram_place(m, line):
    """Where a line lies in its channel: bank (bits 0-7), line of the row (bits 8-23), row (from bit 24)."""
    d = m.dram
    local = dram_local_line(m, line)
    group = local & ((1 << d.group_bits) - 1)
    local >>= d.group_bits
    column = local & ((1 << d.column_bits) - 1)
    local >>= d.column_bits
    bank = local & ((1 << d.bank_bits) - 1)
    row = local >> d.bank_bits
    if d.bank_hash:
        bank ^= row & ((1 << d.bank_bits) - 1)
        group ^= (row >> d.bank_bits) & ((1 << d.group_bits) - 1)
    return (row << 24) | (column << 8) | (bank << d.group_bits) | group


@jit
def _record(m, channel, clock, command, bank, row, column):
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
def _choose(m, channel, kind, bank, clock):
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
def _enqueue(m, channel, s, clock):
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
        _choose(m, channel, kind, bank, clock)


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
    _choose(m, channel, kind, bank, clock)


@jit
def _issue_column(m, now, channel, kind, bank, clock):
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
    column = (d.local[channel, s] >> d.group_bits) & ((1 << d.column_bits) - 1)
    _record(m, channel, clock, READ_BURST + kind, bank, d.row[channel, s], column * d.bursts + burst)
    if left:
        d.begun[channel, kind] |= 1 << bank
    else:
        d.begun[channel, kind] &= ~(1 << bank)
        _finish(m, now, channel, s, clock)


@jit
def _choose_both(m, channel, bank, clock):
    d = m.dram
    if d.head[channel, READ, bank] >= 0:
        _choose(m, channel, READ, bank, clock)
    if d.head[channel, WRITE, bank] >= 0:
        _choose(m, channel, WRITE, bank, clock)


@jit
def _precharge(m, channel, kind, bank, clock):
    """Close the row that is in the way of the bank's chosen request."""
    d = m.dram
    _record(m, channel, clock, PRECHARGE, bank, d.open_row[channel, bank], 0)
    d.open_row[channel, bank] = -1
    d.open_banks[channel] &= ~(1 << bank)
    d.activate_ready[channel, bank] = max(d.activate_ready[channel, bank], clock + d.trp)
    d.precharge_any[channel] = clock + d.tppd
    d.precharges[channel] += 1
    d.found[channel, d.chosen[channel, kind, bank]] = CONFLICT
    _choose_both(m, channel, bank, clock)


@jit
def _activate(m, channel, kind, bank, clock):
    """Open the row of the bank's chosen request."""
    d = m.dram
    s = d.chosen[channel, kind, bank]
    row = d.row[channel, s]
    _record(m, channel, clock, ACTIVATE, bank, row, 0)
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
    _choose_both(m, channel, bank, clock)


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
def _refresh(m, channel, clock):
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
        _record(m, channel, clock, PRECHARGE_ALL, 0, 0, 0)
        d.precharges[channel] += 1
        d.precharge_any[channel] = clock + d.tppd
        d.open_banks[channel] = 0
        for bank in range(d.banks):
            if d.open_row[channel, bank] >= 0:
                d.open_row[channel, bank] = -1
                d.activate_ready[channel, bank] = max(d.activate_ready[channel, bank], clock + d.trp)
                _choose_both(m, channel, bank, clock)
        return clock + 1
    if clock < refresh:
        return refresh
    _record(m, channel, clock, REFRESH, 0, 0, 0)
    for bank in range(d.banks):
        d.activate_ready[channel, bank] = clock + d.trfc
    d.refresh_at[channel] += d.trefi
    d.refreshes[channel] += 1
    return clock + 1


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
            clock = _refresh(m, channel, clock)
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
                    _issue_column(m, now, channel, kind, bank, clock)
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
                    _activate(m, channel, kind, bank, clock)
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
                    _precharge(m, channel, kind, bank, clock)
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
            break
        clock = (t * d.clocks + d.cycles - 1) // d.cycles
        _advance(m, now, channel, clock)
        _enqueue(m, channel, s, clock)
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
