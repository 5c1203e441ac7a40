"""Calls of library functions by address, from compiled code and from Python."""

import ctypes
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gpusim.jit import JIT_DISABLED
from gpusim.jit.raw import ir_callee
from isa.lanes.lane_library import python_operations

_I64 = ir.IntType(64)
_VECTOR_ABI = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 6)
_SCALAR_ABI = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)


def _generate(builder: Any, arguments: Any) -> Any:
    kind = ir.FunctionType(_I64, [_I64] * (len(arguments) - 1))
    function = builder.inttoptr(arguments[0], ir.PointerType(kind))
    return builder.call(ir_callee(function, kind), arguments[1:])


if JIT_DISABLED:

    def call_lane_op(address: int, d: int, a: int, b: int, c: int, exec_mask: int, mask_in: int) -> int:
        """Call a vector operation of the library; rows are addresses, the lane mask of the result is returned."""
        return int(python_operations[int(address)](d, a, b, c, exec_mask, mask_in))

    def call_scalar_op(address: int, a: int, b: int, old_d: int, scc: int, out: int) -> int:
        """Call a scalar operation of the library; SCC goes to the int64 at address `out`."""
        return int(python_operations[int(address)](a, b, old_d, scc, out))

else:

    @intrinsic
    def call_lane_op(typing_context, address, d, a, b, c, exec_mask, mask_in):  # type: ignore[no-untyped-def]
        """Call a vector operation of the library; rows are addresses, the lane mask of the result is returned."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _generate(builder, arguments)

        return types.int64(*[types.int64] * 7), generate

    @intrinsic
    def call_scalar_op(typing_context, address, a, b, old_d, scc, out):  # type: ignore[no-untyped-def]
        """Call a scalar operation of the library; SCC goes to the int64 at address `out`."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _generate(builder, arguments)

        return types.int64(*[types.int64] * 6), generate


def call_from_python(address: int, *arguments: int) -> int:
    """Call an operation of either ABI from ordinary Python: six arguments for vectors, five for scalars."""
    if address in python_operations:
        return int(python_operations[address](*arguments))
    abi = _VECTOR_ABI if len(arguments) == 6 else _SCALAR_ABI
    return int(abi(address)(*arguments))
