"""When does a program's work happen on the simulated GPU? Against the rules, one by one and together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.hip.clock import DEFAULT, StreamClock

LAUNCH_US = 5.0
A, B, C = 0x10, 0x20, 0x30


@pytest.fixture
def clock() -> StreamClock:
    clock = StreamClock(LAUNCH_US)
    clock.new_stream(A, blocking=False)
    clock.new_stream(B, blocking=False)
    clock.new_stream(C, blocking=True)
    return clock


def test_a_stream_is_in_order(clock: StreamClock) -> None:
    assert clock.kernel(A, 10) == (5, 15)
    assert clock.kernel(A, 10) == (20, 30)
    clock.record(1, A)
    clock.copy(A, 7, over_link=True, blocking=False)
    clock.record(2, A)
    assert clock.elapsed_ms(1, 2) == pytest.approx(0.007)


def test_kernels_of_several_streams_follow_one_another_without_a_gap(clock: StreamClock) -> None:
    assert clock.kernel(A, 10) == (5, 15)
    assert clock.kernel(B, 10) == (15, 25)  # its launch hides behind the other kernel


def test_copies_go_on_beside_kernels(clock: StreamClock) -> None:
    clock.kernel(A, 100)
    clock.copy(B, 40, over_link=True, blocking=False)
    clock.record(1, B)
    clock.record(2, A)
    assert clock.elapsed_ms(1, 2) == pytest.approx(0.065)
    clock.copy(B, 10, over_link=False, blocking=False)  # within the device: after the kernel
    clock.record(3, B)
    assert clock.elapsed_ms(2, 3) == pytest.approx(0.010)


def test_two_copies_share_the_link(clock: StreamClock) -> None:
    clock.copy(A, 40, over_link=True, blocking=False)
    clock.copy(B, 40, over_link=True, blocking=False)
    clock.record(1, A)
    clock.record(2, B)
    assert clock.elapsed_ms(1, 2) == pytest.approx(0.040)


def test_the_default_stream_waits_for_blocking_streams_alone(clock: StreamClock) -> None:
    clock.copy(A, 500, over_link=True, blocking=False)
    clock.kernel(C, 50)
    assert clock.kernel(DEFAULT, 10) == (60, 70)
    assert clock.kernel(C, 10) == (75, 85)
    assert clock.kernel(B, 1) == (85, 86)


def test_an_event_orders_streams(clock: StreamClock) -> None:
    clock.copy(A, 90, over_link=True, blocking=False)
    clock.record(1, A)
    clock.wait(B, 1)
    assert clock.kernel(B, 10) == (95, 105)
    clock.wait(A, 99)  # never recorded


def test_the_host_launches_nothing_while_it_waits(clock: StreamClock) -> None:
    clock.kernel(A, 100)
    clock.synchronize(B)
    assert clock.host_us == 0
    clock.synchronize(A)
    assert clock.host_us == 105
    assert clock.kernel(B, 1) == (110, 111)
    clock.copy(A, 9, over_link=True, blocking=True)
    assert clock.host_us == 114
    with pytest.raises(KeyError):
        clock.elapsed_ms(1, 2)


work = st.tuples(
    st.sampled_from(["kernel", "copy", "inside", "sync"]), st.sampled_from([DEFAULT, A, B, C]), st.integers(0, 50)
)


@given(st.lists(work, max_size=30))
def test_no_two_kernels_at_once_and_no_stream_out_of_order(program: list[tuple[str, int, int]]) -> None:
    clock = StreamClock(LAUNCH_US)
    for stream, blocking in ((A, False), (B, False), (C, True)):
        clock.new_stream(stream, blocking)
    gpu_free, last = 0.0, {}
    for number, (kind, stream, time_us) in enumerate(program):
        host = clock.host_us
        if kind == "kernel":
            start, end = clock.kernel(stream, time_us)
            assert start >= max(gpu_free, host + LAUNCH_US) and end == start + time_us
            gpu_free = end
        elif kind == "sync":
            clock.synchronize(stream)
        else:
            clock.copy(stream, time_us, kind == "copy", blocking=False)
        clock.record(number, stream)
        if stream in last:
            assert clock.elapsed_ms(last[stream], number) >= 0
        last[stream] = number
        assert clock.host_us >= host
    clock.synchronize()
    assert clock.host_us >= gpu_free
