"""Crossbar: latencies, ports, queues and bandwidth in exact cycles, in both forms; packets arrive once, in order."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gpusim.base.jit import JIT_DISABLED, address_of
from gpusim.model.core.loop import FINISHED
from memory.address_map import l2_channel
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec
from memory.network.credits import credits_where
from memory.network.crossbar import (
    crossbar_has_space,
    crossbar_other_half,
    crossbar_pick_request,
    crossbar_pop_request,
    crossbar_response_space,
)
from memory.network.state import (
    JOINED,
    MAX_PORTS,
    READ,
    RECEIVED,
    SOURCE_CU_SHIFT,
    SOURCE_ID_SHIFT,
    WRITE,
    CrossbarSpec,
)
from memory.timeline import EVENT_WORDS, KIND_BITS, SENT, TAKEN
from tests.support.scripted import Script, ScriptedRun
from tests.unit.memory.crossbar_harness import (
    CHANNELS,
    LINE,
    gpu,
    lines,
    machine,
    respond,
    send,
    set_cycle,
    take,
    take_response,
)

# a few calls from Python; scripted machines below, the laws and whole launches run the compiled crossbar
by_hand = pytest.mark.plain_tier


@cache
def line_of_each_channel() -> list[int]:
    """A line of each L2 channel, which no setting of the crossbar changes."""
    return [lines(machine(), channel, 1)[0] for channel in range(CHANNELS)]


@by_hand
@pytest.mark.parametrize(("model", "latency"), [("cycle", 35), ("ideal", 7)])
def test_a_request_is_there_after_its_latency(model: str, latency: int) -> None:
    m = machine(model=model, ideal_latency_cycles=7)
    line = lines(m, 2, 1)[0]
    send(m, 10, 5, line)
    assert take(m, 10 + latency - 1, 2) is None
    assert take(m, 10 + latency, 1) is None
    assert take(m, 10 + latency, 2) == (5, line)
    assert take(m, 10 + latency, 2) is None


@by_hand
def test_a_request_passes_as_many_as_channels_look_at() -> None:
    for lookahead in (1, 2, 3):
        m = machine(request_lookahead=lookahead)
        blocking, second = lines(m, 0, 2), lines(m, 3, 1)[0]
        for now, line in enumerate([*blocking, second]):
            send(m, now, 0, line)
        assert (take(m, 40, 3) == (0, second)) == (lookahead == 3)
        assert take(m, 41, 0) == (0, blocking[0])
        assert take(m, 41, 3) is None  # one packet a cycle leaves the port
        assert (take(m, 42, 3) == (0, second)) == (lookahead == 2)
        assert take(m, 43, 0) == (0, blocking[1])
        assert (take(m, 44, 3) == (0, second)) == (lookahead == 1)


@by_hand
def test_in_the_ideal_form_a_port_moves_what_there_is_for_each_channel() -> None:
    m = machine(model="ideal")
    first, second = lines(m, 0, 1)[0], lines(m, 3, 1)[0]
    for now, line in enumerate([first] * 20 + [second]):
        send(m, now, 0, line)
    assert take(m, 60, 3) == (0, second)
    assert take(m, 60, 0) == (0, first)


@by_hand
@pytest.mark.parametrize("model", ["cycle", "ideal"])
def test_a_channel_takes_from_the_ports_round_robin(model: str) -> None:
    m = machine(model=model)
    for k, line in enumerate(lines(m, 1, 4)):
        for port in (3, 63, 70, MAX_PORTS - 1):
            send(m, k, port, line)
    assert [take(m, t, 1)[0] for t in range(100, 116)] == [3, 63, 70, MAX_PORTS - 1] * 4  # type: ignore[index]


@by_hand
def test_answers_leave_a_channel_one_a_cycle_but_all_at_once_in_the_ideal_form() -> None:
    for model, leaves in (("cycle", [20, 21, 22, 23]), ("ideal", [20] * 4)):
        m = machine(model=model)
        sources = [READ | port << SOURCE_CU_SHIFT for port in range(4)]
        assert [respond(m, 5, 20, 0, source) for source in sources] == leaves
        for port, left in enumerate(leaves):
            assert take_response(m, left + 34, port) == -1
            assert take_response(m, left + 35, port) == sources[port]


@by_hand
def test_a_channel_of_128_bytes_sends_both_halves_in_a_cycle_and_the_port_takes_one_a_cycle() -> None:
    m = machine()
    m.xbar.joins = 1
    first, second, other = (
        READ | port << SOURCE_CU_SHIFT | tag << SOURCE_ID_SHIFT for port, tag in ((3, 1), (3, 2), (4, 3))
    )
    answers = [(first, 20), (second | JOINED, 20), (other | JOINED, 21), (other, 22)]  # another port's is no half of it
    for source, leaves in answers:
        assert respond(m, 5, 20, 0, source) == leaves
    taken = {(t, port): take_response(m, t, port) for t in range(54, 60) for port in (3, 4)}
    assert {at: source for at, source in taken.items() if source >= 0} == {
        (55, 3): first,
        (56, 3): second,
        (56, 4): other,
        (57, 4): other,
    }
    assert (m.xbar.responses, m.xbar.r_count[0]) == (4, 0)


@by_hand
def test_a_port_with_a_full_queue_lets_a_channel_of_128_bytes_wait() -> None:
    m = machine()
    m.xbar.joins = 1
    for tag in range(6):
        for channel in range(CHANNELS):
            for joined in (0, JOINED):
                respond(m, 5, 20, channel, READ | joined | 3 << SOURCE_CU_SHIFT | (2 * tag) << SOURCE_ID_SHIFT)
    taken = 0
    for t in range(60, 60 + 12 * CHANNELS):
        taken += take_response(m, t, 3) >= 0
        assert m.xbar.received_count[3] <= RECEIVED - 1
    assert taken == 12 * CHANNELS  # none is lost, and one comes in each cycle


@by_hand
@pytest.mark.parametrize(
    ("line", "kind", "ready", "is_half"),
    [(LINE + 1, READ, 0, 1), (LINE + 2, READ, 0, 0), (LINE + 1, WRITE, 0, 0), (LINE + 1, READ, 1, 0)],
)
def test_the_other_half_is_of_the_same_line_and_kind_and_there(line: int, kind: int, ready: int, is_half: int) -> None:
    m = machine()
    channel = l2_channel(m, LINE)
    send(m, 0, 3, LINE)
    send(m, ready, 3, line, kind=kind)
    at = crossbar_pop_request(m, 35, channel, crossbar_pick_request(m, 35, channel))
    assert crossbar_other_half(m, 35, channel, 3, at) == is_half


@by_hand
@pytest.mark.parametrize(
    ("bytes_per_cycle", "cycles"),
    [
        (64 * CHANNELS, [0, 1, 2, 3, 4]),
        (64 * CHANNELS / 1.5, [0, 1, 3, 4, 6]),  # a packet takes one and a half cycles
        (64 * CHANNELS / 4, [0, 4, 8, 12, 16]),
    ],
)
def test_a_given_bandwidth_is_the_channels_share_of_it_each_way(bytes_per_cycle: float, cycles: list[int]) -> None:
    m = machine(model="ideal", ideal_bytes_per_cycle=bytes_per_cycle)
    for port, line in enumerate(lines(m, 0, 5)):
        send(m, 0, port, line)
    assert [t for t in range(100, 120) if take(m, t, 0) is not None] == [100 + t for t in cycles]
    answers = [respond(m, 0, 100, 0, READ | port << SOURCE_CU_SHIFT) for port in range(5)]
    step = 64 * CHANNELS / bytes_per_cycle
    assert answers == [100 + int(k * step) for k in range(5)]


@by_hand
@pytest.mark.parametrize("model", ["cycle", "ideal"])
def test_a_credit_is_back_when_the_network_has_carried_it_and_not_when_its_packet_leaves(model: str) -> None:
    m = machine(
        model=model,
        request_queue_packets=3,
        request_latency_cycles=2,
        response_latency_cycles=2 if model == "ideal" else 4,
        ideal_latency_cycles=2,
    )
    way, back = 2, 2 if model == "ideal" else 4
    packets = 3 + way + back
    sent = lines(m, 0, 3 * packets)
    begin = 0
    for first in range(0, len(sent), packets):  # three times full, so that its rings go round
        for line in sent[first : first + packets]:
            assert crossbar_has_space(m, begin, 9)
            send(m, begin, 9, line)
        assert not crossbar_has_space(m, begin + 1000, 9)
        assert crossbar_has_space(m, begin, 8)
        for k, line in enumerate(sent[first : first + packets]):
            assert take(m, begin + way + k, 0) == (9, line)
            assert not crossbar_has_space(m, begin + way + back - 1, 9)
            assert crossbar_has_space(m, begin + way + back, 9)
            assert credits_where(m.xbar.request_credits[9], begin + way + back - 1) == (0, packets - k - 1, k + 1)
        begin += way + packets + back


@by_hand
@pytest.mark.parametrize("model", ["cycle", "ideal"])
def test_a_channel_starts_so_many_answers_and_holds_those_of_a_fill_beside(model: str) -> None:
    m = machine(
        model=model,
        response_queue_packets=4,
        response_latency_cycles=3,
        request_latency_cycles=3,
        ideal_latency_cycles=3,
    )
    credits = m.xbar.answer_credits[1]
    answers = 0
    while crossbar_response_space(m, 0, 1):
        respond(m, 0, 10, 1, READ | 9 << SOURCE_CU_SHIFT | answers << SOURCE_ID_SHIFT)
        answers += 1
    started = 4 + L2Spec().latency_cycles + 3 + 3
    assert answers == started
    for tag in range(answers, answers + L2Spec().mshr_targets_per_channel):
        respond(m, 0, 10, 1, READ | 9 << SOURCE_CU_SHIFT | tag << SOURCE_ID_SHIFT)
        answers += 1
    for tag in range(answers):
        now = 13 + tag
        set_cycle(m, now)
        assert take_response(m, now, 9) >> SOURCE_ID_SHIFT == tag
        paid = tag >= answers - started  # what a fill answered beside is paid for first
        assert crossbar_response_space(m, now + 2, 1) == (tag > answers - started)
        assert crossbar_response_space(m, now + 3, 1) == paid
        assert sum(credits_where(credits, now)) == started
    assert credits_where(credits, now + 3) == (started, 0, 0)


@by_hand
@pytest.mark.parametrize("model", ["cycle", "ideal"])
@settings(max_examples=40 if JIT_DISABLED else 10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    packets=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 63, 70]), st.integers(0, CHANNELS - 1)), max_size=60
    ),
    bandwidth=st.sampled_from([0.0, 100.0]),
)
def test_every_packet_arrives_once_in_order_and_not_before_its_latency(
    model: str, packets: list[tuple[int, int, int]], bandwidth: float
) -> None:
    m = machine(model=model, ideal_latency_cycles=9, request_latency_cycles=9, ideal_bytes_per_cycle=bandwidth)
    homes = line_of_each_channel()
    sent: dict[tuple[int, int], list[int]] = {}
    arrived: dict[tuple[int, int], list[int]] = {}
    todo = list(packets)
    now, tag, wait = 0, 0, 0
    while (todo or sum(map(len, sent.values())) > sum(map(len, arrived.values()))) and now < 5000:
        if todo and wait == 0:
            wait, port, channel = todo.pop(0)
            send(m, now, port, homes[channel], now)
            sent.setdefault((port, channel), []).append(now)
            tag += 1
        wait = max(wait - 1, 0)
        for channel in range(CHANNELS):
            set_cycle(m, now)
            port = int(crossbar_pick_request(m, now, channel))
            if port >= 0:
                at = crossbar_pop_request(m, now, channel, port)
                since = int(m.xbar.request[port, at, 1]) >> SOURCE_ID_SHIFT
                assert now >= since + 9
                arrived.setdefault((port, channel), []).append(since)
        now += 1
    assert arrived == sent
    assert not m.xbar.o_count.any()
    assert not m.xbar.waiting.any()


@by_hand
def test_a_timeline_is_told_the_port_and_the_channel_of_each_packet() -> None:
    m = machine()
    events = np.zeros((4, EVENT_WORDS), np.int64)
    m.timeline.address, m.timeline.capacity, m.timeline.on = address_of(events), len(events), 1
    line, source = lines(m, 3, 1)[0], READ | 70 << SOURCE_CU_SHIFT
    send(m, 10, 70, line)
    respond(m, 50, 60, 3, source)
    set_cycle(m, 95)
    assert take_response(m, 95, 70) == source
    assert m.timeline.count == 2
    assert events[0].tolist() == [SENT | 10 << KIND_BITS, 70, source, line]
    assert events[1].tolist() == [TAKEN | 95 << KIND_BITS, 70 | 3 << 8, source, 0]


def test_a_load_through_the_ideal_crossbar() -> None:
    # look-up 21, 9 to L2, served a cycle after it is taken, DRAM 124, 70 in L2, 9 back, 56 in L1, four beats
    data = 21 + 9 + 1 + 124 + 70 + 9 + 56 + 4
    run = ScriptedRun(gpu(model="ideal", ideal_latency_cycles=9), [[Script().load([LINE]).wait(vm=0).end()]])
    assert run.go() == FINISHED
    assert run.cycles == -(-data // 4) * 4 + 4 + 1


@pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")  # words wrap, as the compiler's do
def test_as_many_compute_units_as_a_word_has_bits() -> None:
    spec = gpu().model_copy(update={"shader_arrays": 16, "cus_per_array": 4})
    run = ScriptedRun(spec, [[Script().load([LINE + cu]).wait(vm=0).end()] for cu in range(64)])
    assert run.go() == FINISHED
    assert run.m.xbar.requests == run.m.xbar.responses == 64


def test_answers_further_away_than_the_wake_up_wheel_reaches() -> None:
    # each packet takes a channel 512 cycles; eight CUs wait for one line of a slow DRAM, so their answers queue up
    spec = gpu(model="ideal", ideal_bytes_per_cycle=0.5).model_copy(
        update={"dram": DramSpec(model="ideal", ideal_latency_ns=10_000.0)}
    )
    run = ScriptedRun(spec, [[Script().load([LINE]).wait(vm=0).end()] for _ in range(8)])
    assert run.go() == FINISHED
    assert run.cycles > 10_000 * 1.237 + 7 * 512


def test_a_bandwidth_next_to_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="allowed are 0"):
        CrossbarSpec(ideal_bytes_per_cycle=0.01)
