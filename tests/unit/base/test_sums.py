"""Are sums of floats the same in every version of Python, and is product code that adds them otherwise caught?"""

import sys

import pytest

from gpusim.base.sums import plain_sum
from tests.support.float_sums import strict_sum

APART = [1.0, 1e100, 1.0, -1e100]  # 0.0 from left to right; 2.0 where rounding is compensated, by sum from 3.12 on


def test_numbers_are_added_from_left_to_right() -> None:
    assert plain_sum(APART) == 0.0
    assert plain_sum(0.1 for _ in range(10)) == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 != 1.0
    assert plain_sum([]) == 0 and plain_sum([1, 2]) == 3


def test_pythons_own_sum_hangs_on_its_version() -> None:
    assert sum(APART) == (2.0 if sys.version_info >= (3, 12) else 0.0)


def test_a_sum_of_floats_in_product_code_is_an_error_while_tests_run() -> None:
    product = {"__name__": "gpusim.model.energy.model", "sum": strict_sum}
    assert eval("sum([1, 2])", product) == 3
    with pytest.raises(
        AssertionError, match=r"gpusim.model.energy.model, line 1: sum\(\) of floats; use gpusim.base.sums"
    ):
        eval("sum([1, 2.5])", product)
    assert sum is strict_sum
