"""A CU's memory side: instructions enter the queues of the vector and scalar caches, and their answers come back.

The vector L1 has three classes in the wake-up wheel, as its work comes for three reasons: an answer from the crossbar,
a load or LDS access that returns, a line to look up. They run in this order in a cycle, so that what an answer frees
can be used by the look-up of the same cycle.
"""

import numpy as np

from gpusim.base.jit import Machine, address_in, jit, ld_i64
from gpusim.model.core.cu.arbitration import queue_full, slot_freed, wake_next
from gpusim.model.core.cu.code_table import COHERENT, COUNTS_LGKM, INVALIDATE
from gpusim.model.core.cu.fetch import fetch_filled
from gpusim.model.core.cu.lds import lds_results, use_lds
from gpusim.model.core.cu.state import (
    FLAT_ENTRY,
    SLOTS,
    TOKEN_ENTRY_SHIFT,
    TOKEN_GENERATION_SHIFT,
    VM_ENTRIES,
)
from gpusim.model.core.cu.wave import WHO_PC, code_word, lgkm_down, recheck, vm_answered
from isa.opcodes.opcode import SMEM, VMEM
from isa.trace import LINES_MASK, RECORD_ATOMIC, RECORD_LDS, RECORD_RETURN, RECORD_STORE
from memory.cache.access import lds_issued, scalar_issued, vector_issued
from memory.cache.l1 import l1_queue, l1_step
from memory.cache.l1_returns import l1_next_load_done, l1_receive, l1_take_done_store
from memory.cache.l1_state import FLAG_BYPASS, FLAG_INVALIDATE
from memory.cache.l1_stores import l1_write_back
from memory.cache.scalar import scalar_next_done, scalar_queue, scalar_receive, scalar_step
from memory.waiting import SCALAR_SLOT, VECTOR_SLOT


@jit(inline=True)
def _take_record(m: Machine, w):
    """Return the address of the wavefront's next memory record in its trace, and move past the record."""
    wave = m.cu.wave[w]
    record = m.run.trace_base + wave.trace_offset + wave.memory_word * 8
    header = ld_i64(record, 0)
    words = header & LINES_MASK
    if header & (RECORD_STORE | RECORD_ATOMIC):
        words *= 2  # each line with its byte mask
    if header & RECORD_LDS:
        words = 0
    wave.memory_word += 1 + words
    return record


@jit(inline=True)
def issue_vector_memory(m: Machine, now, cu, w):
    """Queue a vector memory instruction; vmcnt, of a FLAT instruction lgkmcnt too, counts it from now on."""
    wave = m.cu.wave[w]
    word = code_word(m, w)
    record = _take_record(m, w)
    header = ld_i64(record, 0)
    entry = wave.vm_tail & (VM_ENTRIES - 1)
    wave.vm_tail += 1
    flat = 0
    if word & COUNTS_LGKM:
        flat = FLAT_ENTRY
        wave.lgkm += 1
    token = (w & (SLOTS - 1)) | entry << TOKEN_ENTRY_SHIFT | wave.generation << TOKEN_GENERATION_SHIFT
    if m.access.table:
        wave.vm_pc[entry] = wave.pc
        vector_issued(m, cu, wave.pc, token, record)
    if header & RECORD_LDS:
        wave.vm_left[entry] = 1 | flat
        who = (w & (SLOTS - 1)) | wave.generation << 8 | (token + 1) << 16
        use_lds(m, now, cu, who, header)
        if m.l1.queue_limit - m.l1.unit[cu].q_count == 1:
            wake_next(m, now, cu, VMEM, VECTOR_SLOT + cu)  # the last slot is another SIMD's now
        return
    # a load returns as a whole; each line of a store is acknowledged
    answers = 1
    if header & (RECORD_STORE | RECORD_ATOMIC) and not header & RECORD_RETURN:
        answers = max(header & LINES_MASK, 1)
    wave.vm_left[entry] = answers | flat
    flags = FLAG_BYPASS if word & COHERENT else 0
    if word & INVALIDATE:
        flags |= FLAG_INVALIDATE
    l1_queue(m, now, cu, record, flags, token)
    if m.l1.unit[cu].q_count == m.l1.queue_limit:
        queue_full(m, now, VECTOR_SLOT + cu)


@jit(inline=True)
def issue_lds(m: Machine, now, cu, w):
    """Give an LDS instruction to the banks; lgkmcnt counts it from now on."""
    wave = m.cu.wave[w]
    record = _take_record(m, w)
    wave.lgkm += 1
    header = ld_i64(record, 0)
    if m.access.table:
        lds_issued(m, wave.pc, header)
    use_lds(m, now, cu, (w & (SLOTS - 1)) | wave.generation << 8 | np.int64(wave.pc) << WHO_PC, header)


@jit(inline=True)
def issue_scalar_memory(m: Machine, now, cu, w):
    """Queue a scalar memory instruction; lgkmcnt counts it from now on."""
    wave = m.cu.wave[w]
    word = code_word(m, w)
    record = _take_record(m, w)
    wave.lgkm += 1
    flags = FLAG_INVALIDATE if word & INVALIDATE else 0
    if m.access.table:
        scalar_issued(m, wave.pc, ld_i64(record, 0))
    scalar_queue(m, now, m.cu.array[cu], cu, record, flags, w | wave.generation << 16 | np.int64(wave.pc) << WHO_PC)
    if m.scalar.q_count[cu] == m.scalar.queue_limit:
        queue_full(m, now, SCALAR_SLOT + cu)


@jit(inline=True)
def response_tick(m: Machine, now, cu):
    """Let a CU take one answer from the crossbar."""
    token = l1_receive(m, now, cu)
    if token >= 0:
        vm_answered(m, now, cu, token)


@jit(inline=True)
def return_tick(m: Machine, now, cu):
    """Complete a CU's finished loads, stores that need no answer, and LDS accesses."""
    l1 = m.l1.unit[cu]
    if l1.r_head != l1.r_scheduled:
        while True:
            token = l1_next_load_done(m, now, cu)
            if token < 0:
                break
            vm_answered(m, now, cu, token)
    if l1.done_store:
        vm_answered(m, now, cu, l1_take_done_store(m, cu))
    if m.cu.lds_count[cu]:
        lds_results(m, now, cu)


@jit
def l1_address(m: Machine, now, cu):
    """Return the host address of the state of a CU's vector L1."""
    return address_in(m.l1.unit, cu)


@jit(inline=True)
def look_up_tick(m: Machine, now, cu):
    """Look up one line in a CU's vector L1; a slot of its queue may come free."""
    l1 = m.l1.unit[cu]
    if l1.q_count == 0:
        l1_write_back(m, now, cu)
    elif l1_step(m, now, cu):
        slot_freed(m, now, cu, VMEM, VECTOR_SLOT + cu, m.l1.queue_limit - l1.q_count)


@jit(inline=True)
def scalar_tick(m: Machine, now, array):
    """Run an array's scalar cache: take one answer from the crossbar, complete instructions, look one line up."""
    mshr = scalar_receive(m, now, array)
    if mshr >= 0:
        fetch_filled(m, now, array, mshr)
    while True:
        who = scalar_next_done(m, now, array)
        if who < 0:
            break
        w = who & 0xFFFF
        if (who >> 16) & 0xFF == m.cu.wave[w].generation:
            lgkm_down(m, now, w, who)
            recheck(m, now, w)
    cu = scalar_step(m, now, array)
    if cu >= 0:
        slot_freed(m, now, cu, SMEM, SCALAR_SLOT + cu, m.scalar.queue_limit - m.scalar.q_count[cu])
