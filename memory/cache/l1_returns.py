"""The vector L1's way back: answers of L2 fill lines and complete loads, which return to registers in order.

GCN's vector memory path returns loads in the order of their instructions, over 64 bytes a cycle (AMD GCN whitepaper,
2012): data of a later load that is there waits for that of an earlier one.
"""

from gpusim.base.jit import Machine, address_in, jit
from memory.cache.l1_state import DIRECT, WRITE_BACK
from memory.cache.l1_stores import held_whole, write_back_answered
from memory.cache.missing import NO_SLOT, end_miss, next_target
from memory.network.crossbar import crossbar_take_response
from memory.network.state import ATOMIC, READ, SOURCE_ID_SHIFT, WRITE
from memory.unit_classes import CU_LOOK_UP, CU_RETURN
from memory.waiting import L1_LINE, L1_RETURN_ENTRY, L1_STORE, freed
from memory.wheel import wake, wake_at, within_reach


@jit
def schedule_returns(m: Machine, cu):
    """Schedule the return of each load whose lines are all there, up to the first that still misses one."""
    l1 = m.l1
    cache = l1.unit[cu]
    s = cache.r_scheduled
    tail = cache.r_tail
    while s < tail:
        e = s & (l1.return_ring - 1)
        if cache.entry[e].open:
            break
        beats = cache.entry[e].beats
        done = max(cache.entry[e].at, cache.bus_free) + beats
        cache.bus_free = done
        l1.return_busy += beats
        cache.entry[e].at = done
        if s == cache.r_head:
            wake(m, CU_RETURN, done, cu)
        s += 1
    cache.r_scheduled = s


@jit
def _arrived(m: Machine, now, cu, entry, since):
    """Note for a load's entry that a line has come that it asked for in cycle `since`."""
    l1 = m.l1
    cache = l1.unit[cu]
    t = now + l1.fill_latency
    cache.entry[entry].open -= 1
    cache.entry[entry].at = max(cache.entry[entry].at, t)
    l1.latency += t - since


@jit(inline=True)
def l1_receive(m: Machine, now, cu):
    """Take at most one response from the crossbar and fill its line; returns the token of a store it answers, or -1."""
    l1 = m.l1
    cache = l1.unit[cu]
    source = crossbar_take_response(m, now, cu)
    if source < 0:
        return -1
    kind = source & 7
    tag = source >> SOURCE_ID_SHIFT
    if kind == WRITE or kind == ATOMIC:
        if tag == WRITE_BACK:
            write_back_answered(m, now, cu)
            return -1
        cache.stores_out -= 1
        if freed(m, L1_STORE + cu):
            wake_at(m, CU_LOOK_UP, now, cu)
        return tag
    if tag & DIRECT:
        e = tag & (DIRECT - 1)
        if kind == READ:
            _arrived(m, now, cu, e, 0)
        else:
            cache.entry[e].open -= 1
            cache.entry[e].at = max(cache.entry[e].at, now + l1.fill_latency)
    else:
        slot = end_miss(cache.missing, tag, address_in(l1.rows, 0), l1.stride)
        if l1.keeps_stores and slot != NO_SLOT:
            held_whole(m, slot)
        target = cache.missing.mshr[tag].first
        while target >= 0:
            _arrived(m, now, cu, cache.target[target].entry, cache.target[target].since)
            target = next_target(cache.missing, target)
        if freed(m, L1_LINE + cu):
            wake_at(m, CU_LOOK_UP, now, cu)
    schedule_returns(m, cu)
    return -1


@jit
def l1_next_load_done(m: Machine, now, cu):
    """Return the token of a load whose data is in the registers now, or -1; arms the wake-up for the next one."""
    l1 = m.l1
    cache = l1.unit[cu]
    h = cache.r_head
    if h == cache.r_scheduled:
        return -1
    e = h & (l1.return_ring - 1)
    if cache.entry[e].at > now:
        wake_at(m, CU_RETURN, within_reach(m, cache.entry[e].at), cu)
        return -1
    if h + 1 == cache.r_tail:
        h = -1  # nothing is left: start over at the ring's front, as memory.rings says
        cache.r_scheduled = 0
        cache.r_tail = 0
    cache.r_head = h + 1
    if freed(m, L1_RETURN_ENTRY + cu):
        wake_at(m, CU_LOOK_UP, now, cu)
    return cache.entry[e].token


@jit
def l1_take_done_store(m: Machine, cu):
    """Return the token of a store that needs no answer of L2 (EXEC is 0, or L1 keeps it), looked up last cycle."""
    cache = m.l1.unit[cu]
    token = cache.done_store - 1
    cache.done_store = 0
    return token
