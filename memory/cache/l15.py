"""The L1.5 of a shader array: a cache that the array's vector L1s, scalar and instruction cache ask before L2.

It takes one packet a cycle, from the ports of its array round robin, and looks reads up; misses to one line are merged.
Stores and atomics go on to L2, which answers through it; a line that is stored to stays, as no data is kept here. What
it cannot serve, for want of an MSHR, a way or a slot of the crossbar, stays in its port.
"""

from typing import Literal

from pydantic import model_validator

from gpusim.base.counters import Counter, CounterTable
from gpusim.base.jit import Field, State, address_in, counter_fields, jit, st_i32
from gpusim.base.spec import Spec, param
from memory.cache.l2_state import HIT, MERGED, MISSED
from memory.cache.missing import (
    LAST,
    MISSING,
    NO_SLOT,
    begin_miss,
    configure_misses,
    configure_sets,
    end_miss,
    join_miss,
    may_join,
    may_miss,
    next_target,
)
from memory.network.crossbar import (
    crossbar_has_room,
    crossbar_offers,
    crossbar_pick_request,
    crossbar_pop_request,
    crossbar_respond,
    crossbar_response_room,
    crossbar_send,
    crossbar_take_response,
)
from memory.network.state import (
    FIRST_SCALAR_PORT,
    KIND_MASK,
    MAX_ARRAYS,
    P_LINE,
    P_MASK,
    P_SOURCE,
    READ,
    SOURCE_CU_SHIFT,
    SOURCE_ID_SHIFT,
    lead_to,
    wake_taker,
)
from memory.sets.replacement import (
    Replacement,
    check_replacement,
    find_victim,
    on_hit,
    on_insert,
    replacement_param,
)
from memory.sets.rows import is_filling, next_order, set_fields, start_filling, way_of
from memory.timeline import ANSWERED, SERVED, record
from memory.unit_classes import DESTINATIONS, L15, PORTS
from memory.waiting import FILLS, LINE_BETWEEN, LOOK_UP, REQUEST_SLOT, RESPONSE_SLOT, freed, wait_for
from memory.wheel import wake_at

MAX_LINES = 4096  # an array: 256 KiB
MAX_MSHRS = 256
MAX_TARGETS = 512
FIRST_PORT = PORTS["l15"][0]
FIRST_DESTINATION = DESTINATIONS["l15"][0]
LINE = LINE_BETWEEN["l15"]

L15_COUNTERS = CounterTable(
    "l15",
    (
        Counter("read_transactions", "accesses", "lines looked up by reads", field="reads"),
        Counter("write_transactions", "accesses", "stores and atomics that go on to L2", field="writes"),
        Counter("hits", "accesses", "reads that found their line"),
        Counter("misses", "accesses", "accesses that went on to L2; stores and atomics count here"),
        Counter("mshr_merges", "accesses", "reads that joined an outstanding miss", field="merges"),
    ),
    state="l15",
    present="l15.caches",
)


class L15Spec(Spec):
    """Cache of a shader array between its first-level caches and L2."""

    model: Literal["none", "cycle"] = param("none", "cycle: there is such a cache; none: there is none", "GCN has none")
    size_kib: int = param(64, "capacity in KiB", "assumed", ge=1, le=256)
    ways: int = param(16, "associativity", "assumed", ge=1, le=64)
    replacement: Replacement = replacement_param("assumed, as the vector L1's")
    link_cycles: int = param(8, "cycles of a packet between it and a cache of its array", "assumed", ge=1, le=100)
    hit_latency_cycles: int = param(30, "cycles from look-up to a hit's answer leaving", "assumed", ge=1, le=300)
    fill_latency_cycles: int = param(10, "cycles from L2's answer to its own leaving", "assumed", ge=1, le=300)
    mshrs: int = param(128, "lines missing, and stores under way, at a time", "assumed", ge=1, le=MAX_MSHRS)
    mshr_targets: int = param(512, "packets that may wait for them", "assumed", ge=1, le=MAX_TARGETS)

    @model_validator(mode="after")
    def _ways_suit_the_policy(self) -> "L15Spec":
        check_replacement(self.replacement, self.ways)
        return self


TARGET = State(
    "target",
    {
        "source": Field((), "source of the packet that waits"),
        "since": Field((), "cycle in which it came"),
    },
)

L15_CACHE = State(
    "l15",
    set_fields(MAX_ARRAYS * MAX_LINES)
    | {
        "caches": Field((), "caches: one a shader array, or none"),
        "order": Field((MAX_ARRAYS,), "running number of the accesses to a cache's sets"),
        "hit_latency": Field((), "cycles from look-up to the answer"),
        "fill_latency": Field((), "cycles from L2's answer to the answer"),
        "filled_by": Field((MAX_ARRAYS * MAX_LINES * 4,), "MSHR that fills the slot, while it does"),
        "missing": Field((MAX_ARRAYS,), "missing lines of a cache", MISSING.dtype()),
        "target": Field((MAX_ARRAYS, MAX_TARGETS), "packets that wait for an answer of L2", TARGET.dtype()),
        **counter_fields(L15_COUNTERS),
    },
)


def configure_l15(m, spec: L15Spec, arrays: int, cus_per_array: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the L1.5 of each shader array, if it has one, and have the array's caches ask it. seed: of replacement."""
    if spec.model == "none":
        return
    level = m.l15
    level.caches = arrays
    level.hit_latency, level.fill_latency = spec.hit_latency_cycles, spec.fill_latency_cycles
    sets = spec.size_kib * 16 // spec.ways
    level.order[:arrays] = configure_sets(level, sets, spec.ways, spec.replacement, seed, arrays)
    configure_misses(level.missing[:arrays], spec.mshrs, spec.mshr_targets)
    for array in range(arrays):
        cus = range(array * cus_per_array, (array + 1) * cus_per_array)
        lead_to(m, [*cus, FIRST_SCALAR_PORT + array], FIRST_DESTINATION + array, spec.link_cycles)


@jit
def _next_use(m, array):
    level = m.l15
    rows = address_in(level.rows, array * level.sets * 2 * level.stride)
    level.order[array] = next_order(level.order[array], rows, level.sets, level.stride)
    return level.order[array]


@jit
def _answer(m, now, t, array, source, since):
    """Answer the packet that came in cycle `since`, from cycle `t` on."""
    leaves = crossbar_respond(m, now, t, FIRST_DESTINATION + array, source)
    if m.timeline.on:
        record(m, ANSWERED, FIRST_DESTINATION + array | since << 8, source, leaves)


@jit
def _wait_for_answer(m, now, array, mshr, source):
    """Have a packet wait for L2's answer to an MSHR."""
    target = m.l15.target[array, join_miss(m.l15.missing[array], mshr, LAST)]
    target.source = source
    target.since = now


@jit
def _send(m, now, array, line, source, mask, slot):
    """Ask L2 for a packet's line, which fills a slot, or NO_SLOT; returns the MSHR."""
    level = m.l15
    port = FIRST_PORT + array
    mshr = begin_miss(level.missing[array], slot)
    _wait_for_answer(m, now, array, mshr, source)
    level.misses += 1
    kind = source & KIND_MASK
    crossbar_send(m, now, port, line, kind | port << SOURCE_CU_SHIFT | mshr << SOURCE_ID_SHIFT, mask)
    return mshr


@jit(outline=True)
def _read(m, now, array, line, source, may_send):
    """Look a read's line up; returns HIT, MERGED, MISSED, or -1 if it must wait. may_send: L2 can be asked now."""
    level = m.l15
    base = (array * level.sets + (line & (level.sets - 1))) * level.stride
    row = address_in(level.rows, 2 * base)
    way = way_of(row, level.stride, line)
    if way >= 0:
        result = HIT
        if not is_filling(row, level.stride, way):
            level.hits += 1
            _answer(m, now, now + level.hit_latency, array, source, now)
        else:
            if not may_join(level.missing[array]):
                wait_for(m, LINE + array, LOOK_UP)
                return -1
            _wait_for_answer(m, now, array, level.filled_by[base + way], source)
            level.merges += 1
            result = MERGED
        on_hit(level.replacement, row, level.stride, level.ways, way, _next_use(m, array))
        return result
    way = find_victim(level.replacement, row, level.stride, level.ways, level.order[array])
    if way < 0:
        wait_for(m, LINE + array, LOOK_UP)
    if way < 0 or not may_send:
        return -1
    st_i32(row, way, line)
    on_insert(level.replacement, row, level.stride, level.ways, way, _next_use(m, array))
    start_filling(row, level.stride, way)
    level.filled_by[base + way] = _send(m, now, array, line, source, 0, base + way)
    return MISSED


@jit
def _may_send(m, array):
    """Return 1 if L2 can be asked for a line now, else 0: the look-up is woken when that may have changed."""
    if not may_miss(m.l15.missing[array]):
        wait_for(m, LINE + array, LOOK_UP)
        return 0
    if not crossbar_has_room(m, FIRST_PORT + array):
        wait_for(m, REQUEST_SLOT + FIRST_PORT + array, LOOK_UP)
        return 0
    return 1


@jit(outline=True)
def l15_tick(m, now, array):
    """Take and serve one packet of the array's caches."""
    level = m.l15
    x = m.xbar
    destination = FIRST_DESTINATION + array
    if not crossbar_response_room(m, destination):
        wait_for(m, RESPONSE_SLOT + destination, LOOK_UP)
        return
    port = crossbar_pick_request(m, now, destination)
    if port < 0:
        return
    h = x.o_first[port, destination] - 1
    line = x.request[port, h, P_LINE]
    source = x.request[port, h, P_SOURCE]
    may_send = _may_send(m, array)
    if source & KIND_MASK == READ:
        result = _read(m, now, array, line, source, may_send)
        if result < 0:
            return
        level.reads += 1
    else:
        if not may_send:
            return
        _send(m, now, array, line, source, x.request[port, h, P_MASK], NO_SLOT)
        level.writes += 1
        result = MISSED
    if m.timeline.on:
        record(m, SERVED, destination | result << 8 | now << 16, source, line)
    crossbar_pop_request(m, now, destination, port)
    if crossbar_offers(m, destination):
        wake_taker(m, now + 1, destination)


@jit(outline=True)
def l15_fill_tick(m, now, array):
    """Take one answer of L2, and answer all packets that wait for it."""
    level = m.l15
    if not crossbar_response_room(m, FIRST_DESTINATION + array):
        wait_for(m, RESPONSE_SLOT + FIRST_DESTINATION + array, FILLS)
        return
    source = crossbar_take_response(m, now, FIRST_PORT + array)
    if source < 0:
        return
    missing = level.missing[array]
    mshr = source >> SOURCE_ID_SHIFT
    end_miss(missing, mshr, address_in(level.rows, 0), level.stride)
    target = missing.mshr[mshr].first
    while target >= 0:
        waiting = level.target[array, target]
        _answer(m, now, now + level.fill_latency, array, waiting.source, waiting.since)
        target = next_target(missing, target)
    if freed(m, LINE + array):
        wake_at(m, L15, now, array)
