"""State of the DRAM channels: settings, channels, banks, requests, counters; and its configuration.

Times are in the standard's command clocks unless a field says core cycles.
"""

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from gpusim.base.counters import Counts
from gpusim.base.jit import Field, Machine, State, counter_fields, i32
from isa.trace import LINE_BYTES
from memory.address_map import BANK, set_matrix
from memory.address_map import MAX_DRAM_CHANNELS as CHANNELS
from memory.dram.constants import (
    COMMANDS,
    EARLIEST_ROWS,
    MAX_BANKS,
    MAX_QUEUE,
    MAX_RANKS,
    MAX_WINDOW,
    MAX_WINDOWS,
    NEVER,
    PRECEDING,
    READ,
    REFRESH,
    REFRESH_BANK,
    STORED_LEVELS,
    WRITE,
    WRITES,
)
from memory.dram.constraints import RULES, TimingRule, compiled, reaches_further
from memory.dram.counters import DRAM_COUNTERS, DRAM_SPAN
from memory.dram.mapping import bank_masks
from memory.dram.page_policy import OPEN_PAGE, PAGE_POLICIES
from memory.dram.scheduler import FR_FCFS, SCHEDULERS
from memory.dram.spec import DramSpec
from memory.dram.timing import DramTiming, resolve

SLOTS = 2 * MAX_QUEUE
BUCKETS = 256
MICRO = 1_000_000
MAX_RATIO_TERM = 1_000_000  # keeps cycle * ratio far below 63 bits

_TIMING = {
    "least": Field(
        (STORED_LEVELS * PRECEDING, COMMANDS),
        "by level * PRECEDING + command, later command: clocks between them, 0: no rule",
    ),
    "reaches_further": Field((COMMANDS,), "1: the command holds back more than `REACH` says, or other ranks"),
    "masks_take_clocks": Field((), "1: what masks of writes take of the command bus is in the rules"),
    "windows": Field((), "rules over a window of activates"),
    "window_size": Field((MAX_WINDOWS,), "activates in the window"),
    "window_distance": Field((MAX_WINDOWS, COMMANDS), "clocks from the oldest activate in it, by later command"),
    "read_data_end": Field((), "read command to the end of its data"),
    "burst_clocks": Field((), "data-bus clocks of a burst"),
    "refresh_interval": Field((), "clocks between two refreshes of a rank"),
    "refresh_grace": Field((), "clocks for which a due refresh waits for requests of open rows"),
    "refresh_command": Field((), "REFRESH or REFRESH_BANK"),
    "refresh_sets": Field((), "refreshes until each bank of a rank had its own"),
    "refresh_set": Field((MAX_BANKS,), "banks that successive refreshes cover, of rank 0"),
    "refreshes_everything": Field((), "1: a refresh leaves no bank of the channel to work"),
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
    "write_batch": Field((), "requests served in a direction while the other side presses, but for those of open rows"),
    "longest_run": Field((), "the same with those of open rows"),
    "write_idle": Field((), "clocks without reads after which few writes are written too"),
    "age_cap": Field((), "clocks after which a request goes before row hits"),
    "hit_cap": Field((), "row hits that may overtake a bank's oldest request, where the scheduler counts them"),
    "scheduler": Field((), "number of the scheduler in `SCHEDULERS`"),
    "page_policy": Field((), "number of the page policy in `PAGE_POLICIES`"),
    "page_timeout": Field((), "clocks after the last access after which the policy closes a row"),
    "split_bus": Field((), "1: row commands have a bus of their own"),
    "special": Field((), "1: ranks, policies, refresh or rules that not every configuration has"),
    "ranks": Field((), "ranks or pseudo-channels of a channel"),
    "rank_banks": Field((), "banks of one of them"),
    "data_buses": Field((), "data buses of a channel: one for each pseudo-channel"),
    "group_mask": Field((), "bits of a bank's number that name its bank group among those of all ranks"),
    "group_banks": Field((MAX_BANKS,), "banks of a bank group, by its number"),
    "rank_shift": Field((), "log2 of the banks of a rank"),
    "rank_bits": Field((), "log2 of ranks, without pseudo-channels"),
    "pseudo_bits": Field((), "log2 of pseudo-channels"),
    "group_bits": Field((), "log2 of bank groups"),
    "group_shift": Field((), "log2 of successive lines in one bank group"),
    "column_bits": Field((), "log2 of lines in a row"),
    "bursts": Field((), "bursts of a line"),
    "burst_bytes": Field((), "bytes of a burst"),
    "record_address": Field((), "buffer for issued commands, 0: none"),
    "record_capacity": Field((), "commands it holds"),
    "record_count": Field((), "commands issued since recording began"),
    "until": Field((), "cycle after that in which the last access so far was accepted, 0: none was"),
    **counter_fields(DRAM_SPAN),
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
    "earliest": Field((EARLIEST_ROWS, COMMANDS), "first clock of each command, by bank, bank group and rank"),
    "refresh_due": Field((), "clock from which a refresh is due"),
    "refresh_at": Field((MAX_RANKS,), "by rank: clock from which its next refresh is due"),
    "refresh_next": Field((MAX_RANKS,), "by rank: which set of banks it covers"),
    "blocked": Field((), "banks whose rows wait for a due refresh, while one is due"),
    "closing": Field((), "of them those that have no bursts before it"),
    "direction": Field((), "READ or WRITE: who has the data bus"),
    "served": Field((), "requests served since the direction changed"),
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
    "window": Field((MAX_RANKS * MAX_WINDOWS, MAX_WINDOW), "by rank and rule: clocks of the last activates"),
    "window_oldest": Field((MAX_RANKS * MAX_WINDOWS,), "position of the oldest of them"),
    # while the answer is known to be no, the banks are not searched
    "column_not_before": Field((), "clock before which no bank can be read or written"),
    "activate_not_before": Field((), "clock before which no bank can be opened"),
    "precharge_not_before": Field((), "clock before which no bank can be closed"),
    "ideal_free": Field((), "ideal model: when the channel is free, in 1e-6 core cycles"),
}

_BANK = {
    "open_row": Field((MAX_BANKS,), "open row, -1: precharged"),
    "open_banks": Field((), "banks with an open row"),
    "last_access": Field((MAX_BANKS,), "clock of the last read or write"),
    "overtaken": Field(
        (2, MAX_BANKS), "reads, writes served before the bank's oldest, where the scheduler counts them"
    ),
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
    "order": Field((), "its number in the order of arrival"),
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


def configure_dram(m: Machine, spec: DramSpec, core_clock_hz: float, rules: tuple[TimingRule, ...] = RULES) -> None:
    """Set up `m.dram` for `spec`, all rows closed and all counters 0; the address map must be configured before.

    Args:
        m: Machine record.
        spec: Its configuration.
        core_clock_hz: The clock that the machine's cycles count.
        rules: The timing constraints, all of them by default.

    Raises:
        ValueError: The standard and the values do not fit together.
    """
    dram, timing = m.dram, resolve(spec)
    if m.map.dram_channels != spec.channels:
        raise ValueError(f"the address map has {m.map.dram_channels} DRAM channels, the specification {spec.channels}")
    for name in (*_TIMING, *_SETTINGS):
        value = getattr(dram, name)
        if getattr(value, "shape", ()):
            value[...] = 0
        else:
            setattr(dram, name, 0)
    dram.channel[...] = np.zeros((), dram.channel.dtype)
    set_matrix(m, BANK, bank_masks(spec, timing, LINE_BYTES << int(m.map.interleave_lines_bits)))
    _configure_rules(dram, timing, rules)
    _configure_organization(dram, spec, timing)
    _configure_clocks(dram, spec, timing.clock_hz, core_clock_hz)
    dram.refresh_grace = min(spec.refresh_grace_clocks, int(dram.refresh_interval) // 2)
    dram.depth[READ], dram.depth[WRITE] = spec.read_queue, spec.write_queue
    dram.write_high, dram.write_low, dram.write_idle = spec.write_high, spec.write_low, spec.write_idle_clocks
    dram.write_batch = spec.write_batch
    dram.longest_run = 2 * spec.write_batch
    dram.scheduler, dram.age_cap, dram.hit_cap = SCHEDULERS[spec.scheduler].number, spec.age_cap_clocks, spec.hit_cap
    dram.page_policy, dram.page_timeout = PAGE_POLICIES[spec.page_policy].number, spec.page_timeout_clocks
    usual_policies = dram.scheduler == FR_FCFS and dram.page_policy == OPEN_PAGE
    dram.special = int(not (usual_policies and dram.refreshes_everything and not dram.reaches_further.any()))
    _reset_channels(dram, timing)


def _configure_rules(dram: Any, timing: DramTiming, rules: tuple[TimingRule, ...]) -> None:
    table = compiled(timing, rules)
    dram.least[...] = table.least.reshape(dram.least.shape)
    dram.reaches_further[...] = [timing.units > 1 or reaches_further(table, command) for command in range(COMMANDS)]
    dram.masks_take_clocks = int(table.least[:, WRITES[1:]].any())
    dram.windows = len(table.windows)
    for number, window in enumerate(table.windows):
        dram.window_size[number] = window.size
        dram.window_distance[number] = window.distance
    sets = timing.refresh_sets
    dram.refresh_sets = len(sets)
    for number, banks in enumerate(sets):
        dram.refresh_set[number] = _word(banks)
    dram.refresh_interval = timing.trefi // len(sets)
    dram.refresh_command = REFRESH if timing.refresh_covers == "all" else REFRESH_BANK
    dram.refreshes_everything = int(timing.refresh_covers == "all" and timing.units == 1)


def _configure_organization(dram: Any, spec: DramSpec, timing: DramTiming) -> None:
    dram.read_data_end = timing.tcl + timing.burst_clocks
    dram.burst_clocks, dram.bursts = timing.burst_clocks, timing.bursts_per_line
    dram.burst_bytes = LINE_BYTES // timing.bursts_per_line
    dram.split_bus = int(timing.separate_row_bus)
    dram.ranks, dram.rank_banks, dram.data_buses = timing.units, timing.rank_banks, timing.pseudo_channels
    # a bank's number: its rank, its number in the group, its group, from the high bits to the low ones
    dram.rank_shift = _log2(timing.rank_banks)
    dram.group_mask = timing.bank_groups - 1 | (timing.units - 1) << int(dram.rank_shift)
    for bank in range(timing.units * timing.rank_banks):
        dram.group_banks[bank & int(dram.group_mask)] |= _word(1 << bank)
    dram.rank_bits, dram.pseudo_bits = _log2(timing.ranks), _log2(timing.pseudo_channels)
    dram.group_bits = _log2(timing.bank_groups)
    dram.group_shift, dram.column_bits = _log2(spec.group_interleave_lines), _log2(timing.lines_per_row)


def _configure_clocks(dram: Any, spec: DramSpec, clock_hz: float, core_clock_hz: float) -> None:
    ratio = Fraction(clock_hz / core_clock_hz).limit_denominator(MAX_RATIO_TERM)
    dram.clocks, dram.cycles = ratio.numerator, ratio.denominator
    dram.request_latency = max(1, ceil(spec.request_latency_ns * core_clock_hz / 1e9))
    dram.look_ahead = dram.request_latency  # what comes later is not seen before that
    dram.response_latency = ceil(spec.response_latency_ns * core_clock_hz / 1e9)
    dram.ideal = int(spec.model == "ideal")
    dram.ideal_latency = max(1, ceil(spec.ideal_latency_ns * core_clock_hz / 1e9))
    if spec.ideal_bandwidth_gb_s:
        lines_per_cycle = spec.ideal_bandwidth_gb_s * 1e9 / spec.channels / LINE_BYTES / core_clock_hz
        dram.ideal_line_microcycles = max(1, round(MICRO / lines_per_cycle))


def _reset_channels(dram: Any, timing: DramTiming) -> None:
    channels = dram.channel
    for rank in range(timing.units):  # ranks take turns, so that not all are refreshed at once
        channels["refresh_at"][:, rank] = dram.refresh_interval * (rank + 1) // timing.units
    channels["refresh_due"] = dram.refresh_interval // timing.units
    for name in ("open_row", "head", "tail", "chosen", "bucket"):
        channels[name] = -1
    channels["window"] = -NEVER
    channels["next_look"] = NEVER
    channels["done"][..., 0] = NEVER
    channels["slot"]["next"] = [*range(1, SLOTS), -1]


def _log2(power: int) -> int:
    return power.bit_length() - 1


def _word(mask: int) -> int:
    """Return a mask of 64 bits as the signed word with these bits."""
    return mask - (1 << 64) if mask >> 63 else mask


def decide_no_clock_ahead(m: Machine) -> None:
    """Have each channel decide a clock's command in that clock: slower, and the same results."""
    m.dram.look_ahead = 0


def bus_busy_cycles(m: Machine) -> int:
    """Return the core cycles in which data buses were busy, summed over the channels."""
    dram, channels = m.dram, np.asarray(m.dram.channel)
    if dram.ideal:  # what the given bandwidth takes: nothing if it is unlimited
        lines = int(channels["reads"].sum() + channels["writes"].sum())
        return lines * dram.ideal_line_microcycles // MICRO
    # two pseudo-channels are two data buses: half of a channel's pins each
    return int(channels["data_bus_busy"].sum()) * dram.cycles // (dram.clocks * dram.data_buses)


def queued_bytes(m: Machine) -> int:
    """Count the bytes that writes held by the channels have still to write."""
    total, burst_bytes = 0, int(m.dram.burst_bytes)
    for state in np.asarray(m.dram.channel)[: int(m.map.dram_channels)]:
        held = [int(s) for s in state["bucket"] if s >= 0]
        while held:
            s = held.pop()
            if state["bucket_next"][s] >= 0:
                held.append(int(state["bucket_next"][s]))
            for burst in range(int(m.dram.bursts)):
                if state["slot"][s]["left"] >> burst & 1:
                    total += (int(state["mask"][s]) >> burst * burst_bytes & (1 << burst_bytes) - 1).bit_count()
    return total


def dram_totals(m: Machine) -> Counts:
    """Return the counts over all channels by the names of `DRAM_COUNTERS`, and `bus_busy_cycles`."""
    totals = DRAM_COUNTERS.counts(m.dram.channel)
    totals["bus_busy_cycles"] = bus_busy_cycles(m)
    return totals


def perturb_refresh(m: Machine, random: "np.random.Generator") -> None:
    """Have all channels' refreshes begin earlier by the same part of their interval, at another set of banks.

    Args:
        m: Machine record.
        random: Generator to draw from.
    """
    dram = m.dram
    ranks, channel = int(dram.ranks), np.asarray(dram.channel)
    if not ranks:  # an ideal DRAM refreshes nothing
        return
    earlier = int(random.integers(0, max(int(dram.refresh_interval) // ranks, 1)))  # ranks stay as far apart
    channel["refresh_at"][:, :ranks] -= earlier
    channel["refresh_next"][:, :ranks] = random.integers(0, int(dram.refresh_sets))
    channel["refresh_due"] -= earlier
