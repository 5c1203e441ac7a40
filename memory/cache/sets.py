"""Sets of a cache as rows of 32-bit words, searched four ways at a time: their tags, then their ages.

A row has `stride` tags and as many ages: the ways, rounded up to a power of two, of which those that do not exist are
never found and never replaced. A *place* numbers a way in all of a cache's rows: row * stride + way.

An age is a running number of the cache's accesses, so that the least recently used way has the smallest; FILLING is
added while the way is being filled.
"""

import numpy as np

from gpusim.jit import (
    LANES,
    WIDE_LANES,
    ctz,
    equal_4,
    equal_16,
    jit,
    ld_u32,
    least_4,
    least_16,
    st_i32,
)

FILLING = 1 << 31
NO_TAG = 0xFFFF_FFFF
OLD = FILLING // 2  # ages are kept below FILLING by forgetting how much older than this they are


def stride_of(ways: int) -> int:
    """Words of a row's tags, and of its ages."""
    return max(LANES, 1 << (ways - 1).bit_length())


def clear_rows(rows: np.ndarray, count: int, ways: int) -> None:
    """Empty the first `count` rows of a record's field."""
    stride = stride_of(ways)
    table = rows[: count * 2 * stride].reshape(count, 2, stride)
    table[:, 0] = NO_TAG
    table[:, 1] = 0
    table[:, 1, ways:] = NO_TAG


@jit(inline=True)
def way_of(row, stride, tag):
    """Way of the row at address `row` that holds a tag, or -1."""
    same = 0
    if stride == WIDE_LANES:
        same = equal_16(row, tag)
    else:
        for way in range(0, stride, LANES):  # all of them: where the tag is has no pattern, and a branch would guess
            same |= equal_4(row + 4 * way, tag) << way
    return ctz(same) if same else -1


@jit(inline=True)
def oldest_way(row, stride):
    """Least recently used way that is not being filled, or -1."""
    ages = row + 4 * stride
    if stride == WIDE_LANES:
        least = least_16(ages)
    else:
        least = least_4(ages)
        for way in range(LANES, stride, LANES):
            least = min(least, least_4(ages + 4 * way))
    return way_of(ages, stride, least) if least < FILLING else -1


@jit
def age_of(row, stride, way):
    return ld_u32(row, stride + way)


@jit
def set_age(row, stride, way, age):
    st_i32(row, stride + way, age)


@jit
def end_filling(rows, stride, place):
    """The line of the way at a place of the rows at address `rows` is there."""
    way = place & (stride - 1)
    row = rows + 8 * (place - way)
    set_age(row, stride, way, age_of(row, stride, way) - FILLING)


@jit(cold=True)
def ages_forgotten(rows, count, stride):
    """Running numbers have come to FILLING: lower all ages of `count` rows. Returns the age to go on from.

    What was last used more than OLD accesses ago is as old as what was never used.
    """
    for row in range(count):
        for way in range(stride):
            at = row * 2 * stride + stride + way
            age = ld_u32(rows, at)
            if age != NO_TAG:
                used = max((age & (FILLING - 1)) - OLD, 0)
                st_i32(rows, at, used | (age & FILLING))
    return OLD


@jit
def age_after(age, rows, count, stride):
    """The running number behind `age` of a cache of `count` rows."""
    return age + 1 if age + 1 < FILLING else ages_forgotten(rows, count, stride)
