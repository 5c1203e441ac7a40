"""State as one nested NumPy record: the representation the compiler turns into constant offsets.

A component documents its state as a `State`: a table of fields. The machine is a record of such records;
`m.l2.tag[i]` is then one load at a constant offset. Sizes in a field are fixed maxima: what a configuration
sizes is reached with run-time strides inside a flat field, so another configuration never recompiles.
"""

import ctypes
import mmap
import os
import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpusim.base.counters import Counter, CounterTable
from gpusim.base.errors import UserError
from gpusim.base.host_memory import restore, zeroed

HOST_LINE_BYTES = 64
SPREAD_BYTES = 1024

i64, i32, i16, u16, u32 = np.int64, np.int32, np.int16, np.uint16, np.uint32


class Field(NamedTuple):
    """A field of a state: element type, shape (`()` = scalar) and what it holds, with its unit."""

    shape: tuple[int, ...]
    """Shape; () is a scalar."""
    meaning: str
    """What it holds, with its unit."""
    kind: Any = i64
    """Element type."""


def counter_fields(table: CounterTable, instances: int = 0) -> dict[str, Field]:
    """Return the fields of a state that holds a table's counters. instances: rows of those with one for each."""
    by_field: dict[str, list[Counter]] = {}
    for counter in table.counters:
        by_field.setdefault(counter.state_field, []).append(counter)
    fields = {}
    for name, counters in by_field.items():
        first = counters[0]
        length = max(first.length, *(1 + element for counter in counters for element in counter.elements), 0)
        shape = (instances,) * bool(first.per) + (length,) * bool(length)
        fields[name] = Field(shape, "; ".join(f"{counter.meaning} [{counter.unit}]" for counter in counters))
    return fields


@dataclass(frozen=True, eq=False)
class State:
    """A component's state, a constant of its module: `name` in the machine record and its fields."""

    name: str
    """Name in the machine record."""
    fields: dict[str, Field]
    """Fields by name."""

    def dtype(self) -> np.dtype:
        """Return the structured dtype of the component."""
        return _laid_out({name: np.dtype((f.kind, _spread(f))) for name, f in self.fields.items()})


def _spread(field: Field) -> tuple[int, ...]:
    """Return the field's shape, with rows padded where their length is a multiple of SPREAD_BYTES.

    Without padding, the same element of every row would fall into the same few sets of the host's caches.
    """
    shape = list(field.shape)
    row_bytes = np.dtype(field.kind).itemsize
    for axis in range(len(shape) - 1, 0, -1):
        element_bytes, row_bytes = row_bytes, row_bytes * shape[axis]
        if row_bytes % SPREAD_BYTES == 0:
            extra = -(-HOST_LINE_BYTES // element_bytes)
            shape[axis] += extra
            row_bytes += extra * element_bytes
    return tuple(shape)


def _laid_out(fields: dict[str, np.dtype]) -> np.dtype:
    """Return a structured dtype in which fields that fill a line of the host's cache, or more, start a line."""
    offsets, end = [], 0
    for kind in fields.values():
        alignment = HOST_LINE_BYTES if kind.itemsize >= HOST_LINE_BYTES else _alignment(kind)
        offsets.append(-(-end // alignment) * alignment)
        end = offsets[-1] + kind.itemsize
    alignment = HOST_LINE_BYTES if end >= HOST_LINE_BYTES else max(_alignment(kind) for kind in fields.values())
    units = -(-end // alignment)
    if end >= SPREAD_BYTES:
        units |= 1  # an odd number of lines: the same field of an array's records falls into all sets, as in `_spread`
    layout = {
        "names": list(fields),
        "formats": list(fields.values()),
        "offsets": offsets,
        "itemsize": units * alignment,
    }
    return np.dtype((_PlainRecord, np.dtype(layout, align=True)))  # type: ignore[call-overload]


def _alignment(kind: np.dtype) -> int:
    """Return the alignment in bytes of the fields; NumPy says 1 of a record whose class is not its own."""
    element = kind.base
    if element.names is None:
        return element.alignment
    return max(_alignment(element[name]) for name in element.names)


def record_dtype(states: list[State] | tuple[State, ...]) -> np.dtype:
    """Return the structured dtype of a machine made of `states`."""
    return _laid_out({s.name: s.dtype() for s in states})


class _PlainRecord(np.record):  # type: ignore[misc]  # the stubs call a base final, NumPy does not
    """A record whose numbers are Python's, as wide as the compiled code's, however they are stored.

    NumPy's own record looks every name up in its dtype, which would take most of the time of a small launch, or of a
    run with the JIT disabled.
    """

    __getattribute__ = np.void.__getattribute__
    __getitem__ = np.void.__getitem__  # type: ignore[assignment]
    __setattr__ = np.void.__setitem__

    @property
    def data(self) -> memoryview:
        """Return the bytes, which Numba asks for at each call; NumPy's own describes all fields, in a millisecond."""
        return np.frombuffer(self, np.uint8).data

    def __getattr__(self, name: str) -> Any:
        try:
            part = np.void.__getitem__(self, name)
        except ValueError:
            raise AttributeError(f"the record has no field '{name}'") from None
        if isinstance(part, np.integer):
            return int(part)
        place = self.__dict__.get("_place")
        if place is None:
            return part
        made = self.__dict__[name] = _with_parts(place[name])
        return made


def _record_in(memory: Any, kind: np.dtype) -> Any:
    """Return the record that begins where `memory` does."""
    return _with_parts(np.ndarray((), kind, memory))


def _with_parts(place: np.ndarray) -> Any:
    """Return the record at `place`, or `place` itself if it is an array or a number.

    A record caches each part that was read, as a view of `place`: a view of the record would keep the record alive.
    """
    if place.ndim or place.dtype.names is None:
        return place
    record = place[()]
    record.__dict__["_place"] = place
    return record


def new_record(dtype: np.dtype, huge_pages: bool = False) -> Any:
    """Return a zeroed record, used as `m`: fields read as attributes, scalars written as `m.part.field = value`.

    Untouched pages of large maxima cost no memory. huge_pages: for a long run (see `zeroed`).
    """
    return _record_in(zeroed(dtype.itemsize, huge_pages), dtype)


class RecordTemplate:
    """A record from which others are copied: a copy shares the template's pages until it writes to them.

    The first write to a page costs microseconds, which is most of a short run: a new copy reuses the memory of one that
    is gone, whose written pages are restored from the template. Fill the template in before the first copy. Only where
    `AVAILABLE`: on Linux.
    """

    AVAILABLE = hasattr(os, "memfd_create")

    def __init__(self, dtype: np.dtype) -> None:
        self._dtype = dtype
        self._file = os.memfd_create("record")
        weakref.finalize(self, os.close, self._file)
        try:
            os.ftruncate(self._file, dtype.itemsize)
        except OSError as error:
            needed = f"{dtype.itemsize >> 20} MiB for the machine's state"
            raise UserError(
                f"{needed}: {error.strerror} (a limit of file size, ulimit -f, holds for it, too)"
            ) from None
        self._original = mmap.mmap(self._file, dtype.itemsize)
        self.record = _record_in(self._original, dtype)
        self._left: list[mmap.mmap] = []  # by a copy that is gone

    def copy(self) -> Any:
        """Return a new record with the template's content."""
        pages = self._left.pop() if self._left else None
        if pages is None or not restore(pages, self._original):
            pages = mmap.mmap(self._file, self._dtype.itemsize, flags=mmap.MAP_PRIVATE)
        borrowed = (ctypes.c_uint8 * len(pages)).from_buffer(pages)  # lives as long as the record or a view of it
        weakref.finalize(borrowed, _leave, self._left, pages).atexit = False
        return _record_in(borrowed, self._dtype)


def _leave(left: list[mmap.mmap], pages: mmap.mmap) -> None:
    left[:] = [pages]
