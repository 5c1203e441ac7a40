"""Are whole rounds passed over, as many as there can be, with the tail and the stops left to be simulated?"""

from hypothesis import given
from hypothesis import strategies as st

from gpusim.sampling.grid import block_weights, jumps


@given(st.integers(0, 100_000), st.integers(1, 500), st.integers(0, 800), st.integers(0, 16), st.integers(0, 2000))
def test_jumps(left: int, resident: int, tail: int, stops: int, stop: int) -> None:
    planned = jumps(left, resident, tail, stops, stop)
    assert all(size > 0 and size % resident == 0 for size in planned.sizes)
    assert len(planned.sizes) <= stops + 1
    simulated = left - planned.skipped
    if planned.sizes:
        used = len(planned.sizes) - 1
        assert tail + used * stop <= simulated < tail + used * stop + resident
        assert max(planned.sizes) - min(planned.sizes) <= resident  # evenly over the grid
    else:
        assert left - tail < resident


def test_stops_are_given_up_where_the_grid_is_too_small() -> None:
    assert jumps(1000, 100, 50, 4, 200).sizes == (200, 200, 100)
    assert jumps(340, 100, 50, 4, 200).sizes == (200,)
    assert jumps(140, 100, 50, 4, 200).sizes == ()


def test_a_jump_costs_what_the_windows_around_it_do() -> None:
    assert block_weights([100], [4]).tolist() == [25] * 4
    assert block_weights([100, 60, 40], [2, 1, 4]).tolist() == [25, 25, 80, 17.5, 17.5, 17.5, 17.5]
    assert block_weights([100, 60, 40], [2, 1, 0]).tolist() == [25, 25, 150]  # the grid ended before the last stop


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 40)), min_size=1, max_size=17))
def test_weights_are_what_is_passed_over(jumped: list[tuple[int, int]]) -> None:
    sizes, windows = [size for size, _ in jumped], [jumped[0][1] + 1, *(count for _, count in jumped[1:])]
    weights = block_weights(sizes, windows)
    assert len(weights) == sum(windows)
    assert abs(weights.sum() - sum(sizes)) < 1e-6 * sum(sizes)
