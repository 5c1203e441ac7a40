"""Is what a comparison says of its ratios what the definitions say, and are groups of points the right points?"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.lab.silicon.compare import CorrelationPoint, groups, has_even_stride, rank_correlation, summary
from gpusim.lab.silicon.measured import ProductPoint
from gpusim.lab.silicon.prediction import Prediction


def compared(
    modelled_us: float, measured_us: float, sizes: tuple[str, int, int, int] = ("NN", 100, 100, 100), launch: float = 0
) -> CorrelationPoint:
    point = ProductPoint(*sizes, measured_us, "kernel")
    return CorrelationPoint(Prediction(point, modelled_us, None, 1, 1, "valu", 0.5, 1.0), launch)


def test_ratio_holds_the_launch() -> None:
    assert compared(30.0, 40.0, launch=10.0).ratio == 1.0


def test_summary_of_a_factor_either_way() -> None:
    found = summary([compared(200.0, 100.0), compared(50.0, 100.0)])
    assert found.geometric_mean == pytest.approx(1.0)
    assert found.spread == pytest.approx(2.0)
    assert found.mean_absolute_error == pytest.approx((1.0 + 0.5) / 2)
    assert (found.count, found.least, found.most, found.rank_correlation) == (2, 0.5, 2.0, None)


@given(st.lists(st.integers(0, 9), min_size=3, max_size=12), st.data())
def test_rank_correlation_is_that_of_ranks_with_ties(a: list[int], data: st.DataObject) -> None:
    b = data.draw(st.lists(st.integers(0, 9), min_size=len(a), max_size=len(a)))

    def ranks(values: list[int]) -> list[float]:
        ordered = sorted(values)
        return [(2 * ordered.index(v) + ordered.count(v) + 1) / 2 for v in values]

    x, y = ranks(a), ranks(b)
    mean = (len(a) + 1) / 2
    top = sum((p - mean) * (q - mean) for p, q in zip(x, y, strict=True))
    under = math.sqrt(sum((p - mean) ** 2 for p in x) * sum((q - mean) ** 2 for q in y))
    assert rank_correlation(a, b) == pytest.approx(top / under if under else 0.0)


@pytest.mark.parametrize(
    ("sizes", "even"),
    [
        (("NN", 512, 7, 3), True),  # A's columns are 2 KiB apart
        (("NN", 511, 7, 512), True),  # B's
        (("NN", 511, 512, 511), False),  # B is not transposed: N is no stride
        (("NT", 511, 512, 511), True),
        (("TN", 512, 7, 511), False),
        (("TN", 7, 7, 1024), True),
    ],
)
def test_strides_are_those_of_the_operands_as_they_are_stored(sizes: tuple[str, int, int, int], even: bool) -> None:
    assert has_even_stride(compared(1, 1, sizes)) == even


def test_every_point_is_in_the_group_of_its_size_and_its_transposes() -> None:
    rows = [compared(1, 1, ("NN", 100, 100, 100)), compared(1, 1, ("TN", 1000, 1000, 1000))]
    counts = {name: found.count for name, found in groups(rows).items()}
    assert counts["all"] == 2
    assert counts["0.5 GFLOP and more"] == counts["less than 0.5 GFLOP"] == counts["NN"] == counts["TN"] == 1
    assert "NT" not in counts
