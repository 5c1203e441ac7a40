"""What a channel's controller decides, clock by clock: direction of the data bus, refresh, and the next command.

What could be issued when is a function of state and clock alone. So clocks in which nothing can be issued are jumped
over, and looking at a channel more often changes nothing.
"""

from gpusim.jit import ctz, jit
from memory.dram.commands import close_row, issue_activate, issue_column, issue_precharge
from memory.dram.constants import (
    ACTIVATE,
    ALL_BANKS,
    GROUP_ROW,
    MAX_BANKS,
    NEVER,
    PRECHARGE,
    RANK_ROW,
    READ,
    READ_BURST,
    WHOLE_LINE,
    WRITE,
)
from memory.dram.page_policy import OPEN_PAGE, row_to_close
from memory.dram.refresh import refresh_step
from memory.dram.scheduler import candidate_banks

ENDING = 2  # added to READ or WRITE: the direction ends with the lines begun


@jit(inline=True)
def _rank_ready(m, channel, command, special):
    """First clock in which the rules of some rank allow a command."""
    if special:
        return _soonest_rank(m, channel, command)
    return m.dram.channel[channel].earliest[RANK_ROW, command]


@jit(cold=True)
def _soonest_rank(m, channel, command):
    soonest = NEVER
    for rank in range(m.dram.ranks):
        soonest = min(soonest, m.dram.channel[channel].earliest[RANK_ROW + rank, command])
    return soonest


@jit(cold=True)
def _ready_ranks(m, channel, command, clock):
    """Banks of the ranks whose rules allow a command now."""
    dram = m.dram
    banks = 0
    for rank in range(dram.ranks):
        if dram.channel[channel].earliest[RANK_ROW + rank, command] <= clock:
            banks |= ((1 << dram.rank_banks) - 1) << (rank * dram.rank_banks)
    return banks


@jit(cold=True)
def _soonest_late_rank(m, channel, command, banks, clock):
    """First clock after this one in which the rules of a rank allow a command, of those that have one of `banks`."""
    dram = m.dram
    soonest = NEVER
    for rank in range(dram.ranks):
        t = dram.channel[channel].earliest[RANK_ROW + rank, command]
        if t > clock and (banks >> (rank * dram.rank_banks)) & ((1 << dram.rank_banks) - 1):
            soonest = min(soonest, t)
    return soonest


@jit(inline=True)
def _ready_bank(m, channel, kind, command, banks, clock, special):
    """Bank of the oldest request in `banks` that can have its `command` now, or -1 - the first clock for one."""
    dram = m.dram
    state = dram.channel[channel]
    best = NEVER
    soonest = NEVER
    if special:  # of one rank `_rank_ready` has said all
        soonest = _soonest_late_rank(m, channel, command, banks, clock)
        banks &= _ready_ranks(m, channel, command, clock)
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = state.earliest[bank, command]
        if command != PRECHARGE:  # which does not wait for its bank group
            t = max(t, state.earliest[GROUP_ROW + (bank & dram.group_mask), command])
        # NEVER is a bit that only negative numbers have set: no branch, as which bank comes late has no pattern
        best = min(best, state.claim[kind, bank] | ((clock - t) & NEVER))
        soonest = min(soonest, t)
    return best & (MAX_BANKS - 1) if best < NEVER else -1 - soonest


@jit(inline=True)
def _direction(m, channel, clock):
    """READ or WRITE: who has the data bus; plus ENDING if it changes after the lines that are begun.

    To change the direction costs idle clocks, so writes are held back and drained in batches. A batch ends while the
    other side presses, so neither starves.
    """
    dram = m.dram
    state = dram.channel[channel]
    direction = state.direction
    reads = state.listed[READ]
    writes = state.listed[WRITE]
    had_batch = state.served >= dram.batch
    if direction == READ:
        if reads:
            change = writes >= dram.write_high and had_batch
        else:
            idle = clock >= state.read_idle_since + dram.write_idle
            change = writes > dram.write_low or (writes > 0 and idle)
    else:
        change = writes == 0 or (reads > 0 and (writes <= dram.write_low or had_batch))
    if change:
        if state.begun[direction]:
            return direction + ENDING
        direction = READ + WRITE - direction
        state.direction = direction
        state.served = 0
        # what was found of one direction's banks says nothing of the other's
        state.column_not_before = 0
        state.activate_not_before = 0
        state.precharge_not_before = 0
    return direction


@jit(inline=True)
def _advance(m, channel, limit, ahead, special):
    """`advance`, with what only some configurations need where `special` is 1.

    The compiler makes two functions of this one, so that most channels do not ask at every step for what they lack.
    """
    dram = m.dram
    state = dram.channel[channel]
    closes_rows = special and dram.page_policy != OPEN_PAGE
    clock = state.clock
    while clock < limit:
        too_early = clock >= ahead and state.listed[READ] == 0
        soonest = state.refresh_due
        allowed = ALL_BANKS
        if clock >= soonest:
            if too_early:
                break
            t = refresh_step(m, channel, clock)
            if t > 0 or not special:
                clock = t
                continue
            soonest = -t
            allowed = ~state.blocked
        kind = _direction(m, channel, clock)
        if kind >= ENDING:
            kind -= ENDING
            allowed &= state.begun[kind]
        issued = 0
        row_bus_free = True
        if state.listed[kind] == 0:
            if state.listed[WRITE]:
                soonest = min(soonest, state.read_idle_since + dram.write_idle)
            if not closes_rows:
                clock = soonest
                continue
        if special:
            allowed &= candidate_banks(m, channel, kind)
        # a burst goes before row commands: the data bus is what is scarce
        banks = state.hits[kind] & allowed
        if banks:
            t = max(_rank_ready(m, channel, READ_BURST + kind, special), state.column_not_before)
            if state.misses[kind] & allowed == 0 and not closes_rows:
                # nothing else can be done before: go there at once
                clock = max(clock, min(t, soonest))
                if clock >= min(limit, soonest):
                    continue
                too_early = clock >= ahead and state.listed[READ] == 0
            if clock >= t:
                bank = _ready_bank(m, channel, kind, READ_BURST + kind, banks, clock, special)
                if bank >= 0:
                    merges = kind == WRITE and state.mask[state.chosen[WRITE, bank]] != WHOLE_LINE
                    if too_early or (merges and clock >= ahead):
                        break
                    issue_column(m, channel, kind, bank, clock, special)
                    issued = 1
                    row_bus_free = dram.split_bus
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        state.column_not_before = t
            soonest = min(soonest, t)
        banks = state.misses[kind] & allowed & ~state.open_banks
        if banks and row_bus_free:
            t = max(_rank_ready(m, channel, ACTIVATE, special), state.activate_not_before)
            if clock >= t:
                bank = _ready_bank(m, channel, kind, ACTIVATE, banks, clock, special)
                if bank >= 0:
                    if too_early:
                        break
                    issue_activate(m, channel, kind, bank, clock, special)
                    issued = 1
                    row_bus_free = False
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        state.activate_not_before = t
            soonest = min(soonest, t)
        banks = state.misses[kind] & allowed & state.open_banks
        if banks and row_bus_free:
            t = max(_rank_ready(m, channel, PRECHARGE, special), state.precharge_not_before)
            if clock >= t:
                bank = _ready_bank(m, channel, kind, PRECHARGE, banks, clock, special)
                if bank >= 0:
                    if too_early:
                        break
                    issue_precharge(m, channel, kind, bank, clock, special)
                    issued = 1
                    row_bus_free = False
                else:
                    t = -1 - bank
                    if allowed == ALL_BANKS:
                        state.precharge_not_before = t
            soonest = min(soonest, t)
        if closes_rows:
            bank = row_to_close(m, channel, clock) if row_bus_free else -1 - NEVER
            if bank >= 0:
                if too_early:
                    break
                close_row(m, channel, bank, clock, special)
                issued = 1
            else:
                soonest = min(soonest, -1 - bank)
        clock = clock + 1 if issued else soonest
    state.clock = clock


@jit(cold=True)
def _advance_special(m, channel, limit, ahead):
    _advance(m, channel, limit, ahead, 1)


@jit
def advance(m, channel, limit, ahead):
    """Decide all clocks before `limit`, jumping over those in which nothing can be issued.

    Clocks from `ahead` on lie in later core cycles. They are decided only as long as reads are listed (the kernel
    does not end before they are answered), and no burst of a write that may still gain bytes.
    """
    if m.dram.special:
        _advance_special(m, channel, limit, ahead)
    else:
        _advance(m, channel, limit, ahead, 0)
