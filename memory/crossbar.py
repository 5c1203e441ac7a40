"""The crossbar between the CUs' L1 caches and the L2 channels: one request and one response network.

Each CU has one request port with a finite queue, each L2 channel one response port; a port moves one packet
(up to 64 data bytes) a cycle. An L2 channel takes requests from the CUs whose oldest packet is for it, round
robin; a CU takes responses from the channels round robin. A full queue stalls its writer.

A request carries `source`: bits 0-2 kind, bits 4-11 CU, bits 12 and up what the L1 recognises the answer by.
"""

from gpusim.jit import Field, State, ctz, jit
from gpusim.spec import Spec, param
from memory.address_map import MAX_L2_CHANNELS, l2_channel
from memory.wheel import CU_MEMORY, L2, wake

MAX_CUS = 64
REQUEST_DEPTH = 256
RESPONSE_DEPTH = 1024

READ, WRITE, ATOMIC, ATOMIC_RETURN = range(4)
KIND_MASK = 7

# words of a packet, side by side because they are used together
P_LINE = 0  # line, sparse mark included
P_SOURCE = 1  # who asks, and for what
P_MASK = 2  # bytes written
P_READY = 3  # cycle from which the packet may be taken
SOURCE_CU_SHIFT = 4
SOURCE_ID_SHIFT = 12


class CrossbarSpec(Spec):
    """Interconnect between CUs and L2 channels."""

    request_latency_cycles: int = param(
        35,
        "cycles a request spends between an L1 and an L2 channel",
        "assumed: its share of the about 190 cycles that a load hitting L2 takes on GCN",
        ge=1,
        le=150,
    )
    response_latency_cycles: int = param(
        35, "cycles a response spends between an L2 channel and a CU", "assumed, as the request side", ge=1, le=300
    )
    request_queue_packets: int = param(
        32, "packets a CU's request port holds", "assumed: half of the L1's misses in flight", ge=1, le=100
    )
    response_queue_packets: int = param(
        32, "packets an L2 channel's response port holds before the channel stalls", "assumed", ge=1, le=256
    )


CROSSBAR = State(
    "xbar",
    {
        "request_latency": Field((), "cycles from a CU's port to an L2 channel"),
        "response_latency": Field((), "cycles from an L2 channel's port to a CU"),
        "request_limit": Field((), "packets a CU's request queue and the way behind it may hold"),
        "response_limit": Field(
            (), "answers under way from which a channel stalls: its pipeline, its queue and the way"
        ),
        "request": Field((MAX_CUS, REQUEST_DEPTH, 4), "queued requests of a CU, by P_LINE ... P_READY"),
        "o_head": Field((MAX_CUS,), "position of the oldest request"),
        "o_count": Field((MAX_CUS,), "requests held"),
        "waiting": Field((MAX_L2_CHANNELS, 2), "CUs whose oldest request is for the channel, 32 a word"),
        "turn": Field((MAX_L2_CHANNELS,), "CU that the channel looks at first"),
        "response": Field((MAX_L2_CHANNELS, RESPONSE_DEPTH, 4), "queued responses of a channel: P_SOURCE and P_READY"),
        "r_head": Field((MAX_L2_CHANNELS,), "position of the oldest response"),
        "r_count": Field((MAX_L2_CHANNELS,), "responses held"),
        "r_free": Field((MAX_L2_CHANNELS,), "cycle in which the channel's response port is free again"),
        "returning": Field((MAX_CUS,), "channels whose oldest response is for the CU"),
        "cu_turn": Field((MAX_CUS,), "channel that the CU looks at first"),
        "requests": Field((), "packets sent by CUs"),
        "responses": Field((), "packets taken by CUs"),
    },
)


@jit
def _announce_request(m, now, cu):
    x = m.xbar
    h = x.o_head[cu]
    channel = l2_channel(m, x.request[cu, h, P_LINE])
    x.waiting[channel, cu >> 5] |= 1 << (cu & 31)
    wake(m, L2, x.request[cu, h, P_READY], channel)


@jit
def crossbar_has_room(m, cu):
    """1 if the CU may send a packet; if not, the CU's memory side is woken when it may."""
    return 1 if m.xbar.o_count[cu] < m.xbar.request_limit else 0


@jit
def crossbar_send(m, now, cu, line, source, mask):
    """Send a request packet; only after `crossbar_has_room`."""
    x = m.xbar
    n = x.o_count[cu]
    q = (x.o_head[cu] + n) & (REQUEST_DEPTH - 1)
    x.request[cu, q, P_LINE] = line
    x.request[cu, q, P_SOURCE] = source
    x.request[cu, q, P_MASK] = mask
    x.request[cu, q, P_READY] = now + x.request_latency
    x.o_count[cu] = n + 1
    x.requests += 1
    if n == 0:
        _announce_request(m, now, cu)


@jit
def crossbar_pick_request(m, now, channel):
    """The CU whose oldest packet the channel takes this cycle, round robin, or -1."""
    x = m.xbar
    turn = x.turn[channel]
    first = turn >> 5
    for step in range(3):
        word = (first + step) & 1
        bits = x.waiting[channel, word]
        if step == 0:
            bits &= ~((1 << (turn & 31)) - 1)
        elif step == 2:
            bits &= (1 << (turn & 31)) - 1
        while bits:
            cu = word * 32 + ctz(bits)
            bits &= bits - 1
            ready = x.request[cu, x.o_head[cu], P_READY]
            if ready <= now:
                return cu
            wake(m, L2, ready, channel)
    return -1


@jit
def crossbar_pop_request(m, now, channel, cu):
    """Remove the packet found by `crossbar_pick_request`; its fields stay readable at the returned position."""
    x = m.xbar
    h = x.o_head[cu]
    n = x.o_count[cu]
    x.waiting[channel, cu >> 5] &= ~(1 << (cu & 31))
    x.o_head[cu] = (h + 1) & (REQUEST_DEPTH - 1)
    x.o_count[cu] = n - 1
    x.turn[channel] = (cu + 1) & (MAX_CUS - 1)
    if n > 1:
        q = x.o_head[cu]
        if x.request[cu, q, P_READY] <= now:
            x.request[cu, q, P_READY] = now + 1  # one packet a cycle leaves the port
        _announce_request(m, now, cu)
    if n == x.request_limit:
        wake(m, CU_MEMORY, now + 1, cu)
    return h


@jit
def _announce_response(m, now, channel):
    x = m.xbar
    h = x.r_head[channel]
    cu = (x.response[channel, h, P_SOURCE] >> SOURCE_CU_SHIFT) & 255
    x.returning[cu] |= 1 << channel
    wake(m, CU_MEMORY, x.response[channel, h, P_READY], cu)


@jit
def crossbar_response_room(m, channel):
    """1 if the channel may start answering; if not, it is woken when it may."""
    return 1 if m.xbar.r_count[channel] < m.xbar.response_limit else 0


@jit
def crossbar_respond(m, now, t, channel, source):
    """Queue an answer that leaves the channel at `t` or when its port is free; returns the cycle it leaves."""
    x = m.xbar
    leaves = max(t, x.r_free[channel])
    x.r_free[channel] = leaves + 1
    n = x.r_count[channel]
    q = (x.r_head[channel] + n) & (RESPONSE_DEPTH - 1)
    x.response[channel, q, P_SOURCE] = source
    x.response[channel, q, P_READY] = leaves + x.response_latency
    x.r_count[channel] = n + 1
    if n == 0:
        _announce_response(m, now, channel)
    return leaves


@jit
def crossbar_take_response(m, now, cu):
    """Source of the response the CU takes this cycle, round robin over channels, or -1."""
    x = m.xbar
    bits = x.returning[cu]
    if bits == 0:
        return -1
    turn = x.cu_turn[cu]
    low = (1 << turn) - 1
    taken = -1
    for part in range(2):
        some = bits & ~low if part == 0 else bits & low
        while some:
            channel = ctz(some)
            some &= some - 1
            h = x.r_head[channel]
            ready = x.response[channel, h, P_READY]
            if ready > now:
                wake(m, CU_MEMORY, ready, cu)
            elif taken >= 0:
                wake(m, CU_MEMORY, now + 1, cu)
                return taken
            else:
                taken = x.response[channel, h, P_SOURCE]
                n = x.r_count[channel]
                x.returning[cu] &= ~(1 << channel)
                x.r_head[channel] = (h + 1) & (RESPONSE_DEPTH - 1)
                x.r_count[channel] = n - 1
                x.cu_turn[cu] = channel + 1 if channel + 1 < MAX_L2_CHANNELS else 0
                x.responses += 1
                if n > 1:
                    q = x.r_head[channel]
                    if x.response[channel, q, P_READY] <= now:
                        x.response[channel, q, P_READY] = now + 1
                    _announce_response(m, now, channel)
                if n == x.response_limit:
                    wake(m, L2, now, channel)
    return taken
