"""Does device memory go as soon as nobody has it?"""

import gc
import os
import sys
import weakref

import numpy as np
import pytest

from isa.device_memory import SLACK, VIRTUAL_BASE, WRITABLE, DeviceMemory


def test_it_is_no_part_of_a_cycle() -> None:
    gc.disable()
    try:
        memory = DeviceMemory(1 << 20)
        memory.free(memory.upload(np.ones(100, np.float32), "x"))
        memory.allocate(64, "y")
        gone = weakref.ref(memory)
        del memory
        assert gone() is None
    finally:
        gc.enable()


def test_what_is_not_allocated_of_a_chunk_with_an_allocation_is_slack() -> None:
    chunk = 1 << 20
    memory = DeviceMemory(8 << 20, slack_bytes=chunk)

    def rights(address: int) -> int:
        return int(memory.permissions[(address - VIRTUAL_BASE) // 64])

    first = memory.allocate(100, "first")
    large = memory.allocate(2 * chunk, "large")
    assert rights(first.address) & WRITABLE and rights(first.address + 4096) == SLACK
    assert rights(large.end) == SLACK and rights(VIRTUAL_BASE + 5 * chunk) == 0
    memory.view(first)[:] = 1
    memory.image[first.address + 4096 - VIRTUAL_BASE] = 7  # a write that was let through
    memory.free(large)
    assert rights(large.address) == SLACK and rights(large.address + chunk) == 0
    memory.free(first)
    assert rights(first.address) == rights(first.address + 4096) == 0
    assert not memory.view(memory.allocate(8192, "later")).any()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems reserve memory as it is asked for")
def test_a_device_may_have_more_memory_than_the_host() -> None:
    host_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory = DeviceMemory(4 * host_bytes // (1 << 20) * (1 << 20))
    allocation = memory.upload(np.ones(100, np.float32), "x")
    assert memory.view(allocation, np.float32).sum() == 100
