"""Raw memory access, a word or several at a time, and bit counting: what Python makes of each; `operations_llvm` has
the compiler's side.

An address is an int64 (`address_of`, `address_in`); `i` counts elements, not bytes. Whoever stores an address in a
record keeps a Python reference to the buffer behind it. Caches search their sets by several 32-bit words, unsigned, at
a time; DRAM applies its timing rules to 64-bit words, signed.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.base.jit.functions import jit, primitive, python_callback

_operation = primitive("gpusim.base.jit.operations_llvm")

LANES = 4  # the fewest words that are searched at a time
WIDE_LANES = 16
ONE = np.int64(1)  # ONE << 63 is a word, which plain Python's 1 << 63 is not


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's first byte."""
    return int(array.ctypes.data)


def _loader(name: str, bits: int, signed: bool) -> Callable[[int, int], int]:
    at = getattr(ctypes, f"c_{'' if signed else 'u'}int{bits}").from_address
    size = bits // 8

    def load(base: int, i: int) -> int:
        return at(int(base) + int(i) * size).value

    load.__name__ = name
    return _operation(load)


def _storer(name: str, bits: int) -> Callable[[int, int, int], None]:
    at = getattr(ctypes, f"c_uint{bits}").from_address
    size = bits // 8
    mask = (1 << bits) - 1

    def store(base: int, i: int, value: int) -> None:
        at(int(base) + int(i) * size).value = int(value) & mask

    store.__name__ = name
    return _operation(store)


ld_u8, ld_u16, ld_u32 = _loader("ld_u8", 8, False), _loader("ld_u16", 16, False), _loader("ld_u32", 32, False)
ld_i16, ld_i32, ld_i64 = _loader("ld_i16", 16, True), _loader("ld_i32", 32, True), _loader("ld_i64", 64, True)
st_u8, st_i16, st_i32, st_i64 = (_storer(f"st_{n}", int(n[1:])) for n in ("u8", "i16", "i32", "i64"))


@_operation
def ctz(x: int) -> int:
    """Return the position of the lowest set bit of a non-zero word."""
    x = int(x)
    return (x & -x).bit_length() - 1


@_operation
def popcount(x: int) -> int:
    """Return the number of set bits of a 64-bit word."""
    return (int(x) & 0xFFFF_FFFF_FFFF_FFFF).bit_count()


@_operation
def prefetch(address: int) -> None:
    """Have the host fetch the line at `address` into its cache, since it will be needed soon."""


@_operation
def quotient(a: int, b: int) -> int:
    """Return a // b for a >= 0 and b > 0, for which no other cases have to be tested."""
    return int(a) // int(b)


@_operation
def call_i64_4(address: int, a: int, b: int, c: int, d: int) -> int:
    """Call the int64 function of four int64 arguments at `address` (from `function_address`)."""
    return int(python_callback(int(address))(a, b, c, d))


@jit
def ctz_from(x, start):
    """Return the position of a non-zero word's lowest set bit from `start` on, else of its lowest: round robin.

    start: 0 to 64, so that it may be one past the last position.
    """
    later = x >> (start & 63) << (start & 63)
    return ctz(later if later else x)


@_operation
def fetch_add(address: int, amount: int) -> int:
    """Add to the int64 at `address`, as one step for all threads; return its value before."""
    word = ctypes.c_int64.from_address(int(address))
    before = word.value
    word.value = before + int(amount)
    return before


@_operation
def load_acquire(address: int) -> int:
    """Return the int64 at `address`: what its writer stored before `store_release` of it is there, too."""
    return ctypes.c_int64.from_address(int(address)).value


@_operation
def store_release(address: int, value: int) -> None:
    """Store an int64 at `address`, for another thread's `load_acquire`, after all that was stored before."""
    ctypes.c_int64.from_address(int(address)).value = int(value)


@_operation
def compare_swap_u8(address: int, expected: int, new: int) -> int:
    """Replace the byte at `address` if it is `expected`, as one step for all threads; return its value before."""
    byte = ctypes.c_uint8.from_address(int(address))
    before = byte.value
    if before == int(expected):
        byte.value = int(new)
    return before


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
def any_32(address: int) -> int:
    """Return 1 if one of the 32 words at `address` is not 0, else 0."""
    return int(any(_row(address, 32)))


@_operation
def raise_4(address: int, other: int, amount: int) -> None:
    """Raise each of the four int64 at `address` to the one at `other` plus `amount`, unless it is larger already."""
    words = (ctypes.c_int64 * 4).from_address(int(address))
    for k, more in enumerate((ctypes.c_int64 * 4).from_address(int(other))):
        words[k] = max(words[k], more + int(amount))
