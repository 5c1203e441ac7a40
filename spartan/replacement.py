"""What makes space in the engine's memories: SIB entries, lanes of the prefetch buffer, mappings of a column's window.

SIB entries (of a set) and lanes stand in an order of replacement. Whoever needs space takes the first one in that order
that no request waits for; a new one is the last. A policy says what a use does to the order. To add one: a number, a
row in REPLACEMENT, its case in `moves_to_end`.

A column's window holds the mappings of some of its compacted lines, and always that of the newest one. A policy says
where a mapping goes; what is there leaves. To add one: a number, a row in CMI_REPLACEMENT, its case in `mapping_place`
and in `are_held`.
"""

from gpusim.base.jit import jit

LRU, FIFO = range(2)
REPLACEMENT = {
    "lru": LRU,  # least recently used first
    "fifo": FIFO,  # in the order of allocation
}

SLIDING, FIRST = range(2)
CMI_REPLACEMENT = {
    "sliding": SLIDING,  # a window of the newest ones
    "first": FIRST,  # the column's first ones, and the newest
}


@jit
def moves_to_end(policy):
    """Return 1 if a use makes an entry or a lane the last to be replaced, else 0."""
    return 1 if policy == LRU else 0


@jit
def mapping_place(policy, capacity, i):
    """Return the place of the mapping of compacted line `i` in a window of `capacity` mappings."""
    return i % capacity if policy == SLIDING else min(i, capacity - 1)


@jit
def are_held(policy, capacity, count, low, high):
    """Return 1 if a window of `capacity` mappings holds `low` to `high` - 1 (maybe none) of `count` made, else 0."""
    if low >= high or count <= capacity:
        return 1
    if policy == SLIDING:
        return 1 if low >= count - capacity else 0
    return 1 if high <= capacity - 1 or low == count - 1 else 0
