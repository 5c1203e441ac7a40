"""The L2 cache: channels interleaved by address, write-back, allocation on write with byte masks, MSHRs, atomics.

Each channel takes one request a cycle from the crossbar. A read miss goes to DRAM, or, for a sparse line, to the
compaction engine; both answer through the ports. A write miss needs no fill: the line keeps a mask of the bytes
it holds, and a read of a partly held line fetches the rest.
"""

from gpusim.jit import Field, State, jit
from gpusim.spec import Spec, param
from isa.trace import LINE_SPARSE
from memory.address_map import MAX_L2_CHANNELS, dram_channel, l2_local_line
from memory.crossbar import (
    KIND_MASK,
    P_LINE,
    P_MASK,
    P_READY,
    P_SOURCE,
    READ,
    WRITE,
    crossbar_pick_request,
    crossbar_pop_request,
    crossbar_respond,
    crossbar_response_room,
)
from memory.dram import dram_read, dram_write
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
from memory.timeline import ANSWERED, SERVED, record
from memory.wheel import L2 as L2_CLASS
from memory.wheel import wake

MAX_LINES = 262144  # 16 MiB in all
MAX_MSHRS = 256
MAX_TARGETS = 4096
MAX_INPUT = 64
ALL_BYTES = -1

# words of a way: what every look-up in its set reads, side by side
W_TAG = 0  # line held, sparse mark included; -1 none
W_LRU = 1  # cycle of last use; FILLING added while the way is being filled
FILLING = 1 << 60
# words of a way that only its own accesses read
W_PENDING = 0  # MSHR + 1 that fills it, 0 if none
W_HELD = 1  # mask of the bytes held, -1 all
W_DIRTY = 2  # mask of the bytes to write back

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


L2 = State(
    "l2",
    {
        "channels": Field((), "channels in use"),
        "sets": Field((), "sets a channel, a power of two"),
        "ways": Field((), "ways"),
        "latency": Field((), "cycles from look-up to answer"),
        "fill_latency": Field((), "cycles from fill to answer"),
        "mshrs": Field((), "MSHRs a channel"),
        "targets": Field((), "MSHR targets a channel"),
        "input_limit": Field((), "requests waiting at a channel at most"),
        "way": Field((MAX_LINES, 2), "[(channel * sets + set) * ways + way]: W_TAG, W_LRU"),
        "content": Field((MAX_LINES, 4), "of the same way: W_PENDING, W_HELD, W_DIRTY"),
        "m_free": Field((MAX_L2_CHANNELS, MAX_MSHRS), "stack of free MSHRs"),
        "m_free_count": Field((MAX_L2_CHANNELS,), "free MSHRs"),
        "m_where": Field((MAX_L2_CHANNELS, MAX_MSHRS), "way that the MSHR fills"),
        "m_first": Field((MAX_L2_CHANNELS, MAX_MSHRS), "first target: the oldest"),
        "m_last": Field((MAX_L2_CHANNELS, MAX_MSHRS), "last target"),
        "target": Field((MAX_L2_CHANNELS, MAX_TARGETS, 4), "requests waiting for a line, by T_NEXT ... T_MASK"),
        "t_free": Field((MAX_L2_CHANNELS,), "first free target, -1 none"),
        "input": Field(
            (MAX_L2_CHANNELS, MAX_INPUT, 4), "waiting requests: P_LINE ... P_MASK, and P_READY: cycle it came"
        ),
        "i_head": Field((MAX_L2_CHANNELS,), "oldest waiting request"),
        "i_count": Field((MAX_L2_CHANNELS,), "waiting requests"),
        "reads": Field((), "read requests"),
        "writes": Field((), "write requests"),
        "atomics": Field((), "atomic requests"),
        "hits": Field((), "requests that found their line"),
        "misses": Field((), "requests that fetch a line, and writes that allocate one without a fetch"),
        "merges": Field((), "requests that joined an outstanding fetch"),
        "write_allocations": Field((), "of these, the writes"),
        "sparse_misses": Field((), "of these, sent to the compaction engine"),
        "write_backs": Field((), "dirty lines sent to DRAM"),
        "fills": Field((), "lines fetched from DRAM"),
        "sparse_fills": Field((), "lines from the compaction engine"),
        "read_latency": Field(
            (), "sum over answered reads of cycles from arrival at the channel to the answer leaving"
        ),
        "reads_answered": Field((), "reads answered"),
        "stall_cycles": Field((MAX_L2_CHANNELS,), "cycles in which the oldest request could not proceed"),
        "stalled_since": Field((MAX_L2_CHANNELS,), "cycle from which it waits, -1 if it does not"),
    },
)


def configure_l2(m, spec: L2Spec, engine_on: bool) -> None:  # type: ignore[no-untyped-def]
    """Size the L2 in the machine record and empty it; the engine takes half of the sets (Dong 2020, section 6.5)."""
    l2 = m.l2
    lines = spec.size_kib * 1024 // 64 // spec.channels
    l2.channels, l2.ways = spec.channels, spec.ways
    l2.sets = lines // spec.ways // (2 if engine_on else 1)
    l2.latency, l2.fill_latency = spec.latency_cycles, spec.fill_latency_cycles
    l2.mshrs, l2.targets = spec.mshrs_per_channel, spec.mshr_targets_per_channel
    l2.input_limit = spec.input_queue_packets
    channels = slice(0, spec.channels)
    l2.way[: spec.channels * lines, W_TAG] = -1
    l2.stalled_since[channels] = -1
    l2.m_free_count[channels] = l2.mshrs
    l2.m_free[channels, : l2.mshrs] = range(int(l2.mshrs) - 1, -1, -1)
    l2.target[channels, : l2.targets, T_NEXT] = range(1, int(l2.targets) + 1)
    l2.target[channels, l2.targets - 1, T_NEXT] = -1


@jit
def _answer(m, now, t, channel, source, since):
    leaves = crossbar_respond(m, now, t, channel, source)
    if m.timeline.on:
        record(m, ANSWERED, channel | since << 8, source, leaves)
    if source & KIND_MASK == READ:
        l2 = m.l2
        spent = leaves - since
        l2.read_latency += spent
        l2.reads_answered += 1


@jit
def _fill(m, now, channel, mshr):
    """The line of an MSHR is here: serve its targets, oldest first."""
    l2 = m.l2
    at = l2.m_where[channel, mshr]
    l2.way[at, W_LRU] -= FILLING
    l2.content[at, W_PENDING] = 0
    l2.content[at, W_HELD] = ALL_BYTES
    l2.m_free[channel, l2.m_free_count[channel]] = mshr
    l2.m_free_count[channel] += 1
    t = l2.m_first[channel, mshr]
    while t >= 0:
        source = l2.target[channel, t, T_SOURCE]
        if source & KIND_MASK != READ:
            l2.content[at, W_DIRTY] |= l2.target[channel, t, T_MASK]
        _answer(m, now, now + l2.fill_latency, channel, source, l2.target[channel, t, T_SINCE])
        follow = l2.target[channel, t, T_NEXT]
        l2.target[channel, t, T_NEXT] = l2.t_free[channel]
        l2.t_free[channel] = t
        t = follow


@jit
def _add_target(m, channel, mshr, source, since, mask):
    l2 = m.l2
    t = l2.t_free[channel]
    l2.t_free[channel] = l2.target[channel, t, T_NEXT]
    l2.target[channel, t, T_NEXT] = -1
    l2.target[channel, t, T_SOURCE] = source
    l2.target[channel, t, T_SINCE] = since
    l2.target[channel, t, T_MASK] = mask
    if l2.m_first[channel, mshr] < 0:
        l2.m_first[channel, mshr] = t
    else:
        l2.target[channel, l2.m_last[channel, mshr], T_NEXT] = t
    l2.m_last[channel, mshr] = t


@jit
def _evict(m, now, channel, at):
    """Write a dirty way back; 0 if that must wait for room in DRAM's queue or for its turn."""
    l2 = m.l2
    mask = l2.content[at, W_DIRTY]
    line = l2.way[at, W_TAG]
    queue = dram_channel(m, line) + DRAM_WRITES
    if not dram_turn(m, now, queue, channel):
        return 0
    if not dram_write(m, now, line, mask):
        wait_for_dram(m, queue, channel)
        return 0
    dram_space_taken(m, now, queue, channel)
    l2.content[at, W_DIRTY] = 0
    l2.write_backs += 1
    return 1


@jit
def _fetch(m, now, channel, line, mshr):
    """Ask DRAM or the engine for a line; 0 if it has no room."""
    if line & LINE_SPARSE:
        if not sparse_request(m, now + 1, channel, line, mshr):
            return 0
        m.l2.sparse_misses += 1
        return 1
    queue = dram_channel(m, line)
    if not dram_turn(m, now, queue, channel):
        return 0
    if not dram_read(m, now, line, L2_FROM_DRAM + channel, mshr):
        wait_for_dram(m, queue, channel)
        return 0
    dram_space_taken(m, now, queue, channel)
    return 1


@jit
def _l2_access(m, now, channel, line, source, mask, since):
    """Serve one request: HIT, MERGED, MISSED, or STALLED with nothing changed but write-backs begun."""
    l2 = m.l2
    kind = source & KIND_MASK
    base = (channel * l2.sets + (l2_local_line(m, line) & (l2.sets - 1))) * l2.ways
    found = -1
    victim = -1
    oldest = FILLING
    for at in range(base, base + l2.ways):
        if l2.way[at, W_TAG] == line:
            found = at
            break
        used = l2.way[at, W_LRU]
        if used < oldest:
            oldest = used
            victim = at
    if found >= 0:
        mshr = l2.content[found, W_PENDING] - 1
        used = now if mshr < 0 else now + FILLING
        if kind == WRITE:
            l2.way[found, W_LRU] = used
            l2.content[found, W_HELD] |= mask
            l2.content[found, W_DIRTY] |= mask
            _answer(m, now, now + l2.latency, channel, source, since)
            return HIT if mshr < 0 else MERGED
        if mshr >= 0:
            if l2.t_free[channel] < 0:
                return STALLED
            l2.way[found, W_LRU] = used
            _add_target(m, channel, mshr, source, since, mask)
            return MERGED
        if l2.content[found, W_HELD] == ALL_BYTES:
            l2.way[found, W_LRU] = now
            if kind != READ:
                l2.content[found, W_DIRTY] |= mask
            _answer(m, now, now + l2.latency, channel, source, since)
            return HIT
        victim = found  # partly held: fetch the rest into the same way, keeping its dirty bytes
    if victim < 0:
        return STALLED
    if kind == WRITE:
        if l2.content[victim, W_DIRTY] and not _evict(m, now, channel, victim):
            return STALLED
        l2.way[victim, W_TAG] = line
        l2.way[victim, W_LRU] = now
        l2.content[victim, W_HELD] = mask
        l2.content[victim, W_DIRTY] = mask
        l2.write_allocations += 1
        _answer(m, now, now + l2.latency, channel, source, since)
        return MISSED
    n = l2.m_free_count[channel]
    if n == 0 or l2.t_free[channel] < 0:
        return STALLED
    if found < 0 and l2.content[victim, W_DIRTY] and not _evict(m, now, channel, victim):
        return STALLED
    mshr = l2.m_free[channel, n - 1]
    if not _fetch(m, now, channel, line, mshr):
        return STALLED
    l2.m_free_count[channel] = n - 1
    l2.m_where[channel, mshr] = victim
    l2.m_first[channel, mshr] = -1
    l2.way[victim, W_TAG] = line
    l2.way[victim, W_LRU] = now + FILLING
    l2.content[victim, W_PENDING] = mshr + 1
    if found < 0:
        l2.content[victim, W_HELD] = 0
    _add_target(m, channel, mshr, source, since, mask)
    return MISSED


@jit
def _serve_oldest(m, now, channel):
    """Serve the channel's oldest waiting request, if its port has room and nothing stalls it."""
    l2 = m.l2
    h = l2.i_head[channel]
    line = l2.input[channel, h, P_LINE]
    source = l2.input[channel, h, P_SOURCE]
    result = STALLED
    if crossbar_response_room(m, channel):
        result = _l2_access(m, now, channel, line, source, l2.input[channel, h, P_MASK], l2.input[channel, h, P_READY])
    if result == STALLED:
        if l2.stalled_since[channel] < 0:
            l2.stalled_since[channel] = now
        return
    if l2.stalled_since[channel] >= 0:
        l2.stall_cycles[channel] += now - l2.stalled_since[channel]
        l2.stalled_since[channel] = -1
    if m.timeline.on:
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
        wake(m, L2_CLASS, now + 1, channel)


@jit
def l2_tick(m, now, channel):
    """One cycle of a channel: at most one fill from each port, one request served, one taken from the crossbar."""
    l2 = m.l2
    for port in (L2_FROM_DRAM + channel, L2_FROM_ENGINE + channel):
        if m.ports.count[port] and crossbar_response_room(m, channel):
            if port_ready(m, now, port):
                _fill(m, now, channel, port_take(m, port))
                m.ports.l2_refused &= ~(1 << channel)  # another way may be the victim now
                if port == L2_FROM_DRAM + channel:
                    l2.fills += 1
                else:
                    l2.sparse_fills += 1
            if m.ports.count[port] and (m.ports.far or port_ready(m, now, port)):
                wake(m, L2_CLASS, m.ports.ready[port, m.ports.head[port]], channel)
    if l2.i_count[channel] and not (m.ports.l2_refused >> channel) & 1:
        _serve_oldest(m, now, channel)
    n = l2.i_count[channel]
    if n < l2.input_limit:
        cu = crossbar_pick_request(m, now, channel)
        if cu >= 0:
            q = (l2.i_head[channel] + n) & (MAX_INPUT - 1)
            x = m.xbar
            h = crossbar_pop_request(m, now, channel, cu)
            l2.input[channel, q, P_LINE] = x.request[cu, h, P_LINE]
            l2.input[channel, q, P_SOURCE] = x.request[cu, h, P_SOURCE]
            l2.input[channel, q, P_MASK] = x.request[cu, h, P_MASK]
            l2.input[channel, q, P_READY] = now
            l2.i_count[channel] = n + 1
            wake(m, L2_CLASS, now + 1, channel)
