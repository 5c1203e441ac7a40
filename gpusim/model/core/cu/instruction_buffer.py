"""Instruction buffers: which granules of the code a wavefront holds, and when it asks for more.

A granule is what a buffer's capacity and a fetch of 32 bytes have in common (`gpusim.model.core.cu.fetch`). A wavefront
stands in one granule; those after it are fetched or under way. It asks for another whenever it has used one up, and for
all of them anew when it jumps.
"""

from gpusim.base.jit import Machine, jit, ld_i64
from gpusim.model.core.cu.code_table import FIRST_GRANULE_SHIFT, GRANULE_MASK
from gpusim.model.core.cu.state import ARRIVALS, CU_BITS, MISSING, NEVER, SLOTS, STARVED, WANT
from memory.unit_classes import FETCH
from memory.wheel import wake_at


@jit
def _want_fetch(m: Machine, w):
    cu = w >> CU_BITS
    array = m.cu.array[cu]
    m.cu.fetch[cu, WANT] |= 1 << (w & (SLOTS - 1))
    m.cu.fetching_cus[array] |= m.cu.bit_in_array[cu]
    wake_at(m, FETCH, m.wheel.now + 1, array)


@jit
def stand_in_granule(m: Machine, w):
    """Let the wavefront advance to the end of its segment or of its granule, whichever comes first."""
    wave = m.cu.wave[w]
    end = wave.segment_end
    if not m.icache.ideal:
        end = min(end, ld_i64(m.run.granule_ends, wave.granule))
    wave.stop = end


@jit
def next_granule(m: Machine, w):
    """Move the wavefront on to its next granule, which makes space in its buffer for another one."""
    wave = m.cu.wave[w]
    cu = w >> CU_BITS
    slot = 1 << (w & (SLOTS - 1))
    granule = wave.granule + 1
    wave.granule = granule
    if granule < wave.next_granule:
        wave.ready_at = wave.arrives[granule & (ARRIVALS - 1)]
    else:
        wave.ready_at = NEVER
        m.cu.fetch[cu, STARVED] |= slot
    space = wave.next_granule < min(granule + m.cu.buffer_granules, m.run.granules)
    if space and not m.cu.fetch[cu, MISSING] & slot:
        _want_fetch(m, w)


@jit
def forget_fetches(m: Machine, w):
    """Cancel all fetch requests of the wavefront."""
    cu = w >> CU_BITS
    others = ~(1 << (w & (SLOTS - 1)))
    m.cu.fetch[cu, WANT] &= others
    m.cu.fetch[cu, STARVED] &= others
    m.cu.fetch[cu, MISSING] &= others


@jit
def redirect(m: Machine, w):
    """Empty the wavefront's instruction buffer, as it continues at another address, and ask for a fetch."""
    wave = m.cu.wave[w]
    if not m.icache.ideal:
        forget_fetches(m, w)
        granules = ld_i64(m.run.granules_of, wave.pc)
        wave.granule = granules & GRANULE_MASK
        wave.next_granule = granules >> FIRST_GRANULE_SHIFT
        wave.ready_at = NEVER
        m.cu.fetch[w >> CU_BITS, STARVED] |= 1 << (w & (SLOTS - 1))
        _want_fetch(m, w)
    stand_in_granule(m, w)
