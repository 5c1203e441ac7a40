"""How the compiler makes the operations of `isa.execution.data_movement`: bits as floating-point numbers."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


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
