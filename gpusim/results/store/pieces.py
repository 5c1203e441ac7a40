"""What is known of pieces of work from one run to the next: a row of a store for each, such as a class of launches."""

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpusim.base.progress import current_reporter
from gpusim.results.store.file import StoreError, errors, writable, writing
from gpusim.results.store.records import packed, unpacked
from gpusim.results.store.under_way import WorkLocks


class ResultCache:
    """Pieces of work in a store, which is created if need be. Raises StoreError where it cannot be opened or read.

    A row's key is a hash of all that decides the piece's result. fresh: look up nothing.
    """

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self._path, self._fresh = path, fresh
        self._connection, self._under_way = writable(path), WorkLocks(path)

    def get(self, key: str) -> Any:
        """Return what was stored; None without it, and for a damaged row."""
        if self._fresh:
            return None
        with errors(self._path):
            row = self._connection.execute("SELECT facts FROM launch_classes WHERE key = ?", [key]).fetchone()
        with suppress(zlib.error, ValueError):
            return unpacked(row[0]) if row is not None else None
        return None

    def put(self, key: str, name: str, content: Any) -> None:
        """Store a piece of work; if the store cannot be written, the run goes on."""
        try:
            with writing(self._connection, self._path) as db:
                db.execute("INSERT OR REPLACE INTO launch_classes VALUES (?, ?, ?)", (key, name, packed(content)))
        except StoreError as error:
            current_reporter().say_once(f"gpusim: {error}; the run goes on")

    def hold(self, key: str) -> bool:
        """Hold a piece until `release` or `close`; return False while another process holds it, whose result is to be
        waited for.
        """
        return self._fresh or self._under_way.hold(key) is None

    def release(self, key: str) -> None:
        """Let others do a piece; nothing is done for one that is not held."""
        self._under_way.release(key)

    def close(self) -> None:
        """Close the store; nothing can be stored after that."""
        self._under_way.close()
        with errors(self._path):
            self._connection.close()
