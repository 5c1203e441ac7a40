"""Calls of library functions by address, from compiled code and from Python."""

import ctypes

from gpusim.base.jit import primitive
from isa.lanes.lane_library import python_operations

_VECTOR_ABI = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 6)
_SCALAR_ABI = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)

_operation = primitive("isa.lanes.call_llvm")


@_operation
def call_lane_op(address: int, d: int, a: int, b: int, c: int, exec_mask: int, mask_in: int) -> int:
    """Call a vector operation of the library; rows are addresses; returns the lane mask of the result."""
    return call_from_python(int(address), d, a, b, c, exec_mask, mask_in)


@_operation
def call_scalar_op(address: int, a: int, b: int, old_d: int, scc: int, out: int) -> int:
    """Call a scalar operation of the library; SCC goes to the int64 at address `out`."""
    return call_from_python(int(address), a, b, old_d, scc, out)


def call_from_python(address: int, *arguments: int) -> int:
    """Call an operation of either ABI from ordinary Python: six arguments for vectors, five for scalars."""
    if address in python_operations:
        return int(python_operations[address](*arguments))
    abi = _VECTOR_ABI if len(arguments) == 6 else _SCALAR_ABI
    return int(abi(address)(*arguments))
