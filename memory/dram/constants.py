"""Numbers that all files of the DRAM model share: commands, levels, request kinds, and fixed maxima.

Sizes are maxima that never change, so that another configuration does not recompile the core.
"""

from typing import NamedTuple

READ, WRITE = 0, 1
HIT, CLOSED, CONFLICT = 0, 1, 2  # what a request found in its bank

# commands; REFRESH is of all banks of a rank, REFRESH_BANK of one bank or a set of banks
PRECHARGE, PRECHARGE_ALL, READ_BURST, WRITE_BURST, ACTIVATE, REFRESH, REFRESH_BANK = range(7)
COMMANDS = 8  # commands in a row of a table: a line of the host's cache
# writes of bursts in part whose mask follows on the command bus: one bit for two bytes, or for one. They hold back what
# a write does and, by the rules that name them, more; nothing waits for them otherwise than for a write
WRITE_PAIRS, WRITE_BYTES = 8, 9
PRECEDING = 10  # commands that rules may name as the earlier one
HALF = 4  # the commands before it are all that a read or write of most standards holds back
COMMAND_NAMES = {
    ACTIVATE: "ACT",
    PRECHARGE: "PRE",
    PRECHARGE_ALL: "PREA",
    READ_BURST: "RD",
    WRITE_BURST: "WR",
    WRITE_PAIRS: "WDM",
    WRITE_BYTES: "WSM",
    REFRESH: "REF",
    REFRESH_BANK: "REFB",
}
WRITES = (WRITE_BURST, WRITE_PAIRS, WRITE_BYTES)
COLUMN_COMMANDS = (READ_BURST, *WRITES)
ROW_COMMANDS = (ACTIVATE, PRECHARGE, PRECHARGE_ALL, REFRESH, REFRESH_BANK)

# levels at which a rule holds; OTHER_RANK: between a rank and the others of its channel
BANK, GROUP, RANK, OTHER_RANK = range(4)
CHANNEL = 4  # RANK and OTHER_RANK at once
LEVEL_NAMES = {BANK: "bank", GROUP: "bank group", RANK: "rank", OTHER_RANK: "other rank", CHANNEL: "channel"}
STORED_LEVELS = 4

MAX_QUEUE = 128  # requests of one kind that a channel can hold
MAX_BANKS = 64  # of a channel, all ranks together: bits of a word
MAX_RANKS = 4  # ranks, or pseudo-channels, of a channel
MAX_WINDOWS = 2  # rules over a window of commands
MAX_WINDOW = 32  # commands in a window
RECORD_WORDS = 6  # channel, clock, command, bank, row, burst column

# which row of a channel's `earliest` belongs to a bank, a bank group (numbered through all ranks), a rank
BANK_ROW, GROUP_ROW, RANK_ROW = 0, MAX_BANKS, 2 * MAX_BANKS
EARLIEST_ROWS = RANK_ROW + MAX_RANKS

NEVER = 1 << 60
ALL_BANKS = -1  # mask of every bank
WHOLE_LINE = -1  # mask of all 64 bytes
EVEN_BYTES = 0x5555_5555_5555_5555  # mask of every other byte


class DramPolicy(NamedTuple):
    """A policy that a configuration names."""

    number: int
    """Number in compiled code."""
    meaning: str
    """What it does."""
    source: str
    """Where it comes from."""
