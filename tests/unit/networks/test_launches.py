"""Are launches of one class those that take the same time, and no others?"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpusim.jobs.networks.contents import deciding
from gpusim.jobs.networks.execution import StepResult
from gpusim.jobs.networks.launches import (
    TURNED_OVER,
    LaunchClass,
    PrecedingLaunch,
    class_after,
    class_of_values,
    find_launches_in_l2,
    has_tables,
    launch_class,
)
from gpusim.jobs.networks.pieces import pieces
from gpusim.jobs.networks.steps import StepOutcome
from gpusim.model.sampling.spec import SamplingSpec
from isa.device_memory import DeviceMemory
from workloads.operators.activation import ActivationForward
from workloads.operators.conv_algorithms import algorithm
from workloads.operators.convolution import Convolution
from workloads.operators.operator import GpuFacts
from workloads.operators.pooling import Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import Primitive, TensorOperator, place
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
    return [launch_class(operator, launch, values, True) for launch in operator.launches]


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


def operator_of(primitive: Primitive) -> TensorOperator:
    memory = DeviceMemory(1 << 24)
    held: dict[str, Operand] = {**primitive.takes, **primitive.gives}
    return place(primitive, {name: Tensor.allocate(memory, operand, name) for name, operand in held.items()}, FACTS)


def test_of_launches_with_tables_those_that_make_them_are_known() -> None:
    windows = Convolution((2, 8, 9, 9), 4, (3, 3), stride=(2, 2))
    forward, backward = algorithm("implicit", windows), algorithm("implicit", windows).backward_data(windows)
    assert list(operator_of(forward.forward(windows)).decisive) == [0]
    assert list(operator_of(backward).decisive) == [0, 1, 2, 3], "a table for each part, and then the products"
    assert list(operator_of(forward.backward_weights(windows)).decisive) == [0]
    assert list(operator_of(algorithm("im2col", windows).forward(windows)).decisive) == []
    sparse = operator_of(algorithm("ellpack_dib", windows).forward(windows))
    assert list(sparse.decisive) == list(range(len(sparse.launches) - 1))


def test_launches_without_tables_are_pieces_of_their_own() -> None:
    square = Convolution((2, 8, 8, 8), 8, (3, 3), padding=(1, 1, 1, 1))
    operators = tuple(
        operator_of(one) for one in (algorithm("winograd_2x2", square).forward(square), RELU,
                                     algorithm("implicit", square).forward(square))
    )  # fmt: skip
    count = [len(one.launches) for one in operators]
    assert count == [4, 1, 2]
    step: Any = None
    result = StepResult(step, (), (), (), frozenset({1, 3, 4, 5, 6}), {3: SamplingSpec(error=0.5)})
    found = pieces(operators, result)
    assert [(one.first, one.numbers) for one in found] == [(0, {1}), (0, {3}), (4, {0}), (5, {0, 1})]
    assert [one.operator for one in found] == [operators[n] for n in (0, 0, 1, 2)]
    assert found[1].sampling == {3: SamplingSpec(error=0.5)} and not found[0].sampling
    facts: Any = object()
    assert found[3].in_step(StepOutcome({0: facts, 1: facts})).facts.keys() == {5, 6}


def test_tables_that_launches_make_follow_from_the_windows() -> None:
    def forward(**values: tuple) -> list[LaunchClass]:
        windows = Convolution(SHAPE, 4, **{"kernel": (3, 3), "padding": (1, 1, 1, 1), **values})
        return classes(algorithm("implicit", windows).forward(windows))

    assert forward() == forward()
    assert not set(forward()) & set(forward(kernel=(1, 9), padding=(0, 4, 0, 4))), "as many steps, at other places"


def test_a_class_is_the_same_text_in_every_process() -> None:
    (one,) = classes(RELU)
    assert "0x" not in repr(one) and one == eval(repr(one), {"LaunchClass": LaunchClass, "array": np.array})


L2_BYTES = 1000


def moving(*sizes: float) -> list[PrecedingLaunch]:
    """Launches that move so many bytes each, in order."""
    (one,) = classes(RELU)
    return [PrecedingLaunch(operator_of(RELU), 0, one._replace(kernel=f"k{n}"), size) for n, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([], 0),
        ([600], 1),
        ([600, 600], 2),
        ([600, 600, 600], 3),  # 1,800 bytes: some of the first one's lines may be left
        ([600, 600, 600, 600], 4),  # it ends with the one that makes it 2,000
        ([600, 600, 600, 600, 600], 4),
        ([9e9, 2000], 1),
        ([9e9, 1999], 2),
        ([5, 2001, 5], 2),
        ([9e9, 0, 0, 0], 4),
    ],
)
def test_what_may_be_in_l2_goes_back_until_it_was_turned_over_and_no_further(sizes: list[float], found: int) -> None:
    chain = moving(*sizes)
    held = find_launches_in_l2(chain, L2_BYTES)
    assert held == tuple(chain[len(chain) - found :])
    assert TURNED_OVER == 2
    if found < len(chain):
        assert sum(one.moved_bytes for one in held) >= TURNED_OVER * L2_BYTES
    assert sum(one.moved_bytes for one in held[1:]) < TURNED_OVER * L2_BYTES, "one fewer would not do"


def between(memory: DeviceMemory, read: Tensor, written: Tensor, function: str = "relu") -> PrecedingLaunch:
    """A launch that reads one tensor and writes another one."""
    operator = place(ActivationForward(function, SHAPE), {"x": read, "y": written}, FACTS)  # type: ignore[arg-type]
    (launch,) = operator.launches
    return PrecedingLaunch(operator, 0, launch_class(operator, launch, "", True), 1.0)


def test_what_was_before_and_on_which_memory_tells_launches_apart() -> None:
    memory = DeviceMemory(1 << 22)
    x, y, z, w, v = (Tensor.allocate(memory, Operand(SHAPE), name) for name in "xyzwv")
    last = between(memory, y, z)
    behind = between(memory, x, y)  # writes what the last one reads
    assert class_after([behind], last) == class_after([between(memory, x, y)], last)
    shifted = class_after([between(memory, w, v)], between(memory, v, x))
    assert class_after([behind], last) == shifted, "other memory, shared alike"
    others = [
        class_after([], last),
        class_after([between(memory, x, w)], last),  # writes what nobody reads
        class_after([between(memory, z, y)], last),  # reads what the last one writes
        class_after([between(memory, x, y, "tanh")], last),
        class_after([behind, behind], last),
        class_after([between(memory, w, x), behind], last),
    ]
    assert len({class_after([behind], last), *others}) == 1 + len(others)
    assert "0x" not in repr(others), "the same in every process and run"


def test_memory_that_arrays_share_in_part_is_shared_where_a_launch_is_timed() -> None:
    memory = DeviceMemory(1 << 22)
    whole = Tensor.allocate(memory, Operand((2, *SHAPE)), "both")
    first = Tensor(memory, whole.address, SHAPE)
    x, y = (Tensor.allocate(memory, Operand(SHAPE), name) for name in "xy")
    shifted = [Tensor(memory, whole.address + 256 * n, SHAPE) for n in (0, 1, 2)]
    found = {class_after([between(memory, x, one)], between(memory, first, y)) for one in (*shifted, y)}
    assert len(found) == 4


def test_what_was_before_those_before_makes_no_class() -> None:
    memory = DeviceMemory(1 << 22)
    x, y, z = (Tensor.allocate(memory, Operand(SHAPE), name) for name in "xyz")
    one = between(memory, x, y)
    far = one._replace(one=one.one._replace(after=("something",)))
    last = between(memory, y, z)
    assert class_after([far], last) == class_after([one], last)
