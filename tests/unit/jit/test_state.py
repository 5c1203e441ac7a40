"""State records: layout, what plain Python and compiled code see of them, that both write the same."""

import gc
import weakref
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED, Field, State, address_in, i16, i32, new_record, record_dtype, state, u16, u32
from gpusim.base.jit.state import HOST_LINE_BYTES, SPREAD_BYTES

WAY = State("way", {"tag": Field((), "tag", u32), "age": Field((3,), "ages", i16)})
CACHE = State(
    "cache",
    {
        "hits": Field((), "hits"),
        "small": Field((), "a narrow number", i16),
        "mask": Field((), "one without a sign", u16),
        "row": Field((8,), "a row", i32),
        "table": Field((5, 7), "a table"),
        "way": Field((6,), "ways", WAY.dtype()),
    },
)
COUNT = State("count", {"steps": Field((), "steps"), "cache": Field((), "steps of the cache")})
DTYPE = record_dtype((CACHE, COUNT))

KINDS = st.sampled_from([np.int64, i32, i16, u16, u32])
SHAPES = st.lists(st.integers(1, 40), max_size=3).map(tuple)
FIELDS = st.dictionaries(st.sampled_from("abcdef"), st.builds(Field, SHAPES, st.just("anything"), KINDS), min_size=1)


@given(FIELDS)
def test_a_field_holds_what_its_table_says(fields: dict[str, Field]) -> None:
    kind = State("unit", fields).dtype()
    assert list(kind.names or ()) == list(fields)
    for name, field in fields.items():
        assert kind[name].base == np.dtype(field.kind)
        assert len(kind[name].shape) == len(field.shape)
        assert all(held >= wanted for held, wanted in zip(kind[name].shape, field.shape, strict=True))


@given(FIELDS)
def test_fields_are_aligned_and_do_not_overlap(fields: dict[str, Field]) -> None:
    kind = State("unit", fields).dtype()
    end = 0
    for name in kind.names or ():
        part, offset = kind.fields[name][:2]  # type: ignore[index]
        assert offset >= end and offset % part.base.alignment == 0
        if part.itemsize >= HOST_LINE_BYTES:
            assert offset % HOST_LINE_BYTES == 0
        end = offset + part.itemsize
    assert kind.itemsize >= end


@given(st.integers(2, 9), st.integers(1, 2000), KINDS)
def test_no_two_rows_fall_into_the_same_sets_of_the_host_s_caches(rows: int, columns: int, kind: Any) -> None:
    held = State("unit", {"table": Field((rows, columns), "a table", kind)}).dtype()["table"].shape
    assert held[0] == rows
    assert held[1] * np.dtype(kind).itemsize % SPREAD_BYTES != 0


def records() -> list[Any]:
    """An empty record as compiled code takes it, if it does, and one for plain Python."""
    place = np.zeros(1, DTYPE)
    return [new_record(DTYPE), state._record_in(place, DTYPE)]


@pytest.mark.parametrize("record", records(), ids=["own", "plain"])
def test_a_record_is_zeroed_and_its_parts_are_attributes(record: Any) -> None:
    m = record
    assert m.cache.hits == 0 and not m.cache.table.any()
    m.cache.hits = 3
    m.cache.hits += 1
    m.cache.row[2] = -7
    m.cache.way[5].tag = 0xFFFF_FFFF
    m.count.cache = 9
    assert (int(m.cache.hits), int(m.cache.row[2]), int(m.cache.way[5].tag), int(m.count.cache)) == (
        4,
        -7,
        0xFFFF_FFFF,
        9,
    )
    with pytest.raises(AttributeError, match="nothing"):
        m.cache.nothing  # noqa: B018


@pytest.mark.skipif(not JIT_DISABLED, reason="compiled code has integers of its own")
def test_numbers_of_a_plain_record_are_python_s() -> None:
    m = new_record(DTYPE)
    m.cache.small = 0x7FFF
    assert type(m.cache.small) is int
    assert m.cache.small + 1 == 0x8000  # NumPy's would overflow


def test_the_data_of_a_record_are_its_bytes_whatever_its_fields() -> None:
    # Numba takes a record by them at each call; a description of all fields would take most of a test's time
    record = new_record(DTYPE)
    assert (record.data.format, record.data.nbytes) == ("B", DTYPE.itemsize)
    record.count.steps = 0x0102
    at = DTYPE.fields["count"][1]  # type: ignore[index]
    assert record.data[at : at + 3].tolist() == [2, 1, 0]
    assert (record.count.data.format, record.count.data[0]) == ("B", 2)


def test_a_record_keeps_its_parts_and_they_do_not_keep_it() -> None:
    record = new_record(DTYPE)
    part = next(name for name in DTYPE.names or () if DTYPE[name].names)
    assert getattr(record, part) is getattr(record, part)
    there = weakref.ref(record)
    gc.disable()  # a cycle would wait for it, and a machine's memory with it
    try:
        del record
        assert there() is None
    finally:
        gc.enable()


def test_a_record_begins_with_a_line_of_the_host_s_cache() -> None:
    m = new_record(DTYPE)
    base = m.cache.row.ctypes.data - DTYPE.fields["cache"][1] - DTYPE["cache"].fields["row"][1]
    assert base % HOST_LINE_BYTES == 0


def work(m, script, n):  # type: ignore[no-untyped-def]
    """Write what `script` says into every kind of field."""
    for k in range(n):
        what, index, value = script[k, 0], script[k, 1], script[k, 2]
        cache = m.cache
        if what == 0:
            cache.hits += value
        elif what == 1:
            cache.small = value
        elif what == 2:
            cache.mask |= 1 << (index & 15)
        elif what == 3:
            cache.row[index & 7] = value - cache.row[7 - (index & 7)]
        elif what == 4:
            cache.table[index % 5, index % 7] += cache.hits + value
        else:
            way = cache.way[index % 6]
            way.tag = cache.mask
            way.age[index % 3] -= value
        m.count.steps += 1
    return m.cache.hits + m.count.steps


COMPILED = work if JIT_DISABLED else numba.njit(work)
STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1000), st.integers(-50, 50)), min_size=1, max_size=60)


@settings(max_examples=50)
@given(STEPS)
def test_compiled_code_and_plain_python_write_the_same(steps: list[tuple[int, int, int]]) -> None:
    script = np.array(steps, np.int64)
    place = np.zeros(1, DTYPE)
    compiled, plain = new_record(DTYPE), state._record_in(place, DTYPE)
    assert int(COMPILED(compiled, script, len(steps))) == int(work(plain, script, len(steps)))
    for part, fields in (("cache", CACHE.fields), ("count", COUNT.fields)):
        for name in fields:
            found = np.asarray(getattr(getattr(compiled, part), name), DTYPE[part][name].base)
            assert found.tobytes() == place[part][name][0].tobytes(), (part, name)


def address_of_a_row(m, i):  # type: ignore[no-untyped-def]
    return address_in(m.cache.row, i)


def test_the_address_of_an_element() -> None:
    m = new_record(DTYPE)
    function = address_of_a_row if JIT_DISABLED else numba.njit(address_of_a_row)
    assert [function(m, i) - m.cache.row.ctypes.data for i in range(8)] == [4 * i for i in range(8)]
