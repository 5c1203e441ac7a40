"""Scalar memory: SMEM loads, stores and clocks, checked, executed and recorded in the trace.

Functions return the words they added to the memory record at `out`, or a negative fault code. Addresses ignore
their two low bits; a buffer access after the resource's end loads 0 and stores nothing, dword by dword.
"""

from gpusim.base.jit import jit, ld_i64, ld_u32, st_i32, st_i64
from isa.device_memory import READABLE, WRITABLE
from isa.execution.coalescing import add_access, begin_lines
from isa.execution.codes import Access, ScalarForm
from isa.execution.memory_access import check_access, write_lines
from isa.execution.program_table import ProgramRow
from isa.execution.state import Context, work_at
from isa.trace import RECORD_SCALAR, RECORD_STORE


@jit
def scalar_access(context: Context, scalars, row: ProgramRow, out):
    """Execute an SMEM instruction."""
    form = row.scalar_form
    data = scalars + row.destination
    if form == ScalarForm.CLOCK or form == ScalarForm.CACHE_CONTROL:
        if form == ScalarForm.CLOCK:
            st_i64(data, 0, context.executed)
        st_i64(out, 0, RECORD_SCALAR)
        return 1
    work = work_at(context.work, 0)
    source = scalars + row.resource
    offset = row.offset
    if row.scalar_offset >= 0:
        offset += ld_u32(scalars + row.scalar_offset, 0)
    dwords = row.size >> 2
    address = ld_i64(source, 0)
    inside = dwords
    if form == ScalarForm.BUFFER:
        word1 = ld_u32(source, 1)
        address = ld_u32(source, 0) | ((word1 & 0xFFFF) << 32)
        stride = (word1 >> 16) & 0x3FFF
        limit = ld_u32(source, 2) * (stride if stride else 1)
        inside = (limit - (offset & ~3)) >> 2
        inside = 0 if inside < 0 else (dwords if inside > dwords else inside)
    address = (address + offset) & ~3
    loads = row.access == Access.LOAD
    begin_lines(work)
    count = 0
    if inside:
        code = check_access(context, -1, address, 4 * inside, READABLE if loads else WRITABLE)
        if code < 0:
            return code
        count = add_access(work, count, address, 4 * inside, 0)
    host = context.image - context.memory_base + address
    if loads:
        for d in range(dwords):
            st_i32(data, d, ld_u32(host, d) if d < inside else 0)
        return write_lines(work, out, count, 0, RECORD_SCALAR)
    for d in range(inside):
        st_i32(host, d, ld_u32(data, d))
    return write_lines(work, out, count, 0, RECORD_SCALAR | RECORD_STORE)
