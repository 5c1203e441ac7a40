"""How the compiler makes the operations of `isa.execution.data_movement`: bits as numbers, blocks of four by four."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from isa.architecture import ROW_BYTES

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_FOUR = ir.VectorType(_I32, 4)


def _places(builder: Any, addresses: Any) -> list[Any]:
    return [builder.inttoptr(address, ir.PointerType(_FOUR)) for address in addresses]


def _in_rows(builder: Any, row: Any) -> list[Any]:
    """Return the addresses of four lanes in each of four register rows."""
    return _places(builder, [builder.add(row, ir.Constant(_I64, k * ROW_BYTES)) for k in range(4)])


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of a block of four by four."""

    def shuffled(a: Any, b: Any, lanes: list[int]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(_FOUR, lanes))

    a, b, c, d = rows
    low, high = [0, 4, 1, 5], [2, 6, 3, 7]
    ab, cd, ab_high, cd_high = (shuffled(x, y, lanes) for lanes in (low, high) for x, y in ((a, b), (c, d)))
    halves = [0, 1, 4, 5], [2, 3, 6, 7]
    return [shuffled(x, y, lanes) for x, y in ((ab, cd), (ab_high, cd_high)) for lanes in halves]


def _moved(from_rows: bool) -> Any:
    @intrinsic
    def moved(typing_context, row, a, b, c, d):
        def generate(context, builder, signature, arguments):
            lanes, rows = _places(builder, arguments[1:]), _in_rows(builder, arguments[0])
            sources, targets = (rows, lanes) if from_rows else (lanes, rows)
            values = [builder.load(place, typ=_FOUR) for place in sources]
            for value in values:
                value.align = 4
            for value, place in zip(_turned(builder, values), targets, strict=True):
                builder.store(value, place, align=4)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return moved


load_block, store_block = _moved(from_rows=False), _moved(from_rows=True)


@intrinsic
def single(typing_context, bits):
    def generate(context, builder, signature, arguments):
        word = builder.trunc(arguments[0], ir.IntType(32))
        return builder.fpext(builder.bitcast(word, ir.FloatType()), ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def double(typing_context, bits):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def single_sum(typing_context, a, b):
    def generate(context, builder, signature, arguments):
        x, y = (builder.bitcast(builder.trunc(v, ir.IntType(32)), ir.FloatType()) for v in arguments)
        return builder.zext(builder.bitcast(builder.fadd(x, y), ir.IntType(32)), ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def single_bits(typing_context, value):
    def generate(context, builder, signature, arguments):
        rounded = builder.fptrunc(arguments[0], ir.FloatType())
        return builder.zext(builder.bitcast(rounded, ir.IntType(32)), ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def double_sum(typing_context, a, b):
    def generate(context, builder, signature, arguments):
        x, y = (builder.bitcast(v, ir.DoubleType()) for v in arguments)
        return builder.bitcast(builder.fadd(x, y), ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def half_pair_sum(typing_context, a, b):
    def generate(context, builder, signature, arguments):
        narrow, wide = ir.VectorType(ir.HalfType(), 2), ir.VectorType(ir.FloatType(), 2)
        word = ir.IntType(32)
        x, y = (builder.fpext(builder.bitcast(builder.trunc(v, word), narrow), wide) for v in arguments)
        rounded = builder.fptrunc(builder.fadd(x, y), narrow)
        return builder.zext(builder.bitcast(rounded, word), ir.IntType(64))

    return types.int64(types.int64, types.int64), generate
