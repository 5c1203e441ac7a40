"""The functions of Dong 2020, table 6.1, on a column's sparsity bitmask, and what they need.

Every one adds the bits that it goes over to `scanned`, from which its time follows.
"""

from gpusim.base.jit import Machine, ctz, jit, popcount
from spartan.sib import profiled
from spartan.state import NONE


@jit
def next_set_bit(m: Machine, entry, start, end):
    """Return the location of the first set bit of the entry's bitmask in [start, end), or NONE."""
    engine = m.engine
    if start >= end:
        return NONE
    w = start >> 5
    word = (engine.bitmask[entry * engine.bitmask_words + w] >> (start & 31)) << (start & 31)
    while word == 0 and (w + 1) << 5 < end:
        w += 1
        word = engine.bitmask[entry * engine.bitmask_words + w]
    location = (w << 5) + ctz(word) if word else end
    engine.scanned += min(location, end - 1) - start + 1
    return location if location < end else NONE


@jit
def find_first_non_zero_bit(m: Machine, entry):
    """Return the location of the first sparse line with a non-zero, or NONE."""
    return next_set_bit(m, entry, 0, profiled(m, entry))


@jit
def find_next_non_zero_bit(m: Machine, entry, location):
    """Return the location of the next set bit after `location`, or NONE."""
    return next_set_bit(m, entry, location + 1, profiled(m, entry))


@jit
def find_next_bit_location(m: Machine, entry, location, n):
    """Return the location of the set bit that is `n` set bits after `location`, or NONE."""
    engine = m.engine
    if n == 0:
        return location
    end = profiled(m, entry)
    w = (location + 1) >> 5
    shift = (location + 1) & 31
    word = (engine.bitmask[entry * engine.bitmask_words + w] >> shift) << shift if location + 1 < end else 0
    while True:
        count = popcount(word)
        if count >= n:
            break
        n -= count
        w += 1
        if w << 5 >= end:
            return NONE
        word = engine.bitmask[entry * engine.bitmask_words + w]
    while n > 1:
        word &= word - 1
        n -= 1
    found = (w << 5) + ctz(word)
    engine.scanned += found - location
    return found


@jit
def find_previous_bit_location(m: Machine, entry, location, n):
    """Return the location of the set bit that is `n` (at least 1) set bits before `location`, or NONE."""
    engine = m.engine
    w = location >> 5
    word = engine.bitmask[entry * engine.bitmask_words + w] & ((1 << (location & 31)) - 1) if location & 31 else 0
    while True:
        count = popcount(word)
        if count >= n:
            break
        n -= count
        w -= 1
        if w < 0:
            return NONE
        word = engine.bitmask[entry * engine.bitmask_words + w]
    for _ in range(count - n):
        word &= word - 1
    found = (w << 5) + ctz(word)
    engine.scanned += location - found
    return found
