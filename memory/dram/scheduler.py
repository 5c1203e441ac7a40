"""DRAM schedulers: in which order a bank serves its requests, and which banks may go.

Among the banks that may go, a burst comes before an activate and an activate before a precharge, each for the oldest
request that can have one. A policy answers the three questions below. To add one: its number, a row of `SCHEDULERS`,
its answers in the second function of each question, and a test.
"""

from gpusim.base.jit import Machine, ctz, jit
from memory.dram.constants import ALL_BANKS, NEVER, DramPolicy

FR_FCFS, FCFS, FR_FCFS_CAP = range(3)

SCHEDULERS: dict[str, DramPolicy] = {
    "fr_fcfs": DramPolicy(FR_FCFS, "row hits first, then oldest", "Rixner et al., ISCA 2000"),
    "fcfs": DramPolicy(FCFS, "oldest only", "Rixner et al., ISCA 2000"),
    "fr_fcfs_cap": DramPolicy(
        FR_FCFS_CAP, "as fr_fcfs, with at most hit_cap hits before an older request", "Mutlu and Moscibroda, MICRO 2007"
    ),
}


@jit(inline=True)
def oldest_goes_first(m: Machine, channel, kind, bank, slot, clock):
    """Return 1 if the bank's oldest request, in `slot`, is served before younger row hits, else 0."""
    # without a bound, a stream of hits to an open row would starve a request to another row of the bank
    overdue = clock - m.dram.channel[channel].slot[slot].arrived >= m.dram.age_cap
    if m.dram.scheduler != FR_FCFS:
        return overdue | _oldest_goes_first_otherwise(m, channel, kind, bank)
    return overdue


@jit(cold=True)
def _oldest_goes_first_otherwise(m: Machine, channel, kind, bank):
    if m.dram.scheduler == FR_FCFS_CAP:
        return m.dram.channel[channel].overtaken[kind, bank] >= m.dram.hit_cap
    return True


@jit
def _oldest_bank(m: Machine, channel, kind):
    """Return the bit of the bank that holds the oldest request of a kind, 0 if there is none."""
    state = m.dram.channel[channel]
    banks = state.hits[kind] | state.misses[kind]
    best_order = NEVER
    best = 0
    while banks:
        bank = ctz(banks)
        banks &= banks - 1
        order = state.slot[state.head[kind, bank]].order
        if order < best_order:
            best_order = order
            best = 1 << bank
    return best


@jit
def candidate_banks(m: Machine, channel, kind):
    """Return the mask of banks whose chosen request may be served.

    It is not called for `fr_fcfs`, whose answer is all banks.
    """
    if m.dram.scheduler == FCFS:
        return _oldest_bank(m, channel, kind)
    return ALL_BANKS


@jit
def note_served(m: Machine, channel, kind, bank, slot):
    """Update what the policy remembers of a bank when a request of it is served.

    It is not called for `fr_fcfs`, which needs nothing.
    """
    state = m.dram.channel[channel]
    if m.dram.scheduler == FR_FCFS_CAP:
        if state.slot[slot].previous >= 0:  # an older request of the bank still waits
            state.overtaken[kind, bank] += 1
        else:
            state.overtaken[kind, bank] = 0
