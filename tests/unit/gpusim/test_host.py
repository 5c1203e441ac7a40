"""Does the command queue order launches and charge launch overhead as a formula says?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.gpu_spec import HostLinkSpec
from gpusim.host.queue import Command, run_queue

MICROSECONDS = st.integers(0, 1000)


def naive_ends(launch_us: float, kernels: list[tuple[int, bool]]) -> list[float]:
    """When each kernel ends: the command processor works ahead of the kernel that runs, but not past a barrier."""
    ends: list[float] = []
    processor_free = 0.0
    gpu_free = 0.0
    for kernel_us, barrier in kernels:
        begin = max(processor_free, gpu_free if barrier and ends else 0.0)
        start = max(begin + launch_us, gpu_free)
        processor_free = start
        gpu_free = start + kernel_us
        ends.append(gpu_free)
    return ends


@given(MICROSECONDS, st.lists(st.tuples(MICROSECONDS, st.booleans()), min_size=1, max_size=6))
def test_queue_equals_formula(launch_us: int, kernels: list[tuple[int, bool]]) -> None:
    order: list[int] = []

    def kernel(index: int, time_us: int):  # type: ignore[no-untyped-def]
        def run() -> float:
            order.append(index)
            return time_us

        return run

    commands = [Command(f"k{i}", kernel(i, t), barrier) for i, (t, barrier) in enumerate(kernels)]
    timelines = run_queue(launch_us, commands)
    assert order == list(range(len(kernels)))
    assert [t.name for t in timelines] == [c.name for c in commands]
    assert [t.ended_us for t in timelines] == naive_ends(launch_us, kernels)


def test_dependent_launches_pay_every_overhead() -> None:
    timelines = run_queue(5.0, [Command("a", lambda: 10.0, True), Command("b", lambda: 20.0, True)])
    assert timelines[-1].ended_us == 5 + 10 + 5 + 20


def test_independent_launches_hide_the_overhead() -> None:
    timelines = run_queue(5.0, [Command("a", lambda: 10.0, False), Command("b", lambda: 20.0, False)])
    assert timelines[-1].ended_us == 5 + 10 + 20


COMMANDS = st.lists(st.tuples(MICROSECONDS, st.booleans(), st.booleans()), min_size=1, max_size=6)


def naive_times(launch_us: float, commands: list[tuple[int, bool, bool]]) -> list[tuple[float, float]]:
    """Start and end of each command: kernels wait for the kernel before them, copies for the copy before them, and
    whatever has a barrier for the command before it; the command processor goes on when a command has started."""
    times: list[tuple[float, float]] = []
    processor_free = 0.0
    free = {False: 0.0, True: 0.0}
    for took_us, barrier, copies in commands:
        begin = max(processor_free, times[-1][1] if barrier and times else 0.0)
        start = max(begin + (0.0 if copies else launch_us), free[copies])
        processor_free, free[copies] = start, start + took_us
        times.append((start, start + took_us))
    return times


@given(MICROSECONDS, COMMANDS)
def test_copies_overlap_kernels_unless_a_barrier_forbids_it(
    launch_us: int, commands: list[tuple[int, bool, bool]]
) -> None:
    queue = [
        Command(str(i), lambda us=us: float(us), barrier, copied_bytes=1 if copies else 0)
        for i, (us, barrier, copies) in enumerate(commands)
    ]
    times = {int(t.name): (t.started_us, t.ended_us) for t in run_queue(launch_us, queue)}
    assert [times[i] for i in range(len(commands))] == naive_times(launch_us, commands)


@given(st.integers(0, 5), st.integers(1, 6))
def test_a_command_that_is_not_to_happen_ends_the_queue(before: int, after: int) -> None:
    ran: list[int] = []

    def command(index: int) -> Command:
        return Command(str(index), lambda: ran.append(index) or (2.0 if index < before else None))  # type: ignore[func-returns-value]

    times = run_queue(5.0, [command(index) for index in range(before + after)])
    assert ran == list(range(before + 1))
    assert [t.ended_us for t in times] == [7.0 * (index + 1) for index in range(before)]


def test_a_copy_takes_its_latency_and_its_packets() -> None:
    link = HostLinkSpec(bandwidth_gb_s=10, payload_bytes=100, overhead_bytes=25, latency_us=3)
    assert link.copy_us(100_000) == pytest.approx(3 + 125_000 / 10_000)
    assert link.copy_us(1) == pytest.approx(3 + 26 / 10_000)  # a packet is a packet, however little it holds
    default = HostLinkSpec()
    gb_s = 1 << 30, default.copy_us(1 << 30) * 1e3
    assert 14.0 < gb_s[0] / gb_s[1] < 15.0


def test_an_error_of_a_kernel_comes_through_as_it_is() -> None:
    class Fault(Exception):
        def __init__(self, code: int, text: str) -> None:
            super().__init__(text)

    fault = Fault(1, "kernel fault")

    def run() -> float:
        raise fault

    with pytest.raises(Fault) as caught:
        run_queue(5.0, [Command("first", lambda: 1.0, True), Command("second", run, True)])
    assert caught.value is fault
