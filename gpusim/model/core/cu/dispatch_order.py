"""The dispatcher's order over compute units: which of those that could take the next workgroup gets it.

Compute units are given by their position in `run.cu_order`, as bits of the mask `run.able`, 64 a word: in it the shader
engines take turns, and within an engine its shader arrays. It names only those that may have space and whose engine may
launch now. To add an order: a number, a
row in ORDERS, a function that chooses, and its case in `choose_position`. Workgroups are always placed in the order of
their numbers.
"""

from typing import NamedTuple

from gpusim.base.jit import Machine, ctz, jit
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import CU_WORDS, SIMDS_BITS
from memory.parts import owner_of

ROUND_ROBIN, FIRST, EMPTIEST = range(3)


class DispatchOrder(NamedTuple):
    """A row of the table of orders."""

    number: int
    """Number in the machine record."""
    meaning: str
    """Which compute unit gets the next workgroup."""


ORDERS = {
    "round_robin": DispatchOrder(ROUND_ROBIN, "the next one after that which got the last workgroup"),
    "first": DispatchOrder(FIRST, "always the first one with space, so that few are filled before many are used"),
    "emptiest": DispatchOrder(
        EMPTIEST, "the one with the fewest resident wavefronts, of several the next one round robin"
    ),
}


@jit
def resident_waves(m: Machine, cu):
    """Return the number of resident wavefronts of a CU."""
    waves = 0
    for k in range(SIMDS):
        waves += m.cu.simd[(cu << SIMDS_BITS) + k].resident
    return waves


@jit
def _first_able(m: Machine, start):
    """Return the first able position from `start` on, round robin; -1 if there is none."""
    for step in range(CU_WORDS + 1):
        word = ((start >> 6) + step) & (CU_WORDS - 1)
        bits = m.run.able[word]
        if step == 0:
            bits &= -1 << (start & 63)
        elif step == CU_WORDS:
            bits &= ~(-1 << (start & 63))
        if bits:
            return word * 64 + ctz(bits)
    return -1


@jit(cold=True)
def _emptiest(m: Machine, start):
    """Return the able position of the CU with the fewest wavefronts, on a tie the first from `start` on; -1: none."""
    best = -1
    fewest = 0
    cus = m.cu.cus
    for step in range(cus):
        at = (start + step) % cus
        if (m.run.able[at >> 6] >> (at & 63)) & 1:
            cu = m.run.cu_order[at]
            waves = resident_waves(owner_of(m, cu), cu)
            if best < 0 or waves < fewest:
                best = at
                fewest = waves
    return best


@jit
def choose_position(m: Machine):
    """Return the able position of the CU to try first for the next workgroup; -1 if there is none."""
    if m.run.dispatch_order == FIRST:
        return _first_able(m, 0)
    if m.run.dispatch_order == EMPTIEST:
        return _emptiest(m, m.run.cu_next)
    return _first_able(m, m.run.cu_next)
