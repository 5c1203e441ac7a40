"""Several words at a time: compiled, in plain Python, and by definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.jit import LANES, WIDE_LANES, address_of, raw
from tests.unit.jit.twins import compiled, plain

PLAIN = plain("raw")
WORDS = st.integers(0, (1 << 32) - 1) | st.sampled_from([0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
EQUAL = {lanes: (compiled(getattr(raw, f"equal_{lanes}"), 2), getattr(PLAIN, f"equal_{lanes}")) for lanes in (4, 16)}
LEAST = {lanes: (compiled(getattr(raw, f"least_{lanes}"), 1), getattr(PLAIN, f"least_{lanes}")) for lanes in (4, 16)}

ANY_32 = (compiled(raw.any_32, 1), PLAIN.any_32)


def test_as_many_lanes_as_their_names_say() -> None:
    assert (LANES, WIDE_LANES) == (4, 16)


@pytest.mark.parametrize("lanes", EQUAL)
@given(data=st.data())
def test_equal_words_are_marked(lanes: int, data: st.DataObject) -> None:
    words = data.draw(st.lists(WORDS, min_size=lanes + 2, max_size=lanes + 2))
    value = data.draw(st.sampled_from(words) | WORDS)
    memory = np.array(words, np.uint32)
    row = address_of(memory) + 4  # words on both sides do not count, and a row need not be aligned to its length
    expected = sum((word == value) << k for k, word in enumerate(words[1:-1]))
    assert [equal(row, value) for equal in EQUAL[lanes]] == [expected] * 2


@pytest.mark.parametrize("lanes", LEAST)
@given(data=st.data())
def test_the_least_word_is_found(lanes: int, data: st.DataObject) -> None:
    words = data.draw(st.lists(WORDS, min_size=lanes + 2, max_size=lanes + 2))
    memory = np.array(words, np.uint32)
    assert [least(address_of(memory) + 4) for least in LEAST[lanes]] == [min(words[1:-1])] * 2


@given(st.sets(st.integers(0, 33), max_size=2), WORDS.filter(bool))
def test_a_word_that_is_not_zero_is_noticed(places: set[int], value: int) -> None:
    memory = np.zeros(34, np.uint32)
    memory[list(places)] = value
    expected = int(bool(places - {0, 33}))
    assert [anything(address_of(memory) + 4) for anything in ANY_32] == [expected] * 2
