"""Refresh: when one is due, what it covers, and how its banks are closed for it.

A refresh covers all banks of a rank, or, where the standard has it and the configuration asks for it, one bank or set
of banks, in turn. When it is due, no row of its banks is opened any more. Those that are open serve their requests
first, for some clocks at most, since to open them again costs more; then they are closed and the refresh goes. Ranks
are refreshed at different times, so that others can work meanwhile.
"""

from gpusim.base.jit import Machine, ctz, jit
from memory.dram.commands import close_row, hold_back_all, record_command
from memory.dram.constants import GROUP_ROW, NEVER, PRECHARGE, PRECHARGE_ALL, RANK_ROW, REFRESH
from memory.dram.requests import choose_both
from memory.dram.scheduler import candidate_banks


@jit(cold=True)
def refresh_step(m: Machine, channel, clock):
    """Do what due refreshes need in this clock.

    Returns the next clock to look at if a command was issued, or if no bank can do anything else; else minus the first
    clock at which a refresh needs something; `blocked` says which banks may not be opened or closed before it, and
    `closing` which of them may not have bursts either.
    """
    dram = m.dram
    state = dram.channel[channel]
    soonest = NEVER
    blocked = 0
    closing = 0
    served = state.hits[state.direction] & candidate_banks(m, channel, state.direction)
    for rank in range(dram.ranks):
        if clock < state.refresh_at[rank]:
            soonest = min(soonest, state.refresh_at[rank])
            continue
        banks = dram.refresh_set[state.refresh_next[rank]] << (rank * dram.rank_banks)
        blocked |= banks
        deadline = state.refresh_at[rank] + dram.refresh_grace
        if served & banks and clock < deadline:
            soonest = min(soonest, deadline)
            continue
        closing |= banks
        t = _refresh_or_close(m, channel, rank, banks, clock)
        if t == clock:
            return clock + 1
        soonest = min(soonest, t)
    state.blocked = blocked
    state.closing = closing
    return soonest if dram.refreshes_everything and closing else -soonest


@jit
def _refresh_or_close(m: Machine, channel, rank, banks, clock):
    """Issue the next command towards a refresh of `banks` if it is allowed; returns the clock from which it is."""
    dram = m.dram
    state = dram.channel[channel]
    open_banks = state.open_banks & banks
    if open_banks == 0:
        t = _all_ready(m, channel, dram.refresh_command, banks)
        if t <= clock:
            _refresh(m, channel, rank, banks, clock)
            t = clock
    elif dram.refresh_command == REFRESH:
        t = _all_ready(m, channel, PRECHARGE_ALL, open_banks)
        if t <= clock:
            _precharge_all(m, channel, rank, open_banks, clock)
            t = clock
    else:
        t = NEVER
        while open_banks:
            bank = ctz(open_banks)
            open_banks &= open_banks - 1
            ready = _all_ready(m, channel, PRECHARGE, 1 << bank)
            if ready <= clock:
                close_row(m, channel, bank, clock, 1)
                return clock
            t = min(t, ready)
    return t


@jit
def _all_ready(m: Machine, channel, command, banks):
    """Return the first clock for a command that covers `banks`."""
    dram = m.dram
    state = dram.channel[channel]
    t = 0
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        t = max(t, state.earliest[bank, command])
        t = max(t, state.earliest[GROUP_ROW + (bank & dram.group_mask), command])
        t = max(t, state.earliest[RANK_ROW + (bank >> dram.rank_shift), command])
    return t


@jit
def _precharge_all(m: Machine, channel, rank, open_banks, clock):
    state = m.dram.channel[channel]
    record_command(m, channel, clock, PRECHARGE_ALL, rank * m.dram.rank_banks, 0, 0)
    state.precharges += 1
    state.open_banks &= ~open_banks
    while open_banks:
        bank = ctz(open_banks)
        open_banks &= open_banks - 1
        state.open_row[bank] = -1
        hold_back_all(m, channel, PRECHARGE_ALL, bank, clock)
        choose_both(m, channel, bank, clock)


@jit
def _refresh(m: Machine, channel, rank, banks, clock):
    dram = m.dram
    state = dram.channel[channel]
    record_command(m, channel, clock, dram.refresh_command, ctz(banks), 0, 0)
    while banks:
        hold_back_all(m, channel, dram.refresh_command, ctz(banks), clock)
        banks &= banks - 1
    state.refreshes += 1
    state.refresh_at[rank] += dram.refresh_interval
    state.refresh_next[rank] = (state.refresh_next[rank] + 1) % dram.refresh_sets
    soonest = NEVER
    for other in range(dram.ranks):
        soonest = min(soonest, state.refresh_at[other])
    state.refresh_due = soonest
