"""How the compiler makes the operations of `gpusim.jit.raw`: a few LLVM instructions each."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I64 = ir.IntType(64)


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
        kind = ir.FunctionType(ir.VoidType(), [pointer, *[ir.IntType(32)] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        write, locality, data = (ir.Constant(ir.IntType(32), n) for n in (1, 3, 1))
        builder.call(function, [builder.inttoptr(arguments[0], pointer), write, locality, data])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def quotient(typing_context, a, b):
    def generate(context, builder, signature, arguments):
        return builder.udiv(*arguments)

    return types.int64(types.int64, types.int64), generate


def call_by_address(builder: Any, arguments: Any) -> Any:
    """Call the int64 function at the first argument, an int64, with the others, int64 too."""
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
