"""Device memory in a memory file that a HIP program maps too."""

import mmap
import os

import numpy as np

from isa.device_memory import DeviceMemory

_PAGE = mmap.PAGESIZE
_MAP_NORESERVE = 0x4000  # Linux; not in Python's module
_LARGE = 1024 * _PAGE  # from here on pages are given back: below, faults would cost more than writing zeros


def shared_memory(file: int, capacity_bytes: int, slack_bytes: int = 0) -> DeviceMemory:
    """Return device memory of `capacity_bytes` in the memory file with the descriptor `file`, which may be closed
    afterwards.

    slack_bytes: as of `DeviceMemory`. The pages of large allocations that are freed are given back to the host.
    """
    os.ftruncate(file, capacity_bytes)
    pages = mmap.mmap(file, capacity_bytes, flags=mmap.MAP_SHARED | _MAP_NORESERVE)
    image = np.frombuffer(pages, np.uint8)

    def clear(start: int, end: int) -> None:
        first, last = -(-start // _PAGE) * _PAGE, end // _PAGE * _PAGE
        if last - first < _LARGE:
            image[start:end] = 0
            return
        image[start:first] = 0
        pages.madvise(mmap.MADV_REMOVE, first, last - first)
        image[last:end] = 0

    return DeviceMemory(capacity_bytes, image, clear, slack_bytes)
