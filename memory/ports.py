"""The queues between L2, the compaction engine and DRAM: all that these three know of one another.

A port is a ring of (ready cycle, tag), kept in order of ready cycle, first come first within a cycle:

    L2_FROM_DRAM   + L2 channel     a DRAM read for an L2 MSHR is back          (tag = MSHR)
    L2_FROM_ENGINE + L2 channel     a compacted line is ready for an L2 MSHR    (tag = MSHR)
    ENGINE_FROM_DRAM + DRAM channel a DRAM read of the engine is back           (tag = the engine's own)

L2 channels that wait for places in a DRAM channel's queue get them round robin, before any that come then. The engine
comes after L2 in every cycle: where both want a place, L2 has it.

Sparse misses go the other way through one ring per L2 channel. Capacities exceed what can be outstanding
(L2 MSHRs, the engine's reads in flight), and the checked mode asserts that they are never exceeded.
"""

from gpusim.base.jit import Field, Machine, State, counter_fields, ctz, jit
from memory.address_map import MAX_DRAM_CHANNELS, MAX_L2_CHANNELS
from memory.counters import PORT_COUNTERS
from memory.rings import RING_FRONT
from memory.unit_classes import ENGINE, L2_FILL, L2_SERVE
from memory.waiting import (
    DRAM_READ_SLOT,
    DRAM_WRITE_SLOT,
    ENGINE_WAITER,
    SPARSE_SLOT,
    freed,
    goes_first,
    slots_freed,
    wait_for,
)
from memory.wheel import SIZE, wake, wake_at, within_far_reach

L2_FROM_DRAM = 0
L2_FROM_ENGINE = MAX_L2_CHANNELS
ENGINE_FROM_DRAM = 2 * MAX_L2_CHANNELS
N_PORTS = 2 * MAX_L2_CHANNELS + MAX_DRAM_CHANNELS
PORT_DEPTH = 1024  # a power of two
SPARSE_DEPTH = 256  # a power of two
DRAM_WRITES = DRAM_WRITE_SLOT - DRAM_READ_SLOT  # added to a DRAM channel: its write queue
assert DRAM_READ_SLOT == 0  # a DRAM channel's queue is a resource of memory.waiting
CAUSES = 64  # units whose answers are told apart within a cycle

PORTS = State(
    "ports",
    {
        "ready": Field((N_PORTS, PORT_DEPTH), "cycle from which an entry may be taken"),
        "tag": Field((N_PORTS, PORT_DEPTH), "what the entry answers"),
        "cause": Field((N_PORTS, PORT_DEPTH), "orders entries of a cycle: cycle of their cause * CAUSES + turn in it"),
        "head": Field((N_PORTS,), "position of the oldest entry"),
        "count": Field((N_PORTS,), "entries held"),
        "sparse_ready": Field((MAX_L2_CHANNELS, SPARSE_DEPTH), "cycle from which the engine may take a sparse miss"),
        "sparse_line": Field((MAX_L2_CHANNELS, SPARSE_DEPTH), "line of the miss, sparse mark included"),
        "sparse_mshr": Field((MAX_L2_CHANNELS, SPARSE_DEPTH), "L2 MSHR that waits for it"),
        "sparse_head": Field((MAX_L2_CHANNELS,), "position of the oldest sparse miss"),
        "sparse_count": Field((MAX_L2_CHANNELS,), "sparse misses held"),
        "sparse_limit": Field((), "configured depth of a channel's sparse-miss queue, at most SPARSE_DEPTH"),
        "far": Field((), "1: an entry was ready only beyond the wheel's reach, and its reader woken too early"),
        **counter_fields(PORT_COUNTERS),
    },
)


def limit_sparse_misses(m: Machine, entries: int) -> None:  # type: ignore[no-untyped-def]
    """Let an L2 channel's queue of sparse misses take at most `entries`.

    Args:
        m: Machine record.
        entries: How many.
    """
    m.ports.sparse_limit = entries


@jit(cold=True)
def _overflow(m: Machine):
    m.ports.overflows += 1


@jit(cold=True)
def _beyond_the_wheel(m: Machine):
    m.ports.far = 1


@jit(inline=True)
def deliver_in_order(m: Machine, t, port, tag, cause):
    """Put an answer into `port` as `deliver` does, decided ahead: entries of cycle `t` are ordered by `cause`."""
    p = m.ports
    n = p.count[port]
    if n >= PORT_DEPTH:
        _overflow(m)
        return
    q = (p.head[port] + n) & (PORT_DEPTH - 1)
    # several DRAM channels answer into one port, each in its own order: move past what is ready later
    for _ in range(n):
        before = (q - 1) & (PORT_DEPTH - 1)
        if p.ready[port, before] < t or (p.ready[port, before] == t and p.cause[port, before] <= cause):
            break
        p.ready[port, q] = p.ready[port, before]
        p.tag[port, q] = p.tag[port, before]
        p.cause[port, q] = p.cause[port, before]
        q = before
    p.ready[port, q] = t
    p.tag[port, q] = tag
    p.cause[port, q] = cause
    p.count[port] = n + 1
    if t - m.wheel.far_now >= SIZE:
        _beyond_the_wheel(m)
    if port >= ENGINE_FROM_DRAM:
        wake(m, ENGINE, t, 0)
    else:
        wake_at(m, L2_FILL, within_far_reach(m, t), port if port < L2_FROM_ENGINE else port - L2_FROM_ENGINE)


@jit
def deliver(m: Machine, t, port, tag):
    """Put an answer into `port`, to be taken from cycle `t` on, and wake its reader."""
    deliver_in_order(m, t, port, tag, m.wheel.far_now * CAUSES)


@jit
def port_ready(m: Machine, now, port):
    """Return 1 if the port's oldest entry may be taken now, else 0: the caller must arrange its own wake-up."""
    p = m.ports
    return 1 if p.count[port] and p.ready[port, p.head[port]] <= now else 0


@jit
def port_take(m: Machine, port):
    """Remove the port's oldest entry and return its tag."""
    p = m.ports
    h = p.head[port]
    n = p.count[port] - 1
    p.count[port] = n
    q = (h + 1) & (PORT_DEPTH - 1)
    p.head[port] = 0 if n == 0 and q >= RING_FRONT else q
    return p.tag[port, h]


@jit
def sparse_request(m: Machine, t, channel, line, mshr):
    """Hand an L2 channel's sparse miss to the engine, visible from cycle `t`; returns 0 if it waits for a slot."""
    p = m.ports
    n = p.sparse_count[channel]
    if n >= p.sparse_limit:
        wait_for(m, SPARSE_SLOT + channel, channel)
        return 0
    q = (p.sparse_head[channel] + n) & (SPARSE_DEPTH - 1)
    p.sparse_ready[channel, q] = t
    p.sparse_line[channel, q] = line
    p.sparse_mshr[channel, q] = mshr
    p.sparse_count[channel] = n + 1
    wake(m, ENGINE, t, 0)
    return 1


@jit
def sparse_taken(m: Machine, now, channel):
    """Remove the channel's oldest sparse miss; the channel may wait for its slot."""
    p = m.ports
    p.sparse_head[channel] = (p.sparse_head[channel] + 1) & (SPARSE_DEPTH - 1)
    p.sparse_count[channel] -= 1
    if freed(m, SPARSE_SLOT + channel):
        wake_at(m, L2_SERVE, now + 1, channel)


@jit(inline=True)
def dram_turn(m: Machine, now, queue, channel):
    """Return 1 if the L2 channel may ask a DRAM channel now; if not, 0, and the L2 channel is woken again.

    Channels that waited go first, round robin. queue: the DRAM channel for its reads, DRAM_WRITES more for its writes.
    """
    if goes_first(m, now, queue, channel):
        return 1
    wake_at(m, L2_SERVE, now + 1, channel)
    return 0


@jit
def anyone_waits_for_dram(m: Machine, dram_ch):
    """Return the mask of the units that wait for a slot of one of a DRAM channel's queues."""
    return m.waiting.waiters[dram_ch] | m.waiting.waiters[dram_ch + DRAM_WRITES]


@jit
def dram_space_freed(m: Machine, now, dram_ch):
    """Wake, in the next cycle, all who wait for a slot of a DRAM channel's queues, as one came free."""
    for queue in (dram_ch, dram_ch + DRAM_WRITES):
        waiters = slots_freed(m, now + 1, queue)
        if waiters >> ENGINE_WAITER:
            wake_at(m, ENGINE, now + 1, 0)
        waiters &= (1 << ENGINE_WAITER) - 1
        while waiters:
            wake_at(m, L2_SERVE, now + 1, ctz(waiters))
            waiters &= waiters - 1
