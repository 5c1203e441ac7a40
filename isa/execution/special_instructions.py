"""Instructions that move between lanes, registers, hardware registers and the program counter."""

from gpusim.jit import ctz, jit, ld_i32, ld_i64, ld_u32, st_i32, st_i64
from isa.execution.arithmetic import EXEC, MODE, VCC
from isa.execution.faults import FAULT_BRANCH, FAULT_REGISTER, FAULT_TRAP
from isa.execution.layout import (
    C_CODE_ADDRESS,
    C_CODE_BYTES,
    C_HELPERS,
    C_PC_TABLE,
    C_VGPR_COUNT,
    H_BROADCAST,
    H_COPY,
    H_SET_MODE,
    HW_ID,
    HW_MODE,
    HW_STATUS,
    I_A,
    I_A_MASK,
    I_B,
    I_B_MASK,
    I_D,
    I_D_DWORDS,
    I_IMMEDIATE,
    I_NEXT_BYTE,
    I_SOURCE,
    I_SUBKIND,
    K_GET_PC,
    K_GET_REGISTER,
    K_READ_FIRST_LANE,
    K_READ_LANE,
    K_SCALAR_MOVE_RELATIVE,
    K_SET_REGISTER,
    K_TRAP,
    K_VECTOR_MOVE_RELATIVE,
    K_WRITE_LANE,
    RELATIVE_DESTINATION,
    RELATIVE_SOURCE,
    ROW_BYTES,
    S_ADDRESSABLE,
    S_M0,
    SRC_SCALAR,
    W_SCC,
)
from isa.execution.memory_access import fault
from isa.lanes import call_lane_op


@jit
def jump_index(ctx, address):
    """Index of the instruction at a device address, or a fault."""
    offset = address - ld_i64(ctx, C_CODE_ADDRESS)
    if offset < 0 or offset >= ld_i64(ctx, C_CODE_BYTES) or offset & 3:
        return fault(ctx, FAULT_BRANCH, -1, address, 0)
    index = ld_i32(ld_i64(ctx, C_PC_TABLE), offset >> 2)
    return index if index >= 0 else fault(ctx, FAULT_BRANCH, -1, address, 0)


@jit
def hardware_register(slot, sb, wave, number):
    """Value of a register that s_getreg reads; TRAPSTS is 0 as no exception is ever raised."""
    if number == HW_MODE:
        return ld_i64(sb, MODE)
    if number == HW_STATUS:
        execz = 1 if ld_i64(sb, EXEC) == 0 else 0
        vccz = 1 if ld_i64(sb, VCC) == 0 else 0
        return ld_i64(wave, W_SCC) | (execz << 9) | (vccz << 10)
    if number == HW_ID:  # wave slot, SIMD, compute unit, shader engine, as if slots filled them in order
        unit = slot // 40
        return (slot % 10) | ((slot // 10 % 4) << 4) | ((unit & 15) << 8) | ((unit >> 4 & 3) << 13)
    return 0


@jit
def special(ctx, slot, vb, sb, wave, row, kind):
    """Execute the rare instructions; 0, or a fault."""
    d = ld_i64(row, I_D)
    a = ld_i64(row, I_A)
    if kind == K_READ_FIRST_LANE:
        exe = ld_i64(sb, EXEC)
        st_i32(sb + d, 0, ld_u32(a + (vb & ld_i64(row, I_A_MASK)), ctz(exe) if exe else 0))
    elif kind == K_READ_LANE:
        lane = ld_u32(ld_i64(row, I_B) + (sb & ld_i64(row, I_B_MASK)), 0) & 63
        st_i32(sb + d, 0, ld_u32(a + (vb & ld_i64(row, I_A_MASK)), lane))
    elif kind == K_WRITE_LANE:
        lane = ld_u32(ld_i64(row, I_B) + (sb & ld_i64(row, I_B_MASK)), 0) & 63
        st_i32(vb + d, lane, ld_u32(a + (sb & ld_i64(row, I_A_MASK)), 0))
    elif kind == K_GET_PC:
        st_i64(sb + d, 0, ld_i64(ctx, C_CODE_ADDRESS) + ld_i64(row, I_NEXT_BYTE))
    elif kind == K_GET_REGISTER:
        field = ld_i64(row, I_IMMEDIATE)
        value = hardware_register(slot, sb, wave, field & 63) >> ((field >> 6) & 31)
        st_i32(sb + d, 0, value & ((2 << (field >> 11)) - 1))
    elif kind == K_SET_REGISTER:
        field = ld_i64(row, I_IMMEDIATE)
        if field & 63 == HW_MODE:
            shift = (field >> 6) & 31
            mask = ((2 << (field >> 11)) - 1) << shift
            value = ld_u32(a + (sb & ld_i64(row, I_A_MASK)), 0) << shift
            mode = (ld_i64(sb, MODE) & ~mask) | (value & mask)
            st_i64(sb, MODE, mode)
            call_lane_op(ld_i64(ld_i64(ctx, C_HELPERS), H_SET_MODE), mode, 0, 0, 0, 0, 0)
    elif kind == K_VECTOR_MOVE_RELATIVE:
        m0 = ld_i32(sb, S_M0)
        moves = ld_i64(row, I_SUBKIND)
        rows = ld_i64(ctx, C_VGPR_COUNT)
        if moves & RELATIVE_SOURCE:
            a += m0 * ROW_BYTES
            if a < 0 or a >= rows * ROW_BYTES:
                return fault(ctx, FAULT_REGISTER, -1, 0, a // ROW_BYTES)
        if moves & RELATIVE_DESTINATION:
            d += m0 * ROW_BYTES
            if d < 0 or d >= rows * ROW_BYTES:
                return fault(ctx, FAULT_REGISTER, -1, 0, d // ROW_BYTES)
        a += vb & ld_i64(row, I_A_MASK)
        scalar = ld_i64(row, I_SOURCE + SRC_SCALAR)
        helpers = ld_i64(ctx, C_HELPERS)
        if scalar >= 0:
            call_lane_op(ld_i64(helpers, H_BROADCAST), vb + d, ld_u32(sb + scalar, 0), 0, 0, ld_i64(sb, EXEC), 0)
        else:
            call_lane_op(ld_i64(helpers, H_COPY), vb + d, a, 0, 0, ld_i64(sb, EXEC), 0)
    elif kind == K_SCALAR_MOVE_RELATIVE:
        m0 = 4 * ld_i32(sb, S_M0)
        if ld_i64(row, I_SUBKIND) & RELATIVE_SOURCE:
            a += m0
        else:
            d += m0
        last = 4 * S_ADDRESSABLE - 4 * ld_i64(row, I_D_DWORDS)
        relative = a if ld_i64(row, I_SUBKIND) & RELATIVE_SOURCE else d
        if relative < 0 or relative > last:
            return fault(ctx, FAULT_REGISTER, -1, 0, relative >> 2)
        a += sb & ld_i64(row, I_A_MASK)
        if ld_i64(row, I_D_DWORDS) == 2:
            st_i64(sb + d, 0, ld_i64(a, 0))
        else:
            st_i32(sb + d, 0, ld_u32(a, 0))
    elif kind == K_TRAP:
        return fault(ctx, FAULT_TRAP, -1, 0, 0)
    return 0
