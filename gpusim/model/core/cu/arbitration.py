"""Arbitration of a CU's SIMDs for the queues of vector memory, scalar memory and LDS.

A SIMD is visited every fourth cycle, and would always lose the last free slot of a queue to another one that is visited
before it, if the queue gives its slots back every four cycles: so the last slot goes round robin to the SIMDs that have
a wavefront for it. Who they are is asked of the SIMDs' request masks (`want`), which also name those that have just
come to want a slot. Who found the queue full waits on the wait list; while the queue is full a slot is short there,
which is what wavefronts wait for as memory throttle.
"""

from gpusim.base.jit import Machine, ctz, jit
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import SIMDS_BITS, TURN_CYCLES
from gpusim.model.core.cu.wave import wake_simd
from isa.opcodes.opcode import SMEM, VMEM
from memory.waiting import UNTIL_FREED, freed, is_short, no_longer_short, short, take_off, wait_for


@jit
def free_slots(m: Machine, now, simd, unit):
    """Return how many instructions the VMEM, SMEM or LDS queue of the SIMD's CU can take now: 0, 1, or 2 for more."""
    cu = simd >> SIMDS_BITS
    if unit == VMEM:
        return min(m.l1.queue_limit - m.l1.unit[cu].q_count, 2)
    if unit == SMEM:
        return min(m.scalar.queue_limit - m.scalar.q_count[cu], 2)
    # the LDS takes instructions as long as the bank cycles in front of it are no more than its backlog
    waited = now - (m.cu.lds_free[cu] - m.cu.lds_backlog)
    return 0 if waited < 0 else (1 if waited < TURN_CYCLES else 2)


@jit
def _next_simd(m: Machine, cu, unit):
    """Return the SIMD that may issue to the unit next: round robin over those with a request, -1 if there is none."""
    for k in range(1, SIMDS + 1):
        simd = cu << SIMDS_BITS | (m.cu.served[cu, unit] + k) & (SIMDS - 1)
        if m.cu.simd[simd].want[unit]:
            return simd
    return -1


@jit
def takes(m: Machine, now, simd, unit):
    """Return 1 if the unit takes an instruction of the SIMD's wavefronts in cycle `now`, else 0."""
    slots = free_slots(m, now, simd, unit)
    if slots != 1:
        return slots >> 1
    return 1 if _next_simd(m, simd >> SIMDS_BITS, unit) == simd else 0


@jit
def queue_full(m: Machine, now, slot):
    """Mark a queue, VECTOR_SLOT or SCALAR_SLOT + CU, as full from the next cycle on, as its last slot is taken."""
    short(m, slot, now + 1, UNTIL_FREED)


@jit
def find_slots(m: Machine, now, simd, unit, slot):
    """Return `free_slots` at the end of a visit, and put the SIMD on the wait list if the queue is full."""
    slots = free_slots(m, now, simd, unit)
    if slots == 0:
        wait_for(m, slot, simd & (SIMDS - 1))
    return slots


@jit
def wake_next(m: Machine, now, cu, unit, slot):
    """Visit the SIMD that may take the only free slot of the CU's queue for the unit; others would be spurious."""
    simd = _next_simd(m, cu, unit)
    if simd >= 0:
        take_off(m, slot, simd & (SIMDS - 1))
        wake_simd(m, now, simd)


@jit(outline=True)
def slot_freed(m: Machine, now, cu, unit, slot, slots):
    """Visit SIMDs that may take a slot of the CU's queue for the unit, where one came free. slots: free, 1 or 2."""
    if is_short(m, slot):
        no_longer_short(m, now, slot)
        wake_next(m, now, cu, unit, slot)
    elif slots == 2:
        waiters = freed(m, slot)
        while waiters:
            wake_simd(m, now, cu << SIMDS_BITS | ctz(waiters))
            waiters &= waiters - 1
