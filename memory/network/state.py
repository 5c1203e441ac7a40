"""What the crossbar is configured by and what it holds; the words of its packets.

A request carries `source`: bits 0-2 kind, bits 4-11 port, bits 12 and up what the cache recognises the answer by.
"""

from typing import Any, Literal

import numpy as np
from pydantic import field_validator

from gpusim.base.jit import Field, State, counter_fields, jit
from gpusim.base.spec import Spec, param
from isa.trace import LINE_BYTES
from memory.address_map import MAX_L2_CHANNELS
from memory.network.counters import CROSSBAR_COUNTERS
from memory.unit_classes import CU_LOOK_UP, CU_RESPONSE, SCALAR
from memory.wheel import wake_at

MAX_CUS = 128
MAX_ARRAYS = 64
FIRST_SCALAR_PORT = MAX_CUS  # ports of the CUs' vector L1 come first, then those of the arrays' scalar caches
MAX_PORTS = MAX_CUS + MAX_ARRAYS
PORT_WORDS = MAX_PORTS // 64
REQUEST_DEPTH = 256  # a power of two
RESPONSE_DEPTH = 1024  # a power of two

READ, WRITE, ATOMIC, ATOMIC_RETURN = range(4)
KIND_MASK = 7

# words of a request, side by side because they are used together
P_LINE = 0  # line, sparse mark included
P_SOURCE = 1  # who asks, and for what
P_MASK = 2  # bytes written
P_READY = 3  # cycle in which it is at the channel
# words of a response
R_SOURCE = 0  # P_SOURCE of what it answers
R_READY = 1  # cycle in which it is at the cache
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
        "assumed: its share of the 204 cycles of a load that hits L2",
        ge=1,
        le=150,
    )
    response_latency_cycles: int = param(
        35, "cycles a response spends between an L2 channel and a CU", "assumed, as the request side", ge=1, le=300
    )
    request_queue_packets: int = param(
        32, "packets a CU's request port holds", "assumed: half of the L1's misses in flight", ge=1, le=100
    )
    request_lookahead: int = param(
        2,
        "packets of a request port, the oldest first, among which each L2 channel finds the first one for it; 1: the "
        "oldest blocks those behind it",
        "fitted to L2's measured bandwidth on an MI100 and to rocBLAS's R9 Nano figures, "
        "docs/results/microbenchmarks.md; GFX8's registers (Linux amdgpu, TCP_CREDIT, TCA_PERF_SEL) "
        "name credits and stalls by L2 channel alone",
        ge=1,
        le=256,
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
    def looked_at(self) -> int:
        """Packets of a request port that channels look at in the chosen model."""
        return REQUEST_DEPTH if self.model == "ideal" else self.request_lookahead

    @property
    def response_cycles(self) -> int:
        """Latency of a response in the chosen model."""
        return self.ideal_latency_cycles if self.model == "ideal" else self.response_latency_cycles


CROSSBAR = State(
    "xbar",
    {
        "request_latency": Field((), "cycles from a CU's port to an L2 channel"),
        "response_latency": Field((), "cycles from an L2 channel's port to a CU"),
        "request_limit": Field((), "packets a CU's request queue and the way after it may hold"),
        "response_limit": Field(
            (), "answers under way from which a channel stalls: its pipeline, its queue and the way"
        ),
        "request": Field((MAX_PORTS, REQUEST_DEPTH, 4), "queued requests of a port, by P_LINE ... P_READY"),
        "lookahead": Field((), "requests of a port, the oldest first, that channels look at"),
        "o_count": Field((MAX_PORTS,), "requests held"),
        "o_next": Field((MAX_PORTS, REQUEST_DEPTH), "position + 1 of the request after one in its list; 0: none"),
        "o_free_slot": Field((MAX_PORTS,), "position + 1 of the slot given back last; 0: none is left"),
        "o_first": Field((MAX_PORTS, MAX_L2_CHANNELS), "position + 1 of the oldest that a channel looks at; 0: none"),
        "o_last": Field((MAX_PORTS, MAX_L2_CHANNELS), "position + 1 of the youngest"),
        "o_behind": Field((MAX_PORTS,), "position + 1 of the oldest that no channel looks at yet"),
        "o_youngest": Field((MAX_PORTS,), "position + 1 of the youngest of those"),
        "o_ready": Field((MAX_L2_CHANNELS, MAX_PORTS), "cycle from which the oldest for a channel may be taken"),
        "o_moved": Field((MAX_PORTS,), "first cycle after that in which the port has moved a request"),
        "waiting": Field((MAX_L2_CHANNELS, PORT_WORDS), "ports in which the channel sees requests, 64 a word"),
        "next_port": Field((MAX_L2_CHANNELS,), "round-robin pointer: port that the channel looks at first"),
        "response": Field((MAX_L2_CHANNELS, RESPONSE_DEPTH, 2), "queued responses of a channel, by R_SOURCE, R_READY"),
        "response_ring": Field((), "slots of a channel's ring in use: a power of two"),
        "r_head": Field((MAX_L2_CHANNELS,), "position of the oldest response"),
        "r_count": Field((MAX_L2_CHANNELS,), "responses held"),
        "r_ready": Field((MAX_L2_CHANNELS,), "cycle from which the oldest response may be taken"),
        "r_free": Field((MAX_L2_CHANNELS,), "cycle in which the channel's response port is free again"),
        "returning": Field((MAX_PORTS,), "channels whose oldest response is for the port"),
        "next_channel": Field((MAX_PORTS,), "round-robin pointer: channel that the port looks at first"),
        **counter_fields(CROSSBAR_COUNTERS),
        # ideal model: a list of responses for each channel and port
        "ideal": Field((), "1: fixed latency and bandwidth"),
        "interval": Field((), "a channel's time for a packet in 1e-6 cycles, 0: none"),
        "o_free": Field((MAX_L2_CHANNELS,), "when the channel may take the next packet, in 1e-6 cycles"),
        "r_next": Field((MAX_L2_CHANNELS, RESPONSE_DEPTH), "response after one in its list, or next free slot"),
        "r_free_slot": Field((MAX_L2_CHANNELS,), "first free slot of a channel"),
        "r_first": Field((MAX_L2_CHANNELS, MAX_PORTS), "oldest response of the list, -1 none"),
        "r_last": Field((MAX_L2_CHANNELS, MAX_PORTS), "youngest"),
    },
)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def configure_crossbar(m, spec: CrossbarSpec, l2_channels: int, l2_latency_cycles: int, l2_targets: int) -> None:  # type: ignore[no-untyped-def]
    """Set up the crossbar of the machine record, empty; l2_targets: answers that one fill of L2 may give at most."""
    x = m.xbar
    x.request_latency, x.response_latency = spec.request_cycles, spec.response_cycles
    # a packet on its way (one a cycle, for the latency) is not in the queue
    x.request_limit = spec.request_queue_packets + spec.request_cycles
    x.response_limit = spec.response_queue_packets + l2_latency_cycles + spec.response_cycles
    x.lookahead = spec.looked_at
    # no larger than needed: what it walks through lies in the host's cache
    x.response_ring = _power_of_two(int(x.response_limit) + l2_targets)
    x.ideal = int(spec.model == "ideal")
    if x.ideal:
        if spec.ideal_bytes_per_cycle:
            x.interval = max(1, round(MICRO * LINE_BYTES * l2_channels / spec.ideal_bytes_per_cycle))
        x.r_next[:, :-1] = range(1, x.r_next.shape[1])
        x.r_next[:, -1] = -1
        x.r_first[...] = -1


@jit
def wake_receiver(m, t, port):
    """Have the unit at a port take a response in cycle `t`, within the wheel's reach and still to come."""
    if port < FIRST_SCALAR_PORT:
        wake_at(m, CU_RESPONSE, t, port)
    else:
        wake_at(m, SCALAR, t, port - FIRST_SCALAR_PORT)


@jit
def wake_sender(m, now, port):
    """Have the unit at a port, which waits for room in its queue, send on in the next cycle."""
    if port < FIRST_SCALAR_PORT:
        wake_at(m, CU_LOOK_UP, now + 1, port)
    else:
        wake_at(m, SCALAR, now + 1, port - FIRST_SCALAR_PORT)


def perturb_crossbar(m: Any, random: "np.random.Generator", cus: int, arrays: int, channels: int) -> None:
    """Draw which port each channel, and which channel each port, looks at first."""
    ports = np.array([*range(cus), *range(FIRST_SCALAR_PORT, FIRST_SCALAR_PORT + arrays)])
    m.xbar.next_port[:channels] = random.choice(ports, channels)
    m.xbar.next_channel[ports] = random.integers(0, channels, len(ports))
