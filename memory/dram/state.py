"""State of the DRAM channels: settings, channels, banks, requests, counters; and its configuration.

Times are in the part's command clocks unless a field says core cycles.
"""

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from gpusim.base.counters import Counts
from gpusim.jit import Field, State, counter_fields, i32
from memory.address_map import MAX_DRAM_CHANNELS as CHANNELS
from memory.dram.counters import DRAM_COUNTERS
from memory.dram.spec import LINE_BYTES, MAX_BANKS, MAX_QUEUE, DramSpec, resolve

READ, WRITE = 0, 1
HIT, CLOSED, CONFLICT = 0, 1, 2  # what a request found in its bank
ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ_BURST, WRITE_BURST, REFRESH = range(6)
RECORD_WORDS = 6  # channel, clock, command, bank, row, burst column

SLOTS = 2 * MAX_QUEUE
BUCKETS = 256
NEVER = 1 << 60
MICRO = 1_000_000
ACTIVATES_IN_WINDOW = 4
MAX_RATIO_TERM = 1_000_000  # keeps cycle * ratio far below 63 bits


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
    "look_ahead": Field((), "core cycles that a channel may decide ahead of time; any number gives the same results"),
    "response_latency": Field((), "core cycles from the end of the data to delivery"),
    "depth": Field((2,), "reads, writes that a channel holds"),
    "write_high": Field((), "held writes that start a drain"),
    "write_low": Field((), "held writes that end a drain if reads wait"),
    "batch": Field((), "requests that a turn serves while the other side presses"),
    "write_idle": Field((), "clocks without reads after which few writes are written too"),
    "age_cap": Field((), "clocks after which a request goes before row hits"),
    "fcfs": Field((), "1: only the oldest request is served"),
    "split_bus": Field((), "1: row commands have a bus of their own"),
    "banks": Field((), "banks of a channel"),
    "group_bits": Field((), "log2 of bank groups"),
    "group_shift": Field((), "log2 of successive lines in one bank group"),
    "bank_bits": Field((), "log2 of banks in a group"),
    "column_bits": Field((), "log2 of lines in a row"),
    "bank_hash": Field((), "1: row bits are XORed into bank and group"),
    "bursts": Field((), "bursts of a line"),
    "burst_bytes": Field((), "bytes of a burst"),
    "record_address": Field((), "buffer for issued commands, 0: none"),
    "record_capacity": Field((), "commands it holds"),
    "record_count": Field((), "commands issued since recording began"),
}

_CHANNEL = {
    "clock": Field((), "next clock to decide"),
    "next_look": Field((), "core cycle in which the channel looks at its requests again, NEVER: when one comes"),
    "done": Field(
        (SLOTS, 2),
        "ring of slots whose last burst is decided: core cycle of it (NEVER at the head: none), slot",
    ),
    "done_head": Field((), "position of the oldest"),
    "done_count": Field((), "slots in the ring"),
    "refresh_at": Field((), "clock from which a refresh is due"),
    "turn": Field((), "READ or WRITE: who has the data bus"),
    "turn_served": Field((), "requests served in this turn"),
    "read_idle_since": Field((), "clock of the last read when none is left"),
    "held": Field((2,), "reads, writes accepted and not served"),
    "listed": Field((2,), "of them those that have reached the scheduler"),
    "sequence": Field((), "requests that have reached the scheduler so far"),
    "inbound": Field((SLOTS,), "ring of slots on their way to the scheduler"),
    "inbound_head": Field((), "position of the oldest"),
    "inbound_count": Field((), "slots in the ring"),
    "free": Field((), "first free slot, linked through `next`"),
    "bucket": Field((BUCKETS,), "first held write of a hash bucket, -1: none", i32),
    "bucket_next": Field((SLOTS,), "by slot: next write of its hash bucket", i32),
    "mask": Field((SLOTS,), "by slot: bytes of a write"),
    "first_burst": Field((SLOTS,), "by slot: core cycle of a write's first burst, NEVER: not decided"),
    "column_any": Field((2,), "first clock for a read, a write to any bank"),
    "column_group": Field((2, MAX_BANKS), "first clock for a read, a write to a bank group"),
    "activate_any": Field((), "first clock for an activate of any bank"),
    "activate_group": Field((MAX_BANKS,), "first clock for an activate in a bank group"),
    "window": Field((ACTIVATES_IN_WINDOW,), "clocks of the last four activates"),
    "window_oldest": Field((), "position of the oldest of them"),
    "column_not_before": Field((), "clock before which looking for a bank to read or write is in vain"),
    "activate_not_before": Field((), "clock before which looking for a bank to open is in vain"),
    "precharge_not_before": Field((), "clock before which looking for a bank to close is in vain"),
    "precharge_any": Field((), "first clock for a precharge of any bank"),
    "ideal_free": Field((), "ideal model: when the channel is free, in 1e-6 core cycles"),
}

_BANK = {
    "open_row": Field((MAX_BANKS,), "open row, -1: precharged"),
    "open_banks": Field((), "banks with an open row"),
    "activate_ready": Field((MAX_BANKS,), "first clock for an activate"),
    "precharge_ready": Field((MAX_BANKS,), "first clock for a precharge"),
    "column_ready": Field((2, MAX_BANKS), "first clock for a read, a write"),
    "head": Field((2, MAX_BANKS), "oldest read, write of the bank, -1: none"),
    "tail": Field((2, MAX_BANKS), "youngest read, write of the bank"),
    "chosen": Field((2, MAX_BANKS), "read, write that the bank serves next"),
    "claim": Field((2, MAX_BANKS), "of that: order of arrival * MAX_BANKS + bank; the least goes first"),
    "hits": Field((2,), "banks whose chosen request finds its row open"),
    "misses": Field((2,), "banks whose chosen request needs a row command"),
    "begun": Field((2,), "banks whose chosen request has had some of its bursts"),
}

# a line of the host's cache
_REQUEST = {
    "order": Field((), "its place in the order of arrival"),
    "arrived": Field((), "clock in which the scheduler got it"),
    "visible": Field((), "core cycle in which the scheduler gets it"),
    "row": Field((), "row of the line", i32),
    "next": Field((), "next younger of the bank, or next free slot", i32),
    "previous": Field((), "next older of the bank", i32),
    "left": Field((), "bursts still to do, one bit each", i32),
    "bank": Field((), "bank of the line", i32),
    "kind": Field((), "READ or WRITE", i32),
    "local": Field((), "line number in the channel", i32),
    "port": Field((), "port that awaits a read", i32),
    "tag": Field((), "what the read answers", i32),
    "found": Field((), "HIT, CLOSED or CONFLICT", i32),
}

REQUEST = State("request", _REQUEST)
CHANNEL = State(
    "channel",
    _CHANNEL | counter_fields(DRAM_COUNTERS) | _BANK | {"slot": Field((SLOTS,), "requests held", REQUEST.dtype())},
)

# all that belongs to a channel lies together: a channel is scheduled in bursts of work
DRAM = State("dram", _TIMING | _SETTINGS | {"channel": Field((CHANNELS,), "the channels", CHANNEL.dtype())})


def configure_dram(m: Any, spec: DramSpec, core_clock_hz: float) -> None:
    """Set up `m.dram` for `spec`, all rows closed and all counters 0; the address map must be configured before."""
    d, timing = m.dram, resolve(spec)
    channels = spec.channels
    if m.map.dram_channels != channels:
        raise ValueError(f"the address map has {m.map.dram_channels} DRAM channels, the specification {channels}")
    for name in (*_TIMING, *_SETTINGS):
        value = getattr(d, name)
        if getattr(value, "shape", ()):
            value[...] = 0
        else:
            setattr(d, name, 0)
    held = d.channel
    held[...] = np.zeros((), held.dtype)
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
    d.burst_bytes = LINE_BYTES // timing.bursts_per_line
    d.trfc, d.trefi = timing.trfc, timing.trefi
    held["refresh_at"] = timing.trefi

    ratio = Fraction(timing.clock_hz / core_clock_hz).limit_denominator(MAX_RATIO_TERM)
    d.clocks, d.cycles = ratio.numerator, ratio.denominator
    d.request_latency = max(1, ceil(spec.request_latency_ns * core_clock_hz / 1e9))
    d.look_ahead = d.request_latency  # what comes later is not seen before that
    d.response_latency = ceil(spec.response_latency_ns * core_clock_hz / 1e9)
    d.ideal = int(spec.model == "ideal")
    d.ideal_latency = max(1, ceil(spec.ideal_latency_ns * core_clock_hz / 1e9))
    if spec.ideal_bandwidth_gb_s:
        lines_per_cycle = spec.ideal_bandwidth_gb_s * 1e9 / channels / LINE_BYTES / core_clock_hz
        d.ideal_line_microcycles = max(1, round(MICRO / lines_per_cycle))
    d.depth[READ], d.depth[WRITE] = spec.read_queue, spec.write_queue
    d.write_high, d.write_low, d.write_idle = spec.write_high, spec.write_low, spec.write_idle_clocks
    d.batch = spec.write_high - spec.write_low
    d.age_cap, d.fcfs = spec.age_cap_clocks, int(spec.scheduler == "fcfs")
    d.split_bus, d.bank_hash = int(timing.separate_row_bus), int(spec.bank_hash)
    d.banks = timing.banks
    d.group_bits = timing.bank_groups.bit_length() - 1
    d.group_shift = min(spec.group_interleave_lines, timing.lines_per_row).bit_length() - 1
    d.bank_bits = timing.banks_per_group.bit_length() - 1
    d.column_bits = timing.lines_per_row.bit_length() - 1

    for name in ("open_row", "head", "tail", "chosen", "bucket"):
        held[name] = -1
    held["window"] = -NEVER
    held["next_look"] = NEVER
    held["done"][..., 0] = NEVER
    held["slot"]["next"] = [*range(1, SLOTS), -1]


def decide_no_clock_ahead(m: Any) -> None:
    """Have each channel decide a clock's command in that clock: slower, and the same results."""
    m.dram.look_ahead = 0


def dram_totals(m: Any) -> Counts:
    """The counts over all channels by the names of `DRAM_COUNTERS`, and `bus_busy_cycles` in core cycles."""
    d = m.dram
    totals = DRAM_COUNTERS.counts(d.channel)
    if d.ideal:  # what the given bandwidth takes: nothing if it is unlimited
        lines = totals.reads + totals.writes
        totals["bus_busy_cycles"] = lines * int(d.ideal_line_microcycles) // MICRO
    else:
        totals["bus_busy_cycles"] = totals.data_bus_busy_clocks * int(d.cycles) // int(d.clocks)
    return totals
