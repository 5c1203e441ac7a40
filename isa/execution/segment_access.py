"""FLAT with an offset, GLOBAL and SCRATCH: addresses of several parts (Vega ISA manual, chapter 9).

Functions return the words they added to the memory record at `out`, or a negative fault code.
"""

from gpusim.base.jit import ctz, jit, ld_i32, ld_i64, ld_u32, st_i64
from isa.architecture import LANES, ROW_BYTES
from isa.execution.buffer_access import private_lanes
from isa.execution.coalescing import match_addresses, note_line_pattern
from isa.execution.codes import LANE_OFFSET, PRIVATE_SEGMENT, WIDE_ADDRESS, Access
from isa.execution.faults import FAULT_PRIVATE
from isa.execution.flat_access import access_lines, sparse_load
from isa.execution.memory_access import fault, private_place, private_start, record_flags
from isa.execution.program_table import ProgramRow
from isa.execution.state import PATTERN_WAYS, Context, Wavefront, pattern_at, work_at
from isa.trace import BUSY_SHIFT, LINE_BYTES


@jit
def segment_base(wave: Wavefront, row: ProgramRow):
    """Return what the addresses of all lanes have in common: the offset, and a scalar address where there is one."""
    if row.scalar_offset < 0:
        return row.offset
    scalar = wave.scalars + row.scalar_offset
    return row.offset + (ld_u32(scalar, 0) if row.addressing & PRIVATE_SEGMENT else ld_i64(scalar, 0))


@jit(inline=True)
def lane_part(low, addressing, lane):
    """Return what a lane's vector registers, from address `low` on, add to the address."""
    if addressing & WIDE_ADDRESS:
        return (ld_i32(low + ROW_BYTES, lane) << 32) | ld_u32(low, lane)
    if addressing & LANE_OFFSET:
        return ld_u32(low, lane)
    return 0


@jit
def segment_access(context: Context, slot, wave: Wavefront, row: ProgramRow, active, out):
    """Execute an access whose address is a scalar one, a vector one and an offset, each if the instruction has it."""
    if active == 0:
        st_i64(out, 0, record_flags(row) | (1 << BUSY_SHIFT))
        return 1
    work = work_at(context.work, 0)
    vectors = wave.vectors
    mode = row.addressing
    private = mode & PRIVATE_SEGMENT
    base = segment_base(wave, row)
    low = vectors + row.address
    for i in range(LANES):
        work.address[i] = base + lane_part(low, mode, i)
    if private:
        start = private_start(context, wave.scalars)
        for i in range(LANES):
            if (active >> i) & 1:
                at = work.address[i]
                if at < 0 or at + row.size > context.flat_scratch_bytes:
                    return fault(context, FAULT_PRIVATE, i, at, row.size)
                work.address[i] = start + private_place(at, i)
        return private_lanes(context, slot, vectors, row, active, out)
    first = work.address[ctz(active)]
    pattern = pattern_at(row.patterns, (first >> 2) & (PATTERN_WAYS - 1))
    sparse = 1 if row.sparse and context.region_count else 0
    different = match_addresses(work, active, first, pattern)
    if different != 0 or pattern.phase != first & (LINE_BYTES - 1):
        load = 1 if row.access == Access.LOAD else 0
        atomic = 1 if row.access == Access.ATOMIC else 0
        note_line_pattern(pattern, work, active, first, 4 if sparse else row.size, load, atomic)
    if sparse:
        return sparse_load(context, vectors, row, active, pattern, first, out)
    return access_lines(context, slot, vectors, row, active, pattern, first, 0, out)
