"""The interpreter: runs a wavefront for one slice and writes its trace.

Registers, program and trace are reached through the context (`isa.execution.state`). Vector and scalar arithmetic is
called by address from the lane library; what is left here is control flow, register access and bookkeeping.
"""

from gpusim.base.jit import call_i64_4, jit, ld_i64, ld_u32, popcount, record_address, st_i64
from isa.architecture import ROW_BYTES
from isa.execution.arithmetic import (
    fill_row,
    save_exec,
    scalar_arithmetic,
    source_address,
    status_sources,
    vector_general,
)
from isa.execution.buffer_access import buffer_access
from isa.execution.codes import Condition, InstructionKind
from isa.execution.faults import FAULT_LIMIT, FAULT_NO_END, FAULT_UNMAPPED
from isa.execution.flat_access import flat_access
from isa.execution.lds_access import lane_exchange, lds_access, store_landed
from isa.execution.memory_access import fault
from isa.execution.program_table import ProgramRow, row_at
from isa.execution.scalar_access import scalar_access
from isa.execution.segment_access import segment_access
from isa.execution.special_instructions import (
    arrive_at_grid_barrier,
    closed_grid_barrier,
    jump_index,
    special,
    vector_indexed,
)
from isa.execution.state import EXEC_WORD, MODE_WORD, VCC_WORD, Context, Wavefront, context_at, wavefront_at, work_at
from isa.execution.wave_state import free_registers
from isa.lanes import call_lane_op
from isa.trace import (
    ASKED_SHIFT,
    BARRIER,
    BUSY_SHIFT,
    END,
    FLOPS,
    GRID_BARRIER,
    INSTRUCTIONS,
    MAX_IMAGE_WORDS,
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
)


@jit
def branch_taken(context: Context, scalars, wave: Wavefront, row: ProgramRow, condition):
    """Return 1 if a branch of this condition is taken, else 0; a call writes where it returns to."""
    if condition == Condition.ALWAYS:
        return 1
    if condition == Condition.SCC0:
        return 1 if wave.scc == 0 else 0
    if condition == Condition.SCC1:
        return 1 if wave.scc else 0
    if condition == Condition.VCCZ:
        return 1 if ld_i64(scalars, VCC_WORD) == 0 else 0
    if condition == Condition.VCCNZ:
        return 1 if ld_i64(scalars, VCC_WORD) else 0
    if condition == Condition.EXECZ:
        return 1 if ld_i64(scalars, EXEC_WORD) == 0 else 0
    if condition == Condition.CALL:
        st_i64(scalars + row.destination, 0, context.code_address + row.next_byte)
        return 1
    return 1 if ld_i64(scalars, EXEC_WORD) else 0


@jit
def _note_stray(context: Context, slot, row_address):
    """Note which wavefront and instruction has made the first access that was let through, if it is the present one."""
    if context.stray.code == 0:
        context.stray.code = FAULT_UNMAPPED
        context.stray.workgroup = wavefront_at(context.wavefronts, slot).workgroup
        context.stray.wavefront = wavefront_at(context.wavefronts, slot).number
        context.stray.pc = row_address


@jit
def memory_instruction(context_address, slot, row_address, out):
    """Execute an instruction that has a memory record; returns the record's words, or a fault.

    The function is called by address, so that it is compiled once and not again inside the interpreter.
    """
    context = context_at(context_address, 0)
    row = row_at(row_address, 0)
    wave = wavefront_at(context.wavefronts, slot)
    active = ld_i64(wave.scalars, EXEC_WORD)
    kind = row.kind
    if kind == InstructionKind.LDS:
        words = lds_access(context, wave, row, active, out)
    elif kind == InstructionKind.FLAT:
        words = flat_access(context, slot, wave, row, active, out)
    elif kind == InstructionKind.SMEM:
        words = scalar_access(context, wave.scalars, row, out)
        if context.strays:
            _note_stray(context, slot, row_address)
        return words
    elif kind == InstructionKind.BUFFER:
        words = buffer_access(context, slot, wave, row, active, out)
        active = work_at(context.work, 0).active
    elif kind == InstructionKind.SEGMENT:
        words = segment_access(context, slot, wave, row, active, out)
    elif kind == InstructionKind.LANE_EXCHANGE:
        return lane_exchange(context, wave, row, active, out)
    elif kind == InstructionKind.IMAGE:
        words = call_i64_4(context.image_function, context_address, slot, row_address, out)
        if context.strays:
            _note_stray(context, slot, row_address)
        if row.to_lds and words > 0:
            code = store_landed(context, wave, row, active)
            return code if code < 0 else words
        return words
    else:
        st_i64(out, 0, 1 << BUSY_SHIFT)  # CACHE_CONTROL
        return 1
    if context.strays:
        _note_stray(context, slot, row_address)
    if row.to_lds and words > 0:
        code = store_landed(context, wave, row, ld_i64(wave.scalars, EXEC_WORD))
        if code < 0:
            return code
    size = 4 if row.sparse and context.region_count else row.size << row.paired  # a sparse load's second word: a mark
    st_i64(out, 0, ld_i64(out, 0) | (popcount(active) * size) << ASKED_SHIFT)
    return words


@jit(outline=True)
def count_stretch(context: Context, first, end, lanes):
    """Count that `lanes` executed the instructions from `first` to `end`, apart from the loop, which needs registers.

    Executions, and active lanes of all of them, are counted in differences from one instruction to the next.
    """
    active = popcount(lanes)
    prefix = context.flop_prefix
    context.slice_flops += active * (ld_i64(prefix, end) - ld_i64(prefix, first))
    counts = context.lane_counts
    if counts == 0:
        return
    st_i64(counts, 2 * first, ld_i64(counts, 2 * first) + 1)
    st_i64(counts, 2 * first + 1, ld_i64(counts, 2 * first + 1) + active)
    st_i64(counts, 2 * end, ld_i64(counts, 2 * end) - 1)
    st_i64(counts, 2 * end + 1, ld_i64(counts, 2 * end + 1) - active)


@jit
def run_slice(context: Context, slot):
    """Run the wavefront in `slot` to a barrier, its end or a full trace buffer.

    Returns MORE, BARRIER, END, GRID_BARRIER or a fault.
    """
    wave = wavefront_at(context.wavefronts, slot)
    vectors = wave.vectors
    scalars = wave.scalars
    trace = context.traces + slot * context.trace_stride + context.trace_offset
    program = context.program
    memory_function = context.memory_function
    clock = context.executed
    executed = wave.executed
    limit = context.max_instructions - executed
    code = 0
    if limit <= 0:
        code = fault(context, FAULT_LIMIT, -1, 0, executed)
    elif clock - context.last_end >= context.max_without_end:
        code = fault(context, FAULT_NO_END, -1, 0, clock - context.last_end)
        limit = 0
    elif wave.status == GRID_BARRIER:
        code = closed_grid_barrier(context, slot)
        if code:
            limit = 0
    if limit > MAX_SLICE_INSTRUCTIONS:
        limit = MAX_SLICE_INSTRUCTIONS
    scratch = vectors + context.vector_registers * ROW_BYTES
    pc = wave.pc
    active = ld_i64(scalars, EXEC_WORD)
    mode = ld_i64(scalars, MODE_WORD)
    begin = pc
    segments = 0
    memory = 0
    n = 0
    context.slice_flops = 0
    lanes = active  # of the instructions from `uncounted` on, which are not counted yet
    uncounted = pc
    status = MORE
    while n < limit:
        row = row_at(program, pc)
        kind = row.kind
        if kind == InstructionKind.VALU:
            a = source_address(row, 0, vectors)
            b = source_address(row, 1, vectors)
            c = source_address(row, 2, vectors)
            call_lane_op(row.function, vectors + row.destination, a, b, c, active, mode)
        elif kind == InstructionKind.VALU_LANE_MASK or kind == InstructionKind.VALU_ONE_SCALAR:
            if kind == InstructionKind.VALU_ONE_SCALAR:
                scalar = scalars + row.scalar
                fill_row(scratch, ld_u32(scalar, 0))
                if row.scalar_dwords == 2:
                    fill_row(scratch + ROW_BYTES, ld_u32(scalar, 1))
            a = source_address(row, 0, vectors)
            b = source_address(row, 1, vectors)
            c = source_address(row, 2, vectors)
            mask_in = ld_i64(scalars + row.mask_in, 0)
            mask = call_lane_op(row.function, vectors + row.destination, a, b, c, active, mask_in)
            st_i64(scalars + row.mask_out, 0, mask)
            active = ld_i64(scalars, EXEC_WORD)
        elif kind == InstructionKind.VALU_GENERAL:
            vector_general(context, vectors, scalars, wave, row)
            active = ld_i64(scalars, EXEC_WORD)
        elif kind == InstructionKind.VALU_INDEXED:
            code = vector_indexed(context, vectors, scalars, row)
            if code < 0:
                break
        elif kind == InstructionKind.SALU:
            scalar_arithmetic(scalars, wave, row)
            active = ld_i64(scalars, EXEC_WORD)
        elif kind == InstructionKind.SALU_STATUS:
            status_sources(scalars, wave)
            scalar_arithmetic(scalars, wave, row)
            active = ld_i64(scalars, EXEC_WORD)
        elif kind == InstructionKind.SAVE_EXEC:
            save_exec(scalars, wave, row)
            active = ld_i64(scalars, EXEC_WORD)
        elif kind == InstructionKind.BRANCH or kind == InstructionKind.SET_PC or kind == InstructionKind.SWAP_PC:
            if segments >= MAX_SEGMENTS - 1:
                break
            target = pc + 1
            taken = 1
            if kind == InstructionKind.BRANCH:
                taken = branch_taken(context, scalars, wave, row, row.condition)
                if taken:
                    target = row.target
            else:
                target = jump_index(context, ld_i64(scalars + row.source[0], 0))
                if target < 0:
                    code = target
                    break
                if kind == InstructionKind.SWAP_PC:
                    st_i64(scalars + row.destination, 0, context.code_address + row.next_byte)
            n += 1
            if taken:
                count_stretch(context, uncounted, pc + 1, lanes)
                uncounted = target
                st_i64(trace, SEGMENT_0 + segments, begin | ((pc + 1) << 32))
                segments += 1
                begin = target
            pc = target
            continue
        elif (  # one by one: all cases together become a jump table
            kind == InstructionKind.LDS
            or kind == InstructionKind.FLAT
            or kind == InstructionKind.SMEM
            or kind == InstructionKind.BUFFER
            or kind == InstructionKind.SEGMENT
            or kind == InstructionKind.LANE_EXCHANGE
            or kind == InstructionKind.IMAGE
            or kind == InstructionKind.CACHE_CONTROL
        ):
            if memory > MAX_MEMORY_WORDS - (MAX_IMAGE_WORDS if kind == InstructionKind.IMAGE else MAX_RECORD_WORDS):
                break
            out = trace + 8 * (MEMORY_0 + memory)
            context.executed = clock + n
            words = call_i64_4(memory_function, record_address(context), slot, record_address(row), out)
            if words < 0:
                code = words
                break
            memory += words
        elif kind == InstructionKind.NO_OPERATION:
            pass
        elif kind == InstructionKind.BARRIER:
            n += 1
            pc += 1
            status = BARRIER
            break
        elif kind == InstructionKind.GRID_BARRIER:
            context.executed = clock + n
            status = arrive_at_grid_barrier(context, slot, wave, row, trace)
            n += 1
            pc += 1
            break
        elif kind == InstructionKind.END:
            n += 1
            pc += 1
            status = END
            break
        else:
            code = special(context, slot, wave, row, kind)
            if code < 0:
                break
            active = ld_i64(scalars, EXEC_WORD)
            mode = ld_i64(scalars, MODE_WORD)
        n += 1
        pc += 1
        if active != lanes:
            count_stretch(context, uncounted, pc, lanes)
            uncounted = pc
            lanes = active
    if pc > begin:
        st_i64(trace, SEGMENT_0 + segments, begin | (pc << 32))
        segments += 1
    count_stretch(context, uncounted, pc, lanes)
    st_i64(trace, SEGMENTS, segments)
    st_i64(trace, MEMORY_WORDS, memory)
    st_i64(trace, INSTRUCTIONS, n)
    if code > 0:
        status = GRID_BARRIER  # nothing was executed
    elif n:
        context.idle = 0
    st_i64(trace, STATUS, status)
    st_i64(trace, FLOPS, context.slice_flops)
    wave.pc = pc
    wave.executed = executed + n
    wave.status = status
    context.executed = clock + n
    if status == END:
        free_registers(context, wave)
        context.last_end = clock + n
        context.ended += 1
        context.ended_instructions += executed + n
    if code < 0:
        context.fault.code = code
        context.fault.slot = slot
        context.fault.pc = pc
        return code
    return status
