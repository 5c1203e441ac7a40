"""Several words at a time: how caches search their sets (32-bit words, unsigned) and DRAM applies its timing rules
(64-bit words, signed). Each with a Python twin for runs with the JIT disabled.

An address is an int64 (`address_in`, `address_of`).
"""

import ctypes
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from gpusim.jit.compile import JIT_DISABLED

LANES = 4  # the fewest that are searched at a time
WIDE_LANES = 16

if JIT_DISABLED:

    def address_in(array: Any, i: int) -> int:
        """Address of element `i` of a record's one-dimensional array."""
        return int(array.ctypes.data) + int(i) * array.itemsize

    def _row(address: int, lanes: int) -> Any:
        return (ctypes.c_uint32 * lanes).from_address(int(address))

    def equal_4(address: int, value: int) -> int:
        """Bit k is set if word k of four at `address` equals `value`."""
        return sum((word == int(value)) << k for k, word in enumerate(_row(address, LANES)))

    def equal_16(address: int, value: int) -> int:
        """Bit k is set if word k of sixteen at `address` equals `value`."""
        return sum((word == int(value)) << k for k, word in enumerate(_row(address, WIDE_LANES)))

    def least_4(address: int) -> int:
        """The least of the four words at `address`."""
        return min(_row(address, LANES))

    def least_16(address: int) -> int:
        """The least of the sixteen words at `address`."""
        return min(_row(address, WIDE_LANES))

    def raise_4(address: int, other: int, amount: int) -> None:
        """Raise each of the four int64 at `address` to that at `other` plus `amount` where it is less."""
        words = (ctypes.c_int64 * 4).from_address(int(address))
        for k, more in enumerate((ctypes.c_int64 * 4).from_address(int(other))):
            words[k] = max(words[k], more + int(amount))

else:
    _I32, _I64 = ir.IntType(32), ir.IntType(64)

    def _load(builder: Any, address: Any, lanes: int) -> Any:
        kind = ir.VectorType(_I32, lanes)
        value = builder.load(builder.inttoptr(address, ir.PointerType(kind)), typ=kind)
        value.align = 4
        return value

    def _shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
        return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)

    @intrinsic
    def address_in(typing_context, array, i):  # type: ignore[no-untyped-def]
        """Address of element `i` of a record's one-dimensional array."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            view = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(builder.gep(view.data, [arguments[1]]), _I64)

        return types.int64(array, types.int64), generate

    def _equal(lanes: int) -> Any:
        @intrinsic
        def equal(typing_context, address, value):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
                words = _load(builder, arguments[0], lanes)
                word = builder.trunc(arguments[1], _I32)
                first = builder.insert_element(ir.Constant(words.type, ir.Undefined), word, ir.Constant(_I32, 0))
                same = builder.icmp_unsigned("==", words, _shuffled(builder, first, [0] * lanes))
                return builder.zext(builder.bitcast(same, ir.IntType(lanes)), _I64)

            return types.int64(types.int64, types.int64), generate

        return equal

    def _least(lanes: int) -> Any:
        @intrinsic
        def least(typing_context, address):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
                words = _load(builder, arguments[0], lanes)
                half = lanes // 2
                while half:
                    other = _shuffled(builder, words, list(range(half, 2 * half)))
                    words = _shuffled(builder, words, list(range(half)))
                    words = builder.select(builder.icmp_unsigned("<", other, words), other, words)
                    half //= 2
                return builder.zext(builder.extract_element(words, ir.Constant(_I32, 0)), _I64)

            return types.int64(types.int64), generate

        return least

    equal_4, equal_16 = _equal(LANES), _equal(WIDE_LANES)
    least_4, least_16 = _least(LANES), _least(WIDE_LANES)

    def _four(builder: Any, address: Any) -> Any:
        kind = ir.VectorType(_I64, 4)
        return builder.inttoptr(address, ir.PointerType(kind)), kind

    @intrinsic
    def raise_4(typing_context, address, other, amount):  # type: ignore[no-untyped-def]
        """Raise each of the four int64 at `address` to that at `other` plus `amount` where it is less."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            target, kind = _four(builder, arguments[0])
            source, _ = _four(builder, arguments[1])
            words = builder.load(target, typ=kind)
            more = builder.load(source, typ=kind)
            words.align = more.align = 8
            first = builder.insert_element(ir.Constant(kind, ir.Undefined), arguments[2], ir.Constant(_I32, 0))
            more = builder.add(more, _shuffled(builder, first, [0] * 4))
            # a sum, not a choice: of a choice between new and old the compiler makes a masked store, slow on some hosts
            above = builder.sub(more, words)
            none = ir.Constant(kind, [0] * 4)
            above = builder.select(builder.icmp_signed(">", above, none), above, none)
            builder.store(builder.add(words, above), target, align=8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate
