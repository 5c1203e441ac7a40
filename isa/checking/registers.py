"""Which registers hold a value that was written: by vector register and lane, and by scalar register.

A value made of one that was never written counts as not written either, until it decides an address, control flow or
what is stored: only that is reported, as compilers move values about that nobody uses.
"""

from gpusim.base.jit import ctz, jit, ld_i64, ld_u8, st_i64, st_u8
from isa.checking.notes import note, who_of
from isa.checking.state import (
    ANY_KNOWN,
    KNOWN,
    MOVED,
    SCALAR_CODES,
    SELECTED,
    UNWRITTEN_ADDRESS,
    UNWRITTEN_CONTROL,
    Check,
    CheckRow,
)
from isa.execution.state import Wavefront


@jit
def known_lanes(check: Check, wave: Wavefront, register):
    """Return the lanes in which a vector register holds a value that was written."""
    return ld_i64(check.known, (wave.register_file - 1) * check.vectors + register)


@jit
def set_known_lanes(check: Check, wave: Wavefront, register, active, known, origin):
    """Say of a vector register in which of the active lanes its new value is one that was written."""
    at = (wave.register_file - 1) * check.vectors + register
    st_i64(check.known, at, (ld_i64(check.known, at) & ~active) | (known & active))
    if active & ~known:
        st_i64(check.origins, at, origin)


@jit
def vector_origin(check: Check, wave: Wavefront, register):
    """Return where the value of a vector register that was not written came from."""
    return ld_i64(check.origins, (wave.register_file - 1) * check.vectors + register)


@jit
def scalar_known(check: Check, wave: Wavefront, code):
    """Return 1 if a scalar register holds a value that was written."""
    return ld_u8(check.scalar_known, (wave.register_file - 1) * SCALAR_CODES + code)


@jit
def check_sources(check: Check, wave: Wavefront, row: CheckRow, pc, active):
    """Report addresses and control flow that depend on a value never written."""
    for k in range(row.vector_addresses):
        register = row.vector_read[k]
        missing = active & ~known_lanes(check, wave, register)
        if missing:
            origin = vector_origin(check, wave, register)
            note(check, UNWRITTEN_ADDRESS, pc, origin, who_of(wave, ctz(missing)), -1, -1, 0)
    for k in range(row.scalar_addresses if not row.control else row.scalar_reads):
        code = row.scalar_read[k]
        if not scalar_known(check, wave, code):
            origin = ld_i64(check.scalar_origins, (wave.register_file - 1) * SCALAR_CODES + code)
            kind = UNWRITTEN_CONTROL if row.control else UNWRITTEN_ADDRESS
            note(check, kind, pc, origin, who_of(wave, 0), -1, -1, 0)


@jit
def scalar_lanes(check: Check, wave: Wavefront, code):
    """Return the lanes whose bit of the lane mask in a scalar register is one that was written."""
    return ld_i64(check.scalar_lanes, (wave.register_file - 1) * SCALAR_CODES + code)


@jit
def _selected(check: Check, wave: Wavefront, row: CheckRow, which):
    return -1 if row.vector_read[which] < 0 else known_lanes(check, wave, row.vector_read[which])


@jit
def selected_always(check: Check, wave: Wavefront, row: CheckRow):
    """Return the lanes in which what v_cndmask chooses was written whatever its lane mask, which was written too."""
    known = _selected(check, wave, row, 0) & _selected(check, wave, row, 1) & scalar_lanes(check, wave, row.mask >> 2)
    for k in range(row.scalar_reads):  # the mask, and what is chosen from a scalar register
        if row.scalar_read[k] >> 1 != row.mask >> 3 and not scalar_known(check, wave, row.scalar_read[k]):
            known = 0
    return known


@jit
def sources_known(check: Check, wave: Wavefront, row: CheckRow):
    """Return the lanes in which an instruction's result is made of values that were written."""
    if row.policy == KNOWN:
        return -1
    if row.policy == MOVED:  # from any lane to any: known if the register is in one
        return -1 if row.vector_reads == 0 or known_lanes(check, wave, row.vector_read[0]) else 0
    if row.policy == SELECTED:
        mask = ld_i64(wave.scalars + row.mask, 0)
        chosen = (mask & _selected(check, wave, row, 1)) | (~mask & _selected(check, wave, row, 0))
        for k in range(row.scalar_reads):
            if row.scalar_read[k] >> 1 != row.mask >> 3 and not scalar_known(check, wave, row.scalar_read[k]):
                return 0
        return chosen & scalar_lanes(check, wave, row.mask >> 2)
    lanes = -1
    some = row.vector_reads + row.scalar_reads == 0
    for k in range(row.vector_reads):
        held = known_lanes(check, wave, row.vector_read[k])
        lanes &= held
        some |= 1 if held else 0
    for k in range(row.scalar_reads):
        if scalar_known(check, wave, row.scalar_read[k]):
            some = 1
        else:  # a vector instruction may take a lane mask, such as carries
            lanes &= scalar_lanes(check, wave, row.scalar_read[k]) if row.vector else 0
    if row.policy == ANY_KNOWN:
        return -1 if some else 0
    return lanes


@jit
def origin_of_sources(check: Check, wave: Wavefront, row: CheckRow, active):
    """Return where the first source that was not written came from."""
    file = wave.register_file - 1
    for k in range(row.vector_reads):
        if row.vector_read[k] >= 0 and active & ~known_lanes(check, wave, row.vector_read[k]):
            return vector_origin(check, wave, row.vector_read[k])
    for k in range(row.scalar_reads):
        if not scalar_known(check, wave, row.scalar_read[k]):
            return ld_i64(check.scalar_origins, file * SCALAR_CODES + row.scalar_read[k])
    return -1


@jit
def set_results(check: Check, wave: Wavefront, row: CheckRow, active, known, origin):
    """Say of the registers that an instruction has written in which lanes their values are ones that were written.

    A scalar register that a vector instruction writes is known where it is in all active lanes; a lane mask, lane by
    lane: bits of inactive lanes are 0. One that is made of masks none of which is known has the lanes of all.
    """
    for k in range(row.vector_writes):
        set_known_lanes(check, wave, row.vector_written[k], active, known, origin)
    file = wave.register_file - 1
    whole = active & ~known == 0
    lanes = -1 if whole else (known | ~active) if row.vector and row.policy != MOVED else 0
    if row.policy == ANY_KNOWN and not whole:
        lanes = -1
        for k in range(row.scalar_reads):
            lanes &= scalar_lanes(check, wave, row.scalar_read[k])
    for k in range(row.scalar_writes):
        at = file * SCALAR_CODES + row.scalar_written[k]
        st_i64(check.scalar_lanes, at, lanes)
        st_u8(check.scalar_known, at, 1 if whole else 0)
        if not whole:
            st_i64(check.scalar_origins, at, origin)
