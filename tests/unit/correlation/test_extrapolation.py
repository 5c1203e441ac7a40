"""Is a large product run in two shorter ones that say what the whole one takes?"""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.correlation.extrapolation import extrapolated, two_shorter
from workloads.vendor.tensile import SgemmProblem, TensileKernel


def kernel_of(tile: tuple[int, int], split_k: int = 1) -> TensileKernel:
    return TensileKernel("kernel", "TN", tile, work_items=256, split_k=split_k, group_columns=1)


@given(
    m=st.integers(1, 2000),
    columns=st.integers(2, 300),
    beyond=st.integers(0, 63),
    resident=st.integers(1, 400),
    split_k=st.sampled_from([1, 2, 8]),
    share=st.floats(0.0, 1.0, exclude_max=True),
)
@example(m=1, columns=9, beyond=0, resident=4, split_k=1, share=0.5)  # one column has the whole's remainder
@example(m=1, columns=3, beyond=63, resident=64, split_k=1, share=0.7)  # together as many columns as the whole
def test_two_products_within_the_limit_with_the_remainder_of_the_whole(
    m: int, columns: int, beyond: int, resident: int, split_k: int, share: float
) -> None:
    kernel = kernel_of((64, 64), split_k)
    whole = SgemmProblem("TN", m, 64 * (columns - 1) + 1 + beyond, 512, 2.0, 2.0)
    limit = share * whole.flop * 1e-9
    most = min(columns - 1, int(columns * limit / (whole.flop * 1e-9)))
    assume(most >= 2)
    short, long = two_shorter(whole, kernel, resident, limit)
    assert 0 < short.n < long.n < whole.n
    for part in (short, long):
        assert (part.transposes, part.m, part.k, part.alpha, part.beta) == ("TN", m, 512, 2.0, 2.0)
        assert (whole.n - part.n) % 64 == 0, "the last column of tiles is as wide as the whole's"
    tiles = [kernel.workgroups(one)[1] for one in (short, long, whole)]
    assert tiles[1] <= most
    rows = kernel.workgroups(whole)[0] * split_k
    remainders = [rows * count % resident for count in tiles]
    fitting = [count for count in range(2, most + 1) if rows * count % resident == remainders[2]]
    if fitting:
        assert tiles[1] == fitting[-1], "the longest with the remainder of the whole"
        if len(fitting) > 1:
            assert remainders[0] == remainders[2]


def test_whole_rounds_are_left_out() -> None:
    """128 resident, 2 rows of tiles: a round has 64 columns; 200 ≡ 8 columns."""
    whole = SgemmProblem("TN", 128, 200 * 64, 100)
    short, long = two_shorter(whole, kernel_of((64, 64)), 128, 0.9 * whole.flop * 1e-9)
    assert (short.n, long.n) == (72 * 64, 136 * 64)


def test_too_small_a_limit_names_the_product() -> None:
    whole = SgemmProblem("TN", 128, 6400, 100)
    with pytest.raises(UserError) as raised:
        two_shorter(whole, kernel_of((64, 64)), 128, 0.001)
    said = (
        "TN 128x6400x100: to be run in part, it must be cut into columns of tiles, and two of 100 have more work than"
    )
    assert str(raised.value) == f"{said} 0.001 GFLOP (--limit)"


@given(st.floats(0.0, 100.0), st.floats(0.01, 10.0), st.integers(1, 500), st.integers(1, 500), st.integers(0, 10**5))
def test_a_line_is_found_again(fill: float, column: float, short: int, more: int, rest: int) -> None:
    long, n = short + more, short + more + rest
    ends = [(at, fill + column * at) for at in (short, long)]
    assert extrapolated(n, *ends) == pytest.approx(fill + column * n)
