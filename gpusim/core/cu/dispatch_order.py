"""The dispatcher's order over compute units: which of those that could take the next workgroup gets it.

Compute units are given by their position in `run.cu_order`, as bits of a mask: in it the shader engines take turns, and
within an engine its shader arrays. A mask names only those whose engine may launch now. To add an order: a number, a
row in ORDERS, a function that chooses, and its case in `choose_position`. Workgroups are always placed in the order of
their numbers.
"""

from typing import NamedTuple

from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import SIMDS_BITS
from gpusim.jit import ctz, ctz_from, jit

ROUND_ROBIN, FIRST, EMPTIEST = range(3)


class Order(NamedTuple):
    """A row of the table: number in the machine record, which compute unit gets the next workgroup."""

    number: int
    meaning: str


ORDERS = {
    "round_robin": Order(ROUND_ROBIN, "the next one after that which got the last workgroup"),
    "first": Order(FIRST, "always the first one with room, so that few are filled before many are used"),
    "emptiest": Order(EMPTIEST, "the one with the fewest resident wavefronts, of several the next one round robin"),
}


@jit
def resident_waves(m, cu):
    """Return the number of resident wavefronts of a CU."""
    waves = 0
    for k in range(SIMDS):
        waves += m.cu.simd[(cu << SIMDS_BITS) + k].resident
    return waves


@jit(cold=True)
def _emptiest(m, able, start):
    """Return the position in mask `able` of the CU with the fewest wavefronts, on a tie the first from `start` on."""
    best = ctz_from(able, start)
    fewest = resident_waves(m, m.run.cu_order[best])
    able ^= 1 << best
    while able:
        at = ctz_from(able, start)
        able ^= 1 << at
        waves = resident_waves(m, m.run.cu_order[at])
        if waves < fewest:
            best = at
            fewest = waves
    return best


@jit
def choose_position(m, able):
    """Return the position of the CU to try first for the next workgroup, among those in the mask `able`."""
    if m.run.dispatch_order == FIRST:
        return ctz(able)
    if m.run.dispatch_order == EMPTIEST:
        return _emptiest(m, able, m.run.cu_next)
    return ctz_from(able, m.run.cu_next)
