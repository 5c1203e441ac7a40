"""What the compiled core is written with: the decorator, state tables, raw memory access.

Rooms below (`isa`, `memory`, `spartan`) and the core import from here. Nothing here imports the compiler, Numba: that
is `gpusim.jit.compile`, which is imported to compile and for nothing else.
"""

from gpusim.jit.cache import cache_dir
from gpusim.jit.entry_points import is_compiled, load
from gpusim.jit.functions import JIT_DISABLED, CoreFunction, function_address, jit, primitive, registered
from gpusim.jit.raw import (
    address_of,
    call_i64_4,
    ctz,
    ctz_from,
    ld_i16,
    ld_i32,
    ld_i64,
    ld_u8,
    ld_u16,
    ld_u32,
    popcount,
    prefetch,
    quotient,
    st_i16,
    st_i32,
    st_i64,
    st_u8,
    unlikely,
)
from gpusim.jit.state import Field, State, Template, counter_fields, i16, i32, new_record, record_dtype, u16, u32
from gpusim.jit.vector import LANES, WIDE_LANES, address_in, equal_4, equal_16, least_4, least_16

__all__ = [
    "CoreFunction",
    "Field",
    "JIT_DISABLED",
    "LANES",
    "State",
    "Template",
    "WIDE_LANES",
    "address_in",
    "address_of",
    "cache_dir",
    "call_i64_4",
    "counter_fields",
    "ctz",
    "ctz_from",
    "equal_16",
    "equal_4",
    "function_address",
    "i16",
    "i32",
    "is_compiled",
    "jit",
    "ld_i16",
    "ld_i32",
    "ld_i64",
    "ld_u16",
    "ld_u32",
    "ld_u8",
    "least_16",
    "least_4",
    "load",
    "new_record",
    "popcount",
    "prefetch",
    "primitive",
    "quotient",
    "record_dtype",
    "registered",
    "st_i16",
    "st_i32",
    "st_i64",
    "st_u8",
    "u16",
    "u32",
    "unlikely",
]
