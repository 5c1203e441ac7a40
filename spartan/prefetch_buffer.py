"""Prefetch buffer: lanes of finished compacted lines in column order, sharing the buffer's lines.

An open lane owns the line under construction; finished lines that nobody waits for join its queue while lines are
free. When none is, reading ahead stops, such lines are dropped, and a column that needs a lane closes the first one,
in replacement order, that no request waits for.
"""

from gpusim.jit import jit
from spartan.response import answer_waiting
from spartan.state import AHEAD, ARRIVED, DEMAND, NONE, REPLAY


@jit
def take_slot(m):
    """A free buffer line, which must exist."""
    g = m.engine
    slot = g.slot_free
    g.slot_free = g.slot_next[slot]
    g.slots_free -= 1
    g.slot_reads[slot] = 0
    g.slot_next[slot] = NONE
    return slot


@jit
def free_slot(m, slot):
    """Return a buffer line; reads that it was to count as needed are wasted."""
    g = m.engine
    g.lines_wasted += g.slot_reads[slot]
    g.slot_next[slot] = g.slot_free
    g.slot_free = slot
    g.slots_free += 1


@jit
def free_read(m, r):
    """Return a read's record."""
    g = m.engine
    g.read_next[r] = g.read_free
    g.read_free = r
    g.reads_held -= 1


@jit
def _unlink_lane(m, lane):
    g = m.engine
    before, after = g.lane_prev[lane], g.lane_next[lane]
    if before == NONE:
        g.lane_first = after
    else:
        g.lane_next[before] = after
    if after == NONE:
        g.lane_last = before
    else:
        g.lane_prev[after] = before


@jit
def _append_lane(m, lane):
    g = m.engine
    g.lane_prev[lane] = g.lane_last
    g.lane_next[lane] = NONE
    if g.lane_last == NONE:
        g.lane_first = lane
    else:
        g.lane_next[g.lane_last] = lane
    g.lane_last = lane


@jit
def use_lane(m, lane):
    """A request used the lane: under LRU it is now the last to be closed."""
    if m.engine.lane_fifo == 0 and m.engine.lane_last != lane:
        _unlink_lane(m, lane)
        _append_lane(m, lane)


@jit
def close_lane(m, lane):
    """Give up a lane that no request waits for: its lines, its carried bundles and its reads are lost."""
    g = m.engine
    if g.lane_slot[lane] != NONE:
        free_slot(m, g.lane_slot[lane])
    slot = g.lane_filled_first[lane]
    while slot != NONE:
        after = g.slot_next[slot]
        free_slot(m, slot)
        slot = after
    r = g.lane_read_first[lane]
    while r != NONE:
        after = g.read_next[r]
        if g.read_state[r] == ARRIVED:
            g.lines_wasted += 1
            free_read(m, r)
        else:
            g.read_lane[r] = NONE
        r = after
    g.entry_lane[g.lane_entry[lane], g.lane_kind[lane]] = NONE
    g.lane_entry[lane] = NONE
    _unlink_lane(m, lane)
    g.lane_next[lane] = g.lane_free
    g.lane_free = lane


@jit
def open_lane(m, e, kind):
    """A lane for the SIB entry, or NONE if requests wait for every lane that could be closed for it."""
    g = m.engine
    while g.lane_free == NONE or g.slots_free == 0:
        victim = g.lane_first
        while victim != NONE and g.lane_waiter[victim] != NONE:
            victim = g.lane_next[victim]
        if victim == NONE:
            return NONE
        close_lane(m, victim)
        g.buffer_evictions += 1
    lane = g.lane_free
    g.lane_free = g.lane_next[lane]
    g.lane_openings += 1
    g.lane_serial[lane] = g.lane_openings
    g.lane_entry[lane] = e
    g.lane_kind[lane] = kind
    g.lane_slot[lane] = take_slot(m)
    g.lane_count[lane] = 0
    g.lane_line[lane] = 0
    g.lane_consumed[lane] = 0
    g.lane_issued[lane] = 0
    g.lane_limit[lane] = 0
    g.lane_position[lane] = 0
    g.lane_restart[lane] = NONE
    g.lane_skip[lane] = 0
    g.lane_todo[lane] = 0
    g.lane_exact[lane] = NONE
    g.lane_run[lane] = NONE
    g.lane_restarts[lane] = 0
    g.lane_read_first[lane] = NONE
    g.lane_read_last[lane] = NONE
    g.lane_filled_first[lane] = NONE
    g.lane_filled_last[lane] = NONE
    g.lane_waiter[lane] = NONE
    g.entry_lane[e, kind] = lane
    _append_lane(m, lane)
    return lane


@jit
def close_if_done(m, lane):
    """Close a lane whose column is complete and of which every finished line has left."""
    g = m.engine
    if g.lane_slot[lane] == NONE and g.lane_filled_first[lane] == NONE and g.lane_waiter[lane] == NONE:
        close_lane(m, lane)


@jit
def find_filled(m, lane, line):
    """Buffer line that holds finished compacted line `line` in the lane, or NONE."""
    g = m.engine
    slot = g.lane_filled_first[lane]
    while slot != NONE and g.slot_line[slot] != line:
        slot = g.slot_next[slot]
    return slot


@jit
def take_filled(m, lane, slot):
    """Remove a finished line, which has been delivered, from the lane."""
    g = m.engine
    before = NONE
    s = g.lane_filled_first[lane]
    while s != slot:
        before = s
        s = g.slot_next[s]
    after = g.slot_next[slot]
    if before == NONE:
        g.lane_filled_first[lane] = after
    else:
        g.slot_next[before] = after
    if after == NONE:
        g.lane_filled_last[lane] = before
    g.lines_needed += g.slot_reads[slot]
    g.slot_reads[slot] = 0
    free_slot(m, slot)


@jit
def emit_line(m, now, lane, last, shared):
    """The line under construction is finished: answer, keep or drop it, and begin the next one.

    `shared` is 1 if the newest read also feeds the next line, which it then counts for if this one is dropped.
    """
    g = m.engine
    slot = g.lane_slot[lane]
    line = g.lane_line[lane]
    g.lane_line[lane] = line + 1
    g.lane_count[lane] = 0
    g.slot_line[slot] = line
    waited_for = 1 if g.lane_waiter[lane] != NONE else 0
    if answer_waiting(m, now, lane, line, slot, last):
        g.lines_needed += g.slot_reads[slot]
        g.slot_reads[slot] = 0
        if waited_for and g.lane_waiter[lane] == NONE:
            g.lane_limit[lane] = g.lane_consumed[lane] + g.prefetch_length
    elif g.slots_free and (g.lane_kind[lane] != REPLAY or find_filled(m, lane, line) == NONE):
        if g.lane_filled_last[lane] == NONE:
            g.lane_filled_first[lane] = slot
        else:
            g.slot_next[g.lane_filled_last[lane]] = slot
        g.lane_filled_last[lane] = slot
        g.slot_next[slot] = NONE
        g.lane_slot[lane] = take_slot(m)
    else:
        g.buffer_lines_dropped += 1
        g.lines_wasted += g.slot_reads[slot] - shared
        g.slot_reads[slot] = shared


@jit
def queue_issue(m, lane):
    """Queue the lane for a shifter, before those that only read ahead if a request waits for it."""
    g = m.engine
    if g.lane_blocked[lane]:
        return
    q = AHEAD if g.lane_waiter[lane] == NONE else DEMAND
    if g.lane_in_issue[q, lane]:
        return
    g.lane_in_issue[q, lane] = 1
    g.lane_issue_next[q, lane] = NONE
    if g.issue_first[q] == NONE:
        g.issue_first[q] = lane
    else:
        g.lane_issue_next[q, g.issue_last[q]] = lane
    g.issue_last[q] = lane


@jit
def unqueue_issue(m):
    """The next lane for a shifter, or NONE."""
    g = m.engine
    for q in range(2):
        lane = g.issue_first[q]
        if lane != NONE:
            g.issue_first[q] = g.lane_issue_next[q, lane]
            g.lane_in_issue[q, lane] = 0
            return lane
    return NONE
