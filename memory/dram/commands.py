"""DRAM commands: what each issued command does to its bank, and which later commands have to wait for it."""

from gpusim.base.jit import Machine, address_in, ctz, jit, popcount, quotient, raise_4, st_i64
from memory.dram.constants import (
    ACTIVATE,
    BANK,
    CLOSED,
    COMMANDS,
    CONFLICT,
    EVEN_BYTES,
    GROUP,
    GROUP_ROW,
    HALF,
    HIT,
    MAX_WINDOWS,
    NEVER,
    OTHER_RANK,
    PRECEDING,
    PRECHARGE,
    RANK,
    RANK_ROW,
    READ,
    READ_BURST,
    RECORD_WORDS,
    WRITE_BURST,
    WRITE_BYTES,
    WRITE_PAIRS,
)
from memory.dram.page_policy import note_access
from memory.dram.requests import choose_both, finish, line_of_row
from memory.dram.scheduler import note_served


@jit(cold=True)
def _append(m: Machine, channel, clock, command, bank, row, column):
    dram = m.dram
    if dram.record_count < dram.record_capacity:
        at = dram.record_count * RECORD_WORDS
        st_i64(dram.record_address, at, channel)
        st_i64(dram.record_address, at + 1, clock)
        st_i64(dram.record_address, at + 2, command)
        st_i64(dram.record_address, at + 3, bank)
        st_i64(dram.record_address, at + 4, row)
        st_i64(dram.record_address, at + 5, column)
    dram.record_count += 1


@jit
def record_command(m: Machine, channel, clock, command, bank, row, column):
    """Append the command to the record, if there is one."""
    if m.dram.record_address:
        _append(m, channel, clock, command, bank, row, column)


@jit(inline=True)
def _hold_back(m: Machine, channel, command, clock, level, row, half):
    """Apply the rules of one level: four commands wait as long after `command` as the rules say.

    `earliest` has a row for each bank, bank group and rank, with the first clock of every command; `least` has the
    distances from `command` to every command. So the cost does not depend on the number of rules.
    """
    earliest = address_in(m.dram.channel[channel].earliest[row], half)
    raise_4(earliest, address_in(m.dram.least[level * PRECEDING + command], half), clock)


@jit(cold=True)
def hold_back_all(m: Machine, channel, command, bank, clock):
    """Apply all rules: later commands to the bank, its group, its rank and other ranks wait as the rules say."""
    dram = m.dram
    own = RANK_ROW + (bank >> dram.rank_shift)
    for half in range(0, COMMANDS, HALF):
        _hold_back(m, channel, command, clock, BANK, bank, half)
        _hold_back(m, channel, command, clock, GROUP, GROUP_ROW + (bank & dram.group_mask), half)
        for rank in range(RANK_ROW, RANK_ROW + dram.ranks):
            _hold_back(m, channel, command, clock, RANK if rank == own else OTHER_RANK, rank, half)


# The next three are `hold_back_all` for the busy commands: where `constraints.REACH` says that rules are, and further
# only where a configuration is `special` (see `memory.dram.advance`).


@jit(inline=True)
def _rank(m: Machine, bank, special):
    """Return the rank of a bank; there are several ranks only where a configuration is `special`."""
    return bank >> m.dram.rank_shift if special else 0


@jit(inline=True)
def _hold_back_after_burst(m: Machine, channel, command, bank, clock, special):
    dram = m.dram
    _hold_back(m, channel, command, clock, BANK, bank, 0)
    _hold_back(m, channel, command, clock, GROUP, GROUP_ROW + (bank & dram.group_mask), 0)
    _hold_back(m, channel, command, clock, RANK, RANK_ROW + _rank(m, bank, special), 0)
    if special and dram.reaches_further[command]:
        hold_back_all(m, channel, command, bank, clock)


@jit(inline=True)
def _hold_back_after_precharge(m: Machine, channel, bank, clock, special):
    dram = m.dram
    _hold_back(m, channel, PRECHARGE, clock, BANK, bank, HALF)
    _hold_back(m, channel, PRECHARGE, clock, RANK, RANK_ROW + _rank(m, bank, special), 0)
    if special and dram.reaches_further[PRECHARGE]:
        hold_back_all(m, channel, PRECHARGE, bank, clock)


@jit(inline=True)
def _hold_back_after_activate(m: Machine, channel, bank, clock, special):
    dram = m.dram
    _hold_back(m, channel, ACTIVATE, clock, BANK, bank, 0)
    _hold_back(m, channel, ACTIVATE, clock, BANK, bank, HALF)
    _hold_back(m, channel, ACTIVATE, clock, GROUP, GROUP_ROW + (bank & dram.group_mask), HALF)
    rank = RANK_ROW + _rank(m, bank, special)
    _hold_back(m, channel, ACTIVATE, clock, RANK, rank, 0)  # its second clock of the command bus
    _hold_back(m, channel, ACTIVATE, clock, RANK, rank, HALF)
    if special and dram.reaches_further[ACTIVATE]:
        hold_back_all(m, channel, ACTIVATE, bank, clock)


@jit(inline=True)
def _window_moves(m: Machine, channel, bank, clock, special):
    """Apply the rules over a window of activates: the next one waits for the oldest in the window."""
    dram = m.dram
    state = dram.channel[channel]
    rank = _rank(m, bank, special)
    for rule in range(dram.windows):
        ring = rank * MAX_WINDOWS + rule
        position = state.window_oldest[ring]
        state.window[ring, position] = clock
        position = position + 1 if position + 1 < dram.window_size[rule] else 0
        state.window_oldest[ring] = position
        distance = address_in(dram.window_distance[rule], HALF)
        raise_4(address_in(state.earliest[RANK_ROW + rank], HALF), distance, state.window[ring, position])


@jit
def bytes_of_burst(m: Machine, mask, burst):
    """Return which bytes of a burst a line's mask names."""
    dram = m.dram
    return mask if dram.bursts == 1 else (mask >> (burst * dram.burst_bytes)) & ((1 << dram.burst_bytes) - 1)


@jit
def _send_mask(m: Machine, channel, bank, clock, named):
    """Send the mask of a burst that is written in part; returns the command that the write is.

    named: bytes of the burst that are written.
    """
    m.dram.channel[channel].masked_bursts += 1
    if m.dram.masks_take_clocks == 0:
        return WRITE_BURST
    command = WRITE_BYTES if (named ^ (named >> 1)) & EVEN_BYTES else WRITE_PAIRS
    hold_back_all(m, channel, command, bank, clock)
    return command


@jit(inline=True)
def issue_column(m: Machine, channel, kind, bank, clock, special):
    """Send one burst of the bank's chosen request over the data bus."""
    dram = m.dram
    state = dram.channel[channel]
    s = state.chosen[kind, bank]
    left = state.slot[s].left
    burst = ctz(left)
    left &= left - 1
    state.slot[s].left = left
    _hold_back_after_burst(m, channel, READ_BURST + kind, bank, clock, special)
    if special:
        note_access(m, channel, bank, clock)
    command = READ_BURST + kind
    if kind == READ:
        state.bytes_read += dram.burst_bytes
    else:
        named = popcount(bytes_of_burst(m, state.mask[s], burst))
        state.bytes_written += dram.burst_bytes
        state.bytes_dirty += named
        if named < dram.burst_bytes:
            command = _send_mask(m, channel, bank, clock, bytes_of_burst(m, state.mask[s], burst))
        # from here on the write's bytes are fixed: a later write of the line has to have a burst of its own
        if state.first_burst[s] == NEVER:
            state.first_burst[s] = quotient(clock * dram.cycles, dram.clocks)
    state.data_bus_busy += dram.burst_clocks
    column = line_of_row(m, state.slot[s].local)
    record_command(m, channel, clock, command, bank, state.slot[s].row, column * dram.bursts + burst)
    if left:
        state.begun[kind] |= 1 << bank
    else:
        state.begun[kind] &= ~(1 << bank)
        if special:
            note_served(m, channel, kind, bank, s)
        finish(m, channel, s, clock)
    # where all hits are of this bank's group, as after a line's first burst, none can follow before its rules allow it
    group = bank & dram.group_mask
    if state.hits[kind] & ~dram.group_banks[group] == 0:
        state.column_not_before = max(state.column_not_before, state.earliest[GROUP_ROW + group, READ_BURST + kind])


@jit(inline=True)
def close_row(m: Machine, channel, bank, clock, special):
    """Precharge a bank, which closes its row."""
    state = m.dram.channel[channel]
    record_command(m, channel, clock, PRECHARGE, bank, state.open_row[bank], 0)
    state.open_row[bank] = -1
    state.open_banks &= ~(1 << bank)
    _hold_back_after_precharge(m, channel, bank, clock, special)
    state.precharges += 1
    choose_both(m, channel, bank, clock)


@jit(inline=True)
def issue_precharge(m: Machine, channel, kind, bank, clock, special):
    """Close the row that conflicts with the bank's chosen request."""
    state = m.dram.channel[channel]
    state.slot[state.chosen[kind, bank]].found = CONFLICT
    close_row(m, channel, bank, clock, special)


@jit(inline=True)
def issue_activate(m: Machine, channel, kind, bank, clock, special):
    """Open the row of the bank's chosen request."""
    state = m.dram.channel[channel]
    s = state.chosen[kind, bank]
    row = state.slot[s].row
    record_command(m, channel, clock, ACTIVATE, bank, row, 0)
    state.open_row[bank] = row
    state.open_banks |= 1 << bank
    _hold_back_after_activate(m, channel, bank, clock, special)
    _window_moves(m, channel, bank, clock, special)
    state.activates += 1
    if state.slot[s].found == HIT:
        state.slot[s].found = CLOSED
    choose_both(m, channel, bank, clock)
