"""Does the queue of one stream order launches and charge launch overhead as a formula says?"""

import pytest
from hypothesis import strategies as st

from gpusim.jobs.host.queue import DEFAULT, SLOTS, StreamQueue
from gpusim.model.core.gpu_spec import HostLinkSpec
from tests.support.daily import given_daily

MICROSECONDS = st.integers(0, 1000)
COMMANDS = st.lists(st.tuples(MICROSECONDS, st.booleans()), min_size=1, max_size=6)


def naive_times(launch_us: float, commands: list[tuple[int, bool]]) -> list[tuple[float, float, float]]:
    """Turn, start and end of commands that run one after another; each kernel pays its launch."""
    times: list[tuple[float, float, float]] = []
    now = 0.0
    for took_us, copies in commands:
        start = now + (0.0 if copies else launch_us)
        times.append((now, start, start + took_us))
        now = start + took_us
    return times


@given_daily(30, 100, MICROSECONDS, COMMANDS)
def test_a_queue_in_order_is_one_stream(launch_us: int, commands: list[tuple[int, bool]]) -> None:
    queue = StreamQueue(launch_us)
    for index, (us, copies) in enumerate(commands):
        if copies:
            queue.copy(DEFAULT, us, over_link=True, blocking=False, name=str(index), copied_bytes=7)
        else:
            queue.kernel(DEFAULT, us, name=str(index), place="conv1 forward")
    queue.finish()
    assert [(t.launched_us, t.started_us, t.ended_us) for t in queue.times] == naive_times(launch_us, commands)
    assert [t.name for t in queue.times] == [str(index) for index in range(len(commands))]
    assert [t.copied_bytes for t in queue.times] == [7 * copies for _, copies in commands]
    assert all((t.place, t.stream) == ("" if t.copied_bytes else "conv1 forward", DEFAULT) for t in queue.times)


def test_dependent_launches_pay_every_overhead() -> None:
    queue = StreamQueue(5.0)
    for time_us in (10.0, 20.0):
        queue.kernel(DEFAULT, time_us)
    queue.finish()
    assert queue.times[-1].ended_us == 5 + 10 + 5 + 20


def test_independent_launches_hide_the_overhead() -> None:
    queue = StreamQueue(5.0)
    for stream, time_us in ((1, 10.0), (2, 20.0)):
        queue.new_stream(stream, blocking=False)
        queue.kernel(stream, time_us, {SLOTS: 1.0})
    queue.finish()
    assert queue.times[-1].ended_us == 5 + 10 + 20


@given_daily(30, 100, st.lists(st.floats(0.0, 1e7), min_size=1, max_size=20))
def test_times_far_from_the_start_come_to_an_end(times_us: list[float]) -> None:
    """A kernel's end is not missed where the clock is too large to add what rounding has left of it."""
    queue = StreamQueue(0.1)
    for time_us in times_us:
        queue.kernel(DEFAULT, time_us)
        queue.kernel(1, 1e9, {"dram": 0.7})
        queue.kernel(2, time_us, {"dram": 0.7})
    queue.finish()
    assert len(queue.times) == 3 * len(times_us)


def test_a_copy_takes_its_latency_and_its_packets() -> None:
    link = HostLinkSpec(bandwidth_gb_s=10, payload_bytes=100, overhead_bytes=25, latency_us=3)
    assert link.copy_us(100_000) == pytest.approx(3 + 125_000 / 10_000)
    assert link.copy_us(1) == pytest.approx(3 + 26 / 10_000)  # a packet is a packet, however little it holds
    default = HostLinkSpec()
    gb_s = 1 << 30, default.copy_us(1 << 30) * 1e3
    assert 14.0 < gb_s[0] / gb_s[1] < 15.0


def test_a_marked_command_tells_its_times() -> None:
    queue = StreamQueue(launch_us=5.0)
    queue.copy(1, 3.0, over_link=True, blocking=True)
    queue.kernel(1, 10.0)
    queue.mark(7, 1)
    queue.kernel(1, 2.0)
    queue.mark(8, 1)
    queue.record(9, 1)
    assert queue.times_us(7) == (3.0, 3.0, 8.0, 18.0)
    assert queue.host_us == 18.0  # to ask is to wait
    assert queue.times_us(8) == (3.0, 18.0, 23.0, 25.0)
    assert queue.times_us(9) == (3.0, 25.0, 25.0, 25.0)
    queue.kernel(2, 1.0)
    queue.wait(2, 8)
    queue.kernel(2, 1.0)
    queue.mark(8, 2)
    assert queue.times_us(8)[0] == 25.0
