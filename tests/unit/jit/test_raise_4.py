"""`raise_4`: is it the maximum that NumPy computes, on its four words and no other?"""

import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.jit import JIT_DISABLED, address_of, raise_4


def _apply(address, other, amount):  # type: ignore[no-untyped-def]
    raise_4(address, other, amount)


apply = _apply if JIT_DISABLED else numba.njit("void(int64, int64, int64)")(_apply)
WORDS = st.lists(st.integers(-(1 << 60), 1 << 60), min_size=6, max_size=6)


@given(WORDS, WORDS, st.integers(-(1 << 60), 1 << 60))
def test_raise_4_is_the_maximum(words, more, amount):
    target, other = np.array(words, np.int64), np.array(more, np.int64)
    expected = target.copy()
    expected[1:5] = np.maximum(target[1:5], other[1:5] + amount)
    apply(address_of(target) + 8, address_of(other) + 8, amount)
    assert target.tolist() == expected.tolist()
