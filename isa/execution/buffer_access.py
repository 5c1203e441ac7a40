"""Buffer memory: MUBUF loads, stores and atomics, range-checked against their resource descriptor."""

from gpusim.base.jit import ctz, jit, ld_u32, st_i32, st_i64
from isa.architecture import LANES, ROW_BYTES
from isa.execution.coalescing import begin_lines, match_addresses, note_line_pattern, path_cycles
from isa.execution.codes import INDEX_ENABLE, OFFSET_ENABLE, Access
from isa.execution.flat_access import access_lines
from isa.execution.memory_access import move_private, own_private, record_flags, write_lines
from isa.execution.program_table import ProgramRow
from isa.execution.state import PATTERN_WAYS, Context, Pattern, Wavefront, Work, pattern_at, work_at
from isa.trace import BUSY_SHIFT, LINE_BYTES


@jit(inline=True)
def find_buffer_addresses(context: Context, wave: Wavefront, row: ProgramRow, active):
    """Note the lanes' addresses, and which lanes are in range; the others get 0.

    Returns bit 0: the memory is private; bit 1: elements are swizzled, and narrower than the access.
    NUM_RECORDS counts records where the resource is swizzled and has a stride, else bytes.
    """
    work = work_at(context.work, 0)
    vectors = wave.vectors
    scalars = wave.scalars
    resource = scalars + row.resource
    word1 = ld_u32(resource, 1)
    word3 = ld_u32(resource, 3)
    base = ld_u32(resource, 0) | ((word1 & 0xFFFF) << 32)
    stride = (word1 >> 16) & 0x3FFF
    swizzled = word1 >> 31
    records = ld_u32(resource, 2)
    element_bits = context.element_bits
    if element_bits == 0:
        element_bits = 1 + ((word3 >> 19) & 3)
    element_bytes = 1 << element_bits
    index_bits = 3 + ((word3 >> 21) & 3)
    add_lane = (word3 >> 23) & 1
    if add_lane:
        stride |= ((word3 >> 15) & 15) << 14
    private = 1 if swizzled and 0 <= base - context.scratch < context.scratch_bytes else 0
    mode = row.addressing
    scalar = row.scalar_offset
    scalar_offset = ld_u32(scalars + scalar, 0) if scalar >= 0 else row.offset1
    address_row = vectors + row.address
    offset_row = address_row + (ROW_BYTES if mode == OFFSET_ENABLE | INDEX_ENABLE else 0)
    size = row.size
    inside = 0
    for i in range(LANES):
        if (active >> i) & 1:
            offset = row.offset
            if mode & OFFSET_ENABLE:
                offset += ld_u32(offset_row, i)
            index = i if add_lane else 0
            if mode & INDEX_ENABLE:
                index += ld_u32(address_row, i)
            if swizzled:
                at = ((index >> index_bits) * stride + (offset & -element_bytes)) << index_bits
                at += ((index & ((1 << index_bits) - 1)) << element_bits) + (offset & (element_bytes - 1))
            else:
                at = offset + stride * index
            if stride == 0 or swizzled == 0:
                within = (offset if swizzled else at) + size <= records - (0 if swizzled else scalar_offset)
            else:
                within = index < records and offset + size <= stride
            if within or private:
                inside |= 1 << i
            elif row.access == Access.LOAD or row.returns:
                for d in range((size + 3) >> 2):
                    st_i32(vectors + row.destination + d * ROW_BYTES, i, 0)
            work.address[i] = base + scalar_offset + at
    work.active = inside
    return private | (2 if swizzled and size > element_bytes else 0)


@jit
def buffer_access(context: Context, slot, wave: Wavefront, row: ProgramRow, active, out):
    """Execute a MUBUF instruction (GCN3 ISA manual, section 8.1.5); out-of-range lanes get 0 and store nothing.

    A lane out of the wavefront's private memory is a fault instead.
    """
    form = find_buffer_addresses(context, wave, row, active)
    work = work_at(context.work, 0)
    vectors = wave.vectors
    private = form & 1
    size = row.size
    inside = work.active
    if inside == 0:
        st_i64(out, 0, record_flags(row) | (1 << BUSY_SHIFT))
        return 1
    load = 1 if row.access == Access.LOAD else 0
    if form & 2:
        return private_lanes(context, slot, vectors, row, inside, out)
    first = work.address[ctz(inside)]
    pattern = pattern_at(row.patterns, (first >> 2) & (PATTERN_WAYS - 1))
    different = match_addresses(work, inside, first, pattern)
    if different != 0 or pattern.phase != first & (LINE_BYTES - 1):
        load = 1 if row.access == Access.LOAD else 0
        note_line_pattern(pattern, work, inside, first, size, load, 1 if row.access == Access.ATOMIC else 0)
    if private and not _all_own(context, slot, work, inside, pattern, first, size):
        return private_lanes(context, slot, vectors, row, inside, out)
    return access_lines(context, slot, vectors, row, inside, pattern, first, private, out)


@jit
def _all_own(context: Context, slot, work: Work, active, pattern: Pattern, first, size):
    """Return 1 if all lanes access their own dwords of the wavefront's private memory."""
    own = own_private(context, slot)
    if first + pattern.lowest < own or first + pattern.highest + size > own + context.scratch_stride:
        return 0
    stray = 0
    for i in range(LANES):
        at = work.address[i] - own
        stray |= (((at >> 2) ^ i) & (LANES - 1) | (((at & 3) + size - 1) >> 2)) & -((active >> i) & 1)
    return 1 if stray == 0 else 0


@jit
def private_lanes(context: Context, slot, vectors, row: ProgramRow, active, out):
    """Execute an access to private memory lane by lane: of several dwords each, or not all of it allowed."""
    work = work_at(context.work, 0)
    begin_lines(work)
    count = 0
    for i in range(LANES):
        if (active >> i) & 1:
            count = move_private(context, slot, vectors, row, i, work.address[i], row.size, count)
            if count < 0:
                return count
    load = 1 if row.access == Access.LOAD else 0
    return write_lines(work, out, count, path_cycles(work, active, row.size, load), record_flags(row))
