"""Which banks can have a command now, and when the first can, by the rules as they are compiled."""

from gpusim.base.jit import Machine, ctz, jit
from memory.dram.constants import GROUP_ROW, MAX_BANKS, NEVER, PRECHARGE, RANK_ROW


@jit(inline=True)
def rank_ready(m: Machine, channel, command, special):
    """Return the first clock in which the rules of some rank allow a command."""
    if special and m.dram.ranks > 1:
        return _soonest_rank(m, channel, command)
    return m.dram.channel[channel].earliest[RANK_ROW, command]


@jit(cold=True)
def _soonest_rank(m: Machine, channel, command):
    soonest = NEVER
    for rank in range(m.dram.ranks):
        soonest = min(soonest, m.dram.channel[channel].earliest[RANK_ROW + rank, command])
    return soonest


@jit(cold=True)
def _ready_ranks(m: Machine, channel, command, clock):
    """Return the mask of banks of the ranks whose rules allow a command in this clock."""
    dram = m.dram
    banks = 0
    for rank in range(dram.ranks):
        if dram.channel[channel].earliest[RANK_ROW + rank, command] <= clock:
            banks |= ((1 << dram.rank_banks) - 1) << (rank * dram.rank_banks)
    return banks


@jit(cold=True)
def _soonest_late_rank(m: Machine, channel, command, banks, clock):
    """Return the first clock after this one in which the rules of a rank with one of `banks` allow a command."""
    dram = m.dram
    soonest = NEVER
    for rank in range(dram.ranks):
        t = dram.channel[channel].earliest[RANK_ROW + rank, command]
        if t > clock and (banks >> (rank * dram.rank_banks)) & ((1 << dram.rank_banks) - 1):
            soonest = min(soonest, t)
    return soonest


@jit(inline=True)
def ready_bank(m: Machine, channel, kind, command, banks, clock, special):
    """Return the bank of the oldest request in `banks` that can have its `command` in this clock.

    The result is -1 - the first clock for one if there is none.
    """
    dram = m.dram
    state = dram.channel[channel]
    best = NEVER
    soonest = NEVER
    if special and dram.ranks > 1:  # of one rank `rank_ready` has said all
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
