"""Records that compiled code reaches by their address: state tables (`State`) beside the machine record.

What stands in several copies, or is handed over as an address (a context of the instruction set's interpreter, its
wavefronts, its program's instructions), is documented by a `State` like the machine's parts, and read like them:
after `wavefront_at = record_at(WAVEFRONT)`, `wavefront_at(address, slot).pc` is one load in compiled code. A function's
parameter that takes such a record is annotated with `record_type(WAVEFRONT)`.

Python lays records out with `records` and reads them with `views`, whose numbers are Python's and wrap at the width of
the field, as compiled code's do; from Python `record_at` gives such views too. `operations_llvm` has the
compiler's side.
"""

import ctypes
from functools import cache, cached_property
from typing import Any

import numpy as np

from gpusim.base.jit.functions import JIT_DISABLED, Intrinsic, note_primitive, primitive
from gpusim.base.jit.state import HOST_LINE_BYTES, State

_LLVM = "gpusim.base.jit.operations_llvm"


@cache
def layout_of(state: State) -> np.dtype:
    """Return the structured dtype of a state's records."""
    return state.dtype()


def offset_of(state: State, name: str) -> int:
    """Return the offset in bytes of a field from its record's start."""
    return int(layout_of(state).fields[name][1])  # type: ignore[index]


def records(state: State, count: int = 1) -> np.ndarray:
    """Return `count` zeroed records, contiguous in memory; the first starts a line of the host's cache."""
    layout = layout_of(state)
    raw = np.zeros(count * layout.itemsize + HOST_LINE_BYTES, np.uint8)
    start = -raw.ctypes.data % HOST_LINE_BYTES
    return raw[start : start + count * layout.itemsize].view(layout)


def views(place: np.ndarray) -> Any:
    """Return the records of an array made by `records` as Python objects whose attributes are the fields."""
    return (_structure(place.dtype) * len(place)).from_buffer(place.view(np.uint8))


def record_text(state: State, view: Any) -> str:
    """Return a line of text for each field that holds a number other than 0: its name, value and meaning."""
    lines = []
    for name, field in state.fields.items():
        value = getattr(view, name)
        numbers = [value] if isinstance(value, int) else list(value) if np.dtype(field.kind).names is None else []
        if any(numbers):
            text = " ".join(str(n) for n in numbers[:8]) + (" ..." if len(numbers) > 8 else "")
            lines.append(f"{name:<24}{text:<24}{field.meaning}")
    return "\n".join(lines)


@cache
def _structure(layout: np.dtype) -> Any:
    """Return the ctypes structure with the same layout as a record."""
    fields: list[tuple[str, Any]] = []
    end = 0
    for name in layout.names or ():
        kind, offset = layout.fields[name][:2]  # type: ignore[index]
        if offset > end:
            fields.append((f"_padding_{end}", ctypes.c_uint8 * (offset - end)))
        fields.append((name, _ctype(kind)))
        end = offset + kind.itemsize
    if layout.itemsize > end:
        fields.append((f"_padding_{end}", ctypes.c_uint8 * (layout.itemsize - end)))
    # without __slots__ a field's name that is misspelt would become an attribute
    return type("View", (ctypes.Structure,), {"__slots__": (), "_pack_": 1, "_fields_": fields})


def _ctype(kind: np.dtype) -> Any:
    element = _structure(kind.base) if kind.base.names else np.ctypeslib.as_ctypes_type(kind.base)
    for length in reversed(kind.shape):
        element = element * length
    return element


class RecordType:
    """Annotation of a parameter that takes a record of `state`."""

    def __init__(self, state: State) -> None:
        self.state = state

    @cached_property
    def numba_type(self) -> Any:
        """Numba's type of such a record; imports Numba."""
        from gpusim.base.jit.operations_llvm import type_of_record

        return type_of_record(layout_of(self.state))


record_type = RecordType


class FloatType:
    """Annotation of a parameter that takes an FP64 number."""

    @cached_property
    def numba_type(self) -> Any:
        """Numba's type of such a number; imports Numba."""
        from numba import types

        return types.float64


float_type = FloatType()


class RecordAt(Intrinsic):
    """The operation (address, i) that returns record `i` of an array of records at an address."""

    def __init__(self, state: State, twin: Any) -> None:
        super().__init__(twin, _LLVM)
        self.state = state

    @cached_property
    def intrinsic(self) -> Any:
        """Numba's intrinsic of the operation; imports Numba."""
        from gpusim.base.jit.operations_llvm import record_at_intrinsic

        return record_at_intrinsic(layout_of(self.state))


def record_at(state: State) -> Any:
    """Return the function (address, i) that returns record `i` of an array of records at an address."""

    def at_python(address: int, i: int) -> Any:
        structure = _structure(layout_of(state))
        return structure.from_address(int(address) + int(i) * ctypes.sizeof(structure))

    return at_python if JIT_DISABLED else note_primitive(RecordAt(state, at_python))


@primitive(_LLVM)
def record_address(record: Any) -> int:
    """Return the address of a record."""
    return ctypes.addressof(record)
