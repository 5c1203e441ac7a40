"""Local data share: DS loads, stores, atomics and lane exchanges, checked, executed and recorded in the trace.

Functions return the words they added to the memory record at `out` (always one: a DS record has no lines), or
a negative fault code. An access outside the workgroup's allocation is a fault, or, where the device memory's
`drops_lds` says so, what it is on a GPU: dwords there read 0 and are not written (GCN3 ISA manual, LDS out of range).
It is so in any case past all LDS of a compute unit: Tensile gives lanes that have nothing to store such an address, and
clears accumulation registers by such a load. M0's limit is not applied. GFX9's loads and stores take any address, as
compilers have them for packed structures; GFX8's need dwords at multiples of four, atomics whole multiples of theirs.
"""

from gpusim.base.jit import ctz, jit, ld_u32, popcount, record_address, st_i16, st_i32, st_i64
from isa.architecture import LANES, M0, ROW_BYTES
from isa.execution.coalescing import lds_addresses, note_bank_pattern
from isa.execution.codes import CLEARS_HALF, LOWER_HALF, UPPER_HALF, Access, LaneExchange
from isa.execution.data_movement import atomic_at, copy_row, gather, load_lane, scatter, store_lane
from isa.execution.faults import FAULT_LDS, FAULT_MISALIGNED
from isa.execution.memory_access import fault
from isa.execution.program_table import ProgramRow
from isa.execution.state import LDS_PATTERN_WAYS, Context, Wavefront, pattern_at, work_at
from isa.trace import BUSY_SHIFT, LEAST_SHIFT, RECORD_ATOMIC, RECORD_LDS, RECORD_RETURN, RECORD_STORE

LDS_BYTES = 1 << 16  # of a compute unit (GCN3 ISA manual, section 1.2)
CYCLES_OF_A_DWORD = 2  # 64 lanes of 4 bytes over 32 banks
EXCHANGE_CYCLES = 2  # 64 lanes of 4 bytes over the 128 B/cycle crossbar


@jit
def bad_lane(context: Context, row: ProgramRow, active, offset, limit):
    """Return the fault of the first lane whose access, `offset` from the address in the work area, is not allowed."""
    work = work_at(context.work, 0)
    size = row.size
    for i in range(LANES):
        if (active >> i) & 1:
            at = work.address[i] + offset
            if at < 0 or at + size > limit:
                return fault(context, FAULT_LDS, i, at, size)
            if at & (row.alignment - 1):
                return fault(context, FAULT_MISALIGNED, i, at, size)
    return FAULT_LDS


@jit
def read_zero(row: ProgramRow, target, i):
    """Load zero into lane `i` of the registers from `target` on, as far as the load fills them."""
    if row.size >= 4:
        for d in range(row.size >> 2):
            st_i32(target + d * ROW_BYTES, i, 0)
    elif row.signed & (LOWER_HALF | UPPER_HALF) and not row.signed & CLEARS_HALF:
        st_i16(target, 2 * i + (1 if row.signed & UPPER_HALF else 0), 0)
    else:
        st_i32(target, i, 0)


@jit
def note_dropped(context: Context, wave: Wavefront, row: ProgramRow, loads, lane, at, size):
    """Note a lane's access beyond the workgroup's LDS; `loads`: 1 for one that only reads."""
    kind = 0 if loads else 1
    if context.lds_strays[kind] == 0:
        stray = context.lds_stray[kind]
        stray.code = FAULT_LDS
        stray.pc = record_address(row)
        stray.lane = lane
        stray.address = at
        stray.size = size
        stray.workgroup = wave.workgroup
        stray.wavefront = wave.number
    context.lds_strays[kind] += 1


@jit
def access_beyond(context: Context, wave: Wavefront, row: ProgramRow, lane, at, data, target):
    """Execute a lane's access that reaches beyond the workgroup's LDS as a GPU does: by dwords, atomics as a whole."""
    size = row.size
    note_dropped(context, wave, row, row.access == Access.LOAD, lane, at, size)
    if row.access == Access.ATOMIC:
        if row.returns:
            for d in range(size >> 2):
                st_i32(target + d * ROW_BYTES, lane, 0)
        return
    if row.access == Access.LOAD:
        read_zero(row, target, lane)
    lds = context.lds + wave.workgroup_slot * context.lds_stride
    for d in range(size >> 2):
        place = at + 4 * d
        if place >= 0 and place + 4 <= context.lds_bytes:
            if row.access == Access.LOAD:
                st_i32(target + d * ROW_BYTES, lane, ld_u32(lds + place, 0))
            else:
                store_lane(lds + place, data + d * ROW_BYTES, lane, 4)


@jit
def access_within(context: Context, wave: Wavefront, row: ProgramRow, active):
    """Execute a DS access lane by lane, of which some are beyond the workgroup's LDS or all LDS; 0, or a fault."""
    work = work_at(context.work, 0)
    vectors = wave.vectors
    lds = context.lds + wave.workgroup_slot * context.lds_stride
    size = row.size
    for i in range(LANES):
        if (active >> i) & 1:
            for second in range(2 if row.paired else 1):
                at = work.address[i] + (row.offset1 - row.offset if second else 0)
                target = vectors + row.destination + (((size + 3) >> 2) * ROW_BYTES if second else 0)
                data = vectors + (row.data1 if second else row.data)
                if at >= LDS_BYTES and row.access != Access.ATOMIC:
                    if row.access == Access.LOAD:
                        read_zero(row, target, i)
                    continue
                outside = at < 0 or at + size > context.lds_bytes
                if outside and context.drops_lds == 0:
                    return fault(context, FAULT_LDS, i, at, size)
                if at & (row.alignment - 1):
                    return fault(context, FAULT_MISALIGNED, i, at, size)
                if outside:
                    access_beyond(context, wave, row, i, at, data, target)
                elif row.access == Access.LOAD:
                    load_lane(lds + at, target, i, size, row.signed)
                elif row.access == Access.STORE:
                    store_lane(lds + at, data, i, size)
                else:
                    compared = row.data1
                    place = row.destination + ((size >> 2) * ROW_BYTES if second else 0)
                    given = row.data1 if second else row.data
                    atomic_at(lds + at, vectors, i, row.atomic, size, given, compared, place, row.returns)
    return 0


@jit
def lds_access(context: Context, wave: Wavefront, row: ProgramRow, active, out):
    """Execute a DS load, store or atomic of one or two addresses a lane."""
    kind = row.access
    size = row.size
    flags = RECORD_LDS
    if kind == Access.STORE:
        flags |= RECORD_STORE
    elif kind == Access.ATOMIC:
        flags |= RECORD_ATOMIC | (RECORD_RETURN if row.returns else 0)
    if active == 0:
        st_i64(out, 0, flags | (1 << BUSY_SHIFT))
        return 1
    work = work_at(context.work, 0)
    vectors = wave.vectors
    lds = context.lds + wave.workgroup_slot * context.lds_stride
    limit = context.lds_bytes
    offset = row.offset
    address_row = vectors + row.address
    first = (ld_u32(address_row, ctz(active)) + offset) & 0xFFFF_FFFF
    pattern = pattern_at(row.patterns, (first >> 2) & (LDS_PATTERN_WAYS - 1))
    different = lds_addresses(work, address_row, offset, active, first, pattern)
    if different != 0 or pattern.phase != first & 15:
        note_bank_pattern(pattern, work, active, first, size, 1 if kind == Access.ATOMIC else 0)
    misplaced = row.alignment - 1  # bits that an address may not have
    low = first + pattern.lowest
    high = first + pattern.highest + size
    paired = row.paired
    apart = row.offset1 - offset
    outside = low < 0 or high > limit or pattern.low_bits & misplaced
    if paired and (low + apart < 0 or high + apart > limit or apart & misplaced):
        outside = True
    if outside:
        if context.drops_lds or (kind != Access.ATOMIC and high > LDS_BYTES):
            code = access_within(context, wave, row, active)
            st_i64(out, 0, flags | (pattern.busy << (BUSY_SHIFT + paired)))
            return code if code < 0 else 1
        if low < 0 or high > limit or pattern.low_bits & misplaced:
            return bad_lane(context, row, active, 0, limit)
        return bad_lane(context, row, active, apart, limit)
    busy = pattern.busy
    if paired:
        busy += busy
    least = min(busy, (2 if paired else 1) * ((size + 3) >> 2) * CYCLES_OF_A_DWORD)
    st_i64(out, 0, flags | (busy << BUSY_SHIFT) | (least << LEAST_SHIFT))
    target = vectors + row.destination
    whole_row = pattern.contiguous and size == 4
    if kind == Access.LOAD:
        if whole_row:
            copy_row(target, lds + first)
        else:
            gather(work, lds, target, active, size, row.signed)
        if paired and whole_row:
            copy_row(target + ROW_BYTES, lds + first + apart)
        elif paired:
            gather(work, lds + apart, target + ((size + 3) >> 2) * ROW_BYTES, active, size, 0)
    elif kind == Access.STORE:
        if whole_row:
            copy_row(lds + first, vectors + row.data)
        else:
            scatter(work, lds, vectors + row.data, active, size)
        if paired:
            scatter(work, lds + apart, vectors + row.data1, active, size)
    else:
        operation = row.atomic
        returns = row.returns
        data, data1 = row.data, row.data1
        d = row.destination
        for i in range(LANES):
            if (active >> i) & 1:
                at = lds + work.address[i]
                atomic_at(at, vectors, i, operation, size, data, data1, d, returns)
                if paired:
                    second = d + (size >> 2) * ROW_BYTES
                    atomic_at(at + apart, vectors, i, operation, size, data1, data1, second, returns)
    return 1


@jit(inline=True)
def landing_place(wave: Wavefront, row: ProgramRow, lane):
    """Return where in LDS the dword lies that a load into LDS writes for a lane (GCN3 ISA manual, section 8.1.7)."""
    return (ld_u32(wave.scalars, M0) & 0xFFFF) + row.offset + 4 * lane


@jit
def store_landed(context: Context, wave: Wavefront, row: ProgramRow, active):
    """Write what the lanes have loaded, a dword each, to LDS; 0, or a fault."""
    lds = context.lds + wave.workgroup_slot * context.lds_stride
    for i in range(LANES):
        if (active >> i) & 1:
            at = landing_place(wave, row, i)
            if at < 0 or at + 4 > context.lds_bytes:
                if context.drops_lds == 0:
                    return fault(context, FAULT_LDS, i, at, 4)
                note_dropped(context, wave, row, 0, i, at, 4)
                continue
            if at & 3:
                return fault(context, FAULT_MISALIGNED, i, at, 4)
            st_i32(lds + at, 0, ld_u32(wave.vectors + row.destination, i))
    return 0


@jit
def swizzle_lane(offset, i):
    """Return the lane that lane `i` reads in ds_swizzle_b32 (GCN3 ISA manual, DS_SWIZZLE_B32)."""
    if offset & 0x8000:
        return (i & 0x3C) | ((offset >> (2 * (i & 3))) & 3)
    within = ((i & 31 & offset) | (offset >> 5)) & 31
    return (i & 32) | (within ^ ((offset >> 10) & 31))


@jit
def lane_exchange(context: Context, wave: Wavefront, row: ProgramRow, active, out):
    """Execute the DS instructions that use the crossbar, or a counter, instead of lane addresses.

    Lanes that are not active give 0. ds_append and ds_consume add to, and subtract from, the dword at M0[15:0] +
    offset the number of active lanes; every active lane gets the value before.
    """
    kind = row.exchange
    offset = row.offset
    work = work_at(context.work, 0)
    vectors = wave.vectors
    target = vectors + row.destination
    flags = RECORD_LDS
    if kind == LaneExchange.APPEND or kind == LaneExchange.CONSUME:
        flags |= RECORD_ATOMIC | RECORD_RETURN
        lds = context.lds + wave.workgroup_slot * context.lds_stride
        at = (ld_u32(wave.scalars, M0) & 0xFFFF) + offset
        inside = at + 4 <= context.lds_bytes
        if not inside and context.drops_lds == 0:
            return fault(context, FAULT_LDS, -1, at, 4)
        if at & 3:
            return fault(context, FAULT_MISALIGNED, -1, at, 4)
        before = 0
        if inside:
            before = ld_u32(lds + at, 0)
            lanes = popcount(active)
            st_i32(lds + at, 0, before + (lanes if kind == LaneExchange.APPEND else -lanes))
        else:
            note_dropped(context, wave, row, 0, -1, at, 4)
        for i in range(LANES):
            if (active >> i) & 1:
                st_i32(target, i, before)
    elif kind == LaneExchange.READ_BY_LANE or kind == LaneExchange.WRITE_BY_LANE:
        flags |= 0 if kind == LaneExchange.READ_BY_LANE else RECORD_STORE
        lds = context.lds + wave.workgroup_slot * context.lds_stride
        for i in range(LANES):
            if (active >> i) & 1:
                at = (ld_u32(wave.scalars, M0) & 0xFFFF) + offset + 4 * i
                outside = at + 4 > context.lds_bytes
                if outside and context.drops_lds == 0:
                    return fault(context, FAULT_LDS, i, at, 4)
                if at & 3:
                    return fault(context, FAULT_MISALIGNED, i, at, 4)
                if outside:
                    note_dropped(context, wave, row, kind == LaneExchange.READ_BY_LANE, i, at, 4)
                    if kind == LaneExchange.READ_BY_LANE:
                        st_i32(target, i, 0)
                elif kind == LaneExchange.READ_BY_LANE:
                    st_i32(target, i, ld_u32(lds + at, 0))
                else:
                    st_i32(lds + at, 0, ld_u32(vectors + row.data, i))
    elif kind == LaneExchange.PERMUTE:
        data = vectors + row.data
        lane_row = vectors + row.address
        for i in range(LANES):
            work.address[i] = 0
        for i in range(LANES):
            if (active >> i) & 1:
                work.address[((ld_u32(lane_row, i) + offset) >> 2) & 63] = ld_u32(data, i)
        for i in range(LANES):
            if (active >> i) & 1:
                st_i32(target, i, work.address[i])
    elif kind != LaneExchange.NOTHING:
        data = vectors + row.data
        lane_row = vectors + row.address
        for i in range(LANES):
            source = swizzle_lane(offset, i)
            if kind == LaneExchange.BACKWARD_PERMUTE:
                source = ((ld_u32(lane_row, i) + offset) >> 2) & 63
            work.address[i] = ld_u32(data, source) if (active >> source) & 1 else 0
        for i in range(LANES):
            if (active >> i) & 1:
                st_i32(target, i, work.address[i])
    st_i64(out, 0, flags | (EXCHANGE_CYCLES << BUSY_SHIFT))
    return 1
