"""Checked raw memory: with the compiler switched off, every load and store must lie in a known buffer.

`install()` must run before anything of `isa` is imported. Buffers become known when their address is taken.
"""

import ctypes
import weakref
from bisect import bisect_right
from typing import Any

import numpy as np

import gpusim.base.jit
from gpusim.base.jit import raw

_WIDTHS = {"u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8}
_ROW_BYTES = 256


class StrayAccess(BaseException):
    """A raw access outside every buffer. No ordinary exception: nothing may take it for bad input."""


class _Buffers:
    """The arrays whose addresses were taken, for as long as the memory behind them lives."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._known: dict[int, tuple[int, weakref.ref[np.ndarray]]] = {}

    def add(self, array: np.ndarray) -> int:
        """Makes an array known; its address."""
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        start = int(array.ctypes.data)
        size, held = self._known.get(start, (0, None))
        if held is None or held() is None or size < array.nbytes:
            self._known[start] = (array.nbytes, weakref.ref(owner))
            self._known = {at: known for at, known in self._known.items() if known[1]() is not None}
            self._starts = sorted(self._known)
        return start

    def check(self, address: int, size: int) -> None:
        """Raises StrayAccess unless the bytes lie in one living array."""
        k = bisect_right(self._starts, address)
        for start in self._starts[max(0, k - 3) : k]:  # a small array may be a view of a larger one
            length, owner = self._known[start]
            if address + size <= start + length and owner() is not None:
                return
        raise StrayAccess(f"{size} bytes at {address:#x} lie in no buffer")


BUFFERS = _Buffers()


def _load(function: Any, width: int) -> Any:
    def checked(base: int, i: int) -> int:
        BUFFERS.check(int(base) + int(i) * width, width)
        return int(function(base, i))

    return checked


def _store(function: Any, width: int) -> Any:
    def checked(base: int, i: int, value: int) -> None:
        BUFFERS.check(int(base) + int(i) * width, width)
        function(base, i, value)

    return checked


def install() -> None:
    """Replace the accessors that `isa` is about to import."""
    for kind, width in _WIDTHS.items():
        for name, wrap in ((f"ld_{kind}", _load), (f"st_{kind}", _store)):
            function = getattr(raw, name, None)
            if function is not None:
                checked = wrap(function, width)
                setattr(raw, name, checked)
                setattr(gpusim.base.jit, name, checked)
    raw.address_of = gpusim.base.jit.address_of = BUFFERS.add
    from isa.lanes import numpy_backend

    def row(address: int) -> np.ndarray:
        BUFFERS.check(int(address), _ROW_BYTES)
        return np.ctypeslib.as_array((ctypes.c_uint32 * (_ROW_BYTES // 4)).from_address(int(address)))

    numpy_backend._row = row
