"""Local data share: DS loads, stores, atomics and lane exchanges, checked, executed and recorded in the trace.

Functions return the words they added to the memory record at `out` (always one: a DS record has no lines), or
a negative fault code. Where the manual leaves room: an access outside the workgroup's allocation is a fault (the
hardware drops it), M0's limit is not applied, dwords need 4-byte alignment and 64-bit atomics 8-byte alignment.
"""

from gpusim.jit import ctz, jit, ld_i64, ld_u32, popcount, st_i32, st_i64
from isa.execution.coalescing import lds_addresses, note_bank_pattern
from isa.execution.data_movement import atomic_at, copy_row, gather, scatter
from isa.execution.faults import FAULT_LDS, FAULT_MISALIGNED
from isa.execution.layout import (
    ATOMIC,
    C_LDS,
    C_LDS_BYTES,
    C_LDS_STRIDE,
    C_WAVES,
    C_WORK,
    LANES,
    LOAD,
    M_ADDRESS,
    M_ATOMIC,
    M_BYTES,
    M_CLASS,
    M_DATA,
    M_DATA1,
    M_DST,
    M_OFFSET,
    M_OFFSET1,
    M_PAIRED,
    M_PATTERN,
    M_RETURN,
    M_SIGNED,
    M_SUBKIND,
    P_BUSY,
    P_CONTIGUOUS,
    P_LINES,
    P_MAX,
    P_MIN,
    P_PHASE,
    PATTERN_BYTES,
    ROW_BYTES,
    S_M0,
    STORE,
    W_WORKGROUP_SLOT,
    WAVE_BYTES,
)
from isa.execution.memory_access import fault
from isa.trace import BUSY_SHIFT, RECORD_ATOMIC, RECORD_LDS, RECORD_RETURN, RECORD_STORE

DS_SWIZZLE, DS_PERMUTE, DS_BPERMUTE, DS_APPEND, DS_CONSUME, DS_NOP = range(6)
EXCHANGE_CYCLES = 2  # 64 lanes of 4 bytes over the 128 B/cycle crossbar
_LDS_WAYS = 4


@jit
def bad_lane(ctx, row, exe, offset, limit, align):
    """The fault of the first lane whose access, `offset` from the address in the work area, is not allowed."""
    work = ld_i64(ctx, C_WORK)
    size = ld_i64(row, M_BYTES)
    for i in range(LANES):
        if (exe >> i) & 1:
            at = ld_i64(work, i) + offset
            if at < 0 or at + size > limit:
                return fault(ctx, FAULT_LDS, i, at, size)
            if at & (align - 1):
                return fault(ctx, FAULT_MISALIGNED, i, at, size)
    return FAULT_LDS


@jit
def lds_access(ctx, slot, vb, row, exe, out):
    """Execute a DS load, store or atomic of one or two addresses a lane."""
    kind = ld_i64(row, M_CLASS)
    size = ld_i64(row, M_BYTES)
    flags = RECORD_LDS
    if kind == STORE:
        flags |= RECORD_STORE
    elif kind == ATOMIC:
        flags |= RECORD_ATOMIC | (RECORD_RETURN if ld_i64(row, M_RETURN) else 0)
    if exe == 0:
        st_i64(out, 0, flags | (1 << BUSY_SHIFT))
        return 1
    work = ld_i64(ctx, C_WORK)
    wave = ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES
    lds = ld_i64(ctx, C_LDS) + ld_i64(wave, W_WORKGROUP_SLOT) * ld_i64(ctx, C_LDS_STRIDE)
    limit = ld_i64(ctx, C_LDS_BYTES)
    offset = ld_i64(row, M_OFFSET)
    address_row = vb + ld_i64(row, M_ADDRESS)
    first = (ld_u32(address_row, ctz(exe)) + offset) & 0xFFFF_FFFF
    entry = ld_i64(row, M_PATTERN) + ((first >> 2) & (_LDS_WAYS - 1)) * PATTERN_BYTES
    different = lds_addresses(work, address_row, offset, exe, first, entry)
    if different != 0 or ld_i64(entry, P_PHASE) != first & 15:
        note_bank_pattern(entry, work, exe, first, size, 1 if kind == ATOMIC else 0)
    align = size if kind == ATOMIC or size < 4 else 4
    low = first + ld_i64(entry, P_MIN)
    high = first + ld_i64(entry, P_MAX) + size
    if low < 0 or high > limit or ld_i64(entry, P_LINES) & (align - 1):
        return bad_lane(ctx, row, exe, 0, limit, align)
    paired = ld_i64(row, M_PAIRED)
    apart = ld_i64(row, M_OFFSET1) - offset
    busy = ld_i64(entry, P_BUSY)
    if paired:
        busy += busy
        if low + apart < 0 or high + apart > limit or apart & (align - 1):
            return bad_lane(ctx, row, exe, apart, limit, align)
    st_i64(out, 0, flags | (busy << BUSY_SHIFT))
    target = vb + ld_i64(row, M_DST)
    whole_row = ld_i64(entry, P_CONTIGUOUS) and size == 4
    if kind == LOAD:
        if whole_row:
            copy_row(target, lds + first)
        else:
            gather(work, lds, target, exe, size, ld_i64(row, M_SIGNED))
        if paired and whole_row:
            copy_row(target + ROW_BYTES, lds + first + apart)
        elif paired:
            gather(work, lds + apart, target + ((size + 3) >> 2) * ROW_BYTES, exe, size, 0)
    elif kind == STORE:
        if whole_row:
            copy_row(lds + first, vb + ld_i64(row, M_DATA))
        else:
            scatter(work, lds, vb + ld_i64(row, M_DATA), exe, size)
        if paired:
            scatter(work, lds + apart, vb + ld_i64(row, M_DATA1), exe, size)
    else:
        operation = ld_i64(row, M_ATOMIC)
        returns = ld_i64(row, M_RETURN)
        data, data1 = ld_i64(row, M_DATA), ld_i64(row, M_DATA1)
        d = ld_i64(row, M_DST)
        for i in range(LANES):
            if (exe >> i) & 1:
                at = lds + ld_i64(work, i)
                atomic_at(at, vb, i, operation, size, data, data1, d, returns)
                if paired:
                    second = d + (size >> 2) * ROW_BYTES
                    atomic_at(at + apart, vb, i, operation, size, data1, data1, second, returns)
    return 1


@jit
def swizzle_lane(offset, i):
    """Lane that lane `i` reads in ds_swizzle_b32 (GCN3 ISA manual, DS_SWIZZLE_B32)."""
    if offset & 0x8000:
        return (i & 0x3C) | ((offset >> (2 * (i & 3))) & 3)
    within = ((i & 31 & offset) | (offset >> 5)) & 31
    return (i & 32) | (within ^ ((offset >> 10) & 31))


@jit
def lane_exchange(ctx, slot, vb, sb, row, exe, out):
    """Execute the DS instructions that use the crossbar, or a counter, instead of lane addresses.

    Lanes that are not active give 0. ds_append and ds_consume add to, and subtract from, the dword at M0[15:0] +
    offset the number of active lanes; every active lane gets the value before.
    """
    kind = ld_i64(row, M_SUBKIND)
    offset = ld_i64(row, M_OFFSET)
    work = ld_i64(ctx, C_WORK)
    target = vb + ld_i64(row, M_DST)
    flags = RECORD_LDS
    if kind == DS_APPEND or kind == DS_CONSUME:
        flags |= RECORD_ATOMIC | RECORD_RETURN
        wave = ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES
        lds = ld_i64(ctx, C_LDS) + ld_i64(wave, W_WORKGROUP_SLOT) * ld_i64(ctx, C_LDS_STRIDE)
        at = (ld_u32(sb, S_M0) & 0xFFFF) + offset
        if at + 4 > ld_i64(ctx, C_LDS_BYTES):
            return fault(ctx, FAULT_LDS, -1, at, 4)
        if at & 3:
            return fault(ctx, FAULT_MISALIGNED, -1, at, 4)
        before = ld_u32(lds + at, 0)
        lanes = popcount(exe)
        st_i32(lds + at, 0, before + (lanes if kind == DS_APPEND else -lanes))
        for i in range(LANES):
            if (exe >> i) & 1:
                st_i32(target, i, before)
    elif kind == DS_PERMUTE:
        data = vb + ld_i64(row, M_DATA)
        lane_row = vb + ld_i64(row, M_ADDRESS)
        for i in range(LANES):
            st_i64(work, i, 0)
        for i in range(LANES):
            if (exe >> i) & 1:
                st_i64(work, ((ld_u32(lane_row, i) + offset) >> 2) & 63, ld_u32(data, i))
        for i in range(LANES):
            if (exe >> i) & 1:
                st_i32(target, i, ld_i64(work, i))
    elif kind != DS_NOP:
        data = vb + ld_i64(row, M_DATA)
        lane_row = vb + ld_i64(row, M_ADDRESS)
        for i in range(LANES):
            source = swizzle_lane(offset, i)
            if kind == DS_BPERMUTE:
                source = ((ld_u32(lane_row, i) + offset) >> 2) & 63
            st_i64(work, i, ld_u32(data, source) if (exe >> source) & 1 else 0)
        for i in range(LANES):
            if (exe >> i) & 1:
                st_i32(target, i, ld_i64(work, i))
    st_i64(out, 0, flags | (EXCHANGE_CYCLES << BUSY_SHIFT))
    return 1
