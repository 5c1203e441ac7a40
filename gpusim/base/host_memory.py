"""The simulator's own memory on the host."""

import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

MAP_FIXED, MAP_NORESERVE = 0x10, 0x4000  # Linux; not in Python's module
_NO_RESERVE = MAP_NORESERVE if sys.platform == "linux" else 0
MOST_MAPPED = 4096  # blocks: a process has 65,530 mappings by default


def peak_memory_mb() -> float | None:
    """Return the largest resident memory of the process so far in megabytes; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def resident_bytes() -> int | None:
    """Return the present resident memory of the process; None where the system is not Linux (proc(5), statm)."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as sizes:
            return int(sizes.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return None


def zeroed(size_bytes: int, huge_pages: bool) -> Any:
    """Return zeroed memory that starts on a page of its own. Pages never touched cost nothing: on Linux it may be
    larger than the host's memory.

    A long run misses its TLB less with huge pages, but to touch the first byte of one takes tenths of a millisecond,
    which a short run never makes good. (NumPy's own zeros ask for them from 4 MiB on, and write zeros over all memory
    that was used before.)

    Args:
        size_bytes: bytes.
        huge_pages: use pages of 2 MiB where the host has them.

    Returns:
        An array of bytes.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(size_bytes, np.uint8)
    pages = mmap.mmap(-1, max(size_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    if huge_pages and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8, size_bytes)


def returnable(size_bytes: int) -> tuple[Any, Callable[[int, int], None] | None]:
    """Return an array as `zeroed` with huge pages, and a function that gives a part of it back to the host.

    Between its two offsets are zeros from then on. The function is None where the system has no such call: Linux alone
    promises the zeros (madvise(2), MADV_DONTNEED).
    """
    if sys.platform != "linux":
        return np.zeros(size_bytes, np.uint8), None
    pages = mmap.mmap(-1, max(size_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    pages.madvise(mmap.MADV_HUGEPAGE)
    array = np.frombuffer(pages, np.uint8, size_bytes)

    def clear(start: int, end: int) -> None:
        first, last = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
        if first >= last:
            array[start:end] = 0
            return
        array[start:first] = 0
        pages.madvise(mmap.MADV_DONTNEED, first, last - first)
        array[last:end] = 0

    return array, clear


def repeat(array: np.ndarray, block: np.ndarray) -> None:
    """Fill an array with a block, again and again; the last one may be cut.

    On Linux a large array is not written: its pages are those of one block, and who writes to one gets a copy of it
    (memfd_create(2), mmap(2) with MAP_PRIVATE), so that what is never touched costs nothing.

    Args:
        array: one dimension, part of `zeroed` or `returnable` memory; what is given back of it holds the block again.
        block: elements of the same dtype.
    """
    filled, values = array.view(np.uint8), block.view(np.uint8)
    first = -filled.ctypes.data % mmap.PAGESIZE
    last = first + max(len(filled) - first, 0) // mmap.PAGESIZE * mmap.PAGESIZE
    blocks = (last - first) // len(values)
    if len(values) % mmap.PAGESIZE or not 2 <= blocks < MOST_MAPPED or not _mapped(filled[first:last], values, first):
        first = last = len(filled)
    _write(filled, values, 0, first)
    _write(filled, values, last, len(filled))


def _write(filled: np.ndarray, values: np.ndarray, first: int, last: int) -> None:
    while first < last:
        at = first % len(values)
        size = min(len(values) - at, last - first)
        filled[first : first + size] = values[at : at + size]
        first += size


def _mapped(pages: np.ndarray, values: np.ndarray, begin: int) -> bool:
    """Have pages show values from `begin` on, again and again; return False where the system has no such files."""
    if sys.platform != "linux":
        return False
    try:
        file = os.fdopen(os.memfd_create("values"), "wb")
    except OSError:
        return False
    place = ctypes.CDLL(None, use_errno=True).mmap
    place.restype, size_t = ctypes.c_void_p, ctypes.c_size_t
    place.argtypes = [ctypes.c_void_p, size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    with file:
        file.write(np.roll(values, -begin).tobytes())
        file.flush()
        for start in range(0, len(pages), len(values)):
            address, size = pages.ctypes.data + start, min(len(values), len(pages) - start)
            how = mmap.MAP_PRIVATE | MAP_FIXED
            if place(address, size, mmap.PROT_READ | mmap.PROT_WRITE, how, file.fileno(), 0) != address:
                raise OSError(ctypes.get_errno(), "made-up values could not be mapped")
    return True


def restore(pages: mmap.mmap, original: mmap.mmap) -> bool:
    """Give a private mapping of a whole file the file's contents again.

    Only pages that were written are copied: those that the process has to itself, by Linux's /proc/self/pagemap (its
    Documentation/admin-guide/mm/pagemap.rst).

    Args:
        pages: the mapping.
        original: another mapping of the file, as large.

    Returns:
        False where the system does not say which pages were written.
    """
    array = np.frombuffer(pages, np.uint8)
    written = _own_pages(array.ctypes.data, len(pages))
    if written is None:
        return False
    starts = written[np.diff(written, prepend=-2) != 1] * mmap.PAGESIZE  # of runs of pages
    ends = (written[np.diff(written, append=-2) != 1] + 1) * mmap.PAGESIZE
    source = np.frombuffer(original, np.uint8)
    # by a system call for each, which preadv(2) would be, it takes ten times as long
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        array[start:end] = source[start:end]
    return True


def _own_pages(address: int, size_bytes: int) -> np.ndarray | None:
    """List the numbers of pages that are no longer the mapped file's; None if the system does not tell."""
    count = -(-size_bytes // mmap.PAGESIZE)
    try:
        # opened anew, since a process that was forked has pages of its own
        with open("/proc/self/pagemap", "rb", buffering=0) as table:
            table.seek(address // mmap.PAGESIZE * 8)
            entries = np.frombuffer(table.read(count * 8) or b"", np.uint64)
    except OSError:
        return None
    if len(entries) != count:
        return None
    state = entries >> np.uint64(61)  # 4: in memory, 2: swapped out, 1: the file's
    return np.flatnonzero((state != 0) & (state & np.uint64(1) == 0))
