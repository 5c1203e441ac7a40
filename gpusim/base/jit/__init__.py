"""What the compiled core is written with: the decorator, state tables, raw memory access.

Packages below (`isa`, `memory`, `spartan`) and the core import from here. Nothing here imports the compiler, Numba:
that is `gpusim.base.jit.compile`, which is imported to compile and for nothing else.

Why so: units are Python functions compiled by Numba over one record, which also run in plain Python, where tests and a
debugger reach them. Another language was refused, as it needs a compiler at each installation; so were sizes known to
the compiler, as each configuration would be compiled anew (docs/decisions/0002).
"""

from gpusim.base.jit.by_address import (
    float_type,
    layout_of,
    offset_of,
    record_address,
    record_at,
    record_text,
    record_type,
    records,
    views,
)
from gpusim.base.jit.entry_points import load
from gpusim.base.jit.functions import JIT_DISABLED, CoreFunction, function_address, jit, primitive, registered
from gpusim.base.jit.machine import Machine
from gpusim.base.jit.raw import (
    LANES,
    ONE,
    WIDE_LANES,
    address_in,
    address_of,
    any_32,
    call_i64_4,
    compare_swap_u8,
    ctz,
    ctz_from,
    equal_4,
    equal_16,
    fetch_add,
    ld_i16,
    ld_i32,
    ld_i64,
    ld_u8,
    ld_u16,
    ld_u32,
    least_4,
    least_16,
    load_acquire,
    popcount,
    prefetch,
    quotient,
    raise_4,
    st_i16,
    st_i32,
    st_i64,
    st_u8,
    store_release,
)
from gpusim.base.jit.state import (
    Field,
    RecordTemplate,
    State,
    counter_fields,
    i16,
    i32,
    new_record,
    record_dtype,
    u16,
    u32,
)
