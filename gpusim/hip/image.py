"""Device memory in a memory file that a HIP program maps too."""

import mmap
import os

import numpy as np

from isa.device_memory import DeviceMemory

_PAGE = mmap.PAGESIZE
_MAP_NORESERVE = 0x4000  # Linux; not in Python's module
_LARGE = 16 * _PAGE  # from here on it is cheaper to give pages back than to write zeros


def shared_memory(file: int, capacity_bytes: int) -> DeviceMemory:
    """Device memory of `capacity_bytes` in the memory file with the descriptor `file`, which may be closed then.

    What is given back with it is given back to the host: pages are taken from the file when they are cleared.
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

    return DeviceMemory(capacity_bytes, image, clear)
