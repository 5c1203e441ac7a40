"""Does the command queue order launches and charge launch overhead as a formula says?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
