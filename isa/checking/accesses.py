"""Accesses under watch: who reads and writes each word, whether it was written, whether it is aligned.

Two accesses of different work-items to the same bytes, one of them a write, race unless something orders them: within
a workgroup a barrier between them; between workgroups a release by the first one's workgroup and an acquire by the
second one's. Lanes of a wavefront go together, so that the order of their instructions orders them. An atomic, or a
load past L1, releases and acquires for its workgroup, and races with none of its kind. To write what is there already
is no race, unless several lanes read it, change it and write it back at once (`updates.py` decides which).
"""

from gpusim.base.jit import ctz, jit, ld_i64, ld_u8, ld_u32, popcount, st_i32, st_i64, st_u8
from isa.architecture import LANES, ROW_BYTES
from isa.checking.notes import note, who_of
from isa.checking.registers import known_lanes, set_known_lanes, vector_origin
from isa.checking.state import (
    BYTES_SHIFT,
    CLOCK_MASK,
    CLOCK_SHIFT,
    EPOCH_MASK,
    EPOCH_SHIFT,
    GROUP_SHIFT,
    MEMORY,
    MISALIGNED,
    PC_MASK,
    PRESENT,
    PRIVATE,
    RACE_LANES,
    RACE_READ_AFTER,
    RACE_UPDATES,
    RACE_WRITE_AFTER,
    RACE_WRITES,
    S_READ,
    S_READER,
    S_WRITER,
    S_WRITTEN,
    SEVERAL,
    SHADOW_BYTES,
    SHARED,
    SYNCHRONISES,
    UNWRITTEN_STORE,
    WAVE_SHIFT,
    WHO_MASK,
    Check,
    CheckRow,
)
from isa.execution.codes import PRIVATE_SEGMENT, Access, InstructionKind, ScalarForm, Texels
from isa.execution.lds_access import landing_place
from isa.execution.memory_access import PRIVATE_ELEMENT_BYTES, private_place, private_start
from isa.execution.program_table import ProgramRow
from isa.execution.segment_access import lane_part, segment_base
from isa.execution.state import TAPS, Context, Wavefront, image_at, work_at
from isa.execution.texels import BORDER

WAVE_MASK = WHO_MASK >> WAVE_SHIFT << WAVE_SHIFT  # of who: the wavefront and its workgroup


@jit
def _collides(check: Check, me, epoch, who, what):
    """Return 1 if nothing orders the access of `who`, made with `what`, before one of `me` in barrier epoch `epoch`."""
    other = who & WHO_MASK
    if (me ^ other) >> WAVE_SHIFT == 0:
        return 0
    if (me ^ other) >> GROUP_SHIFT == 0:
        return 1 if (what >> EPOCH_SHIFT) & EPOCH_MASK == epoch else 0
    when = (what >> CLOCK_SHIFT) & CLOCK_MASK
    known = when < ld_i64(check.acquired, me >> GROUP_SHIFT)
    return 0 if known and when < ld_i64(check.released, other >> GROUP_SHIFT) else 1


@jit
def _acquire(check: Check, me, writer, written):
    """Have a workgroup know what another one did before it wrote a word that is read past L1, or atomically."""
    when = ((written >> CLOCK_SHIFT) & CLOCK_MASK) + 1
    mine = me >> GROUP_SHIFT
    theirs = (writer & WHO_MASK) >> GROUP_SHIFT
    if mine != theirs:
        st_i64(check.acquired, mine, max(ld_i64(check.acquired, mine), when))
        st_i64(check.released, theirs, max(ld_i64(check.released, theirs), when))


@jit
def watch_read(check: Check, shadow, me, what, touched, synchronises, address, space):
    """Note that `me` reads the bytes `touched` of the word with this shadow, and report a write that races with it."""
    writer = ld_i64(shadow, S_WRITER)
    epoch = (what >> EPOCH_SHIFT) & EPOCH_MASK
    if (writer >> BYTES_SHIFT) & touched:
        written = ld_i64(shadow, S_WRITTEN)
        if synchronises and space == MEMORY:
            _acquire(check, me, writer, written)
        elif not writer & synchronises and _collides(check, me, epoch, writer, written):
            note(check, RACE_READ_AFTER, what & PC_MASK, written & PC_MASK, me, writer & WHO_MASK, address, space)
    reader = ld_i64(shadow, S_READER)
    several = 0
    if reader & PRESENT:
        if _collides(check, me, epoch, reader, ld_i64(shadow, S_READ)):
            several = SEVERAL
        elif (reader ^ me) & WAVE_MASK == 0 and (ld_i64(shadow, S_READ) >> EPOCH_SHIFT) & EPOCH_MASK == epoch:
            several = reader & SEVERAL
    st_i64(shadow, S_READER, me | touched << BYTES_SHIFT | synchronises | several | PRESENT)
    st_i64(shadow, S_READ, what)


@jit
def watch_write(check: Check, shadow, me, what, touched, synchronises, address, space, data, same):
    """Note that `me` writes the bytes `touched` of the word with this shadow, and report accesses that race with it.

    Args:
        data: Address of the row that holds the lanes' values, 0 where a lane's store has been done before the next
            one's is watched.
        same: 1 if the word holds the value already.
    """
    pc = what & PC_MASK
    writer = ld_i64(shadow, S_WRITER)
    written = ld_i64(shadow, S_WRITTEN)
    reader = ld_i64(shadow, S_READER)
    epoch = (what >> EPOCH_SHIFT) & EPOCH_MASK
    bytes_before = (writer >> BYTES_SHIFT) & 15
    together = written == what and (writer ^ me) & WAVE_MASK == 0  # by another lane of the same instruction
    if bytes_before & touched and not writer & synchronises:
        if together:
            differs = not same
            if data:
                differs = ld_u32(data, writer & (LANES - 1)) != ld_u32(data, me & (LANES - 1))
            if differs:
                note(check, RACE_LANES, pc, pc, me, writer & WHO_MASK, address, space)
            elif data and same and (reader >> BYTES_SHIFT) & touched and (reader ^ me) & WAVE_MASK == 0:
                read = ld_i64(shadow, S_READ)
                if (read >> EPOCH_SHIFT) & EPOCH_MASK == epoch:
                    note(check, RACE_UPDATES, pc, read & PC_MASK, me, writer & WHO_MASK, address, space)
        elif not same and _collides(check, me, epoch, writer, written):
            note(check, RACE_WRITES, pc, written & PC_MASK, me, writer & WHO_MASK, address, space)
    if synchronises and space == MEMORY and writer & SYNCHRONISES:
        _acquire(check, me, writer, written)
    if (reader >> BYTES_SHIFT) & touched and not reader & SYNCHRONISES and not same:
        read = ld_i64(shadow, S_READ)
        if _collides(check, me, epoch, reader, read):
            note(check, RACE_WRITE_AFTER, pc, read & PC_MASK, me, reader & WHO_MASK, address, space)
        elif reader & SEVERAL and (reader ^ me) & WAVE_MASK == 0 and (read >> EPOCH_SHIFT) & EPOCH_MASK == epoch:
            note(check, RACE_WRITE_AFTER, pc, read & PC_MASK, me, -1, address, space)
    st_i64(shadow, S_WRITER, me | (touched | (bytes_before if together else 0)) << BYTES_SHIFT | synchronises | PRESENT)
    st_i64(shadow, S_WRITTEN, what)


@jit(inline=True)
def _is_apart(me, epoch, who, what):
    """Return 1 if an earlier access is there to be seen at once not to collide: none, or one of the same workgroup that
    its own wavefront made, or that lies before a barrier.
    """
    differs = (who ^ me) & WHO_MASK
    same_epoch = (what >> EPOCH_SHIFT) & EPOCH_MASK == epoch
    return who == 0 or differs >> WAVE_SHIFT == 0 or (differs >> GROUP_SHIFT == 0 and not same_epoch)


@jit(inline=True)
def read_quickly(shadow, known, me, what, epoch, acquires):
    """Note that `me` reads a whole word, all of which was written; returns 0 if a closer look is needed first.

    Args:
        me: Number of the watcher, with the word's bytes and PRESENT.
        acquires: Whether its workgroup knows of what others have done.
    """
    if known and ld_u32(known, 0) != 0x0101_0101:
        return 0
    if not _is_apart(me, epoch, ld_i64(shadow, S_WRITER), ld_i64(shadow, S_WRITTEN)):
        return 0
    reader = ld_i64(shadow, S_READER)
    several = 0
    if reader:
        differs = (reader ^ me) & WHO_MASK
        if differs >> GROUP_SHIFT:
            if acquires:
                return 0
            several = SEVERAL
        elif (ld_i64(shadow, S_READ) >> EPOCH_SHIFT) & EPOCH_MASK == epoch:
            several = SEVERAL if differs >> WAVE_SHIFT else reader & SEVERAL
    st_i64(shadow, S_READER, me | several)
    st_i64(shadow, S_READ, what)
    return 1


@jit(inline=True)
def write_quickly(shadow, known, me, what, epoch):
    """Note that `me` writes a whole word, with a value that was written; returns 0 if a closer look is needed first."""
    writer = ld_i64(shadow, S_WRITER)
    written = ld_i64(shadow, S_WRITTEN)
    reader = ld_i64(shadow, S_READER)
    if written == what or reader & SEVERAL:
        return 0
    if not _is_apart(me, epoch, writer, written) or not _is_apart(me, epoch, reader, ld_i64(shadow, S_READ)):
        return 0
    st_i64(shadow, S_WRITER, me)
    st_i64(shadow, S_WRITTEN, what)
    if known:
        st_i32(known, 0, 0x0101_0101)
    return 1


@jit
def _stored(data, lane, size):
    """Return the lane's value of a row, of so many bytes."""
    return ld_u32(data, lane) & ((1 << 8 * size) - 1)


@jit
def _held(host, size):
    """Return the number that memory holds in so many bytes."""
    number = 0
    for k in range(size):
        number |= ld_u8(host, k) << 8 * k
    return number


@jit
def _all_written(known, size):
    whole = 1
    for k in range(size):
        whole &= ld_u8(known, k)
    return whole


@jit
def _set_written(known, size, value):
    for k in range(size):
        st_u8(known, k, value)


@jit
def watch_word(
    context: Context, check: Check, wave: Wavefront, row: ProgramRow, lane, address, space, what, data, flag
):
    """Watch a lane's access to up to four bytes; returns 1 if it loads bytes that were all written, else 0.

    Args:
        address: Byte address in device memory, in LDS, or, private, the byte of all private memory.
        data: Address of the row with the values that are stored.
        flag: SYNCHRONISES or 0, with bit 0: the values were written.
    """
    size = min(row.size, 4)
    kind = row.access
    me = who_of(wave, lane)
    shadow = 0
    known = 0
    host = 0
    if space == MEMORY:
        at = address - context.memory_base
        if at < 0 or at + size > check.memory_bytes:
            return 1  # a fault, which execution finds
        shadow = check.memory + (at >> 2) * SHADOW_BYTES
        known = check.memory_known + at if check.memory_known else 0
        host = context.image + at
    elif space == SHARED:
        if address + size > context.lds_bytes:
            return 1
        shadow = check.lds + (wave.workgroup_slot * (check.lds_bytes >> 2) + (address >> 2)) * SHADOW_BYTES
        known = check.lds_known + wave.workgroup_slot * check.lds_bytes + address
        host = context.lds + wave.workgroup_slot * context.lds_stride + address
    else:
        at = address - context.scratch
        if at < 0 or at + size > context.scratch_bytes:
            return 1
        known = check.private_known + at
    # arguments lie where the compiler puts them, which knows that the machine takes any address
    if address & (size - 1) and not (space == MEMORY and 0 <= address - check.arguments < check.argument_bytes):
        note(check, MISALIGNED, what & PC_MASK, -1, me, -1, address, space)
    synchronises = flag & SYNCHRONISES
    if shadow:
        touched = ((1 << size) - 1) << (address & 3)
        for part in range(2 if touched > 15 else 1):
            bits = (touched >> 4 * part) & 15
            if kind == Access.LOAD:
                watch_read(check, shadow + part * SHADOW_BYTES, me, what, bits, synchronises, address, space)
            else:
                same = kind == Access.STORE and _stored(data, lane, size) == _held(host, size)
                at = shadow + part * SHADOW_BYTES
                watch_write(check, at, me, what, bits, synchronises, address, space, data, same)
    whole = 1 if known == 0 else _all_written(known, size)
    if kind != Access.LOAD and known:
        _set_written(known, size, flag & 1 if kind == Access.STORE else flag & 1 & whole)
    return whole


@jit
def _flat_space(context: Context, address):
    high = address >> 32
    return SHARED if high == context.shared_aperture else (PRIVATE if high == context.private_aperture else MEMORY)


@jit
def _private_place(context: Context, wave: Wavefront, lane, low):
    """Return the byte of all private memory that a flat address in the private aperture means."""
    return private_start(context, wave.scalars) + private_place(low, lane)


@jit
def lane_address(context: Context, wave: Wavefront, row: ProgramRow, lane, offset):
    """Return the lane's address of an LDS or flat instruction; of a buffer instruction, which is done, as it was.

    Of SCRATCH instructions that is an offset within the work-item's private memory.
    """
    if row.kind == InstructionKind.SEGMENT:
        return segment_base(wave, row) + lane_part(wave.vectors + row.address, row.addressing, lane)
    low = ld_u32(wave.vectors + row.address, lane)
    if row.kind == InstructionKind.LDS:
        return (low + offset) & 0xFFFF_FFFF
    if row.kind == InstructionKind.FLAT:
        return ld_u32(wave.vectors + row.address + ROW_BYTES, lane) << 32 | low
    return work_at(context.work, 0).address[lane]


@jit
def quick_lanes(context: Context, check: Check, wave: Wavefront, row: ProgramRow, what, active, offset, d):
    """Watch the d-th word of the lanes' accesses to LDS or device memory where one look suffices; return which lanes'.

    Neighbours that read the same word are one reader: they go together.
    """
    lds = row.kind == InstructionKind.LDS
    segment = row.kind == InstructionKind.SEGMENT
    start = segment_base(wave, row) if segment else 0
    words = check.lds_bytes >> 2
    shadows = check.lds + wave.workgroup_slot * words * SHADOW_BYTES if lds else check.memory
    known = check.lds_known + wave.workgroup_slot * check.lds_bytes if lds else 0
    limit = check.lds_bytes if lds else check.memory_bytes
    if not lds and check.memory_known:
        return 0
    base = 0 if lds else context.memory_base
    low = wave.vectors + row.address
    loads = row.access == Access.LOAD
    me = who_of(wave, 0) | 15 << BYTES_SHIFT | PRESENT
    epoch = (what >> EPOCH_SHIFT) & EPOCH_MASK
    acquires = ld_i64(check.acquired, wave.workgroup) != 0
    done = 0
    last = -1
    left = active
    while left:
        lane = ctz(left)
        left &= left - 1
        if segment:
            at = start + lane_part(low, row.addressing, lane) - base
        elif lds:
            at = (ld_u32(low, lane) + offset) & 0xFFFF_FFFF
        else:
            at = (ld_u32(low + ROW_BYTES, lane) << 32 | ld_u32(low, lane)) - base
        at += 4 * d
        if at < 0 or at + 4 > limit or at & 3:
            continue
        if loads and at == last:
            done |= 1 << lane
            continue
        shadow = shadows + (at >> 2) * SHADOW_BYTES
        word = known + at if known else 0
        if loads:
            if read_quickly(shadow, word, me | lane, what, epoch, acquires):
                done |= 1 << lane
                last = at
        elif write_quickly(shadow, word, me | lane, what, epoch):
            done |= 1 << lane
    return done


@jit
def watch_lanes(
    context: Context, check: Check, wave: Wavefront, row: ProgramRow, watched: CheckRow, what, active, part
):
    """Watch what the active lanes access; part: 1 for the second address of a DS instruction with two."""
    dwords = (row.size + 3) >> 2
    offset = row.offset1 if part else row.offset
    data = row.data1 if part else row.data
    destination = row.destination // ROW_BYTES + part * dwords
    loads = row.access == Access.LOAD
    synchronises = SYNCHRONISES if watched.synchronises else 0
    private = row.kind == InstructionKind.SEGMENT and row.addressing & PRIVATE_SEGMENT
    quick = 0 if synchronises or row.size < 4 or row.kind == InstructionKind.BUFFER or private else 1
    for d in range(dwords):
        known_data = -1
        if not loads:
            known_data = known_lanes(check, wave, data // ROW_BYTES + d)
        values = wave.vectors + data + d * ROW_BYTES
        known = quick_lanes(context, check, wave, row, what, active & known_data, offset, d) if quick else 0
        left = active & ~known
        while left:
            lane = ctz(left)
            left &= left - 1
            address = lane_address(context, wave, row, lane, offset)
            space = SHARED
            step = 4
            if row.kind == InstructionKind.FLAT or row.kind == InstructionKind.SEGMENT:
                space = PRIVATE if row.addressing & PRIVATE_SEGMENT else _flat_space(context, address)
                if space == SHARED:
                    address &= 0xFFFF_FFFF
                elif space == PRIVATE:
                    address = _private_place(context, wave, lane, address & 0xFFFF_FFFF)
            elif row.kind == InstructionKind.BUFFER:
                space = PRIVATE if 0 <= address - context.scratch < context.scratch_bytes else MEMORY
            if space == PRIVATE:
                step = LANES * PRIVATE_ELEMENT_BYTES
            flag = synchronises | ((known_data >> lane) & 1)
            whole = watch_word(context, check, wave, row, lane, address + d * step, space, what, values, flag)
            known |= whole << lane
            if row.access == Access.STORE and space == MEMORY and not (known_data >> lane) & 1:
                origin = vector_origin(check, wave, data // ROW_BYTES + d)
                note(check, UNWRITTEN_STORE, what & PC_MASK, origin, who_of(wave, lane), -1, address + d * step, space)
        if loads or row.returns:
            set_known_lanes(check, wave, destination + d, active, known, what & PC_MASK)
    if synchronises:
        group = wave.workgroup
        st_i64(check.released, group, max(ld_i64(check.released, group), ((what >> CLOCK_SHIFT) & CLOCK_MASK) + 1))


@jit
def watch_landing(context: Context, check: Check, wave: Wavefront, row: ProgramRow, what, active):
    """Watch the words of LDS that the active lanes of a load into LDS are about to write."""
    for lane in range(LANES):
        at = landing_place(wave, row, lane)
        if (active >> lane) & 1 and 0 <= at <= context.lds_bytes - 4:
            shadow = check.lds + (wave.workgroup_slot * (check.lds_bytes >> 2) + (at >> 2)) * SHADOW_BYTES
            watch_write(check, shadow, who_of(wave, lane), what, 15, 0, at, SHARED, 0, 0)


@jit
def set_landed(context: Context, check: Check, wave: Wavefront, row: ProgramRow, active):
    """Note whether what a load has brought to LDS was written; of texels it is taken as such."""
    known = -1 if row.kind == InstructionKind.IMAGE else known_lanes(check, wave, row.destination // ROW_BYTES)
    for lane in range(LANES):
        at = landing_place(wave, row, lane)
        if (active >> lane) & 1 and 0 <= at <= context.lds_bytes - 4:
            _set_written(check.lds_known + wave.workgroup_slot * check.lds_bytes + at, 4, (known >> lane) & 1)


@jit
def watch_texels(context: Context, check: Check, wave: Wavefront, row: ProgramRow, watched: CheckRow, what, active):
    """Watch the texels of an image instruction that has been executed; what is beyond an image is no access.

    A sample reads the texels around its coordinates; a lane's registers are known if all bytes of these were written.
    """
    image = image_at(context.images, 0)
    synchronises = SYNCHRONISES if watched.synchronises else 0
    loads = row.access == Access.LOAD
    samples = row.texels == Texels.SAMPLE or row.texels == Texels.GATHER
    known_data = -1
    if not loads:
        for k in range(popcount(row.components)):
            known_data &= known_lanes(check, wave, row.data // ROW_BYTES + k)
    known = 0
    for lane in range(LANES):
        if (active >> lane) & 1 == 0:
            continue
        whole = 1
        for k in range(TAPS if samples else 1):
            address = image.tap[lane * TAPS + k]
            if address == BORDER or row.texels == Texels.SIZES:
                continue
            place = address - context.memory_base
            me = who_of(wave, lane)
            written = check.memory_known + place if check.memory_known else 0
            last = place + image.texel - 1
            for word in range(place >> 2, (last >> 2) + 1):
                first = max(place, 4 * word)
                touched = ((1 << (min(last, 4 * word + 3) - first + 1)) - 1) << (first & 3)
                shadow = check.memory + word * SHADOW_BYTES
                if loads:
                    watch_read(check, shadow, me, what, touched, synchronises, address, MEMORY)
                else:
                    same = (image.kept >> lane) & 1
                    watch_write(check, shadow, me, what, touched, synchronises, address, MEMORY, 0, same)
            if written:
                if loads:
                    whole &= _all_written(written, image.texel)
                else:
                    _set_written(written, image.texel, (known_data >> lane) & 1)
            if row.access == Access.STORE and not (known_data >> lane) & 1:
                origin = vector_origin(check, wave, row.data // ROW_BYTES)
                note(check, UNWRITTEN_STORE, what & PC_MASK, origin, me, -1, address, MEMORY)
        known |= whole << lane
    if loads or row.returns:
        for k in range(watched.vector_writes):
            set_known_lanes(check, wave, watched.vector_written[k], active, known, what & PC_MASK)


@jit
def watch_scalar(context: Context, check: Check, wave: Wavefront, row: ProgramRow, what):
    """Watch a scalar load from an address; returns -1 if all that it loads was written, else 0."""
    if row.scalar_form != ScalarForm.PLAIN or row.access != Access.LOAD:
        return -1
    offset = row.offset
    if row.scalar_offset >= 0:
        offset += ld_u32(wave.scalars + row.scalar_offset, 0)
    at = ((ld_i64(wave.scalars + row.resource, 0) + offset) & ~3) - context.memory_base
    if at < 0 or at + row.size > check.memory_bytes:
        return -1
    whole = 1
    for d in range(row.size >> 2):
        shadow = check.memory + ((at >> 2) + d) * SHADOW_BYTES
        address = context.memory_base + at + 4 * d
        watch_read(check, shadow, who_of(wave, 0), what, 15, 0, address, MEMORY)
        if check.memory_known:
            whole &= _all_written(check.memory_known + at + 4 * d, 4)
    return -1 if whole else 0
