"""After a skip an interval begins when no workgroup runs any more that ran beside those of the place before."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from gpusim.model.sampling.sampler import FIRST_STEP_CYCLES, _LaunchSteering
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.work import WorkgroupStratum

LAST = 50  # cycles of a workgroup, in waves of four that overlap by halves


class _Machine:
    """Four slots, whose workgroups take some time; the next begins where one ends."""

    def __init__(self, time: int, workgroups: int) -> None:
        self.now, self._time, self._workgroups = 1000, time, workgroups

    @property
    def position(self) -> int:
        return min(self._workgroups, 4 + 4 * (self.now // self._time))

    @property
    def oldest_start(self) -> int:
        return self.now // self._time * self._time

    @property
    def context(self) -> SimpleNamespace:
        return SimpleNamespace(oldest_workgroup=10**9)  # executed all, long before it ends


def waited(machine: _Machine, generations: int) -> int:
    course = _LaunchSteering.__new__(_LaunchSteering)
    course._launch, course._spec = machine, SamplingSpec()  # type: ignore[assignment]
    begun = machine.now
    looks: Iterator[int] = course._replaced(WorkgroupStratum(0, machine._workgroups), generations)
    for cycle in looks:
        machine.now = cycle
    return machine.now - begun


@pytest.mark.parametrize("time", [600, 3000])
def test_a_generation_is_waited_for_after_another(time: int) -> None:
    to_end = -1000 % time
    seen = max(FIRST_STEP_CYCLES, time // 32)
    assert to_end <= waited(_Machine(time, 10**6), 1) <= to_end + seen
    assert to_end + time <= waited(_Machine(time, 10**6), 2) <= to_end + time + 3 * seen


def test_nothing_is_waited_for_where_all_are_dispatched() -> None:
    assert waited(_Machine(600, 8), 2) == 0
