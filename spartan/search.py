"""Data search: which sparse lines a lane reads next (Dong 2020, algorithms 4 and 5, table 6.1).

Every function that goes over bits or mappings adds to `scanned` and `summed`, from which the time follows.
"""

from gpusim.jit import ctz, jit, popcount
from spartan.sib import (
    EXHAUSTED,
    column_complete,
    compacted,
    first_mapping,
    line_settled,
    mapping_needed,
    mapping_offset,
    profiled,
    tail,
)
from spartan.state import NONE, PROFILE, WORD_BITS

ACCURATE, PRUDENT, HASTY = 0, 1, 2
_ALL = (1 << WORD_BITS) - 1


@jit
def next_set_bit(m, entry, start, end):
    """First set bit of the entry's bitmask in [start, end), or NONE."""
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
def find_first_non_zero_bit(m, entry):
    """Location of the first sparse line with a non-zero, or NONE (table 6.1)."""
    return next_set_bit(m, entry, 0, profiled(m, entry))


@jit
def find_next_non_zero_bit(m, entry, location):
    """Location of the next set bit after `location`, or NONE (table 6.1)."""
    return next_set_bit(m, entry, location + 1, profiled(m, entry))


@jit
def find_next_bit_location(m, entry, location, n):
    """Location of the set bit that is `n` set bits after `location`, or NONE (table 6.1)."""
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
def find_previous_bit_location(m, entry, location, n):
    """Location of the set bit that is `n` set bits before `location`, or NONE; `n` at least 1."""
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


@jit
def get_cmi_entry(m, entry, i):
    """Mapping of compacted line `i` as NNC_needed + 32 * offset, or NONE if it is not held."""
    if i < first_mapping(m, entry) or i >= compacted(m, entry):
        return NONE
    return mapping_needed(m, entry, i) + 32 * mapping_offset(m, entry, i)


@jit
def find_line_end(m, entry, i):
    """Location of the last sparse line that compacted line `i` used; the mappings of i + 1 on are held.

    Forward over all earlier mappings as algorithm 4 does when none has left the window and that is the shorter
    way, else backwards from the profiled end.
    """
    t = compacted(m, entry)
    n = 0
    if first_mapping(m, entry) == 0 and i + 1 <= t - i:
        for j in range(i + 1):
            n += mapping_needed(m, entry, j)
        m.engine.summed += i + 1
        return find_next_bit_location(m, entry, find_first_non_zero_bit(m, entry), n - 1)
    for j in range(i + 1, t):
        n += mapping_needed(m, entry, j)
    m.engine.summed += t - i - 1
    return find_previous_bit_location(m, entry, profiled(m, entry), n + tail(m, entry) + 1)


@jit
def addr_calc(m, region, column, location):
    """Line (byte address >> 6) of sparse line `location` of a column."""
    return m.engine.region_line[region] + column * m.engine.region_stride[region] + location


@jit
def search_mode(m, entry, i):
    """How compacted line `i` of the entry's column is searched for.

    A line that is mapped but not known to be the last or not needs the profile to go on: hasty.
    """
    if not line_settled(m, entry, i):
        return HASTY
    return ACCURATE if i >= first_mapping(m, entry) else PRUDENT


@jit
def place_before(m, lane, entry, i):
    """Let the lane's next read begin compacted line `i`: where the line before it ended, 0 for the first.

    Returns 1 if that read is the previous line's last one, for its leftover elements, else 0.
    """
    engine = m.engine
    engine.lane_restart[lane] = i
    engine.lane_skip[lane] = 0
    engine.lane_position[lane] = 0
    if i == 0:
        return 0
    location = find_line_end(m, entry, i - 1)
    offset = mapping_offset(m, entry, i - 1)
    if offset < EXHAUSTED:
        engine.lane_position[lane] = location
        engine.lane_skip[lane] = offset + 1
        return 1
    engine.lane_position[lane] = location + 1
    return 0


@jit
def place_profile_lane(m, lane, entry):
    """Place a new profiling lane at the profiled end: at the first line that is not settled."""
    t = compacted(m, entry)
    place_before(m, lane, entry, t - 1 if t and not line_settled(m, entry, t - 1) else t)


@jit
def _behind_reads(m, lane, i):
    """1 if the reads issued end exactly before compacted line `i` or an earlier one that is still to come."""
    engine = m.engine
    exact = engine.lane_exact[lane]
    if exact == NONE or exact > i:
        return 0
    return (
        1 if engine.lane_restarts[lane] or engine.lane_restart[lane] != NONE or engine.lane_line[lane] <= exact else 0
    )


@jit
def _space_ahead(m, lane):
    """1 if a further read ahead finds a free buffer line even if each one under way finishes a line."""
    engine = m.engine
    return 1 if engine.lane_issued[lane] - engine.lane_consumed[lane] < engine.slots_free else 0


@jit
def _choose_replay(m, lane, entry):
    """Choose what a replay lane reads next: 1 if the next set bit from `lane_position` on, 0 if nothing."""
    engine = m.engine
    first = first_mapping(m, entry)
    while True:
        run = engine.lane_run[lane]
        if run != NONE and engine.lane_restarts[lane] == 0 and engine.lane_restart[lane] == NONE:
            run = max(run, engine.lane_line[lane])
        demanded = 0
        lowest, onward = NONE, NONE
        target_request, onward_request = NONE, NONE
        r = engine.lane_waiter[lane]
        while r != NONE:
            i = engine.request_line[r]
            if engine.request_covered[r] == 0:
                if run != NONE and run <= i < first:
                    demanded = 1
                if lowest == NONE or i < lowest:
                    lowest = i
                    target_request = r
                if _behind_reads(m, lane, i) and (onward == NONE or i < onward):
                    onward = i
                    onward_request = r
            r = engine.request_next[r]
        if demanded or lowest == NONE:
            if run == NONE or engine.lane_issued[lane] >= engine.lane_limit[lane]:
                return 0
            return 1 if demanded or _space_ahead(m, lane) else 0
        i = lowest
        if onward != NONE:
            i = onward
            target_request = onward_request
        if i < first:
            if _behind_reads(m, lane, i):
                engine.lane_run[lane] = engine.lane_exact[lane]
            else:
                engine.lane_run[lane] = 0
                engine.lane_restart[lane] = 0
                engine.lane_skip[lane] = 0
                engine.lane_position[lane] = 0
            engine.lane_exact[lane] = NONE
        else:
            needed = mapping_needed(m, entry, i)
            if engine.lane_exact[lane] != i or not _behind_reads(m, lane, i):
                needed += place_before(m, lane, entry, i)
            engine.lane_todo[lane] = needed
            engine.lane_exact[lane] = i + 1
            engine.lane_run[lane] = NONE
            engine.request_covered[target_request] = 1
            if needed:
                return 1


@jit
def next_read(m, lane):
    """Sparse line that the lane reads next, or NONE; begins a search when a waiting request needs one."""
    engine = m.engine
    engine.scanned = 0
    engine.summed = 0
    entry = engine.lane_entry[lane]
    if entry == NONE:
        return NONE
    end = profiled(m, entry)
    if engine.lane_kind[lane] == PROFILE:
        location = engine.lane_position[lane]
        if engine.lane_issued[lane] >= engine.lane_limit[lane] or (
            engine.lane_waiter[lane] == NONE and not _space_ahead(m, lane)
        ):
            return NONE
        if location < end:
            location = next_set_bit(m, entry, location, end)
            if location == NONE:
                location = end
        return location if location < engine.region_lines[engine.entry_region[entry]] else NONE
    if engine.lane_todo[lane] == 0 and not _choose_replay(m, lane, entry):
        return NONE
    return next_set_bit(m, entry, engine.lane_position[lane], end)


@jit
def column_ends_after(m, entry, location):
    """1 if the column is known and has no non-zero after sparse line `location`."""
    return 1 if column_complete(m, entry) and next_set_bit(m, entry, location + 1, profiled(m, entry)) == NONE else 0
