"""The vector L1 cache of a CU, with the queue of vector memory instructions in front and the return path behind.

In order, as GCN's texture cache: instructions are looked up line by line, one line a cycle, once the line's address
is translated (memory/translation/tlb.py); a look-up never waits for an earlier miss, but data returns to registers in
instruction order over a 64-byte-a-cycle path. Write-through, no allocation on write, misses merged in MSHRs. Atomics
and loads marked `glc` go to L2.

The CU core queues instructions with `l1_queue` and learns of finished ones from `l1_next_load_done`, `l1_receive` and
`l1_take_lineless`. A *token* is the core's own name of an instruction in flight.
"""

import numpy as np
from pydantic import model_validator

from gpusim.base.spec import Spec, param
from gpusim.jit import Field, State, address_in, counter_fields, i16, i32, jit, ld_i64, ld_u32, st_i32, u32, unlikely
from isa.trace import (
    BUSY_MASK,
    BUSY_SHIFT,
    LINE_SPARSE,
    LINES_MASK,
    MAX_LINES,
    RECORD_ATOMIC,
    RECORD_RETURN,
    RECORD_STORE,
)
from memory.cache.counters import L1_COUNTERS
from memory.cache.fields import VECTOR_QUEUE
from memory.cache.look_ahead import look_ahead
from memory.cache.write_policy import (
    ALL_BYTES,
    BACK,
    Write,
    goes_below,
    is_kept,
    write_allocate_param,
    write_number,
    write_param,
)
from memory.network.crossbar import crossbar_has_room, crossbar_send, crossbar_take_response
from memory.network.state import ATOMIC, ATOMIC_RETURN, MAX_CUS, READ, SOURCE_CU_SHIFT, SOURCE_ID_SHIFT, WRITE
from memory.rings import RING_FRONT
from memory.sets.replacement import (
    Replacement,
    check_replacement,
    find_victim,
    first_order,
    invalidate,
    on_hit,
    on_insert,
    policy_number,
    replacement_param,
)
from memory.sets.rows import (
    LANES,
    clear_rows,
    end_filling,
    is_filling,
    line_in,
    next_order,
    set_fields,
    start_filling,
    stride_of,
    way_of,
)
from memory.timeline import LOOKED_UP, record
from memory.translation.tlb import page_of, translated
from memory.wheel import CU_LOOK_UP, CU_RETURN, wake, wake_at, wake_later

MAX_L1_LINES = 1024  # a CU: 64 KiB
MAX_SLOTS = LANES * MAX_L1_LINES
MAX_QUEUE = VECTOR_QUEUE
MAX_RETURN = 256
MAX_MSHRS = 256
MAX_TARGETS = 1024
NEAR_WORDS = 8  # an instruction of no more line words has them beside those of the others
FAR_WORDS = 2 * MAX_LINES + 8  # off the powers of two
DIRECT = 1 << 20  # in a source's id: the answer goes to a return entry, past the cache
WRITE_BACK = 1 << 21  # a source's id: a line written back, for which no instruction waits

HIT, MERGE, MISS, STALL = range(4)  # what becomes of a look-up
# what a look-up waits for: room in the crossbar, which wakes it; a line that comes, a store's answer; a return entry
NOTHING, ROOM, LINE, STORE_ANSWER, RETURN_ENTRY = range(5)

# set by the core in a queued header
FLAG_BYPASS = 1 << 29  # do not look up, do not allocate
FLAG_INVALIDATE = 1 << 30  # empty the cache


class L1Spec(Spec):
    """Vector L1 cache and the CU's vector memory path."""

    size_kib: int = param(16, "capacity in KiB", "GCN3: 16 KB a CU (Dong 2020, table 6.3)", ge=1, le=64)
    ways: int = param(4, "associativity", "Dong 2020, table 6.3", ge=1, le=64)
    replacement: Replacement = replacement_param("AMD GCN whitepaper (2012): LRU")
    hit_latency_cycles: int = param(
        100,
        "cycles from tag look-up to the first data beat of a hit",
        "assumed: a dependent load that hits takes 108 cycles; no figure for GCN was found",
        ge=1,
        le=900,
    )
    fill_latency_cycles: int = param(
        40,
        "cycles from a response's arrival to its data being ready to return",
        "assumed: its share of the 188 cycles of a load that hits L2",
        ge=1,
        le=500,
    )
    mshrs: int = param(
        128,
        "lines that may be missing at a time",
        "assumed: covers the L2 latency at a CU's share of the L2 bandwidth, 16 lines a cycle over 36 CUs",
        ge=1,
        le=MAX_MSHRS,
    )
    mshr_targets: int = param(512, "line requests that may wait for missing lines", "assumed", ge=1, le=MAX_TARGETS)
    queue_instructions: int = param(8, "vector memory instructions waiting for look-up", "assumed", ge=1, le=MAX_QUEUE)
    return_entries: int = param(
        64, "load instructions between look-up and return", "assumed: hides a miss to L2", ge=1, le=MAX_RETURN
    )
    address_cycles: int = param(
        4,
        "least cycles an instruction occupies look-up: 64 addresses, 16 a cycle; more if its lanes do not lie together",
        "AMD GCN whitepaper (2012)",
        ge=1,
        le=900,
    )
    stores_in_flight: int = param(64, "store packets not yet acknowledged", "assumed", ge=1, le=128)
    write: Write = write_param("through", "AMD GCN whitepaper (2012); LLVM AMDGPU guide, memory model for GFX6 to GFX9")
    write_allocate: bool = write_allocate_param(
        False, "assumed; AMD GCN whitepaper (2012): a line that a store has not written whole is not kept"
    )
    bypass: bool = param(False, "send every load to L2 without looking up L1", "off: as in hardware")

    @model_validator(mode="after")
    def _ways_suit_the_policy(self) -> "L1Spec":
        check_replacement(self.replacement, self.ways)
        return self

    @model_validator(mode="after")
    def _nothing_is_kept_without_look_up(self) -> "L1Spec":
        if self.bypass and (self.write, self.write_allocate) != ("through", False):
            raise ValueError(
                f"bypass: loads that pass the cache would not find what write '{self.write}' with write_allocate "
                f"{str(self.write_allocate).lower()} keeps there; allowed are write 'through' and write_allocate false"
            )
        return self


QUEUED = State(
    "queued",
    {
        "header": Field((), "memory record header of the instruction, with FLAG_BYPASS and FLAG_INVALIDATE"),
        "token": Field((), "the core's name of it", i32),
        "words": Field((), "where its lines begin in `q_words`", i32),
    },
)

ENTRY = State(
    "entry",
    {
        "at": Field(
            (), "cycle in which the last line is there; once it is known, in which the registers hold the data"
        ),
        "token": Field((), "the core's name of the instruction", i32),
        "open": Field((), "lines still missing; one more until all were looked up", i16),
        "beats": Field((), "cycles on the return path", i16),
    },
)

MSHR = State(
    "mshr",
    {
        "since": Field((), "cycle of the look-up that missed"),
        "slot": Field((), "slot that it fills", i32),
        "entry": Field((), "return entry that waits", i16),
        "merged": Field((), "the first of the loads that joined it, -1 none", i16),
    },
)

TARGET = State(
    "target",
    {
        "since": Field((), "cycle of the look-up of a load that joined a missing line"),
        "entry": Field((), "return entry that waits", i16),
        "next": Field((), "the next load that joined it, or the next free one; -1 none", i16),
    },
)

# all that belongs to a CU lies together, what each visit looks at in the first lines of the host's cache
UNIT = State(
    "unit",
    {
        "q_head": Field((), "oldest queued instruction"),
        "q_count": Field((), "queued instructions"),
        "q_position": Field((), "lines of the oldest already looked up"),
        "q_started": Field((), "cycle of its first look-up"),
        "q_entry": Field((), "its return entry"),
        "look_free": Field((), "cycle in which look-up may take the next instruction"),
        "r_head": Field((), "oldest load not yet returned (a running number)"),
        "r_scheduled": Field((), "first load whose return is not scheduled (a running number)"),
        "r_tail": Field((), "one past the youngest load (a running number)"),
        "bus_free": Field((), "cycle in which the return path is free"),
        "order": Field((), "running number of the accesses to the sets"),
        "dirty_lines": Field((), "lines with bytes that L2 does not have"),
        "write_backs_out": Field((), "lines written back that L2 has not acknowledged"),
        "next_dirty": Field((), "slot of this cache from which the search for a dirty line goes on"),
        "m_free_count": Field((), "free MSHRs"),
        "t_free": Field((), "first free one"),
        "t_free_count": Field((), "loads' lines that may yet wait for missing ones"),
        "stores_out": Field((), "store packets not yet acknowledged"),
        "stalled_since": Field((), "cycle from which look-up waits, -1 if it does not"),
        "waits_for": Field((), "what it waits for, NOTHING if it does not"),
        "lineless": Field((), "token + 1 of a store without lines that was looked up and not yet reported, 0 none"),
        "ahead": Field((), "instructions behind the oldest that looking ahead for pages has come to"),
        "ahead_position": Field((), "line of that instruction it looks at next"),
        "ahead_page": Field((), "page it has looked at last"),
        "queue": Field((MAX_QUEUE,), "queued instructions", QUEUED.dtype()),
        "q_words": Field(
            (MAX_QUEUE * (NEAR_WORDS + FAR_WORDS),), "their lines, with byte masks for stores and atomics"
        ),
        "entry": Field((MAX_RETURN,), "loads between look-up and return", ENTRY.dtype()),
        "m_free": Field((MAX_MSHRS,), "stack of free MSHRs"),
        "mshr": Field((MAX_MSHRS,), "missing lines", MSHR.dtype()),
        "target": Field((MAX_TARGETS,), "loads that joined a missing line", TARGET.dtype()),
    },
)

L1 = State(
    "l1",
    set_fields(MAX_CUS * MAX_L1_LINES)
    | {
        "mshrs": Field((), "MSHRs in use at most"),
        "hit_latency": Field((), "cycles from look-up to data of a hit"),
        "fill_latency": Field((), "cycles from response to data"),
        "queue_limit": Field((), "queued instructions at most"),
        "return_limit": Field((), "loads between look-up and return at most"),
        "return_ring": Field((), "entries of the ring that holds them, a power of two"),
        "address_cycles": Field((), "least look-up cycles an instruction"),
        "store_limit": Field((), "unacknowledged store packets at most"),
        "bypass": Field((), "1: all loads go past the cache"),
        "filled_by": Field((MAX_CUS * MAX_SLOTS,), "MSHR that fills the slot, while it does", u32),
        "write": Field((), "write policy, a number of memory/cache/write_policy.py"),
        "allocate": Field((), "1: a store that misses gets a line"),
        "keeps_stores": Field((), "1: stores are looked up; else none of the next fields is used"),
        "held": Field((MAX_CUS * MAX_SLOTS,), "bytes held in a slot that is not being filled"),
        "dirty": Field((MAX_CUS * MAX_SLOTS,), "bytes in a slot that L2 does not have"),
        "dirty_lines": Field((), "slots with such bytes, of all CUs"),
        "released": Field((), "1: the kernel is done, dirty lines are written back"),
        "unit": Field((MAX_CUS,), "the caches of the CUs", UNIT.dtype()),
        "queued": Field((), "queued instructions of all CUs"),
        **counter_fields(L1_COUNTERS),
    },
)


def configure_l1(m, spec: L1Spec, cus: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the L1 caches of `cus` CUs in the machine record and empty them; seed: of random replacement."""
    l1 = m.l1
    l1.sets, l1.ways = spec.size_kib * 1024 // 64 // spec.ways, spec.ways
    l1.hit_latency, l1.fill_latency = spec.hit_latency_cycles, spec.fill_latency_cycles
    l1.mshrs = spec.mshrs
    l1.queue_limit, l1.return_limit = spec.queue_instructions, spec.return_entries
    l1.address_cycles, l1.store_limit = spec.address_cycles, spec.stores_in_flight
    l1.bypass = int(spec.bypass)
    l1.write, l1.allocate = write_number(spec.write), int(spec.write_allocate)
    l1.keeps_stores = int(l1.write == BACK or l1.allocate)
    l1.return_ring = 1 << (spec.return_entries - 1).bit_length()
    l1.stride, l1.replacement = stride_of(spec.ways), policy_number(spec.replacement)
    clear_rows(l1.rows, cus * int(l1.sets), spec.ways)
    units = l1.unit[:cus]
    units["order"] = [first_order(spec.replacement, seed, cu) for cu in range(cus)]
    units["stalled_since"] = -1
    units["q_started"] = -1
    units["m_free_count"] = spec.mshrs
    units["t_free_count"] = spec.mshr_targets
    units["m_free"][:, : spec.mshrs] = range(spec.mshrs - 1, -1, -1)
    units["target"]["next"][:, : spec.mshr_targets] = range(1, spec.mshr_targets + 1)


@jit
def l1_queue(m, now, cu, record, flags, token):
    """Queue the instruction whose memory record lies at address `record`; the core has checked `queue_limit`."""
    l1 = m.l1
    u = l1.unit[cu]
    n = u.q_count
    q = (u.q_head + n) & (MAX_QUEUE - 1)
    header = ld_i64(record, 0)
    words = header & LINES_MASK
    if header & (RECORD_STORE | RECORD_ATOMIC):
        words *= 2
    at = q * NEAR_WORDS if words <= NEAR_WORDS else MAX_QUEUE * NEAR_WORDS + q * FAR_WORDS
    u.queue[q].header = header | flags
    u.queue[q].token = token
    u.queue[q].words = at
    for i in range(words):
        u.q_words[at + i] = ld_i64(record, 1 + i)
    u.q_count = n + 1
    l1.queued += 1
    if n == 0 or m.translation.since[cu] >= 0:
        wake_at(m, CU_LOOK_UP, now + 1, cu)


@jit
def _schedule_returns(m, now, cu):
    l1 = m.l1
    u = l1.unit[cu]
    s = u.r_scheduled
    tail = u.r_tail
    while s < tail:
        e = s & (l1.return_ring - 1)
        if u.entry[e].open:
            break
        beats = u.entry[e].beats
        done = max(u.entry[e].at, u.bus_free) + beats
        u.bus_free = done
        l1.return_busy += beats
        u.entry[e].at = done
        if s == u.r_head:
            wake(m, CU_RETURN, done, cu)
        s += 1
    u.r_scheduled = s


@jit
def _next_order(m, cu):
    l1 = m.l1
    u = l1.unit[cu]
    rows = address_in(l1.rows, cu * l1.sets * 2 * l1.stride)
    u.order = next_order(u.order, rows, l1.sets, l1.stride)
    return u.order


@jit(outline=True)
def _write_back(m, now, cu, slot, line):
    """Send the dirty bytes of a slot to L2; 0 if the crossbar has no room, which wakes look-up when it has.

    It takes look-up's turn at the crossbar port, which goes on in the next cycle.
    """
    l1 = m.l1
    u = l1.unit[cu]
    if not crossbar_has_room(m, cu):
        u.waits_for = ROOM
        return 0
    crossbar_send(m, now, cu, line, WRITE | cu << SOURCE_CU_SHIFT | WRITE_BACK << SOURCE_ID_SHIFT, l1.dirty[slot])
    l1.dirty[slot] = 0
    l1.dirty_lines -= 1
    u.dirty_lines -= 1
    u.write_backs_out += 1
    l1.write_backs += 1
    wake_at(m, CU_LOOK_UP, now + 1, cu)
    return 1


@jit
def _is_held_in_part(m, row, base, way):
    """1 if the line of a way was stored to and never fetched whole, and is not being fetched."""
    l1 = m.l1
    return 1 if l1.held[base + way] != ALL_BYTES and not is_filling(row, l1.stride, way) else 0


@jit(outline=True)
def _make_room(m, now, cu, row, base, way):
    """Empty the masks of a way that gets another line; 0 if its dirty bytes have to go to L2 before."""
    l1 = m.l1
    if l1.dirty[base + way]:
        _write_back(m, now, cu, base + way, ld_u32(row, way))
        return 0
    l1.held[base + way] = 0
    return 1


@jit(outline=True)
def _is_in_l2(m, now, cu, line):
    """1 if L2 has what this CU has stored in a line; else it is written back, and whoever asks looks again."""
    l1 = m.l1
    base = (cu * l1.sets + (line & (l1.sets - 1))) * l1.stride
    way = way_of(address_in(l1.rows, 2 * base), l1.stride, line)
    if way < 0 or not l1.dirty[base + way]:
        return 1
    _write_back(m, now, cu, base + way, line)
    return 0


@jit(outline=True)
def _store_here(m, now, cu, line, mask, header):
    """Look a store's or an atomic's line up in an L1 that keeps stores: STALL, MISS if its bytes have to go to L2.

    HIT and MERGE: they stay in a line that was held, or in one that the store got. What is done in L2, atomics and
    stores marked `glc`, must find there what this CU has written before.
    """
    l1 = m.l1
    u = l1.unit[cu]
    stride = l1.stride
    base = (cu * l1.sets + (line & (l1.sets - 1))) * stride
    row = address_in(l1.rows, 2 * base)
    way = way_of(row, stride, line)
    found = way >= 0
    in_l2 = header & (RECORD_ATOMIC | FLAG_BYPASS)
    if in_l2 and not _is_in_l2(m, now, cu, line):
        return STALL
    below = in_l2 or goes_below(l1.write, l1.allocate, found)
    if below:
        if not crossbar_has_room(m, cu):
            u.waits_for = ROOM
            return STALL
        if not header & RECORD_RETURN and u.stores_out >= l1.store_limit:
            u.waits_for = STORE_ANSWER
            return STALL
    if header & RECORD_ATOMIC or not is_kept(l1.allocate and not in_l2, found):
        return MISS
    if found:
        on_hit(l1.replacement, row, stride, l1.ways, way, _next_order(m, cu))
    else:
        way = find_victim(l1.replacement, row, stride, l1.ways, u.order)
        if way < 0:
            u.waits_for = LINE
            return STALL
        if not _make_room(m, now, cu, row, base, way):
            return STALL
        st_i32(row, way, line)
        on_insert(l1.replacement, row, stride, l1.ways, way, _next_order(m, cu))
    l1.held[base + way] |= mask
    if below:
        return MISS
    if not l1.dirty[base + way]:
        l1.dirty_lines += 1
        u.dirty_lines += 1
    l1.dirty[base + way] |= mask
    return HIT if found else MERGE


@jit(inline=True)
def _look_up(m, now, cu, line, entry):
    """Look a load's line up: HIT, MERGE, MISS, or STALL with nothing changed."""
    l1 = m.l1
    u = l1.unit[cu]
    stride = l1.stride
    base = (cu * l1.sets + (line & (l1.sets - 1))) * stride
    row = address_in(l1.rows, 2 * base)
    way = way_of(row, stride, line)
    if way >= 0 and not (unlikely(l1.keeps_stores) and _is_held_in_part(m, row, base, way)):
        filling = is_filling(row, stride, way)
        if filling:
            if u.t_free_count == 0:
                u.waits_for = LINE
                return STALL
            u.t_free_count -= 1
            mshr = l1.filled_by[base + way]
            t = u.t_free
            u.t_free = u.target[t].next
            u.target[t].entry = entry
            u.target[t].since = now
            u.target[t].next = u.mshr[mshr].merged
            u.mshr[mshr].merged = t
        on_hit(l1.replacement, row, stride, l1.ways, way, _next_order(m, cu))
        return MERGE if filling else HIT
    n = u.m_free_count
    if n == 0 or u.t_free_count == 0:
        u.waits_for = LINE
        return STALL
    if not crossbar_has_room(m, cu):
        u.waits_for = ROOM
        return STALL
    if way < 0:
        way = find_victim(l1.replacement, row, stride, l1.ways, u.order)
        if way < 0:
            u.waits_for = LINE
            return STALL
        if unlikely(l1.keeps_stores) and not _make_room(m, now, cu, row, base, way):
            return STALL
        st_i32(row, way, line)
        on_insert(l1.replacement, row, stride, l1.ways, way, _next_order(m, cu))
    else:
        on_hit(l1.replacement, row, stride, l1.ways, way, _next_order(m, cu))
    mshr = u.m_free[n - 1]
    u.m_free_count = n - 1
    u.t_free_count -= 1
    start_filling(row, stride, way)
    l1.filled_by[base + way] = mshr
    u.mshr[mshr].slot = base + way
    u.mshr[mshr].entry = entry
    u.mshr[mshr].since = now
    u.mshr[mshr].merged = -1
    crossbar_send(m, now, cu, line, READ | cu << SOURCE_CU_SHIFT | mshr << SOURCE_ID_SHIFT, 0)
    return MISS


@jit(outline=True)
def _keep_store(m, now, cu, token, line, result):
    """A store's bytes stay in the cache: it is acknowledged in the next cycle. result: HIT, or MERGE for a new line."""
    l1 = m.l1
    l1.writes += 1
    if result == HIT:
        l1.hits += 1
    else:
        l1.misses += 1
        l1.write_allocations += 1
    l1.unit[cu].lineless = token + 1
    wake_at(m, CU_RETURN, now + 1, cu)
    if unlikely(m.timeline.on):
        record(m, LOOKED_UP, cu | HIT << 8, token, line)


@jit
def _start(m, now, cu, header, token):
    """Begin the oldest instruction's look-up; 0 if there is no room for its return."""
    l1 = m.l1
    u = l1.unit[cu]
    if not header & (RECORD_STORE | RECORD_ATOMIC) or header & RECORD_RETURN:
        tail = u.r_tail
        if tail - u.r_head >= l1.return_limit:
            u.waits_for = RETURN_ENTRY
            return 0
        e = tail & (l1.return_ring - 1)
        u.entry[e].open = 1
        u.entry[e].at = now
        u.entry[e].beats = max((header >> BUSY_SHIFT) & BUSY_MASK, 1)
        u.entry[e].token = token
        u.r_tail = tail + 1
        u.q_entry = e
    u.q_started = now
    return 1


@jit(inline=True)
def _access(m, now, cu, q, header, position):
    """Send one line of the instruction on its way; 0 if it must wait."""
    l1 = m.l1
    u = l1.unit[cu]
    e = u.q_entry
    if header & (RECORD_STORE | RECORD_ATOMIC):
        line = u.q_words[u.queue[q].words + 2 * position]
        mask = u.q_words[u.queue[q].words + 2 * position + 1]
        if unlikely(l1.keeps_stores):
            result = _store_here(m, now, cu, line, mask, header)
            if result == STALL:
                return 0
            if result != MISS:
                _keep_store(m, now, cu, np.int64(u.queue[q].token), line, result)
                return 1
        if not crossbar_has_room(m, cu):
            u.waits_for = ROOM
            return 0
        if header & RECORD_RETURN:
            u.entry[e].open += 1
            source = ATOMIC_RETURN | cu << SOURCE_CU_SHIFT | (e | DIRECT) << SOURCE_ID_SHIFT
        else:
            if u.stores_out >= l1.store_limit:
                u.waits_for = STORE_ANSWER
                return 0
            u.stores_out += 1
            kind = ATOMIC if header & RECORD_ATOMIC else WRITE
            source = kind | cu << SOURCE_CU_SHIFT | np.int64(u.queue[q].token) << SOURCE_ID_SHIFT
        crossbar_send(m, now, cu, line, source, mask)
        if unlikely(m.timeline.on):
            record(m, LOOKED_UP, cu | MISS << 8, np.int64(u.queue[q].token), line)
        l1.writes += 1
        l1.misses += 1
        return 1
    line = u.q_words[u.queue[q].words + position]
    if unlikely(l1.bypass or (header & FLAG_BYPASS and not line & LINE_SPARSE)):
        if l1.keeps_stores and not _is_in_l2(m, now, cu, line):
            return 0
        if not crossbar_has_room(m, cu):
            u.waits_for = ROOM
            return 0
        u.entry[e].open += 1
        crossbar_send(m, now, cu, line, READ | cu << SOURCE_CU_SHIFT | (e | DIRECT) << SOURCE_ID_SHIFT, 0)
        result = MISS
        l1.latency -= now  # and its arrival adds the cycle in which it is there
        l1.misses += 1
    else:
        result = _look_up(m, now, cu, line, e)
        if result == STALL:
            return 0
        if result == HIT:
            u.entry[e].at = max(u.entry[e].at, now + l1.hit_latency)
            l1.latency += l1.hit_latency
            l1.hits += 1
        else:
            u.entry[e].open += 1
            if result == MERGE:
                l1.merges += 1
            else:
                l1.misses += 1
    if unlikely(m.timeline.on):
        record(m, LOOKED_UP, cu | result << 8, np.int64(u.queue[q].token), line)
    l1.reads += 1
    return 1


@jit(cold=True)
def _write_next_back(m, now, cu):
    """Write the next dirty line of the cache back, in the order of its slots."""
    l1 = m.l1
    u = l1.unit[cu]
    slots = l1.sets * l1.stride
    slot = u.next_dirty
    while not l1.dirty[cu * slots + slot]:
        slot = slot + 1 if slot + 1 < slots else 0
    first = cu * slots
    if _write_back(m, now, cu, first + slot, line_in(address_in(l1.rows, 0), l1.stride, first + slot)):
        u.next_dirty = slot if u.dirty_lines else 0


@jit(cold=True)
def _all_written_back(m, now, cu):
    """1 if L2 has all that the CU has stored; if not, the next dirty line is written back, or its answer waited for."""
    u = m.l1.unit[cu]
    if u.dirty_lines:
        _write_next_back(m, now, cu)
        return 0
    return 1 if u.write_backs_out == 0 else 0


@jit(cold=True)
def l1_release(m, now, cus):
    """The kernel is done: have every L1 write its dirty lines back, for others to read them in L2."""
    l1 = m.l1
    if not l1.released:
        l1.released = 1
        for cu in range(cus):
            wake(m, CU_LOOK_UP, now, cu)


@jit(cold=True)
def l1_write_back(m, now, cu):
    """One cycle of an L1 that has no instruction to look up: after the kernel, one of its dirty lines goes to L2."""
    if m.l1.released and m.l1.unit[cu].dirty_lines:
        _write_next_back(m, now, cu)


@jit(inline=True)
def l1_step(m, now, cu):
    """One cycle of look-up: one line of the oldest queued instruction, of which there must be one.

    Returns 1 if a queue slot came free.
    """
    l1 = m.l1
    u = l1.unit[cu]
    if u.look_free > now:
        wake_later(m, CU_LOOK_UP, u.look_free, cu)
        return 0
    q = u.q_head
    header = u.queue[q].header
    position = u.q_position
    lines = header & LINES_MASK
    if lines:
        stride = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
        line = u.q_words[u.queue[q].words + stride * position]
        if not translated(m, now, cu, line):
            if m.translation.since[cu] < now:
                look_ahead(m, now, cu, page_of(m, line))
            else:
                wake_at(m, CU_LOOK_UP, now + 1, cu)
            return 0
    moved = 1
    if unlikely(header & FLAG_INVALIDATE) and not _all_written_back(m, now, cu):
        moved = 0
    elif position == 0 and u.q_started < 0:
        moved = _start(m, now, cu, header, np.int64(u.queue[q].token))
    if moved and lines:
        moved = _access(m, now, cu, q, header, position)
    if not moved:
        if u.stalled_since < 0:
            u.stalled_since = now
        return 0
    if u.stalled_since >= 0:
        l1.stall_cycles += now - u.stalled_since
        u.stalled_since = -1
        u.waits_for = NOTHING
    l1.busy += 1
    position += 1
    if position < lines:
        u.q_position = position
        wake_at(m, CU_LOOK_UP, now + 1, cu)
        return 0
    if unlikely(header & FLAG_INVALIDATE):
        rows = address_in(l1.rows, cu * l1.sets * 2 * l1.stride)
        invalidate(l1.replacement, rows, l1.sets, l1.stride, l1.ways)
    least = max(l1.address_cycles, (header >> BUSY_SHIFT) & BUSY_MASK)
    if not header & (RECORD_STORE | RECORD_ATOMIC) or header & RECORD_RETURN:
        u.entry[u.q_entry].open -= 1
        _schedule_returns(m, now, cu)
    elif lines == 0:
        u.lineless = u.queue[q].token + 1
        wake_at(m, CU_RETURN, now + 1, cu)
    u.look_free = max(now + 1, u.q_started + least)
    u.q_position = 0
    u.q_started = -1
    u.q_head = (q + 1) & (MAX_QUEUE - 1)
    u.q_count -= 1
    l1.queued -= 1
    if u.ahead:
        u.ahead -= 1
    else:
        u.ahead_position = 0
    if u.q_count:
        wake_later(m, CU_LOOK_UP, u.look_free, cu)
    elif u.q_head >= RING_FRONT:
        u.q_head = 0
    return 1


@jit
def _arrived(m, now, cu, entry, since):
    l1 = m.l1
    u = l1.unit[cu]
    t = now + l1.fill_latency
    u.entry[entry].open -= 1
    u.entry[entry].at = max(u.entry[entry].at, t)
    l1.latency += t - since


@jit(inline=True)
def l1_receive(m, now, cu):
    """Take at most one response from the crossbar and fill its line. Returns the token of a store it answers, or -1."""
    l1 = m.l1
    u = l1.unit[cu]
    source = crossbar_take_response(m, now, cu)
    if source < 0:
        return -1
    kind = source & 7
    tag = source >> SOURCE_ID_SHIFT
    if kind == WRITE or kind == ATOMIC:
        if unlikely(tag == WRITE_BACK):
            u.write_backs_out -= 1
            if u.write_backs_out == 0:
                wake_at(m, CU_LOOK_UP, now, cu)
            return -1
        u.stores_out -= 1
        return tag
    if tag & DIRECT:
        e = tag & (DIRECT - 1)
        if kind == READ:
            _arrived(m, now, cu, e, 0)
        else:
            u.entry[e].open -= 1
            u.entry[e].at = max(u.entry[e].at, now + l1.fill_latency)
    else:
        end_filling(address_in(l1.rows, 0), l1.stride, u.mshr[tag].slot)
        if unlikely(l1.keeps_stores):
            l1.held[u.mshr[tag].slot] = ALL_BYTES
        u.m_free[u.m_free_count] = tag
        u.m_free_count += 1
        u.t_free_count += 1
        _arrived(m, now, cu, u.mshr[tag].entry, u.mshr[tag].since)
        t = u.mshr[tag].merged
        while t >= 0:
            follow = u.target[t].next
            _arrived(m, now, cu, u.target[t].entry, u.target[t].since)
            u.target[t].next = u.t_free
            u.t_free = t
            u.t_free_count += 1
            t = follow
    _schedule_returns(m, now, cu)
    return -1


@jit
def l1_next_load_done(m, now, cu):
    """Token of a load whose data is in the registers now, or -1; arms the wake-up for the next one."""
    l1 = m.l1
    u = l1.unit[cu]
    h = u.r_head
    if h == u.r_scheduled:
        return -1
    e = h & (l1.return_ring - 1)
    if u.entry[e].at > now:
        wake_later(m, CU_RETURN, u.entry[e].at, cu)
        return -1
    if h + 1 == u.r_tail:
        h = -1  # nothing is left: start over at the ring's front, as memory.rings says
        u.r_scheduled = 0
        u.r_tail = 0
    u.r_head = h + 1
    return u.entry[e].token


@jit
def l1_take_lineless(m, cu):
    """Token of a store without lines, looked up in the last cycle, or -1."""
    u = m.l1.unit[cu]
    token = u.lineless - 1
    u.lineless = 0
    return token
