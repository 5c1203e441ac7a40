"""Compaction processor: units of 16 lanes that turn a sparse line into bundles, and what follows from each line."""

from gpusim.jit import ctz, jit, ld_u32
from memory.timeline import ENGINE_COMPACTED, record
from spartan.engine_spec import LINE_BYTES, LINE_ELEMENTS
from spartan.format import half_bits
from spartan.prefetch_buffer import close_if_done, emit_line, free_read, free_slot, queue_issue
from spartan.response import answer_waiting
from spartan.search import addr_calc, column_ends_after
from spartan.sib import EXHAUSTED, add_mapping, entry_column, lengthen_tail, profile_line, profiled, tail
from spartan.state import ARRIVED, IN_UNIT, MAX_READS, NONE, PROFILE, REPLAY


@jit
def compact(m, address, first_row, elements):
    """Convert, compare and bundle a sparse line's first `elements`; returns its fine-grained bitmask."""
    mask = 0
    for k in range(elements):
        word = ld_u32(address, k)
        if word & 0x7FFF_FFFF:
            mask |= 1 << k
            m.engine.unit_bundles[k] = half_bits(word) | ((first_row + k) << 16)
    return mask


@jit
def _finish_line(m, now, r):
    """A sparse line has left its unit: profile it and add its non-zeros to the lane's line."""
    g = m.engine
    lane = g.read_lane[r]
    location = g.read_line[r]
    if lane == NONE or g.lane_entry[lane] == NONE or g.lane_serial[lane] != g.read_serial[r]:
        g.lines_wasted += 1
        free_read(m, r)
        return
    e = g.lane_entry[lane]
    region = g.entry_region[e]
    if g.read_restart[r] != NONE:
        slot = g.lane_slot[lane]
        g.lines_wasted += g.slot_reads[slot]
        g.slot_reads[slot] = 0
        g.lane_count[lane] = 0
        g.lane_line[lane] = g.read_restart[r]
        g.lane_restarts[lane] -= 1
    skip = g.read_skip[r]
    free_read(m, r)
    line = addr_calc(m, region, entry_column(m, e) - g.region_column[region], location)
    first_row = location * LINE_ELEMENTS
    mask = compact(m, g.memory + line * LINE_BYTES, first_row, min(LINE_ELEMENTS, g.region_rows[region] - first_row))
    g.lane_consumed[lane] += 1
    new = 1 if g.lane_kind[lane] == PROFILE and location == profiled(m, e) else 0
    rest = (mask >> skip) << skip
    # sparse lines behind the last mapping, this one included
    needed = tail(m, e) + (1 if mask else 0)
    if new:
        profile_line(m, e, location, mask)
    if g.lane_kind[lane] == REPLAY:
        ends = column_ends_after(m, e, location)
    else:
        ends = 1 if location == g.region_lines[region] - 1 else 0
    mapped = 0
    credited = 0
    if rest == 0:
        g.lines_wasted += 1
    while True:
        while rest and g.lane_count[lane] < LINE_ELEMENTS:
            if not credited:
                g.slot_reads[g.lane_slot[lane]] += 1
                credited = 1
            k = ctz(rest)
            g.slot_bundles[g.lane_slot[lane], g.lane_count[lane]] = g.unit_bundles[k]
            g.lane_count[lane] += 1
            rest &= rest - 1
            if new and g.lane_count[lane] == LINE_ELEMENTS:
                add_mapping(m, e, needed, k if rest else EXHAUSTED)
                mapped = 1
                needed = 0
        count = g.lane_count[lane]
        last = 1 if ends and rest == 0 else 0
        # a profiling lane keeps a full line until it is known not to be the column's last
        full = 1 if count == LINE_ELEMENTS and (rest or g.lane_kind[lane] == REPLAY) else 0
        if count == 0 or not (last or full):
            break
        if new and count < LINE_ELEMENTS:
            add_mapping(m, e, needed, EXHAUSTED)
            mapped = 1
        for k in range(count, LINE_ELEMENTS):
            g.slot_bundles[g.lane_slot[lane], k] = 0
        emit_line(m, now, lane, last, credited if rest else 0)
    if new and mask and not mapped:
        lengthen_tail(m, e)
    if ends and g.lane_kind[lane] == PROFILE:
        # whoever still waits asked for a line behind the end, or for the only one of a column of zeros
        answer_waiting(m, now, lane, NONE, NONE, 1)
        free_slot(m, g.lane_slot[lane])
        g.lane_slot[lane] = NONE
        close_if_done(m, lane)
        return
    if g.lane_waiter[lane] != NONE:
        g.lane_limit[lane] = g.lane_consumed[lane] + g.demand_window
    queue_issue(m, lane)


@jit
def queue_unit(m, lane):
    """Queue a lane, whose oldest read has arrived, for its unit."""
    g = m.engine
    if g.lane_in_unit[lane]:
        return
    unit = lane % g.units
    g.lane_in_unit[lane] = 1
    g.lane_unit_next[lane] = NONE
    if (g.unit_mask >> unit) & 1:
        g.lane_unit_next[g.unit_last[unit]] = lane
    else:
        g.unit_first[unit] = lane
        g.unit_mask |= 1 << unit
    g.unit_last[unit] = lane


@jit
def _unqueue_unit(m, unit):
    g = m.engine
    lane = g.unit_first[unit]
    g.unit_first[unit] = g.lane_unit_next[lane]
    g.lane_in_unit[lane] = 0
    if g.unit_first[unit] == NONE:
        g.unit_mask &= ~(1 << unit)
    return lane


@jit
def _start_line(m, now, lane):
    """The lane's oldest read enters its unit."""
    g = m.engine
    r = g.lane_read_first[lane]
    g.lane_read_first[lane] = g.read_next[r]
    g.read_state[r] = IN_UNIT
    q = (g.pipe_head + g.pipe_count) & (MAX_READS - 1)
    g.pipe_ready[q] = now + g.compu_latency
    g.pipe_read[q] = r
    g.pipe_count += 1
    g.compu_busy_cycles += 1
    following = g.lane_read_first[lane]
    if following != NONE and g.read_state[following] == ARRIVED:
        queue_unit(m, lane)


@jit
def start_units(m, now):
    """Each unit takes at most one line: the oldest of the lane that is first in its queue."""
    g = m.engine
    busy = g.unit_mask
    while busy:
        unit = ctz(busy)
        busy &= busy - 1
        while (g.unit_mask >> unit) & 1:
            lane = _unqueue_unit(m, unit)
            # the lane may have been closed, or opened anew, since it was queued
            if g.lane_entry[lane] != NONE:
                r = g.lane_read_first[lane]
                if r != NONE and g.read_state[r] == ARRIVED:
                    _start_line(m, now, lane)
                    break


@jit
def finish_units(m, now):
    """Lines that leave their units now."""
    g = m.engine
    while g.pipe_count and g.pipe_ready[g.pipe_head] <= now:
        r = g.pipe_read[g.pipe_head]
        g.pipe_head = (g.pipe_head + 1) & (MAX_READS - 1)
        g.pipe_count -= 1
        if m.timeline.on:
            record(m, ENGINE_COMPACTED, r, 0, 0)
        _finish_line(m, now, r)


@jit
def data_arrived(m, r):
    """DRAM has answered read `r`; lines of a column enter their unit in the order of issue."""
    g = m.engine
    lane = g.read_lane[r]
    if lane == NONE:
        g.lines_wasted += 1
        free_read(m, r)
        return
    g.read_state[r] = ARRIVED
    if g.lane_read_first[lane] == r:
        queue_unit(m, lane)
