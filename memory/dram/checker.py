"""Protocol checker: replays a recorded command stream against the part's timing rules, independently of the model.

The rules are one table of minimum distances between commands and the scope in which they hold, plus what a
table of pairs cannot say: bank states, the four-activate window, the data bus and the refresh rate.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gpusim.jit import address_of
from memory.dram.spec import Timing
from memory.dram.state import (
    ACTIVATE,
    ACTIVATES_IN_WINDOW,
    PRECHARGE,
    PRECHARGE_ALL,
    READ_BURST,
    RECORD_WORDS,
    REFRESH,
    WRITE_BURST,
)

NAMES = {
    ACTIVATE: "ACT",
    PRECHARGE: "PRE",
    PRECHARGE_ALL: "PREA",
    READ_BURST: "RD",
    WRITE_BURST: "WR",
    REFRESH: "REF",
}
COLUMN_COMMANDS = (READ_BURST, WRITE_BURST)
MAX_POSTPONED_REFRESHES = 1  # intervals by which a refresh may be late


class Command(NamedTuple):
    """An issued command; `bank`, `row` and `column` (burst of the row) are 0 where it has none."""

    channel: int
    clock: int
    command: int
    bank: int
    row: int
    column: int


class ProtocolError(Exception):
    """A command stream breaks a timing rule or a bank's state."""


def record_commands(m: Any, capacity: int) -> np.ndarray:
    """Record the next `capacity` commands of `m.dram`; returns the buffer, which must outlive the recording."""
    buffer = np.zeros((capacity, RECORD_WORDS), np.int64)
    m.dram.record_address = address_of(buffer)
    m.dram.record_capacity = capacity
    m.dram.record_count = 0
    return buffer


def recorded_commands(m: Any, buffer: np.ndarray) -> list[Command]:
    """Commands recorded so far, in order of issue; OverflowError if the buffer was too small for all."""
    count = int(m.dram.record_count)
    if count > len(buffer):
        raise OverflowError(f"{count} commands were issued, the buffer holds {len(buffer)}")
    return [Command(*map(int, row)) for row in buffer[:count]]


def _pair_rules(t: Timing) -> Iterator[tuple[str, str, int, int, int]]:
    """(name, scope, earlier command, later command, least distance in clocks)."""
    write_end = t.tcwl + t.burst_clocks
    yield "tRC", "bank", ACTIVATE, ACTIVATE, t.trc
    yield "tRAS", "bank", ACTIVATE, PRECHARGE, t.tras
    yield "tRAS", "channel", ACTIVATE, PRECHARGE_ALL, t.tras
    yield "tRCD", "bank", ACTIVATE, READ_BURST, t.trcd_read
    yield "tRCD", "bank", ACTIVATE, WRITE_BURST, t.trcd_write
    yield "tRP", "bank", PRECHARGE, ACTIVATE, t.trp
    yield "tRP", "channel", PRECHARGE_ALL, ACTIVATE, t.trp
    yield "tRP", "channel", PRECHARGE, REFRESH, t.trp
    yield "tRP", "channel", PRECHARGE_ALL, REFRESH, t.trp
    yield "tRC", "channel", ACTIVATE, REFRESH, t.trc
    yield "tRTP", "bank", READ_BURST, PRECHARGE, t.trtp
    yield "tRTP", "channel", READ_BURST, PRECHARGE_ALL, t.trtp
    yield "tWR", "bank", WRITE_BURST, PRECHARGE, write_end + t.twr
    yield "tWR", "channel", WRITE_BURST, PRECHARGE_ALL, write_end + t.twr
    yield "tRRD_S", "channel", ACTIVATE, ACTIVATE, t.trrd_short
    yield "tRRD_L", "group", ACTIVATE, ACTIVATE, t.trrd_long
    for earlier in (PRECHARGE, PRECHARGE_ALL):
        for later in (PRECHARGE, PRECHARGE_ALL):
            yield "tPPD", "channel", earlier, later, t.tppd
    for command in COLUMN_COMMANDS:
        yield "tCCD_S", "channel", command, command, t.tccd_short
        yield "tCCD_L", "group", command, command, t.tccd_long
    yield "tWTR_S", "channel", WRITE_BURST, READ_BURST, write_end + t.twtr_short
    yield "tWTR_L", "group", WRITE_BURST, READ_BURST, write_end + t.twtr_long
    yield "tRTW", "channel", READ_BURST, WRITE_BURST, t.tcl + t.burst_clocks + t.turnaround - t.tcwl
    for command in (ACTIVATE, REFRESH):
        yield "tRFC", "channel", REFRESH, command, t.trfc


@dataclass
class _Channel:
    """What is known of a channel after a prefix of its stream."""

    open_rows: dict[int, int] = field(default_factory=dict)
    last: dict[tuple[str, int, int], int] = field(default_factory=dict)  # (scope, which, command) -> clock
    activates: list[int] = field(default_factory=list)
    bus_clock: dict[bool, int] = field(default_factory=dict)
    data_end: int = 0
    refreshes: int = 0


def check_commands(commands: Iterable[Command], timing: Timing) -> int:
    """Replay `commands` (each channel's in order of issue, from the first command on); returns how many there were.

    Raises ProtocolError naming the rule, the command and the clocks for the first violation.
    """
    rules: dict[int, list[tuple[str, str, int, int]]] = {}
    for name, scope, earlier, later, clocks in _pair_rules(timing):
        rules.setdefault(later, []).append((name, scope, earlier, clocks))
    channels: dict[int, _Channel] = {}
    count = 0
    for command in commands:
        _check(channels.setdefault(command.channel, _Channel()), command, timing, rules)
        count += 1
    return count


def _check(state: _Channel, c: Command, timing: Timing, rules: dict[int, list[tuple[str, str, int, int]]]) -> None:
    def fail(what: str) -> None:
        raise ProtocolError(
            f"channel {c.channel}, clock {c.clock}, {NAMES.get(c.command, c.command)} bank {c.bank} row {c.row}: {what}"
        )

    if c.command not in NAMES or not 0 <= c.bank < timing.banks:
        fail("no such command or bank")
    row_bus = timing.separate_row_bus and c.command not in COLUMN_COMMANDS
    if c.clock <= state.bus_clock.get(row_bus, -1):
        fail(f"command bus taken until clock {state.bus_clock[row_bus]}")
    state.bus_clock[row_bus] = c.clock

    which = {"channel": 0, "group": c.bank % timing.bank_groups, "bank": c.bank}
    for name, scope, earlier, clocks in rules.get(c.command, []):
        before = state.last.get((scope, which[scope], earlier))
        if before is not None and c.clock < before + clocks:
            fail(f"{name}: {c.clock - before} clocks after {NAMES[earlier]}, least is {clocks}")
    _check_state(state, c, timing, fail)
    for scope, number in which.items():
        state.last[scope, number, c.command] = c.clock


def _check_state(state: _Channel, c: Command, timing: Timing, fail: Any) -> None:
    """Bank states, the activate window, the data bus and the refresh rate; updates them."""
    if c.command == ACTIVATE:
        if c.bank in state.open_rows:
            fail(f"bank already has row {state.open_rows[c.bank]} open")
        state.open_rows[c.bank] = c.row
        recent = state.activates[-ACTIVATES_IN_WINDOW:]
        if len(recent) == ACTIVATES_IN_WINDOW and c.clock < recent[0] + timing.tfaw:
            fail(f"tFAW: fifth activate {c.clock - recent[0]} clocks after the first, least is {timing.tfaw}")
        state.activates = [*recent, c.clock]
    elif c.command == PRECHARGE:
        if state.open_rows.pop(c.bank, None) is None:
            fail("bank is not open")
    elif c.command == PRECHARGE_ALL:
        state.open_rows.clear()
    elif c.command in COLUMN_COMMANDS:
        if state.open_rows.get(c.bank) != c.row:
            fail(f"open row is {state.open_rows.get(c.bank, 'none')}")
        if not 0 <= c.column < timing.lines_per_row * timing.bursts_per_line:
            fail(f"no burst {c.column} in a row")
        start = c.clock + (timing.tcl if c.command == READ_BURST else timing.tcwl)
        if start < state.data_end:
            fail(f"data bus taken until clock {state.data_end}, data would start at {start}")
        state.data_end = start + timing.burst_clocks
    else:
        if state.open_rows:
            fail(f"banks {sorted(state.open_rows)} are open")
        state.refreshes += 1
    due = c.clock // timing.trefi
    if state.refreshes < due - MAX_POSTPONED_REFRESHES:
        fail(f"tREFI: {state.refreshes} refreshes so far, {due} were due")
