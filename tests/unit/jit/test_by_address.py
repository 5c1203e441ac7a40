"""Do records reached by address hold what Python and compiled code write, at the same places?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.jit import (
    JIT_DISABLED,
    Field,
    State,
    address_of,
    i16,
    i32,
    jit,
    layout_of,
    offset_of,
    record_address,
    record_at,
    record_text,
    record_type,
    records,
    views,
)

INNER = State("inner", {"count": Field((), "how many", i32), "sum": Field((), "their sum")})
OUTER = State(
    "outer",
    {
        "short": Field((), "a narrow number", i16),
        "wide": Field((), "a wide one, bytes"),
        "row": Field((3,), "three numbers", i32),
        "long": Field((20,), "more than a host line"),
        "parts": Field((2,), "records within", INNER.dtype()),
    },
)
outer_at = record_at(OUTER)
Outer = record_type(OUTER)


@jit
def add_to(outer: Outer, k, value):
    outer.short += value
    outer.wide += value
    outer.row[k] = value
    outer.long[19] = outer.row[k] + 1
    outer.parts[1].count += 1
    outer.parts[1].sum += value
    return record_address(outer)


@jit
def add_at(address, i, k, value):
    return add_to(outer_at(address, i), k, value)


def compiled():
    if not JIT_DISABLED:
        from gpusim.base.jit.compile import compile_functions

        compile_functions([add_to, add_at], np.zeros(1, np.int64))
    return add_at


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2), st.integers(0, 2), st.integers(-(1 << 63), (1 << 63) - 1))
def test_a_record_is_written_where_python_reads_it(i, k, value):
    place = records(OUTER, 3)
    assert address_of(place) % 64 == 0
    assert compiled()(address_of(place), i, k, value) == address_of(place) + i * layout_of(OUTER).itemsize
    view = views(place)[i]
    narrow = np.int64(value).astype(np.int32)
    assert view.short == np.int64(value).astype(np.int16) and view.wide == value
    assert view.row[k] == narrow and view.long[19] == int(narrow) + 1
    assert view.parts[1].count == 1 and view.parts[1].sum == value and view.parts[0].count == 0
    assert place["wide"].tolist() == [value if n == i else 0 for n in range(3)]


def test_views_write_into_the_records_and_keep_them():
    place = records(OUTER, 2)
    view = views(place)
    view[1].wide, view[1].row[2] = 1 << 40, -7
    assert place[1]["wide"] == 1 << 40 and place[1]["row"].tolist() == [0, 0, -7]
    del place
    assert view[1].wide == 1 << 40


def test_a_misspelt_field_is_refused():
    view = views(records(OUTER))[0]
    with pytest.raises(AttributeError):
        view.widde = 1
    with pytest.raises(AttributeError):
        _ = view.widde


def test_text_names_what_is_not_zero_and_says_what_it_means():
    view = views(records(OUTER))[0]
    view.wide, view.long[3] = 5, 9
    lines = record_text(OUTER, view).splitlines()
    assert lines[0].split() == ["wide", "5", "a", "wide", "one,", "bytes"]
    assert lines[1].split()[:6] == ["long", "0", "0", "0", "9", "0"] and "..." in lines[1] and len(lines) == 2


def test_offsets_are_those_of_the_layout():
    assert offset_of(OUTER, "wide") == 8
    assert [offset_of(OUTER, name) for name in OUTER.fields] == [layout_of(OUTER).fields[n][1] for n in OUTER.fields]


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_the_type_of_a_parameter_is_a_record():
    from numba import types

    assert isinstance(Outer.numba_type, types.Record) and Outer.numba_type.size == layout_of(OUTER).itemsize
