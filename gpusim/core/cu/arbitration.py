"""Arbitration of a CU's SIMDs for the queues of vector memory, scalar memory and LDS.

A SIMD is visited every fourth cycle, and would always lose the last free slot of a queue to another one that is visited
before it, if the queue gives its slots back every four cycles: so the last slot goes round robin to the SIMDs that have
a wavefront for it. While a queue is full its pipe is blocked, which is what wavefronts wait for as memory throttle.
"""

from gpusim.core.cu.accounts import FOREVER, block_pipe
from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import SIMDS_BITS, TURN_CYCLES
from gpusim.core.cu.wave import wake_simd
from gpusim.jit import jit
from isa.opcodes.opcode import SMEM, VMEM


@jit
def free_slots(m, now, simd, unit):
    """How many instructions of its SIMD's CU the queue of VMEM, SMEM or LDS can take now: 0, 1, or 2 for more."""
    cu = simd >> SIMDS_BITS
    if unit == VMEM:
        return min(m.l1.queue_limit - m.l1.unit[cu].q_count, 2)
    if unit == SMEM:
        return min(m.scalar.queue_limit - m.scalar.q_count[cu], 2)
    # the LDS takes instructions as long as the bank cycles in front of it are no more than its backlog
    waited = now - (m.cu.lds_free[cu] - m.cu.lds_backlog)
    return 0 if waited < 0 else (1 if waited < TURN_CYCLES else 2)


@jit
def _next_simd(m, cu, unit):
    """SIMD that may issue to the unit next: round robin over those whose wavefronts want it, -1 if none does."""
    for k in range(1, SIMDS + 1):
        simd = cu << SIMDS_BITS | (m.cu.served[cu, unit] + k) & (SIMDS - 1)
        if m.cu.simd[simd].want[unit]:
            return simd
    return -1


@jit
def takes(m, now, simd, unit):
    """1 if the unit takes an instruction of the SIMD's wavefronts now."""
    slots = free_slots(m, now, simd, unit)
    if slots != 1:
        return slots >> 1
    return 1 if _next_simd(m, simd >> SIMDS_BITS, unit) == simd else 0


@jit
def queue_full(m, now, pipe):
    """The last slot of a queue is taken: from the next cycle on its pipe is blocked, until a slot comes free."""
    block_pipe(m, pipe, now + 1, FOREVER)


@jit(outline=True)
def slot_freed(m, now, cu, unit, pipe, slots):
    """A slot of the CU's queue of the unit came free, so that there are `slots`: visit the SIMDs that may take one.

    A visit to one that wants the only slot but is not next would be spurious.
    """
    if m.cu.pipe[pipe].end == FOREVER:
        m.cu.pipe[pipe].end = now
        simd = _next_simd(m, cu, unit)
        if simd >= 0:
            wake_simd(m, now, simd)
    elif slots == 2:
        for simd in range(cu << SIMDS_BITS, (cu + 1) << SIMDS_BITS):
            if m.cu.simd[simd].want[unit]:
                wake_simd(m, now, simd)
