"""`raise_4`: is it the maximum that NumPy computes, on its four words and no other?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.jit import address_of, raise_4
from tests.unit.jit.twins import compiled

apply = compiled(raise_4, 3, "void")
WORDS = st.lists(st.integers(-(1 << 60), 1 << 60), min_size=6, max_size=6)


@given(WORDS, WORDS, st.integers(-(1 << 60), 1 << 60))
def test_raise_4_is_the_maximum(words, more, amount):
    target, other = np.array(words, np.int64), np.array(more, np.int64)
    expected = target.copy()
    expected[1:5] = np.maximum(target[1:5], other[1:5] + amount)
    apply(address_of(target) + 8, address_of(other) + 8, amount)
    assert target.tolist() == expected.tolist()
