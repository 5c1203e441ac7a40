"""The L2 cache: channels interleaved by address, write-back, allocation on write with byte masks, MSHRs, atomics.

Each channel takes one request a cycle from the crossbar. A read miss goes to DRAM, or, for a sparse line, to the
compaction engine; both answer through the ports. A write miss needs no fill: the line keeps a mask of the bytes
it holds, and a read of a partly held line fetches the rest.
"""

from pydantic import model_validator

from gpusim.base.spec import Spec, param
from gpusim.jit import (
    Field,
    State,
    address_in,
    counter_fields,
    i16,
    i32,
    jit,
    ld_u32,
    prefetch,
    st_i32,
    u16,
    unlikely,
)
from isa.trace import LINE_SPARSE
from memory.address_map import MAX_L2_CHANNELS, dram_channel, l2_local_line
from memory.cache.counters import L2_COUNTERS
from memory.cache.write_policy import (
    ALL_BYTES,
    BACK,
    THROUGH,
    Write,
    goes_below,
    is_kept,
    write_allocate_param,
    write_number,
    write_param,
)
from memory.dram.controller import dram_has_room, dram_read, dram_write
from memory.network.crossbar import (
    crossbar_offers,
    crossbar_pick_request,
    crossbar_pop_request,
    crossbar_respond,
    crossbar_response_room,
)
from memory.network.state import KIND_MASK, P_LINE, P_MASK, P_READY, P_SOURCE, READ, WRITE
from memory.ports import (
    DRAM_WRITES,
    L2_FROM_DRAM,
    L2_FROM_ENGINE,
    dram_space_taken,
    dram_turn,
    port_ready,
    port_take,
    sparse_request,
    wait_for_dram,
)
from memory.sets.replacement import (
    Replacement,
    check_replacement,
    find_victim,
    first_order,
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
    next_order,
    set_fields,
    start_filling,
    stride_of,
    way_of,
)
from memory.timeline import ANSWERED, SERVED, record
from memory.wheel import L2_FILL, L2_SERVE, L2_TAKE, wake, wake_at

MAX_LINES = 262144  # 16 MiB in all
MAX_SLOTS = LANES * MAX_LINES
MAX_MSHRS = 256
MAX_TARGETS = 4096
MAX_INPUT = 64

# byte masks of a way; no byte and all of them, the usual ones, are codes in the way's note, which costs less to reach
HELD = 0  # bytes held
DIRTY = 1  # bytes to write back
NO_BYTE, EVERY_BYTE, SOME_BYTES = range(3)
CODE_BITS = 2
ALL_NOTE = (1 << 16) - 1
MSHR_SHIFT = 2 * CODE_BITS  # in a note: the MSHR that fills the way, while it does

# words of an MSHR target, side by side because they are used together
T_NEXT = 0  # next target, or next free one; -1 none
T_SOURCE = 1  # source of the waiting request
T_SINCE = 2  # cycle it came to the channel
T_MASK = 3  # bytes a waiting atomic changes

HIT, MERGED, MISSED, STALLED = range(4)


class L2Spec(Spec):
    """L2 cache."""

    size_kib: int = param(2048, "capacity in KiB, all channels", "Radeon MI6 (Dong 2020, table 6.3)", ge=1, le=16384)
    ways: int = param(16, "associativity", "AMD GCN3 L2: 16-way", ge=1, le=64)
    replacement: Replacement = replacement_param("assumed, as the vector L1's")
    channels: int = param(
        16, "channels, a power of two", "Polaris 10: two for each of eight memory channels", ge=1, le=MAX_L2_CHANNELS
    )
    interleave_bytes: int = param(256, "consecutive bytes in one channel", "AMD GCN: 256 bytes", ge=64, le=65536)
    hash_channels: bool = param(
        True, "XOR higher address bits into the channel number", "assumed: column strides must not hit one channel"
    )
    latency_cycles: int = param(
        70,
        "cycles from look-up to a hit's answer leaving the channel",
        "assumed: a load that misses L1 and hits L2 takes 188 cycles; no figure for GCN was found",
        ge=1,
        le=300,
    )
    fill_latency_cycles: int = param(
        70,
        "cycles from fill data to the answer leaving the channel",
        "assumed: a hit's pipeline",
        ge=1,
        le=300,
    )
    mshrs_per_channel: int = param(64, "lines a channel may be missing at a time", "assumed", ge=1, le=MAX_MSHRS)
    mshr_targets_per_channel: int = param(
        512, "requests a channel holds for missing lines", "assumed", ge=1, le=MAX_TARGETS
    )
    input_queue_packets: int = param(16, "requests waiting at a channel", "assumed", ge=1, le=MAX_INPUT)
    write: Write = write_param("back", "AMD GCN whitepaper (2012): write-back, with byte masks")
    write_allocate: bool = write_allocate_param(True, "AMD GCN whitepaper (2012): write-allocate, with byte masks")

    @model_validator(mode="after")
    def _ways_suit_the_policy(self) -> "L2Spec":
        check_replacement(self.replacement, self.ways)
        return self

    def cache_kib(self, uses_engine: bool) -> float:
        """What caches lines: all of L2, or the half that the compaction engine leaves (Dong 2020, section 6.5)."""
        return self.size_kib / 2 if uses_engine else float(self.size_kib)

    def engine_kib(self) -> float:
        """What the compaction engine takes of L2 for its SRAM while it is in use."""
        return self.size_kib - self.cache_kib(uses_engine=True)


MSHR = State(
    "mshr",
    {
        "slot": Field((), "slot that it fills", i32),
        "first": Field((), "first target: the oldest", i16),
        "last": Field((), "last target", i16),
    },
)

L2 = State(
    "l2",
    set_fields(MAX_LINES)
    | {
        "channels": Field((), "channels in use"),
        "latency": Field((), "cycles from look-up to answer"),
        "fill_latency": Field((), "cycles from fill to answer"),
        "mshrs": Field((), "MSHRs a channel"),
        "targets": Field((), "MSHR targets a channel"),
        "input_limit": Field((), "requests waiting at a channel at most"),
        "write": Field((), "write policy, a number of memory/cache/write_policy.py"),
        "allocate": Field((), "1: a write that misses gets a line"),
        "passes_on": Field((), "1: not every write stays here: it is not write-back, or does not allocate"),
        "atomic_result": Field((MAX_L2_CHANNELS,), "what the look-up of a waiting atomic gave at first, HIT before it"),
        "order": Field((MAX_L2_CHANNELS,), "running number of the accesses to the channel's sets"),
        "note": Field((MAX_SLOTS,), "of a slot: codes of its masks HELD and DIRTY, and its MSHR", u16),
        "mask": Field((MAX_SLOTS, 2), "its masks HELD and DIRTY where they are SOME_BYTES"),
        "m_free": Field((MAX_L2_CHANNELS, MAX_MSHRS), "stack of free MSHRs"),
        "m_free_count": Field((MAX_L2_CHANNELS,), "free MSHRs"),
        "mshr": Field((MAX_L2_CHANNELS, MAX_MSHRS), "missing lines", MSHR.dtype()),
        "target": Field((MAX_L2_CHANNELS, MAX_TARGETS, 4), "requests waiting for a line, by T_NEXT ... T_MASK"),
        "t_free": Field((MAX_L2_CHANNELS,), "first free target, -1 none"),
        "input": Field(
            (MAX_L2_CHANNELS, MAX_INPUT, 4), "waiting requests: P_LINE ... P_MASK, and P_READY: cycle it came"
        ),
        "i_head": Field((MAX_L2_CHANNELS,), "oldest waiting request"),
        "i_count": Field((MAX_L2_CHANNELS,), "waiting requests"),
        "refused_by": Field((MAX_L2_CHANNELS,), "DRAM queue + 1 that refused the oldest request, 0: look it up"),
        "missed_in": Field((MAX_L2_CHANNELS,), "slot of way 0 of the set in which a request has missed last"),
        **counter_fields(L2_COUNTERS, MAX_L2_CHANNELS),
        "stalled_since": Field((MAX_L2_CHANNELS,), "cycle from which it waits, -1 if it does not"),
    },
)


def configure_l2(m, spec: L2Spec, uses_engine: bool, seed: int) -> None:  # type: ignore[no-untyped-def]
    """Size the L2 in the machine record and empty it. seed: of random replacement."""
    l2 = m.l2
    lines = int(spec.cache_kib(uses_engine) * 1024) // 64 // spec.channels
    l2.channels, l2.ways = spec.channels, spec.ways
    l2.sets = lines // spec.ways
    l2.latency, l2.fill_latency = spec.latency_cycles, spec.fill_latency_cycles
    l2.mshrs, l2.targets = spec.mshrs_per_channel, spec.mshr_targets_per_channel
    l2.input_limit = spec.input_queue_packets
    l2.write, l2.allocate = write_number(spec.write), int(spec.write_allocate)
    l2.passes_on = int(l2.write == THROUGH or not l2.allocate)
    channels = slice(0, spec.channels)
    l2.stride, l2.replacement = stride_of(spec.ways), policy_number(spec.replacement)
    l2.order[channels] = [first_order(spec.replacement, seed, channel) for channel in range(spec.channels)]
    clear_rows(l2.rows, spec.channels * int(l2.sets), spec.ways)
    l2.stalled_since[channels] = -1
    l2.m_free_count[channels] = l2.mshrs
    l2.m_free[channels, : l2.mshrs] = range(int(l2.mshrs) - 1, -1, -1)
    l2.target[channels, : l2.targets, T_NEXT] = range(1, int(l2.targets) + 1)
    l2.target[channels, l2.targets - 1, T_NEXT] = -1


@jit
def _bytes(m, at, which):
    """A mask of a slot: HELD or DIRTY."""
    code = (m.l2.note[at] >> (CODE_BITS * which)) & ((1 << CODE_BITS) - 1)
    if code == SOME_BYTES:
        return m.l2.mask[at, which]
    return ALL_BYTES if code == EVERY_BYTE else 0


@jit
def _set_bytes(m, at, which, mask):
    code = SOME_BYTES
    if mask == 0:
        code = NO_BYTE
    elif mask == ALL_BYTES:
        code = EVERY_BYTE
    else:
        m.l2.mask[at, which] = mask
    others = m.l2.note[at] & (ALL_NOTE ^ ((1 << CODE_BITS) - 1) << (CODE_BITS * which))
    m.l2.note[at] = others | code << (CODE_BITS * which)


@jit
def _answer(m, now, t, channel, source, since):
    leaves = crossbar_respond(m, now, t, channel, source)
    if unlikely(m.timeline.on):
        record(m, ANSWERED, channel | since << 8, source, leaves)
    if source & KIND_MASK == READ:
        l2 = m.l2
        spent = leaves - since
        l2.read_latency += spent
        l2.reads_answered += 1


@jit(inline=True)
def _fill(m, now, channel, mshr):
    """The line of an MSHR is here: serve its targets, oldest first."""
    l2 = m.l2
    at = l2.mshr[channel, mshr].slot
    end_filling(address_in(l2.rows, 0), l2.stride, at)
    _set_bytes(m, at, HELD, ALL_BYTES)
    l2.m_free[channel, l2.m_free_count[channel]] = mshr
    l2.m_free_count[channel] += 1
    if at & ~(l2.stride - 1) == l2.missed_in[channel]:  # another way may be the victim now
        m.ports.l2_refused &= ~(1 << channel)
        l2.refused_by[channel] = 0
    t = l2.mshr[channel, mshr].first
    while t >= 0:
        source = l2.target[channel, t, T_SOURCE]
        if source & KIND_MASK != READ:
            _set_bytes(m, at, DIRTY, _bytes(m, at, DIRTY) | l2.target[channel, t, T_MASK])
        _answer(m, now, now + l2.fill_latency, channel, source, l2.target[channel, t, T_SINCE])
        follow = l2.target[channel, t, T_NEXT]
        l2.target[channel, t, T_NEXT] = l2.t_free[channel]
        l2.t_free[channel] = t
        t = follow


@jit(inline=True)
def _add_target(m, channel, mshr, source, since, mask):
    l2 = m.l2
    t = l2.t_free[channel]
    l2.t_free[channel] = l2.target[channel, t, T_NEXT]
    l2.target[channel, t, T_NEXT] = -1
    l2.target[channel, t, T_SOURCE] = source
    l2.target[channel, t, T_SINCE] = since
    l2.target[channel, t, T_MASK] = mask
    if l2.mshr[channel, mshr].first < 0:
        l2.mshr[channel, mshr].first = t
    else:
        l2.target[channel, l2.mshr[channel, mshr].last, T_NEXT] = t
    l2.mshr[channel, mshr].last = t


@jit
def _write_dram(m, now, channel, line, mask):
    """Hand bytes of a line to DRAM; 0 if that must wait for room in its queue or for the channel's turn."""
    l2 = m.l2
    dram = dram_channel(m, line)
    queue = dram + DRAM_WRITES
    l2.refused_by[channel] = queue + 1
    if not dram_turn(m, now, queue, channel):
        return 0
    if not dram_write(m, now, dram, line, mask):
        wait_for_dram(m, queue, channel)
        return 0
    l2.refused_by[channel] = 0
    dram_space_taken(m, now, queue, channel)
    return 1


@jit
def _evict(m, now, channel, at, line):
    """Write a dirty slot back; 0 if that must wait."""
    if not _write_dram(m, now, channel, line, _bytes(m, at, DIRTY)):
        return 0
    _set_bytes(m, at, DIRTY, 0)
    m.l2.write_backs += 1
    return 1


@jit
def _write_through(m, now, channel, line, mask):
    """Pass a request's bytes on to DRAM; 0 if that must wait."""
    if not _write_dram(m, now, channel, line, mask):
        return 0
    m.l2.write_throughs += 1
    return 1


@jit(outline=True)
def _pass_write_on(m, now, channel, line, mask, row, way):
    """Pass a write's bytes on to DRAM; 0 if that must wait, or if it is to get a way and has to wait for that.

    row, way: its set, and the way that holds it or -1.
    """
    l2 = m.l2
    if way < 0 and l2.allocate and find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel]) < 0:
        return 0
    return _write_through(m, now, channel, line, mask)


@jit(inline=True)
def _fetch(m, now, channel, line, mshr):
    """Ask DRAM or the engine for a line; 0 if it has no room."""
    if line & LINE_SPARSE:
        if not sparse_request(m, now + 1, channel, line, mshr):
            return 0
        m.l2.sparse_misses += 1
        return 1
    queue = dram_channel(m, line)
    m.l2.refused_by[channel] = queue + 1
    if not dram_turn(m, now, queue, channel):
        return 0
    if not dram_read(m, now, queue, line, L2_FROM_DRAM + channel, mshr):
        wait_for_dram(m, queue, channel)
        return 0
    m.l2.refused_by[channel] = 0
    dram_space_taken(m, now, queue, channel)
    return 1


@jit(inline=True)
def _still_refused(m, now, channel):
    """1 if the oldest request would only be refused again: until its set is filled nothing changes its look-up."""
    queue = m.l2.refused_by[channel] - 1
    if queue < 0:
        return 0
    if not dram_turn(m, now, queue, channel):
        return 1
    if dram_has_room(m, now, queue):
        return 0
    wait_for_dram(m, queue, channel)
    return 1


@jit
def _next_order(m, channel):
    l2 = m.l2
    rows = address_in(l2.rows, channel * l2.sets * 2 * l2.stride)
    l2.order[channel] = next_order(l2.order[channel], rows, l2.sets, l2.stride)
    return l2.order[channel]


@jit
def _used(m, channel, row, way):
    """A way's line is accessed."""
    l2 = m.l2
    on_hit(l2.replacement, row, l2.stride, l2.ways, way, _next_order(m, channel))


@jit
def _inserted(m, channel, row, way, line):
    """A way gets another line."""
    l2 = m.l2
    st_i32(row, way, line)
    on_insert(l2.replacement, row, l2.stride, l2.ways, way, _next_order(m, channel))


@jit
def _first_slot(m, channel, line):
    """Slot of way 0 of the line's set."""
    l2 = m.l2
    return (channel * l2.sets + (l2_local_line(m, line) & (l2.sets - 1))) * l2.stride


@jit
def _prefetch_row(m, channel, line):
    """The line will be looked up in one of the next cycles: the tags of a large L2 do not stay in the host's caches."""
    l2 = m.l2
    base = _first_slot(m, channel, line)
    prefetch(address_in(l2.rows, 2 * base))
    prefetch(address_in(l2.rows, 2 * base + l2.stride))
    prefetch(address_in(l2.note, base))


@jit(inline=True)
def _start_fetch(m, now, channel, line, row, base, way, found):
    """Fetch a line into a way of its set; returns its MSHR, or -1 if that must wait.

    found: the way holds the line in part, and keeps its bytes; else it holds another, whose dirty bytes go to DRAM.
    """
    l2 = m.l2
    at = base + way
    l2.missed_in[channel] = base
    n = l2.m_free_count[channel]
    if n == 0 or l2.t_free[channel] < 0:
        return -1
    if not found and _bytes(m, at, DIRTY) and not _evict(m, now, channel, at, ld_u32(row, way)):
        return -1
    mshr = l2.m_free[channel, n - 1]
    if not _fetch(m, now, channel, line, mshr):
        return -1
    l2.m_free_count[channel] = n - 1
    l2.mshr[channel, mshr].slot = at
    l2.mshr[channel, mshr].first = -1
    if found:
        _used(m, channel, row, way)
    else:
        _inserted(m, channel, row, way, line)
        _set_bytes(m, at, HELD, 0)
    start_filling(row, l2.stride, way)
    l2.note[at] = mshr << MSHR_SHIFT | (l2.note[at] & ((1 << MSHR_SHIFT) - 1))
    return mshr


@jit(outline=True)
def _atomic_through(m, now, channel, line, source, mask, since):
    """An atomic in a write-through L2: what it changes goes on to DRAM, so it needs its line and DRAM at one time.

    If its line is not held it has it fetched, and waits for it at the head of its channel.
    """
    l2 = m.l2
    base = _first_slot(m, channel, line)
    row = address_in(l2.rows, 2 * base)
    way = way_of(row, l2.stride, line)
    found = way >= 0
    if found and is_filling(row, l2.stride, way):
        if l2.atomic_result[channel] == HIT:
            l2.atomic_result[channel] = MERGED
        return STALLED
    if found and _bytes(m, base + way, HELD) == ALL_BYTES:
        if not _write_through(m, now, channel, line, mask):
            return STALLED
        _used(m, channel, row, way)
        _answer(m, now, now + l2.latency, channel, source, since)
        result = l2.atomic_result[channel]
        l2.atomic_result[channel] = HIT
        return result
    if not found:
        way = find_victim(l2.replacement, row, l2.stride, l2.ways, l2.order[channel])
    if way >= 0 and _start_fetch(m, now, channel, line, row, base, way, found) >= 0:
        l2.atomic_result[channel] = MISSED
    return STALLED


@jit(inline=True)
def _l2_access(m, now, channel, line, source, mask, since):
    """Serve one request: HIT, MERGED, MISSED, or STALLED with nothing changed but write-backs and fetches begun."""
    l2 = m.l2
    kind = source & KIND_MASK
    stride = l2.stride
    base = _first_slot(m, channel, line)
    row = address_in(l2.rows, 2 * base)
    way = way_of(row, stride, line)
    found = way >= 0
    if unlikely(l2.passes_on):
        if kind == WRITE and goes_below(l2.write, l2.allocate, found):
            if not _pass_write_on(m, now, channel, line, mask, row, way):
                return STALLED
            if not is_kept(l2.allocate, found):
                l2.writes_around += 1
                _answer(m, now, now + l2.latency, channel, source, since)
                return MISSED
        elif kind > WRITE and l2.write == THROUGH:
            return _atomic_through(m, now, channel, line, source, mask, since)
    if found:
        at = base + way
        filling = is_filling(row, stride, way)
        if kind == WRITE:
            _used(m, channel, row, way)
            _set_bytes(m, at, HELD, _bytes(m, at, HELD) | mask)
            if l2.write == BACK:
                _set_bytes(m, at, DIRTY, _bytes(m, at, DIRTY) | mask)
            _answer(m, now, now + l2.latency, channel, source, since)
            return MERGED if filling else HIT
        if filling:
            if l2.t_free[channel] < 0:
                return STALLED
            _used(m, channel, row, way)
            _add_target(m, channel, l2.note[at] >> MSHR_SHIFT, source, since, mask)
            return MERGED
        if _bytes(m, at, HELD) == ALL_BYTES:
            _used(m, channel, row, way)
            if kind != READ:
                _set_bytes(m, at, DIRTY, _bytes(m, at, DIRTY) | mask)
            _answer(m, now, now + l2.latency, channel, source, since)
            return HIT
    else:
        way = find_victim(l2.replacement, row, stride, l2.ways, l2.order[channel])
        if way < 0:
            return STALLED
    if kind == WRITE:
        at = base + way
        l2.missed_in[channel] = base
        if _bytes(m, at, DIRTY) and not _evict(m, now, channel, at, ld_u32(row, way)):
            return STALLED
        _inserted(m, channel, row, way, line)
        _set_bytes(m, at, HELD, mask)
        _set_bytes(m, at, DIRTY, mask if l2.write == BACK else 0)
        l2.write_allocations += 1
        _answer(m, now, now + l2.latency, channel, source, since)
        return MISSED
    mshr = _start_fetch(m, now, channel, line, row, base, way, found)
    if mshr < 0:
        return STALLED
    _add_target(m, channel, mshr, source, since, mask)
    return MISSED


@jit(outline=True)
def _serve_oldest(m, now, channel):
    """Serve the channel's oldest waiting request; 0 if it is stalled."""
    l2 = m.l2
    h = l2.i_head[channel]
    line = l2.input[channel, h, P_LINE]
    source = l2.input[channel, h, P_SOURCE]
    result = _l2_access(m, now, channel, line, source, l2.input[channel, h, P_MASK], l2.input[channel, h, P_READY])
    if result == STALLED:
        return 0
    if unlikely(m.timeline.on):
        record(m, SERVED, channel | result << 8 | l2.input[channel, h, P_READY] << 16, source, line)
    kind = source & KIND_MASK
    if kind == READ:
        l2.reads += 1
    elif kind == WRITE:
        l2.writes += 1
    else:
        l2.atomics += 1
    if result == HIT:
        l2.hits += 1
    elif result == MERGED:
        l2.merges += 1
    else:
        l2.misses += 1
    l2.i_head[channel] = (h + 1) & (MAX_INPUT - 1)
    l2.i_count[channel] -= 1
    if l2.i_count[channel]:
        wake_at(m, L2_SERVE, now + 1, channel)
    if l2.i_count[channel] == l2.input_limit - 1:
        wake_at(m, L2_TAKE, now, channel)
    return 1


@jit(inline=True)
def _try_oldest(m, now, channel):
    """Serve the channel's oldest waiting request if its port has room and nothing stalls it."""
    l2 = m.l2
    since = l2.stalled_since[channel]
    if crossbar_response_room(m, channel) and not _still_refused(m, now, channel) and _serve_oldest(m, now, channel):
        if since >= 0:
            l2.stall_cycles[channel] += now - since
            l2.stalled_since[channel] = -1
    elif since < 0:
        l2.stalled_since[channel] = now


@jit
def _take_fill(m, now, channel, port):
    """Take the oldest line from a port that holds some, if it is there and the channel can answer; 1 if it did."""
    p = m.ports
    took = 0
    if crossbar_response_room(m, channel):
        if port_ready(m, now, port):
            _fill(m, now, channel, port_take(m, port))
            took = 1
        if p.count[port] and (p.far or port_ready(m, now, port)):
            wake(m, L2_FILL, p.ready[port, p.head[port]], channel)
    return took


@jit(inline=True)
def l2_fill_tick(m, now, channel):
    """A channel takes at most one fill from each port. What its oldest request waits for may be free then.

    It runs too when the channel may answer again, for both.
    """
    l2 = m.l2
    if m.ports.count[L2_FROM_DRAM + channel]:
        l2.fills += _take_fill(m, now, channel, L2_FROM_DRAM + channel)
    if m.ports.count[L2_FROM_ENGINE + channel]:
        l2.sparse_fills += _take_fill(m, now, channel, L2_FROM_ENGINE + channel)
    if l2.stalled_since[channel] >= 0 and not (m.ports.l2_refused >> channel) & 1:
        wake_at(m, L2_SERVE, now, channel)


@jit(inline=True)
def l2_serve_tick(m, now, channel):
    """A channel serves its oldest waiting request, if there is one and DRAM has not refused it."""
    if m.l2.i_count[channel] and not (m.ports.l2_refused >> channel) & 1:
        _try_oldest(m, now, channel)


@jit(inline=True)
def l2_take_tick(m, now, channel):
    """A channel takes one request from the crossbar, if it has room; it is served in the next cycle at the soonest."""
    l2 = m.l2
    n = l2.i_count[channel]
    if n == l2.input_limit:
        return
    port = crossbar_pick_request(m, now, channel)
    if port < 0:
        return
    q = (l2.i_head[channel] + n) & (MAX_INPUT - 1)
    x = m.xbar
    h = crossbar_pop_request(m, now, channel, port)
    line = x.request[port, h, P_LINE]
    _prefetch_row(m, channel, line)
    l2.input[channel, q, P_LINE] = line
    l2.input[channel, q, P_SOURCE] = x.request[port, h, P_SOURCE]
    l2.input[channel, q, P_MASK] = x.request[port, h, P_MASK]
    l2.input[channel, q, P_READY] = now
    l2.i_count[channel] = n + 1
    wake_at(m, L2_SERVE, now + 1, channel)
    if crossbar_offers(m, channel):
        wake_at(m, L2_TAKE, now + 1, channel)
