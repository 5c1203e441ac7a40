"""Sparse regions of Python programs under `gpusim hip --engine`, on whose path this is the module `gpusim_spartan`.

with gpusim_spartan.region(matrix) as served:
    kernel(grid, block, arguments)

While a region is declared, marked loads of it (64 bits, non-temporal) bring a bundle of the compacted line and the
line's status, in place of two of its elements.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from typing import Any

_ELEMENT_BYTES = 4


def _runtime_library() -> ctypes.CDLL:
    """Return the runtime library that the program has loaded: a second one would be another process's to gpusim."""
    for release in (5, 6, 7):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(f"libamdhip64.so.{release}", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    raise ValueError("no array is in device memory yet: the program has not loaded HIP's library")


@contextlib.contextmanager
def region(matrix: Any) -> Iterator[bool]:
    """Declare a dense FP32 matrix in device memory as sparse, for as long as the `with` statement lasts.

    Args:
        matrix: Array of CuPy, of two dimensions, whose columns are contiguous and begin at multiples of 64 bytes.

    Yields:
        Whether an engine serves its marked loads; False with `--engine off`.

    Raises:
        ValueError: The array is of another kind, or the simulator refuses it.
    """
    shape, strides, address = matrix.shape, matrix.strides, matrix.data.ptr
    if matrix.dtype != "float32" or len(shape) != 2 or strides[0] != _ELEMENT_BYTES:
        raise ValueError(f"a sparse region is an FP32 matrix in Fortran's order, not {matrix.dtype} {shape} {strides}")
    library, served = _runtime_library(), ctypes.c_uint32()
    values = [ctypes.c_uint64(value) for value in (address, *shape, strides[1] // _ELEMENT_BYTES)]
    if library.gpusim_sparse_region(*values, ctypes.byref(served)):
        raise ValueError(f"a matrix of {shape} cannot be a sparse region; the simulator says why")
    try:
        yield bool(served.value)
    finally:
        zero = ctypes.c_uint64(0)
        library.gpusim_sparse_region(values[0], zero, zero, zero, None)
