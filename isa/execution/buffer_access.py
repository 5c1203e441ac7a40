"""Buffer memory: MUBUF loads, stores and atomics, range-checked against their resource descriptor."""

from gpusim.jit import ctz, jit, ld_i64, ld_u32, st_i32, st_i64
from isa.execution.coalescing import begin_lines, match_addresses, note_line_pattern, path_cycles
from isa.execution.layout import (
    C_WORK,
    IDXEN,
    LANES,
    LOAD,
    M_ADDRESS,
    M_BYTES,
    M_CLASS,
    M_DST,
    M_MODE,
    M_OFFSET,
    M_OFFSET1,
    M_PATTERN,
    M_RETURN,
    M_SBASE,
    M_SOFFSET,
    OFFEN,
    P_PHASE,
    PATTERN_BYTES,
    PATTERN_WAYS,
    ROW_BYTES,
)
from isa.execution.memory_access import access_lines, move_private, record_flags, write_lines
from isa.trace import BUSY_SHIFT, LINE_BYTES


@jit
def buffer_access(ctx, slot, vb, sb, row, exe, out):
    """Execute a MUBUF instruction (GCN3 ISA manual, section 8.1.5); out-of-range lanes get 0 and store nothing.

    NUM_RECORDS counts records where the resource is swizzled and has a stride, else bytes.
    """
    work = ld_i64(ctx, C_WORK)
    resource = sb + ld_i64(row, M_SBASE)
    word1 = ld_u32(resource, 1)
    word3 = ld_u32(resource, 3)
    base = ld_u32(resource, 0) | ((word1 & 0xFFFF) << 32)
    stride = (word1 >> 16) & 0x3FFF
    swizzled = word1 >> 31
    records = ld_u32(resource, 2)
    element_bytes = 2 << ((word3 >> 19) & 3)
    index_stride = 8 << ((word3 >> 21) & 3)
    add_lane = (word3 >> 23) & 1
    if add_lane:
        stride |= ((word3 >> 15) & 15) << 14
    mode = ld_i64(row, M_MODE)
    scalar = ld_i64(row, M_SOFFSET)
    scalar_offset = ld_u32(sb + scalar, 0) if scalar >= 0 else ld_i64(row, M_OFFSET1)
    address_row = vb + ld_i64(row, M_ADDRESS)
    offset_row = address_row + (ROW_BYTES if mode == OFFEN | IDXEN else 0)
    size = ld_i64(row, M_BYTES)
    inside = 0
    for i in range(LANES):
        if (exe >> i) & 1:
            offset = ld_i64(row, M_OFFSET)
            if mode & OFFEN:
                offset += ld_u32(offset_row, i)
            index = i if add_lane else 0
            if mode & IDXEN:
                index += ld_u32(address_row, i)
            if swizzled:
                at = ((index // index_stride) * stride + offset // element_bytes * element_bytes) * index_stride
                at += (index % index_stride) * element_bytes + offset % element_bytes
            else:
                at = offset + stride * index
            if stride == 0 or swizzled == 0:
                within = (offset if swizzled else at) + size <= records - (0 if swizzled else scalar_offset)
            else:
                within = index < records and offset + size <= stride
            if within:
                inside |= 1 << i
            elif ld_i64(row, M_CLASS) == LOAD or ld_i64(row, M_RETURN):
                for d in range((size + 3) >> 2):
                    st_i32(vb + ld_i64(row, M_DST) + d * ROW_BYTES, i, 0)
            st_i64(work, i, base + scalar_offset + at)
    if inside == 0:
        st_i64(out, 0, record_flags(row) | (1 << BUSY_SHIFT))
        return 1
    load = 1 if ld_i64(row, M_CLASS) == LOAD else 0
    if swizzled and size > element_bytes:
        begin_lines(work)
        count = 0
        for i in range(LANES):
            if (inside >> i) & 1:
                count = move_private(ctx, vb, row, i, ld_i64(work, i), size, count)
                if count < 0:
                    return count
        return write_lines(work, out, count, path_cycles(work, inside, size, load), record_flags(row))
    first = ld_i64(work, ctz(inside))
    entry = ld_i64(row, M_PATTERN) + ((first >> 2) & (PATTERN_WAYS - 1)) * PATTERN_BYTES
    different = match_addresses(work, inside, first, entry)
    if different != 0 or ld_i64(entry, P_PHASE) != first & (LINE_BYTES - 1):
        note_line_pattern(entry, work, inside, first, size, load)
    return access_lines(ctx, slot, vb, row, inside, entry, first, out)
