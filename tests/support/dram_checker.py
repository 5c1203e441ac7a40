"""Protocol checker: replays a recorded command stream against the timing rules, independently of the model.

It reads the table of rules that the scheduler's arrays are compiled from, but not those arrays: each command is held
against every earlier one that is recent enough to matter. What a table of pairs cannot say it knows by itself: bank
states and rows, the command and data buses with commands of several clocks and the idle clocks between reads and
writes, and the count and gaps of each bank's refreshes.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gpusim.base.errors import SimulationError
from gpusim.base.jit import address_of
from memory.dram.constants import (
    ACTIVATE,
    BANK,
    CHANNEL,
    COLUMN_COMMANDS,
    COMMAND_NAMES,
    GROUP,
    OTHER_RANK,
    PRECHARGE,
    PRECHARGE_ALL,
    RANK,
    READ_BURST,
    RECORD_WORDS,
    REFRESH,
    WRITE_BURST,
    WRITE_BYTES,
    WRITE_PAIRS,
    WRITES,
)
from memory.dram.constraints import RULES, TimingRule, in_force
from memory.dram.timing import DramTiming

MAX_POSTPONED_REFRESHES = 1  # intervals by which a refresh may be late
MAX_EARLY_REFRESHES = 1  # refreshes of a bank before they are due


class DramCommand(NamedTuple):
    """An issued command; `bank`, `row` and `column` (burst of the row) are 0 where it has none.

    The bank of a command that covers several is the first of them, that of a precharge-all the first of its rank.
    """

    channel: int
    clock: int
    command: int
    bank: int
    row: int
    column: int


class ProtocolError(SimulationError):
    """A command stream breaks a timing rule or a bank's state."""


def record_commands(m: Any, capacity: int) -> np.ndarray:
    """Record the next `capacity` commands of `m.dram`; returns the buffer, which must outlive the recording."""
    buffer = np.zeros((capacity, RECORD_WORDS), np.int64)
    m.dram.record_address = address_of(buffer)
    m.dram.record_capacity = capacity
    m.dram.record_count = 0
    return buffer


def recorded_commands(m: Any, buffer: np.ndarray) -> list[DramCommand]:
    """Return the commands recorded so far, in order of issue.

    OverflowError if the buffer was too small for all.
    """
    count = int(m.dram.record_count)
    if count > len(buffer):
        raise OverflowError(f"{count} commands were issued, the buffer holds {len(buffer)}")
    return [DramCommand(*map(int, row)) for row in buffer[:count]]


class _CheckedCommand(NamedTuple):
    """A command together with the banks, groups and rank that it covers."""

    clock: int
    command: int
    kinds: frozenset[int]
    rank: int
    groups: frozenset[int]
    banks: frozenset[int]


@dataclass
class _Channel:
    """State of a channel after a prefix of its command stream."""

    open_rows: dict[int, int] = field(default_factory=dict)
    recent: deque[_CheckedCommand] = field(default_factory=deque)
    windows: dict[tuple[str, int], list[int]] = field(default_factory=dict)  # rule's name, rank -> clocks
    bus_clock: dict[bool, int] = field(default_factory=dict)  # row bus or not -> its last command
    bus_free: dict[bool, int] = field(default_factory=dict)  # and when it takes the next
    data: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # data bus -> last burst's command, rank, end
    refreshes: dict[int, int] = field(default_factory=dict)  # bank -> count
    refreshed: dict[int, int] = field(default_factory=dict)  # bank -> clock of the last


def check_commands(commands: Iterable[DramCommand], timing: DramTiming, rules: tuple[TimingRule, ...] = RULES) -> int:
    """Replay `commands` (each channel's in order of issue, from the first command on); returns how many there were.

    Raises ProtocolError naming the rule, the command and the clocks for the first violation.
    """
    held = list(in_force(timing, rules))
    channels: dict[int, _Channel] = {}
    count = 0
    for command in commands:
        _check(channels.setdefault(command.channel, _Channel()), command, timing, held)
        count += 1
    return count


def _covered(c: DramCommand, timing: DramTiming) -> frozenset[int]:
    """Return the banks that a command covers."""
    first = c.bank // timing.rank_banks * timing.rank_banks
    if c.command in (PRECHARGE_ALL, REFRESH):
        return frozenset(range(first, first + timing.rank_banks))
    if c.command == PRECHARGE or c.command == ACTIVATE or c.command in COLUMN_COMMANDS:
        return frozenset({c.bank})
    if timing.refresh_covers == "pair":
        return frozenset({c.bank, c.bank + timing.rank_banks // 2})
    if timing.refresh_covers == "group":
        return frozenset(range(c.bank, c.bank + timing.bank_groups))
    return frozenset({c.bank})


def _command_clocks(command: int, timing: DramTiming) -> int:
    """Return the clocks for which a command occupies its command bus."""
    taken = {ACTIVATE: timing.act, WRITE_PAIRS: timing.wdm, WRITE_BYTES: timing.wsm}.get(command)
    if taken is None and command in COLUMN_COMMANDS:
        taken = timing.column
    return taken or 1


def _kinds(command: int) -> frozenset[int]:
    """Return the commands whose rules a command obeys: a write with a mask is a write, too."""
    return frozenset({command, WRITE_BURST} if command in WRITES else {command})


def _share(level: int, one: _CheckedCommand, other: _CheckedCommand) -> bool:
    """Tell whether a rule of a level holds between two commands of a channel."""
    if level == BANK:
        return not one.banks.isdisjoint(other.banks)
    if level == GROUP:
        return not one.groups.isdisjoint(other.groups)
    if level == RANK:
        return one.rank == other.rank
    if level == OTHER_RANK:
        return one.rank != other.rank
    return level == CHANNEL


def _check(state: _Channel, c: DramCommand, timing: DramTiming, rules: list[tuple[TimingRule, int]]) -> None:
    def fail(what: str) -> None:
        name = COMMAND_NAMES.get(c.command, c.command)
        raise ProtocolError(f"channel {c.channel}, clock {c.clock}, {name} bank {c.bank} row {c.row}: {what}")

    if c.command not in COMMAND_NAMES or not 0 <= c.bank < timing.banks:
        fail("no such command or bank")
    row_bus = timing.separate_row_bus and c.command not in COLUMN_COMMANDS
    if c.clock <= state.bus_clock.get(row_bus, -1):
        fail(f"command bus taken in clock {state.bus_clock[row_bus]}")
    state.bus_clock[row_bus] = c.clock

    banks = _covered(c, timing)
    rank = c.bank // timing.rank_banks
    groups = frozenset(rank * timing.bank_groups + bank % timing.bank_groups for bank in banks)
    seen = _CheckedCommand(c.clock, c.command, _kinds(c.command), rank, groups, banks)
    longest = max(clocks for _, clocks in rules)
    while state.recent and state.recent[0].clock <= c.clock - longest:
        state.recent.popleft()
    for rule, clocks in rules:
        if rule.window:
            _check_window(state, seen, rule, clocks, fail)
        elif not seen.kinds.isdisjoint(rule.following):
            for before in state.recent:
                distance = c.clock - before.clock
                if distance < clocks and before.kinds & set(rule.preceding) and _share(rule.level, before, seen):
                    fail(f"{rule.name}: {distance} clocks after {COMMAND_NAMES[before.command]}, least is {clocks}")
    if c.clock < state.bus_free.get(row_bus, 0):
        fail(f"command bus taken until clock {state.bus_free[row_bus]}")
    state.bus_free[row_bus] = c.clock + _command_clocks(c.command, timing)
    _check_state(state, c, timing, banks, fail)
    state.recent.append(seen)


def _check_window(state: _Channel, seen: _CheckedCommand, rule: TimingRule, clocks: int, fail: Any) -> None:
    """Check that the n-th last of the commands counted by a window rule lies at least `clocks` back."""
    last = state.windows.setdefault((rule.name, seen.rank), [])
    if seen.command in rule.following and len(last) >= rule.window and seen.clock < last[-rule.window] + clocks:
        fail(
            f"{rule.name}: {seen.clock - last[-rule.window]} clocks after the first of {rule.window + 1}, "
            f"least is {clocks}"
        )
    if seen.command in rule.preceding:
        last.append(seen.clock)


def _check_state(state: _Channel, c: DramCommand, timing: DramTiming, banks: frozenset[int], fail: Any) -> None:
    """Check bank states, the data bus and the refresh rate, and update them."""
    rank = c.bank // timing.rank_banks
    if c.command == ACTIVATE:
        if not 0 <= c.row < timing.rows:
            fail(f"a bank has {timing.rows} rows")
        if c.bank in state.open_rows:
            fail(f"bank already has row {state.open_rows[c.bank]} open")
        state.open_rows[c.bank] = c.row
    elif c.command == PRECHARGE:
        if state.open_rows.pop(c.bank, None) is None:
            fail("bank is not open")
    elif c.command == PRECHARGE_ALL:
        for bank in banks:
            state.open_rows.pop(bank, None)
    elif c.command in COLUMN_COMMANDS:
        if state.open_rows.get(c.bank) != c.row:
            fail(f"open row is {state.open_rows.get(c.bank, 'none')}")
        if not 0 <= c.column < timing.lines_per_row * timing.bursts_per_line:
            fail(f"no burst {c.column} in a row")
        _check_data(state, c, timing, rank, fail)
    else:
        if (c.command == REFRESH) != (timing.refresh_covers == "all"):
            fail(f"refreshes cover {timing.refresh_covers}")
        still_open = sorted(banks & set(state.open_rows))
        if still_open:
            fail(f"banks {still_open} are open")
        for bank in banks:
            _check_refresh(state, c.clock, timing, bank, fail)
    due = c.clock // timing.trefi
    if due > MAX_POSTPONED_REFRESHES:
        fewest = min(state.refreshes.get(bank, 0) for bank in range(timing.banks))
        if fewest < due - MAX_POSTPONED_REFRESHES:
            fail(f"tREFI: {fewest} refreshes so far, {due} were due")


def _check_data(state: _Channel, c: DramCommand, timing: DramTiming, rank: int, fail: Any) -> None:
    """Check that bursts do not overlap on the data bus.

    Idle clocks are needed where reads change to writes, or the rank changes.
    """
    start = c.clock + (timing.tcl if c.command == READ_BURST else timing.tcwl)
    bus = rank if timing.pseudo_channels > 1 else 0  # ranks share one
    last, last_rank, end = state.data.get(bus, (c.command, rank, 0))
    if start < end:
        fail(f"data bus taken until clock {end}, data would start at {start}")
    turn = timing.turnaround if last == READ_BURST and c.command != READ_BURST else 0
    idle = turn if rank == last_rank else timing.trtrs or 0
    if start < end + idle:
        fail(f"data bus changes hands until clock {end + idle}, data would start at {start}")
    state.data[bus] = (c.command, rank, start + timing.burst_clocks)


def _check_refresh(state: _Channel, clock: int, timing: DramTiming, bank: int, fail: Any) -> None:
    """Check that a bank's refresh is neither too late after the last one nor too early, and count it."""
    count = state.refreshes.get(bank, 0) + 1
    gap = clock - state.refreshed.get(bank, 0)
    if gap > (1 + MAX_POSTPONED_REFRESHES) * timing.trefi:
        fail(f"tREFI: {gap} clocks without a refresh of bank {bank}")
    if count > clock // timing.trefi + 1 + MAX_EARLY_REFRESHES:
        fail(f"tREFI: {count} refreshes of bank {bank} so far, {clock // timing.trefi} were due")
    state.refreshes[bank], state.refreshed[bank] = count, clock
