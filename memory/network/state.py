"""What the crossbar is configured by and what it holds; the words of its packets; who is attached to it.

Caches send requests through ports to destinations, which are the L2 channels and the caches of levels between
(`gpusim.model.core.levels`). Whom a port or a destination wakes is a table in the state.

A request carries `source`: bits 0-2 kind, bit 3 whether it moves together with the one before it, bits 4-11 port,
bits 12 and up what the cache recognises the answer by.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal

import numpy as np
from pydantic import field_validator

from gpusim.base.jit import Field, Machine, State, counter_fields, jit
from gpusim.base.spec import Spec, param
from isa.trace import LINE_BYTES
from memory.address_map import MAX_L2_CHANNELS, l2_channel
from memory.network.counters import CROSSBAR_COUNTERS
from memory.network.credits import CREDITS, MAX_CREDITS, configure_credits, power_of_two
from memory.unit_classes import DESTINATIONS, L2_TAKE, PORTS
from memory.wheel import ROW_WORDS, WORD_BITS, WORDS, wake_at, wake_word, within_far_reach, within_reach, word_of

MAX_CUS = PORTS["l1"][1]
FIRST_SCALAR_PORT, MAX_ARRAYS = PORTS["scalar_cache"][:2]
MAX_PORTS = sum(ports for _, ports, *_ in PORTS.values())
MAX_DESTINATIONS = sum(destinations for _, destinations, *_ in DESTINATIONS.values())
BETWEEN = MAX_DESTINATIONS > MAX_L2_CHANNELS  # whether a level may lie between first-level caches and L2
BY_LINE = -1
NUMBER_BITS = 8  # of a port in a source, and of a port or a destination beside the cycle of what crosses
NUMBER_MASK = (1 << NUMBER_BITS) - 1
assert DESTINATIONS["l2"][:2] == (0, MAX_L2_CHANNELS) and max(MAX_PORTS, MAX_DESTINATIONS) <= 1 << NUMBER_BITS
PORT_WORDS = MAX_PORTS // 64
MATCHES = WORDS  # first word in a row of the wheel of the ports for which an answer is looked for, after all units'
MATCH_WORDS = MAX_PORTS // WORD_BITS
assert MATCHES + MATCH_WORDS <= ROW_WORDS
REQUEST_DEPTH = MAX_CREDITS
RESPONSE_DEPTH = 1024  # a power of two
DELIVERED = 256  # answers of a port in two windows at most, one a cycle: a power of two
RECEIVED = 16  # answers that a port holds where channels join, a power of two (assumed)

READ, WRITE, ATOMIC, ATOMIC_RETURN = range(4)
KIND_MASK = 7
JOINED = 8  # the other half of the packet before it: a port of 128 bytes moves both in one cycle

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
# of an answer that a port takes: its source, how many came from channels to the port in its cycle, its cycle
TAKEN_SHIFT = 36
TAKEN_ONE = 1 << TAKEN_SHIFT
SOURCE_MASK = TAKEN_ONE - 1
CYCLE_SHIFT = 42
CYCLE_MASK = (1 << 20) - 1
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
        2,
        "packets a request port holds beside those, and the credits, that are on the way at one a cycle",
        "assumed: those that channels look at; more moves MI6's reads of DRAM off the card's "
        "(docs/explanation/decisions/0016). With what is on the way 72 credits, of the up to 127 of GFX8's register "
        "(Linux amdgpu, TCP_CREDIT)",
        ge=1,
        le=100,
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

    @property
    def request_credits(self) -> int:
        """Credits of a request port: those of its slots, and what is on the way, a packet or a credit a cycle."""
        return self.request_queue_packets + self.request_cycles + self.response_cycles

    def answer_credits(self, l2_latency_cycles: int) -> int:
        """Credits of a channel for answers: of slots at the caches, its own pipeline, and what is on the way."""
        return self.response_queue_packets + l2_latency_cycles + self.response_cycles + self.request_cycles


PORT = State(
    "port",
    {
        "takes": Field((), "word in a row of the wheel of the class that takes answers"),
        "sends": Field((), "word in a row of the wheel of the class that sends requests"),
        "bit": Field((), "the unit in these words"),
    },
)

DESTINATION = State(
    "destination",
    {
        "unit": Field((), "number of the unit in its classes"),
        "takes": Field((), "class that takes requests"),
        "serves": Field((), "class that serves them"),
        "fills": Field((), "class that fills lines, for which requests wait"),
    },
)

SENT = State(
    "sent",
    {
        "packets": Field((), "requests in it"),
        "packet": Field((MAX_PORTS * REQUEST_DEPTH, 4), "P_LINE ... P_MASK; P_READY: cycle | port of NUMBER_BITS"),
    },
)

ANSWERED = State(
    "answered",
    {
        "answers": Field((), "answers in it"),
        "credits": Field((), "credits in it"),
        "answer": Field((MAX_DESTINATIONS * RESPONSE_DEPTH, 2), "R_SOURCE with TAKEN; R_READY: cycle | port"),
        "until": Field((), "cycle up to which answers have been matched with ports"),
        "credit": Field((MAX_PORTS * REQUEST_DEPTH,), "cycle in which it is back | port"),
    },
)

# fields of a side fill lines of the host's cache, so that threads that run the two sides share none
CROSSBAR = State(
    "xbar",
    {
        # constants while two threads run
        "apart": Field((), "1: what crosses goes through outboxes, as two threads run the two sides"),
        "window": Field((), "cycles after which neither side of the crossbar has noticed the other: its least latency"),
        "lookahead": Field((), "requests of a port, the oldest first, that channels look at"),
        "response_ring": Field((), "slots of a channel's ring in use: a power of two"),
        "joins": Field((), "1: channels take, serve and send both halves of a line of 128 bytes in one cycle"),
        "ideal": Field((), "1: fixed latency and bandwidth"),
        "interval": Field((), "ideal model: a channel's time for a packet in 1e-6 cycles, 0: none"),
        "request_latency": Field((MAX_PORTS,), "cycles from a port to a destination"),
        "response_latency": Field((MAX_DESTINATIONS,), "cycles from a destination to a port"),
        "leads_to": Field((MAX_PORTS,), "destination of all requests of a port; BY_LINE: the L2 channel of the line"),
        "port": Field((MAX_PORTS,), "what is attached to a port", PORT.dtype()),
        "destination": Field((MAX_DESTINATIONS,), "what is attached to a destination", DESTINATION.dtype()),
        # the caches' side: credits for requests, answers matched with ports
        "request_credits": Field((MAX_PORTS,), "credits of a port for its slots at the destinations", CREDITS.dtype()),
        "delivered": Field(
            (MAX_PORTS, DELIVERED), "such answers of a port: R_SOURCE with TAKEN | cycle << CYCLE_SHIFT"
        ),
        "delivered_head": Field((MAX_PORTS,), "position of the oldest of them"),
        "delivered_count": Field((MAX_PORTS,), "how many they are"),
        **counter_fields(CROSSBAR_COUNTERS),
        "matched": Field((), "cycle before which ports take what was matched with them, and nothing else"),
        "sends_in": Field((), "outbox that caches put packets and credits into"),
        # the network: answers on the way; of the channels' side while two threads run, else of the caches'
        "matching": Field((), "cycle from which answers have not been matched with ports yet"),
        "response": Field((MAX_DESTINATIONS, RESPONSE_DEPTH, 2), "queued responses of a channel, by R_SOURCE, R_READY"),
        "r_head": Field((MAX_DESTINATIONS,), "position of the oldest response"),
        "r_count": Field((MAX_DESTINATIONS,), "responses held"),
        "r_ready": Field((MAX_DESTINATIONS,), "cycle from which the oldest response may be taken"),
        "received": Field((MAX_PORTS, RECEIVED), "where channels join: answers at a port that its cache has not taken"),
        "received_head": Field((MAX_PORTS,), "position of the oldest of them"),
        "received_count": Field((MAX_PORTS,), "how many they are"),
        "returning": Field((MAX_PORTS,), "channels whose oldest response is for the port"),
        "next_channel": Field((MAX_PORTS,), "round-robin pointer: channel that the port looks at first"),
        # in the ideal model a list of responses for each channel and port
        "r_next": Field((MAX_DESTINATIONS, RESPONSE_DEPTH), "response after one in its list, or next free slot"),
        "r_free_slot": Field((MAX_DESTINATIONS,), "first free slot of a channel"),
        "r_first": Field((MAX_DESTINATIONS, MAX_PORTS), "oldest response of the list, -1 none"),
        "r_last": Field((MAX_DESTINATIONS, MAX_PORTS), "youngest"),
        # the channels' side: requests that have come or are on the way, credits for answers
        "request": Field((MAX_PORTS, REQUEST_DEPTH, 4), "queued requests of a port, by P_LINE ... P_READY"),
        "o_count": Field((MAX_PORTS,), "requests held"),
        "o_next": Field((MAX_PORTS, REQUEST_DEPTH), "position + 1 of the request after one in its list; 0: none"),
        "o_free_slot": Field((MAX_PORTS,), "position + 1 of the slot given back last; 0: none is left"),
        "o_first": Field((MAX_PORTS, MAX_DESTINATIONS), "position + 1 of the oldest that a channel looks at; 0: none"),
        "o_last": Field((MAX_PORTS, MAX_DESTINATIONS), "position + 1 of the youngest"),
        "o_behind": Field((MAX_PORTS,), "position + 1 of the oldest that no channel looks at yet"),
        "o_youngest": Field((MAX_PORTS,), "position + 1 of the youngest of those"),
        "o_ready": Field((MAX_DESTINATIONS, MAX_PORTS), "cycle from which the oldest for a channel may be taken"),
        "o_moved": Field((MAX_PORTS,), "first cycle after that in which the port has moved a request"),
        "o_free": Field((MAX_DESTINATIONS,), "ideal model: when the channel may take a packet, in 1e-6 cycles"),
        "waiting": Field((MAX_DESTINATIONS, PORT_WORDS), "ports in which the channel sees requests, 64 a word"),
        "next_port": Field((MAX_DESTINATIONS,), "round-robin pointer: port that the channel looks at first"),
        "answer_credits": Field((MAX_DESTINATIONS,), "credits of a destination for slots at ports", CREDITS.dtype()),
        "r_free": Field((MAX_DESTINATIONS,), "when the channel's response port is free, ideal model: in 1e-6 cycles"),
        "r_youngest": Field((MAX_DESTINATIONS,), "R_SOURCE of the channel's youngest answer"),
        "answers_in": Field((), "outbox that channels put answers and credits into"),
        # what crosses: a side writes one outbox while the other one takes what is in the other
        "sent": Field((2,), "of the caches, for the channels' side", SENT.dtype()),
        "answered": Field((2,), "of the channels, for the caches' side", ANSWERED.dtype()),
    },
)


def configure_crossbar(  # type: ignore[no-untyped-def]
    m: Machine, spec: CrossbarSpec, l2_channels: int, l2_latency_cycles: int, l2_targets: int, l2_port_bytes: int
) -> None:
    """Set up the crossbar of the machine record, empty.

    Args:
        m: Machine record.
        spec: Its configuration.
        l2_channels: Channels of L2.
        l2_latency_cycles: Latency of L2.
        l2_targets: Answers that one fill of L2 may give at most.
        l2_port_bytes: Bytes of a port in a cycle.
    """
    x = m.xbar
    x.joins = int(l2_port_bytes > LINE_BYTES and spec.model != "ideal")
    x.request_latency[:], x.response_latency[:] = spec.request_cycles, spec.response_cycles
    x.window = 1 if BETWEEN else min(spec.request_cycles, spec.response_cycles)
    x.leads_to[:] = BY_LINE
    ports, destinations = np.asarray(x.port), np.asarray(x.destination)
    for first, count, takes, sends in PORTS.values():
        for unit in range(count):
            ports[first + unit] = word_of(takes, unit), word_of(sends, unit), 1 << unit % WORD_BITS
    for first, count, takes, serves, fills in DESTINATIONS.values():
        for unit in range(count):
            destinations[first + unit] = unit, takes, serves, fills
    configure_credits(x.request_credits, spec.request_credits)
    configure_credits(x.answer_credits, spec.answer_credits(l2_latency_cycles))
    x.lookahead = spec.looked_at
    # no larger than needed: what it walks through lies in the host's cache
    x.response_ring = power_of_two(spec.answer_credits(l2_latency_cycles) + l2_targets)
    x.ideal = int(spec.model == "ideal")
    if x.ideal:
        if spec.ideal_bytes_per_cycle:
            x.interval = max(1, round(MICRO * LINE_BYTES * l2_channels / spec.ideal_bytes_per_cycle))
        x.r_next[:, :-1] = range(1, x.r_next.shape[1])
        x.r_next[:, -1] = -1
        x.r_first[...] = -1


def lead_to(m: Machine, ports: list[int], destination: int, latency_cycles: int) -> None:
    """Let all requests of some ports go to one destination, which answers them after as many cycles as they take."""
    m.xbar.leads_to[ports] = destination
    m.xbar.request_latency[ports] = m.xbar.response_latency[destination] = latency_cycles


@cache
def at_port(port: int) -> tuple[str, int]:
    """Return whose a port is: the section of its level, and the number of the cache."""
    return _at(PORTS, port)


@cache
def at_destination(destination: int) -> tuple[str, int]:
    """Return whose a destination is: the section of its level, and the number of the cache."""
    return _at(DESTINATIONS, destination)


def _at(table: Mapping[str, tuple[int, ...]], number: int) -> tuple[str, int]:
    return next((name, number - first) for name, (first, count, *_) in table.items() if first <= number < first + count)


@jit
def destination_of(m: Machine, port, line):
    """Return the destination of a request for a line."""
    if BETWEEN and m.xbar.leads_to[port] != BY_LINE:
        return m.xbar.leads_to[port]
    return l2_channel(m, line)


@jit
def bit_of(destination):
    """Return the bit of a destination in a port's masks; those between share one, as a port leads to one of them."""
    return min(destination, MAX_L2_CHANNELS) if BETWEEN else destination


@jit
def of_bit(m: Machine, port, bit):
    """Return the destination that a bit of a port's masks stands for."""
    return m.xbar.leads_to[port] if BETWEEN and bit == MAX_L2_CHANNELS else bit


@jit
def wake_receiver(m: Machine, t, port):
    """Have the unit at a port take a response in cycle `t`, within the wheel's reach and still to come."""
    at = m.xbar.port[port]
    wake_word(m, at.takes, t, at.bit)


@jit
def look_for_answer(m: Machine, t, port):
    """Have a port's answer of cycle `t` looked for: by the unit at the port or, while two threads run, `match_answers`.

    t: a cycle to come, within the wheel's reach.
    """
    if m.xbar.apart:
        wake_word(m, MATCHES + (port >> 5), t, 1 << (port & 31))
    else:
        wake_receiver(m, t, port)


@jit
def look_for_late_answer(m: Machine, t, port):
    """Do what `look_for_answer` does for any cycle to come; beyond the wheel's reach it is looked for before, too."""
    reach = within_far_reach(m, t) if m.xbar.apart else within_reach(m, t)
    look_for_answer(m, reach, port)


@jit
def wake_sender(m: Machine, t, port):
    """Have the unit at a port, which waits for a credit, send on in cycle `t`, within the wheel's reach, to come."""
    at = m.xbar.port[port]
    wake_word(m, at.sends, t, at.bit)


@jit
def wake_taker(m: Machine, t, destination):
    """Have the unit at a destination take a request in cycle `t`, within the wheel's reach and still to come."""
    if BETWEEN:
        at = m.xbar.destination[destination]
        wake_at(m, at.takes, t, at.unit)
    else:
        wake_at(m, L2_TAKE, t, destination)  # no look at the table: several times for each packet


def perturb_crossbar(m: Machine, random: "np.random.Generator", cus: int, arrays: int, channels: int) -> None:
    """Draw which port each channel, and which channel each port, looks at first.

    Args:
        m: Machine record.
        random: Generator to draw from.
        cus: Number of CUs.
        arrays: Shader arrays.
        channels: Number of channels.
    """
    ports = np.array([*range(cus), *range(FIRST_SCALAR_PORT, FIRST_SCALAR_PORT + arrays)])
    m.xbar.next_port[:channels] = random.choice(ports, channels)
    m.xbar.next_channel[ports] = random.integers(0, channels, len(ports))
