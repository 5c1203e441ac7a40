"""The interpreter: runs a wavefront for one slice and writes its trace.

Registers, program and trace are reached through the context (`isa.execution.layout`). Vector and scalar arithmetic is
called by address from the lane library; what is left here is control flow, register access and bookkeeping.
"""

from gpusim.jit import call_i64_4, jit, ld_i64, ld_u32, st_i64
from isa.execution.arithmetic import EXEC, VCC, fill_row, save_exec, scalar_arithmetic, special_sources, vector_slow
from isa.execution.buffer_access import buffer_access
from isa.execution.faults import FAULT_LIMIT
from isa.execution.layout import (
    ALWAYS,
    C_CODE_ADDRESS,
    C_FAULT,
    C_HELPERS,
    C_MAX_INSTRUCTIONS,
    C_MEMORY_FUNCTION,
    C_PROGRAM,
    C_TOTAL,
    C_TRACE,
    C_VGPR_COUNT,
    C_WAVES,
    EXECZ,
    F_CODE,
    F_PC,
    F_SLOT,
    H_RESTORE_MODE,
    H_SET_MODE,
    I_A,
    I_A_MASK,
    I_B,
    I_B_MASK,
    I_C,
    I_C_MASK,
    I_CONDITION,
    I_D,
    I_FUNCTION,
    I_KIND,
    I_MASK_IN,
    I_MASK_OUT,
    I_NEXT_BYTE,
    I_SCALAR,
    I_SCALAR_DWORDS,
    I_TARGET,
    INSTRUCTION_BYTES,
    K_BARRIER,
    K_BRANCH,
    K_BUFFER,
    K_CACHE,
    K_END,
    K_FLAT,
    K_LANE_EXCHANGE,
    K_LDS,
    K_NOP,
    K_SALU,
    K_SALU_SPECIAL,
    K_SAVEEXEC,
    K_SET_PC,
    K_SMEM,
    K_SWAP_PC,
    K_VALU,
    K_VALU_MASK,
    K_VALU_SCALAR,
    K_VALU_SLOW,
    ROW_BYTES,
    S_MODE,
    SCC0,
    SCC1,
    VCCNZ,
    VCCZ,
    W_EXECUTED,
    W_PC,
    W_SCC,
    W_SGPRS,
    W_STATUS,
    W_VGPRS,
    WAVE_BYTES,
)
from isa.execution.lds_access import lane_exchange, lds_access
from isa.execution.memory_access import fault, flat_access
from isa.execution.scalar_access import scalar_access
from isa.execution.special_instructions import jump_index, special
from isa.execution.wave_state import free_registers
from isa.lanes import call_lane_op
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

MODE = S_MODE // 2  # as a 64-bit word of the scalar register file


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
def memory_instruction(ctx, slot, row, out):  # type: ignore[no-untyped-def]
    """Execute an instruction that has a memory record; returns the record's words, or a fault.

    Reached through its address, so that it is compiled once and not again inside the interpreter.
    """
    wave = ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES
    vb = ld_i64(wave, W_VGPRS)
    sb = ld_i64(wave, W_SGPRS)
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
    wave = ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES
    vb = ld_i64(wave, W_VGPRS)
    sb = ld_i64(wave, W_SGPRS)
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
    mode = ld_i64(sb, MODE)
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
            call_lane_op(ld_i64(row, I_FUNCTION), vb + ld_i64(row, I_D), a, b, c, exe, mode)
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
            mode = ld_i64(sb, MODE)
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
    if status == END:
        free_registers(ctx, wave)
    st_i64(ctx, C_TOTAL, clock + n)
    if code < 0:
        f = ld_i64(ctx, C_FAULT)
        st_i64(f, F_CODE, code)
        st_i64(f, F_SLOT, slot)
        st_i64(f, F_PC, pc)
        return code
    return status


@jit
def produce(ctx, slot, unused0, unused1):  # type: ignore[no-untyped-def]
    """Trace producer (`isa.trace`): run the next slice of the wavefront in `slot` with its floating-point mode."""
    helpers = ld_i64(ctx, C_HELPERS)
    mode = ld_i64(ld_i64(ld_i64(ctx, C_WAVES) + slot * WAVE_BYTES, W_SGPRS), MODE)
    host = call_lane_op(ld_i64(helpers, H_SET_MODE), mode, 0, 0, 0, 0, 0)
    status = run_slice(ctx, slot)
    call_lane_op(ld_i64(helpers, H_RESTORE_MODE), host, 0, 0, 0, 0, 0)
    return status
