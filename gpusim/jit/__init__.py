"""What the compiled core is written with: the decorator, state tables, raw memory access.

Rooms below (`isa`, `memory`, `spartan`) and the core import from here and from nowhere else in `gpusim`.
"""

from gpusim.jit.cache import cache_dir
from gpusim.jit.compile import (
    JIT_DISABLED,
    compile_all,
    compile_functions,
    compiled_versions,
    is_compiled,
    jit,
    native_callback,
    registered,
    split,
)
from gpusim.jit.raw import (
    address_of,
    call_i64_4,
    ctz,
    inlined,
    ld_i16,
    ld_i32,
    ld_i64,
    ld_u8,
    ld_u16,
    ld_u32,
    outlined,
    popcount,
    prefetch,
    st_i16,
    st_i32,
    st_i64,
    st_u8,
)
from gpusim.jit.state import Field, State, i32, new_record, record_dtype, u16, u32
from gpusim.jit.vector import LANES, address_in, equal_4, least_4

__all__ = [
    "Field",
    "JIT_DISABLED",
    "LANES",
    "State",
    "address_in",
    "address_of",
    "cache_dir",
    "call_i64_4",
    "compile_all",
    "compile_functions",
    "compiled_versions",
    "ctz",
    "equal_4",
    "i32",
    "inlined",
    "is_compiled",
    "jit",
    "ld_i16",
    "ld_i32",
    "ld_i64",
    "ld_u16",
    "ld_u32",
    "ld_u8",
    "least_4",
    "native_callback",
    "new_record",
    "outlined",
    "popcount",
    "prefetch",
    "record_dtype",
    "registered",
    "split",
    "st_i16",
    "st_i32",
    "st_i64",
    "st_u8",
    "u16",
    "u32",
]
