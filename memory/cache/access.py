"""How memory instructions access memory, by static instruction: lines, strides, conflicts, and where lines were found.

The core tells of each instruction as it issues, the caches of each line. Counts are a table of int64 [instruction,
COLUMNS]; an instruction's lines are looked at one by one in its first executions and then in every EXAMINED_EVERY-th
alone, as patterns repeat. Where a line was found in L1 and L2 is counted only while the timeline is told FINDS.
"""

from gpusim.base.jit import Field, Machine, State, jit, ld_i64, popcount, st_i64
from isa.trace import (
    ASKED_MASK,
    ASKED_SHIFT,
    BUSY_MASK,
    BUSY_SHIFT,
    LEAST_MASK,
    LEAST_SHIFT,
    LINE_ADDRESS_MASK,
    LINE_BYTES,
    LINES_MASK,
    RECORD_ATOMIC,
    RECORD_LDS,
    RECORD_STORE,
)
from memory.address_map import MAX_L2_CHANNELS, dram_channel, dram_local_line, l2_channel
from memory.cache.l1_state import DIRECT, HIT, MERGE
from memory.cache.l2_state import HIT as L2_HIT
from memory.cache.l2_state import MERGED as L2_MERGED
from memory.dram.requests import bank_and_row
from memory.network.state import (
    ATOMIC_RETURN,
    FIRST_SCALAR_PORT,
    KIND_MASK,
    MAX_CUS,
    READ,
    SOURCE_CU_SHIFT,
    SOURCE_ID_SHIFT,
)
from memory.parts import main_of
from memory.timeline import FINDS, LOOKED_UP, SERVED, record

# columns of the table
COLUMNS = (
    "issued",
    "lines",  # of all executions
    "least_lines",  # the fewest that hold the bytes asked for
    "bytes_asked_for",
    "bank_cycles",  # LDS
    "least_bank_cycles",
    "wait_cycles",  # of wavefronts, at an s_waitcnt or with the counter full, that its return ended
    "l1_hits",
    "l1_merges",
    "l1_misses",
    "l2_hits",
    "l2_merges",
    "l2_misses",
    "examined",  # executions whose lines were looked at
    "examined_lines",
    "channel_lines",  # of the L2 channel that holds most of an execution's lines
    "set_overflow",  # lines for which their L1 set has no way, as others of the execution fill it
    "dram_rows",  # distinct ones
    "partial_lines",  # that a store or atomic does not write in whole
    "strided",  # executions whose lines lie equally far apart, and not side by side
    "stride_lines",  # how far, of the last such execution
    "repeated_lines",  # of an atomic's: more lanes change one of the words
)
(
    ISSUED, LINES, LEAST_LINES, BYTES, BANK_CYCLES, LEAST_BANK_CYCLES, WAITED, L1_HITS, L1_MERGES, L1_MISSES, L2_HITS,
    L2_MERGES, L2_MISSES, EXAMINED, EXAMINED_LINES, CHANNEL_LINES, SET_OVERFLOW, ROWS, PARTIAL, STRIDED, STRIDE,
    REPEATED,
) = range(len(COLUMNS))  # fmt: skip
WIDTH = 24  # words of a row: whole lines of the host's cache
assert len(COLUMNS) <= WIDTH

EXAMINED_FIRST = 16  # executions of an instruction
EXAMINED_EVERY = 64
MOST_EXAMINED = 64  # lines of one
BUCKETS = 64  # into which they are put, by L1 set, and their DRAM rows: a power of two
TOKENS = 1 << 12  # that name what is in flight on a CU: wavefront slot and entry
TOKEN_BITS = 20
MOST_NOTED = MAX_CUS * 128  # one a CU and cycle of a window

ACCESS = State(
    "access",
    {
        "table": Field((), "address of int64 [static instruction, WIDTH], by COLUMNS; 0: nothing is counted"),
        "owner": Field(
            (MAX_CUS, TOKENS),
            "with FINDS, what an instruction in flight is: token | static instruction << TOKEN_BITS",
        ),
        "noted": Field((), "vector memory instructions whose lines are not counted yet"),
        "ordered": Field((), "of these, vector memory instructions whose lines are counted by now"),
        "note": Field((MOST_NOTED, 3), "such an instruction: its cycle, static instruction, address of its record"),
        "row": Field((MOST_EXAMINED,), "work area: DRAM rows of an instruction's lines"),
        "of_channel": Field((MAX_L2_CHANNELS,), "work area: its lines by L2 channel"),
        "last_in": Field((BUCKETS,), "work area: number + 1 of the last line in a bucket, by L1 set; 0: none"),
        "before": Field((MOST_EXAMINED,), "work area: number + 1 of the line before one in its bucket; 0: none"),
        "last_row_in": Field((BUCKETS,), "work area: number + 1 of the last DRAM row in a bucket; 0: none"),
        "row_before": Field((MOST_EXAMINED,), "work area: number + 1 of the row before one in its bucket; 0: none"),
    },
)


def count_access(m: Machine, table: int) -> None:
    """Have accesses counted into the table at this address.

    Args:
        m: Machine record.
        table: Address of the table.
    """
    m.access.table = table


@jit
def add(m: Machine, pc, column, n):
    """Add to a static instruction's count."""
    at = pc * WIDTH + column
    st_i64(m.access.table, at, ld_i64(m.access.table, at) + n)


@jit
def owner_of(m: Machine, cu, token):
    """Return the static instruction that a token names, -1 for one whose wavefront has ended."""
    held = m.access.owner[cu, token & (TOKENS - 1)]
    return held >> TOKEN_BITS if held & ((1 << TOKEN_BITS) - 1) == token else -1


@jit
def vector_issued(m: Machine, cu, pc, token, address):
    """Count a vector memory instruction that issues; address: of its memory record."""
    header = ld_i64(address, 0)
    if m.timeline.on & FINDS:
        m.access.owner[cu, token & (TOKENS - 1)] = token | pc << TOKEN_BITS
    if header & RECORD_LDS:
        lds_issued(m, pc, header)
        return
    if not m.parts.notes:
        count_lines(main_of(m), pc, address)
        return
    n = m.access.noted
    m.access.noted = n + 1
    m.access.note[n, 0] = m.wheel.now
    m.access.note[n, 1] = pc
    m.access.note[n, 2] = address


@jit
def count_lines(m: Machine, pc, address):
    """Count the lines of a vector memory instruction; with two parts in the order of cycles, as some are examined."""
    header = ld_i64(address, 0)
    lines = header & LINES_MASK
    asked = (header >> ASKED_SHIFT) & ASKED_MASK
    row = m.access.table + pc * WIDTH * 8
    number = ld_i64(row, ISSUED)
    st_i64(row, ISSUED, number + 1)
    st_i64(row, LINES, ld_i64(row, LINES) + lines)
    st_i64(row, LEAST_LINES, ld_i64(row, LEAST_LINES) + ((asked + LINE_BYTES - 1) >> 6))
    st_i64(row, BYTES, ld_i64(row, BYTES) + asked)
    if lines and (number < EXAMINED_FIRST or number & (EXAMINED_EVERY - 1) == 0):
        _examine(m, row, address, header)


@jit
def lds_issued(m: Machine, pc, header):
    """Count an LDS instruction that issues, by its memory record's header."""
    row = m.access.table + pc * WIDTH * 8
    st_i64(row, ISSUED, ld_i64(row, ISSUED) + 1)
    st_i64(row, BANK_CYCLES, ld_i64(row, BANK_CYCLES) + ((header >> BUSY_SHIFT) & BUSY_MASK))
    st_i64(row, LEAST_BANK_CYCLES, ld_i64(row, LEAST_BANK_CYCLES) + ((header >> LEAST_SHIFT) & LEAST_MASK))
    st_i64(row, BYTES, ld_i64(row, BYTES) + ((header >> ASKED_SHIFT) & ASKED_MASK))


@jit
def scalar_issued(m: Machine, pc, header):
    """Count a scalar memory instruction that issues, by its memory record's header."""
    row = m.access.table + pc * WIDTH * 8
    st_i64(row, ISSUED, ld_i64(row, ISSUED) + 1)
    st_i64(row, LINES, ld_i64(row, LINES) + (header & LINES_MASK))


@jit(cold=True)
def _examine(m: Machine, row, address, header):
    """Look at an instruction's lines: stride, sets, channels, DRAM rows, lines written in part."""
    words = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
    lines = min(header & LINES_MASK, MOST_EXAMINED)
    access = m.access
    for channel in range(m.map.l2_channels):
        access.of_channel[channel] = 0
    for bucket in range(BUCKETS):
        access.last_in[bucket] = 0
        access.last_row_in[bucket] = 0
    stride = 0
    rows = 0
    most = 0
    overflow = 0
    partial = 0
    repeated = 0
    for k in range(lines):
        line = ld_i64(address, 1 + words * k)
        if words == 2:
            partial += popcount(ld_i64(address, 2 + 2 * k)) < LINE_BYTES
        line &= LINE_ADDRESS_MASK
        if k:
            step = line - (ld_i64(address, 1 + words * (k - 1)) & LINE_ADDRESS_MASK)
            stride = step if k == 1 or stride == step else 0
        channel = l2_channel(m, line)
        access.of_channel[channel] += 1
        most = max(most, access.of_channel[channel])
        where = bank_and_row(m, line, dram_local_line(m, line)) << 8 | dram_channel(m, line)
        bucket = where & (BUCKETS - 1)
        known = access.last_row_in[bucket] - 1
        while known >= 0 and access.row[known] != where:
            known = access.row_before[known] - 1
        if known < 0:
            access.row[rows] = where
            access.row_before[rows] = access.last_row_in[bucket]
            rows += 1
            access.last_row_in[bucket] = rows
        same = 0
        again = False
        bucket = line & (m.l1.sets - 1) & (BUCKETS - 1)
        j = access.last_in[bucket] - 1
        while j >= 0:
            other = ld_i64(address, 1 + words * j) & LINE_ADDRESS_MASK
            same += other != line and (other ^ line) & (m.l1.sets - 1) == 0
            again |= other == line
            j = access.before[j] - 1
        access.before[k] = access.last_in[bucket]
        access.last_in[bucket] = k + 1
        overflow += same >= m.l1.ways
        repeated += again
    st_i64(row, EXAMINED, ld_i64(row, EXAMINED) + 1)
    st_i64(row, EXAMINED_LINES, ld_i64(row, EXAMINED_LINES) + lines)
    st_i64(row, CHANNEL_LINES, ld_i64(row, CHANNEL_LINES) + most)
    st_i64(row, SET_OVERFLOW, ld_i64(row, SET_OVERFLOW) + overflow)
    st_i64(row, ROWS, ld_i64(row, ROWS) + rows)
    st_i64(row, PARTIAL, ld_i64(row, PARTIAL) + partial)
    st_i64(row, REPEATED, ld_i64(row, REPEATED) + repeated)
    if lines > 2 and stride != 0 and stride != 1:
        st_i64(row, STRIDED, ld_i64(row, STRIDED) + 1)
        st_i64(row, STRIDE, stride)


@jit(cold=True)
def looked_up(m: Machine, cu, result, token, line):
    """Note that L1 has looked a line up for the instruction that the token names, or passed it on to L2."""
    if m.timeline.on & FINDS:
        pc = owner_of(m, cu, token)
        if pc >= 0:
            add(m, pc, L1_HITS if result == HIT else (L1_MERGES if result == MERGE else L1_MISSES), 1)
    record(m, LOOKED_UP, cu | result << 8, token, line)


@jit(cold=True)
def served(m: Machine, channel, result, came, source, line):
    """Note that an L2 channel has looked up the request that came to it in cycle `came`."""
    port = (source >> SOURCE_CU_SHIFT) & 255
    if m.timeline.on & FINDS and port < FIRST_SCALAR_PORT:
        token = source >> SOURCE_ID_SHIFT
        kind = source & KIND_MASK
        if kind == READ or kind == ATOMIC_RETURN:
            cache = m.l1.unit[port]
            entry = token & (DIRECT - 1) if token & DIRECT else cache.target[cache.missing.mshr[token].first].entry
            token = cache.entry[entry].token
        pc = owner_of(m, port, token)
        if pc >= 0:
            add(m, pc, L2_HITS if result == L2_HIT else (L2_MERGES if result == L2_MERGED else L2_MISSES), 1)
    record(m, SERVED, channel | result << 8 | came << 16, source, line)
