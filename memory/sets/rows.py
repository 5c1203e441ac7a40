"""Sets of a cache as rows of 32-bit words, searched several ways at a time: all of a set's tags, then its order words.

Every cache and TLB keeps its lines in such rows. A row has `stride` tags and as many order words: the ways, rounded up
to a power of two, of which those that do not exist are never found and never replaced. A *slot* numbers a way in all of
a cache's rows: row * stride + way.

An order word says what the replacement policy (memory/sets/replacement.py) has to know of its way. For most policies
it is a running number of the cache's accesses, so that the way with the least is the oldest; 0 is a way that is empty.
FILLING is added while the way's line is on its way: it can be found, and cannot be replaced.
"""

import numpy as np

from gpusim.base.jit import (
    LANES,
    WIDE_LANES,
    Field,
    ctz,
    equal_4,
    equal_16,
    jit,
    ld_u32,
    least_4,
    least_16,
    st_i32,
    u32,
)

FILLING = 1 << 31
NO_TAG = 0xFFFF_FFFF
OLD = FILLING // 2  # running numbers stay below FILLING by forgetting how much older than this a way is


def set_fields(lines: int) -> dict[str, Field]:
    """Return the fields of caches of at most `lines` lines in all, but for the running number that each needs."""
    return {
        "sets": Field((), "sets of a cache, a power of two"),
        "ways": Field((), "ways"),
        "stride": Field((), "slots of a set: the ways, rounded up"),
        "replacement": Field((), "replacement policy, a number of memory/sets/replacement.py"),
        "rows": Field((2 * LANES * lines,), "tags and order words of the sets, cache after cache", u32),
    }


def stride_of(ways: int) -> int:
    """Return the number of words of a row's tags, and of its order words."""
    return max(LANES, 1 << (ways - 1).bit_length())


def clear_rows(rows: np.ndarray, count: int, ways: int) -> None:
    """Empty the first `count` rows of a record's field.

    Args:
        rows: Array [rows, ways].
        count: How many.
        ways: Ways of a row.
    """
    stride = stride_of(ways)
    table = rows[: count * 2 * stride].reshape(count, 2, stride)
    table[:, 0] = NO_TAG
    table[:, 1] = 0
    table[:, 1, ways:] = NO_TAG


@jit(outline=True)
def _way_in_long_row(row, stride, tag):
    """Search as `way_of` does, for more ways than one comparison takes; a way found ends the search."""
    for way in range(0, stride, WIDE_LANES):
        same = equal_16(row + 4 * way, tag)
        if same:
            return way + ctz(same)
    return -1


@jit(inline=True)
def way_of(row, stride, tag):
    """Return the way of the row at address `row` that holds a tag, or -1."""
    if stride == WIDE_LANES:
        same = equal_16(row, tag)
    elif stride == LANES:
        same = equal_4(row, tag)
    elif stride == 2 * LANES:  # both: where the tag is has no pattern, and a branch would guess
        same = equal_4(row, tag) | equal_4(row + 4 * LANES, tag) << LANES
    else:
        return _way_in_long_row(row, stride, tag)
    return ctz(same) if same else -1


@jit(outline=True)
def _least_of_long_row(orders, stride):
    """Return the least order word of more ways than one comparison takes."""
    least = least_16(orders)
    for way in range(WIDE_LANES, stride, WIDE_LANES):
        least = min(least, least_16(orders + 4 * way))
    return least


@jit(inline=True)
def oldest_way(row, stride):
    """Return the way with the least order word, of those that are not being filled; -1 if all are."""
    orders = row + 4 * stride
    if stride == WIDE_LANES:
        least = least_16(orders)
    elif stride == LANES:
        least = least_4(orders)
    elif stride == 2 * LANES:
        least = min(least_4(orders), least_4(orders + 4 * LANES))
    else:
        least = _least_of_long_row(orders, stride)
    return way_of(orders, stride, least) if least < FILLING else -1


@jit
def order_of(row, stride, way):
    return ld_u32(row, stride + way)


@jit
def set_order(row, stride, way, order):
    st_i32(row, stride + way, order)


@jit
def is_filling(row, stride, way):
    """Return a number that is not 0 while the way is being filled."""
    return order_of(row, stride, way) & FILLING


@jit
def start_filling(row, stride, way):
    """Mark a way as being filled, as its line has been asked for."""
    set_order(row, stride, way, order_of(row, stride, way) | FILLING)


@jit
def line_in(rows, stride, slot):
    """Return the tag in a slot of the rows at address `rows`."""
    way = slot & (stride - 1)
    return ld_u32(rows, 2 * (slot - way) + way)


@jit
def end_filling(rows, stride, slot):
    """Mark a slot of the rows at address `rows` as filled, as its line is there."""
    way = slot & (stride - 1)
    row = rows + 8 * (slot - way)
    set_order(row, stride, way, order_of(row, stride, way) - FILLING)


@jit(cold=True)
def lower_orders(rows, count, stride):
    """Lower the running numbers of `count` rows by OLD, as they have come to FILLING.

    Returns the number to go on from. A line last used more than OLD accesses ago is as old as any line can be.
    """
    for row in range(count):
        for way in range(stride):
            at = row * 2 * stride + stride + way
            order = ld_u32(rows, at)
            if order != NO_TAG and order & (FILLING - 1):
                used = max((order & (FILLING - 1)) - OLD, 1)
                st_i32(rows, at, used | (order & FILLING))
    return OLD


@jit
def next_order(order, rows, count, stride):
    """Return the running number after `order` of a cache whose `count` rows begin at address `rows`."""
    return order + 1 if order + 1 < FILLING else lower_orders(rows, count, stride)
