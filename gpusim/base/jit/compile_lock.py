"""One process compiles at a time: two cold starts at once compile once.

The system's lock on an open file: it ends with the process that holds it, however that ends. Where the system has none
(some network file systems) everyone compiles, which costs time and nothing else.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpusim.base.jit import cache_folders
from gpusim.base.progress import current_reporter

_held: list[bool] = []


def assume_locked() -> None:
    """Note that the process which started this one holds the lock on behalf of both."""
    _held.append(True)


@contextmanager
def compile_lock() -> Iterator[None]:
    """Hold the lock that lets one process compile at a time, after waiting for it; nested uses do not wait."""
    place = None if _held else cache_folders.writable()
    _held.append(True)
    try:
        if place is None:
            yield
            return
        descriptor = os.open(place / "compiling.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, cache_folders.FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            with suppress(OSError):
                _lock(file.fileno())
            yield
    finally:
        _held.pop()


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        current_reporter().say("gpusim: another process is compiling; waiting for it")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
