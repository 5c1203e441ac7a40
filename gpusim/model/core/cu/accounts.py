"""Where a wavefront's cycles go: each cycle of each resident wavefront is charged to one stall reason.

A wavefront's time is accounted for at each change of its state, so that it costs nothing per cycle. How long one that
was ready waited for what its instruction takes, the vector ALU, the LDS or a slot of a memory queue, is read off the
wait list: it keeps in which cycles each was short (`memory.waiting`).
"""

from gpusim.base.jit import Machine, jit, ld_i64, st_i64
from gpusim.model.core.cu.spec import MATRIX
from gpusim.model.core.cu.state import (
    CU_BITS,
    EXECUTION,
    ISSUED,
    MATRIX_UNIT,
    MAX_SIMDS,
    NOT_SELECTED,
    REASONS,
    SIMD_BITS,
    THROTTLE,
    TURN_CYCLES,
)
from isa.opcodes.opcode import LDS, SMEM, VALU, VMEM
from memory.network.state import MAX_CUS
from memory.timeline import CHARGED, record
from memory.waiting import LDS_BANKS, MATRIX_PRODUCT, NEVER_SHORT, SCALAR_SLOT, VECTOR_ALU, VECTOR_SLOT, cycles_short

assert LDS_BANKS == VECTOR_ALU + MAX_SIMDS
_TAKES = {LDS: LDS_BANKS, VMEM: VECTOR_SLOT, SMEM: SCALAR_SLOT}
# of units but VALU, in MAX_CUS after LDS_BANKS, four bits each: a table that costs no load and no branch
_TABLE = sum((_TAKES.get(unit, NEVER_SHORT) - LDS_BANKS) // MAX_CUS << (4 * unit) for unit in range(8))


@jit(cold=True)
def _charge_in_detail(m: Machine, w, reason, cycles):
    """Charge the cycles to the static instruction and, while a timeline is recorded, record them there."""
    at = m.cu.wave[w].pc * REASONS + reason
    st_i64(m.run.hotspots, at, ld_i64(m.run.hotspots, at) + cycles)
    if m.timeline.on:
        record(m, CHARGED, w | reason << 16, m.cu.wave[w].pc, cycles)


@jit
def charge(m: Machine, w, reason, cycles):
    """Charge `cycles` in front of the wavefront's next instruction to the stall reason `reason`."""
    m.cu.stalls[w >> CU_BITS, reason] += cycles
    if m.run.hotspots:
        _charge_in_detail(m, w, reason, cycles)


@jit
def account(m: Machine, w, t, reason):
    """Charge the wavefront's time since it was last accounted for, up to cycle `t`, to the stall reason `reason`."""
    spent = t - m.cu.wave[w].mark
    if spent > 0:
        charge(m, w, reason, spent)
        m.cu.wave[w].mark = t


def active_now(m: Machine, now: int) -> int:
    """Return the cycles since each CU that now holds workgroups became occupied, up to `now`, summed over CUs.

    Args:
        m: Machine record.
        now: The present cycle.
    """
    cus = int(m.cu.cus)
    return int((now - m.cu.active_since[:cus])[m.cu.wg_resident[:cus] > 0].sum())


@jit
def taken_by(unit, w):
    """Return the timed resource of the wait list that an instruction of `unit` of wavefront slot `w` occupies."""
    cu = w >> CU_BITS
    if unit == VALU:
        return VECTOR_ALU + (w >> SIMD_BITS)
    if unit == MATRIX:
        return MATRIX_PRODUCT + (w >> SIMD_BITS)
    return LDS_BANKS + MAX_CUS * ((_TABLE >> (4 * unit)) & 15) + cu


@jit(inline=True)
def account_issue(m: Machine, now, w, unit):
    """Account for a wavefront that issues in cycle `now`.

    The time for which it was ready is split: cycles in which the resource was short, and cycles in which another
    wavefront was selected.
    """
    wave = m.cu.wave[w]
    spent = now - wave.mark
    if spent > 0:
        # less than nothing if some came free before the cycle from which the wavefront wanted it
        waited = max(min(spent, cycles_short(m, taken_by(unit, w), now) - wave.snapshot), 0)
        if waited:
            reason = MATRIX_UNIT if unit == MATRIX else EXECUTION
            charge(m, w, THROTTLE if unit == VMEM or unit == SMEM else reason, waited)
        charge(m, w, NOT_SELECTED, spent - waited)
    charge(m, w, ISSUED, TURN_CYCLES)
    wave.mark = now + TURN_CYCLES
    m.cu.issued[unit] += 1
    m.run.instructions += 1
