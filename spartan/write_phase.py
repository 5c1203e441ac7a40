"""Compaction when the layer before writes its output back (`compact: on_write`): the write phase, before the launch.

L2 hands the dense lines of the sparse regions over in place of writing them back, each channel a line a cycle, those of
a column in order. A unit takes a column at a time, a line a cycle. What is full, or the column's last, goes to DRAM:
compacted line i of a column to where its dense line i would lie, so that no other memory is reserved. The SIB keeps how
many lines each column has. Nothing dense is written, and nothing is read from DRAM.

A column under way has a line of the prefetch buffer under construction, and a dense line that enters a unit needs at
most one more: it enters when one is free for it and for each that is still in a unit. `write_units` columns leave one
free at least, so that the phase cannot stop for want of one.
"""

from gpusim.base.jit import Machine, ctz, jit, st_i32
from isa.region import LINE_ELEMENTS
from memory.address_map import dram_channel, l2_channel
from memory.dram.constants import WHOLE_LINE
from memory.dram.controller import dram_write
from memory.unit_classes import ENGINE as ENGINE_CLASS
from memory.waiting import DRAM_WRITE_SLOT, ENGINE_WAITER, wait_for, waits
from memory.wheel import wake_at
from spartan.banks import access_line
from spartan.compaction import compact
from spartan.prefetch_buffer import free_slot, take_slot
from spartan.reads import free_read
from spartan.search import addr_calc
from spartan.state import MAX_READS, NONE


@jit
def _put_out(m: Machine, now, unit, region, column):
    """Queue the unit's finished line for DRAM, to go there when it has been read from the prefetch buffer."""
    engine = m.engine
    slot = engine.unit_slot[unit]
    line = addr_calc(m, region, column, engine.unit_compacted[unit])
    for k in range(engine.unit_count[unit], LINE_ELEMENTS):
        engine.slot_bundles[slot, k] = 0
    first = (line - engine.region_line[region]) * LINE_ELEMENTS
    for k in range(LINE_ELEMENTS):
        st_i32(engine.region_written[region], first + k, engine.slot_bundles[slot, k])
    engine.slot_line[slot] = line
    engine.slot_ready[slot] = access_line(m, now, slot) + engine.buffer_read
    engine.slot_next[slot] = NONE
    channel = dram_channel(m, line)
    if engine.out_first[channel] == NONE:
        engine.out_first[channel] = slot
    else:
        engine.slot_next[engine.out_last[channel]] = slot
    engine.out_last[channel] = slot
    engine.unit_slot[unit] = NONE
    engine.unit_compacted[unit] += 1


@jit
def _finish_line(m: Machine, now, read):
    """Take a dense line from its unit: its bundles join the unit's compacted line, which may end by that."""
    engine = m.engine
    unit, region, column = engine.read_unit[read], engine.read_region[read], engine.read_column[read]
    location = engine.read_line[read]
    free_read(m, read)
    mask = compact(m, region, column, location)
    if mask and engine.unit_slot[unit] != NONE:
        access_line(m, now, engine.unit_slot[unit])
    while mask:
        if engine.unit_slot[unit] == NONE:
            engine.unit_slot[unit] = take_slot(m)
            engine.unit_count[unit] = 0
            access_line(m, now, engine.unit_slot[unit])
        k = ctz(mask)
        mask &= mask - 1
        engine.slot_bundles[engine.unit_slot[unit], engine.unit_count[unit]] = engine.unit_bundles[k]
        engine.unit_count[unit] += 1
        if engine.unit_count[unit] == LINE_ELEMENTS:
            _put_out(m, now, unit, region, column)
    if location == engine.region_lines[region] - 1:
        if engine.unit_slot[unit] != NONE:
            _put_out(m, now, unit, region, column)
        st_i32(engine.lines_of_column, engine.region_column[region] + column, engine.unit_compacted[unit])
        engine.unit_compacted[unit] = 0
        engine.unwritten -= 1


@jit
def _next_column(m: Machine, unit):
    """Give the unit the next column; returns 0 if all are taken."""
    engine = m.engine
    region = engine.write_region
    if region == engine.regions:
        return 0
    engine.unit_region[unit] = region
    engine.unit_column[unit] = engine.write_column
    engine.unit_line[unit] = 0
    engine.write_column += 1
    if addr_calc(m, region, engine.write_column, 0) >= engine.region_end[region]:
        engine.write_region += 1
        engine.write_column = 0
    return 1


@jit
def _take_lines(m: Machine, now):
    """Let each unit take its column's next line, if its L2 channel has not handed one over in this cycle.

    Which unit is first rotates with the cycle.
    """
    engine = m.engine
    busy = 0
    for n in range(engine.write_units):
        if engine.read_free == NONE or engine.slots_free <= engine.reads_held:
            return
        unit = (now + n) % engine.write_units
        if engine.unit_lines_held[unit] >= engine.unit_lines:
            continue
        if engine.unit_line[unit] == NONE and not _next_column(m, unit):
            continue
        region, location = engine.unit_region[unit], engine.unit_line[unit]
        channel = l2_channel(m, addr_calc(m, region, engine.unit_column[unit], location))
        if (busy >> channel) & 1:
            continue
        busy |= 1 << channel
        read = engine.read_free
        engine.read_free = engine.read_next[read]
        engine.reads_held += 1
        engine.unit_lines_held[unit] += 1
        engine.read_unit[read] = unit
        engine.read_region[read] = region
        engine.read_column[read] = engine.unit_column[unit]
        engine.read_line[read] = location
        q = (engine.pipe_head + engine.pipe_count) & (MAX_READS - 1)
        engine.pipe_ready[q] = now + engine.compu_latency
        engine.pipe_read[q] = read
        engine.pipe_count += 1
        engine.compu_busy_cycles += 1
        engine.lines_handed_over += 1
        engine.unit_line[unit] = location + 1 if location + 1 < engine.region_lines[region] else NONE


@jit
def _write_lines(m: Machine, now):
    """Let each DRAM channel take the oldest of the lines that go there, if it has space."""
    engine = m.engine
    for channel in range(m.map.dram_channels):
        slot = engine.out_first[channel]
        if slot == NONE or engine.slot_ready[slot] > now or waits(m, DRAM_WRITE_SLOT + channel, ENGINE_WAITER):
            continue
        if dram_write(m, now, channel, engine.slot_line[slot], WHOLE_LINE):
            engine.out_first[channel] = engine.slot_next[slot]
            free_slot(m, slot)
            engine.compacted_written += 1
        else:
            wait_for(m, DRAM_WRITE_SLOT + channel, ENGINE_WAITER)


@jit(cold=True)
def write_phase(m: Machine, now):
    """Run the write phase in cycle `now`; it is over when DRAM has taken every compacted line."""
    engine = m.engine
    while engine.pipe_count and engine.pipe_ready[engine.pipe_head] <= now:
        read = engine.pipe_read[engine.pipe_head]
        engine.pipe_head = (engine.pipe_head + 1) & (MAX_READS - 1)
        engine.pipe_count -= 1
        _finish_line(m, now, read)
    _write_lines(m, now)
    _take_lines(m, now)
    engine.write_phase_cycles += 1
    under_way = 0
    for channel in range(m.map.dram_channels):
        under_way |= 1 if engine.out_first[channel] != NONE else 0
    if engine.unwritten or under_way:
        wake_at(m, ENGINE_CLASS, now + 1, 0)
    else:
        engine.writing = 0
