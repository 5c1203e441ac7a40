"""Do skips pass over a grid evenly, keep addresses' lower bits, and cost what the intervals around them do?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.model.sampling.grid import RemainingGrid, block_weights, count_intervals_left

JUMPS = st.tuples(st.integers(0, 100_000), st.integers(1, 500), st.integers(1, 600), st.integers(1, 400))


@given(JUMPS, st.integers(1, 20))
def test_a_skip_leaves_space_for_the_intervals_that_are_to_follow(sizes: tuple[int, int, int, int], more: int) -> None:
    skippable, resident, interval, row = sizes
    skip = RemainingGrid(200_000, skippable, interval, resident, row).skip(more)
    assert (skip >= 0 and skip + more * interval <= skippable) or not skip
    if skip:  # the last skip is as long: parts are even
        assert skip >= 200_000 / 32 * 3 / 4
        assert skippable - more * (skip + interval) >= skip


@given(JUMPS, st.integers(1, 20), st.floats(0, 1))
def test_wherever_chance_has_it_there_is_space_for_the_intervals(
    sizes: tuple[int, int, int, int], more: int, luck: float
) -> None:
    skippable, resident, interval, row = sizes
    skip = RemainingGrid(200_000, skippable, interval, resident, row, luck=luck).skip(more)
    assert skip == 0 or 0 < skip <= skippable - more * interval


def test_intervals_lie_at_random_places() -> None:
    skips = [RemainingGrid(100_000, 90_000, 50, 10, luck=luck).skip(9) for luck in np.linspace(0, 1, 9)]
    even = (90_000 - 9 * 50) / 10
    assert skips == sorted(skips) and len(set(skips)) >= 6
    assert min(skips) <= 0.5 * even and max(skips) >= 1.5 * even * 3 / 4


@given(JUMPS, st.integers(1, 20))
def test_skips_leave_the_lower_bits_of_addresses_as_they_are(sizes: tuple[int, int, int, int], more: int) -> None:
    skippable, resident, interval, row = sizes
    skip = RemainingGrid(skippable, skippable, interval, resident, row).skip(more)
    assert skip % row == 0 or skip < row
    rows = skip // row if skip % row == 0 else skip
    assert rows & -rows >= rows / 8, "three bits at most differ from 0"


@given(JUMPS, st.integers(0, 10**6))
def test_all_skips_together_are_whole_waves(sizes: tuple[int, int, int, int], passed: int) -> None:
    skippable, resident, interval, row = sizes
    left = RemainingGrid(10**7, skippable, interval, resident, row, passed)
    last = left.skip(0)
    assert 0 <= last <= skippable
    assert skippable - last < resident
    if last:
        assert (passed + last) % resident == 0


@given(JUMPS, st.integers(0, 10**6))
def test_what_is_left_of_a_wave_is_passed_over(sizes: tuple[int, int, int, int], passed: int) -> None:
    skippable, resident, interval, row = sizes
    rest = RemainingGrid(10**7, skippable, interval, resident, row, passed).rest()
    assert 0 <= rest < resident and rest <= skippable
    assert (passed + rest) % resident == 0 or (rest == 0 and -passed % resident > skippable)


def test_a_grid_in_even_parts() -> None:
    assert RemainingGrid(1000, 700, 50, 10).skip(2) == 200 - 200 % 32, "three skips of it and two intervals"
    assert RemainingGrid(1000, 700, 50, 10, settling=20).skip(2) == 186 - 186 % 32, "and what follows skips"
    assert RemainingGrid(1000, 700, 50, 10, row=50).skip(2) == 200
    assert RemainingGrid(1000, 700, 50, 10).skip(0) == 700
    assert RemainingGrid(1000, 700, 50, 10, passed=7).skip(0) == 693
    assert RemainingGrid(1000, 90, 50, 10).skip(2) == 0
    assert RemainingGrid(100_000, 2000, 50, 10).skip(2) == 0, (
        "so short a skip is not worth what it does to the intervals after it"
    )


def test_a_skip_costs_what_the_intervals_around_it_do() -> None:
    assert block_weights([100], [4]).tolist() == [0.25] * 4
    assert (block_weights([100, 60, 40], [2, 1, 4]) * 200).tolist() == pytest.approx([25, 25, 80] + [17.5] * 4)
    assert (block_weights([100, 60, 40], [2, 1, 0]) * 200).tolist() == pytest.approx([25, 25, 150])
    assert block_weights([100, 60, 40], [0, 1, 0]).tolist() == [1]  # the first intervals are left out
    assert (block_weights([50, 0], [1, 1]) * 50).tolist() == [25, 25]  # an interval after the last skip
    assert block_weights([0], [4]).tolist() == [0.25] * 4  # the grid ended: nothing can be passed over any more
    with pytest.raises(ValueError, match="no interval"):
        block_weights([3], [0])


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 40)), min_size=1, max_size=17))
def test_weights_add_up_to_one(skipped: list[tuple[int, int]]) -> None:
    sizes, intervals = [size for size, _ in skipped], [skipped[0][1] + 1, *(count for _, count in skipped[1:])]
    weights = block_weights(sizes, intervals)
    assert len(weights) == sum(intervals) and (weights > 0).all()
    assert weights.sum() == pytest.approx(1)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(0, 90))
def test_the_first_intervals_are_left_out_block_by_block(counts: list[int], first: int) -> None:
    blocks = np.repeat(np.arange(len(counts)), counts)[first:]
    assert count_intervals_left(counts, first) == [int((blocks == k).sum()) for k in range(len(counts))]
