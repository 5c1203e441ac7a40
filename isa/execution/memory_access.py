"""Vector memory: FLAT loads, stores and atomics, checked, executed and recorded in the trace.

Functions return the words they added to the memory record at `out`, or a negative fault code. `work` is the
context's work area, `vb` and `sb` the wavefront's vector and scalar registers, `row` the instruction's row of
the program table. Where the manual leaves room: an access of several dwords needs no alignment (HSA runs VI
with unaligned access enabled), an atomic needs its natural alignment; lanes act in ascending order.
"""

from gpusim.jit import call_i64_4, ctz, jit, ld_i32, ld_i64, ld_u8, ld_u32, st_i32, st_i64
from isa.device_memory import LINE_BYTES, PARTIAL, READABLE, WRITABLE
from isa.execution.coalescing import (
    add_access,
    begin_lines,
    flat_addresses,
    note_line_pattern,
    path_cycles,
)
from isa.execution.data_movement import atomic_at, copy_row, gather, load_lane, scatter, store_lane
from isa.execution.faults import (
    FAULT_LDS,
    FAULT_LINES,
    FAULT_MISALIGNED,
    FAULT_PRIVATE,
    FAULT_READ_ONLY,
    FAULT_SPARSE,
    FAULT_UNMAPPED,
)
from isa.execution.layout import (
    ATOMIC,
    C_ENDS,
    C_ENDS_COUNT,
    C_FAULT,
    C_IMAGE,
    C_LANES_FUNCTION,
    C_LDS,
    C_LDS_BYTES,
    C_LDS_STRIDE,
    C_MEMORY_BASE,
    C_MEMORY_LINES,
    C_PERMISSIONS,
    C_REGION_COUNT,
    C_REGIONS,
    C_SCRATCH,
    C_SCRATCH_TOTAL,
    C_WAVES,
    C_WORK,
    F_ADDRESS,
    F_BYTES,
    F_LANE,
    LANES,
    LOAD,
    M_ADDRESS,
    M_ATOMIC,
    M_BYTES,
    M_CLASS,
    M_DATA,
    M_DATA1,
    M_DST,
    M_PATTERN,
    M_RETURN,
    M_SIGNED,
    M_SPARSE,
    P_BUSY,
    P_CONTIGUOUS,
    P_LINE,
    P_LINES,
    P_MASK,
    P_PHASE,
    PATTERN_BYTES,
    PATTERN_WAYS,
    PRIVATE_APERTURE_HIGH,
    R_BASE,
    R_COLUMN_BYTES,
    R_END,
    R_LINES,
    R_SHADOW,
    R_WORDS,
    ROW_BYTES,
    S_FLAT_SCRATCH,
    SHARED_APERTURE_HIGH,
    STORE,
    W_SGPRS,
    W_VGPRS,
    W_WORKGROUP_SLOT,
    WAVE_BYTES,
    X_EXEC,
    X_LINES,
    X_MASKS,
)
from isa.trace import BUSY_SHIFT, LINE_SPARSE, RECORD_ATOMIC, RECORD_LDS, RECORD_RETURN, RECORD_STORE

LINE_BITS = 6
PRIVATE_ELEMENT_BYTES = 4  # private memory is interleaved over lanes by dwords


@jit
def fault(ctx, code, lane, address, size):
    """Note who faulted and where; returns `code`."""
    f = ld_i64(ctx, C_FAULT)
    st_i64(f, F_LANE, lane)
    st_i64(f, F_ADDRESS, address)
    st_i64(f, F_BYTES, size)
    return code


@jit
def check_access(ctx, lane, address, size, need):
    """0 if all bytes may be accessed, else the fault."""
    base = ld_i64(ctx, C_MEMORY_BASE)
    limit = ld_i64(ctx, C_MEMORY_LINES)
    permissions = ld_i64(ctx, C_PERMISSIONS)
    if address < base:  # before the difference is taken: it could wrap
        return fault(ctx, FAULT_UNMAPPED, lane, address, size)
    first = (address - base) >> LINE_BITS
    last = (address - base + size - 1) >> LINE_BITS
    if last >= limit:
        return fault(ctx, FAULT_UNMAPPED, lane, address, size)
    for line in range(first, last + 1):
        rights = ld_u8(permissions, line)
        if rights & READABLE == 0:
            return fault(ctx, FAULT_UNMAPPED, lane, address, size)
        if rights & need != need:
            return fault(ctx, FAULT_READ_ONLY, lane, address, size)
        if rights & PARTIAL:
            ends = ld_i64(ctx, C_ENDS)
            low = 0
            high = ld_i64(ctx, C_ENDS_COUNT) - 1
            start = base + (line << LINE_BITS)
            while low < high:
                middle = (low + high) >> 1
                if ld_i64(ends, middle) > start:
                    high = middle
                else:
                    low = middle + 1
            if address + size > ld_i64(ends, low):
                return fault(ctx, FAULT_UNMAPPED, lane, address, size)
    return 0


@jit
def write_lines(work, out, count, busy, flags):
    """Write the record of the lines collected in the work area; returns its words."""
    st_i64(out, 0, count | (busy << BUSY_SHIFT) | flags)
    if flags & (RECORD_STORE | RECORD_ATOMIC):
        for k in range(count):
            st_i64(out, 1 + 2 * k, ld_i64(work, X_LINES + k))
            st_i64(out, 2 + 2 * k, ld_i64(work, X_MASKS + k))
        return 1 + 2 * count
    for k in range(count):
        st_i64(out, 1 + k, ld_i64(work, X_LINES + k))
    return 1 + count


@jit
def record_flags(row):
    """Flags of a vector memory instruction's record."""
    kind = ld_i64(row, M_CLASS)
    if kind == LOAD:
        return 0
    if kind == STORE:
        return RECORD_STORE
    return RECORD_ATOMIC | (RECORD_RETURN if ld_i64(row, M_RETURN) else 0)


@jit
def act_on_lane(ctx, vb, row, lane, host):
    """Execute one lane of a load, store or atomic at a checked host address."""
    kind = ld_i64(row, M_CLASS)
    size = ld_i64(row, M_BYTES)
    if kind == LOAD:
        load_lane(host, vb + ld_i64(row, M_DST), lane, size, ld_i64(row, M_SIGNED))
    elif kind == STORE:
        store_lane(host, vb + ld_i64(row, M_DATA), lane, size)
    else:
        data = ld_i64(row, M_DATA)
        data1 = ld_i64(row, M_DATA1)
        returns = ld_i64(row, M_RETURN)
        atomic_at(host, vb, lane, ld_i64(row, M_ATOMIC), size, data, data1, ld_i64(row, M_DST), returns)


@jit
def move_private(ctx, vb, row, lane, start, size, count):
    """One lane's access to private memory that starts at device address `start`, dwords apart by a row.

    Returns the new number of lines, or a fault.
    """
    host = ld_i64(ctx, C_IMAGE) - ld_i64(ctx, C_MEMORY_BASE)
    work = ld_i64(ctx, C_WORK)
    if ld_i64(row, M_CLASS) == ATOMIC and size > PRIVATE_ELEMENT_BYTES:
        return fault(ctx, FAULT_PRIVATE, lane, start, size)
    piece = size if size < PRIVATE_ELEMENT_BYTES else PRIVATE_ELEMENT_BYTES
    area = ld_i64(ctx, C_SCRATCH)
    for d in range((size + 3) >> 2):
        at = start + d * LANES * PRIVATE_ELEMENT_BYTES
        if (at & 3) + piece > PRIVATE_ELEMENT_BYTES:
            return fault(ctx, FAULT_MISALIGNED, lane, at, size)
        if at < area or at + piece > area + ld_i64(ctx, C_SCRATCH_TOTAL):
            return fault(ctx, FAULT_PRIVATE, lane, at, size)
        if size <= PRIVATE_ELEMENT_BYTES:
            act_on_lane(ctx, vb, row, lane, host + at)
        elif ld_i64(row, M_CLASS) == LOAD:
            load_lane(host + at, vb + ld_i64(row, M_DST) + d * ROW_BYTES, lane, piece, 0)
        else:
            store_lane(host + at, vb + ld_i64(row, M_DATA) + d * ROW_BYTES, lane, piece)
        count = add_access(work, count, at, piece)
        if count < 0:
            return fault(ctx, FAULT_LINES, lane, at, size)
    return count


@jit
def access_lanes(ctx, slot, row, out):  # type: ignore[no-untyped-def]
    """A flat access lane by lane: mixed address spaces, lines that end inside, and the exact fault.

    Addresses and lanes are in the work area. Reached through its address, so that it is compiled once, not once
    more inside everything that can call it.
    """
    work = ld_i64(ctx, C_WORK)
    exe = ld_i64(work, X_EXEC)
    wave = ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES
    vb = ld_i64(wave, W_VGPRS)
    sb = ld_i64(wave, W_SGPRS)
    kind = ld_i64(row, M_CLASS)
    size = ld_i64(row, M_BYTES)
    need = READABLE if kind == LOAD else WRITABLE
    host = ld_i64(ctx, C_IMAGE) - ld_i64(ctx, C_MEMORY_BASE)
    lds = ld_i64(ctx, C_LDS) + ld_i64(wave, W_WORKGROUP_SLOT) * ld_i64(ctx, C_LDS_STRIDE)
    begin_lines(work)
    count = 0
    in_memory = 0
    for i in range(LANES):
        if (exe >> i) & 1 == 0:
            continue
        address = ld_i64(work, i)
        low = address & 0xFFFF_FFFF
        if kind == ATOMIC and address & (size - 1):
            return fault(ctx, FAULT_MISALIGNED, i, address, size)
        if address >> 32 == SHARED_APERTURE_HIGH:
            if low + size > ld_i64(ctx, C_LDS_BYTES):
                return fault(ctx, FAULT_LDS, i, low, size)
            act_on_lane(ctx, vb, row, i, lds + low)
            continue
        in_memory = 1
        if address >> 32 == PRIVATE_APERTURE_HIGH:
            if low + size > ld_u32(sb, S_FLAT_SCRATCH):
                return fault(ctx, FAULT_PRIVATE, i, low, size)
            start = ld_i64(ctx, C_SCRATCH) + (ld_u32(sb, S_FLAT_SCRATCH + 1) << 8)
            start += (low >> 2) * (LANES * PRIVATE_ELEMENT_BYTES) + PRIVATE_ELEMENT_BYTES * i + (low & 3)
            count = move_private(ctx, vb, row, i, start, size, count)
            if count < 0:
                return count
            continue
        code = check_access(ctx, i, address, size, need)
        if code < 0:
            return code
        act_on_lane(ctx, vb, row, i, host + address)
        count = add_access(work, count, address, size)
        if count < 0:
            return fault(ctx, FAULT_LINES, i, address, size)
    flags = record_flags(row) | (0 if in_memory else RECORD_LDS)
    load = 1 if kind == LOAD else 0
    return write_lines(work, out, count, path_cycles(work, exe, size, load), flags)


@jit
def access_lines(ctx, slot, vb, row, exe, entry, first, out):
    """A flat access whose addresses lie in the work area and follow the pattern `entry`, checked line by line."""
    work = ld_i64(ctx, C_WORK)
    kind = ld_i64(row, M_CLASS)
    size = ld_i64(row, M_BYTES)
    need = READABLE if kind == LOAD else WRITABLE
    base = ld_i64(ctx, C_MEMORY_BASE)
    limit = ld_i64(ctx, C_MEMORY_LINES)
    permissions = ld_i64(ctx, C_PERMISSIONS)
    count = ld_i64(entry, P_LINES)
    line0 = first >> LINE_BITS
    image0 = base >> LINE_BITS
    for k in range(count):
        line = line0 + ld_i64(entry, P_LINE + k)
        at = line - image0
        if at < 0 or at >= limit or ld_u8(permissions, at) & (need | PARTIAL) != need:
            st_i64(work, X_EXEC, exe)
            return call_i64_4(ld_i64(ctx, C_LANES_FUNCTION), ctx, slot, row, out)
    host = ld_i64(ctx, C_IMAGE) - base
    header = count | (ld_i64(entry, P_BUSY) << BUSY_SHIFT)
    if kind == LOAD:
        for k in range(count):
            st_i64(out, 1 + k, line0 + ld_i64(entry, P_LINE + k))
        st_i64(out, 0, header)
        if ld_i64(entry, P_CONTIGUOUS) and size == 4:
            copy_row(vb + ld_i64(row, M_DST), host + first)
        else:
            gather(work, host, vb + ld_i64(row, M_DST), exe, size, ld_i64(row, M_SIGNED))
        return 1 + count
    for k in range(count):
        st_i64(out, 1 + 2 * k, line0 + ld_i64(entry, P_LINE + k))
        st_i64(out, 2 + 2 * k, ld_i64(entry, P_MASK + k))
    st_i64(out, 0, header | record_flags(row))
    if kind == STORE:
        if ld_i64(entry, P_CONTIGUOUS) and size == 4:
            copy_row(host + first, vb + ld_i64(row, M_DATA))
        else:
            scatter(work, host, vb + ld_i64(row, M_DATA), exe, size)
        return 1 + 2 * count
    for i in range(LANES):
        if (exe >> i) & 1:
            address = ld_i64(work, i)
            if address & (size - 1):
                return fault(ctx, FAULT_MISALIGNED, i, address, size)
            act_on_lane(ctx, vb, row, i, host + address)
    return 1 + 2 * count


@jit
def sparse_load(ctx, vb, row, exe, entry, first, out):
    """A marked load: each lane gets a word of a compacted line and whether that line is its column's last."""
    work = ld_i64(ctx, C_WORK)
    regions = ld_i64(ctx, C_REGIONS)
    count = ld_i64(ctx, C_REGION_COUNT)
    value_row = vb + ld_i64(row, M_DST)
    region = regions
    for i in range(LANES):
        if (exe >> i) & 1 == 0:
            continue
        address = ld_i64(work, i)
        if address & 3:
            return fault(ctx, FAULT_MISALIGNED, i, address, 4)
        if address < ld_i64(region, R_BASE) or address >= ld_i64(region, R_END):
            region = regions
            k = 0
            while k < count and (address < ld_i64(region, R_BASE) or address >= ld_i64(region, R_END)):
                k += 1
                region += 8 * R_WORDS
            if k == count:
                return fault(ctx, FAULT_SPARSE, i, address, 4)
        offset = address - ld_i64(region, R_BASE)
        column_bytes = ld_i64(region, R_COLUMN_BYTES)
        column = offset // column_bytes
        line = (offset - column * column_bytes) // LINE_BYTES
        last = ld_i64(ld_i64(region, R_LINES), column) - 1
        st_i32(value_row, i, ld_u32(ld_i64(region, R_SHADOW), offset >> 2) if line <= last else 0)
        st_i32(value_row + ROW_BYTES, i, 1 if line >= last else 0)
    lines = ld_i64(entry, P_LINES)
    line0 = first >> LINE_BITS
    for k in range(lines):
        st_i64(out, 1 + k, (line0 + ld_i64(entry, P_LINE + k)) | LINE_SPARSE)
    st_i64(out, 0, lines | (ld_i64(entry, P_BUSY) << BUSY_SHIFT))
    return 1 + lines


@jit
def flat_access(ctx, slot, vb, row, exe, out):
    """Execute a FLAT instruction."""
    if exe == 0:
        st_i64(out, 0, record_flags(row) | (1 << BUSY_SHIFT))
        return 1
    work = ld_i64(ctx, C_WORK)
    low = vb + ld_i64(row, M_ADDRESS)
    lane = ctz(exe)
    first = (ld_i32(low + ROW_BYTES, lane) << 32) | ld_u32(low, lane)
    entry = ld_i64(row, M_PATTERN) + ((first >> 2) & (PATTERN_WAYS - 1)) * PATTERN_BYTES
    sparse = 1 if ld_i64(row, M_SPARSE) and ld_i64(ctx, C_REGION_COUNT) else 0
    different = flat_addresses(work, low, low + ROW_BYTES, exe, first, entry)
    if different != 0 or ld_i64(entry, P_PHASE) != first & (LINE_BYTES - 1):
        load = 1 if ld_i64(row, M_CLASS) == LOAD else 0
        note_line_pattern(entry, work, exe, first, 4 if sparse else ld_i64(row, M_BYTES), load)
    if sparse:
        return sparse_load(ctx, vb, row, exe, entry, first, out)
    return access_lines(ctx, slot, vb, row, exe, entry, first, out)
