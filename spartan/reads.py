"""Reads of sparse lines: lanes that wait to issue one, their records, and lines of the compaction units' data buffers.

A read holds its record, and a line of the data buffer of its lane's unit, from its issue until it has been compacted.
"""

from gpusim.base.jit import Machine, jit
from spartan.state import AHEAD, DEMAND, NONE


@jit
def unit_of(m: Machine, lane):
    """Return the compaction unit that a lane belongs to."""
    return lane % m.engine.units


@jit
def queue_issue(m: Machine, lane):
    """Queue the lane for a shifter, before lanes that only read ahead if a request waits for it."""
    engine = m.engine
    if engine.lane_blocked[lane] or engine.lane_unit_full[lane]:
        return
    q = AHEAD if engine.lane_waiter[lane] == NONE else DEMAND
    if engine.lane_in_issue[q, lane]:
        return
    engine.lane_in_issue[q, lane] = 1
    engine.lane_issue_next[q, lane] = NONE
    if engine.issue_first[q] == NONE:
        engine.issue_first[q] = lane
    else:
        engine.lane_issue_next[q, engine.issue_last[q]] = lane
    engine.issue_last[q] = lane


@jit
def unqueue_issue(m: Machine):
    """Take the next lane for a shifter off its queue; returns it, or NONE."""
    engine = m.engine
    for q in range(2):
        lane = engine.issue_first[q]
        if lane != NONE:
            engine.issue_first[q] = engine.lane_issue_next[q, lane]
            engine.lane_in_issue[q, lane] = 0
            return lane
    return NONE


@jit
def free_read(m: Machine, read):
    """Free a read's record and its line of its unit's data buffer, for which lanes may wait."""
    engine = m.engine
    engine.read_next[read] = engine.read_free
    engine.read_free = read
    engine.reads_held -= 1
    unit = engine.read_unit[read]
    engine.unit_lines_held[unit] -= 1
    while engine.unit_full_first[unit] != NONE:  # the first of them may have nothing to read any more
        lane = engine.unit_full_first[unit]
        engine.unit_full_first[unit] = engine.lane_unit_full_next[lane]
        engine.lane_unit_full[lane] = 0
        queue_issue(m, lane)


@jit
def wait_for_unit(m: Machine, lane, unit):
    """Let the lane, which may be in both issue queues, wait until a line of its unit's data buffer is free."""
    engine = m.engine
    if engine.lane_unit_full[lane]:
        return
    engine.lane_unit_full[lane] = 1
    engine.lane_unit_full_next[lane] = NONE
    if engine.unit_full_first[unit] == NONE:
        engine.unit_full_first[unit] = lane
    else:
        engine.lane_unit_full_next[engine.unit_full_last[unit]] = lane
    engine.unit_full_last[unit] = lane
