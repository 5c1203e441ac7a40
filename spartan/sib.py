"""Sparsity information block: one entry a column of metadata, sparsity bitmask and mapping window (CMI).

Metadata, 48 bits, from bit 0: tail (4) | offset of the mapping that left the window last (4) | sparse lines
profiled (w) | compacted lines mapped (w) | column number, with w wide enough for a column's sparse lines. A device
of 2^26 lines (4 GiB) always fits: log2 N <= 26 - log2 L leaves 26 - l + 2 (l + 1) + 8 <= 48 bits for l = log2 L <= 12.

The *tail* counts the set bits after the last mapped compacted line. Fewer than 16 non-zeros lie there, so it is at
most 15; with it, positions are found backwards from the profiled end and no total of dropped mappings is kept.

A mapping byte is NNC_needed mod 16 above, offset below. The offset is 15 when no non-zero follows the last element
used, so the last mapping of a column always says 15. NNC_needed is 0 only in the last mapping of a complete column
(made wholly of carried elements): it is stored as byte 0. NNC_needed 16 there is byte 15, and byte 0 elsewhere is
(16, 0): 257 cases, one byte.
"""

import numpy as np

from gpusim.base.jit import Machine, jit, ld_i32, ld_u32, popcount, st_i32
from spartan.engine_spec import OFFSET_BITS, TAIL_BITS
from spartan.replacement import are_held, mapping_place, moves_to_end
from spartan.state import NONE, PROFILE, REPLAY

_TAIL_MASK = (1 << TAIL_BITS) - 1
_OFFSET_MASK = (1 << OFFSET_BITS) - 1
_COUNTS = TAIL_BITS + OFFSET_BITS  # where the line counts begin
EXHAUSTED = 15  # offset: no further non-zero in the line


@jit
def pack_metadata(m: Machine, column, compacted, profiled, dropped_offset, tail):
    """Return the 48 bits of an entry's metadata."""
    w = m.engine.line_bits
    return (
        (column << (_COUNTS + 2 * w))
        | (compacted << (_COUNTS + w))
        | (profiled << _COUNTS)
        | (dropped_offset << 4)
        | tail
    )


@jit
def entry_column(m: Machine, entry):
    """Return the number of the entry's column among the columns of all regions."""
    return m.engine.meta[entry] >> (_COUNTS + 2 * m.engine.line_bits)


@jit
def compacted(m: Machine, entry):
    """Return how many compacted lines of the column have been mapped."""
    w = m.engine.line_bits
    return (m.engine.meta[entry] >> (_COUNTS + w)) & ((1 << w) - 1)


@jit
def profiled(m: Machine, entry):
    """Return how many sparse lines of the column, from the first on, have a known bit."""
    return (m.engine.meta[entry] >> _COUNTS) & ((1 << m.engine.line_bits) - 1)


@jit
def tail(m: Machine, entry):
    """Return the number of set bits after the last mapped compacted line's last sparse line."""
    return m.engine.meta[entry] & _TAIL_MASK


@jit
def column_complete(m: Machine, entry):
    """Return 1 if every sparse line of the column has been profiled, so that its length is known, else 0."""
    return 1 if profiled(m, entry) == m.engine.region_lines[m.engine.entry_region[entry]] else 0


@jit
def mappings_held(m: Machine, entry, low, high):
    """Return 1 if the mappings of compacted lines `low` to `high` - 1 (maybe none), all made, are held, else 0."""
    return are_held(m.engine.cmi_replacement, m.engine.mappings, compacted(m, entry), low, high)


@jit
def _mapping_at(m: Machine, entry, i):
    """Return the index in `cmi` of the mapping of compacted line `i`, whether it is there already or not."""
    engine = m.engine
    return entry * engine.mappings + mapping_place(engine.cmi_replacement, engine.mappings, i)


@jit
def mapping_byte(needed, offset):
    """Return the byte of a mapping.

    Args:
        needed: 0 (last line of carried elements only) to 16.
        offset: 0 to 15.
    """
    return 0 if needed == 0 else ((needed & 15) << 4) | offset


@jit
def byte_needed(byte, last):
    """Return NNC_needed of a mapping byte. last: whether it is the last one of a complete column."""
    if byte >> 4:
        return byte >> 4
    return 0 if last and byte == 0 else 16


@jit
def byte_offset(byte, last):
    """Return the offset of a mapping byte. last: whether it is the last one of a complete column."""
    return EXHAUSTED if last else byte & 15


@jit
def _is_last(m: Machine, entry, i):
    return 1 if i == compacted(m, entry) - 1 and column_complete(m, entry) else 0


@jit
def mapping_needed(m: Machine, entry, i):
    """Return NNC_needed of compacted line `i`, whose mapping is held."""
    return byte_needed(np.int64(m.engine.cmi[_mapping_at(m, entry, i)]), _is_last(m, entry, i))


@jit
def mapping_offset(m: Machine, entry, i):
    """Return the offset of compacted line `i`, whose mapping is held or was the last to leave the window."""
    if not mappings_held(m, entry, i, i + 1):
        return (m.engine.meta[entry] >> TAIL_BITS) & _OFFSET_MASK
    return byte_offset(np.int64(m.engine.cmi[_mapping_at(m, entry, i)]), _is_last(m, entry, i))


@jit
def add_mapping(m: Machine, entry, needed, offset):
    """Map the next compacted line, which ends the tail; a mapping leaves a full window."""
    engine = m.engine
    i = compacted(m, entry)
    at = _mapping_at(m, entry, i)
    meta = engine.meta[entry]
    if i >= engine.mappings:
        left = byte_offset(np.int64(engine.cmi[at]), 0)
        meta = (meta & ~(_OFFSET_MASK << TAIL_BITS)) | (left << TAIL_BITS)
        engine.cmi_evictions += 1
    engine.cmi[at] = mapping_byte(needed, offset)
    engine.meta[entry] = (meta & ~_TAIL_MASK) + (1 << (_COUNTS + engine.line_bits))


@jit
def profile_line(m: Machine, entry, line, nonzero):
    """Set the bit of sparse line `line`, the next one of the column to be profiled."""
    engine = m.engine
    if nonzero:
        engine.bitmask[entry * engine.bitmask_words + (line >> 5)] |= 1 << (line & 31)
    engine.meta[entry] += 1 << _COUNTS


@jit
def lengthen_tail(m: Machine, entry):
    """Count a set bit after the last mapping."""
    m.engine.meta[entry] += 1


@jit
def line_settled(m: Machine, entry, i):
    """Return 1 if it is known whether compacted line `i` is the last, else 0.

    It is known if the line is mapped, and a non-zero or the column's end is known to follow.
    """
    t = compacted(m, entry)
    if i < t - 1 or (i < t and column_complete(m, entry)):
        return 1
    return 1 if i == t - 1 and (tail(m, entry) or mapping_offset(m, entry, i) < EXHAUSTED) else 0


@jit
def find_entry(m: Machine, region, column):
    """Return the SIB entry of a column, or NONE."""
    return ld_i32(m.engine.entry_of_column, m.engine.region_column[region] + column) - 1


@jit
def _unlink_entry(m: Machine, entry):
    engine = m.engine
    chosen = entry // engine.ways
    before, after = engine.entry_prev[entry], engine.entry_next[entry]
    if before == NONE:
        engine.set_first[chosen] = after
    else:
        engine.entry_next[before] = after
    if after == NONE:
        engine.set_last[chosen] = before
    else:
        engine.entry_prev[after] = before


@jit
def _append_entry(m: Machine, entry):
    engine = m.engine
    chosen = entry // engine.ways
    engine.entry_prev[entry] = engine.set_last[chosen]
    engine.entry_next[entry] = NONE
    if engine.set_last[chosen] == NONE:
        engine.set_first[chosen] = entry
    else:
        engine.entry_next[engine.set_last[chosen]] = entry
    engine.set_last[chosen] = entry


@jit
def use_entry(m: Machine, entry):
    """Note that a request used the entry, for replacement."""
    if moves_to_end(m.engine.sib_replacement) and m.engine.set_last[entry // m.engine.ways] != entry:
        _unlink_entry(m, entry)
        _append_entry(m, entry)


@jit
def _lane_waited_for(m: Machine, lane):
    return 1 if lane != NONE and m.engine.lane_waiter[lane] != NONE else 0


@jit
def entry_in_use(m: Machine, entry):
    """Return 1 if the entry belongs to a column, else 0."""
    return 1 if entry % m.engine.ways < m.engine.set_used[entry // m.engine.ways] else 0


@jit
def entry_to_replace(m: Machine, region, column):
    """Return an entry for a column that has none: unused, or the first in replacement order with no waiting request.

    The entry is one of the column's set, its number's remainder. NONE if requests wait for all of them. The caller
    closes the entry's lanes before `assign_entry`.
    """
    engine = m.engine
    chosen = (engine.region_column[region] + column) % engine.sets
    if engine.set_used[chosen] < engine.ways:
        return chosen * engine.ways + engine.set_used[chosen]
    entry = engine.set_first[chosen]
    while entry != NONE:
        if not (
            _lane_waited_for(m, engine.entry_lane[entry, PROFILE])
            or _lane_waited_for(m, engine.entry_lane[entry, REPLAY])
        ):
            return entry
        entry = engine.entry_next[entry]
    return NONE


@jit
def _profile_list(m: Machine, entry, region, number):
    """Let the region's list of lines be the profile of its column: each line on it is a compacted line by itself."""
    engine = m.engine
    lines = engine.region_lines[region]
    total = 0
    for w in range((lines + 31) >> 5):
        left = min(32, lines - (w << 5))
        word = ld_u32(engine.region_list[region], w) & ((1 << left) - 1)
        engine.bitmask[entry * engine.bitmask_words + w] = word
        total += popcount(word)
    for i in range(engine.mappings):
        engine.cmi[entry * engine.mappings + i] = mapping_byte(1, EXHAUSTED)
    engine.meta[entry] = pack_metadata(m, number, total, lines, EXHAUSTED, 0)


@jit
def assign_entry(m: Machine, entry, region, column):
    """Give the entry, whose lanes are closed, to a column of which nothing but a list of its lines is known."""
    engine = m.engine
    if entry_in_use(m, entry):
        _unlink_entry(m, entry)
        st_i32(engine.entry_of_column, entry_column(m, entry), 0)
        engine.sib_evictions += 1
    else:
        engine.set_used[entry // engine.ways] += 1
    number = engine.region_column[region] + column
    st_i32(engine.entry_of_column, number, entry + 1)
    engine.entry_region[entry] = region
    engine.meta[entry] = pack_metadata(m, number, 0, 0, 0, 0)
    for w in range(engine.bitmask_words):
        engine.bitmask[entry * engine.bitmask_words + w] = 0
    if engine.region_list[region]:
        _profile_list(m, entry, region, number)
    engine.entry_lane[entry, PROFILE] = NONE
    engine.entry_lane[entry, REPLAY] = NONE
    _append_entry(m, entry)
