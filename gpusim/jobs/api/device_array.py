"""Arrays in device memory, as scripts hold them."""

import math
import weakref
from typing import Any

import numpy as np

from gpusim.base.errors import UserError
from isa.device_memory import Allocation, DeviceMemory
from isa.kernarg import Pointer


class DeviceArrayError(UserError):
    """An array cannot be put on the device, was freed, or does not fit the values written to it."""


class DeviceArray:
    """An array in device memory: `shape`, `dtype`; in C order. Its memory is freed with it, or by `free`.

    A kernel that still uses the address of a freed array faults, or meets a later array in its place.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        host: np.ndarray | None,
        shape: tuple[int, ...],
        dtype: Any,
        name: str,
        writable: bool,
    ) -> None:
        self.dtype: np.dtype = np.dtype(dtype)
        self.shape, self.name = shape, str(name)
        if self.dtype.hasobject:
            raise DeviceArrayError(f"array '{name}': elements of type {self.dtype} are no plain memory")
        if self.size == 0:
            raise DeviceArrayError(f"array '{name}': shape {shape} has no elements")
        self._memory = memory
        if host is None:
            self._allocation: Allocation | None = memory.allocate(self.held_bytes, name, writable)
        else:
            self._allocation = memory.upload(np.ascontiguousarray(host), name, writable)
        self._finalizer = weakref.finalize(self, memory.free, self._allocation)
        self._finalizer.atexit = False

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def held_bytes(self) -> int:
        """Bytes of device memory."""
        return self.nbytes

    def argument(self) -> Any:
        """Return what a kernel's argument block says of the array."""
        return Pointer(self.address, self.dtype)

    @property
    def address(self) -> int:
        """Device address of the first byte."""
        return self._held().address

    def pointer(self, offset_bytes: int = 0) -> Pointer:
        """Return a kernel argument that points into the array, whatever the type of the kernel's elements."""
        if isinstance(offset_bytes, bool) or not isinstance(offset_bytes, int | np.integer):
            raise DeviceArrayError(f"array '{self.name}': offset_bytes: {offset_bytes!r} is not a whole number")
        if not 0 <= offset_bytes < self.nbytes:
            raise DeviceArrayError(f"array '{self.name}': offset {offset_bytes} of {self.nbytes} bytes")
        return Pointer(self.address + offset_bytes)

    def numpy(self) -> np.ndarray:
        """Return a copy of the contents; raise DeviceArrayError where a sampled launch has not computed all of them."""
        why = self._memory.explain_uncomputed(self._held())
        if why:
            raise DeviceArrayError(f"array '{self.name}': {why}")
        return self._view().copy()

    def write(self, host: Any) -> None:
        """Replace the contents by `host`, which must have the array's shape and type or be one number."""
        values = host_array(host)
        self._check(values)
        self._view()[...] = values
        self._memory.set_computed(self._held())

    def _check(self, host: np.ndarray) -> None:
        """Raise DeviceArrayError for a host array that is neither of the array's shape and type nor one number."""
        if not isinstance(host, np.ndarray):
            raise DeviceArrayError(f"array '{self.name}': a NumPy array is needed, not {type(host).__name__}")
        if host.ndim:
            self._check_like(host)
        elif host.dtype != self.dtype and not _holds(self.dtype, host):
            raise DeviceArrayError(f"array '{self.name}' holds {self.dtype}, which {host[()]!r} is not")

    def _check_like(self, other: "np.ndarray | DeviceArray") -> None:
        """Raise DeviceArrayError for an array of another shape or type."""
        if other.shape != self.shape or other.dtype != self.dtype:
            raise DeviceArrayError(
                f"array '{self.name}' holds {self.dtype} of shape {self.shape}, not {other.dtype} of {other.shape}"
            )

    def free(self) -> None:
        """Give the memory back."""
        self._held()
        self._finalizer()
        self._allocation = None

    def belongs_to(self, memory: DeviceMemory) -> bool:
        """Tell whether the array lies in this memory."""
        return self._memory is memory

    def _held(self) -> Allocation:
        if self._allocation is None:
            raise DeviceArrayError(f"array '{self.name}' was freed")
        return self._allocation

    def _view(self) -> np.ndarray:
        return self._memory.view(self._held(), self.dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self) -> str:
        where = "freed" if self._allocation is None else f"at {self.address:#x}"
        return f"<device array '{self.name}', {self.dtype} of shape {self.shape}, {where}>"


def host_array(host: Any) -> np.ndarray:
    """Return contents that a script passes as an array in the byte order of kernels; raise DeviceArrayError."""
    if isinstance(host, np.ma.MaskedArray):
        raise DeviceArrayError("host: a masked array; kernels know no masks: pass `.filled(value)` or `.data`")
    try:
        array = np.asarray(host)
    except (ValueError, TypeError, OverflowError) as error:
        raise DeviceArrayError(f"host: is no array: {str(error).splitlines()[0]}") from None
    return array.astype(_little_endian(array.dtype), copy=False)


def parse_dtype(dtype: Any) -> np.dtype:
    """Return NumPy's type of elements; raise DeviceArrayError."""
    try:
        parsed = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise DeviceArrayError(f"dtype: {dtype!r} is no type of elements: {error}") from None
    return _little_endian(parsed)


def _little_endian(dtype: np.dtype) -> np.dtype:
    """Return a type of elements with the byte order of AMD's GPUs."""
    return dtype.newbyteorder("<")


def parse_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple; raise DeviceArrayError."""
    whole = (shape,) if isinstance(shape, int | np.integer) else shape
    if not isinstance(whole, tuple | list) or not all(
        isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in whole
    ):
        raise DeviceArrayError(f"shape: {shape!r} is not one or several whole numbers of at least 1")
    return tuple(int(n) for n in whole)


def _holds(dtype: np.dtype, number: np.ndarray) -> bool:
    """Tell whether a number can be an element, which has to be exact if the elements are whole numbers."""
    if number.dtype.kind not in "biufc" or dtype.kind not in "biufc":
        return False
    if number.dtype.kind == "c":
        return dtype.kind == "c"
    if dtype.kind not in "iub":
        return True
    value = number[()]
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return bool(np.isfinite(value)) and int(value) == value and least <= int(value) <= most
