"""Request ports against a twin of plain lists that shares nothing with them, on random packets and stalled channels."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from memory.network.crossbar import crossbar_has_space, crossbar_offers
from memory.unit_classes import L2_TAKE
from memory.wheel import due, wake_at
from tests.unit.memory.crossbar_harness import CHANNELS, lines, machine, send, take, take_tagged

LATENCY = 3
WAY_BACK = 5  # of a credit
PORTS = (0, 1, 2, 63, 70)
Taken = tuple[int, int, int, int]  # cycle, channel, port, tag


@dataclass
class Twin:
    """Ports that are lists of (cycle in which it is there, channel, tag), the oldest first."""

    lookahead: int
    ports: dict[int, list[tuple[int, int, int]]] = field(default_factory=lambda: {port: [] for port in PORTS})
    moved_in: dict[int, int] = field(default_factory=lambda: dict.fromkeys(PORTS, -1))
    next_port: list[int] = field(default_factory=lambda: [0] * CHANNELS)
    returning: dict[int, list[int]] = field(default_factory=lambda: {port: [] for port in PORTS})
    """Of each port the cycles in which credits come back."""

    def has_space(self, now: int, port: int, slots: int) -> bool:
        """Whether a credit of a port with so many is not with a packet nor on its way back."""
        return len(self.ports[port]) + sum(cycle > now for cycle in self.returning[port]) < slots

    def take(self, now: int, channel: int) -> tuple[int, int] | None:
        """(port, tag) that the channel takes in a cycle: every channel in every cycle, none is woken."""
        first = self.next_port[channel]
        for port in sorted(PORTS, key=lambda port: (port < first, port)):
            seen = [packet for packet in self.ports[port][: self.lookahead] if packet[1] == channel]
            if seen and seen[0][0] <= now and self.moved_in[port] < now:
                self.ports[port].remove(seen[0])
                self.moved_in[port] = now
                self.returning[port].append(now + WAY_BACK)
                self.next_port[channel] = port + 1
                return port, seen[0][2]
        return None


def rotated(now: int) -> list[int]:
    """Channels in the order in which they run in a cycle."""
    return [(now + k) % CHANNELS for k in range(CHANNELS)]


@pytest.mark.skipif(not JIT_DISABLED, reason="minutes of calls from Python; the tier without the compiler runs it")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    lookahead=st.sampled_from([1, 2, 3, 4, 40]),
    queue=st.sampled_from([1, 4, 30]),
    # each cycle: (port, channel) of what is sent, and channels that take nothing
    cycles=st.lists(
        st.tuples(
            st.lists(
                st.tuples(st.sampled_from(PORTS), st.integers(0, CHANNELS - 1)), max_size=4, unique_by=lambda p: p[0]
            ),
            st.sets(st.integers(0, CHANNELS - 1), max_size=CHANNELS),
        ),
        max_size=60,
    ),
)
@example(lookahead=2, queue=30, cycles=[([(0, channel)], {0}) for channel in (0, 1, 1, 0, 2, 1, 0, 3)])
def test_channels_that_look_only_when_woken_take_what_the_twin_says(
    lookahead: int, queue: int, cycles: list[tuple[list[tuple[int, int]], set[int]]]
) -> None:
    m = machine(
        request_lookahead=lookahead,
        request_queue_packets=queue,
        request_latency_cycles=LATENCY,
        response_latency_cycles=WAY_BACK,
    )
    homes = [lines(m, channel, 1)[0] for channel in range(CHANNELS)]
    twin = Twin(lookahead)
    taken: list[Taken] = []
    expected: list[Taken] = []
    tag = now = 0
    while now < len(cycles) or any(twin.ports.values()):
        packets, closed = cycles[now] if now < len(cycles) else ([], set())
        woken = int(due(m, now, L2_TAKE, 0))
        for channel in rotated(now):
            if channel not in closed and (found := twin.take(now, channel)) is not None:
                expected.append((now, channel, *found))
            if not woken >> channel & 1:
                continue
            if channel in closed:  # a full L2 channel comes back when it has space
                wake_at(m, L2_TAKE, now + 1, channel)
            elif (got := take_tagged(m, now, channel)) is not None:
                assert got[2] == homes[channel]
                taken.append((now, channel, *got[:2]))
                if crossbar_offers(m, channel):
                    wake_at(m, L2_TAKE, now + 1, channel)
        assert taken == expected
        for port, channel in packets:
            space = twin.has_space(now, port, queue + LATENCY + WAY_BACK)
            assert bool(crossbar_has_space(m, now, port)) == space
            if space:
                send(m, now, port, homes[channel], tag)
                twin.ports[port].append((now + LATENCY, channel, tag))
                tag += 1
        now += 1
        assert now < 1000
    assert len(taken) == tag
    assert not m.xbar.o_count.any()
    assert not m.xbar.waiting.any()


@pytest.mark.plain_tier
def test_no_channel_starves_at_a_port_that_streams_to_another() -> None:
    m = machine(request_lookahead=4, request_latency_cycles=LATENCY)
    stream, lone = lines(m, 0, 1)[0], lines(m, 3, 1)[0]
    send(m, 0, 5, lone)
    for now in range(1, 30):
        send(m, now, 5, stream)
        if any(take(m, now, channel) == (5, lone) for channel in rotated(now)):
            break
    assert now < LATENCY + CHANNELS
