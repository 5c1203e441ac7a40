"""When does a program's work happen on the simulated GPU? Against the rules, one by one and together."""

from collections import Counter

import pytest
from hypothesis import strategies as st

from gpusim.jobs.host.queue import DEFAULT, HARDWARE_QUEUES, SLOTS, StreamQueue
from tests.support.daily import given_daily

LAUNCH_US = 5.0
A, B, C = 0x10, 0x20, 0x30
WHOLE = {SLOTS: 1.0}
Span = tuple[float, float]


class Recorded(StreamQueue):
    """A queue that keeps when kernels ran."""

    def __init__(self) -> None:
        super().__init__(LAUNCH_US)
        self.spans: dict[str, Span] = {}
        for stream in (A, B):
            self.new_stream(stream, blocking=False)
        self.new_stream(C, blocking=True)

    def run(self, name: str, stream: int, time_us: float, demands: dict[str, float] | None = None) -> None:
        self.kernel(
            stream,
            time_us,
            WHOLE if demands is None else demands,
            lambda start, end: self.spans.update({name: (start, end)}),
        )

    def all(self) -> dict[str, Span]:
        self.finish()
        return self.spans


@pytest.fixture
def queue() -> Recorded:
    return Recorded()


def test_a_stream_is_in_order(queue: Recorded) -> None:
    queue.run("first", A, 10)
    queue.run("second", A, 10)
    queue.record(1, A)
    queue.copy(A, 7, over_link=True, blocking=False)
    queue.record(2, A)
    assert queue.elapsed_ms(1, 2) == pytest.approx(0.007)
    assert queue.spans == {"first": (5, 15), "second": (20, 30)}


def test_kernels_that_leave_space_for_one_another_overlap(queue: Recorded) -> None:
    queue.run("left", A, 10, {SLOTS: 0.5, "dram": 0.2})
    queue.run("right", B, 20, {SLOTS: 0.5, "dram": 0.8})
    assert queue.all() == {"left": (5, 15), "right": (5, 25)}


def test_kernels_that_need_the_same_unit_slow_one_another(queue: Recorded) -> None:
    queue.run("short", A, 10, {SLOTS: 0.25, "dram": 0.75})
    queue.run("long", B, 20, {SLOTS: 0.25, "dram": 0.75})
    spans = queue.all()
    assert spans["short"] == (5, 20)  # at two thirds of its pace
    assert spans["long"] == (5, 30)  # 10 us of it are left then


def test_kernels_that_fill_the_gpu_take_as_long_as_one_after_another(queue: Recorded) -> None:
    queue.run("left", A, 10)
    queue.run("right", B, 10)
    assert queue.all() == {"left": (5, 25), "right": (5, 25)}


def test_what_the_host_has_waited_for_is_not_slowed_any_more(queue: Recorded) -> None:
    queue.run("first", A, 10)
    queue.synchronize(A)
    queue.run("second", B, 10)
    assert queue.all() == {"first": (5, 15), "second": (20, 30)}


def test_there_are_as_many_kernels_at_a_time_as_hardware_queues(queue: Recorded) -> None:
    for k in range(HARDWARE_QUEUES + 1):
        queue.new_stream(100 + k, blocking=False)
        queue.run(f"{k}", 100 + k, 10, {SLOTS: 0.01})
    spans = queue.all()
    assert Counter(spans.values()) == {(5, 15): HARDWARE_QUEUES, (15, 25): 1}


def test_copies_go_on_beside_kernels(queue: Recorded) -> None:
    queue.run("kernel", A, 100)
    queue.copy(B, 40, over_link=True, blocking=False)
    queue.record(1, B)
    queue.record(2, A)
    assert queue.elapsed_ms(1, 2) == pytest.approx(0.065)
    queue.run("reader", A, 10, {"dram": 1.0})
    queue.copy(B, 10, over_link=False, blocking=False)  # within the device: takes DRAM from the kernel
    queue.record(3, B)
    queue.record(4, A)
    assert queue.elapsed_ms(2, 3) == pytest.approx(0.015)
    assert queue.elapsed_ms(3, 4) == pytest.approx(0.005)


def test_two_copies_share_the_link(queue: Recorded) -> None:
    queue.copy(A, 40, over_link=True, blocking=False)
    queue.copy(B, 40, over_link=True, blocking=False)
    queue.record(1, A)
    queue.record(2, B)
    assert queue.elapsed_ms(1, 2) == pytest.approx(0.040)


def test_the_default_stream_waits_for_blocking_streams_alone(queue: Recorded) -> None:
    queue.copy(A, 500, over_link=True, blocking=False)
    queue.run("before", C, 50)
    queue.run("default", DEFAULT, 10)
    queue.run("after", C, 10)
    assert queue.all() == {"before": (5, 55), "default": (60, 70), "after": (75, 85)}


def test_non_blocking_streams_do_not_wait_for_the_default_stream(queue: Recorded) -> None:
    queue.run("default", DEFAULT, 50, {SLOTS: 0.25})
    queue.run("beside", A, 10, {SLOTS: 0.25})
    queue.run("behind", C, 10, {SLOTS: 0.25})
    queue.synchronize(A)
    assert queue.host_us == 15
    assert queue.all() == {"default": (5, 55), "beside": (5, 15), "behind": (60, 70)}


def test_an_event_orders_streams(queue: Recorded) -> None:
    queue.copy(A, 90, over_link=True, blocking=False)
    queue.record(1, A)
    queue.wait(B, 1)
    queue.run("after", B, 10)
    queue.wait(A, 99)  # never recorded
    queue.wait_for(99)
    queue.wait_for(1)
    assert queue.host_us == 90
    assert queue.all() == {"after": (95, 105)}


def test_the_host_launches_nothing_while_it_waits(queue: Recorded) -> None:
    queue.run("first", A, 100)
    queue.synchronize(B)
    assert queue.host_us == 0
    queue.synchronize(A)
    assert queue.host_us == 105
    queue.run("second", B, 1)
    queue.copy(A, 9, over_link=True, blocking=True)
    assert queue.host_us == 114
    assert queue.spans["second"] == (110, 111)
    with pytest.raises(KeyError):
        queue.elapsed_ms(1, 2)


shares = st.sampled_from([0.0, 0.1, 0.5, 1.0])
work = st.tuples(
    st.sampled_from(["kernel", "copy", "inside", "sync", "event", "wait"]),
    st.sampled_from([DEFAULT, A, B, C]),
    st.integers(0, 50),
    st.tuples(shares, shares, shares),
)


@given_daily(40, 100, st.lists(work, max_size=30))
def test_no_part_does_more_than_it_can_and_nothing_is_slower_than_one_after_another(
    program: list[tuple[str, int, int, tuple[float, float, float]]],
) -> None:
    queue = Recorded()
    needed: Counter[str] = Counter()
    serial = 0.0
    last: dict[int, int] = {}
    order: list[tuple[int, int]] = []
    for number, (kind, stream, time_us, needs) in enumerate(program):
        host = queue.host_us
        if kind == "kernel":
            demands = dict(zip(("valu", "dram", SLOTS), needs, strict=True))
            queue.run(f"{number}", stream, time_us, demands)
            needed.update({part: time_us * share for part, share in demands.items()})
            serial += LAUNCH_US + time_us
        elif kind == "sync":
            queue.synchronize(stream)
        elif kind == "event":
            queue.record(-1, stream)
        elif kind == "wait":
            queue.wait(stream, -1)
        else:
            queue.copy(stream, time_us, kind == "copy", blocking=False)
            needed["link" if kind == "copy" else "dram"] += time_us
            serial += time_us
        queue.record(number, stream)
        if stream in last:
            order.append((last[stream], number))
        last[stream] = number
        assert queue.host_us >= host
    queue.synchronize()
    assert queue.host_us <= serial + 1e-6
    assert all(queue.host_us >= time_us - 1e-6 for time_us in needed.values())
    assert all(queue.elapsed_ms(before, after) >= 0 for before, after in order)
    for name, (start, end) in queue.all().items():
        assert end - start >= program[int(name)][2] - 1e-6
        assert start >= LAUNCH_US
