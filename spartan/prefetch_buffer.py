"""Prefetch buffer: lanes of finished compacted lines in column order, sharing the buffer's lines.

An open lane owns the line under construction; finished lines that nobody waits for join its queue while lines are
free. When none is, reading ahead stops, such lines are dropped, and a column that needs a lane closes the first one,
in replacement order, that no request waits for.
"""

from gpusim.base.jit import Machine, jit
from spartan.reads import free_read
from spartan.replacement import moves_to_end
from spartan.response import answer_waiting
from spartan.state import ARRIVED, NONE, REPLAY


@jit
def take_slot(m: Machine):
    """Take a free buffer line, which must exist; returns its slot."""
    engine = m.engine
    slot = engine.slot_free
    engine.slot_free = engine.slot_next[slot]
    engine.slots_free -= 1
    engine.slot_reads[slot] = 0
    engine.slot_next[slot] = NONE
    return slot


@jit
def free_slot(m: Machine, slot):
    """Return a buffer line to the free list; reads that it would have counted as needed are counted as wasted."""
    engine = m.engine
    engine.lines_wasted += engine.slot_reads[slot]
    engine.slot_next[slot] = engine.slot_free
    engine.slot_free = slot
    engine.slots_free += 1


@jit
def _unlink_lane(m: Machine, lane):
    engine = m.engine
    before, after = engine.lane_prev[lane], engine.lane_next[lane]
    if before == NONE:
        engine.lane_first = after
    else:
        engine.lane_next[before] = after
    if after == NONE:
        engine.lane_last = before
    else:
        engine.lane_prev[after] = before


@jit
def _append_lane(m: Machine, lane):
    engine = m.engine
    engine.lane_prev[lane] = engine.lane_last
    engine.lane_next[lane] = NONE
    if engine.lane_last == NONE:
        engine.lane_first = lane
    else:
        engine.lane_next[engine.lane_last] = lane
    engine.lane_last = lane


@jit
def use_lane(m: Machine, lane):
    """Note that a request used the lane, for replacement."""
    if moves_to_end(m.engine.lane_replacement) and m.engine.lane_last != lane:
        _unlink_lane(m, lane)
        _append_lane(m, lane)


@jit
def close_lane(m: Machine, lane):
    """Give up a lane that no request waits for: its lines, its carried bundles and its reads are lost."""
    engine = m.engine
    if engine.lane_slot[lane] != NONE:
        free_slot(m, engine.lane_slot[lane])
    slot = engine.lane_filled_first[lane]
    while slot != NONE:
        after = engine.slot_next[slot]
        free_slot(m, slot)
        slot = after
    read = engine.lane_read_first[lane]
    while read != NONE:
        after = engine.read_next[read]
        if engine.read_state[read] == ARRIVED:
            engine.lines_wasted += 1
            free_read(m, read)
        else:
            engine.read_lane[read] = NONE
        read = after
    engine.entry_lane[engine.lane_entry[lane], engine.lane_kind[lane]] = NONE
    engine.lane_entry[lane] = NONE
    _unlink_lane(m, lane)
    engine.lane_next[lane] = engine.lane_free
    engine.lane_free = lane


@jit
def open_lane(m: Machine, entry, kind):
    """Open a lane for the SIB entry, closing others if need be; NONE if requests wait for every one of these."""
    engine = m.engine
    while engine.lane_free == NONE or engine.slots_free == 0:
        victim = engine.lane_first
        while victim != NONE and engine.lane_waiter[victim] != NONE:
            victim = engine.lane_next[victim]
        if victim == NONE:
            return NONE
        close_lane(m, victim)
        engine.buffer_evictions += 1
    lane = engine.lane_free
    engine.lane_free = engine.lane_next[lane]
    engine.lane_openings += 1
    engine.lane_serial[lane] = engine.lane_openings
    engine.lane_entry[lane] = entry
    engine.lane_kind[lane] = kind
    engine.lane_slot[lane] = take_slot(m)
    engine.lane_count[lane] = 0
    engine.lane_line[lane] = 0
    engine.lane_consumed[lane] = 0
    engine.lane_issued[lane] = 0
    engine.lane_limit[lane] = 0
    engine.lane_position[lane] = 0
    engine.lane_restart[lane] = NONE
    engine.lane_skip[lane] = 0
    engine.lane_todo[lane] = 0
    engine.lane_exact[lane] = NONE
    engine.lane_run[lane] = NONE
    engine.lane_restarts[lane] = 0
    engine.lane_read_first[lane] = NONE
    engine.lane_read_last[lane] = NONE
    engine.lane_filled_first[lane] = NONE
    engine.lane_filled_last[lane] = NONE
    engine.lane_waiter[lane] = NONE
    engine.entry_lane[entry, kind] = lane
    _append_lane(m, lane)
    return lane


@jit
def close_if_done(m: Machine, lane):
    """Close a lane whose column is complete and of which every finished line has left."""
    engine = m.engine
    if engine.lane_slot[lane] == NONE and engine.lane_filled_first[lane] == NONE and engine.lane_waiter[lane] == NONE:
        close_lane(m, lane)


@jit
def find_filled(m: Machine, lane, line):
    """Return the buffer line that holds finished compacted line `line` in the lane, or NONE."""
    engine = m.engine
    slot = engine.lane_filled_first[lane]
    while slot != NONE and engine.slot_line[slot] != line:
        slot = engine.slot_next[slot]
    return slot


@jit
def take_filled(m: Machine, lane, slot):
    """Remove a finished line, which has been delivered, from the lane."""
    engine = m.engine
    before = NONE
    s = engine.lane_filled_first[lane]
    while s != slot:
        before = s
        s = engine.slot_next[s]
    after = engine.slot_next[slot]
    if before == NONE:
        engine.lane_filled_first[lane] = after
    else:
        engine.slot_next[before] = after
    if after == NONE:
        engine.lane_filled_last[lane] = before
    engine.lines_needed += engine.slot_reads[slot]
    engine.slot_reads[slot] = 0
    free_slot(m, slot)


@jit
def emit_line(m: Machine, now, lane, last, shared):
    """Finish the line under construction: answer with it, keep or drop it, and begin the next one.

    `shared` is 1 if the newest read also feeds the next line, which it then counts for if this one is dropped.
    """
    engine = m.engine
    slot = engine.lane_slot[lane]
    line = engine.lane_line[lane]
    engine.lane_line[lane] = line + 1
    engine.lane_count[lane] = 0
    engine.slot_line[slot] = line
    waited_for = 1 if engine.lane_waiter[lane] != NONE else 0
    if answer_waiting(m, now, lane, line, slot, last):
        engine.lines_needed += engine.slot_reads[slot]
        engine.slot_reads[slot] = 0
        if waited_for and engine.lane_waiter[lane] == NONE:
            engine.lane_limit[lane] = engine.lane_consumed[lane] + engine.prefetch_length
    elif engine.slots_free and (engine.lane_kind[lane] != REPLAY or find_filled(m, lane, line) == NONE):
        if engine.lane_filled_last[lane] == NONE:
            engine.lane_filled_first[lane] = slot
        else:
            engine.slot_next[engine.lane_filled_last[lane]] = slot
        engine.lane_filled_last[lane] = slot
        engine.slot_next[slot] = NONE
        engine.lane_slot[lane] = take_slot(m)
    else:
        engine.buffer_lines_dropped += 1
        engine.lines_wasted += engine.slot_reads[slot] - shared
        engine.slot_reads[slot] = shared
