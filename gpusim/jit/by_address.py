"""Records that compiled code reaches by their address: state tables (`State`) beside the machine record.

What stands in several copies, or is handed over as an address (a context of the instruction set's interpreter, its
wavefronts, its program's instructions), is documented by a `State` like the machine's parts, and read like them:
after `wavefront_at = record_at(WAVEFRONT)`, `wavefront_at(address, slot).pc` is one load in compiled code. A function's
parameter that takes such a record is annotated with `record_type(WAVEFRONT)`.

Python lays records out with `records` and reads them with `views`, whose numbers are Python's and wrap at the width of
the field, as compiled code's do. With the JIT disabled `record_at` gives such views too.
"""

import ctypes
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gpusim.jit.compile import JIT_DISABLED
from gpusim.jit.state import HOST_LINE_BYTES, State

_layouts: dict[int, np.dtype] = {}  # by the identity of a State: they are constants of their modules


def layout_of(state: State) -> np.dtype:
    """The structured dtype of a state's records."""
    found = _layouts.get(id(state))
    if found is None:
        found = _layouts[id(state)] = state.dtype()
    return found


def records(state: State, count: int = 1) -> np.ndarray:
    """`count` zeroed records side by side; the first starts a line of the host's cache."""
    layout = layout_of(state)
    raw = np.zeros(count * layout.itemsize + HOST_LINE_BYTES, np.uint8)
    start = -raw.ctypes.data % HOST_LINE_BYTES
    return raw[start : start + count * layout.itemsize].view(layout)


def views(place: np.ndarray) -> Any:
    """The records of an array made by `records` as Python objects whose attributes are the fields."""
    return (_structure(place.dtype) * len(place)).from_buffer(place.view(np.uint8))


def record_text(state: State, view: Any) -> str:
    """A line for each field that holds a number other than 0: its name, value and meaning."""
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
    """The ctypes structure that lies as a record does."""
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


def offset_of(state: State, name: str) -> int:
    """Bytes from a record's start to a field."""
    return int(layout_of(state).fields[name][1])  # type: ignore[index]


if JIT_DISABLED:

    def record_type(state: State) -> Any:
        """What a parameter that takes a record of `state` is annotated with."""
        return Any

    def record_at(state: State) -> Any:
        """The function (address, i) that gives record `i` of those side by side at an address."""
        structure = _structure(layout_of(state))
        size = ctypes.sizeof(structure)

        def at_python(address: int, i: int) -> Any:
            return structure.from_address(int(address) + int(i) * size)

        return at_python

    def record_address(record: Any) -> int:
        """Address of a record."""
        return ctypes.addressof(record)

else:
    _I64 = ir.IntType(64)

    @cache
    def _numba_type(layout: np.dtype) -> Any:
        return numba.from_dtype(layout)

    def record_type(state: State) -> Any:
        """What a parameter that takes a record of `state` is annotated with."""
        return _numba_type(layout_of(state))

    def record_at(state: State) -> Any:
        """The function (address, i) that gives record `i` of those side by side at an address."""
        kind = record_type(state)
        size = layout_of(state).itemsize

        @intrinsic
        def at(typing_context, address, i):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
                offset = builder.mul(arguments[1], ir.Constant(_I64, size))
                return builder.inttoptr(builder.add(arguments[0], offset), context.get_value_type(kind))

            return kind(types.int64, types.int64), generate

        return at

    @intrinsic
    def record_address(typing_context, record):  # type: ignore[no-untyped-def]
        """Address of a record."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.ptrtoint(arguments[0], _I64)

        return types.int64(record), generate
