"""What follows the last jump is counted up to the last dispatch: after it compute units are empty in part."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.model.sampling.sampler import _LaunchSteering
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.work import WorkgroupStratum

SPEC = SamplingSpec()
LAP = 800  # cycles


def counted(dispatched: list[int]) -> int:
    """Return the cycles that are counted of a stretch of workgroups that are dispatched at these cycles."""
    launch = SimpleNamespace(now=0, position=0)
    course = SimpleNamespace(_launch=launch, _spec=SPEC, _look=lambda: np.array([launch.now]))
    looks = _LaunchSteering._tested(course, WorkgroupStratum(0, len(dispatched)), LAP)  # type: ignore[arg-type]
    try:
        while True:
            launch.now = next(looks)
            launch.position = sum(at <= launch.now for at in dispatched)
    except StopIteration as end:
        return int(end.value[0])


@pytest.mark.parametrize(
    "dispatched",
    [[1000] * 10, [10, *[1000] * 9], [100 * k for k in range(1, 11)], [1000]],
    ids=["in one burst", "one before the others", "evenly", "one alone"],
)
def test_nothing_that_follows_the_last_dispatch_is_counted(dispatched: list[int]) -> None:
    assert 1000 - 2 * LAP / SPEC.windows < counted(dispatched) < 1000


def test_nothing_is_counted_where_all_are_dispatched_before_the_first_look() -> None:
    assert counted([1, 2, 3]) == 0 == counted([])
