"""Work that a process is doing for a store, so that another one waits for it instead of doing it too.

A file for each work, in a folder beside the store, on which its process holds a lock of the system: that ends with the
process, however it ends, so that nobody waits for one that was killed. Where no such file or lock can be had (a full
disk, a folder of somebody else, some network file systems) work may be done twice, which costs time and nothing else.
"""

import fcntl
import os
import platform
from contextlib import suppress
from pathlib import Path

from gpusim.results.store.file import now

FOLDER = "{}-under-way"  # by the store's file name
_TRIES = 5  # where another process removes the file or the folder at the same moment
_MOST_BYTES = 400  # of who is told to hold it


class WorkLocks:
    """The works that this process does for a store, each held until `release` or `close`.

    The lock is the process's: two objects of one process do not exclude each other.
    """

    def __init__(self, store: Path) -> None:
        self._folder = store.with_name(FOLDER.format(store.name))
        self._held: dict[str, int] = {}  # descriptor by the work's identity

    def hold(self, identity: str) -> str | None:
        """Hold a work; where another process does, return in words which one, and since when. None: nobody does."""
        if identity in self._held:
            return None
        for _ in range(_TRIES):
            try:
                self._folder.mkdir(exist_ok=True)
                descriptor = os.open(self._folder / identity, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # the folder was removed in between
                continue
            except OSError:
                return None
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(identity, descriptor):
                    _sign(descriptor)
                    self._held[identity] = descriptor
                    return None
            except (BlockingIOError, PermissionError):
                holder = os.read(descriptor, _MOST_BYTES).decode(errors="replace").strip()
                os.close(descriptor)
                return holder or "another process"
            except OSError:  # there are no locks here
                os.close(descriptor)
                return None
            os.close(descriptor)
        return None

    def release(self, identity: str) -> None:
        """Let others do a work; nothing is done for one that is not held."""
        descriptor = self._held.pop(identity, None)
        if descriptor is not None:
            with suppress(OSError):
                (self._folder / identity).unlink()  # before the lock ends: whoever opened it looks again
            with suppress(OSError):
                os.close(descriptor)
            with suppress(OSError):
                self._folder.rmdir()  # unless there are others

    def close(self) -> None:
        """Release all that is held."""
        for identity in list(self._held):
            self.release(identity)

    def _is_current(self, identity: str, descriptor: int) -> bool:
        """Tell whether the file that was opened is still the one of this name: its last holder removed it."""
        try:
            there = os.stat(self._folder / identity)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(descriptor))


def _sign(descriptor: int) -> None:
    """Write into the file who holds it; on a full disk nobody is told, and the lock holds all the same."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        since = now().replace("T", " ").replace("Z", " UTC")
        os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}, since {since}".encode(), 0)
