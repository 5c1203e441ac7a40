"""Is the error that is asked of a network shared out so that it is that of all launches together?"""

from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.jobs.networks.execution import MOST_ERROR, StepResult, allotted_errors
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.model.sampling.spec import SamplingSpec
from workloads.operators.operator import OperatorCost

STEP: Any = None  # which one it is does not matter


def class_of(number: int) -> LaunchClass:
    return LaunchClass(f"k{number}", "", b"", (), (), (), "", True)


def step(operations: int, *classes: int) -> StepResult:
    """A step of so much work, shared equally by launches of these classes."""
    return StepResult(STEP, (), (OperatorCost(0, 0, 0, 0, 0, operations),), tuple(map(class_of, classes)))


def shares(steps: list[StepResult]) -> dict[LaunchClass, float]:
    """Of all time, what the launches of each class take."""
    time: dict[LaunchClass, float] = {}
    for one in steps:
        for each in one.classes:
            time[each] = time.get(each, 0.0) + one.work[0].operations / len(one.classes)
    whole = sum(time.values())
    return {each: part / whole for each, part in time.items()}


STEPS = st.lists(
    st.builds(
        lambda operations, classes: step(operations, *classes),
        st.integers(1, 10**9),
        st.lists(st.integers(0, 5), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=8,
)


@given(STEPS, st.floats(1e-4, 0.3))
def test_errors_together_are_the_one_asked_for(steps: list[StepResult], error: float) -> None:
    found, part = allotted_errors(steps, SamplingSpec(error=error)), shares(steps)
    assert found.keys() == part.keys()
    together = sqrt(sum((found[one] * part[one]) ** 2 for one in part))
    most = max(error, MOST_ERROR)
    if all(value < most for value in found.values()):
        assert together == pytest.approx(error)
    assert together <= error * (1 + 1e-9)
    for one, value in found.items():
        assert value == pytest.approx(min(most, error / sqrt(part[one])))


def test_a_class_alone_has_the_error_asked_for() -> None:
    for error in (0.005, 0.05, 0.2):
        assert allotted_errors([step(10, 1), step(30, 1, 1)], SamplingSpec(error=error)) == {
            class_of(1): pytest.approx(error)
        }


def test_a_hundredth_of_the_time_may_be_ten_times_as_far_off_but_not_beyond_the_most() -> None:
    steps = [step(98, 0), step(1, 1), step(1, 2)]
    found = allotted_errors(steps, SamplingSpec(error=0.002))
    assert found[class_of(1)] == found[class_of(2)] == pytest.approx(0.02)
    assert allotted_errors(steps, SamplingSpec(error=0.01))[class_of(1)] == MOST_ERROR


def test_what_takes_no_time_and_what_is_not_sampled() -> None:
    assert allotted_errors([step(0, 1), step(5, 2)], SamplingSpec(error=0.01))[class_of(1)] == 0.01
    assert allotted_errors([step(5, 1)], None) == {}
