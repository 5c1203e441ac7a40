"""Records: compiled or not, fields are attributes of one piece of memory, which goes with its record."""

import weakref

import pytest

from gpusim.base.jit import Field, State, new_record, record_dtype, u32

INNER = State("inner", {"number": Field((), "a number"), "words": Field((4,), "an array", u32)})
OUTER = State("outer", {"number": Field((), "a number"), "several": Field((3,), "records", INNER.dtype())})
LAYOUT = record_dtype((INNER, OUTER))


def test_what_is_written_as_an_attribute_lies_in_the_record() -> None:
    m = new_record(LAYOUT)
    m.inner.number = 5
    m.inner.words[1:3] = 6
    part = m.outer.several[1]
    part.number = 7
    part.words[3] = 8
    m.outer.number += 9
    assert (m["inner"]["number"], m["outer"]["number"]) == (5, 9)
    assert m["inner"]["words"].tolist() == [0, 6, 6, 0]
    assert m["outer"]["several"]["number"].tolist() == [0, 7, 0]
    assert m["outer"]["several"]["words"].tolist() == [[0] * 4, [0, 0, 0, 8], [0] * 4]
    assert (m.inner.number, m.outer.several[1].number, m.outer.several[1].words[3], m.outer.number) == (5, 7, 8, 9)


def test_an_unknown_field_is_an_error() -> None:
    m = new_record(LAYOUT)
    with pytest.raises(AttributeError, match="nothing"):
        _ = m.outer.nothing
    with pytest.raises((AttributeError, ValueError), match="nothing"):
        m.outer.several[0].nothing = 1


def test_the_memory_goes_with_the_record() -> None:
    m = new_record(LAYOUT)
    m.inner.words[0] = m.outer.several[0].number
    memory, behind = m, m.base
    while behind is not None:  # arrays, down to the pages they lie in
        memory = behind
        behind = memory.obj if isinstance(memory, memoryview) else getattr(memory, "base", None)
    held = weakref.ref(memory)
    del m, memory, behind
    assert held() is None
