"""Compaction processor: units of 16 lanes that take a sparse line, and what follows from each line."""

from gpusim.base.jit import Machine, ctz, jit
from isa.region import LINE_ELEMENTS
from memory.timeline import ENGINE_COMPACTED, record
from spartan.banks import access_line
from spartan.engine_spec import LINE_BYTES
from spartan.prefetch_buffer import close_if_done, emit_line, free_slot
from spartan.reads import free_read, queue_issue, unit_of
from spartan.response import answer_waiting
from spartan.search import addr_calc, column_ends_after
from spartan.selection import select_words
from spartan.sib import EXHAUSTED, add_mapping, entry_column, lengthen_tail, profile_line, profiled, tail
from spartan.state import ARRIVED, IN_UNIT, MAX_READS, NONE, PROFILE, REPLAY


@jit
def compact(m: Machine, region, column, location):
    """Convert sparse line `location` of a region's column; returns which of the unit's words go on, a bit each."""
    engine = m.engine
    address = engine.memory + addr_calc(m, region, column, location) * LINE_BYTES
    elements = min(LINE_ELEMENTS, engine.region_rows[region] - location * LINE_ELEMENTS)
    return select_words(m, engine.region_format[region], address, location, elements)


@jit
def _finish_line(m: Machine, now, read):
    """Take a sparse line from its unit: profile it and add its non-zeros to the lane's line."""
    engine = m.engine
    lane = engine.read_lane[read]
    location = engine.read_line[read]
    if lane == NONE or engine.lane_entry[lane] == NONE or engine.lane_serial[lane] != engine.read_serial[read]:
        engine.lines_wasted += 1
        free_read(m, read)
        return
    entry = engine.lane_entry[lane]
    region = engine.entry_region[entry]
    if engine.read_restart[read] != NONE:
        slot = engine.lane_slot[lane]
        engine.lines_wasted += engine.slot_reads[slot]
        engine.slot_reads[slot] = 0
        engine.lane_count[lane] = 0
        engine.lane_line[lane] = engine.read_restart[read]
        engine.lane_restarts[lane] -= 1
    skip = engine.read_skip[read]
    free_read(m, read)
    mask = compact(m, region, entry_column(m, entry) - engine.region_column[region], location)
    engine.lane_consumed[lane] += 1
    new = 1 if engine.lane_kind[lane] == PROFILE and location == profiled(m, entry) else 0
    rest = (mask >> skip) << skip
    # sparse lines after the last mapping, this one included
    needed = tail(m, entry) + (1 if mask else 0)
    if new:
        profile_line(m, entry, location, mask)
    if engine.lane_kind[lane] == REPLAY:
        ends = column_ends_after(m, entry, location)
    else:
        ends = 1 if location == engine.region_lines[region] - 1 else 0
    mapped = 0
    credited = 0
    if rest == 0:
        engine.lines_wasted += 1
    while True:
        if rest:
            access_line(m, now, engine.lane_slot[lane])
            if engine.lane_count[lane] < LINE_ELEMENTS:
                engine.slot_number[engine.lane_slot[lane]] = location
        while rest and engine.lane_count[lane] < LINE_ELEMENTS:
            if not credited:
                engine.slot_reads[engine.lane_slot[lane]] += 1
                credited = 1
            k = ctz(rest)
            engine.slot_bundles[engine.lane_slot[lane], engine.lane_count[lane]] = engine.unit_bundles[k]
            engine.lane_count[lane] += 1
            rest &= rest - 1
            if new and engine.lane_count[lane] == LINE_ELEMENTS:
                add_mapping(m, entry, needed, k if rest else EXHAUSTED)
                mapped = 1
                needed = 0
        count = engine.lane_count[lane]
        last = 1 if ends and rest == 0 else 0
        # a profiling lane keeps a full line until it is known not to be the column's last
        full = 1 if count == LINE_ELEMENTS and (rest or engine.lane_kind[lane] == REPLAY) else 0
        if count == 0 or not (last or full):
            break
        if new and count < LINE_ELEMENTS:
            add_mapping(m, entry, needed, EXHAUSTED)
            mapped = 1
        for k in range(count, LINE_ELEMENTS):
            engine.slot_bundles[engine.lane_slot[lane], k] = 0
        emit_line(m, now, lane, last, credited if rest else 0)
    if new and mask and not mapped:
        lengthen_tail(m, entry)
    if ends and engine.lane_kind[lane] == PROFILE:
        # whoever still waits asked for a line past the end, or for the only one of a column of zeros
        answer_waiting(m, now, lane, NONE, NONE, 1)
        free_slot(m, engine.lane_slot[lane])
        engine.lane_slot[lane] = NONE
        close_if_done(m, lane)
        return
    if engine.lane_waiter[lane] != NONE:
        engine.lane_limit[lane] = engine.lane_consumed[lane] + engine.demand_window
    queue_issue(m, lane)


@jit
def queue_unit(m: Machine, lane):
    """Queue a lane, whose oldest read has arrived, for its unit."""
    engine = m.engine
    if engine.lane_in_unit[lane]:
        return
    unit = unit_of(m, lane)
    engine.lane_in_unit[lane] = 1
    engine.lane_unit_next[lane] = NONE
    if (engine.unit_mask >> unit) & 1:
        engine.lane_unit_next[engine.unit_last[unit]] = lane
    else:
        engine.unit_first[unit] = lane
        engine.unit_mask |= 1 << unit
    engine.unit_last[unit] = lane


@jit
def _unqueue_unit(m: Machine, unit):
    engine = m.engine
    lane = engine.unit_first[unit]
    engine.unit_first[unit] = engine.lane_unit_next[lane]
    engine.lane_in_unit[lane] = 0
    if engine.unit_first[unit] == NONE:
        engine.unit_mask &= ~(1 << unit)
    return lane


@jit
def _start_line(m: Machine, now, lane):
    """Let the lane's oldest read enter its unit."""
    engine = m.engine
    read = engine.lane_read_first[lane]
    engine.lane_read_first[lane] = engine.read_next[read]
    engine.read_state[read] = IN_UNIT
    q = (engine.pipe_head + engine.pipe_count) & (MAX_READS - 1)
    engine.pipe_ready[q] = now + engine.compu_latency
    engine.pipe_read[q] = read
    engine.pipe_count += 1
    engine.compu_busy_cycles += 1
    following = engine.lane_read_first[lane]
    if following != NONE and engine.read_state[following] == ARRIVED:
        queue_unit(m, lane)


@jit
def start_units(m: Machine, now):
    """Let each unit take at most one line: the oldest of the lane that is first in its queue."""
    engine = m.engine
    busy = engine.unit_mask
    while busy:
        unit = ctz(busy)
        busy &= busy - 1
        while (engine.unit_mask >> unit) & 1:
            lane = _unqueue_unit(m, unit)
            # the lane may have been closed, or opened anew, since it was queued
            if engine.lane_entry[lane] != NONE:
                read = engine.lane_read_first[lane]
                if read != NONE and engine.read_state[read] == ARRIVED:
                    _start_line(m, now, lane)
                    break


@jit
def finish_units(m: Machine, now):
    """Finish the lines that leave their units in cycle `now`."""
    engine = m.engine
    while engine.pipe_count and engine.pipe_ready[engine.pipe_head] <= now:
        read = engine.pipe_read[engine.pipe_head]
        engine.pipe_head = (engine.pipe_head + 1) & (MAX_READS - 1)
        engine.pipe_count -= 1
        if m.timeline.on:
            record(m, ENGINE_COMPACTED, read, 0, 0)
        _finish_line(m, now, read)


@jit
def data_arrived(m: Machine, read):
    """Take DRAM's answer to a read; lines of a column enter their unit in the order of issue."""
    engine = m.engine
    lane = engine.read_lane[read]
    if lane == NONE:
        engine.lines_wasted += 1
        free_read(m, read)
        return
    engine.read_state[read] = ARRIVED
    if engine.lane_read_first[lane] == read:
        queue_unit(m, lane)
