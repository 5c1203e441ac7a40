"""Is the error that is asked of a network shared out so that it is that of all launches together?"""

from collections.abc import Mapping
from math import sqrt
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusim.jobs.networks.execution import MOST_ERROR, StepResult, rung_below, sampling_of_classes
from gpusim.jobs.networks.execution import allotted_errors as allotted
from gpusim.jobs.networks.launches import LaunchClass
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


def allotted_errors(steps: list[StepResult], error: float) -> Mapping[LaunchClass, float]:
    return allotted([(one, step.of_launch) for step in steps for one in step.classes], error)


@given(STEPS, st.floats(1e-4, 0.3))
def test_errors_together_are_the_one_asked_for(steps: list[StepResult], error: float) -> None:
    found, part = allotted_errors(steps, error), shares(steps)
    assert found.keys() == part.keys()
    together = sqrt(sum((found[one] * part[one]) ** 2 for one in part))
    most = max(error, MOST_ERROR)
    assert together <= error * (1 + 1e-3)
    for one, value in found.items():
        exact = min(most, error / sqrt(part[one]))
        assert exact / sqrt(2) * (1 - 1e-3) <= value <= exact * (1 + 1e-3), "rounded down to a rung"
        assert value == rung_below(exact)


def test_the_ladder_s_errors_are_those_it_rounds_to() -> None:
    rungs = {rung_below(MOST_ERROR * 2.0 ** (-n / 8)) for n in range(80)}
    assert len(rungs) == 21 and {rung_below(one) for one in rungs} == rungs and MOST_ERROR in rungs


def test_a_class_alone_has_the_error_asked_for() -> None:
    for error in (0.00625, 0.05, 0.2):
        assert allotted_errors([step(10, 1), step(30, 1, 1)], error) == {class_of(1): error}


def test_a_hundredth_of_the_time_may_be_ten_times_as_far_off_but_not_beyond_the_most() -> None:
    steps = [step(98, 0), step(1, 1), step(1, 2)]
    found = allotted_errors(steps, 0.00126)
    assert found[class_of(1)] == found[class_of(2)] == 0.0125
    assert allotted_errors(steps, 0.01)[class_of(1)] == MOST_ERROR


def test_what_takes_no_time_and_what_is_not_sampled() -> None:
    assert allotted_errors([step(0, 1), step(5, 2)], 0.0125)[class_of(1)] == 0.0125
    assert sampling_of_classes([(class_of(1), 5.0)], None) == {}
