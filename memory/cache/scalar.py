"""The scalar data cache that the CUs of a shader array share, between scalar loads and L2.

Each CU has a queue of its own; look-up takes their oldest instructions round robin, one line a cycle once its address
is translated. Instructions complete in any order; misses to one line are merged. The cache's packets have a crossbar
port of their own. Scalar stores are written through. The core queues instructions with `scalar_queue` and learns of
finished ones from `scalar_next_done`.
"""

import numpy as np
from pydantic import model_validator

from gpusim.base.jit import Field, Machine, State, address_in, counter_fields, ctz_from, jit, ld_i64, st_i32
from gpusim.base.spec import Spec, param
from isa.trace import LINES_MASK, RECORD_STORE
from memory.cache.counters import SCALAR_CACHE_COUNTERS
from memory.cache.instruction import FETCH_ID
from memory.cache.l1_state import FLAG_INVALIDATE
from memory.cache.missing import (
    IN_FRONT,
    MISSING,
    begin_miss,
    configure_misses,
    configure_sets,
    end_miss,
    join_miss,
    may_join,
    may_miss,
    next_target,
)
from memory.network.crossbar import crossbar_has_space, crossbar_send, crossbar_take_response, wait_for_credit
from memory.network.state import FIRST_SCALAR_PORT, MAX_ARRAYS, MAX_CUS, READ, SOURCE_CU_SHIFT, SOURCE_ID_SHIFT, WRITE
from memory.sets.replacement import (
    Replacement,
    check_replacement,
    find_victim,
    invalidate,
    on_hit,
    on_insert,
    replacement_param,
)
from memory.sets.rows import LANES, is_filling, next_order, set_fields, start_filling, way_of
from memory.translation.l1_tlb import translated
from memory.translation.state import FIRST_SCALAR_USER
from memory.unit_classes import SCALAR
from memory.waiting import LOOK_UP, SCALAR_LINE, freed, wait_for
from memory.wheel import wake_at

MAX_SCALAR_LINES = 1024  # an array: 64 KiB
MAX_QUEUE = 32
MAX_MSHRS = 64
MAX_ENTRIES = 256  # instructions looked up and not complete
MAX_TARGETS = 512
MAX_DONE = 1024
RECORD_LINES = 2  # of 64 bytes, at any dword


class ScalarCacheSpec(Spec):
    """Scalar data cache of a shader array."""

    size_kib: int = param(16, "capacity in KiB", "AMD GCN whitepaper (2012): 16 KB for up to four CUs", ge=1, le=64)
    ways: int = param(4, "associativity", "AMD GCN whitepaper (2012): 4-way", ge=1, le=64)
    replacement: Replacement = replacement_param("assumed, as the vector L1's")
    hit_latency_cycles: int = param(
        42,
        "cycles from look-up, or from a fill, to the data in scalar registers",
        "a dependent load that hits takes 48 cycles, as on MI100 and MI210 (mt4g); none found of GCN3",
        ge=1,
        le=500,
    )
    mshrs: int = param(16, "lines that may be missing at a time", "assumed", ge=1, le=MAX_MSHRS)
    queue_instructions: int = param(4, "scalar loads of a CU waiting for look-up", "assumed", ge=1, le=MAX_QUEUE)

    @model_validator(mode="after")
    def _ways_suit_the_policy(self) -> "ScalarCacheSpec":
        check_replacement(self.replacement, self.ways)
        return self


SCALAR_CACHE = State(
    "scalar",
    set_fields(MAX_ARRAYS * MAX_SCALAR_LINES)
    | {
        "order": Field((MAX_ARRAYS,), "running number of the accesses to a cache's sets"),
        "missing": Field((MAX_ARRAYS,), "missing lines of a cache", MISSING.dtype()),
        "filled_by": Field((MAX_ARRAYS * MAX_SCALAR_LINES * LANES,), "MSHR that fills the slot, while it does"),
        "target": Field((MAX_ARRAYS, MAX_TARGETS), "entry that waits for a missing line"),
        **counter_fields(SCALAR_CACHE_COUNTERS),
        "arrays": Field((), "shader arrays"),
        "cus_per_array": Field((), "CUs that share a cache"),
        "latency": Field((), "cycles from look-up or fill to the data"),
        "queue_limit": Field((), "queued instructions of a CU at most"),
        "e_pending": Field((MAX_ARRAYS, MAX_ENTRIES), "lines or acknowledgements the instruction waits for"),
        "e_looked_up": Field((MAX_ARRAYS, MAX_ENTRIES), "1: all its lines were looked up"),
        "e_who": Field((MAX_ARRAYS, MAX_ENTRIES), "the core's name of the instruction"),
        "e_next": Field((MAX_ARRAYS, MAX_ENTRIES), "next free entry, -1 none"),
        "e_free": Field((MAX_ARRAYS,), "first free entry, -1 none"),
        "q_header": Field((MAX_CUS, MAX_QUEUE), "memory record header of a CU's queued instruction"),
        "q_who": Field((MAX_CUS, MAX_QUEUE), "the core's name of it"),
        "q_words": Field((MAX_CUS, MAX_QUEUE, 2 * RECORD_LINES), "its lines, with byte masks for stores"),
        "q_head": Field((MAX_CUS,), "oldest queued instruction"),
        "q_count": Field((MAX_CUS,), "queued instructions"),
        "queued": Field((), "queued instructions of all CUs"),
        "waiting": Field((MAX_ARRAYS,), "mask of the array's CUs that have queued instructions"),
        "next_cu": Field((MAX_ARRAYS,), "round-robin pointer: CU of the array whose queue comes first"),
        "q_cu": Field((MAX_ARRAYS,), "CU whose oldest instruction is looked up"),
        "q_position": Field((MAX_ARRAYS,), "lines of that already looked up"),
        "q_entry": Field((MAX_ARRAYS,), "its entry, -1 before its first look-up"),
        "done": Field(
            (MAX_ARRAYS, MAX_DONE, 2), "finished instructions: cycle in which the data is there, core's name"
        ),
        "done_head": Field((MAX_ARRAYS,), "oldest finished instruction"),
        "done_count": Field((MAX_ARRAYS,), "finished instructions"),
    },
)


def configure_scalar_cache(m: Machine, spec: ScalarCacheSpec, arrays: int, cus_per_array: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the scalar caches of `arrays` shader arrays and empty them.

    Args:
        m: Machine record.
        spec: Its configuration.
        arrays: Shader arrays.
        cus_per_array: CUs of each shader array.
        seed: Of random replacement.
    """
    cache = m.scalar
    cache.arrays, cache.cus_per_array = arrays, cus_per_array
    cache.latency, cache.queue_limit = spec.hit_latency_cycles, spec.queue_instructions
    sets = spec.size_kib * 16 // spec.ways
    cache.order[:arrays] = configure_sets(cache, sets, spec.ways, spec.replacement, seed, arrays)
    configure_misses(cache.missing[:arrays], spec.mshrs, MAX_TARGETS)
    cache.q_entry[:arrays] = -1
    cache.e_next[:arrays, :MAX_ENTRIES] = [*range(1, MAX_ENTRIES), -1]


@jit
def scalar_queue(m: Machine, now, array, cu, record, flags, who):
    """Queue the scalar instruction of a CU of the array whose memory record lies at address `record`.

    The caller has checked that the CU's queue has space (`queue_limit`).
    """
    cache = m.scalar
    n = cache.q_count[cu]
    q = (cache.q_head[cu] + n) & (MAX_QUEUE - 1)
    header = ld_i64(record, 0)
    words = header & LINES_MASK
    if header & RECORD_STORE:
        words *= 2
    cache.q_header[cu, q] = header | flags
    cache.q_who[cu, q] = who
    for i in range(words):
        cache.q_words[cu, q, i] = ld_i64(record, 1 + i)
    cache.q_count[cu] = n + 1
    cache.queued += 1
    if n == 0:
        cache.waiting[array] |= 1 << (cu - array * cache.cus_per_array)
        wake_at(m, SCALAR, now + 1, array)


@jit
def _finish_if_complete(m: Machine, now, array, entry):
    """Schedule an instruction's end after the latency if nothing of it is outstanding, whatever came before it.

    Scalar loads return out of order: that is why programs can only wait for all of them (GCN3 ISA manual, LGKM_CNT).
    """
    cache = m.scalar
    if cache.e_pending[array, entry] or not cache.e_looked_up[array, entry]:
        return
    n = cache.done_count[array]
    q = (cache.done_head[array] + n) & (MAX_DONE - 1)
    cache.done[array, q, 0] = now + cache.latency
    cache.done[array, q, 1] = cache.e_who[array, entry]
    cache.done_count[array] = n + 1
    if n == 0:
        wake_at(m, SCALAR, now + cache.latency, array)
    cache.e_next[array, entry] = cache.e_free[array]
    cache.e_free[array] = entry


@jit
def _next_use(m: Machine, array):
    cache = m.scalar
    rows = address_in(cache.rows, array * cache.sets * 2 * cache.stride)
    cache.order[array] = next_order(cache.order[array], rows, cache.sets, cache.stride)
    return cache.order[array]


@jit
def _wait_for_line(m: Machine, array, mshr, entry):
    """Have an instruction wait for the line of an MSHR, before the others that do."""
    cache = m.scalar
    cache.target[array, join_miss(cache.missing[array], mshr, IN_FRONT)] = entry
    cache.e_pending[array, entry] += 1


@jit(inline=True)
def _look_up(m: Machine, now, array, line, entry):
    """Look a load's line up; returns 0 if it must wait."""
    cache = m.scalar
    slot = (array * cache.sets + (line & (cache.sets - 1))) * cache.stride
    row = address_in(cache.rows, 2 * slot)
    way = way_of(row, cache.stride, line)
    if way >= 0:
        if not is_filling(row, cache.stride, way):
            cache.hits += 1
        else:
            if not may_join(cache.missing[array]):
                wait_for(m, SCALAR_LINE + array, LOOK_UP)
                return 0
            _wait_for_line(m, array, cache.filled_by[slot + way], entry)
            cache.merges += 1
        on_hit(cache.replacement, row, cache.stride, cache.ways, way, _next_use(m, array))
        return 1
    port = FIRST_SCALAR_PORT + array  # the instruction cache's too: both belong to the array's sequencer
    way = find_victim(cache.replacement, row, cache.stride, cache.ways, cache.order[array])
    if not may_miss(cache.missing[array]) or way < 0:
        wait_for(m, SCALAR_LINE + array, LOOK_UP)
        return 0
    if not crossbar_has_space(m, now, port):
        wait_for_credit(m, port)
        return 0
    st_i32(row, way, line)
    on_insert(cache.replacement, row, cache.stride, cache.ways, way, _next_use(m, array))
    start_filling(row, cache.stride, way)
    mshr = begin_miss(cache.missing[array], slot + way)
    cache.filled_by[slot + way] = mshr
    _wait_for_line(m, array, mshr, entry)
    cache.misses += 1
    crossbar_send(m, now, port, line, READ | port << SOURCE_CU_SHIFT | mshr << SOURCE_ID_SHIFT, 0)
    return 1


@jit
def _store(m: Machine, now, array, line, mask, entry):
    """Write a line through; returns 0 if that must wait. A held line stays: functional data is not kept here."""
    cache = m.scalar
    port = FIRST_SCALAR_PORT + array
    if not crossbar_has_space(m, now, port):
        wait_for_credit(m, port)
        return 0
    cache.e_pending[array, entry] += 1
    cache.writes += 1
    cache.misses += 1
    crossbar_send(m, now, port, line, WRITE | port << SOURCE_CU_SHIFT | entry << SOURCE_ID_SHIFT, mask)
    return 1


@jit(inline=True)
def scalar_step(m: Machine, now, array):
    """Look up one line of an instruction; returns the CU whose queue has a slot free again, or -1."""
    cache = m.scalar
    first = array * cache.cus_per_array
    entry = cache.q_entry[array]
    if entry < 0:  # the CU whose turn it is keeps the cache until all lines of its instruction were looked up
        waiting = cache.waiting[array]
        entry = cache.e_free[array]
        if waiting == 0 or entry < 0:
            return -1
        cache.q_cu[array] = first + ctz_from(waiting, cache.next_cu[array])
    cu = cache.q_cu[array]
    q = cache.q_head[cu]
    header = cache.q_header[cu, q]
    lines = header & LINES_MASK
    if cache.q_entry[array] < 0:
        cache.e_free[array] = cache.e_next[array, entry]
        cache.e_pending[array, entry] = 0
        cache.e_looked_up[array, entry] = 0
        cache.e_who[array, entry] = cache.q_who[cu, q]
        cache.q_entry[array] = entry
        cache.q_position[array] = 0
    position = cache.q_position[array]
    if position < lines:
        stride = 2 if header & RECORD_STORE else 1
        line = cache.q_words[cu, q, stride * position]
        if not translated(m, now, FIRST_SCALAR_USER + array, line):
            return -1
        if header & RECORD_STORE:
            if not _store(m, now, array, line, cache.q_words[cu, q, 2 * position + 1], entry):
                return -1
        else:
            if not _look_up(m, now, array, line, entry):
                return -1
            cache.reads += 1
        position += 1
        cache.q_position[array] = position
    wake_at(m, SCALAR, now + 1, array)
    if position < lines:
        return -1
    if header & FLAG_INVALIDATE:
        rows = address_in(cache.rows, array * cache.sets * 2 * cache.stride)
        invalidate(cache.replacement, rows, cache.sets, cache.stride, cache.ways)
    cache.e_looked_up[array, entry] = 1
    _finish_if_complete(m, now, array, entry)
    cache.q_entry[array] = -1
    cache.next_cu[array] = cu - first + 1
    cache.q_head[cu] = (q + 1) & (MAX_QUEUE - 1)
    cache.q_count[cu] -= 1
    if cache.q_count[cu] == 0:
        cache.waiting[array] &= ~(1 << (cu - first))
    cache.queued -= 1
    return cu


@jit(inline=True)
def scalar_receive(m: Machine, now, array):
    """Take at most one response from the crossbar: fill a line, or acknowledge a store.

    Returns the MSHR of the instruction cache that a line has come for, -1 if none.
    """
    cache = m.scalar
    source = crossbar_take_response(m, now, FIRST_SCALAR_PORT + array)
    if source < 0:
        return -1
    tag = source >> SOURCE_ID_SHIFT
    if tag & FETCH_ID:
        return tag ^ FETCH_ID
    if source & 7 == WRITE:
        cache.e_pending[array, tag] -= 1
        _finish_if_complete(m, now, array, tag)
        return -1
    missing = cache.missing[array]
    end_miss(missing, tag, address_in(cache.rows, 0), cache.stride)
    target = missing.mshr[tag].first
    while target >= 0:
        entry = cache.target[array, target]
        cache.e_pending[array, entry] -= 1
        _finish_if_complete(m, now, array, entry)
        target = next_target(missing, target)
    freed(m, SCALAR_LINE + array)  # look-up follows in this cycle: nobody has to be woken
    return -1


@jit(inline=True)
def scalar_next_done(m: Machine, now, array):
    """Return the core's name of an instruction whose data is there, or -1; arms the wake-up for the next one."""
    cache = m.scalar
    n = cache.done_count[array]
    h = cache.done_head[array]
    if n == 0 or cache.done[array, h, 0] > now:
        return -1
    following = 0 if n == 1 else (h + 1) & (MAX_DONE - 1)
    cache.done_head[array] = following
    cache.done_count[array] = n - 1
    if n > 1:
        wake_at(m, SCALAR, max(cache.done[array, following, 0], now), array)
    return cache.done[array, h, 1]


def perturb_scalar_cache(m: Machine, random: "np.random.Generator") -> None:
    """Draw whose queue comes first in each array.

    Args:
        m: Machine record.
        random: Generator to draw from.
    """
    arrays = int(m.scalar.arrays)
    m.scalar.next_cu[:arrays] = random.integers(0, int(m.scalar.cus_per_array), arrays)
