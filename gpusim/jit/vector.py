"""Several words at a time, as caches search their sets (32-bit words, unsigned) and DRAM applies its timing rules
(64-bit words, signed): what Python makes of it.

`vector_llvm` has the compiler's side. An address is an int64 (`address_in`, `address_of`).
"""

import ctypes
from typing import Any

from gpusim.jit.functions import primitive

LANES = 4  # the fewest that are searched at a time
WIDE_LANES = 16

_operation = primitive("gpusim.jit.vector_llvm")


@_operation
def address_in(array: Any, i: int) -> int:
    """Return the address of element `i` of a record's one-dimensional array."""
    return int(array.ctypes.data) + int(i) * array.itemsize


def _row(address: int, lanes: int) -> Any:
    return (ctypes.c_uint32 * lanes).from_address(int(address))


@_operation
def equal_4(address: int, value: int) -> int:
    """Return a mask in which bit k is set if word k of the four at `address` equals `value`."""
    return sum((word == int(value)) << k for k, word in enumerate(_row(address, LANES)))


@_operation
def equal_16(address: int, value: int) -> int:
    """Return a mask in which bit k is set if word k of the sixteen at `address` equals `value`."""
    return sum((word == int(value)) << k for k, word in enumerate(_row(address, WIDE_LANES)))


@_operation
def least_4(address: int) -> int:
    """Return the least of the four words at `address`."""
    return min(_row(address, LANES))


@_operation
def least_16(address: int) -> int:
    """Return the least of the sixteen words at `address`."""
    return min(_row(address, WIDE_LANES))


@_operation
def raise_4(address: int, other: int, amount: int) -> None:
    """Raise each of the four int64 at `address` to the one at `other` plus `amount`, unless it is larger already."""
    words = (ctypes.c_int64 * 4).from_address(int(address))
    for k, more in enumerate((ctypes.c_int64 * 4).from_address(int(other))):
        words[k] = max(words[k], more + int(amount))
