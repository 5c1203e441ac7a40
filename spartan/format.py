"""ELLPACK-DIB: a column's non-zeros bundled with their row indices, 16 to a 64-byte compacted line.

A bundle is 32 bits: the FP16 value below, the 16-bit row index above. Compacted line i of column c lies where
sparse line i of the dense column lies, so pointer and leading dimension stay those of the dense matrix
(Dong 2020, section 6.3, column-major form).
"""

import numpy as np

from gpusim.base.jit import address_of, jit, ld_u32, load, st_i32
from isa.region import LINE_ELEMENTS, MAX_ROWS

_INFINITY_32 = 0x7F80_0000
_OVERFLOW_32 = 0x477F_F000  # 65520
_SMALLEST_NORMAL_HALF_32 = 0x3880_0000  # 2**-14
_HALF_OF_SMALLEST_HALF_32 = 0x3300_0000  # 2**-25, a tie that goes to the even 0
_REBIAS_32 = 0x3800_0000  # exponent biases differ by 127 - 15
_INFINITY_16 = 0x7C00
_QUIET_NAN_16 = 0x7E00


@jit
def half_bits(word):
    """Return the FP16 bits of the FP32 number with the bits `word`.

    Rounded to nearest even, overflow to infinity, NaNs made quiet (IEEE 754-2019).
    """
    sign = (word >> 16) & 0x8000
    a = word & 0x7FFF_FFFF
    if a >= _SMALLEST_NORMAL_HALF_32:
        if a < _OVERFLOW_32:
            r = a - _REBIAS_32
            return sign | ((r + 0xFFF + ((r >> 13) & 1)) >> 13)
        if a > _INFINITY_32:
            return sign | _QUIET_NAN_16 | ((a >> 13) & 0x3FF)
        return sign | _INFINITY_16
    if a <= _HALF_OF_SMALLEST_HALF_32:
        return sign
    shift = 126 - (a >> 23)
    mantissa = (a & 0x7F_FFFF) | 0x80_0000
    r = mantissa >> shift
    rest = mantissa & ((1 << shift) - 1)
    tie = 1 << (shift - 1)
    if rest > tie or (rest == tie and r & 1):
        r += 1
    return sign | r


@jit
def pack_columns(source, image, lines, rows, columns, leading_dimension) -> None:
    """Compact columns in memory, as `pack` does: addresses of the dense matrix, its image and its lines.

    An entry point of the core: without its machine code every run with an engine would begin with the compiler.
    """
    for c in range(columns):
        column = source + 4 * c * leading_dimension
        target = image + 4 * c * leading_dimension
        n = 0
        for row in range(rows):
            word = ld_u32(column, row)
            if word & 0x7FFF_FFFF:
                st_i32(target, n, half_bits(word) | (row << 16))
                n += 1
        full = (n + LINE_ELEMENTS - 1) // LINE_ELEMENTS
        st_i32(lines, 2 * c, full if full else 1)  # low half of a little-endian int64 that is zero


def pack(dense: np.ndarray, rows: int, columns: int, leading_dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Compact a column-major FP32 matrix.

    dense: flat float32, `leading_dimension * columns` elements (the last column's padding may be missing).
    Returns (image, lines): `image` is flat uint32 of `dense`'s size, bundles at the dense columns' offsets and
    zeros elsewhere; `lines` int64, compacted lines of each column, at least 1 (a column without non-zeros has
    one line of zeros). Elements of rows >= `rows` are ignored. ValueError if sizes do not fit.
    """
    if dense.dtype != np.float32 or dense.ndim != 1 or not dense.flags.c_contiguous:
        raise ValueError("pack: the dense matrix must be a flat, contiguous float32 array")
    if not 1 <= rows <= MAX_ROWS:
        raise ValueError(f"pack: {rows} rows; allowed are 1 to {MAX_ROWS} (16-bit row index)")
    if leading_dimension < rows or leading_dimension % LINE_ELEMENTS:
        raise ValueError(f"pack: leading dimension {leading_dimension} must be a multiple of 16 and at least {rows}")
    if columns < 1 or dense.size < leading_dimension * (columns - 1) + rows:
        raise ValueError(f"pack: {dense.size} elements do not hold {columns} columns of {leading_dimension}")
    image = np.zeros(dense.size, np.uint32)
    lines = np.zeros(columns, np.int64)
    load((pack_columns,))
    pack_columns(address_of(dense), address_of(image), address_of(lines), rows, columns, leading_dimension)
    return image, lines


def unpack(image: np.ndarray, lines: np.ndarray, rows: int, columns: int, leading_dimension: int) -> np.ndarray:
    """Return the dense matrix of a packed image: rows x columns float32 in Fortran order, with FP16-rounded values."""
    out = np.zeros((rows, columns), np.float32, order="F")
    for c in range(columns):
        start = c * leading_dimension
        bundles = image[start : start + LINE_ELEMENTS * int(lines[c])]
        # padding, and values that became +0, leave the zero that is already there
        held = bundles[bundles != 0]
        out[held >> 16, c] = (held & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
    return out
