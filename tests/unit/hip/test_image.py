"""Is device memory in a memory file what other processes see of it, and does it give back what is freed?"""

import mmap
import os

import numpy as np
import pytest

from gpusim.jobs.hip.image import shared_memory
from isa.device_memory import DeviceMemory

MIB = 1 << 20


@pytest.fixture
def file():
    number = os.memfd_create("test")
    yield number
    os.close(number)


def test_both_sides_see_the_same_bytes(file: int) -> None:
    memory = shared_memory(file, 4 * MIB)
    allocation = memory.upload(np.arange(1000, dtype=np.int32), "numbers")
    with mmap.mmap(file, 4 * MIB) as other:
        start = allocation.address - 0x1_0000_0000
        assert np.array_equal(np.frombuffer(other[start : start + 4000], np.int32), np.arange(1000))
        other[start : start + 4] = b"\xff\xff\xff\xff"
    assert memory.view(allocation, np.int32)[0] == -1


@pytest.mark.parametrize("size", [100, 8192, 8 * MIB, 8 * MIB + 100])
@pytest.mark.parametrize("last", [False, True])
def test_memory_given_back_is_zero_again(file: int, size: int, last: bool) -> None:
    memory = shared_memory(file, 32 * MIB)
    first, second = memory.allocate(size, "first"), memory.allocate(100, "second")
    memory.view(second)[:] = 7
    memory.view(first)[:] = 1
    held = os.fstat(file).st_blocks
    memory.free(first)
    if last:
        memory.free(second)
    again = memory.allocate(size, "again")
    assert size < MIB or os.fstat(file).st_blocks < held - 1000  # of 512 bytes
    assert not memory.view(again).any()
    assert last or (memory.view(second) == 7).all()


def test_an_image_that_does_not_fit_is_refused() -> None:
    page = np.zeros(4096 * 3, np.uint8)
    start = -page.ctypes.data % 4096
    DeviceMemory(4096, page[start : start + 4096])
    shorter, elsewhere = page[start : start + 4095], page[start + 1 : start + 4097]
    for image in (shorter, elsewhere, page[start : start + 8192].view(np.uint16)):
        with pytest.raises(ValueError, match="image"):
            DeviceMemory(4096, image)
