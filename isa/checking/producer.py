"""A wavefront executed instruction by instruction under watch, as a trace producer whose traces nobody reads."""

from gpusim.base.jit import jit, ld_i64, st_i64, st_u8
from isa.architecture import EXEC, FLAT_SCRATCH, ROW_BYTES, SCC, VCC
from isa.checking.accesses import set_landed, watch_landing, watch_lanes, watch_scalar, watch_texels
from isa.checking.notes import note, who_of
from isa.checking.registers import (
    check_sources,
    origin_of_sources,
    selected_always,
    set_known_lanes,
    set_results,
    sources_known,
)
from isa.checking.state import (
    BARRIER_DIVERGENT,
    BARRIER_MISSED,
    CLOCK_MASK,
    CLOCK_SHIFT,
    EPOCH_MASK,
    EPOCH_SHIFT,
    ORIGIN_REGISTER,
    SCALAR_CODES,
    SELECTED,
    SHADOW_WORDS,
    Check,
    check_at,
    check_row_at,
)
from isa.execution.buffer_access import find_buffer_addresses
from isa.execution.codes import Access, InstructionKind
from isa.execution.interpreter import run_slice
from isa.execution.producer import enter_float_mode, leave_float_mode
from isa.execution.program_table import row_at
from isa.execution.state import EXEC_WORD, Context, Wavefront, context_at, wavefront_at, work_at
from isa.execution.wave_state import start
from isa.trace import GRID_BARRIER, INSTRUCTIONS, MORE

WATCHED_SLICE = 4096  # instructions before others have a turn
LONGEST_STRETCH = 64


@jit
def _clear(address, count):
    for k in range(count):
        st_i64(address, k, 0)


@jit
def start_checked(context_address, slot, workgroup, wave_and_group_slot):
    """Lay out a wavefront's initial state, as `wave_state.start`, and what is known of it."""
    start(context_address, slot, workgroup, wave_and_group_slot)
    context = context_at(context_address, 0)
    check = check_at(context.check, 0)
    wave = wavefront_at(context.wavefronts, slot)
    launch = context.launch
    live = ld_i64(wave.scalars, EXEC_WORD)
    st_i64(check.epochs, slot, 0)
    st_i64(check.barrier, slot, -1)
    st_i64(check.live, slot, live)
    if wave.number == 0:
        words = check.lds_bytes >> 2
        group_slot = wave.workgroup_slot
        _clear(check.lds + group_slot * words * SHADOW_WORDS * 8, words * SHADOW_WORDS)
        _clear(check.lds_known + group_slot * check.lds_bytes, check.lds_bytes >> 3)
    file = wave.register_file - 1
    _clear(check.private_known + file * context.scratch_stride, context.scratch_stride >> 3)
    registers = 1 if launch.packed_ids else launch.work_item_ids
    for register in range(check.vectors):
        st_i64(check.known, file * check.vectors + register, live if register < registers else 0)
        st_i64(check.origins, file * check.vectors + register, ORIGIN_REGISTER + 256 + register)
    given = launch.user_sgprs + launch.enable_group_info + launch.enable_scratch_offset
    for axis in range(3):
        given += launch.enable_group_id[axis]
    for code in range(SCALAR_CODES):
        # VCC, FLAT_SCRATCH and SCC are a program's own; what follows them, M0 and EXEC among them, is the machine's
        own = code < FLAT_SCRATCH + 2 or code == VCC or code == VCC + 1 or (code >= EXEC + 2 and code == SCC)
        given_or_set = 0 if own and code >= given else 1
        st_u8(check.scalar_known, file * SCALAR_CODES + code, given_or_set)
        st_i64(check.scalar_lanes, file * SCALAR_CODES + code, -given_or_set)
        st_i64(check.scalar_origins, file * SCALAR_CODES + code, ORIGIN_REGISTER + code)
    return 0


@jit
def _pass_barrier(check: Check, wave: Wavefront, slot, pc, active):
    """Note that the wavefront has come to a barrier; all of its lanes that have a work-item must."""
    st_i64(check.epochs, slot, ld_i64(check.epochs, slot) + 1)
    st_i64(check.barrier, slot, pc)
    if active != ld_i64(check.live, slot):
        note(check, BARRIER_DIVERGENT, pc, -1, who_of(wave, 0), -1, active, 0)


@jit
def _end(check: Check, wave: Wavefront, slot, pc):
    """Compare the barriers that the wavefront has passed with those of its workgroup that have ended."""
    if ld_i64(check.live, slot) == 0:
        return
    group = wave.workgroup
    passed = ld_i64(check.epochs, slot) + 1
    others = ld_i64(check.group_barriers, group)
    if others == 0:
        st_i64(check.group_barriers, group, passed)
        st_i64(check.group_ended, group, wave.number | (ld_i64(check.barrier, slot) + 1) << 8)
    elif others != passed:
        ended = ld_i64(check.group_ended, group)
        first = who_of(wave, 0) & ~0x3C0 | (ended & 255) << 6
        if passed > others:  # this one passed a barrier that the first one did not come to
            note(check, BARRIER_MISSED, ld_i64(check.barrier, slot), pc, first, who_of(wave, 0), passed - others, 0)
        else:
            note(check, BARRIER_MISSED, (ended >> 8) - 1, pc, who_of(wave, 0), first, others - passed, 0)


@jit
def _stretch(context: Context, check: Check, wave: Wavefront, active):
    """Follow what is known through the plain arithmetic that comes next; return how many instructions it is.

    None of it decides control flow, changes EXEC, or needs to be executed before what is known of its result is.
    """
    pc = wave.pc
    count = 0
    while count < LONGEST_STRETCH:
        row = check_row_at(check.rows, pc + count)
        if not row.plain:
            break
        if row.policy == SELECTED and active & ~selected_always(check, wave, row):
            break  # its lane mask may be made by this very stretch
        known = sources_known(check, wave, row)
        lanes = active if row.vector else -1
        origin = -1
        if lanes & ~known:
            origin = origin_of_sources(check, wave, row, lanes)
        set_results(check, wave, row, lanes, known, origin)
        count += 1
    return count


@jit
def _step(context: Context, check: Check, wave: Wavefront, slot):
    """Execute one instruction of the wavefront under watch; returns what `run_slice` returns."""
    pc = wave.pc
    row = row_at(context.program, pc)
    watched = check_row_at(check.rows, pc)
    active = ld_i64(wave.scalars, EXEC_WORD)
    kind = row.kind
    what = pc | (ld_i64(check.epochs, slot) & EPOCH_MASK) << EPOCH_SHIFT
    what |= (context.executed & CLOCK_MASK) << CLOCK_SHIFT
    stretch = _stretch(context, check, wave, active)
    if stretch:
        context.max_instructions = wave.executed + stretch
        return run_slice(context, slot)
    check_sources(check, wave, watched, pc, active)
    lanes = active if watched.vector else -1
    known = -1
    origin = -1
    if kind == InstructionKind.LDS or kind == InstructionKind.FLAT or kind == InstructionKind.SEGMENT:
        watch_lanes(context, check, wave, row, watched, what, active, 0)
        if kind == InstructionKind.LDS and row.paired:
            watch_lanes(context, check, wave, row, watched, what, active, 1)
    elif (
        kind == InstructionKind.BUFFER and row.access == Access.STORE
    ):  # before it has written what it is compared with
        find_buffer_addresses(context, wave, row, active)
        watch_lanes(context, check, wave, row, watched, what, work_at(context.work, 0).active, 0)
    elif kind == InstructionKind.SMEM:
        known = watch_scalar(context, check, wave, row, what)
        origin = pc
    elif kind == InstructionKind.BARRIER:
        _pass_barrier(check, wave, slot, pc, active)
    elif kind == InstructionKind.GRID_BARRIER:  # what its workgroup has done is known to all that pass it
        st_i64(check.released, wave.workgroup, max(ld_i64(check.released, wave.workgroup), context.executed + 1))
    elif kind == InstructionKind.END:
        _end(check, wave, slot, pc)
    elif kind != InstructionKind.BUFFER and kind != InstructionKind.IMAGE:
        known = sources_known(check, wave, watched)
        if lanes & ~known:
            origin = origin_of_sources(check, wave, watched, lanes)
    into_lds = row.to_lds
    if into_lds:
        watch_landing(context, check, wave, row, what, active)
    context.max_instructions = wave.executed + 1
    status = run_slice(context, slot)
    if status < 0:
        return status
    if kind == InstructionKind.VALU_INDEXED or kind == InstructionKind.VECTOR_MOVE_RELATIVE:
        for register in range(check.vectors):  # which one is written is known at run time alone: it may be any
            set_known_lanes(check, wave, register, active, -1, -1)
    elif kind == InstructionKind.BUFFER:
        inside = work_at(context.work, 0).active
        if row.access != Access.STORE:
            watch_lanes(context, check, wave, row, watched, what, inside, 0)
        if into_lds:
            set_known_lanes(check, wave, row.destination // ROW_BYTES, active & ~inside, -1, -1)
        for k in range(watched.vector_writes):  # lanes out of range get zeros
            set_known_lanes(check, wave, watched.vector_written[k], active & ~inside, -1, -1)
    elif kind == InstructionKind.IMAGE:
        watch_texels(context, check, wave, row, watched, what, active)
    elif (
        kind != InstructionKind.LDS
        and kind != InstructionKind.FLAT
        and kind != InstructionKind.SEGMENT
        and kind != InstructionKind.END
    ):
        set_results(check, wave, watched, lanes, known, origin)
    if into_lds:
        set_landed(context, check, wave, row, active)
    return status


@jit
def produce_checked(context_address, slot, unused0, unused1):
    """Run the next instructions of the wavefront in `slot` under watch, as a trace producer (`isa.trace`)."""
    context = context_at(context_address, 0)
    check = check_at(context.check, 0)
    wave = wavefront_at(context.wavefronts, slot)
    if wave.status == GRID_BARRIER:  # what the others did before they came to it is known here
        resource = ld_i64(context.grid_tickets, slot) & 255
        st_i64(
            check.acquired, wave.workgroup, max(ld_i64(check.acquired, wave.workgroup), context.grid_clock[resource])
        )
    most = context.max_instructions
    host = enter_float_mode(context, slot)
    status = MORE
    left = WATCHED_SLICE
    while status == MORE and left > 0 and wave.executed < most:
        before = wave.executed
        status = _step(context, check, wave, slot)
        left -= wave.executed - before
    context.max_instructions = most
    st_i64(context.traces + slot * context.trace_stride, INSTRUCTIONS, WATCHED_SLICE - left)
    if status == MORE and wave.executed >= most:
        status = run_slice(context, slot)  # which says that the limit is reached
    leave_float_mode(context, host)
    return status
