"""Who the crossbar wakes, and when: units that run only when woken do what they would do if they ran in every cycle."""

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import example
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from memory.network.crossbar import (
    crossbar_response_space,
    wait_for_answer_credit,
    wait_for_credit,
)
from memory.network.state import FIRST_SCALAR_PORT, READ, SOURCE_CU_SHIFT, SOURCE_ID_SHIFT
from memory.unit_classes import CU_LOOK_UP, CU_RESPONSE, L2_FILL, L2_SERVE
from memory.waiting import FILLS
from memory.wheel import SIZE, due
from tests.support.daily import given_daily
from tests.unit.memory.crossbar_harness import (
    CHANNELS,
    due_ports,
    lines,
    machine,
    respond,
    send,
    set_cycle,
    take,
    take_response,
)

LATENCY = 9
LOOKING = (0, 1, 5, 64, 70, FIRST_SCALAR_PORT + 7)  # those that are answered, and some others
ENDS = 300  # all answers below are there by then: 3 cycles apart, or 2.56 by the bandwidth


@pytest.mark.plain_tier
@pytest.mark.parametrize("port", [0, 5, 63, 64, 70])
@pytest.mark.parametrize("model", ["cycle", "ideal"])
def test_who_waits_for_a_credit_sends_in_the_cycle_in_which_it_is_back(model: str, port: int) -> None:
    times = {"request_latency_cycles": 2, "response_latency_cycles": 7, "ideal_latency_cycles": 2}
    m = machine(model=model, request_queue_packets=3, **times)
    back = 2 if model == "ideal" else 7
    line = lines(m, 0, 1)[0]
    for _ in range(3 + 2 + back):
        send(m, 0, port, line)
    wait_for_credit(m, port)
    due_ports(m, 0, CU_LOOK_UP)  # what the start of a run has on the wheel
    assert take(m, 10, 0) == (port, line)
    assert [t for t in range(10, 10 + SIZE) if due_ports(m, t, CU_LOOK_UP) == [port]] == [10 + back]
    assert take(m, 10 + SIZE, 0) == (port, line)  # nobody waits any more
    assert not any(due_ports(m, t, CU_LOOK_UP) for t in range(10 + SIZE, 10 + 2 * SIZE))
    m = machine(request_queue_packets=3, **times)
    for _ in range(3 + 2 + 7):
        send(m, 0, port, line)
    due_ports(m, 0, CU_LOOK_UP)
    assert take(m, 10, 0) == (port, line)
    set_cycle(m, 12)
    wait_for_credit(m, port)  # its credit is on the way
    assert [t for t in range(12, 12 + SIZE) if due_ports(m, t, CU_LOOK_UP) == [port]] == [17]


@pytest.mark.plain_tier
def test_a_channel_that_waits_for_a_credit_goes_on_when_it_is_back() -> None:
    for waiter, unit_class in ((FILLS, L2_FILL), (2, L2_SERVE)):
        m = machine(response_queue_packets=1, request_latency_cycles=5)
        for wheel_class in (L2_FILL, L2_SERVE):
            due(m, 0, wheel_class, 0)
        while crossbar_response_space(m, 0, 2):
            respond(m, 0, 0, 2, READ | 9 << SOURCE_CU_SHIFT)
        respond(m, 0, 0, 2, READ | 9 << SOURCE_CU_SHIFT)  # of a fill, without a credit
        wait_for_answer_credit(m, 2, waiter, unit_class)
        woken = []
        for now in range(200):
            set_cycle(m, now)
            take_response(m, now, 9)
            woken += [(now, number) for number in (L2_FILL, L2_SERVE) if int(due(m, now, number, 0)) >> 2 & 1]
        assert woken == [(35 + 1 + 5, unit_class)]


def taken_answers(m: Any, answers: list[tuple[int, int, int]], every_cycle: bool) -> list[tuple[int, int, int]]:
    """(cycle, port, tag) of the answers that ports take; answers: (cycle, port, channel), tagged by their numbers.

    A port looks for one in every cycle, or only when it is woken.
    """
    found = []
    for now in range(ENDS):
        woken = due_ports(m, now, CU_RESPONSE)
        for port in LOOKING if every_cycle else woken:
            source = take_response(m, now, port)
            if source >= 0:
                assert source >> SOURCE_CU_SHIFT & 255 == port
                found.append((now, port, source >> SOURCE_ID_SHIFT))
        for tag, (cycle, port, channel) in enumerate(answers):
            if cycle == now:
                respond(m, now, now, channel, READ | port << SOURCE_CU_SHIFT | tag << SOURCE_ID_SHIFT)
    return found


def answers_of_twin(answers: list[tuple[int, int, int]], model: str) -> list[tuple[int, int, int]]:
    """The same from plain lists, chosen where answers leave: all that a cache does is to get them a latency later.

    A channel's port sends an answer a cycle, the oldest first; in the ideal form any number, the oldest of each cache.
    """
    ports = sorted({port for _, port, _ in answers})
    first = dict.fromkeys(ports, 0)
    free, queues = [0] * CHANNELS, [[] for _ in range(CHANNELS)]  # type: ignore[var-annotated]
    for tag, (cycle, port, channel) in enumerate(answers):
        leaves = max(cycle, free[channel]) if model == "cycle" else cycle
        free[channel] = leaves + 1
        queues[channel].append((leaves, port, tag))
    found = []
    for now in range(ENDS - LATENCY):
        heads = [queue[:1] if model == "cycle" else queue for queue in queues]
        offers = [[next((p for p in head if p[1] == port), None) for head in heads] for port in ports]
        for port, offered in zip(ports, offers, strict=True):
            there = [channel for channel, packet in enumerate(offered) if packet and packet[0] <= now]
            if there:
                channel = min(there, key=lambda channel, port=port: (channel < first[port], channel))
                first[port] = channel + 1
                queues[channel].remove(offered[channel])
                found.append((now + LATENCY, port, offered[channel][2]))
    return sorted(found)


@pytest.mark.skipif(not JIT_DISABLED, reason="minutes of calls from Python; the tier without the compiler runs it")
@pytest.mark.parametrize("model", ["cycle", "ideal"])
@given_daily(
    8,
    20,
    answers=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 70]), st.integers(0, CHANNELS - 1)), max_size=30
    ),
    bandwidth=st.sampled_from([0.0, 100.0]),
)
@example(answers=[(0, 1, 0), (0, 1, 0)], bandwidth=0.0)
def test_every_answer_is_taken_once_in_order_by_ports_that_look_only_when_woken(
    model: str, answers: list[tuple[int, int, int]], bandwidth: float
) -> None:
    cycles = accumulate(after for after, _, _ in answers)
    answers = [(cycle, port, channel) for cycle, (_, port, channel) in zip(cycles, answers, strict=True)]
    results = []
    for every_cycle in (False, True):
        m = machine(
            model=model,
            ideal_latency_cycles=LATENCY,
            response_latency_cycles=LATENCY,
            ideal_bytes_per_cycle=bandwidth,
        )
        results.append(taken_answers(m, answers, every_cycle))
        assert not m.xbar.r_count.any()
        assert not m.xbar.returning.any()
    found = results[0]
    assert found == results[1]
    if not bandwidth or model == "cycle":
        assert found == answers_of_twin(answers, model)
    assert sorted(tag for _, _, tag in found) == list(range(len(answers)))
    assert all(now >= answers[tag][0] + LATENCY for now, _, tag in found)
    for channel in range(CHANNELS):
        for port in (0, 1, 70):
            tags = [tag for _, _, tag in found if answers[tag][1:] == (port, channel)]
            assert tags == sorted(tags), "an answer overtook another of its channel"
