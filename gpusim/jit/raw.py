"""Raw memory access and bit counting, each with a Python twin for runs with the JIT disabled.

An address is an int64; `i` counts elements, not bytes. Whoever stores an address in a record keeps a Python
reference to the buffer behind it.
"""

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from gpusim.jit.compile import JIT_DISABLED, _python_callbacks, jit

_I64 = ir.IntType(64)


def address_of(array: np.ndarray) -> int:
    """Address of an array's first byte."""
    return int(array.ctypes.data)


def _loader(bits: int, signed: bool) -> Any:
    if JIT_DISABLED:
        at = getattr(ctypes, f"c_{'' if signed else 'u'}int{bits}").from_address
        size = bits // 8

        def load_python(base: int, i: int) -> int:
            return at(int(base) + int(i) * size).value

        return load_python

    @intrinsic
    def load(typing_context, base, i):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            pointer = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(bits)))
            value = builder.load(builder.gep(pointer, [arguments[1]], source_etype=ir.IntType(bits)))
            if bits == 64:
                return value
            return builder.sext(value, _I64) if signed else builder.zext(value, _I64)

        return types.int64(types.int64, types.int64), generate

    return load


def _storer(bits: int) -> Any:
    if JIT_DISABLED:
        at = getattr(ctypes, f"c_uint{bits}").from_address
        size = bits // 8
        mask = (1 << bits) - 1

        def store_python(base: int, i: int, value: int) -> None:
            at(int(base) + int(i) * size).value = int(value) & mask

        return store_python

    @intrinsic
    def store(typing_context, base, i, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            pointer = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(bits)))
            word = arguments[2] if bits == 64 else builder.trunc(arguments[2], ir.IntType(bits))
            builder.store(word, builder.gep(pointer, [arguments[1]], source_etype=ir.IntType(bits)))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return store


ld_u8, ld_u16, ld_u32 = _loader(8, False), _loader(16, False), _loader(32, False)
ld_i16, ld_i32, ld_i64 = _loader(16, True), _loader(32, True), _loader(64, True)
st_u8, st_i16, st_i32, st_i64 = _storer(8), _storer(16), _storer(32), _storer(64)


if JIT_DISABLED:

    def ctz(x: int) -> int:
        """Position of the lowest set bit of a non-zero word."""
        x = int(x)
        return (x & -x).bit_length() - 1

    def unlikely(condition: Any) -> bool:
        """The condition, of which it is known that it seldom holds: keeps what then happens out of the way."""
        return bool(condition)

    def prefetch(address: int) -> None:
        """Have the host bring the line at `address` into its cache: it will be needed soon."""

    def quotient(a: int, b: int) -> int:
        """a // b of a number that is not negative by one that is positive: without the cases that are excluded."""
        return int(a) // int(b)

    def popcount(x: int) -> int:
        """Number of set bits of a 64-bit word."""
        return (int(x) & 0xFFFF_FFFF_FFFF_FFFF).bit_count()

    def call_i64_4(address: int, a: int, b: int, c: int, d: int) -> int:
        """Call the int64 function of four int64 arguments at `address` (from `native_callback`)."""
        return int(_python_callbacks[int(address)](a, b, c, d))

else:

    @intrinsic
    def unlikely(typing_context, condition):  # type: ignore[no-untyped-def]
        """The condition, of which it is known that it seldom holds: keeps what then happens out of the way."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            bit = ir.IntType(1)
            holds = context.cast(builder, arguments[0], signature.args[0], types.boolean)
            expect = cgutils.get_or_insert_function(builder.module, ir.FunctionType(bit, [bit, bit]), "llvm.expect.i1")
            return builder.call(expect, [holds, ir.Constant(bit, 0)])

        return types.boolean(condition), generate

    @intrinsic
    def prefetch(typing_context, address):  # type: ignore[no-untyped-def]
        """Have the host bring the line at `address` into its cache: it will be needed soon."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            pointer = ir.PointerType(ir.IntType(8))
            kind = ir.FunctionType(ir.VoidType(), [pointer, *[ir.IntType(32)] * 3])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            write, locality, data = (ir.Constant(ir.IntType(32), n) for n in (1, 3, 1))
            builder.call(function, [builder.inttoptr(arguments[0], pointer), write, locality, data])
            return context.get_dummy_value()

        return types.void(types.int64), generate

    @intrinsic
    def quotient(typing_context, a, b):  # type: ignore[no-untyped-def]
        """a // b of a number that is not negative by one that is positive: without the cases that are excluded."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.udiv(*arguments)

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def popcount(typing_context, x):  # type: ignore[no-untyped-def]
        """Number of set bits of a 64-bit word."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), generate

    @jit
    def ctz(x):  # type: ignore[no-untyped-def]
        """Position of the lowest set bit of a non-zero word."""
        return trailing_zeros(x)

    @intrinsic
    def call_i64_4(typing_context, address, a, b, c, d):  # type: ignore[no-untyped-def]
        """Call the int64 function of four int64 arguments at `address` (from `native_callback`)."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            kind = ir.FunctionType(_I64, [_I64] * 4)
            function = builder.inttoptr(arguments[0], ir.PointerType(kind))
            return builder.call(ir_callee(function, kind), arguments[1:])

        return types.int64(*[types.int64] * 5), generate


@jit
def ctz_from(x, start):  # type: ignore[no-untyped-def]
    """Position of a non-zero word's lowest set bit from `start` on, of its lowest if there is none: round robin.

    start: 0 to 64, so that it may be one past the last position.
    """
    later = x >> (start & 63) << (start & 63)
    return ctz(later if later else x)


def ir_callee(function: Any, kind: Any) -> Any:
    """A callee value llvmlite accepts, whatever its pointer representation."""
    if not hasattr(function, "function_type"):
        function.function_type = kind
    return function
