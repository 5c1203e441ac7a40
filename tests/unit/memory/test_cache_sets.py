"""Rows of tags and ages against a list kept in order of use."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.jit import address_of
from memory.cache.sets import (
    FILLING,
    OLD,
    age_of,
    ages_forgotten,
    clear_rows,
    oldest_way,
    set_age,
    stride_of,
    way_of,
)

LINE = 0x8000_0000  # with the sparse mark: the highest bit of a tag counts


class Row:
    """A set of `ways` ways whose ages begin at `age`, between two others that must stay as they are."""

    def __init__(self, ways: int, age: int = 0) -> None:
        self.ways, self.stride, self.age = ways, stride_of(ways), age
        self.words = np.zeros(3 * 2 * self.stride, np.uint32)
        clear_rows(self.words, 3, ways)
        self.around = [self.words[: 2 * self.stride].copy(), self.words[4 * self.stride :].copy()]
        self.address = address_of(self.words) + 4 * 2 * self.stride

    def use(self, line: int) -> tuple[bool, int]:
        """Whether the line was found, and its way, -1 if none can be replaced."""
        way = int(way_of(self.address, self.stride, line))
        found = way >= 0
        filling = int(age_of(self.address, self.stride, way)) & FILLING if found else 0
        if not found:
            way = int(oldest_way(self.address, self.stride))
            if way < 0:
                return False, -1
            self.words[2 * self.stride + way] = line
        self.age += 1
        if self.age >= FILLING:
            self.age = int(ages_forgotten(self.address, 1, self.stride))
        set_age(self.address, self.stride, way, self.age | filling)
        return found, way

    def neighbours_are_untouched(self) -> bool:
        return bool((self.words[: 2 * self.stride] == self.around[0]).all()) and bool(
            (self.words[4 * self.stride :] == self.around[1]).all()
        )


@settings(deadline=None)
@given(
    st.integers(1, 20),
    st.lists(st.integers(0, 24), max_size=80),
    st.sampled_from([0, FILLING - 3, FILLING - 20]),
)
def test_a_row_finds_and_replaces_what_a_list_in_order_of_use_does(ways: int, lines: list[int], age: int) -> None:
    row = Row(ways, age)
    held: list[int] = []
    for line in lines:
        found, way = row.use(LINE + line)
        assert found == (line in held)
        assert 0 <= way < ways
        if found:
            held.remove(line)
        elif len(held) == ways:
            held.pop(0)
        held.append(line)
    assert row.neighbours_are_untouched()


@pytest.mark.parametrize("ways", [1, 3, 4, 16])
def test_a_way_that_is_being_filled_is_found_and_never_replaced(ways: int) -> None:
    row = Row(ways)
    for line in range(ways):
        _, way = row.use(LINE + line)
        set_age(row.address, row.stride, way, row.age | FILLING)
    assert row.use(LINE + ways) == (False, -1)
    assert row.use(LINE)[0]
    last = int(way_of(row.address, row.stride, LINE + ways - 1))
    set_age(row.address, row.stride, last, int(age_of(row.address, row.stride, last)) - FILLING)
    assert row.use(LINE + ways) == (False, last)


def test_ages_are_forgotten_in_order_and_ways_being_filled_stay_so() -> None:
    row = Row(3)
    for way, age in enumerate([OLD + 7, OLD + 5 | FILLING, 12]):
        set_age(row.address, row.stride, way, age)
    assert ages_forgotten(row.address, 1, row.stride) == OLD
    assert [int(age_of(row.address, row.stride, way)) for way in range(3)] == [7, 5 | FILLING, 0]
    assert int(oldest_way(row.address, row.stride)) == 2
