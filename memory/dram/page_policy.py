"""Page policies: when a bank's open row is closed although no request of the bank needs another row now.

A row that a queued request hits stays open under every policy, and a row conflict closes it under every policy. To
add a policy: its number, a row of `PAGE_POLICIES`, its answer in `_close_from`, and a test.
"""

from gpusim.base.jit import Machine, ctz, jit
from memory.dram.constants import NEVER, PRECHARGE, RANK_ROW, READ, WRITE, DramPolicy

OPEN_PAGE, CLOSED_PAGE, TIMEOUT, OPEN_ADAPTIVE = range(4)

PAGE_POLICIES: dict[str, DramPolicy] = {
    "open": DramPolicy(OPEN_PAGE, "rows stay open until a conflict or a refresh", "gem5 MemCtrl, GPGPU-Sim"),
    "closed": DramPolicy(CLOSED_PAGE, "a row is closed when no queued request hits it", "gem5: close_adaptive"),
    "timeout": DramPolicy(
        TIMEOUT, "as closed, page_timeout_clocks after the last access", "Ramulator 2: ClosedRowPolicy"
    ),
    "open_adaptive": DramPolicy(
        OPEN_ADAPTIVE, "as closed, if a queued read or write needs another row of the bank", "gem5: open_adaptive"
    ),
}


@jit(inline=True)
def note_access(m: Machine, channel, bank, clock):
    """Note that a burst of the bank's open row was sent. Not called for `open`, which needs nothing."""
    m.dram.channel[channel].last_access[bank] = clock


@jit
def _close_from(m: Machine, channel, bank):
    """Return the clock from which the policy wants a bank's row closed that no queued request hits.

    NEVER: it wants it open.
    """
    dram = m.dram
    state = dram.channel[channel]
    if dram.page_policy == TIMEOUT:
        return state.last_access[bank] + dram.page_timeout
    if dram.page_policy == OPEN_ADAPTIVE:
        # the direction that has the data bus closes for its own conflicts, this is about the other one's
        return 0 if ((state.misses[READ] | state.misses[WRITE]) >> bank) & 1 else NEVER
    return 0


@jit(cold=True)
def row_to_close(m: Machine, channel, clock):
    """Return the bank whose row the policy closes in this clock, or -1 - the first clock in which it closes one."""
    dram = m.dram
    state = dram.channel[channel]
    banks = state.open_banks & ~(state.hits[READ] | state.hits[WRITE])
    soonest = NEVER
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        rank = RANK_ROW + (bank >> dram.rank_shift)
        t = max(state.earliest[bank, PRECHARGE], state.earliest[rank, PRECHARGE])
        t = max(t, _close_from(m, channel, bank))
        if t <= clock:
            return bank
        soonest = min(soonest, t)
    return -1 - soonest
