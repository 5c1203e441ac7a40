"""The simulator's own memory on the host."""

import mmap
import sys
from typing import Any

import numpy as np


def peak_memory_mb() -> float | None:
    """Largest resident memory of the process so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def zeroed(size_bytes: int, huge_pages: bool) -> Any:
    """A zeroed byte array that starts on a page of its own. Pages never touched cost nothing.

    huge_pages: of 2 MiB where the host has them. A long run misses its TLB less with them, but to touch the first byte
    of one takes tenths of a millisecond, which a short run never makes good. (NumPy's own zeros ask for them from 4 MiB
    on, and write zeros over all memory that was used before.)
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(size_bytes, np.uint8)
    pages = mmap.mmap(-1, max(size_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge_pages and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8, size_bytes)
