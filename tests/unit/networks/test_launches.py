"""Are launches of one class those that take the same time, and no others?"""

from collections.abc import Callable

import numpy as np
import pytest

from gpusim.networks.launches import LaunchClass, class_of_values, deciding, has_tables, launch_class
from isa.device_memory import DeviceMemory
from workloads.operators.activation import ActivationForward
from workloads.operators.conv_algorithms import algorithm
from workloads.operators.convolution import Convolution
from workloads.operators.operator import GpuFacts
from workloads.operators.pooling import Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import Primitive, place
from workloads.operators.softmax import SoftmaxLossForward
from workloads.operators.tensor import Operand, Tensor

FACTS = GpuFacts(36, 65536)
SHAPE = (2, 3, 8, 8)


def classes(primitive: Primitive, shift: int = 0, in_place: bool = False, made_by: str = "") -> list[LaunchClass]:
    """Of its launches, over tensors that begin `shift` bytes into an allocation."""
    memory, tensors = DeviceMemory(1 << 22), {}
    held: dict[str, Operand] = {**primitive.takes, **primitive.gives}
    for name, operand in held.items():
        address = memory.allocate(operand.size_bytes + shift, name).address + shift
        tensors[name] = Tensor(memory, address, operand.shape, operand.dtype)
    if in_place:
        tensors["y"] = tensors["x"]
    operator = place(primitive, tensors, FACTS)
    values = class_of_values(primitive, made_by)
    return [launch_class(launch, values, True) for launch in operator.launches]


RELU = ActivationForward("relu", SHAPE)


def test_where_tensors_lie_does_not_matter_but_for_their_place_in_a_line() -> None:
    assert classes(RELU) == classes(RELU, shift=4096) == classes(RELU, shift=64)
    assert classes(RELU) != classes(RELU, shift=16)


@pytest.mark.parametrize(
    "other",
    [
        lambda: classes(RELU, in_place=True),
        lambda: classes(ActivationForward("tanh", SHAPE)),
        lambda: classes(ActivationForward("relu", (2, 3, 8, 9))),  # as many workgroups
    ],
)
def test_what_decides_the_time_makes_another_class(other: Callable[[], list[LaunchClass]]) -> None:
    assert classes(RELU) != other()


def test_whole_numbers_belong_to_who_made_them() -> None:
    pooling = Pooling("max", (2, 2), (2, 2))
    assert classes(PoolingForward(pooling, SHAPE), made_by="a") == classes(PoolingForward(pooling, SHAPE), made_by="b")
    for primitive in (PoolingBackward(pooling, SHAPE), SoftmaxLossForward((4, 10))):
        assert classes(primitive, made_by="a") == classes(primitive, made_by="a") != classes(primitive, made_by="b")


@pytest.mark.parametrize("name", ["ellpack_dib", "ellpack_dib_software"])
def test_zeros_that_are_skipped_belong_to_who_made_them(name: str) -> None:
    windows = Convolution(SHAPE, 4, (3, 3), padding=(1, 1, 1, 1))
    sparse, dense = (algorithm(one, windows).forward(windows) for one in (name, "implicit"))
    assert list(deciding(sparse)) == ["x"] and has_tables(sparse)
    assert not set(classes(sparse, made_by="a")) & set(classes(sparse, made_by="b"))
    assert classes(dense, made_by="a") == classes(dense, made_by="b")


def test_tables_that_launches_make_follow_from_the_windows() -> None:
    def forward(**values: tuple) -> list[LaunchClass]:
        windows = Convolution(SHAPE, 4, **{"kernel": (3, 3), "padding": (1, 1, 1, 1), **values})
        return classes(algorithm("implicit", windows).forward(windows))

    assert forward() == forward()
    assert not set(forward()) & set(forward(kernel=(1, 9), padding=(0, 4, 0, 4))), "as many steps, at other places"


def test_a_class_is_the_same_text_in_every_process() -> None:
    (one,) = classes(RELU)
    assert "0x" not in repr(one) and one == eval(repr(one), {"LaunchClass": LaunchClass, "array": np.array})
