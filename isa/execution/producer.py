"""The producer: runs a wavefront's next slice, and passes over the iterations of a loop that are not to be simulated.

What is passed over is executed as far as addresses and control flow need it (`isa.execution.passage`), so that what
follows accesses memory as if all of it had been executed. It leaves no trace and does not count as executed.
"""

from gpusim.base.jit import jit, ld_i64, st_i64
from isa.execution.faults import FAULT_PASSAGE
from isa.execution.interpreter import run_slice
from isa.execution.state import MODE_WORD, Context, Passage, Wavefront, context_at, passage_at, wavefront_at
from isa.lanes import call_lane_op
from isa.trace import BARRIER, END, MORE


@jit
def to_the_stop(context: Context, wave: Wavefront, slot):
    """Run a wavefront to its program's stop; return the rows that were executed, the stop among them, or a fault."""
    begin = wave.executed
    while True:
        status = run_slice(context, slot)
        if status < 0:
            return status
        if status == BARRIER:
            return wave.executed - begin
        if status == END:
            return FAULT_PASSAGE


@jit
def _iterate(context: Context, passage: Passage, wave: Wavefront, slot, iterations):
    """Take a wavefront on by so many iterations; return 0 or a fault."""
    context.program = passage.exact
    before = to_the_stop(context, wave, slot)
    if before < 0 or before > passage.length:
        return min(before, FAULT_PASSAGE)
    context.program = passage.fast
    for _ in range(iterations - 1):
        if to_the_stop(context, wave, slot) != passage.steps:
            return FAULT_PASSAGE
    context.program = passage.plain
    context.max_instructions = wave.executed + passage.length - before
    while wave.executed < context.max_instructions:
        status = run_slice(context, slot)
        if status != MORE:
            return FAULT_PASSAGE
    return 0


@jit
def pass_over(context: Context, slot):
    """Have the wavefront in `slot` pass over the iterations of its loop that are wanted; return 0 or a fault."""
    passage = passage_at(context.passage, 0)
    iterations = ld_i64(passage.wanted, slot)
    if iterations == 0:
        return 0
    st_i64(passage.wanted, slot, 0)
    wave = wavefront_at(context.wavefronts, slot)
    program = context.program
    most = context.max_instructions
    traces = context.traces
    stride = context.trace_stride
    clock = context.executed
    executed = wave.executed
    status = wave.status
    pc = wave.pc
    counts = context.lane_counts
    context.lane_counts = 0
    context.traces = passage.trace
    context.trace_stride = 0
    code = _iterate(context, passage, wave, slot, iterations)
    context.program = program
    context.max_instructions = most
    context.lane_counts = counts
    context.traces = traces
    context.trace_stride = stride
    context.executed = clock
    wave.executed = executed
    wave.status = status
    if code == 0 and wave.pc != pc:
        code = FAULT_PASSAGE
    if code < 0:
        context.fault.code = code
        context.fault.slot = slot
        context.fault.pc = pc
    return code


@jit
def enter_float_mode(context: Context, slot):
    """Put the host into the floating-point mode of the wavefront in `slot`; returns the host's own."""
    mode = ld_i64(wavefront_at(context.wavefronts, slot).scalars, MODE_WORD)
    return call_lane_op(context.helpers.set_host_float_mode, mode, 0, 0, 0, 0, 0)


@jit
def leave_float_mode(context: Context, host):
    """Put the host back into its own floating-point mode."""
    call_lane_op(context.helpers.restore_host_float_mode, host, 0, 0, 0, 0, 0)


@jit
def produce(context_address, slot, offset, unused):
    """Run the next slice of the wavefront in `slot` in its floating-point mode, as a trace producer (`isa.trace`)."""
    context = context_at(context_address, 0)
    context.trace_offset = offset
    host = enter_float_mode(context, slot)
    status = 0
    if context.passage:
        status = pass_over(context, slot)
    if status >= 0:
        status = run_slice(context, slot)
    leave_float_mode(context, host)
    return status
