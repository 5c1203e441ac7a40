"""Is large memory filled with a block as if it were written, and without touching what nobody reads?"""

import mmap
from typing import Any

import numpy as np
import pytest

from gpusim.base import host_memory
from gpusim.base.host_memory import repeat, resident_bytes, returnable, zeroed

PAGE = mmap.PAGESIZE
BLOCK = np.random.default_rng(1).integers(1, 1 << 31, 4 * PAGE // 4, np.int32)


def written(size: int) -> np.ndarray:
    return np.tile(BLOCK, -(-size // len(BLOCK)))[:size]


@pytest.mark.parametrize("size", [1, 1000, 3 * len(BLOCK), 5 * len(BLOCK) + 77])
@pytest.mark.parametrize("begin", [0, 64, PAGE - 4, PAGE])
def test_a_block_stands_wherever_an_array_begins_and_ends(size: int, begin: int) -> None:
    memory = zeroed(7 * BLOCK.nbytes, huge_pages=False)
    array = memory[begin : begin + 4 * size].view(np.int32)
    repeat(array, BLOCK)
    np.testing.assert_array_equal(array, written(size))
    assert not memory[:begin].any() and not memory[begin + 4 * size :].any()
    array[3:5] = 0  # in one of the blocks alone
    expected = written(size)
    expected[3:5] = 0
    np.testing.assert_array_equal(array, expected)
    again = zeroed(7 * BLOCK.nbytes, huge_pages=False)[: 4 * size].view(np.int32)
    repeat(again, BLOCK)
    np.testing.assert_array_equal(again, written(size))


def refused(*_: Any) -> int:
    raise OSError("no such files")


@pytest.mark.parametrize("mapped", [True, False])
def test_untouched_pages_cost_nothing_and_other_systems_write_them(
    mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not mapped:
        monkeypatch.setattr(host_memory.os, "memfd_create", refused)
    memory, clear = returnable(1 << 25)
    before = resident_bytes()
    repeat(memory.view(np.int32), BLOCK)
    after = resident_bytes()
    if before is not None and after is not None and clear is not None:
        assert (after - before < 1 << 22) == mapped
    np.testing.assert_array_equal(memory.view(np.int32), written(1 << 23))


def test_a_block_that_is_no_whole_pages_is_written() -> None:
    array = zeroed(40 * PAGE, huge_pages=False).view(np.int32)
    repeat(array, BLOCK[:1000])
    np.testing.assert_array_equal(array, np.tile(BLOCK[:1000], 99)[: len(array)])
