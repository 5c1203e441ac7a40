"""Instructions that move between lanes, registers, hardware registers and the program counter."""

from gpusim.base.jit import ctz, jit, ld_i32, ld_i64, ld_u32, st_i32, st_i64
from isa.architecture import HW_ID, HW_MODE, HW_SH_MEM_BASES, HW_STATUS, LANES, M0, ROW_BYTES, SCALAR_REGISTERS
from isa.execution.arithmetic import fill_row, source_address
from isa.execution.codes import RELATIVE_DESTINATION, RELATIVE_SOURCE, InstructionKind
from isa.execution.faults import FAULT_BRANCH, FAULT_GRID_BARRIER, FAULT_REGISTER, FAULT_TRAP
from isa.execution.memory_access import fault
from isa.execution.program_table import ProgramRow
from isa.execution.state import EXEC_WORD, MODE_WORD, VCC_WORD, Context, Wavefront
from isa.lanes import call_lane_op
from isa.trace import GRID_BARRIER, GRID_RESOURCES, WAITERS

# s_getreg and s_setreg select a register's number, the first bit and how many, less 1 (GCN3 ISA manual, section 12.3)
SELECTOR_NUMBER, SELECTOR_OFFSET_SHIFT, SELECTOR_OFFSET, SELECTOR_SIZE_SHIFT = 63, 6, 31, 11
_INDEX_BITS = 0xFF  # of M0: what s_set_gpr_idx_on has added to a vector register's number


@jit
def jump_index(context: Context, address):
    """Return the index of the instruction at a device address, or a fault."""
    offset = address - context.code_address - context.indexed_from
    if offset < 0 or offset >= context.indexed_bytes or offset & 3:
        return fault(context, FAULT_BRANCH, -1, address, 0)
    index = ld_i32(context.index_of, offset >> 2)
    return index if index >= 0 else fault(context, FAULT_BRANCH, -1, address, 0)


@jit
def hardware_register(context: Context, slot, scalars, wave: Wavefront, number):
    """Return the value of a register that s_getreg reads; TRAPSTS is 0 as no exception is ever raised."""
    if number == HW_MODE:
        return ld_i64(scalars, MODE_WORD)
    if number == HW_STATUS:
        execz = 1 if ld_i64(scalars, EXEC_WORD) == 0 else 0
        vccz = 1 if ld_i64(scalars, VCC_WORD) == 0 else 0
        return wave.scc | (execz << 9) | (vccz << 10)
    if number == HW_SH_MEM_BASES:
        return (context.private_aperture >> 16) | (context.shared_aperture >> 16 << 16)
    if number == HW_ID:  # wave slot, SIMD, compute unit, shader engine, as if slots filled them in order
        unit = slot // 40
        return (slot % 10) | ((slot // 10 % 4) << 4) | ((unit & 15) << 8) | ((unit >> 4 & 3) << 13)
    return 0


@jit
def selected_bits(selector):
    """Return a mask of as many low bits as s_getreg and s_setreg select."""
    return (2 << (selector >> SELECTOR_SIZE_SHIFT)) - 1


@jit
def set_mode(context: Context, scalars, selector, value):
    """Write the selected bits of MODE, and set the host's floating-point mode to match."""
    shift = (selector >> SELECTOR_OFFSET_SHIFT) & SELECTOR_OFFSET
    mask = selected_bits(selector) << shift
    mode = (ld_i64(scalars, MODE_WORD) & ~mask) | ((value << shift) & mask)
    st_i64(scalars, MODE_WORD, mode)
    call_lane_op(context.helpers.set_host_float_mode, mode, 0, 0, 0, 0, 0)


@jit
def vector_move_relative(context: Context, vectors, scalars, row: ProgramRow):
    """Execute v_movrels, v_movreld, v_movrelsd; 0, or a fault."""
    destination = row.destination
    source = row.source[0]
    moved = ld_i32(scalars, M0) * ROW_BYTES
    end = context.vector_registers * ROW_BYTES
    if row.relative & RELATIVE_SOURCE:
        source += moved
        if source < 0 or source >= end:
            return fault(context, FAULT_REGISTER, -1, 0, source // ROW_BYTES)
    if row.relative & RELATIVE_DESTINATION:
        destination += moved
        if destination < 0 or destination >= end:
            return fault(context, FAULT_REGISTER, -1, 0, destination // ROW_BYTES)
    active = ld_i64(scalars, EXEC_WORD)
    scalar = row.source_scalar[0]
    if scalar >= 0:
        value = ld_u32(scalars + scalar, 0)
        call_lane_op(context.helpers.row_broadcast, vectors + destination, value, 0, 0, active, 0)
    else:
        address = source + (vectors & row.source_relative[0])
        call_lane_op(context.helpers.row_copy, vectors + destination, address, 0, 0, active, 0)
    return 0


@jit
def indexed_register(context: Context, offset, moved, dwords):
    """Return the byte offset of a vector register after M0's index is added.

    The result is a fault where the wavefront has no register of that number.
    """
    offset += moved
    if moved and offset + dwords * ROW_BYTES > context.vector_registers * ROW_BYTES:
        return fault(context, FAULT_REGISTER, -1, 0, offset // ROW_BYTES)
    return offset


@jit
def vector_indexed(context: Context, vectors, scalars, row: ProgramRow):
    """Execute vector arithmetic whose registers are indexed by M0; 0, or a fault.

    On hardware a register past the wavefront's last is register 0 (GCN3 ISA manual): here it is a fault.
    """
    moved = (ld_i32(scalars, M0) & _INDEX_BITS) * ROW_BYTES
    if row.scalar_dwords:
        scalar = scalars + row.scalar
        scratch = vectors + context.vector_registers * ROW_BYTES
        fill_row(scratch, ld_u32(scalar, 0))
        if row.scalar_dwords == 2:
            fill_row(scratch + ROW_BYTES, ld_u32(scalar, 1))
    destination = indexed_register(context, row.destination, moved & row.destination_indexed, row.destination_dwords)
    a = indexed_register(context, row.source[0], moved & row.source_indexed[0], row.source_dwords[0])
    b = indexed_register(context, row.source[1], moved & row.source_indexed[1], row.source_dwords[1])
    c = indexed_register(context, row.source[2], moved & row.source_indexed[2], row.source_dwords[2])
    if destination < 0:
        return destination
    if a < 0 and row.source_indexed[0]:
        return a
    if b < 0 and row.source_indexed[1]:
        return b
    if c < 0 and row.source_indexed[2]:
        return c
    a += vectors & row.source_relative[0]
    b += vectors & row.source_relative[1]
    c += vectors & row.source_relative[2]
    active = ld_i64(scalars, EXEC_WORD)
    call_lane_op(row.function, vectors + destination, a, b, c, active, ld_i64(scalars, MODE_WORD))
    return 0


@jit
def scalar_move_relative(context: Context, scalars, row: ProgramRow):
    """Execute s_movrels, s_movreld; 0, or a fault."""
    destination = row.destination
    source = row.source[0]
    moved = 4 * ld_i32(scalars, M0)
    last = 4 * SCALAR_REGISTERS - 4 * row.destination_dwords
    if row.relative & RELATIVE_SOURCE:
        source += moved
        relative = source
    else:
        destination += moved
        relative = destination
    if relative < 0 or relative > last:
        return fault(context, FAULT_REGISTER, -1, 0, relative >> 2)
    address = source + (scalars & row.source_relative[0])
    if row.destination_dwords == 2:
        st_i64(scalars + destination, 0, ld_i64(address, 0))
    else:
        st_i32(scalars + destination, 0, ld_u32(address, 0))
    return 0


@jit
def _grid_resource(scalars, row: ProgramRow):
    """Return the resource of the global data share that an instruction names (LLVM: M0[21:16] + offset, modulo 64)."""
    return ((ld_u32(scalars, M0) >> 16) + row.offset) & (GRID_RESOURCES - 1)


@jit
def _first_lane(wave: Wavefront, row: ProgramRow):
    active = ld_i64(wave.scalars, EXEC_WORD)
    return ld_u32(wave.vectors + row.address, ctz(active) if active else 0)


@jit
def arrive_at_grid_barrier(context: Context, slot, wave: Wavefront, row: ProgramRow, trace):
    """Let the wavefront arrive at a barrier of the global data share; returns GRID_BARRIER.

    The last of those that wait for one another begins the next round, in which its data say how many come before the
    last (AMD RDNA ISA manual, DS_GWS_BARRIER, whose counter and flag GCN3's has).
    """
    resource = _grid_resource(wave.scalars, row)
    st_i64(context.grid_tickets, slot, context.grid_round[resource] << 8 | resource)
    st_i64(trace, WAITERS, context.grid_waiters[resource] | resource << 32)
    if context.grid_left[resource] > 0:
        context.grid_left[resource] -= 1
        return GRID_BARRIER
    more = _first_lane(wave, row)
    context.grid_left[resource] = more
    context.grid_waiters[resource] = more + 1
    context.grid_round[resource] += 1
    context.grid_clock[resource] = context.executed
    return GRID_BARRIER


@jit
def closed_grid_barrier(context: Context, slot):
    """Tell whether the wavefront, which has come to the grid's barrier, still waits there: 1, 0, or a fault.

    It is one where nobody has executed anything since all have been asked.
    """
    ticket = ld_i64(context.grid_tickets, slot)
    resource = ticket & 255
    if context.grid_round[resource] != ticket >> 8:
        return 0
    context.idle += 1
    if context.idle > context.most_idle:
        return fault(context, FAULT_GRID_BARRIER, -1, 0, context.grid_left[resource] + 1)
    return 1


@jit
def special(context: Context, slot, wave: Wavefront, row: ProgramRow, kind):
    """Execute a rare instruction, one of those with a `kind` of their own; returns 0, or a fault."""
    vectors = wave.vectors
    scalars = wave.scalars
    if kind == InstructionKind.READ_FIRST_LANE:
        active = ld_i64(scalars, EXEC_WORD)
        value = ld_u32(source_address(row, 0, vectors), ctz(active) if active else 0)
        st_i32(scalars + row.destination, 0, value)
    elif kind == InstructionKind.READ_LANE:
        lane = ld_u32(source_address(row, 1, scalars), 0) & 63
        st_i32(scalars + row.destination, 0, ld_u32(source_address(row, 0, vectors), lane))
    elif kind == InstructionKind.WRITE_LANE:
        lane = ld_u32(source_address(row, 1, scalars), 0) & 63
        st_i32(vectors + row.destination, lane, ld_u32(source_address(row, 0, scalars), 0))
    elif kind == InstructionKind.GET_PC:
        st_i64(scalars + row.destination, 0, context.code_address + row.next_byte)
    elif kind == InstructionKind.GET_REGISTER:
        selector = row.hardware_register
        value = hardware_register(context, slot, scalars, wave, selector & SELECTOR_NUMBER)
        value >>= (selector >> SELECTOR_OFFSET_SHIFT) & SELECTOR_OFFSET
        st_i32(scalars + row.destination, 0, value & selected_bits(selector))
    elif kind == InstructionKind.SET_REGISTER:
        if row.hardware_register & SELECTOR_NUMBER == HW_MODE:
            set_mode(context, scalars, row.hardware_register, ld_u32(source_address(row, 0, scalars), 0))
    elif kind == InstructionKind.VECTOR_MOVE_RELATIVE:
        return vector_move_relative(context, vectors, scalars, row)
    elif kind == InstructionKind.SCALAR_MOVE_RELATIVE:
        return scalar_move_relative(context, scalars, row)
    elif kind == InstructionKind.GRID_INIT:
        resource = _grid_resource(scalars, row)
        context.grid_left[resource] = _first_lane(wave, row)
        context.grid_waiters[resource] = context.grid_left[resource] + 1
    elif kind == InstructionKind.SWAP_REGISTERS:
        active = ld_i64(scalars, EXEC_WORD)
        for i in range(LANES):
            if (active >> i) & 1:
                value = ld_u32(vectors + row.destination, i)
                st_i32(vectors + row.destination, i, ld_u32(vectors + row.source[0], i))
                st_i32(vectors + row.source[0], i, value)
    elif kind == InstructionKind.TRAP:
        return fault(context, FAULT_TRAP, -1, 0, 0)
    return 0
