"""Where a wavefront's cycles go: each cycle of each resident wavefront is charged to one stall reason.

A wavefront's time is accounted for at each change of its state, so that it costs nothing per cycle. How long one that
was ready waited for a busy pipe follows from the intervals in which the pipe was blocked.
"""

from gpusim.core.cu.state import (
    CU_BITS,
    EXECUTION,
    ISSUED,
    MAX_SIMDS,
    NOT_SELECTED,
    PIPES,
    REASONS,
    SIMD_BITS,
    THROTTLE,
    TURN_CYCLES,
)
from gpusim.jit import jit, ld_i64, st_i64
from isa.opcodes.opcode import LDS, SMEM, VALU, VMEM
from memory.network.state import MAX_CUS
from memory.timeline import CHARGED, record

LDS_PIPE = MAX_SIMDS
VMEM_PIPE = LDS_PIPE + MAX_CUS
SMEM_PIPE = VMEM_PIPE + MAX_CUS
NO_PIPE = SMEM_PIPE + MAX_CUS
assert PIPES == NO_PIPE + MAX_CUS
_FIRST_PIPE = {LDS: LDS_PIPE, VMEM: VMEM_PIPE, SMEM: SMEM_PIPE}
_FIRST_PIPES = sum(_FIRST_PIPE.get(unit, NO_PIPE) // MAX_CUS << (4 * unit) for unit in range(8))  # of units but VALU
FOREVER = 1 << 60  # end of a blocked interval: until something comes free


@jit(cold=True)
def _charge_in_detail(m, w, reason, cycles):
    """Note the cycles by static instruction and, while one is drawn, for the timeline."""
    at = m.cu.wave[w].pc * REASONS + reason
    st_i64(m.run.hotspots, at, ld_i64(m.run.hotspots, at) + cycles)
    if m.timeline.on:
        record(m, CHARGED, w | reason << 16, m.cu.wave[w].pc, cycles)


@jit
def charge(m, w, reason, cycles):
    """The wavefront spent `cycles` on `reason`, in front of its next instruction."""
    m.cu.stalls[w >> CU_BITS, reason] += cycles
    if m.run.hotspots:
        _charge_in_detail(m, w, reason, cycles)


@jit
def account(m, w, t, reason):
    """The wavefront's time up to cycle `t` went to `reason`."""
    spent = t - m.cu.wave[w].mark
    if spent > 0:
        charge(m, w, reason, spent)
        m.cu.wave[w].mark = t


@jit
def pipe_blocked(m, pipe, t):
    """Cycles before `t` in which the pipe could not take an instruction."""
    p = m.cu.pipe[pipe]
    return p.total + max(min(t, p.end) - p.start, 0)


@jit
def block_pipe(m, pipe, start, end):
    """The pipe takes nothing in cycles [start, end); intervals follow one another in time."""
    p = m.cu.pipe[pipe]
    p.total += max(p.end - p.start, 0)
    p.start = start
    p.end = max(start, end)


@jit
def pipe_of(unit, w):
    """The pipe that instructions of `unit` go through; units without one have a pipe that is never blocked."""
    return w >> SIMD_BITS if unit == VALU else MAX_CUS * ((_FIRST_PIPES >> (4 * unit)) & 15) + (w >> CU_BITS)


@jit(inline=True)
def account_issue(m, now, w, unit):
    """The wavefront issues now: split the time it was ready into pipe blocked and not selected."""
    wave = m.cu.wave[w]
    spent = now - wave.mark
    if spent > 0:
        # less than nothing if the pipe came free before the cycle from which the wavefront wanted it
        blocked = max(min(spent, pipe_blocked(m, pipe_of(unit, w), now) - wave.snapshot), 0)
        if blocked:
            charge(m, w, THROTTLE if unit == VMEM or unit == SMEM else EXECUTION, blocked)
        charge(m, w, NOT_SELECTED, spent - blocked)
    charge(m, w, ISSUED, TURN_CYCLES)
    wave.mark = now + TURN_CYCLES
    m.cu.issued[unit] += 1
    m.run.instructions += 1
