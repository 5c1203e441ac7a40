"""What a channel's controller decides, clock by clock: direction of the data bus, refresh, and the next command.

What could be issued when is a function of state and clock alone. So clocks in which nothing can be issued are jumped
over, and looking at a channel more often changes nothing.
"""

from gpusim.base.jit import Machine, jit
from memory.dram.commands import close_row, issue_activate, issue_column, issue_precharge
from memory.dram.constants import (
    ACTIVATE,
    ALL_BANKS,
    NEVER,
    PRECHARGE,
    READ,
    READ_BURST,
    WHOLE_LINE,
    WRITE,
)
from memory.dram.direction import ENDING, banks_to_prepare, bus_direction, ending_banks
from memory.dram.page_policy import OPEN_PAGE, row_to_close
from memory.dram.ready import rank_ready, ready_bank
from memory.dram.refresh import refresh_step
from memory.dram.scheduler import candidate_banks


@jit(outline=True)
def _prepare(m: Machine, channel, kind, banks, clock, too_early, special):
    """Open or close one of `banks` for the side that waits for the data bus.

    Returns `clock` if done, -1 if it could be but must not be decided yet, else the first clock in which it can be.
    """
    state = m.dram.channel[channel]
    soonest = NEVER
    if special:
        banks &= candidate_banks(m, channel, kind)
    closed = banks & ~state.open_banks
    if closed:
        soonest = rank_ready(m, channel, ACTIVATE, special)
        if clock >= soonest:
            bank = ready_bank(m, channel, kind, ACTIVATE, closed, clock, special)
            if bank >= 0:
                if too_early:
                    return -1
                issue_activate(m, channel, kind, bank, clock, special)
                return clock
            soonest = -1 - bank
    opened = banks & state.open_banks
    if opened:
        t = rank_ready(m, channel, PRECHARGE, special)
        if clock >= t:
            bank = ready_bank(m, channel, kind, PRECHARGE, opened, clock, special)
            if bank >= 0:
                if too_early:
                    return -1
                issue_precharge(m, channel, kind, bank, clock, special)
                return clock
            t = -1 - bank
        soonest = min(soonest, t)
    return soonest


@jit(inline=True)
def _advance(m: Machine, channel, limit, ahead, special):
    """Decide clocks as `advance` does, with what only some configurations need where `special` is 1.

    The compiler makes two functions of this one, so that most channels do not ask at every step for what they lack.
    """
    dram = m.dram
    state = dram.channel[channel]
    closes_rows = special and dram.page_policy != OPEN_PAGE
    clock = state.clock
    # found anew after each command, before which they stay as they are until a refresh is due
    changed = 1
    due = 0
    kind = READ
    bursts = ALL_BANKS  # banks that may have one
    rows = ALL_BANKS  # banks that may be opened or closed
    others = 0  # banks to prepare for the other direction
    while clock < limit:
        too_early = clock >= ahead and state.listed[READ] == 0
        if changed or clock >= due:
            due = state.refresh_due
            bursts = ALL_BANKS
            rows = ALL_BANKS
            if clock >= due:
                if too_early:
                    break
                t = refresh_step(m, channel, clock)
                if t > 0:
                    clock = t
                    changed = 1
                    continue
                due = -t
                bursts = ~state.closing
                rows = ~state.blocked
            kind = bus_direction(m, channel, clock, special)
            ending = kind >= ENDING
            if ending:
                kind -= ENDING
                bursts &= ending_banks(m, channel, kind)
            others = banks_to_prepare(m, channel, kind, ending) & rows
            if ending:
                rows &= state.begun[kind]
            changed = special  # there a policy may say something else in a later clock
            if state.listed[kind] == 0:
                if state.listed[WRITE]:
                    due = min(due, state.read_idle_since + dram.write_idle)
                if not closes_rows:
                    clock = due
                    changed = 1
                    continue
            if special:
                candidates = candidate_banks(m, channel, kind)
                bursts &= candidates
                rows &= candidates
        soonest = due
        issued = 0
        row_bus_free = True
        # a burst goes before row commands: the data bus is what is scarce
        banks = state.hits[kind] & bursts
        if banks:
            t = max(rank_ready(m, channel, READ_BURST + kind, special), state.column_not_before)
            if (state.misses[kind] & rows) | others == 0 and not closes_rows:
                # nothing else can be done before: go there at once
                clock = max(clock, min(t, soonest))
                if clock >= min(limit, soonest):
                    continue
                too_early = clock >= ahead and state.listed[READ] == 0
            if clock >= t:
                bank = ready_bank(m, channel, kind, READ_BURST + kind, banks, clock, special)
                if bank >= 0:
                    merges = kind == WRITE and state.mask[state.chosen[WRITE, bank]] != WHOLE_LINE
                    if too_early or (merges and clock >= ahead):
                        break
                    issue_column(m, channel, kind, bank, clock, special)
                    issued = 1
                    row_bus_free = dram.split_bus != 0
                else:
                    t = -1 - bank
                    if bursts == ALL_BANKS:
                        state.column_not_before = t
            soonest = min(soonest, t)
        banks = state.misses[kind] & rows & ~state.open_banks
        if banks and row_bus_free:
            t = max(rank_ready(m, channel, ACTIVATE, special), state.activate_not_before)
            if clock >= t:
                bank = ready_bank(m, channel, kind, ACTIVATE, banks, clock, special)
                if bank >= 0:
                    if too_early:
                        break
                    issue_activate(m, channel, kind, bank, clock, special)
                    issued = 1
                    row_bus_free = False
                else:
                    t = -1 - bank
                    if rows == ALL_BANKS:
                        state.activate_not_before = t
            soonest = min(soonest, t)
        banks = state.misses[kind] & rows & state.open_banks
        if banks and row_bus_free:
            t = max(rank_ready(m, channel, PRECHARGE, special), state.precharge_not_before)
            if clock >= t:
                bank = ready_bank(m, channel, kind, PRECHARGE, banks, clock, special)
                if bank >= 0:
                    if too_early:
                        break
                    issue_precharge(m, channel, kind, bank, clock, special)
                    issued = 1
                    row_bus_free = False
                else:
                    t = -1 - bank
                    if rows == ALL_BANKS:
                        state.precharge_not_before = t
            soonest = min(soonest, t)
        if others and row_bus_free:
            t = _prepare(m, channel, READ + WRITE - kind, others, clock, too_early, special)
            if t < 0:
                break
            if t == clock:
                issued = 1
                row_bus_free = False
            else:
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
        changed |= issued
    state.clock = clock


@jit(cold=True)
def _advance_special(m: Machine, channel, limit, ahead):
    _advance(m, channel, limit, ahead, 1)


@jit
def advance(m: Machine, channel, limit, ahead):
    """Decide all clocks before `limit`, jumping over those in which nothing can be issued.

    Clocks from `ahead` on lie in later core cycles. They are decided only as long as reads are listed (the kernel
    does not end before they are answered), and no burst of a write that may still gain bytes.
    """
    if m.dram.special:
        _advance_special(m, channel, limit, ahead)
    else:
        _advance(m, channel, limit, ahead, 0)
