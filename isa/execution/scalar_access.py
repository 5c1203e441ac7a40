"""Scalar memory: SMEM loads, stores and clocks, checked, executed and recorded in the trace.

Functions return the words they added to the memory record at `out`, or a negative fault code. Addresses ignore
their two low bits; a buffer access behind the resource's end loads 0 and stores nothing, dword by dword.
"""

from gpusim.jit import jit, ld_i64, ld_u32, st_i32, st_i64
from isa.device_memory import READABLE, WRITABLE
from isa.execution.coalescing import add_access, begin_lines
from isa.execution.layout import (
    C_IMAGE,
    C_MEMORY_BASE,
    C_WORK,
    LOAD,
    M_BYTES,
    M_CLASS,
    M_OFFSET,
    M_SBASE,
    M_SDATA,
    M_SOFFSET,
    M_SUBKIND,
)
from isa.execution.memory_access import check_access, write_lines
from isa.trace import RECORD_SCALAR, RECORD_STORE

SMEM_PLAIN, SMEM_BUFFER, SMEM_CLOCK, SMEM_CACHE = range(4)


@jit
def scalar_access(ctx, sb, row, clock, out):
    """Execute an SMEM instruction; `clock` is what s_memtime reads."""
    kind = ld_i64(row, M_SUBKIND)
    data = sb + ld_i64(row, M_SDATA)
    if kind == SMEM_CLOCK or kind == SMEM_CACHE:
        if kind == SMEM_CLOCK:
            st_i64(data, 0, clock)
        st_i64(out, 0, RECORD_SCALAR)
        return 1
    work = ld_i64(ctx, C_WORK)
    source = sb + ld_i64(row, M_SBASE)
    soffset = ld_i64(row, M_SOFFSET)
    offset = ld_u32(sb + soffset, 0) if soffset >= 0 else ld_i64(row, M_OFFSET)
    dwords = ld_i64(row, M_BYTES) >> 2
    address = ld_i64(source, 0)
    inside = dwords
    if kind == SMEM_BUFFER:
        word1 = ld_u32(source, 1)
        address = ld_u32(source, 0) | ((word1 & 0xFFFF) << 32)
        stride = (word1 >> 16) & 0x3FFF
        limit = ld_u32(source, 2) * (stride if stride else 1)
        inside = (limit - (offset & ~3)) >> 2
        inside = 0 if inside < 0 else (dwords if inside > dwords else inside)
    address = (address + offset) & ~3
    loads = ld_i64(row, M_CLASS) == LOAD
    begin_lines(work)
    count = 0
    if inside:
        code = check_access(ctx, -1, address, 4 * inside, READABLE if loads else WRITABLE)
        if code < 0:
            return code
        count = add_access(work, count, address, 4 * inside)
    host = ld_i64(ctx, C_IMAGE) - ld_i64(ctx, C_MEMORY_BASE) + address
    if loads:
        for d in range(dwords):
            st_i32(data, d, ld_u32(host, d) if d < inside else 0)
        return write_lines(work, out, count, 0, RECORD_SCALAR)
    for d in range(inside):
        st_i32(host, d, ld_u32(data, d))
    return write_lines(work, out, count, 0, RECORD_SCALAR | RECORD_STORE)
