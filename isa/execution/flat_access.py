"""FLAT loads, stores and atomics, and sparse loads: checked, executed and recorded in the trace.

Functions return the words they added to the memory record at `out`, or a negative fault code.
"""

from gpusim.base.jit import call_i64_4, ctz, jit, ld_i32, ld_i64, ld_u8, ld_u32, record_address, st_i32, st_i64
from isa.architecture import FLAT_SCRATCH, LANES, ROW_BYTES
from isa.device_memory import PARTIAL, READABLE, WRITABLE
from isa.execution.coalescing import LINE_BITS, add_access, begin_lines, flat_addresses, note_line_pattern, path_cycles
from isa.execution.codes import Access
from isa.execution.data_movement import atomic_at, copy_row, gather, scatter
from isa.execution.faults import FAULT_LDS, FAULT_LINES, FAULT_MISALIGNED, FAULT_PRIVATE, FAULT_SPARSE
from isa.execution.lds_access import access_beyond
from isa.execution.memory_access import (
    act_on_lane,
    check_access,
    fault,
    move_private,
    private_place,
    private_start,
    record_flags,
    write_lines,
)
from isa.execution.program_table import ProgramRow, row_at
from isa.execution.state import PATTERN_WAYS, Context, Pattern, Wavefront, context_at, pattern_at, wavefront_at, work_at
from isa.execution.watch import note_pattern_lines
from isa.trace import BUSY_SHIFT, LEAST_SHIFT, LINE_BYTES, LINE_SPARSE, RECORD_LDS


@jit
def access_lanes(context_address, slot, row_address, out):
    """Execute a flat access lane by lane: mixed address spaces, lines that end inside, and the exact fault.

    Addresses and lanes are in the work area. The function is called by address, so that it is compiled once, not once
    more inside everything that can call it.
    """
    context = context_at(context_address, 0)
    row = row_at(row_address, 0)
    work = work_at(context.work, 0)
    active = work.active
    wave = wavefront_at(context.wavefronts, slot)
    vectors = wave.vectors
    scalars = wave.scalars
    kind = row.access
    size = row.size
    need = READABLE if kind == Access.LOAD else WRITABLE
    host = context.image - context.memory_base
    lds = context.lds + wave.workgroup_slot * context.lds_stride
    begin_lines(work)
    count = 0
    in_memory = 0
    for i in range(LANES):
        if (active >> i) & 1 == 0:
            continue
        address = work.address[i]
        low = address & 0xFFFF_FFFF
        if kind == Access.ATOMIC and address & (size - 1):
            return fault(context, FAULT_MISALIGNED, i, address, size)
        if address >> 32 == context.shared_aperture:
            if low + size > context.lds_bytes:
                if context.drops_lds == 0:
                    return fault(context, FAULT_LDS, i, low, size)
                access_beyond(context, wave, row, i, low, vectors + row.data, vectors + row.destination)
                continue
            act_on_lane(context, vectors, row, i, lds + low)
            continue
        in_memory = 1
        if address >> 32 == context.private_aperture:
            limit = context.flat_scratch_bytes if context.flat_scratch_bytes else ld_u32(scalars, FLAT_SCRATCH)
            if low + size > limit:
                return fault(context, FAULT_PRIVATE, i, low, size)
            start = private_start(context, scalars) + private_place(low, i)
            count = move_private(context, slot, vectors, row, i, start, size, count)
            if count < 0:
                return count
            continue
        code = check_access(context, i, address, size, need)
        if code < 0:
            return code
        act_on_lane(context, vectors, row, i, host + address)
        count = add_access(work, count, address, size, 1 if kind == Access.ATOMIC else 0)
        if count < 0:
            return fault(context, FAULT_LINES, i, address, size)
    busy = path_cycles(work, active, size, 1 if kind == Access.LOAD else 0)
    flags = record_flags(row) | (0 if in_memory else RECORD_LDS | (busy << LEAST_SHIFT))
    return write_lines(work, out, count, busy, flags)


@jit
def access_lines(context: Context, slot, vectors, row: ProgramRow, active, pattern: Pattern, first, checked, out):
    """Execute an access whose addresses are in the work area and follow the pattern.

    It is checked line by line unless it is `checked` already.
    """
    work = work_at(context.work, 0)
    kind = row.access
    size = row.size
    need = READABLE if kind == Access.LOAD else WRITABLE
    base = context.memory_base
    limit = context.memory_lines
    permissions = context.permissions
    count = pattern.line_count
    line0 = first >> LINE_BITS
    image0 = base >> LINE_BITS
    for k in range(0 if checked else count):
        line = line0 + pattern.line[k]
        at = line - image0
        if at < 0 or at >= limit or ld_u8(permissions, at) & (need | PARTIAL) != need:
            work.active = active
            return call_i64_4(context.lanes_function, record_address(context), slot, record_address(row), out)
    if context.watch:
        note_pattern_lines(context, pattern, line0 - image0, kind)
    host = context.image - base
    header = count | (pattern.busy << BUSY_SHIFT)
    if kind == Access.LOAD:
        for k in range(count):
            st_i64(out, 1 + k, line0 + pattern.line[k])
        st_i64(out, 0, header)
        if pattern.contiguous and size == 4:
            copy_row(vectors + row.destination, host + first)
        else:
            gather(work, host, vectors + row.destination, active, size, row.signed)
        return 1 + count
    for k in range(count):
        st_i64(out, 1 + 2 * k, line0 + pattern.line[k])
        st_i64(out, 2 + 2 * k, pattern.mask[k])
    st_i64(out, 0, header | record_flags(row))
    if kind == Access.STORE:
        if pattern.contiguous and size == 4:
            copy_row(host + first, vectors + row.data)
        else:
            scatter(work, host, vectors + row.data, active, size)
        return 1 + 2 * count
    operation = row.atomic
    returns = row.returns
    data, data1, destination = row.data, row.data1, row.destination
    for i in range(LANES):
        if (active >> i) & 1:
            address = work.address[i]
            if address & (size - 1):
                return fault(context, FAULT_MISALIGNED, i, address, size)
            atomic_at(host + address, vectors, i, operation, size, data, data1, destination, returns)
    return 1 + 2 * count


@jit
def sparse_load(context: Context, vectors, row: ProgramRow, active, pattern: Pattern, first, out):
    """Execute a marked load: each lane gets a word of a compacted line.

    It also gets whether that line is its column's last and, above that bit, the line's number where it has one.
    """
    work = work_at(context.work, 0)
    values = vectors + row.destination
    k = 0
    for i in range(LANES):
        if (active >> i) & 1 == 0:
            continue
        address = work.address[i]
        if address & 3:
            return fault(context, FAULT_MISALIGNED, i, address, 4)
        if address < context.regions[k].base or address >= context.regions[k].end:
            k = 0
            while k < context.region_count and (address < context.regions[k].base or address >= context.regions[k].end):
                k += 1
            if k == context.region_count:
                return fault(context, FAULT_SPARSE, i, address, 4)
        region = context.regions[k]
        offset = address - region.base
        column = offset // region.column_bytes
        line = (offset - column * region.column_bytes) // LINE_BYTES
        last = ld_i64(region.column_lines, column) - 1
        st_i32(values, i, ld_u32(region.compacted, offset >> 2) if line <= last else 0)
        status = 1 if line >= last else 0
        if region.numbers and line <= last:
            status |= ld_u32(region.numbers, offset >> LINE_BITS) << 1
        st_i32(values + ROW_BYTES, i, status)
    lines = pattern.line_count
    line0 = first >> LINE_BITS
    for k in range(lines):
        st_i64(out, 1 + k, (line0 + pattern.line[k]) | LINE_SPARSE)
    st_i64(out, 0, lines | (pattern.busy << BUSY_SHIFT))
    return 1 + lines


@jit
def flat_access(context: Context, slot, wave: Wavefront, row: ProgramRow, active, out):
    """Execute a FLAT instruction."""
    if active == 0:
        st_i64(out, 0, record_flags(row) | (1 << BUSY_SHIFT))
        return 1
    work = work_at(context.work, 0)
    vectors = wave.vectors
    low = vectors + row.address
    lane = ctz(active)
    first = (ld_i32(low + ROW_BYTES, lane) << 32) | ld_u32(low, lane)
    pattern = pattern_at(row.patterns, (first >> 2) & (PATTERN_WAYS - 1))
    sparse = 1 if row.sparse and context.region_count else 0
    different = flat_addresses(work, low, low + ROW_BYTES, active, first, pattern)
    if different != 0 or pattern.phase != first & (LINE_BYTES - 1):
        load = 1 if row.access == Access.LOAD else 0
        atomic = 1 if row.access == Access.ATOMIC else 0
        note_line_pattern(pattern, work, active, first, 4 if sparse else row.size, load, atomic)
    if sparse:
        return sparse_load(context, vectors, row, active, pattern, first, out)
    return access_lines(context, slot, vectors, row, active, pattern, first, 0, out)
