"""The interpreter: runs a wavefront for one slice and writes its trace.

Registers, program and trace are reached through the context (`isa.layout`). Vector and scalar arithmetic is
called by address from the lane library; what is left here is control flow, register access and bookkeeping.
"""

from gpusim.jit import call_i64_4, ctz, jit, ld_i32, ld_i64, ld_u32, st_i32, st_i64
from isa.faults import FAULT_BRANCH, FAULT_LIMIT, FAULT_MODE, FAULT_REGISTER
from isa.lanes import call_lane_op, call_scalar_op
from isa.layout import (
    ALWAYS,
    C_CODE_ADDRESS,
    C_CODE_BYTES,
    C_FAULT,
    C_HELPERS,
    C_MAX_INSTRUCTIONS,
    C_MEMORY_FUNCTION,
    C_PC_TABLE,
    C_PROGRAM,
    C_SGPR_STRIDE,
    C_SGPRS,
    C_TOTAL,
    C_TRACE,
    C_VGPR_COUNT,
    C_VGPR_STRIDE,
    C_VGPRS,
    C_WAVES,
    EXECZ,
    F_CODE,
    F_PC,
    F_SLOT,
    FLAG_BORROW_SATURATES,
    FLAG_CARRY_SATURATES,
    FLAG_CMPX,
    FLAG_SPECIAL,
    H_BROADCAST,
    H_COPY,
    H_COPY_B64,
    H_DPP,
    H_RESTORE_MODE,
    H_SDWA_MERGE,
    H_SDWA_SELECT,
    H_SET_MODE,
    HW_ID,
    HW_MODE,
    HW_STATUS,
    I_A,
    I_A_DWORDS,
    I_A_MASK,
    I_B,
    I_B_DWORDS,
    I_B_MASK,
    I_C,
    I_C_MASK,
    I_CONDITION,
    I_D,
    I_D_DWORDS,
    I_DPP,
    I_DPP_LANES,
    I_FLAGS,
    I_FUNCTION,
    I_IMMEDIATE,
    I_KIND,
    I_MASK_IN,
    I_MASK_OUT,
    I_NEXT_BYTE,
    I_OUTPUT,
    I_SCALAR,
    I_SCALAR_DWORDS,
    I_SDWA_MERGE,
    I_SOURCE,
    I_SUBKIND,
    I_TARGET,
    INSTRUCTION_BYTES,
    K_BARRIER,
    K_BRANCH,
    K_BUFFER,
    K_CACHE,
    K_END,
    K_FLAT,
    K_GET_PC,
    K_GET_REGISTER,
    K_LANE_EXCHANGE,
    K_LDS,
    K_NOP,
    K_READ_FIRST_LANE,
    K_READ_LANE,
    K_SALU,
    K_SALU_SPECIAL,
    K_SAVEEXEC,
    K_SCALAR_MOVE_RELATIVE,
    K_SET_PC,
    K_SET_REGISTER,
    K_SMEM,
    K_SWAP_PC,
    K_VALU,
    K_VALU_MASK,
    K_VALU_SCALAR,
    K_VALU_SLOW,
    K_VECTOR_MOVE_RELATIVE,
    K_WRITE_LANE,
    RELATIVE_DESTINATION,
    RELATIVE_SOURCE,
    RESULT_ROW,
    ROW_BYTES,
    S_ADDRESSABLE,
    S_EXEC,
    S_EXECZ,
    S_M0,
    S_SCC,
    S_VCC,
    S_VCCZ,
    SCC0,
    SCC1,
    SOURCE_WORDS,
    SRC_DWORDS,
    SRC_SCALAR,
    SRC_SDWA,
    SRC_SIGN,
    VCCNZ,
    VCCZ,
    W_EXECUTED,
    W_MODE,
    W_PC,
    W_SCC,
    W_STATUS,
    WAVE_BYTES,
)
from isa.lds_access import lane_exchange, lds_access
from isa.memory_access import buffer_access, fault, flat_access
from isa.scalar_access import scalar_access
from isa.trace import (
    BARRIER,
    BUSY_SHIFT,
    END,
    INSTRUCTIONS,
    MAX_MEMORY_WORDS,
    MAX_RECORD_WORDS,
    MAX_SEGMENTS,
    MAX_SLICE_INSTRUCTIONS,
    MEMORY_0,
    MEMORY_WORDS,
    MORE,
    SEGMENT_0,
    SEGMENTS,
    STATUS,
    TRACE_WORDS,
)

EXEC = S_EXEC // 2  # EXEC and VCC as 64-bit words of the scalar register file
VCC = S_VCC // 2
FP16_64_ROUND_SHIFT = 2  # MODE: FP16 and FP64 rounding, denormals
FP16_64_DENORMALS = 0xC0


@jit
def mode_supported(mode):
    """1 if the floating-point MODE is one that the lane library implements: FP16 and FP64 keep denormals and
    round as FP32 does."""
    return 1 if mode & FP16_64_DENORMALS == FP16_64_DENORMALS and (mode >> FP16_64_ROUND_SHIFT) & 3 == mode & 3 else 0


@jit
def special_sources(sb, wave):
    """Put SCC, VCCZ and EXECZ where operands find them."""
    st_i32(sb, S_SCC, ld_i64(wave, W_SCC))
    st_i32(sb, S_VCCZ, 1 if ld_i64(sb, VCC) == 0 else 0)
    st_i32(sb, S_EXECZ, 1 if ld_i64(sb, EXEC) == 0 else 0)


@jit
def fill_row(row, value):
    """Put a 32-bit number into all 64 lanes of a row."""
    pair = value | (value << 32)
    for i in range(ROW_BYTES // 8):
        st_i64(row, i, pair)


@jit
def prepared_source(helpers, sb, row, k, address, spare):
    """Address of source `k` after broadcast, SDWA selection and sign modifiers; `spare` are its scratch rows."""
    words = row + 8 * (I_SOURCE + SOURCE_WORDS * k)
    scalar = ld_i64(words, SRC_SCALAR)
    if scalar >= 0:
        for d in range(ld_i64(words, SRC_DWORDS)):
            fill_row(spare + d * ROW_BYTES, ld_u32(sb + scalar, d))
        address = spare
    sdwa = ld_i64(words, SRC_SDWA)
    if sdwa:
        call_lane_op(ld_i64(helpers, H_SDWA_SELECT), spare, address, (sdwa >> 8) & 7, sdwa >> 16, -1, 0)
        address = spare
    sign = ld_i64(words, SRC_SIGN)
    if sign:
        call_lane_op(ld_i64(helpers, sign >> 8), spare, address, sign & 3, 0, -1, 0)
        address = spare
    return address


@jit
def vector_slow(ctx, vb, sb, wave, row):
    """Vector arithmetic with scalar sources, modifiers, SDWA, DPP or a write of EXEC."""
    helpers = ld_i64(ctx, C_HELPERS)
    flags = ld_i64(row, I_FLAGS)
    if flags & FLAG_SPECIAL:
        special_sources(sb, wave)
    spare = vb + ld_i64(ctx, C_VGPR_COUNT) * ROW_BYTES
    exe = ld_i64(sb, EXEC)
    a = ld_i64(row, I_A) + (vb & ld_i64(row, I_A_MASK))
    dpp = ld_i64(row, I_DPP)
    if dpp:
        control, bound = (dpp >> 8) & 0xFFFF, dpp >> 24
        to = spare + ROW_BYTES
        exe = call_lane_op(ld_i64(helpers, H_DPP), to, a, control, bound, exe, ld_i64(row, I_DPP_LANES))
        a = to
    a = prepared_source(helpers, sb, row, 0, a, spare)
    b = ld_i64(row, I_B) + (vb & ld_i64(row, I_B_MASK))
    b = prepared_source(helpers, sb, row, 1, b, spare + 4 * ROW_BYTES)
    c = ld_i64(row, I_C) + (vb & ld_i64(row, I_C_MASK))
    c = prepared_source(helpers, sb, row, 2, c, spare + 8 * ROW_BYTES)
    d = vb + ld_i64(row, I_D)
    target = d
    output = ld_i64(row, I_OUTPUT)
    merge = ld_i64(row, I_SDWA_MERGE)
    wide = 1 if ld_i64(row, I_D_DWORDS) == 2 else 0
    copy = ld_i64(helpers, H_COPY_B64 if wide else H_COPY)
    if output or merge:
        target = spare + RESULT_ROW * ROW_BYTES
        call_lane_op(copy, target, d, 0, 0, -1, 0)
    mask = call_lane_op(ld_i64(row, I_FUNCTION), target, a, b, c, exe, ld_i64(sb + ld_i64(row, I_MASK_IN), 0))
    st_i64(sb + ld_i64(row, I_MASK_OUT), 0, mask)
    if flags:
        if flags & FLAG_CMPX:
            st_i64(sb, EXEC, mask)
        if flags & FLAG_CARRY_SATURATES:
            call_lane_op(ld_i64(helpers, H_BROADCAST), target, 0xFFFF_FFFF, 0, 0, mask, 0)
        if flags & FLAG_BORROW_SATURATES:
            call_lane_op(ld_i64(helpers, H_BROADCAST), target, 0, 0, 0, mask, 0)
    if output:
        call_lane_op(ld_i64(helpers, output >> 8), target, target, output & 15, 0, exe, 0)
    if merge:
        call_lane_op(ld_i64(helpers, H_SDWA_MERGE), d, target, (merge >> 8) & 7, merge >> 16, exe, 0)
    elif output:
        call_lane_op(copy, d, target, 0, 0, exe, 0)


@jit
def scalar_source(sb, address, dwords):
    """A scalar operand: one dword zero-extended, or two."""
    return ld_i64(address, 0) if dwords == 2 else ld_u32(address, 0)


@jit
def scalar_arithmetic(sb, wave, row):
    """Execute SOP1, SOP2, SOPK and SOPC arithmetic."""
    a = scalar_source(sb, ld_i64(row, I_A) + (sb & ld_i64(row, I_A_MASK)), ld_i64(row, I_A_DWORDS))
    b = scalar_source(sb, ld_i64(row, I_B) + (sb & ld_i64(row, I_B_MASK)), ld_i64(row, I_B_DWORDS))
    d = sb + ld_i64(row, I_D)
    dwords = ld_i64(row, I_D_DWORDS)
    old = scalar_source(sb, d, dwords)
    result = call_scalar_op(ld_i64(row, I_FUNCTION), a, b, old, ld_i64(wave, W_SCC), wave + 8 * W_SCC)
    if dwords == 1:
        st_i32(d, 0, result)
    elif dwords == 2:
        st_i64(d, 0, result)


@jit
def save_exec(sb, wave, row):
    """Execute s_*_saveexec_b64: EXEC = EXEC op source, after a copy of EXEC."""
    source = ld_i64(ld_i64(row, I_A) + (sb & ld_i64(row, I_A_MASK)), 0)
    exe = ld_i64(sb, EXEC)
    result = call_scalar_op(ld_i64(row, I_FUNCTION), exe, source, 0, ld_i64(wave, W_SCC), wave + 8 * W_SCC)
    st_i64(sb + ld_i64(row, I_D), 0, exe)
    st_i64(sb, EXEC, result)


@jit
def branch_taken(sb, wave, condition):
    """Whether a branch of this condition is taken."""
    if condition == ALWAYS:
        return 1
    if condition == SCC0:
        return 1 if ld_i64(wave, W_SCC) == 0 else 0
    if condition == SCC1:
        return 1 if ld_i64(wave, W_SCC) else 0
    if condition == VCCZ:
        return 1 if ld_i64(sb, VCC) == 0 else 0
    if condition == VCCNZ:
        return 1 if ld_i64(sb, VCC) else 0
    if condition == EXECZ:
        return 1 if ld_i64(sb, EXEC) == 0 else 0
    return 1 if ld_i64(sb, EXEC) else 0


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
        return ld_i64(wave, W_MODE)
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
            mode = (ld_i64(wave, W_MODE) & ~mask) | (value & mask)
            if mode_supported(mode) == 0:
                return fault(ctx, FAULT_MODE, -1, 0, mode)
            st_i64(wave, W_MODE, mode)
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
    return 0


def memory_instruction(ctx, slot, row, out):  # type: ignore[no-untyped-def]
    """Execute an instruction that has a memory record; returns the record's words, or a fault.

    Reached through its address, so that it is compiled once and not again inside the interpreter.
    """
    vb = ld_i64(ctx, C_VGPRS) + slot * ld_i64(ctx, C_VGPR_STRIDE)
    sb = ld_i64(ctx, C_SGPRS) + slot * ld_i64(ctx, C_SGPR_STRIDE)
    exe = ld_i64(sb, EXEC)
    kind = ld_i64(row, I_KIND)
    if kind == K_LDS:
        return lds_access(ctx, slot, vb, row, exe, out)
    if kind == K_FLAT:
        return flat_access(ctx, slot, vb, row, exe, out)
    if kind == K_SMEM:
        return scalar_access(ctx, sb, row, ld_i64(ctx, C_TOTAL), out)
    if kind == K_BUFFER:
        return buffer_access(ctx, slot, vb, sb, row, exe, out)
    if kind == K_LANE_EXCHANGE:
        return lane_exchange(ctx, slot, vb, sb, row, exe, out)
    st_i64(out, 0, 1 << BUSY_SHIFT)  # K_CACHE
    return 1


@jit
def run_slice(ctx, slot):
    """Run the wavefront in `slot` until a barrier, its end or a full trace buffer; MORE, BARRIER, END or a fault."""
    vb = ld_i64(ctx, C_VGPRS) + slot * ld_i64(ctx, C_VGPR_STRIDE)
    sb = ld_i64(ctx, C_SGPRS) + slot * ld_i64(ctx, C_SGPR_STRIDE)
    wave = ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES
    trace = ld_i64(ctx, C_TRACE) + slot * (8 * TRACE_WORDS)
    program = ld_i64(ctx, C_PROGRAM)
    memory_function = ld_i64(ctx, C_MEMORY_FUNCTION)
    clock = ld_i64(ctx, C_TOTAL)
    executed = ld_i64(wave, W_EXECUTED)
    limit = ld_i64(ctx, C_MAX_INSTRUCTIONS) - executed
    code = 0
    if limit <= 0:
        code = fault(ctx, FAULT_LIMIT, -1, 0, executed)
    if limit > MAX_SLICE_INSTRUCTIONS:
        limit = MAX_SLICE_INSTRUCTIONS
    spare = vb + ld_i64(ctx, C_VGPR_COUNT) * ROW_BYTES
    pc = ld_i64(wave, W_PC)
    exe = ld_i64(sb, EXEC)
    begin = pc
    segments = 0
    memory = 0
    n = 0
    status = MORE
    while n < limit:
        row = program + pc * INSTRUCTION_BYTES
        kind = ld_i64(row, I_KIND)
        if kind == K_VALU:
            a = ld_i64(row, I_A) + (vb & ld_i64(row, I_A_MASK))
            b = ld_i64(row, I_B) + (vb & ld_i64(row, I_B_MASK))
            c = ld_i64(row, I_C) + (vb & ld_i64(row, I_C_MASK))
            call_lane_op(ld_i64(row, I_FUNCTION), vb + ld_i64(row, I_D), a, b, c, exe, 0)
        elif kind == K_VALU_MASK or kind == K_VALU_SCALAR:
            if kind == K_VALU_SCALAR:
                scalar = sb + ld_i64(row, I_SCALAR)
                fill_row(spare, ld_u32(scalar, 0))
                if ld_i64(row, I_SCALAR_DWORDS) == 2:
                    fill_row(spare + ROW_BYTES, ld_u32(scalar, 1))
            a = ld_i64(row, I_A) + (vb & ld_i64(row, I_A_MASK))
            b = ld_i64(row, I_B) + (vb & ld_i64(row, I_B_MASK))
            c = ld_i64(row, I_C) + (vb & ld_i64(row, I_C_MASK))
            mask_in = ld_i64(sb + ld_i64(row, I_MASK_IN), 0)
            mask = call_lane_op(ld_i64(row, I_FUNCTION), vb + ld_i64(row, I_D), a, b, c, exe, mask_in)
            st_i64(sb + ld_i64(row, I_MASK_OUT), 0, mask)
            exe = ld_i64(sb, EXEC)
        elif kind == K_VALU_SLOW:
            vector_slow(ctx, vb, sb, wave, row)
            exe = ld_i64(sb, EXEC)
        elif kind == K_SALU:
            scalar_arithmetic(sb, wave, row)
            exe = ld_i64(sb, EXEC)
        elif kind == K_SALU_SPECIAL:
            special_sources(sb, wave)
            scalar_arithmetic(sb, wave, row)
            exe = ld_i64(sb, EXEC)
        elif kind == K_SAVEEXEC:
            save_exec(sb, wave, row)
            exe = ld_i64(sb, EXEC)
        elif kind == K_BRANCH or kind == K_SET_PC or kind == K_SWAP_PC:
            if segments >= MAX_SEGMENTS - 1:
                break
            target = pc + 1
            taken = 1
            if kind == K_BRANCH:
                taken = branch_taken(sb, wave, ld_i64(row, I_CONDITION))
                if taken:
                    target = ld_i64(row, I_TARGET)
            else:
                target = jump_index(ctx, ld_i64(sb + ld_i64(row, I_A), 0))
                if target < 0:
                    code = target
                    break
                if kind == K_SWAP_PC:
                    st_i64(sb + ld_i64(row, I_D), 0, ld_i64(ctx, C_CODE_ADDRESS) + ld_i64(row, I_NEXT_BYTE))
            n += 1
            if taken:
                st_i64(trace, SEGMENT_0 + segments, begin | ((pc + 1) << 32))
                segments += 1
                begin = target
            pc = target
            continue
        elif (
            kind == K_LDS
            or kind == K_FLAT
            or kind == K_SMEM
            or kind == K_BUFFER
            or kind == K_LANE_EXCHANGE
            or kind == K_CACHE
        ):
            if memory > MAX_MEMORY_WORDS - MAX_RECORD_WORDS:
                break
            out = trace + 8 * (MEMORY_0 + memory)
            st_i64(ctx, C_TOTAL, clock + n)
            words = call_i64_4(memory_function, ctx, slot, row, out)
            if words < 0:
                code = words
                break
            memory += words
        elif kind == K_NOP:
            pass
        elif kind == K_BARRIER:
            n += 1
            pc += 1
            status = BARRIER
            break
        elif kind == K_END:
            n += 1
            pc += 1
            status = END
            break
        else:
            code = special(ctx, slot, vb, sb, wave, row, kind)
            if code < 0:
                break
            exe = ld_i64(sb, EXEC)
        n += 1
        pc += 1
    if pc > begin:
        st_i64(trace, SEGMENT_0 + segments, begin | (pc << 32))
        segments += 1
    st_i64(trace, SEGMENTS, segments)
    st_i64(trace, MEMORY_WORDS, memory)
    st_i64(trace, INSTRUCTIONS, n)
    st_i64(trace, STATUS, status)
    st_i64(wave, W_PC, pc)
    st_i64(wave, W_EXECUTED, executed + n)
    st_i64(wave, W_STATUS, status)
    st_i64(ctx, C_TOTAL, clock + n)
    if code < 0:
        f = ld_i64(ctx, C_FAULT)
        st_i64(f, F_CODE, code)
        st_i64(f, F_SLOT, slot)
        st_i64(f, F_PC, pc)
        return code
    return status


def produce(ctx, slot, unused0, unused1):  # type: ignore[no-untyped-def]
    """Trace producer (`isa.trace`): run the next slice of the wavefront in `slot` with its floating-point mode."""
    helpers = ld_i64(ctx, C_HELPERS)
    mode = ld_i64(ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES, W_MODE)
    host = call_lane_op(ld_i64(helpers, H_SET_MODE), mode, 0, 0, 0, 0, 0)
    status = run_slice(ctx, slot)
    call_lane_op(ld_i64(helpers, H_RESTORE_MODE), host, 0, 0, 0, 0, 0)
    return status
