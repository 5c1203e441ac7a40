"""L2's way down: lines fetched from DRAM or the compaction engine, dirty lines and writes that go to DRAM.

A channel whose oldest request DRAM has no space for waits for it, in turn with the others (memory/ports.py); requests
after it wait too, as a channel serves them in order.
"""

from gpusim.base.jit import Machine, jit, popcount
from isa.trace import LINE_SPARSE
from memory.address_map import dram_channel
from memory.cache.l2_state import DIRTY, bytes_of, set_bytes, wait
from memory.dram.controller import dram_has_space, dram_read, dram_write
from memory.ports import DRAM_WRITES, L2_FROM_DRAM, dram_turn, sparse_request
from memory.sets.replacement import find_victim
from memory.waiting import CONTESTED, L2_LINE, SPARSE_SLOT, slot_taken, wait_for


@jit
def _write_dram(m: Machine, now, channel, line, mask):
    """Hand bytes of a line to DRAM; returns 0 if that must wait for space in its queue or for the channel's turn."""
    l2 = m.l2
    dram = dram_channel(m, line)
    queue = dram + DRAM_WRITES
    l2.waits_for[channel] = queue + 1
    if not dram_turn(m, now, queue, channel):
        return 0
    if not dram_write(m, now, dram, line, mask):
        wait_for(m, queue, channel)
        return 0
    l2.bytes_to_dram += popcount(mask)
    l2.waits_for[channel] = 0
    slot_taken(m, now, queue, channel)
    return 1


@jit
def write_back(m: Machine, now, channel, part, line):
    """Write a slot's dirty part back; returns 0 if that must wait."""
    if not _write_dram(m, now, channel, line, bytes_of(m, part, DIRTY)):
        return 0
    set_bytes(m, part, DIRTY, 0)
    m.l2.write_backs += 1
    return 1


@jit(inline=True)
def evict(m: Machine, now, channel, slot, line):
    """Write what is dirty of a slot back; returns 0 if some of it must wait."""
    first = slot << m.l2.part_bits
    if bytes_of(m, first, DIRTY) and not write_back(m, now, channel, first, line):
        return 0
    if m.l2.part_bits and bytes_of(m, first | 1, DIRTY):
        return write_back(m, now, channel, first | 1, line | 1)
    return 1


@jit
def write_through(m: Machine, now, channel, line, mask):
    """Pass a request's bytes on to DRAM; returns 0 if that must wait."""
    if not _write_dram(m, now, channel, line, mask):
        return 0
    m.l2.write_throughs += 1
    return 1


@jit(cold=True)
def pass_write_on(m: Machine, now, channel, line, mask, row, way):
    """Pass a write's bytes on to DRAM; returns 0 if that must wait, or if the line must wait for a way.

    Args:
        row: The line's set.
        way: The way that holds it, or -1.
    """
    l2 = m.l2
    if way < 0 and l2.allocate and find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel]) < 0:
        wait(m, channel, L2_LINE + channel)
        return 0
    return write_through(m, now, channel, line, mask)


@jit(inline=True)
def fetch(m: Machine, now, channel, line, mshr):
    """Ask DRAM or the engine for 64 bytes of a line; returns 0 if it has no space."""
    if line & LINE_SPARSE:
        if not sparse_request(m, now + 1, channel, line, mshr):
            m.l2.waits_for[channel] = SPARSE_SLOT + channel + 1
            return 0
        m.l2.sparse_misses += 1
        return 1
    queue = dram_channel(m, line)
    m.l2.waits_for[channel] = queue + 1
    if not dram_turn(m, now, queue, channel):
        return 0
    if not dram_read(m, now, queue, line, L2_FROM_DRAM + channel, mshr):
        wait_for(m, queue, channel)
        return 0
    m.l2.waits_for[channel] = 0
    slot_taken(m, now, queue, channel)
    return 1


@jit(cold=True)
def fetch_due(m: Machine, now, channel):
    """Ask DRAM for the other part of a line that is fetched; returns 0 if it has no space."""
    l2 = m.l2
    if not fetch(m, now, channel, l2.due[channel] - 1, l2.due_mshr[channel]):
        return 0
    l2.due[channel] = 0
    l2.paired_fetches += 1
    return 1


@jit(inline=True)
def still_refused(m: Machine, now, channel):
    """Return 1 if DRAM would refuse the oldest request again, else 0.

    Until its set is filled nothing changes its look-up.
    """
    queue = m.l2.waits_for[channel] - 1
    if queue < 0 or queue >= CONTESTED:
        return 0
    if not dram_turn(m, now, queue, channel):
        return 1
    if dram_has_space(m, now, queue):
        return 0
    wait_for(m, queue, channel)
    return 1
