"""Device memory: allocations are disjoint, guarded and checked; the image is what kernels see."""

import errno
import mmap
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.device_memory import (
    ALLOCATION_ALIGNMENT_BYTES,
    GUARD_BYTES,
    LINE_BYTES,
    PARTIAL,
    READABLE,
    VIRTUAL_BASE,
    WRITABLE,
    DeviceMemory,
    DeviceMemoryError,
)

CAPACITY = 1 << 20


def rights(memory, address):
    return int(memory.permissions[(address - VIRTUAL_BASE) // LINE_BYTES])


@settings(deadline=None)
@given(st.lists(st.integers(1, 40_000), min_size=1, max_size=12))
def test_allocations_are_aligned_disjoint_and_guarded(sizes):
    memory = DeviceMemory(CAPACITY)
    made = [memory.allocate(size, f"a{i}") for i, size in enumerate(sizes)]
    for a in made:
        assert a.address % ALLOCATION_ALIGNMENT_BYTES == 0
        assert rights(memory, a.address - 1) == 0
        last_line = (a.end - 1) // LINE_BYTES * LINE_BYTES
        assert rights(memory, last_line) == READABLE | WRITABLE | (PARTIAL if a.size_bytes % LINE_BYTES else 0)
        assert rights(memory, last_line + LINE_BYTES) == 0
    for a, b in pairwise(made):
        assert a.end + GUARD_BYTES <= b.address


def test_upload_keeps_the_bytes_and_views_share_them():
    memory = DeviceMemory(CAPACITY)
    data = np.arange(100, dtype=np.float32).reshape(10, 10)
    a = memory.upload(data, "data")
    assert (memory.view(a, np.float32) == data.ravel()).all()
    memory.view(a, np.float32)[3] = -1
    assert memory.image[a.address - VIRTUAL_BASE :][:16].view(np.float32)[3] == -1


@pytest.mark.parametrize("cleared", [True, False])
def test_what_is_discarded_and_nothing_beside_it_is_zero(cleared):
    # with what gives pages back; without, there is nothing to be had from it
    image = np.frombuffer(mmap.mmap(-1, CAPACITY), np.uint8)
    memory = DeviceMemory(CAPACITY, image, (lambda a, b: image[a:b].fill(0)) if cleared else None)
    a, b, c = (memory.upload(np.full(4096, 7, np.uint8), name) for name in "abc")
    memory.discard(b.address, b.size_bytes)
    assert [set(memory.view(one, np.uint8)) for one in (a, b, c)] == [{7}, {0 if cleared else 7}, {7}]


def test_protected_and_read_only_allocations_refuse_stores():
    memory = DeviceMemory(CAPACITY)
    a, b = memory.allocate(64, "a"), memory.allocate(64, "b", writable=False)
    memory.protect(a)
    assert rights(memory, a.address) == rights(memory, b.address) == READABLE
    assert not memory.allocations[0].writable


def test_out_of_memory_and_empty_allocations_are_errors():
    memory = DeviceMemory(CAPACITY)
    with pytest.raises(DeviceMemoryError, match="do not fit"):
        memory.allocate(CAPACITY, "big")
    with pytest.raises(DeviceMemoryError, match="must be positive"):
        memory.allocate(0, "none")


def test_nearest_names_the_allocation_around_or_beside_an_address():
    memory = DeviceMemory(CAPACITY)
    assert memory.nearest(5) is None
    a, b = memory.allocate(100, "a"), memory.allocate(100, "b")
    assert memory.nearest(a.address + 50) == a
    assert memory.nearest(a.end + 1) == a
    assert memory.nearest(b.address - 1) == b
    assert memory.nearest(0) == a
    assert memory.nearest(b.end + 10_000_000) == b


def test_freed_memory_faults_and_is_used_again_zeroed():
    memory = DeviceMemory(1 << 16)
    first = memory.upload(np.full(5000, 7, np.uint8), "first")
    second = memory.allocate(100, "second")
    free_before = memory._next
    memory.free(first)
    assert memory.nearest(first.address) == second
    assert not memory.permissions[(first.address - VIRTUAL_BASE) // 64 : (first.end - VIRTUAL_BASE) // 64 + 1].any()
    with pytest.raises(DeviceMemoryError, match="'first' is not allocated"):
        memory.free(first)
    again = memory.allocate(4900, "again")
    assert again.address == first.address
    assert memory._next == free_before
    assert not memory.view(again).any()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9000), st.integers(0, 5)), min_size=1, max_size=40))
def test_allocations_never_overlap_and_all_memory_comes_back(steps):
    memory, held = DeviceMemory(1 << 18), []
    for size, which in steps:
        if which < 3 and held:
            memory.free(held.pop(which % len(held)))
            continue
        try:
            allocation = memory.allocate(size, "x")
        except DeviceMemoryError:
            continue
        assert not memory.view(allocation).any()
        memory.view(allocation)[:] = 1
        held.append(allocation)
        ordered = sorted(held, key=lambda a: a.address)
        assert all(a.end + GUARD_BYTES <= b.address for a, b in pairwise(ordered))
        assert list(memory.ends) == [a.end for a in ordered]
        assert all(a < b and b < c for (a, b), (c, _) in pairwise(memory._free))
    for allocation in held:
        memory.free(allocation)
    assert memory._next == GUARD_BYTES
    assert not memory.permissions.any()
    assert not memory.allocations


def test_a_capacity_beyond_the_line_numbers_is_refused() -> None:
    with pytest.raises(DeviceMemoryError, match="line numbers"):
        DeviceMemory((1 << 37) - (1 << 32))


def test_a_host_that_reserves_no_such_range_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(size_bytes: int, huge_pages: bool) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr("isa.device_memory.zeroed", refuse)
    with pytest.raises(
        DeviceMemoryError, match=r"device memory of 32768 MiB: .* \(Cannot allocate memory\); a smaller"
    ):
        DeviceMemory(32 << 30)
