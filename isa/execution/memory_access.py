"""What all memory instructions share: faults, checks of addresses, records in the trace, one lane's access.

`row` is the instruction's row of the program table, `vectors` the wavefront's vector registers, `work` the context's
work area, `out` where the instruction's record in the trace begins. Where the manual leaves a choice: an access of
several dwords needs no alignment (HSA runs VI with unaligned access enabled), an atomic needs its natural alignment;
lanes act in ascending order.
"""

from gpusim.base.jit import jit, ld_i64, ld_u8, ld_u32, st_i32, st_i64, st_u8
from isa.architecture import FLAT_SCRATCH, LANES, ROW_BYTES
from isa.device_memory import PARTIAL, READABLE, SLACK
from isa.execution.coalescing import LINE_BITS, add_access
from isa.execution.codes import SIGNED, Access
from isa.execution.data_movement import atomic_at, load_lane, put_narrow, store_lane
from isa.execution.faults import FAULT_LINES, FAULT_MISALIGNED, FAULT_PRIVATE, FAULT_READ_ONLY, FAULT_UNMAPPED
from isa.execution.program_table import ProgramRow
from isa.execution.state import Context, Work, wavefront_at, work_at
from isa.execution.watch import note_bytes
from isa.trace import BUSY_SHIFT, LINE_BYTES, RECORD_ATOMIC, RECORD_RETURN, RECORD_STORE

PRIVATE_ELEMENT_BYTES = 4  # private memory is interleaved over lanes by dwords


@jit
def fault(context: Context, code, lane, address, size):
    """Note the lane, address and size of a faulting access; returns `code`."""
    context.fault.lane = lane
    context.fault.address = address
    context.fault.size = size
    return code


@jit
def _let_through(context: Context, lane, address, size):
    """Note an access outside of every allocation that is done all the same."""
    if context.strays == 0:
        context.stray.lane = lane
        context.stray.address = address
        context.stray.size = size
    context.strays += 1


@jit
def check_access(context: Context, lane, address, size, need):
    """Return 0 if all bytes of an access may be accessed, else note the fault and return its code."""
    base = context.memory_base
    limit = context.memory_lines
    permissions = context.permissions
    if address < base:  # before the difference is taken: it could wrap
        return fault(context, FAULT_UNMAPPED, lane, address, size)
    first = (address - base) >> LINE_BITS
    last = (address - base + size - 1) >> LINE_BITS
    if last >= limit:
        return fault(context, FAULT_UNMAPPED, lane, address, size)
    for line in range(first, last + 1):
        rights = ld_u8(permissions, line)
        if rights & SLACK:
            _let_through(context, lane, address, size)
            continue
        if rights & READABLE == 0:
            return fault(context, FAULT_UNMAPPED, lane, address, size)
        if rights & need != need:
            return fault(context, FAULT_READ_ONLY, lane, address, size)
        if rights & PARTIAL:
            ends = context.ends
            low = 0
            high = context.end_count - 1
            start = base + (line << LINE_BITS)
            while low < high:
                middle = (low + high) >> 1
                if ld_i64(ends, middle) > start:
                    high = middle
                else:
                    low = middle + 1
            if address + size > ld_i64(ends, low):
                if context.slack == 0:
                    return fault(context, FAULT_UNMAPPED, lane, address, size)
                _let_through(context, lane, address, size)
    if context.watch:
        note_bytes(context, first, last, address & (LINE_BYTES - 1), size, need)
    return 0


@jit
def write_lines(work: Work, out, count, busy, flags):
    """Write the record of the lines collected in the work area; returns its words."""
    st_i64(out, 0, count | (busy << BUSY_SHIFT) | flags)
    if flags & (RECORD_STORE | RECORD_ATOMIC):
        for k in range(count):
            st_i64(out, 1 + 2 * k, work.line[k])
            st_i64(out, 2 + 2 * k, work.mask[k])
        return 1 + 2 * count
    for k in range(count):
        st_i64(out, 1 + k, work.line[k])
    return 1 + count


@jit
def record_flags(row: ProgramRow):
    """Return the flags of a vector memory instruction's record."""
    kind = row.access
    if kind == Access.LOAD:
        return 0
    if kind == Access.STORE:
        return RECORD_STORE
    return RECORD_ATOMIC | (RECORD_RETURN if row.returns else 0)


@jit
def act_on_lane(context: Context, vectors, row: ProgramRow, lane, host):
    """Execute one lane of a load, store or atomic at a checked host address."""
    kind = row.access
    size = row.size
    if kind == Access.LOAD:
        load_lane(host, vectors + row.destination, lane, size, row.signed)
    elif kind == Access.STORE:
        store_lane(host, vectors + row.data, lane, size)
    else:
        data = row.data
        data1 = row.data1
        returns = row.returns
        atomic_at(host, vectors, lane, row.atomic, size, data, data1, row.destination, returns)


@jit
def own_private(context: Context, slot):
    """Return the device address of the private memory of the wavefront in `slot`, which is its register file's."""
    return context.scratch + (wavefront_at(context.wavefronts, slot).register_file - 1) * context.scratch_stride


@jit
def private_place(offset, lane):
    """Return where the byte at an offset of a work-item's private memory lies in the wavefront's."""
    return (offset >> 2) * (LANES * PRIVATE_ELEMENT_BYTES) + PRIVATE_ELEMENT_BYTES * lane + (offset & 3)


@jit
def private_start(context: Context, scalars):
    """Return the device address of the private memory that flat addresses lie in, by the wavefront's FLAT_SCRATCH."""
    if context.flat_scratch_bytes:
        return ld_i64(scalars, FLAT_SCRATCH // 2)
    return context.scratch + (ld_u32(scalars, FLAT_SCRATCH + 1) << 8)


@jit
def _private_offset(context: Context, slot, address):
    """Return where in a work-item's private memory an address lies: an offset outside of it for one that does not."""
    at = address - own_private(context, slot)
    return ((at >> 8) << 2) + (at & 3)


@jit
def _move_across(host, vectors, row: ProgramRow, lane, d, at, piece):
    """Load or store a lane's dword `d`, or two bytes, which lies in two dwords of private memory from `at` on."""
    wrap = (LANES - 1) * PRIVATE_ELEMENT_BYTES  # from behind a dword of the lane to its next one
    stored = row.access == Access.STORE
    value = ld_u32(vectors + row.data + d * ROW_BYTES, lane) if stored else 0
    for j in range(piece):
        byte = host + at + j + (wrap if (at & 3) + j >= PRIVATE_ELEMENT_BYTES else 0)
        if stored:
            st_u8(byte, 0, value >> (8 * j))
        else:
            value |= ld_u8(byte, 0) << (8 * j)
    if stored:
        return
    register = vectors + row.destination + d * ROW_BYTES
    if piece == PRIVATE_ELEMENT_BYTES:
        st_i32(register, lane, value)
    else:
        put_narrow(register, lane, (value ^ 0x8000) - 0x8000 if row.signed & SIGNED else value, row.signed)


@jit
def move_private(context: Context, slot, vectors, row: ProgramRow, lane, start, size, count):
    """Execute one lane's access to private memory from device address `start`, with its dwords a row apart.

    It must lie within the lane's own dwords of the wavefront's private memory, a dword within one of them but for loads
    and stores where FLAT_SCRATCH is an address. Returns the new number of lines, or a fault, whose address is the
    offset within the work-item's private memory.
    """
    host = context.image - context.memory_base
    work = work_at(context.work, 0)
    if row.access == Access.ATOMIC and size > PRIVATE_ELEMENT_BYTES:
        return fault(context, FAULT_PRIVATE, lane, _private_offset(context, slot, start), size)
    piece = size if size < PRIVATE_ELEMENT_BYTES else PRIVATE_ELEMENT_BYTES
    own = own_private(context, slot)
    for d in range((size + 3) >> 2):
        at = start + d * LANES * PRIVATE_ELEMENT_BYTES
        across = (at & 3) + piece > PRIVATE_ELEMENT_BYTES
        if across and (context.flat_scratch_bytes == 0 or row.access == Access.ATOMIC):
            return fault(context, FAULT_MISALIGNED, lane, _private_offset(context, slot, at), size)
        last = at + LANES * PRIVATE_ELEMENT_BYTES if across else at
        if at < own or last >= own + context.scratch_stride or (((at - own) >> 2) ^ lane) & (LANES - 1):
            return fault(context, FAULT_PRIVATE, lane, _private_offset(context, slot, at), size)
        if across:
            _move_across(host, vectors, row, lane, d, at, piece)
            count = add_access(work, count, last & ~3, (at & 3) + piece - PRIVATE_ELEMENT_BYTES, 0)
            if count < 0:
                return fault(context, FAULT_LINES, lane, at, size)
        elif size <= PRIVATE_ELEMENT_BYTES:
            act_on_lane(context, vectors, row, lane, host + at)
        elif row.access == Access.LOAD:
            load_lane(host + at, vectors + row.destination + d * ROW_BYTES, lane, piece, 0)
        else:
            store_lane(host + at, vectors + row.data + d * ROW_BYTES, lane, piece)
        count = add_access(work, count, at, PRIVATE_ELEMENT_BYTES - (at & 3) if across else piece, 0)
        if count < 0:
            return fault(context, FAULT_LINES, lane, at, size)
    return count
