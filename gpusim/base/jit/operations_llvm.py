"""How the compiler makes the operations of `gpusim.base.jit`, a few LLVM instructions each: on words (`raw`), and
on records (`by_address`), whose address is taken for a pointer to one.
"""

from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from gpusim.base.jit.raw import LANES, WIDE_LANES

_I32, _I64 = ir.IntType(32), ir.IntType(64)


def _loader(bits: int, signed: bool) -> Any:
    @intrinsic
    def load(typing_context, base, i):
        def generate(context, builder, signature, arguments):
            pointer = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(bits)))
            value = builder.load(builder.gep(pointer, [arguments[1]], source_etype=ir.IntType(bits)))
            if bits == 64:
                return value
            return builder.sext(value, _I64) if signed else builder.zext(value, _I64)

        return types.int64(types.int64, types.int64), generate

    return load


def _storer(bits: int) -> Any:
    @intrinsic
    def store(typing_context, base, i, value):
        def generate(context, builder, signature, arguments):
            pointer = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(bits)))
            word = arguments[2] if bits == 64 else builder.trunc(arguments[2], ir.IntType(bits))
            builder.store(word, builder.gep(pointer, [arguments[1]], source_etype=ir.IntType(bits)))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return store


ld_u8, ld_u16, ld_u32 = _loader(8, False), _loader(16, False), _loader(32, False)
ld_i16, ld_i32, ld_i64 = _loader(16, True), _loader(32, True), _loader(64, True)
st_u8, st_i16, st_i32, st_i64 = _storer(8), _storer(16), _storer(32), _storer(64)


@intrinsic
def ctz(typing_context, x):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


@intrinsic
def popcount(typing_context, x):
    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def prefetch(typing_context, address):
    def generate(context, builder, signature, arguments):
        pointer = ir.PointerType(ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [pointer, *[_I32] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        write, locality, data = (ir.Constant(_I32, n) for n in (1, 3, 1))
        builder.call(function, [builder.inttoptr(arguments[0], pointer), write, locality, data])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def quotient(typing_context, a, b):
    def generate(context, builder, signature, arguments):
        return builder.udiv(*arguments)

    return types.int64(types.int64, types.int64), generate


def call_by_address(builder: Any, arguments: Any) -> Any:
    """Call the int64 function at the first argument, an int64, with the others, int64 too.

    Args:
        builder: LLVM's builder.
        arguments: The address and its arguments.
    """
    kind = ir.FunctionType(_I64, [_I64] * (len(arguments) - 1))
    function = builder.inttoptr(arguments[0], ir.PointerType(kind))
    if not hasattr(function, "function_type"):
        function.function_type = kind  # a callee that llvmlite accepts, whatever its pointer representation
    return builder.call(function, arguments[1:])


@intrinsic
def call_i64_4(typing_context, address, a, b, c, d):
    def generate(context, builder, signature, arguments):
        return call_by_address(builder, arguments)

    return types.int64(*[types.int64] * 5), generate


@intrinsic
def load_acquire(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.load_atomic(builder.inttoptr(arguments[0], ir.PointerType(_I64)), "acquire", 8, typ=_I64)

    return types.int64(types.int64), generate


@intrinsic
def store_release(typing_context, address, value):
    def generate(context, builder, signature, arguments):
        word = builder.inttoptr(arguments[0], ir.PointerType(_I64))
        builder.store_atomic(arguments[1], word, "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def fetch_add(typing_context, address, amount):
    def generate(context, builder, signature, arguments):
        word = builder.inttoptr(arguments[0], ir.PointerType(_I64))
        return builder.atomic_rmw("add", word, arguments[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def compare_swap_u8(typing_context, address, expected, new):
    def generate(context, builder, signature, arguments):
        byte = ir.IntType(8)
        old, fresh = (builder.trunc(argument, byte) for argument in arguments[1:])
        pair = builder.cmpxchg(builder.inttoptr(arguments[0], ir.PointerType(byte)), old, fresh, "seq_cst", "seq_cst")
        return builder.zext(builder.extract_value(pair, 0), _I64)

    return types.int64(types.int64, types.int64, types.int64), generate


def _load(builder: Any, address: Any, lanes: int) -> Any:
    kind = ir.VectorType(_I32, lanes)
    value = builder.load(builder.inttoptr(address, ir.PointerType(kind)), typ=kind)
    value.align = 4
    return value


def _shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


@intrinsic
def address_in(typing_context, array, i):
    def generate(context, builder, signature, arguments):
        view = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(builder.gep(view.data, [arguments[1]]), _I64)

    return types.int64(array, types.int64), generate


def _equal(lanes: int) -> Any:
    @intrinsic
    def equal(typing_context, address, value):
        def generate(context, builder, signature, arguments):
            words = _load(builder, arguments[0], lanes)
            word = builder.trunc(arguments[1], _I32)
            first = builder.insert_element(ir.Constant(words.type, ir.Undefined), word, ir.Constant(_I32, 0))
            same = builder.icmp_unsigned("==", words, _shuffled(builder, first, [0] * lanes))
            return builder.zext(builder.bitcast(same, ir.IntType(lanes)), _I64)

        return types.int64(types.int64, types.int64), generate

    return equal


def _least(lanes: int) -> Any:
    @intrinsic
    def least(typing_context, address):
        def generate(context, builder, signature, arguments):
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


@intrinsic
def any_32(typing_context, address):
    def generate(context, builder, signature, arguments):
        start = arguments[0]
        parts = [_load(builder, builder.add(start, ir.Constant(_I64, 32 * part)), 8) for part in range(4)]
        words = builder.or_(builder.or_(parts[0], parts[1]), builder.or_(parts[2], parts[3]))
        whole = ir.IntType(256)  # such a word is compared with 0 in one instruction
        there = builder.icmp_unsigned("!=", builder.bitcast(words, whole), ir.Constant(whole, 0))
        return builder.zext(there, _I64)

    return types.int64(types.int64), generate


@intrinsic
def raise_4(typing_context, address, other, amount):
    def generate(context, builder, signature, arguments):
        kind = ir.VectorType(_I64, 4)
        target = builder.inttoptr(arguments[0], ir.PointerType(kind))
        words = builder.load(target, typ=kind)
        more = builder.load(builder.inttoptr(arguments[1], ir.PointerType(kind)), typ=kind)
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


@cache
def type_of_record(layout: np.dtype) -> Any:
    """Return Numba's type of a record."""
    return numba.from_dtype(layout)


@cache
def record_at_intrinsic(layout: np.dtype) -> Any:
    """Return the intrinsic (address, i) for records of this layout."""
    kind = type_of_record(layout)

    @intrinsic
    def at(typing_context, address, i):
        def generate(context, builder, signature, arguments):
            offset = builder.mul(arguments[1], ir.Constant(_I64, layout.itemsize))
            return builder.inttoptr(builder.add(arguments[0], offset), context.get_value_type(kind))

        return kind(types.int64, types.int64), generate

    return at


@intrinsic
def record_address(typing_context, record):
    def generate(context, builder, signature, arguments):
        return builder.ptrtoint(arguments[0], _I64)

    return types.int64(record), generate
