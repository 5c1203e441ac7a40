"""From lane addresses to memory lines and LDS bank cycles, with a cache of access patterns.

Lines are the distinct 64-byte lines in first-touch order over lanes. What an instruction touches depends, up
to a shift by whole lines, only on the differences between its lanes' addresses, on EXEC and on where in a line
the first lane starts; LDS bank cycles do not even depend on the shift. Kernels repeat the same few patterns,
so each memory instruction remembers its last ones and a repetition costs one comparison of 64 differences.
"""

from gpusim.jit import ctz, jit, ld_i32, ld_i64, ld_u32, st_i64
from isa.execution.layout import (
    HASH_ENTRIES,
    LANES,
    P_BUSY,
    P_CONTIGUOUS,
    P_DELTA,
    P_EXEC,
    P_LINE,
    P_LINES,
    P_MASK,
    P_MAX,
    P_MIN,
    P_PHASE,
    X_BANKS,
    X_HASH,
    X_LINES,
    X_MASKS,
    X_TAG,
)
from isa.trace import LINE_BYTES, MAX_LINES

LINE_BITS = 6
LDS_BANKS = 32
BANK_DEPTH = 33  # words of the bank table: a count, then up to 32 words of one bank
PATH_LANES = 16  # of dwords side by side that vector memory takes in a cycle


@jit
def begin_lines(work):
    """Forget the lines of the instruction before."""
    st_i64(work, X_TAG, ld_i64(work, X_TAG) + 1)


@jit
def add_line(work, count, line, mask):
    """Note that `line` is touched at the bytes of `mask`; returns the new number of lines, or -1 beyond MAX_LINES."""
    tag = ld_i64(work, X_TAG) << 8
    h = (line ^ (line >> 9) ^ (line >> 18)) & (HASH_ENTRIES - 1)
    while True:
        entry = ld_i64(work, X_HASH + h)
        if entry & ~255 != tag:
            if count >= MAX_LINES:
                return -1
            st_i64(work, X_HASH + h, tag | count)
            st_i64(work, X_LINES + count, line)
            st_i64(work, X_MASKS + count, mask)
            return count + 1
        k = entry & 255
        if ld_i64(work, X_LINES + k) == line:
            st_i64(work, X_MASKS + k, ld_i64(work, X_MASKS + k) | mask)
            return count
        h = (h + 1) & (HASH_ENTRIES - 1)


@jit
def add_access(work, count, address, size):
    """Note an access of `size` bytes (at most 64) at `address`; returns as `add_line`."""
    line = address >> LINE_BITS
    start = address & (LINE_BYTES - 1)
    bits = (1 << size) - 1 if size < LINE_BYTES else -1
    count = add_line(work, count, line, bits << start)
    if start + size > LINE_BYTES and count >= 0:
        count = add_line(work, count, line + 1, bits >> (LINE_BYTES - start))
    return count


@jit
def path_cycles(work, exe, size, load):
    """Cycles that an access by the active lanes at the addresses in the work area occupies the vector memory path.

    Sixteen lanes that load dwords (or less) side by side, or all the same one, take a cycle; all else takes a cycle
    for each quad of lanes: two and four dwords too (64 bytes a cycle), and stores. Sources: sebbbi's perftest on
    an R9 Fury (linear and uniform dwords four times as fast as random ones, two and four dwords as fast as these);
    CLRX GcnTimings (stores of any width 16 cycles). That quads without an active lane cost nothing is assumed.
    """
    cycles = 0
    for start in range(0, LANES, PATH_LANES):
        group = (exe >> start) & ((1 << PATH_LANES) - 1)
        if group == 0:
            continue
        together = 1 if load and size <= 4 else 0
        same = together
        quads = 0
        first = start + ctz(group)
        for i in range(start, start + PATH_LANES):
            if i & 3 == 0 and (exe >> i) & 15:
                quads += 1
            if (exe >> i) & 1:
                d = ld_i64(work, i) - ld_i64(work, first)
                if d != 0:
                    same = 0
                if d != size * (i - first):
                    together = 0
        cycles += 1 if together | same else quads
    return cycles if cycles > 0 else 1


@jit
def note_pattern(entry, work, exe, first):
    """Store the differences between lane addresses in a pattern entry."""
    low = 0
    high = 0
    for i in range(LANES):
        d = ld_i64(work, i) - first
        st_i64(entry, P_DELTA + i, d)
        if d < low:
            low = d
        if d > high:
            high = d
    st_i64(entry, P_EXEC, exe)
    st_i64(entry, P_MIN, low)
    st_i64(entry, P_MAX, high)


@jit
def note_line_pattern(entry, work, exe, first, size, load):
    """Fill a pattern entry for vector memory; `first` is the first active lane's address; load: 1, or 0."""
    note_pattern(entry, work, exe, first)
    st_i64(entry, P_PHASE, first & (LINE_BYTES - 1))
    begin_lines(work)
    count = 0
    contiguous = 1 if exe == -1 else 0
    for i in range(LANES):
        if (exe >> i) & 1:
            address = ld_i64(work, i)
            count = add_access(work, count, address, size)
            if address != first + size * i:
                contiguous = 0
    base = first >> LINE_BITS
    for k in range(count):
        st_i64(entry, P_LINE + k, ld_i64(work, X_LINES + k) - base)
        st_i64(entry, P_MASK + k, ld_i64(work, X_MASKS + k))
    st_i64(entry, P_LINES, count)
    st_i64(entry, P_CONTIGUOUS, contiguous)
    st_i64(entry, P_BUSY, path_cycles(work, exe, size, load))


@jit
def bank_cycles(work, exe, size, serialise):
    """LDS cycles of an access of `size` bytes by each active lane at the byte addresses in the work area.

    A step serves 32 lanes of up to 4 bytes, 16 of 8 bytes or 8 of up to 16 bytes; within it lanes on the same
    word of a bank are served together (with `serialise`, as atomics are, one after another), different words
    of a bank one after another.
    """
    words = (size + 3) >> 2
    lanes = 32 if words == 1 else (16 if words == 2 else 8)
    banks = work + 8 * X_BANKS
    cycles = 0
    for start in range(0, LANES, lanes):
        if (exe >> start) & ((1 << lanes) - 1) == 0:
            continue
        for b in range(LDS_BANKS):
            st_i64(banks, b * BANK_DEPTH, 0)
        worst = 1
        for i in range(start, start + lanes):
            if (exe >> i) & 1:
                word = ld_i64(work, i) >> 2
                for w in range(word, word + words):
                    at = (w & (LDS_BANKS - 1)) * BANK_DEPTH
                    held = ld_i64(banks, at)
                    found = 0
                    if serialise == 0:
                        for k in range(1, held + 1):
                            if ld_i64(banks, at + k) == w:
                                found = 1
                                break
                    if found == 0:
                        held += 1
                        st_i64(banks, at, held)
                        st_i64(banks, at + held, w)
                        if held > worst:
                            worst = held
        cycles += worst
    return cycles if cycles > 0 else 1


@jit
def note_bank_pattern(entry, work, exe, first, size, serialise):
    """Fill a pattern entry for an LDS access; P_LINES holds the address bits set in any active lane."""
    note_pattern(entry, work, exe, first)
    st_i64(entry, P_PHASE, first & 15)
    low_bits = 0
    contiguous = 1 if exe == -1 else 0
    for i in range(LANES):
        low_bits |= ld_i64(work, i)  # inactive lanes hold the first active lane's address
        if ld_i64(work, i) != first + size * i:
            contiguous = 0
    st_i64(entry, P_CONTIGUOUS, contiguous)
    st_i64(entry, P_LINES, low_bits & 15)
    st_i64(entry, P_BUSY, bank_cycles(work, exe, size, serialise))


@jit
def flat_addresses(work, low, high, exe, first, entry):
    """Put the 64-bit lane addresses of two register rows into the work area; 0 if they follow the pattern `entry`.

    Inactive lanes get `first`, the first active lane's address.
    """
    different = exe ^ ld_i64(entry, P_EXEC)
    if exe == -1:
        for i in range(LANES):
            a = (ld_i32(high, i) << 32) | ld_u32(low, i)
            st_i64(work, i, a)
            different |= (a - first) ^ ld_i64(entry, P_DELTA + i)
    else:
        for i in range(LANES):
            a = (ld_i32(high, i) << 32) | ld_u32(low, i)
            d = (a - first) & -((exe >> i) & 1)
            st_i64(work, i, first + d)
            different |= d ^ ld_i64(entry, P_DELTA + i)
    return different


@jit
def lds_addresses(work, row, offset, exe, first, entry):
    """As `flat_addresses`, for a row of 32-bit LDS addresses plus an offset; the sum wraps."""
    different = exe ^ ld_i64(entry, P_EXEC)
    if exe == -1:
        for i in range(LANES):
            a = (offset + ld_u32(row, i)) & 0xFFFF_FFFF
            st_i64(work, i, a)
            different |= (a - first) ^ ld_i64(entry, P_DELTA + i)
    else:
        for i in range(LANES):
            a = (offset + ld_u32(row, i)) & 0xFFFF_FFFF
            d = (a - first) & -((exe >> i) & 1)
            st_i64(work, i, first + d)
            different |= d ^ ld_i64(entry, P_DELTA + i)
    return different


@jit
def match_addresses(work, exe, first, entry):
    """0 if the addresses in the work area follow the pattern `entry`; inactive lanes get `first`."""
    different = exe ^ ld_i64(entry, P_EXEC)
    for i in range(LANES):
        d = (ld_i64(work, i) - first) & -((exe >> i) & 1)
        st_i64(work, i, first + d)
        different |= d ^ ld_i64(entry, P_DELTA + i)
    return different
