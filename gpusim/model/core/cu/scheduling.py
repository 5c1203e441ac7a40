"""Wavefront scheduling: which of a SIMD's wavefronts that want a unit issues to it (`gpu.cu.schedule`).

Wavefronts are given by rank, as bits of a mask: bit 0 is the oldest one that is resident. Where priorities are set, a
policy is asked only about those of the highest one (`gpusim.model.core.cu.priority`), whatever the policy. To add a
policy: a number, a row in SCHEDULES, a function that chooses, its case in `choose`, and, if it remembers who issued
last, what becomes of that in `forget_rank` when a wavefront ends.
"""

from typing import NamedTuple

import numpy as np

from gpusim.base.jit import Machine, ctz, jit

OLDEST, ROUND_ROBIN, GREEDY = range(3)


class SchedulingPolicy(NamedTuple):
    """A row of the table of policies."""

    number: int
    """Number in the machine record."""
    meaning: str
    """Which wavefront issues."""


SCHEDULES = {
    "oldest": SchedulingPolicy(OLDEST, "by age, as GCN arbitrates"),
    "round_robin": SchedulingPolicy(ROUND_ROBIN, "the next younger one after that which issued last"),
    # greedy then oldest: Rogers et al., MICRO 2012
    "greedy": SchedulingPolicy(GREEDY, "the one that issued last, then the oldest"),
}


@jit(inline=True)
def _round_robin(wanting, last):
    """Return the rank of the next younger wavefront after the one that issued last, or else the oldest."""
    younger = wanting & ~((1 << last) - 1)
    return ctz(younger if younger else wanting)


@jit(inline=True)
def _greedy(wanting, last):
    """Return the rank of the wavefront that issued last if it wants the unit again, else of the oldest."""
    return last - 1 if last > 0 and (wanting >> (last - 1)) & 1 else ctz(wanting)


@jit
def choose(m: Machine, simd, unit, wanting):
    """Return the rank of the wavefront that issues to `unit`, among those in the mask `wanting`."""
    last = np.int64(m.cu.simd[simd].last[unit])
    if m.cu.policy == GREEDY:
        return _greedy(wanting, last)
    if m.cu.policy == ROUND_ROBIN:
        return _round_robin(wanting, last)
    return ctz(wanting)


@jit(cold=True)
def forget_rank(m: Machine, simd, rank):
    """Forget the ended wavefront of a rank as the last to issue, and renumber younger ones that were, per unit."""
    state = m.cu.simd[simd]
    for unit in range(8):
        if m.cu.policy == GREEDY and state.last[unit] == rank + 1:
            state.last[unit] = 0  # who issued last is gone: the oldest comes next
        elif state.last[unit] > rank:
            state.last[unit] -= 1
