"""Is nobody said to win by noise, and is the Pareto front what no other point beats?"""

from hypothesis import strategies as st

from gpusim.base.intervals import Estimate, differ, front, standings
from gpusim.base.sizes import sizes
from tests.support.daily import given_daily

VALUES = st.integers(0, 6).map(float)
EXACT = st.lists(st.tuples(*[st.tuples(VALUES, st.just(0.0))] * 2), max_size=12)
SAMPLED = st.lists(st.tuples(*[st.tuples(VALUES, st.sampled_from([0.0, 0.4, 0.6, 2.0]))] * 3), max_size=10)


def test_intervals_that_overlap_and_equal_values_cannot_be_told_apart() -> None:
    assert differ((1.0, 0.0), (1.1, 0.0)) and not differ((1.0, 0.0), (1.0, 0.0))
    assert differ((1.0, 0.2), (2.0, 0.7)) and not differ((1.0, 0.4), (2.0, 0.6))


@given_daily(40, 100, EXACT)
def test_the_front_of_exact_values_is_what_no_other_point_beats(points: list[tuple[Estimate, Estimate]]) -> None:
    plain = [(x[0], y[0]) for x, y in points]
    for point, on_front in zip(plain, front(points), strict=True):
        better = [o for o in plain if o[0] <= point[0] and o[1] <= point[1] and o != point]
        assert on_front is not bool(better)


@given_daily(40, 100, SAMPLED)
def test_whom_noise_alone_tells_apart_none_beats(points: list[tuple[Estimate, ...]]) -> None:
    chosen = front(points)
    assert any(chosen) is bool(points)
    for point, on_front in zip(points, chosen, strict=True):
        beaten = any(
            all(a[0] <= b[0] for a, b in zip(other, point, strict=True))
            and any(a[0] + a[1] < b[0] - b[1] for a, b in zip(other, point, strict=True))
            for other in points
        )
        assert on_front is not beaten


def test_a_front_of_many_points_takes_no_square_of_them() -> None:
    line = [((float(n), 0.0), (float(n), 0.0)) for n in range(50_000)]
    assert front(line).count(True) == 1


def test_sizes_are_in_kib() -> None:
    values = {"engine.sib_kib": 4, "gpu.memory_mib": 2, "a.b_bytes": 512, "kernels.sparse": "k", "x.y_kib": None}
    assert sizes(values) == {"engine.sib_kib": 4.0, "gpu.memory_mib": 2048.0, "a.b_bytes": 0.5}


def test_nobody_wins_by_noise_alone() -> None:
    equal, other = [(100.0, 5.0), (4.0, 0.0)], [(102.0, 5.0), (4.0, 0.0)]
    assert standings([equal, other]) == ["not distinguishable", "not distinguishable"]
    assert standings([[(100.0, 1.0)], [(102.5, 1.0)]]) == ["front", ""]
    assert standings([[(100.0, 0.0)], [(100.0, 0.0)]]) == ["front", "front"]
    larger = [(99.0, 5.0), (8.0, 0.0)]  # its fewer cycles may be noise, its size is not
    assert standings([equal, larger]) == ["front", "not distinguishable"]
    assert standings([]) == []
