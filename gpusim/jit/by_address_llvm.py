"""How the compiler makes the operations of `gpusim.jit.by_address`: an address taken for a pointer to a record."""

from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_I64 = ir.IntType(64)


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
