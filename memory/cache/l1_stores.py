"""Stores in a vector L1 that keeps some of them: one that writes back, or gives a store that misses a line.

The shipped L1 writes through and gives stores no line: nothing here runs for it. Lines have masks of the bytes that
they hold and of those that L2 does not have (memory/cache/write_policy.py). What is done in L2, atomics and accesses
marked `glc`, finds there what the CU has stored before; others find it after `buffer_wbinvl1` or the kernel's end.
"""

from gpusim.base.jit import Machine, address_in, jit, ld_u32, st_i32
from isa.trace import RECORD_ATOMIC, RECORD_RETURN
from memory.cache.access import looked_up
from memory.cache.l1_state import (
    FLAG_BYPASS,
    HIT,
    MERGE,
    MISS,
    STALL,
    WRITE_BACK,
    first_slot,
    next_use,
)
from memory.cache.write_policy import ALL_BYTES, goes_below, is_kept
from memory.network.crossbar import crossbar_has_space, crossbar_send, wait_for_credit
from memory.network.state import SOURCE_CU_SHIFT, SOURCE_ID_SHIFT, WRITE
from memory.sets.replacement import find_victim, on_hit, on_insert
from memory.sets.rows import is_filling, line_in, way_of
from memory.unit_classes import CU_LOOK_UP, CU_RETURN
from memory.waiting import L1_LINE, L1_STORE, L1_WRITE_BACK, LOOK_UP, freed, wait_for
from memory.wheel import wake, wake_at


@jit(outline=True)
def _write_back(m: Machine, now, cu, slot, line):
    """Send the dirty bytes of a slot to L2; returns 0 if the crossbar has no space, which wakes look-up when it has.

    It takes look-up's turn at the crossbar port, which goes on in the next cycle.
    """
    l1 = m.l1
    cache = l1.unit[cu]
    if not crossbar_has_space(m, now, cu):
        wait_for_credit(m, cu)
        return 0
    crossbar_send(m, now, cu, line, WRITE | cu << SOURCE_CU_SHIFT | WRITE_BACK << SOURCE_ID_SHIFT, l1.dirty[slot])
    l1.dirty[slot] = 0
    l1.dirty_lines -= 1
    cache.dirty_lines -= 1
    cache.write_backs_out += 1
    l1.write_backs += 1
    wake_at(m, CU_LOOK_UP, now + 1, cu)
    return 1


@jit(cold=True)
def write_back_answered(m: Machine, now, cu):
    """Take L2's answer to one write-back of the CU; the last one wakes those who wait for all of them."""
    cache = m.l1.unit[cu]
    cache.write_backs_out -= 1
    if cache.write_backs_out == 0 and freed(m, L1_WRITE_BACK + cu):
        wake_at(m, CU_LOOK_UP, now, cu)


@jit(cold=True)
def held_whole(m: Machine, slot):
    """Note that all bytes of a slot (set and way of a CU) are held, as its line has been fetched."""
    m.l1.held[slot] = ALL_BYTES


@jit(cold=True)
def held_in_part(m: Machine, row, base, way):
    """Return 1 if a way's line was stored to, never fetched whole, and is not being fetched; else 0."""
    l1 = m.l1
    return 1 if l1.held[base + way] != ALL_BYTES and not is_filling(row, l1.stride, way) else 0


@jit(cold=True)
def make_space(m: Machine, now, cu, row, base, way):
    """Empty the masks of a way that gets another line; returns 0 if its dirty bytes have to go to L2 before."""
    l1 = m.l1
    if l1.dirty[base + way]:
        _write_back(m, now, cu, base + way, ld_u32(row, way))
        return 0
    l1.held[base + way] = 0
    return 1


@jit(cold=True)
def line_is_clean(m: Machine, now, cu, line):
    """Return 1 if L2 has what this CU has stored in a line; else 0, as it is written back: look again later."""
    l1 = m.l1
    base = first_slot(m, cu, line)
    way = way_of(address_in(l1.rows, 2 * base), l1.stride, line)
    if way < 0 or not l1.dirty[base + way]:
        return 1
    _write_back(m, now, cu, base + way, line)
    return 0


@jit(cold=True)
def look_up_store(m: Machine, now, cu, line, mask, header):
    """Look a store's or an atomic's line up in an L1 that keeps stores.

    Returns STALL; MISS if its bytes have to go to L2; or, if they stay in L1, HIT for a line that was held and MERGE
    for one that the store got. Operations done in L2, atomics and stores marked `glc`, must find there what this CU has
    written before.
    """
    l1 = m.l1
    cache = l1.unit[cu]
    stride = l1.stride
    base = first_slot(m, cu, line)
    row = address_in(l1.rows, 2 * base)
    way = way_of(row, stride, line)
    present = way >= 0
    in_l2 = header & (RECORD_ATOMIC | FLAG_BYPASS)
    if in_l2 and not line_is_clean(m, now, cu, line):
        return STALL
    below = in_l2 or goes_below(l1.write, l1.allocate, present)
    if below:
        if not crossbar_has_space(m, now, cu):
            wait_for_credit(m, cu)
            return STALL
        if not header & RECORD_RETURN and cache.stores_out >= l1.store_limit:
            wait_for(m, L1_STORE + cu, LOOK_UP)
            return STALL
    if header & RECORD_ATOMIC or not is_kept(l1.allocate and not in_l2, present):
        return MISS
    if present:
        on_hit(l1.replacement, row, stride, l1.ways, way, next_use(m, cu))
    else:
        way = find_victim(l1.replacement, row, stride, l1.ways, cache.order)
        if way < 0:
            wait_for(m, L1_LINE + cu, LOOK_UP)
            return STALL
        if not make_space(m, now, cu, row, base, way):
            return STALL
        st_i32(row, way, line)
        on_insert(l1.replacement, row, stride, l1.ways, way, next_use(m, cu))
    l1.held[base + way] |= mask
    if below:
        return MISS
    if not l1.dirty[base + way]:
        l1.dirty_lines += 1
        cache.dirty_lines += 1
    l1.dirty[base + way] |= mask
    return HIT if present else MERGE


@jit(outline=True)
def store_kept(m: Machine, now, cu, token, line, result):
    """Acknowledge, in the next cycle, a store whose bytes stay in the cache. result: HIT, or MERGE for a new line."""
    l1 = m.l1
    l1.writes += 1
    if result == HIT:
        l1.hits += 1
    else:
        l1.misses += 1
        l1.write_allocations += 1
    l1.unit[cu].done_store = token + 1
    wake_at(m, CU_RETURN, now + 1, cu)
    if m.timeline.on:
        looked_up(m, cu, HIT, token, line)


@jit(cold=True)
def _write_next_back(m: Machine, now, cu):
    """Write the next dirty line of the cache back, in the order of its slots."""
    l1 = m.l1
    cache = l1.unit[cu]
    slots = l1.sets * l1.stride
    slot = cache.next_dirty
    while not l1.dirty[cu * slots + slot]:
        slot = slot + 1 if slot + 1 < slots else 0
    first = cu * slots
    if _write_back(m, now, cu, first + slot, line_in(address_in(l1.rows, 0), l1.stride, first + slot)):
        cache.next_dirty = slot if cache.dirty_lines else 0


@jit(cold=True)
def all_written_back(m: Machine, now, cu):
    """Return 1 if L2 has all that the CU has stored; else write the next dirty line back, or wait for answers."""
    cache = m.l1.unit[cu]
    if cache.dirty_lines:
        _write_next_back(m, now, cu)
        return 0
    if cache.write_backs_out:
        wait_for(m, L1_WRITE_BACK + cu, LOOK_UP)  # what buffer_wbinvl1 waits for
        return 0
    return 1


@jit(cold=True)
def l1_release(m: Machine, now, cus):
    """Have every L1 write its dirty lines back at the kernel's end, for others to read them in L2."""
    l1 = m.l1
    if not l1.released:
        l1.released = 1
        for cu in range(cus):
            wake(m, CU_LOOK_UP, now, cu)


@jit(cold=True)
def l1_write_back(m: Machine, now, cu):
    """Write back one dirty line of an L1 that has no instruction to look up, once the kernel has ended."""
    if m.l1.released and m.l1.unit[cu].dirty_lines:
        _write_next_back(m, now, cu)
