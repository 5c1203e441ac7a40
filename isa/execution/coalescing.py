"""From lane addresses to memory lines and LDS bank cycles, with a cache of access patterns.

Lines are the distinct 64-byte lines in first-touch order over lanes; of an atomic a line comes again for lanes that
change a dword of it which another lane changes already. What an instruction touches depends, up
to a shift by whole lines, only on the differences between its lanes' addresses, on EXEC and on where in a line
the first lane starts; LDS bank cycles do not even depend on the shift. Kernels repeat the same few patterns,
so each memory instruction remembers its last ones and a repetition costs one comparison of 64 differences.
"""

from gpusim.base.jit import ctz, jit, ld_i32, ld_u32, popcount
from isa.architecture import LANES
from isa.execution.state import BANK_DEPTH, HASH_ENTRIES, LDS_BANKS, POSITION_BITS, Pattern, Work
from isa.trace import LINE_BYTES, MAX_LINES

LINE_BITS = 6
FIRST_OF_QUADS = 0x1111_1111_1111_1111  # bits of lanes
PATH_LANES = 16  # of dwords side by side that vector memory takes in a cycle


@jit
def begin_lines(work: Work):
    """Drop the lines collected for the previous instruction."""
    work.tag += 1


@jit
def add_line(work: Work, count, line, mask, apart, most):
    """Note that `line` is touched at the bytes of `mask`; returns the new number of lines, or -1 beyond `most`.

    apart: 1 if no byte may be touched twice, as by atomics, each of which needs an operand of its own: where lanes meet
    in a byte, their line is noted again.
    """
    tag = work.tag << POSITION_BITS
    h = (line ^ (line >> 9) ^ (line >> 18)) & (HASH_ENTRIES - 1)
    while True:
        entry = work.hash[h]
        if entry & ~((1 << POSITION_BITS) - 1) != tag:
            if count >= most:
                return -1
            work.hash[h] = tag | count
            work.line[count] = line
            work.mask[count] = mask
            return count + 1
        k = entry & ((1 << POSITION_BITS) - 1)
        if work.line[k] == line and not (apart and work.mask[k] & mask):
            work.mask[k] |= mask
            return count
        h = (h + 1) & (HASH_ENTRIES - 1)


@jit
def add_access(work: Work, count, address, size, apart):
    """Note an access of `size` bytes (at most 64) at `address`; returns what `add_line` returns."""
    line = address >> LINE_BITS
    start = address & (LINE_BYTES - 1)
    bits = (1 << size) - 1 if size < LINE_BYTES else -1
    count = add_line(work, count, line, bits << start, apart, MAX_LINES)
    if start + size > LINE_BYTES and count >= 0:
        count = add_line(work, count, line + 1, bits >> (LINE_BYTES - start), apart, MAX_LINES)
    return count


@jit
def path_cycles(work: Work, active, size, load):
    """Return the cycles that an access of the active lanes, at the addresses in the work area, occupies the VMEM path.

    Sixteen lanes that load consecutive dwords (or less), or all the same one, take a cycle; every other access takes a
    cycle for each quad of lanes: two and four dwords too (64 bytes a cycle), and stores. Sources: sebbbi's perftest on
    an R9 Fury (linear and uniform dwords four times as fast as random ones, two and four dwords as fast as these); CLRX
    GcnTimings (stores of any width 16 cycles). That quads without an active lane cost nothing is assumed.
    """
    if not load or size > 4:
        quads = active | active >> 1
        return max(popcount((quads | quads >> 2) & FIRST_OF_QUADS), 1)
    cycles = 0
    for start in range(0, LANES, PATH_LANES):
        group = (active >> start) & ((1 << PATH_LANES) - 1)
        if group == 0:
            continue
        together = 1
        same = 1
        quads = 0
        first = start + ctz(group)
        for i in range(start, start + PATH_LANES):
            if i & 3 == 0 and (active >> i) & 15:
                quads += 1
            if (active >> i) & 1:
                d = work.address[i] - work.address[first]
                if d != 0:
                    same = 0
                if d != size * (i - first):
                    together = 0
        cycles += 1 if together | same else quads
    return cycles if cycles > 0 else 1


@jit
def note_pattern(pattern: Pattern, work: Work, active, first):
    """Store the differences between lane addresses in a pattern entry."""
    low = 0
    high = 0
    for i in range(LANES):
        d = work.address[i] - first
        pattern.delta[i] = d
        if d < low:
            low = d
        if d > high:
            high = d
    pattern.active = active
    pattern.lowest = low
    pattern.highest = high


@jit
def note_line_pattern(pattern: Pattern, work: Work, active, first, size, load, apart):
    """Fill a pattern entry for vector memory; `first` is the first active lane's address.

    Args:
        load: 1 for a load, else 0.
        apart: 1 where lanes lie apart, else 0.
    """
    note_pattern(pattern, work, active, first)
    pattern.phase = first & (LINE_BYTES - 1)
    begin_lines(work)
    count = 0
    contiguous = 1 if active == -1 else 0
    for i in range(LANES):
        if (active >> i) & 1:
            address = work.address[i]
            count = add_access(work, count, address, size, apart)
            if address != first + size * i:
                contiguous = 0
    base = first >> LINE_BITS
    for k in range(count):
        pattern.line[k] = work.line[k] - base
        pattern.mask[k] = work.mask[k]
    pattern.line_count = count
    pattern.contiguous = contiguous
    pattern.busy = path_cycles(work, active, size, load)


@jit(inline=True)
def _words_asked(work: Work, word, serialise):
    """Note that a step asks for a word of LDS; returns how many different ones of its bank it asks for so far."""
    bank = word & (LDS_BANKS - 1)
    count = work.bank_words[bank]
    asked = bank * BANK_DEPTH
    end = asked + count
    if not serialise:
        while asked < end:
            if work.bank_word[asked] == word:
                return count
            asked += 1
    work.bank_word[end] = word
    work.bank_words[bank] = count + 1
    return count + 1


@jit
def bank_cycles(work: Work, active, size, serialise):
    """Return the LDS cycles of an access of `size` bytes by each active lane at the byte addresses in the work area.

    A step serves 32 lanes of up to 4 bytes, 16 of 8 bytes or 8 of up to 16 bytes; within it lanes on the same word of a
    bank are served together (with `serialise`, as atomics are, one after another), different words of a bank one after
    another. An access that is not aligned asks for the word too that its last byte lies in.
    """
    words = (size + 3) >> 2
    step = 32 if words == 1 else (16 if words == 2 else 8)  # lanes
    cycles = 0
    for start in range(0, LANES, step):
        lanes = (active >> start) & ((1 << step) - 1)
        if lanes == 0:
            continue
        for bank in range(LDS_BANKS):
            work.bank_words[bank] = 0
        worst = 1
        while lanes:
            address = work.address[start + ctz(lanes)]
            lanes &= lanes - 1
            for word in range(address >> 2, ((address + size - 1) >> 2) + 1):
                worst = max(worst, _words_asked(work, word, serialise))
        cycles += worst
    return cycles if cycles > 0 else 1


@jit
def note_bank_pattern(pattern: Pattern, work: Work, active, first, size, serialise):
    """Fill a pattern entry for an LDS access."""
    note_pattern(pattern, work, active, first)
    pattern.phase = first & 15
    low_bits = 0
    contiguous = 1 if active == -1 else 0
    for i in range(LANES):
        low_bits |= work.address[i]  # inactive lanes hold the first active lane's address
        if work.address[i] != first + size * i:
            contiguous = 0
    pattern.contiguous = contiguous
    pattern.low_bits = low_bits & 15
    pattern.busy = bank_cycles(work, active, size, serialise)


@jit
def flat_addresses(work: Work, low, high, active, first, pattern: Pattern):
    """Put the 64-bit lane addresses of two register rows into the work area; 0 if they follow `pattern`.

    Inactive lanes get `first`, the first active lane's address.
    """
    different = active ^ pattern.active
    if active == -1:
        for i in range(LANES):
            a = (ld_i32(high, i) << 32) | ld_u32(low, i)
            work.address[i] = a
            different |= (a - first) ^ pattern.delta[i]
    else:
        for i in range(LANES):
            a = (ld_i32(high, i) << 32) | ld_u32(low, i)
            d = (a - first) & -((active >> i) & 1)
            work.address[i] = first + d
            different |= d ^ pattern.delta[i]
    return different


@jit
def lds_addresses(work: Work, row, offset, active, first, pattern: Pattern):
    """Put a row of 32-bit LDS addresses plus an offset into the work area; 0 if they follow `pattern`.

    The sums wrap at 32 bits. Inactive lanes get `first`, the first active lane's address.
    """
    different = active ^ pattern.active
    if active == -1:
        for i in range(LANES):
            a = (offset + ld_u32(row, i)) & 0xFFFF_FFFF
            work.address[i] = a
            different |= (a - first) ^ pattern.delta[i]
    else:
        for i in range(LANES):
            a = (offset + ld_u32(row, i)) & 0xFFFF_FFFF
            d = (a - first) & -((active >> i) & 1)
            work.address[i] = first + d
            different |= d ^ pattern.delta[i]
    return different


@jit
def match_addresses(work: Work, active, first, pattern: Pattern):
    """Return 0 if the addresses in the work area follow `pattern`; inactive lanes get `first`."""
    different = active ^ pattern.active
    for i in range(LANES):
        d = (work.address[i] - first) & -((active >> i) & 1)
        work.address[i] = first + d
        different |= d ^ pattern.delta[i]
    return different
