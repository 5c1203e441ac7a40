"""Data search: which sparse lines a lane reads next (Dong 2020, algorithms 4 and 5).

The algorithms collect a search's memory transactions (`mem_trans.append(AddrCalc(bit_location))`). Here a lane keeps
how far its search has come, and `next_read` gives the next location each time that a read can be issued, by
`accurate_search` and `prudent_search` in a replay lane and by `hasty_search` in a profiling one.

Each function that goes over mappings adds to `summed`, over bits to `scanned` (`spartan/bitmask.py`); the time follows.
"""

from gpusim.base.jit import Machine, jit
from spartan.bitmask import (
    find_first_non_zero_bit,
    find_next_bit_location,
    find_next_non_zero_bit,
    find_previous_bit_location,
)
from spartan.engine_spec import NEARER_END, SUMS_FROM
from spartan.sib import (
    EXHAUSTED,
    column_complete,
    compacted,
    line_settled,
    mapping_needed,
    mapping_offset,
    mappings_held,
    profiled,
    tail,
)
from spartan.state import NONE, PROFILE

ACCURATE, PRUDENT, HASTY = 0, 1, 2
FROM_NEARER_END = SUMS_FROM[NEARER_END]
_OFFSET_SHIFT = 5  # of a CMI entry: NNC_needed, 0 to 16, below it


@jit
def get_cmi_entry(m: Machine, entry, i):
    """Return the mapping of compacted line `i`, for `nnc_needed` and `cmi_offset`; NONE if it is not held."""
    if i >= compacted(m, entry) or not mappings_held(m, entry, i, i + 1):
        return NONE
    return mapping_needed(m, entry, i) | mapping_offset(m, entry, i) << _OFFSET_SHIFT


@jit
def nnc_needed(cmi):
    """Return how many sparse lines with non-zeros a compacted line needs besides the last one of its predecessor."""
    return cmi & ((1 << _OFFSET_SHIFT) - 1)


@jit
def cmi_offset(cmi):
    """Return where in its last sparse line a compacted line's last element is; EXHAUSTED: nothing follows there."""
    return cmi >> _OFFSET_SHIFT


@jit
def addr_calc(m: Machine, region, column, location):
    """Return the line (byte address >> 6) of sparse line `location` of a column."""
    return m.engine.region_line[region] + column * m.engine.region_stride[region] + location


@jit
def search_mode(m: Machine, entry, i):
    """Return how compacted line `i` of the entry's column is searched for: ACCURATE, PRUDENT or HASTY.

    HASTY is for a line that is not mapped, or that is mapped but not known to be the last or not: it needs the profile
    to go on.
    """
    if not line_settled(m, entry, i):
        return HASTY
    return ACCURATE if get_cmi_entry(m, entry, i) != NONE else PRUDENT


@jit
def find_line_end(m: Machine, entry, i):
    """Return the location of the last sparse line that compacted line `i` used.

    The mappings up to `i`, or those after it, are held. The search goes forwards from the first set bit over all
    earlier mappings (algorithm 4, lines 4 to 7), or backwards from the profiled end over the later ones.
    """
    engine = m.engine
    t = compacted(m, entry)
    forwards = mappings_held(m, entry, 0, i + 1)
    if forwards and i + 1 > t - i and engine.sum_from == FROM_NEARER_END:
        forwards = 0 if mappings_held(m, entry, i + 1, t) else 1
    n = 0
    if forwards:
        for j in range(i + 1):
            n += mapping_needed(m, entry, j)
        engine.summed += i + 1
        return find_next_bit_location(m, entry, find_first_non_zero_bit(m, entry), n - 1)
    for j in range(i + 1, t):
        n += mapping_needed(m, entry, j)
    engine.summed += t - i - 1
    return find_previous_bit_location(m, entry, profiled(m, entry), n + tail(m, entry) + 1)


@jit
def place_before(m: Machine, lane, entry, i):
    """Let the lane's next read begin compacted line `i`: where the line before it ended, 0 for the first.

    Returns 1 if that read is the previous line's last one, for its leftover elements, else 0.
    """
    engine = m.engine
    engine.searches_anew += 1
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
def place_profile_lane(m: Machine, lane, entry):
    """Place a new profiling lane at the profiled end: at the first line that is not settled."""
    t = compacted(m, entry)
    place_before(m, lane, entry, t - 1 if t and not line_settled(m, entry, t - 1) else t)


@jit
def _reads_end_before(m: Machine, lane, i):
    """Return 1 if the issued reads end exactly before compacted line `i` or an earlier one still to come, else 0."""
    engine = m.engine
    exact = engine.lane_exact[lane]
    if exact == NONE or exact > i:
        return 0
    return (
        1 if engine.lane_restarts[lane] or engine.lane_restart[lane] != NONE or engine.lane_line[lane] <= exact else 0
    )


@jit
def accurate_search(m: Machine, lane, entry, i):
    """Let the lane read the sparse lines that compacted line `i` is made of, and no others (algorithm 4).

    Its mapping is held. Returns how many lines those are, from `lane_position` on. Where the lane's reads end just
    before line `i`, they go on; else they begin anew where the earlier mappings say.
    """
    engine = m.engine
    reads = nnc_needed(get_cmi_entry(m, entry, i))
    if engine.lane_exact[lane] != i or not _reads_end_before(m, lane, i):
        reads += place_before(m, lane, entry, i)
    engine.lane_todo[lane] = reads
    engine.lane_exact[lane] = i + 1
    engine.lane_run[lane] = NONE
    return reads


@jit
def prudent_search(m: Machine, lane, i):
    """Let the lane read lines whose bit is set, until it has passed compacted line `i` (algorithm 5, prudent).

    It begins at the first such line, or where the lane stands if that is before line `i`.
    """
    engine = m.engine
    if _reads_end_before(m, lane, i):
        engine.lane_run[lane] = engine.lane_exact[lane]
    else:
        engine.searches_anew += 1
        engine.lane_run[lane] = 0
        engine.lane_restart[lane] = 0
        engine.lane_skip[lane] = 0
        engine.lane_position[lane] = 0
    engine.lane_exact[lane] = NONE


@jit
def hasty_search(m: Machine, lane, entry):
    """Return the line after the last one read, or NONE after the column's last (algorithm 5, hasty).

    A new lane begins in what is profiled already: there, lines whose bit is 0 are left out.
    """
    engine = m.engine
    location = engine.lane_position[lane]
    if location < profiled(m, entry):
        location = find_next_non_zero_bit(m, entry, location - 1)
        if location == NONE:
            location = profiled(m, entry)
    return location if location < engine.region_lines[engine.entry_region[entry]] else NONE


@jit
def _space_ahead(m: Machine, lane):
    """Return 1 if a further read ahead finds a free buffer line even if each one under way finishes a line, else 0."""
    engine = m.engine
    return 1 if engine.lane_issued[lane] - engine.lane_consumed[lane] < engine.slots_free else 0


@jit
def _begin_replay(m: Machine, lane, entry):
    """Begin what a replay lane searches for next, or continue its prudent run; returns 0 if there is nothing."""
    engine = m.engine
    while True:
        run = engine.lane_run[lane]
        if run != NONE and engine.lane_restarts[lane] == 0 and engine.lane_restart[lane] == NONE:
            run = max(run, engine.lane_line[lane])
        run_demanded = 0
        lowest, onward = NONE, NONE
        lowest_request, onward_request = NONE, NONE
        r = engine.lane_waiter[lane]
        while r != NONE:
            i = engine.request_line[r]
            if engine.request_covered[r] == 0:
                if run != NONE and run <= i and not mappings_held(m, entry, i, i + 1):
                    run_demanded = 1
                if lowest == NONE or i < lowest:
                    lowest = i
                    lowest_request = r
                if _reads_end_before(m, lane, i) and (onward == NONE or i < onward):
                    onward = i
                    onward_request = r
            r = engine.request_next[r]
        if run_demanded or lowest == NONE:
            if run == NONE or engine.lane_issued[lane] >= engine.lane_limit[lane]:
                return 0
            return 1 if run_demanded or _space_ahead(m, lane) else 0
        # where the lane stands there is less to search for
        i = lowest if onward == NONE else onward
        if get_cmi_entry(m, entry, i) == NONE:
            prudent_search(m, lane, i)
        else:
            reads = accurate_search(m, lane, entry, i)
            engine.request_covered[lowest_request if onward == NONE else onward_request] = 1
            if reads:
                return 1


@jit
def next_read(m: Machine, lane):
    """Return the sparse line that the lane reads next, or NONE; begins a search when a waiting request needs one."""
    engine = m.engine
    engine.scanned = 0
    engine.summed = 0
    entry = engine.lane_entry[lane]
    if entry == NONE:
        return NONE
    if engine.lane_kind[lane] == PROFILE:
        if engine.lane_issued[lane] >= engine.lane_limit[lane] or (
            engine.lane_waiter[lane] == NONE and not _space_ahead(m, lane)
        ):
            return NONE
        return hasty_search(m, lane, entry)
    if engine.lane_todo[lane] == 0 and not _begin_replay(m, lane, entry):
        return NONE
    if engine.lane_position[lane] == 0:
        return find_first_non_zero_bit(m, entry)
    return find_next_non_zero_bit(m, entry, engine.lane_position[lane] - 1)


@jit
def column_ends_after(m: Machine, entry, location):
    """Return 1 if the column is known and has no non-zero after sparse line `location`, else 0."""
    return 1 if column_complete(m, entry) and find_next_non_zero_bit(m, entry, location) == NONE else 0
