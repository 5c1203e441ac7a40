"""Who has the data bus, reads or writes, and which banks may be opened for the side that waits for it.

To change the direction costs idle clocks, so writes are held back and drained in batches. A batch ends while the other
side presses, so neither starves. A direction that ends finishes what its open rows can serve, since to close a row and
to open it again costs more; meanwhile rows are opened for the other side.
"""

from gpusim.base.jit import Machine, jit
from memory.dram.constants import ALL_BANKS, READ, WRITE
from memory.dram.scheduler import candidate_banks

ENDING = 2  # added to READ or WRITE: the direction ends with the rows that are open


@jit(inline=True)
def _unfinished(m: Machine, channel, direction, special):
    """Return the mask of banks that the direction serves before it ends: lines begun, and the hits of open rows."""
    dram = m.dram
    state = dram.channel[channel]
    banks = state.begun[direction]
    if state.served < dram.longest_run:  # else a stream of hits would starve the other side
        hits = state.hits[direction]
        banks |= hits & candidate_banks(m, channel, direction) if special else hits
    return banks


@jit(inline=True)
def bus_direction(m: Machine, channel, clock, special):
    """Decide the data bus's direction, READ or WRITE; plus ENDING if it changes after what `ending_banks` names."""
    dram = m.dram
    state = dram.channel[channel]
    direction = state.direction
    reads = state.listed[READ]
    writes = state.listed[WRITE]
    had_batch = state.served >= dram.write_batch
    if direction == READ:
        if reads:
            change = writes >= dram.write_high and had_batch
        else:
            idle = clock >= state.read_idle_since + dram.write_idle
            change = writes > dram.write_low or (writes > 0 and idle)
    else:
        change = writes == 0 or (reads > 0 and (writes <= dram.write_low or had_batch))
    if change:
        if _unfinished(m, channel, direction, special):
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
def ending_banks(m: Machine, channel, direction):
    """Return the mask of banks that may have bursts while the direction ends."""
    dram = m.dram
    state = dram.channel[channel]
    return ALL_BANKS if state.served < dram.longest_run else state.begun[direction]


@jit(inline=True)
def banks_to_prepare(m: Machine, channel, direction, ending):
    """Return the mask of banks to open or close for the other direction.

    They are those that the present direction has no use for, where the other one gets the bus soon.
    """
    dram = m.dram
    state = dram.channel[channel]
    if ending:
        return state.misses[READ + WRITE - direction] & ~(state.hits[direction] | state.begun[direction])
    if direction == READ and state.listed[WRITE] < dram.write_high:
        return 0
    return state.misses[READ + WRITE - direction] & ~(state.hits[direction] | state.misses[direction])
