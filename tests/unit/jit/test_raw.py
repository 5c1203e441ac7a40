"""Raw memory access, bit counting and calls by address: compiled, in plain Python, and by definition."""

import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.jit import address_of, raw
from tests.support.compiled import native_callback
from tests.unit.jit.twins import compiled, plain

PLAIN = plain("raw")
WORDS = st.integers(-(1 << 63), (1 << 63) - 1)
BITS_SET = WORDS.filter(bool) | st.integers(0, 63).map(lambda bit: 1 << bit if bit < 63 else -(1 << 63))
BYTES = 64

LOADERS = {"ld_u8": "u1", "ld_u16": "u2", "ld_u32": "u4", "ld_i16": "i2", "ld_i32": "i4", "ld_i64": "i8"}
STORERS = {"st_u8": "u1", "st_i16": "i2", "st_i32": "i4", "st_i64": "i8"}
LOADS = {name: (compiled(getattr(raw, name), 2), getattr(PLAIN, name)) for name in LOADERS}
STORES = {name: (compiled(getattr(raw, name), 3, "void"), getattr(PLAIN, name)) for name in STORERS}
COUNTS = {name: (compiled(getattr(raw, name), 1), getattr(PLAIN, name)) for name in ("ctz", "popcount")}
CTZ_FROM = (compiled(raw.ctz_from, 2), PLAIN.ctz_from)
FETCH_ADD = (compiled(raw.fetch_add, 2), PLAIN.fetch_add)
COMPARE_SWAP = (compiled(raw.compare_swap_u8, 3), PLAIN.compare_swap_u8)
QUOTIENT = (compiled(raw.quotient, 2), PLAIN.quotient)
PREFETCH = (compiled(raw.prefetch, 1, "void"), PLAIN.prefetch)


@pytest.mark.parametrize("name", LOADERS)
@given(data=st.binary(min_size=BYTES, max_size=BYTES), place=st.integers(0, 7), i=st.integers(-1, 5))
def test_a_load_reads_the_element(name: str, data: bytes, place: int, i: int) -> None:
    kind = np.dtype(LOADERS[name])
    memory = np.frombuffer(bytearray(data), np.uint8)
    start = 8 + place  # no alignment is needed
    expected = int(np.frombuffer(data, kind, 1, start + i * kind.itemsize)[0])
    assert [load(address_of(memory) + start, i) for load in LOADS[name]] == [expected] * 2


@pytest.mark.parametrize("name", STORERS)
@given(place=st.integers(0, 7), i=st.integers(-1, 5), value=WORDS)
def test_a_store_writes_the_element_and_nothing_else(name: str, place: int, i: int, value: int) -> None:
    kind = np.dtype(STORERS[name])
    start = 8 + place
    expected = bytearray(range(BYTES))
    at = start + i * kind.itemsize
    expected[at : at + kind.itemsize] = (value & (1 << 8 * kind.itemsize) - 1).to_bytes(kind.itemsize, sys.byteorder)
    for store in STORES[name]:
        memory = np.arange(BYTES, dtype=np.uint8)
        store(address_of(memory) + start, i, value)
        assert memory.tobytes() == bytes(expected)


@given(BITS_SET)
def test_ctz_is_the_position_of_the_lowest_bit(word: int) -> None:
    lowest = next(bit for bit in range(64) if word >> bit & 1)
    assert [ctz(word) for ctz in COUNTS["ctz"]] == [lowest] * 2


@given(WORDS)
def test_popcount_counts_the_bits_of_64(word: int) -> None:
    bits = sum(word >> bit & 1 for bit in range(64))
    assert [popcount(word) for popcount in COUNTS["popcount"]] == [bits] * 2


@given(BITS_SET, st.integers(0, 64))
def test_ctz_from_goes_round(word: int, start: int) -> None:
    # also from one past the last position, where round robin stands after the last one's turn
    expected = next(bit % 64 for bit in range(start, start + 64) if word >> bit % 64 & 1)
    assert [ctz_from(word, start) for ctz_from in CTZ_FROM] == [expected] * 2


@given(st.integers(0, (1 << 63) - 1), st.integers(1, (1 << 63) - 1))
def test_quotient_divides_numbers_without_sign(a: int, b: int) -> None:
    assert [quotient(a, b) for quotient in QUOTIENT] == [a // b] * 2


@given(WORDS, st.integers(-(1 << 20), 1 << 20))
def test_fetch_add_adds_and_gives_the_value_before(word: int, amount: int) -> None:
    for fetch_add in FETCH_ADD:
        memory = np.array([1, word, 2], np.int64)
        assert fetch_add(address_of(memory) + 8, amount) == word
        assert memory.tolist() == [1, (word + amount + (1 << 63)) % (1 << 64) - (1 << 63), 2]


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
def test_compare_swap_replaces_the_expected_byte_alone(byte: int, expected: int, new: int) -> None:
    for compare_swap in COMPARE_SWAP:
        memory = np.array([1, byte, 2], np.uint8)
        assert compare_swap(address_of(memory) + 1, expected, new) == byte
        assert memory.tolist() == [1, new if byte == expected else byte, 2]


def test_hints_change_nothing() -> None:
    memory = np.arange(BYTES, dtype=np.uint8)
    for prefetch in PREFETCH:
        prefetch(address_of(memory))
        prefetch(0)  # an address that nobody may read
    assert memory.tolist() == list(range(BYTES))


def weighted(a, b, c, d):  # type: ignore[no-untyped-def]
    return 1000 * a + 100 * b + 10 * c - d


@given(st.lists(st.integers(-(1 << 40), 1 << 40), min_size=4, max_size=4))
def test_a_function_is_called_by_its_address(arguments: list[int]) -> None:
    address, _ = weighted_compiled()
    assert CALL(address, *arguments) == weighted(*arguments)


CALL = compiled(raw.call_i64_4, 5)


@cache
def weighted_compiled() -> tuple[int, object]:
    """Its address, and what keeps it alive."""
    return native_callback(weighted)
