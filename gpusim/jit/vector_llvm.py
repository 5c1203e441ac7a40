"""How the compiler makes the operations of `gpusim.jit.vector`: vector instructions of LLVM's."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from gpusim.jit.vector import LANES, WIDE_LANES

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
