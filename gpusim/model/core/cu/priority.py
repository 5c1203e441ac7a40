"""Priorities of wavefronts, which `s_setprio` sets: 0 to 3, of which 3 goes first (GCN3 ISA manual, S_SETPRIO).

A wavefront begins with 0. Priority comes before age, and before every other policy of `gpu.cu.schedule`: a policy
chooses among those wavefronts of a SIMD that want the unit and whose priority is the highest. It says nothing of other
SIMDs, whose turns come all the same, nor of fetch. A kernel without `s_setprio`, as nearly all are, pays nothing: the
SIMD then goes by age alone (`cu.by_age`, if the policy is that too).
"""

from gpusim.base.jit import Machine, ctz, jit
from gpusim.model.core.cu.wave import wave_of


@jit(cold=True)
def of_highest_priority(m: Machine, simd, ranks):
    """Return a mask by rank of those wavefronts in the mask `ranks` whose priority is the highest among them."""
    highest = 0
    first = 0
    while ranks:
        rank = ctz(ranks)
        ranks &= ranks - 1
        priority = m.cu.priority[wave_of(m, simd, rank)]
        if priority > highest:
            highest = priority
            first = 0
        if priority == highest:
            first |= 1 << rank
    return first


@jit
def goes_first(m: Machine, simd, ranks):
    """Return the rank of the SIMD's wavefront that goes first by age: the oldest one of the highest priority."""
    if not m.cu.by_age:
        ranks = of_highest_priority(m, simd, ranks)
    return ctz(ranks)


@jit(cold=True)
def set_priority(m: Machine, w, priority):
    """Set the wavefront's priority, for s_setprio."""
    m.cu.priority[w] = priority
