"""What makes room in the SIB and in the prefetch buffer: SIB entries and lanes stand in an order of replacement.

Whoever needs room takes the first one in that order that no request waits for; a new one is the last. A policy says
what a use does to the order. To add one: a number, a row in REPLACEMENT, its case in `moves_to_end`.
"""

from gpusim.jit import jit

LRU, FIFO = range(2)
REPLACEMENT = {
    "lru": LRU,  # least recently used first
    "fifo": FIFO,  # in the order of allocation
}


@jit
def moves_to_end(policy):
    """1 if a use makes an entry or a lane the last to be replaced."""
    return 1 if policy == LRU else 0
