"""What a compaction unit does with a sparse line, by format: which words go on, and as what.

Each function puts up to 16 words into `unit_bundles` and returns which of them go on, a bit each. A line is one that
counts, in bitmasks and mappings, if any word of it goes on. To add a format: its function and its case in
`select_words`; its row in `spartan.formats`.
"""

from gpusim.base.jit import Machine, jit, ld_u32
from spartan.format import half_bits

# what a format does with a line; FIXED_COUNT has the words that go on, and the window that they are of, above it
NON_ZEROS, NON_ZERO_LINES, LISTED_LINES, MASKED_VALUES, FIXED_COUNT = range(5)
KEPT_SHIFT, WINDOW_SHIFT = 8, 16
_KIND, _FIELD = 0xFF, 0xFF
_ALL_WORDS = 0xFFFF


@jit
def _bundle_non_zeros(m: Machine, address, location, elements):
    """Bundle each non-zero with its row: an FP16 value below, the row above."""
    mask = 0
    for k in range(elements):
        word = ld_u32(address, k)
        if word & 0x7FFF_FFFF:
            mask |= 1 << k
            m.engine.unit_bundles[k] = half_bits(word) | ((location * 16 + k) << 16)
    return mask


@jit
def _copy_line(m: Machine, address, elements):
    """Let all words go on as they are, zeros for rows past the last; returns their bits, joined by OR."""
    joined = 0
    for k in range(16):
        word = ld_u32(address, k) if k < elements else 0
        m.engine.unit_bundles[k] = word
        joined |= word
    return joined


@jit
def _mask_values(m: Machine, address, location, elements):
    """Let a line's mask and number go on as one word, then its non-zeros in FP16, two a word."""
    set_, count, lower = 0, 0, 0
    for k in range(elements):
        word = ld_u32(address, k)
        if word & 0x7FFF_FFFF:
            set_ |= 1 << k
            if count & 1:
                m.engine.unit_bundles[1 + (count >> 1)] = lower | (half_bits(word) << 16)
            else:
                lower = half_bits(word)
            count += 1
    if set_ == 0:
        return 0
    if count & 1:
        m.engine.unit_bundles[1 + (count >> 1)] = lower
    m.engine.unit_bundles[0] = set_ | (location << 16)
    return (1 << (1 + ((count + 1) >> 1))) - 1


@jit
def _keep_count(m: Machine, address, location, elements, kept, window):
    """Bundle `kept` words of each window: its non-zeros, and as many of its first zeros as are wanting."""
    mask = 0
    first = 0
    while first < 16:  # a range whose step is no constant may fail, and code that may fail is not kept
        zeros = kept
        for k in range(first, first + window):
            if k < elements and ld_u32(address, k) & 0x7FFF_FFFF:
                zeros -= 1
        left = kept
        for k in range(first, first + window):
            word = ld_u32(address, k) if k < elements else 0
            non_zero = 1 if word & 0x7FFF_FFFF else 0
            if left and (non_zero or zeros > 0):
                mask |= 1 << k
                m.engine.unit_bundles[k] = half_bits(word) * non_zero | ((location * 16 + k) << 16)
                left -= 1
                zeros -= 1 - non_zero
        first += window
    return mask


@jit
def select_words(m: Machine, code, address, location, elements):
    """Convert a sparse line as the format with number `code` does; returns which words of `unit_bundles` go on.

    Args:
        location: Number of the line in its column.
        elements: Those of its 16 rows that the matrix has.
    """
    kind = code & _KIND
    if kind == NON_ZERO_LINES:
        return _ALL_WORDS if _copy_line(m, address, elements) else 0
    if kind == LISTED_LINES:
        _copy_line(m, address, elements)
        return _ALL_WORDS
    if kind == MASKED_VALUES:
        return _mask_values(m, address, location, elements)
    if kind == FIXED_COUNT:
        kept, window = (code >> KEPT_SHIFT) & _FIELD, (code >> WINDOW_SHIFT) & _FIELD
        return _keep_count(m, address, location, elements, kept, window)
    return _bundle_non_zeros(m, address, location, elements)
