"""The timing rules of DRAM as one table, a row a rule, and its compilation to the arrays that the scheduler uses.

A rule says: at a level, a command of `following` comes at least `latency` clocks after each command of `preceding`.
With a window of n commands, it comes that long after the n-th last of them (the four-activate window: n = 4).
`latency` is a sum of timing names (fields of `memory.dram.timing.DramTiming`) and numbers. A rule that names a timing
that a standard does not have is not one of that standard's.

A command that covers several banks (precharge all, the refreshes) counts at level `BANK` for each bank it covers, as
preceding and as following command. The scheduler keeps, for each bank, bank group and rank, the first clock of each
command; to add a rule is to add a row here. The tests' checker reads the rows, not what is compiled from them.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from memory.dram.constants import (
    ACTIVATE,
    BANK,
    CHANNEL,
    COMMANDS,
    GROUP,
    HALF,
    MAX_WINDOW,
    MAX_WINDOWS,
    NEVER,
    OTHER_RANK,
    PRECEDING,
    PRECHARGE,
    PRECHARGE_ALL,
    RANK,
    READ_BURST,
    REFRESH,
    REFRESH_BANK,
    ROW_COMMANDS,
    STORED_LEVELS,
    WRITE_BURST,
    WRITE_BYTES,
    WRITE_PAIRS,
)

_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+)|([a-z_0-9]+))")


class TimingRule(NamedTuple):
    """A timing constraint between commands, as described in the module's docstring."""

    name: str
    """Name of the rule."""
    level: int
    """What the commands have in common."""
    preceding: tuple[int, ...]
    """Commands before."""
    following: tuple[int, ...]
    """Commands after."""
    latency: str
    """Expression of the clocks between them."""
    window: int = 0
    """Commands of the window; 0: no window."""

    def clocks(self, timing: Any) -> int | None:
        """Return the least distance in command clocks, None where the standard lacks one of the timings."""
        total, position = 0, 0
        text = self.latency.strip()
        while position < len(text):
            term = _TERM.match(text, position)
            if term is None or (position and not term[1]):
                raise ValueError(f"rule {self.name}: cannot read '{text[position:]}' of '{self.latency}'")
            value = int(term[2]) if term[2] else getattr(timing, term[3])
            if value is None:
                return None
            total += -value if term[1] == "-" else value
            position = term.end()
        return total


_ACT, _RD, _WR = (ACTIVATE,), (READ_BURST,), (WRITE_BURST,)
_PRECHARGES = (PRECHARGE, PRECHARGE_ALL)
_OPENS = (ACTIVATE, REFRESH, REFRESH_BANK)  # what needs a precharged bank
_COLUMNS = (READ_BURST, WRITE_BURST)

RULES: tuple[TimingRule, ...] = (
    # a bank's way from row to row
    TimingRule("tRCD read", BANK, _ACT, _RD, "trcd_read"),
    TimingRule("tRCD write", BANK, _ACT, _WR, "trcd_write"),
    TimingRule("tRAS", BANK, _ACT, _PRECHARGES, "tras"),
    TimingRule("tRC", BANK, _ACT, _OPENS, "trc"),
    TimingRule("tRTP", BANK, _RD, _PRECHARGES, "trtp"),
    TimingRule("tWR", BANK, _WR, _PRECHARGES, "tcwl + burst_clocks + twr"),
    TimingRule("tRP", BANK, (PRECHARGE,), _OPENS, "trp"),
    TimingRule("tRP all", BANK, (PRECHARGE_ALL,), _OPENS, "trp_all"),
    # power: how fast rows may be opened and closed
    TimingRule("tRRD_S", RANK, _ACT, (ACTIVATE, REFRESH_BANK), "trrd_short"),
    TimingRule("tRRD_L", GROUP, _ACT, (ACTIVATE, REFRESH_BANK), "trrd_long"),
    TimingRule("tFAW", RANK, _ACT, _ACT, "tfaw", window=4),
    TimingRule("t32AW", RANK, _ACT, _ACT, "t32aw", window=32),
    TimingRule("tPPD", RANK, _PRECHARGES, _PRECHARGES, "tppd"),
    # column commands: the data bus, and what the banks of a group share
    TimingRule("tCCD_S", RANK, _COLUMNS, _COLUMNS, "tccd_short"),
    TimingRule("tCCD_L", GROUP, _COLUMNS, _COLUMNS, "tccd_long"),
    TimingRule("tCCD_L_WR", GROUP, _WR, _WR, "tccd_long_write"),
    TimingRule("tWTR_S", RANK, _WR, _RD, "tcwl + burst_clocks + twtr_short"),
    TimingRule("tWTR_L", GROUP, _WR, _RD, "tcwl + burst_clocks + twtr_long"),
    TimingRule("tRTW", RANK, _RD, _WR, "tcl + burst_clocks + turnaround - tcwl"),
    # ranks on one data bus: the strobe changes hands between two bursts
    TimingRule("tRTRS", OTHER_RANK, _RD, _RD, "burst_clocks + trtrs"),
    TimingRule("tRTRS write", OTHER_RANK, _WR, _WR, "burst_clocks + trtrs"),
    TimingRule("tRTRS read to write", OTHER_RANK, _RD, _WR, "tcl + burst_clocks + trtrs - tcwl"),
    TimingRule("tRTRS write to read", OTHER_RANK, _WR, _RD, "tcwl + burst_clocks + trtrs - tcl"),
    # refresh
    TimingRule("tRFC", BANK, (REFRESH,), _OPENS, "trfc"),
    TimingRule("tRFC bank", BANK, (REFRESH_BANK,), _OPENS, "trfc_bank"),
    TimingRule("tRREFD", RANK, (REFRESH_BANK,), _ACT, "trrefd"),
    TimingRule("tREFB to REFB", RANK, (REFRESH_BANK,), (REFRESH_BANK,), "trefb_to_refb"),
    # commands that take several clocks of a command bus
    TimingRule("ACT on the row bus", CHANNEL, _ACT, ROW_COMMANDS, "act"),
    TimingRule("ACT on a shared bus", CHANNEL, _ACT, _COLUMNS, "act_shared"),
    TimingRule("RD, WR on the column bus", CHANNEL, _COLUMNS, _COLUMNS, "column"),
    TimingRule("RD, WR on a shared bus", CHANNEL, _COLUMNS, ROW_COMMANDS, "column_shared"),
    TimingRule("WDM on a shared bus", CHANNEL, (WRITE_PAIRS,), (*_COLUMNS, *ROW_COMMANDS), "wdm"),
    TimingRule("WSM on a shared bus", CHANNEL, (WRITE_BYTES,), (*_COLUMNS, *ROW_COMMANDS), "wsm"),
)


# Where almost all rules are: level and half of the commands that a command holds back. The scheduler applies these in
# line and looks for the others only where a standard has them.
REACH: dict[int, tuple[tuple[int, int], ...]] = {
    READ_BURST: ((BANK, 0), (GROUP, 0), (RANK, 0)),
    WRITE_BURST: ((BANK, 0), (GROUP, 0), (RANK, 0)),
    PRECHARGE: ((BANK, HALF), (RANK, 0)),
    ACTIVATE: ((BANK, 0), (BANK, HALF), (GROUP, HALF), (RANK, 0), (RANK, HALF)),
}


class ActivateWindow(NamedTuple):
    """A compiled window rule: `distance` clocks after the `size`-th last activate of a rank."""

    size: int
    """Activates of the window."""
    distance: np.ndarray
    """Clocks by following command; -NEVER: no rule."""


class CompiledConstraints(NamedTuple):
    """The arrays and windows that the scheduler needs of a table of rules."""

    least: np.ndarray
    """Clocks by level, preceding command and following command; 0 where there is no rule."""
    windows: tuple[ActivateWindow, ...]
    """Windows of activates."""


def in_force(timing: Any, rules: tuple[TimingRule, ...] = RULES) -> Iterator[tuple[TimingRule, int]]:
    """Yield the rules that a standard has, with their latencies in clocks."""
    for rule in rules:
        clocks = rule.clocks(timing)
        if clocks is not None and clocks > 0:
            yield rule, clocks


def compiled(timing: Any, rules: tuple[TimingRule, ...] = RULES) -> CompiledConstraints:
    """Compile the rules to arrays: for each pair of commands and level the longest distance.

    ValueError for more windows than the scheduler has space for, and for rules that it cannot represent.
    """
    least = np.zeros((STORED_LEVELS, PRECEDING, COMMANDS), np.int64)
    windows = []
    for rule, clocks in in_force(timing, rules):
        if rule.window:
            windows.append(_window(rule, clocks))
            continue
        if rule.level == GROUP and {PRECHARGE, PRECHARGE_ALL} & set(rule.following):
            raise ValueError(f"rule {rule.name}: a precharge does not wait for its bank group")
        for level in (RANK, OTHER_RANK) if rule.level == CHANNEL else (rule.level,):
            for before in rule.preceding:
                for after in rule.following:
                    least[level, before, after] = max(least[level, before, after], clocks)
    if len(windows) > MAX_WINDOWS:
        raise ValueError(f"{len(windows)} rules over a window of commands, at most {MAX_WINDOWS} are supported")
    return CompiledConstraints(least, tuple(windows))


def reaches_further(table: CompiledConstraints, command: int) -> bool:
    """Tell whether a busy command holds back commands of its own rank that `REACH` does not name.

    For commands that are not busy, all rules are applied.
    """
    if command not in REACH:
        return False
    beyond = table.least[:, command].copy()
    beyond[OTHER_RANK] = 0
    for level, half in REACH[command]:
        beyond[level, half : half + HALF] = 0
    return bool(beyond.any())


def _window(rule: TimingRule, clocks: int) -> ActivateWindow:
    if (rule.level, rule.preceding) != (RANK, (ACTIVATE,)) or rule.window > MAX_WINDOW:
        raise ValueError(f"rule {rule.name}: a window is of at most {MAX_WINDOW} activates of a rank")
    if min(rule.following) < HALF:
        raise ValueError(f"rule {rule.name}: a window may hold back activates and refreshes")
    distance = np.full(COMMANDS, -NEVER, np.int64)
    distance[list(rule.following)] = clocks
    return ActivateWindow(rule.window, distance)
