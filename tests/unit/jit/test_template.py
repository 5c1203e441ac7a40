"""Memory of whole pages, and records that begin as a template is."""

import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base import host_memory
from gpusim.base.host_memory import zeroed
from gpusim.base.jit import Field, RecordTemplate, State, record_dtype
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.machine import new_machine
from gpusim.model.core.occupancy import Occupancy
from isa.launch import Launch
from memory.l2_share import L2Share
from tests.support.daily import parametrize_daily

PART = State("part", {"count": Field((), "a number"), "row": Field((3, 5000), "numbers")})
OTHER = State("other", {"word": Field((40,), "words", np.uint32)})
RECORD = record_dtype([PART, OTHER])

needs_templates = pytest.mark.skipif(not RecordTemplate.AVAILABLE, reason="this host shares no pages between records")


@given(st.integers(0, 1 << 23), st.booleans())
def test_zeroed_memory_is_as_large_as_asked_and_may_be_written(size: int, huge_pages: bool) -> None:
    memory = zeroed(size, huge_pages)
    assert memory.nbytes == size and not memory.any()
    if size:
        assert memory.ctypes.data % mmap.PAGESIZE == 0
        memory[-1] = 7
        assert memory.sum() == 7


@needs_templates
def test_copies_begin_as_the_template_and_go_their_own_ways() -> None:
    template = RecordTemplate(RECORD)
    template.record.part.count = 3
    template.record.part.row[1, :] = range(5000)
    first, second = template.copy(), template.copy()
    first.part.count, first.part.row[1, 4999], first.other.word[7] = 4, -1, 9
    third = template.copy()
    for record in (second, third, template.record):
        assert (record.part.count, record.part.row[1, 4999], record.other.word.sum()) == (3, 4999, 0)
    assert (first.part.count, first.part.row[1, 4999], first.part.row[1, 4998], first.other.word[7]) == (4, -1, 4998, 9)
    del template
    assert second.part.row.sum() == sum(range(5000))


def filled_template() -> RecordTemplate:
    template = RecordTemplate(RECORD)
    template.record.part.row[0, 600:1200] = 5
    template.record.other.word[3] = 8
    return template


def contents(record: Any) -> list[bytes]:
    return [getattr(record, name).tobytes() for name in RECORD.names or ()]


@needs_templates
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4999), st.integers(0, 700)), max_size=6))
def test_memory_of_a_copy_that_is_gone_begins_as_the_template_again(written: list[tuple[int, int, int]]) -> None:
    template = filled_template()
    record = template.copy()
    place = record.part.row.ctypes.data
    for row, first, count in written:
        record.part.row[row, first : first + count] = -1
        record.other.word[count % 40] = 1
    del record
    record = template.copy()
    assert contents(record) == contents(template.record)
    assert record.part.row.ctypes.data == place


@needs_templates
def test_memory_that_is_still_looked_at_is_left_alone() -> None:
    template = filled_template()
    record = template.copy()
    seen = record.part.row[0]
    seen[700] = 6
    del record
    other = template.copy()
    other.part.row[:] = 9
    assert (seen[700], seen[701]) == (6, 5)


@needs_templates
def test_where_the_system_does_not_tell_what_was_written_memory_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_memory, "_own_pages", lambda *place: None)
    template = filled_template()
    record = template.copy()
    record.part.row[:] = 9
    del record
    assert contents(template.copy()) == contents(template.record)


@needs_templates
@parametrize_daily("l2_taken", [None, L2Share(0.5, "sets"), L2Share(0.75, "ways")], {1})
def test_a_machine_made_again_is_the_machine_made_anew(l2_taken: L2Share | None) -> None:
    gpu, fit = GpuSpec(), Occupancy(3, 2, "")
    launch = Launch(None, None, b"", (640, 2, 1), (64, 1, 1))  # type: ignore[arg-type]
    anew = new_machine(gpu, launch, fit, l2_taken)
    for _ in range(2):
        again = new_machine(gpu, launch, fit, l2_taken, again=True)
        assert again.dtype == anew.dtype
        for name in anew.dtype.names:
            assert getattr(again, name).tobytes() == getattr(anew, name).tobytes(), name
        again.l2.rows[:] = 0  # is not seen by the next
        again.dram.channel["next_look"] = 1
