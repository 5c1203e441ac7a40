"""Four 32-bit words at a time: how caches search their sets. Each with a Python twin for runs with the JIT disabled.

An address is an int64 (`address_in`, `address_of`); words are unsigned.
"""

import ctypes
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from gpusim.jit.compile import JIT_DISABLED

LANES = 4

if JIT_DISABLED:
    _Row = ctypes.c_uint32 * LANES

    def address_in(array: Any, i: int) -> int:
        """Address of element `i` of a record's one-dimensional array."""
        return int(array.ctypes.data) + int(i) * array.itemsize

    def equal_4(address: int, value: int) -> int:
        """Bit k is set if word k at `address` equals `value`."""
        row = _Row.from_address(int(address))
        return sum((word == int(value)) << k for k, word in enumerate(row))

    def least_4(address: int) -> int:
        """The least of the four words at `address`."""
        return min(_Row.from_address(int(address)))

else:
    _I32, _I64 = ir.IntType(32), ir.IntType(64)
    _VECTOR = ir.VectorType(_I32, LANES)

    def _load(builder: Any, address: Any) -> Any:
        value = builder.load(builder.inttoptr(address, ir.PointerType(_VECTOR)), typ=_VECTOR)
        value.align = 4
        return value

    def _shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(_I32, LANES), lanes)
        return builder.shuffle_vector(vector, ir.Constant(_VECTOR, ir.Undefined), mask)

    @intrinsic
    def address_in(typing_context, array, i):  # type: ignore[no-untyped-def]
        """Address of element `i` of a record's one-dimensional array."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            view = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(builder.gep(view.data, [arguments[1]]), _I64)

        return types.int64(array, types.int64), generate

    @intrinsic
    def equal_4(typing_context, address, value):  # type: ignore[no-untyped-def]
        """Bit k is set if word k at `address` equals `value`."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            words = _load(builder, arguments[0])
            word = builder.trunc(arguments[1], _I32)
            first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, ir.Constant(_I32, 0))
            same = builder.icmp_unsigned("==", words, _shuffled(builder, first, [0] * LANES))
            return builder.zext(builder.bitcast(same, ir.IntType(LANES)), _I64)

        return types.int64(types.int64, types.int64), generate

    @intrinsic
    def least_4(typing_context, address):  # type: ignore[no-untyped-def]
        """The least of the four words at `address`."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            words = _load(builder, arguments[0])
            for half in ([2, 3, 2, 3], [1, 1, 1, 1]):
                other = _shuffled(builder, words, half)
                words = builder.select(builder.icmp_unsigned("<", other, words), other, words)
            return builder.zext(builder.extract_element(words, ir.Constant(_I32, 0)), _I64)

        return types.int64(types.int64), generate
