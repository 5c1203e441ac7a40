"""The crossbar between the vector and scalar L1 caches and the L2 channels: a request and a response network.

Each cache has one request port with a finite queue, each L2 channel one response port; a port moves one packet (up to
64 data bytes) a cycle. An L2 channel takes requests from the ports whose oldest packet is for it, round robin; a cache
takes responses from the channels round robin. A full queue stalls its writer.

In the ideal form a packet is there after a fixed latency whatever other packets do: no packet waits behind one for
somebody else, and ports move any number a cycle, unless the channels' shares of a given bandwidth say less. What a
cache or a channel takes in a cycle stays its own limit (one packet), the queues stay finite, and packets from one port
to one channel, and back, stay in order.

A request carries `source`: bits 0-2 kind, bits 4-11 port, bits 12 and up what the cache recognises the answer by.
"""

from typing import Literal

from pydantic import field_validator

from gpusim.jit import Field, State, ctz, jit
from gpusim.spec import Spec, param
from isa.trace import LINE_BYTES
from memory.address_map import MAX_L2_CHANNELS, l2_channel
from memory.rings import RING_FRONT
from memory.timeline import SENT, TAKEN, record
from memory.wheel import CU_MEMORY, L2, SCALAR, wake

MAX_CUS = 64
MAX_ARRAYS = 64
FIRST_SCALAR_PORT = MAX_CUS  # ports of the CUs' vector L1 come first, then those of the arrays' scalar caches
MAX_PORTS = MAX_CUS + MAX_ARRAYS
PORT_WORDS = MAX_PORTS // 32
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
MICRO = 1_000_000


class CrossbarSpec(Spec):
    """Interconnect between CUs and L2 channels."""

    model: Literal["cycle", "ideal"] = param(
        "cycle", "cycle: ports and queues; ideal: fixed latency and a given bandwidth", "cycle-level by default"
    )
    request_latency_cycles: int = param(
        35,
        "cycles a request spends between an L1 and an L2 channel",
        "assumed: its share of the 188 cycles of a load that hits L2",
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
    ideal_latency_cycles: int = param(
        35, "ideal model: cycles of a request, and of a response", "assumed, as in the cycle model", ge=1, le=150
    )
    ideal_bytes_per_cycle: float = param(
        0.0,
        "ideal model: bytes all channels take in a cycle, and as many that they send, 64 a packet; 0: unlimited",
        "assumed",
        ge=0,
        le=1e6,
    )

    @field_validator("ideal_bytes_per_cycle")
    @classmethod
    def _not_next_to_nothing(cls, value: float) -> float:
        if 0 < value < 0.1:
            raise ValueError("allowed are 0 (unlimited) and at least 0.1 bytes a cycle")
        return value

    @property
    def request_cycles(self) -> int:
        """Latency of a request in the chosen model."""
        return self.ideal_latency_cycles if self.model == "ideal" else self.request_latency_cycles

    @property
    def response_cycles(self) -> int:
        """Latency of a response in the chosen model."""
        return self.ideal_latency_cycles if self.model == "ideal" else self.response_latency_cycles


CROSSBAR = State(
    "xbar",
    {
        "request_latency": Field((), "cycles from a CU's port to an L2 channel"),
        "response_latency": Field((), "cycles from an L2 channel's port to a CU"),
        "request_limit": Field((), "packets a CU's request queue and the way behind it may hold"),
        "response_limit": Field(
            (), "answers under way from which a channel stalls: its pipeline, its queue and the way"
        ),
        "request": Field((MAX_PORTS, REQUEST_DEPTH, 4), "queued requests of a port, by P_LINE ... P_READY"),
        "o_head": Field((MAX_PORTS,), "position of the oldest request"),
        "o_count": Field((MAX_PORTS,), "requests held"),
        "waiting": Field((MAX_L2_CHANNELS, PORT_WORDS), "ports whose oldest request is for the channel, 32 a word"),
        "turn": Field((MAX_L2_CHANNELS,), "port that the channel looks at first"),
        "response": Field((MAX_L2_CHANNELS, RESPONSE_DEPTH, 4), "queued responses of a channel: P_SOURCE and P_READY"),
        "r_head": Field((MAX_L2_CHANNELS,), "position of the oldest response"),
        "r_count": Field((MAX_L2_CHANNELS,), "responses held"),
        "r_free": Field((MAX_L2_CHANNELS,), "cycle in which the channel's response port is free again"),
        "returning": Field((MAX_PORTS,), "channels whose oldest response is for the port"),
        "port_turn": Field((MAX_PORTS,), "channel that the port looks at first"),
        "requests": Field((), "packets sent by CUs"),
        "responses": Field((), "packets taken by CUs"),
        # ideal model: a list of requests for each port and channel, one of responses for each channel and port
        "ideal": Field((), "1: fixed latency and bandwidth"),
        "interval": Field((), "a channel's time for a packet in 1e-6 cycles, 0: none"),
        "o_free": Field((MAX_L2_CHANNELS,), "when the channel may take the next packet, in 1e-6 cycles"),
        "o_next": Field((MAX_PORTS, REQUEST_DEPTH), "request behind one in its list, or next free place; -1 none"),
        "o_place": Field((MAX_PORTS,), "first free place of a port"),
        "o_first": Field((MAX_PORTS, MAX_L2_CHANNELS), "oldest request of the list, -1 none"),
        "o_last": Field((MAX_PORTS, MAX_L2_CHANNELS), "youngest"),
        "r_next": Field((MAX_L2_CHANNELS, RESPONSE_DEPTH), "response behind one in its list, or next free place"),
        "r_place": Field((MAX_L2_CHANNELS,), "first free place of a channel"),
        "r_first": Field((MAX_L2_CHANNELS, MAX_PORTS), "oldest response of the list, -1 none"),
        "r_last": Field((MAX_L2_CHANNELS, MAX_PORTS), "youngest"),
    },
)


def configure_crossbar(m, spec: CrossbarSpec, l2_channels: int, l2_latency_cycles: int) -> None:  # type: ignore[no-untyped-def]
    """Set up the crossbar of the machine record, empty."""
    x = m.xbar
    x.request_latency, x.response_latency = spec.request_cycles, spec.response_cycles
    # a packet on its way (one a cycle, for the latency) is not in the queue
    x.request_limit = spec.request_queue_packets + spec.request_cycles
    x.response_limit = spec.response_queue_packets + l2_latency_cycles + spec.response_cycles
    x.ideal = int(spec.model == "ideal")
    if x.ideal:
        if spec.ideal_bytes_per_cycle:
            x.interval = max(1, round(MICRO * LINE_BYTES * l2_channels / spec.ideal_bytes_per_cycle))
        for places in (x.o_next, x.r_next):
            places[:, :-1] = range(1, places.shape[1])
            places[:, -1] = -1
        x.o_first[...] = -1
        x.r_first[...] = -1


@jit
def _wake_port(m, t, port):
    """Run the unit behind a port in cycle `t`."""
    if port < FIRST_SCALAR_PORT:
        wake(m, CU_MEMORY, t, port)
    else:
        wake(m, SCALAR, t, port - FIRST_SCALAR_PORT)


@jit
def _announce_request(m, now, port):
    x = m.xbar
    h = x.o_head[port]
    channel = l2_channel(m, x.request[port, h, P_LINE])
    x.waiting[channel, port >> 5] |= 1 << (port & 31)
    wake(m, L2, x.request[port, h, P_READY], channel)


@jit
def crossbar_has_room(m, port):
    """1 if the port may send a packet; if not, the unit behind it is woken when it may."""
    return 1 if m.xbar.o_count[port] < m.xbar.request_limit else 0


@jit
def crossbar_send(m, now, port, line, source, mask):
    """Send a request packet; only after `crossbar_has_room`."""
    x = m.xbar
    n = x.o_count[port]
    q = x.o_place[port] if x.ideal else (x.o_head[port] + n) & (REQUEST_DEPTH - 1)
    x.request[port, q, P_LINE] = line
    x.request[port, q, P_SOURCE] = source
    x.request[port, q, P_MASK] = mask
    x.request[port, q, P_READY] = now + x.request_latency
    x.o_count[port] = n + 1
    x.requests += 1
    if m.timeline.on:
        record(m, SENT, port, source, line)
    if x.ideal:
        channel = l2_channel(m, line)
        x.o_place[port] = x.o_next[port, q]
        x.o_next[port, q] = -1
        if x.o_first[port, channel] < 0:
            x.o_first[port, channel] = q
            x.waiting[channel, port >> 5] |= 1 << (port & 31)
            wake(m, L2, x.request[port, q, P_READY], channel)
        else:
            x.o_next[port, x.o_last[port, channel]] = q
        x.o_last[port, channel] = q
    elif n == 0:
        _announce_request(m, now, port)


@jit
def crossbar_pick_request(m, now, channel):
    """The port whose oldest packet the channel takes this cycle, round robin, or -1."""
    x = m.xbar
    if x.ideal and x.o_free[channel] >= (now + 1) * MICRO:
        wake(m, L2, x.o_free[channel] // MICRO, channel)
        return -1
    turn = x.turn[channel]
    first = turn >> 5
    for step in range(PORT_WORDS + 1):
        word = (first + step) & (PORT_WORDS - 1)
        bits = x.waiting[channel, word]
        if step == 0:
            bits &= ~((1 << (turn & 31)) - 1)
        elif step == PORT_WORDS:
            bits &= (1 << (turn & 31)) - 1
        while bits:
            port = word * 32 + ctz(bits)
            bits &= bits - 1
            h = x.o_first[port, channel] if x.ideal else x.o_head[port]
            ready = x.request[port, h, P_READY]
            if ready <= now:
                return port
            wake(m, L2, ready, channel)
    return -1


@jit
def crossbar_pop_request(m, now, channel, port):
    """Remove the packet found by `crossbar_pick_request`; its fields stay readable at the returned position."""
    x = m.xbar
    n = x.o_count[port]
    x.o_count[port] = n - 1
    x.turn[channel] = (port + 1) & (MAX_PORTS - 1)
    h = x.o_first[port, channel] if x.ideal else x.o_head[port]
    if x.ideal:
        x.o_free[channel] = max(x.o_free[channel], now * MICRO) + x.interval
        q = x.o_next[port, h]
        x.o_first[port, channel] = q
        x.o_next[port, h] = x.o_place[port]
        x.o_place[port] = h
        if q < 0:
            x.waiting[channel, port >> 5] &= ~(1 << (port & 31))
        else:
            wake(m, L2, max(x.request[port, q, P_READY], now + 1), channel)
    else:
        x.waiting[channel, port >> 5] &= ~(1 << (port & 31))
        q = (h + 1) & (REQUEST_DEPTH - 1)
        x.o_head[port] = q
        if n > 1:
            if x.request[port, q, P_READY] <= now:
                x.request[port, q, P_READY] = now + 1  # one packet a cycle leaves the port
            _announce_request(m, now, port)
        elif q >= RING_FRONT:
            x.o_head[port] = 0
    if n == x.request_limit:
        _wake_port(m, now + 1, port)
    return h


@jit
def _announce_response(m, now, channel):
    x = m.xbar
    h = x.r_head[channel]
    port = (x.response[channel, h, P_SOURCE] >> SOURCE_CU_SHIFT) & 255
    x.returning[port] |= 1 << channel
    _wake_port(m, x.response[channel, h, P_READY], port)


@jit
def crossbar_response_room(m, channel):
    """1 if the channel may start answering; if not, it is woken when it may."""
    return 1 if m.xbar.r_count[channel] < m.xbar.response_limit else 0


@jit
def crossbar_respond(m, now, t, channel, source):
    """Queue an answer that leaves the channel at `t` or when its port is free; returns the cycle it leaves."""
    x = m.xbar
    n = x.r_count[channel]
    x.r_count[channel] = n + 1
    if x.ideal:
        leaves = t
        if x.interval:
            start = max(t * MICRO, x.r_free[channel])
            x.r_free[channel] = start + x.interval
            leaves = start // MICRO
        q = x.r_place[channel]
    else:
        leaves = max(t, x.r_free[channel])
        x.r_free[channel] = leaves + 1
        q = (x.r_head[channel] + n) & (RESPONSE_DEPTH - 1)
    x.response[channel, q, P_SOURCE] = source
    x.response[channel, q, P_READY] = leaves + x.response_latency
    if x.ideal:
        port = (source >> SOURCE_CU_SHIFT) & 255
        x.r_place[channel] = x.r_next[channel, q]
        x.r_next[channel, q] = -1
        if x.r_first[channel, port] < 0:
            x.r_first[channel, port] = q
            x.returning[port] |= 1 << channel
            _wake_port(m, leaves + x.response_latency, port)
        else:
            x.r_next[channel, x.r_last[channel, port]] = q
        x.r_last[channel, port] = q
    elif n == 0:
        _announce_response(m, now, channel)
    return leaves


@jit
def crossbar_take_response(m, now, port):
    """Source of the response the port takes this cycle, round robin over channels, or -1."""
    x = m.xbar
    bits = x.returning[port]
    if bits == 0:
        return -1
    turn = x.port_turn[port]
    low = (1 << turn) - 1
    taken = -1
    for part in range(2):
        some = bits & ~low if part == 0 else bits & low
        while some:
            channel = ctz(some)
            some &= some - 1
            h = x.r_first[channel, port] if x.ideal else x.r_head[channel]
            ready = x.response[channel, h, P_READY]
            if ready > now:
                if x.ideal:
                    _wake_port(m, ready, port)  # a given bandwidth may put it out of the wheel's reach
                continue  # its announcement wakes the port
            if taken >= 0:
                _wake_port(m, now + 1, port)
                return taken
            taken = x.response[channel, h, P_SOURCE]
            n = x.r_count[channel]
            x.r_count[channel] = n - 1
            x.port_turn[port] = channel + 1 if channel + 1 < MAX_L2_CHANNELS else 0
            x.responses += 1
            if m.timeline.on:
                record(m, TAKEN, port | channel << 8, taken, 0)
            if x.ideal:
                q = x.r_next[channel, h]
                x.r_first[channel, port] = q
                x.r_next[channel, h] = x.r_place[channel]
                x.r_place[channel] = h
                if q < 0:
                    x.returning[port] &= ~(1 << channel)
                else:
                    _wake_port(m, max(x.response[channel, q, P_READY], now + 1), port)
            else:
                x.returning[port] &= ~(1 << channel)
                q = (h + 1) & (RESPONSE_DEPTH - 1)
                x.r_head[channel] = q
                if n > 1:
                    if x.response[channel, q, P_READY] <= now:
                        x.response[channel, q, P_READY] = now + 1
                    _announce_response(m, now, channel)
                elif q >= RING_FRONT:
                    x.r_head[channel] = 0
            if n == x.response_limit:
                wake(m, L2, now, channel)
    return taken
