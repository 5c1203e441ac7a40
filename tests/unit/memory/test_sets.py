"""Rows of tags and order words under each replacement policy, against plain sets of lines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.jit import address_of
from memory.sets.replacement import (
    POLICIES,
    check_replacement,
    find_victim,
    first_order,
    invalidate,
    on_hit,
    on_insert,
)
from memory.sets.rows import (
    FILLING,
    NO_TAG,
    OLD,
    clear_rows,
    end_filling,
    is_filling,
    line_in,
    lower_orders,
    next_order,
    order_of,
    set_order,
    start_filling,
    stride_of,
    way_of,
)
from tests.support.daily import given_daily
from tests.support.reference_cache import ReferenceCache

LINE = 0x8000_0000  # with the sparse mark: the highest bit of a tag counts
SHAPES = st.one_of(
    st.tuples(st.sampled_from(sorted(POLICIES)), st.sampled_from([1, 2, 4, 8, 16, 32, 64])),
    st.tuples(st.sampled_from([name for name in POLICIES if not POLICIES[name].power_of_two]), st.integers(1, 70)),
)


class Row:
    """A set of `ways` ways, between two others that must stay as they are."""

    def __init__(self, ways: int, policy: str = "lru", order: int | None = None) -> None:
        self.ways, self.stride, self.policy = ways, stride_of(ways), POLICIES[policy].number
        self.order = first_order(policy, 1, 0) if order is None else order
        self.words = np.zeros(3 * 2 * self.stride, np.uint32)
        clear_rows(self.words, 3, ways)
        self.around = [self.words[: 2 * self.stride].copy(), self.words[4 * self.stride :].copy()]
        self.rows = address_of(self.words)
        self.address = self.rows + 4 * 2 * self.stride

    def use(self, line: int, filling: bool = False) -> tuple[bool, int]:
        """Whether the line was found, and its way, -1 if none can be replaced."""
        way = int(way_of(self.address, self.stride, line))
        found = way >= 0
        if not found:
            way = int(find_victim(self.policy, self.address, self.stride, self.ways, self.order))
            if way < 0:
                return False, -1
            self.words[2 * self.stride + way] = line
        self.order = int(next_order(self.order, self.address, 1, self.stride))
        update = on_hit if found else on_insert
        update(self.policy, self.address, self.stride, self.ways, way, self.order)
        if filling and not found:
            start_filling(self.address, self.stride, way)
        return found, way

    def arrived(self, way: int) -> None:
        end_filling(self.rows, self.stride, self.stride + way)

    def neighbours_are_untouched(self) -> bool:
        return bool((self.words[: 2 * self.stride] == self.around[0]).all()) and bool(
            (self.words[4 * self.stride :] == self.around[1]).all()
        )


# a line to use, whether a miss takes its time, or what happens between uses
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("use"), st.integers(0, 24), st.booleans()),
        st.tuples(st.just("arrive"), st.integers(0, 63), st.just(False)),
        st.tuples(st.sampled_from(["use", "use", "empty"]), st.integers(0, 90), st.just(False)),
    ),
    max_size=120,
)


@given_daily(15, 150, SHAPES, EVENTS)
def test_a_row_holds_what_a_plain_set_holds(shape: tuple[str, int], events: list[tuple[str, int, bool]]) -> None:
    policy, ways = shape
    row, plain = Row(ways, policy), ReferenceCache(1, ways, policy)
    (held,) = plain.sets
    for what, number, filling in events:
        if what == "use":
            way = plain.victim(LINE + number)
            expected = plain.use(LINE + number)
            found, got = row.use(LINE + number, filling)
            assert found == expected[0]
            if not found:
                assert got == (-1 if way is None else way)
                if filling and way is not None:
                    held.pinned.add(way)
        elif what == "arrive" and held.pinned:
            way = sorted(held.pinned)[number % len(held.pinned)]
            held.pinned.remove(way)
            row.arrived(way)
            assert line_in(row.rows, row.stride, row.stride + way) == held.lines[way]
        elif what == "empty":
            invalidate(row.policy, row.address, 1, row.stride, ways)
            plain.forget()
        for way, line in enumerate(held.lines):
            assert row.words[2 * row.stride + way] == (NO_TAG if line is None else line)
            assert bool(is_filling(row.address, row.stride, way)) == (way in held.pinned)
    assert row.neighbours_are_untouched()


@settings(deadline=None)
@given(
    st.sampled_from(["lru", "fifo"]),
    st.integers(1, 20),
    st.lists(st.integers(0, 24), max_size=80),
    st.sampled_from([FILLING - 3, FILLING - 20]),
)
def test_running_numbers_that_end_start_over_in_order(policy: str, ways: int, lines: list[int], order: int) -> None:
    row, plain = Row(ways, policy, order), ReferenceCache(1, ways, policy)
    for line in lines:
        assert row.use(LINE + line)[0] == plain.use(LINE + line)[0]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ways", [1, 2, 4, 16])
def test_a_way_that_is_being_filled_is_found_and_never_replaced(policy: str, ways: int) -> None:
    row = Row(ways, policy)
    for line in range(ways):
        row.use(LINE + line, filling=True)
    assert row.use(LINE + ways) == (False, -1)
    assert row.use(LINE)[0]
    last = int(way_of(row.address, row.stride, LINE + ways - 1))
    row.arrived(last)
    assert row.use(LINE + ways) == (False, last)


def test_orders_are_lowered_in_order_and_ways_being_filled_stay_so() -> None:
    row = Row(4)
    for way, order in enumerate([OLD + 7, OLD + 5 | FILLING, 12, 0]):
        set_order(row.address, row.stride, way, order)
    assert lower_orders(row.address, 1, row.stride) == OLD
    assert [int(order_of(row.address, row.stride, way)) for way in range(4)] == [7, 5 | FILLING, 1, 0]


# --- exact cases: four ways hold lines 0 to 3, then 0 is used again; which line goes when 4 comes? ---


@pytest.mark.parametrize(
    ("policy", "goes"),
    [
        ("lru", 1),  # used before all others
        ("fifo", 0),  # the first in, used again or not
        ("plru", 2),  # 0 was used last: the other half, and of that the way not used last, 3
    ],
)
def test_the_line_that_goes(policy: str, goes: int) -> None:
    row = Row(4, policy)
    for line in (0, 1, 2, 3, 0):
        row.use(LINE + line)
    assert row.use(LINE + 4) == (False, goes)


@pytest.mark.parametrize("policy", POLICIES)
def test_after_an_invalidation_empty_ways_go_before_the_line_that_was_on_its_way(policy: str) -> None:
    row = Row(4, policy)
    _, way = row.use(LINE, filling=True)
    for line in (1, 2, 3, 1, 2, 3):
        row.use(LINE + line)
    invalidate(row.policy, row.address, 1, row.stride, row.ways)
    row.arrived(way)
    assert row.use(LINE) == (True, way)
    assert sorted(row.use(LINE + line)[1] for line in (4, 5, 6)) == [1, 2, 3]


def test_random_replacement_follows_its_seed_and_takes_every_way() -> None:
    def victims(seed: int, cache: int) -> list[int]:
        row = Row(4, "random", first_order("random", seed, cache))
        return [row.use(LINE + line)[1] for line in range(400)][4:]

    assert victims(1, 0) == victims(1, 0)
    assert len({tuple(victims(seed, cache)) for seed in range(3) for cache in range(3)}) == 9
    counts = np.bincount(victims(1, 0), minlength=4)
    assert counts.min() > 70  # of 99 expected; a binomial's standard deviation is 8.6


def test_a_miss_looked_up_again_finds_the_same_victim() -> None:
    row = Row(8, "random")
    for line in range(20):
        row.use(LINE + line)
    found = {int(find_victim(row.policy, row.address, row.stride, row.ways, row.order)) for _ in range(5)}
    assert len(found) == 1


def test_a_tree_needs_a_power_of_two_of_ways() -> None:
    check_replacement("plru", 8)
    check_replacement("lru", 12)
    others = ", ".join(name for name, policy in POLICIES.items() if not policy.power_of_two)
    with pytest.raises(ValueError, match=rf"replacement 'plru' of 12 ways: .* {others} take any number"):
        check_replacement("plru", 12)
