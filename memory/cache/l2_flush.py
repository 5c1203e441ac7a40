"""Flushes of L2: its dirty lines go to DRAM, and stay as clean ones.

A flush has L2 and DRAM to itself: it comes before a kernel starts, or when one has ended and nothing is under way. Each
channel goes over its slots and writes 64 bytes back a cycle, if DRAM has space.
"""

from gpusim.base.jit import Machine, address_in, jit
from memory.cache.l2_dram import write_back
from memory.cache.l2_state import DIRTY, bytes_of, part_in
from memory.sets.rows import line_in


@jit(cold=True)
def l2_flush(m: Machine, now):
    """Run a flush in cycle `now`; returns 1 when DRAM has taken every dirty line, else 0."""
    l2 = m.l2
    parts = l2.sets * l2.stride << l2.part_bits
    clean = 1
    for channel in range(l2.channels):
        at = l2.flush_at[channel]
        while at < parts and bytes_of(m, channel * parts + at, DIRTY) == 0:
            at += 1
        if at < parts:
            clean = 0
            part = channel * parts + at
            line = line_in(address_in(l2.rows, 0), l2.stride, part >> l2.part_bits)
            if write_back(m, now, channel, part, line | part_in(m, part)):
                l2.flush_write_backs += 1
                at += 1
        l2.flush_at[channel] = at
    if clean:
        l2.flushes = 0
    else:
        l2.flush_cycles += 1
    return clean
