"""Is a launch that is timed in a memory of its own the same one, wherever its arrays lay before?"""

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from gpusim.jobs.networks.contents import deciding, fill_arrays
from gpusim.jobs.networks.launches import LaunchClass, launch_class
from gpusim.jobs.networks.placement import BLOCK_BYTES, PAGE_BYTES, LaunchPlacement, place_arrays
from isa.device_memory import DeviceMemory, successive_addresses
from isa.trace import LINE_BYTES
from tests.support.daily import given_daily
from workloads.operators.activation import ActivationForward
from workloads.operators.batch_norm import BatchNormTraining
from workloads.operators.conv_algorithms import algorithm
from workloads.operators.convolution import Convolution
from workloads.operators.operator import GpuFacts
from workloads.operators.pooling import Pooling, PoolingBackward
from workloads.operators.primitive import Primitive, TensorOperator, place
from workloads.operators.tensor import Operand, Tensor

FACTS = GpuFacts(36, 65536)
SHAPE = (4, 3, 8, 8)
WINDOWS = Convolution(SHAPE, 4, (3, 3), padding=(1, 1, 1, 1))
IM2COL = algorithm("im2col", WINDOWS).forward(WINDOWS)


def operator_over(primitive: Primitive, gaps: list[int], order: int = 1) -> TensorOperator:
    """An operator whose tensors lie in some order, so many blocks of 256 bytes apart."""
    memory, tensors = DeviceMemory(1 << 24), dict[str, Tensor]()
    operands: dict[str, Operand] = {**primitive.takes, **primitive.gives, **primitive.workspace}
    start = memory.allocate(1 << 23, "plan").address
    for number, name in enumerate(list(operands)[::order]):
        start += BLOCK_BYTES * gaps[number % len(gaps)]
        tensors[name] = Tensor(memory, start, operands[name].shape, operands[name].dtype)
        start += -(-operands[name].size_bytes // BLOCK_BYTES) * BLOCK_BYTES
    return place(primitive, tensors, FACTS)


def classes_of(operator: TensorOperator, draw: int = 0) -> list[LaunchClass]:
    return [launch_class(operator, launch, "", True, draw=draw) for launch in operator.launches]


PRIMITIVES = {
    "relu": ActivationForward("relu", SHAPE),
    "im2col": IM2COL,
    "implicit": algorithm("implicit", WINDOWS).forward(WINDOWS),
    "winograd": algorithm("winograd_2x2", WINDOWS).forward(WINDOWS),
    "sparse": algorithm("ellpack_dib", WINDOWS).forward(WINDOWS),
    "pooling": PoolingBackward(Pooling("max", (2, 2), (2, 2)), SHAPE),
}


@pytest.mark.parametrize("name", PRIMITIVES)
@given_daily(20, 100, st.lists(st.integers(0, 300), min_size=1, max_size=5), st.sampled_from((1, -1)))
def test_where_arrays_lie_in_a_network_decides_nothing(name: str, gaps: list[int], order: int) -> None:
    one, other = operator_over(PRIMITIVES[name], [0]), operator_over(PRIMITIVES[name], gaps, order)
    assert classes_of(one) == classes_of(other)
    for launch, elsewhere in zip(one.launches, other.launches, strict=True):
        placements = [place_arrays([(one, launch)]), place_arrays([(other, elsewhere)])]
        moved = [p.move(each, each.memory) for p, each in zip(placements, (launch, elsewhere), strict=True)]
        assert moved[0].kernarg == moved[1].kernarg and moved[0].regions == moved[1].regions


def test_each_image_of_a_layer_is_the_same_launch() -> None:
    operator = operator_over(IM2COL, [7])
    found = classes_of(operator)
    assert len(found) > 4 > len(set(found)), "two launches an image, then the bias"


def test_arrays_follow_one_another_as_a_program_allocates_them() -> None:
    memory, sizes = DeviceMemory(1 << 20), [100, 4096, 8191, 1, 70_000]
    assert successive_addresses(sizes) == [memory.allocate(size, "a").address for size in sizes]
    operator = operator_over(PRIMITIVES["relu"], [3])
    placement = place_arrays([(operator, operator.launches[0])])
    memory = placement.allocate("gfx803", 0)
    assert [(one.address, one.size_bytes) for one in memory.allocations] == [
        (one.address, one.size_bytes) for one in placement.ranges
    ]
    assert [one.address for one in placement.ranges] == successive_addresses([1 * 4 * 768] * 2)


def test_a_pointer_keeps_its_place_in_a_line_and_its_distance_within_an_array() -> None:
    memory = DeviceMemory(1 << 22)
    whole = memory.allocate(1 << 20, "plan").address
    x = Tensor(memory, whole + 16, SHAPE)
    operator = place(ActivationForward("relu", SHAPE), {"x": x, "y": x}, FACTS)
    (launch,) = operator.launches
    (one,) = place_arrays([(operator, launch)]).ranges
    assert one.move(x.address) % LINE_BYTES == 16 and one.move(x.address + 99) - one.move(x.address) == 99
    assert one.lead_bytes == 16 and one.size_bytes == 16 + x.size_bytes


def test_draws_of_the_machine_have_other_places() -> None:
    operator = operator_over(IM2COL, [0])
    by_draw = [[place_arrays([(operator, one)], draw) for one in operator.launches] for draw in (0, 1, 2)]
    assert len({placements[0] for placements in by_draw}) == 3
    for placements in by_draw:
        for placement in placements:
            starts = [one.address for one in placement.ranges]
            ends = [one.address + one.size_bytes for one in placement.ranges]
            assert all(end < start for end, start in zip(ends, starts[1:], strict=False))
            assert all(start % PAGE_BYTES == 0 for start in starts)
            assert all(one.lead_bytes % BLOCK_BYTES == one.used % LINE_BYTES for one in placement.ranges)
    assert classes_of(operator, 1) == classes_of(operator, 1) != classes_of(operator, 2)


def filled(operator: TensorOperator, number: int = 0) -> tuple[DeviceMemory, LaunchPlacement]:
    launch = operator.launches[number]
    placement = place_arrays([(operator, launch)])
    memory = placement.allocate("gfx803", 0)
    fill_arrays(operator, launch, placement, memory)
    return memory, placement


def array(memory: DeviceMemory, placement: LaunchPlacement, tensor: Tensor) -> np.ndarray:
    moved = placement.find(tensor.address).move(tensor.address)
    return Tensor(memory, moved, tensor.shape, tensor.dtype).array


def test_made_up_values_follow_from_the_launch() -> None:
    """Not from the values of its network, of which a store knows nothing."""
    one, other = (operator_over(BatchNormTraining(SHAPE), gaps) for gaps in ([0], [9]))
    for tensor in other.tensors.values():
        tensor.array[...] = 7
    assert classes_of(one) == classes_of(other)
    for name in one.primitive.takes:
        if name in {n for n, t in one.tensors.items() if t.address in one.launches[0].pointers}:
            values = [array(*filled(each), each.tensors[name]) for each in (one, other)]
            assert np.array_equal(*values) and values[0].any(), name


def test_values_that_decide_the_time_are_the_network_s() -> None:
    operator = operator_over(PRIMITIVES["pooling"], [2])
    decide = deciding(operator.primitive)
    assert decide
    for name in decide:
        tensor = operator.tensors[name]
        tensor.array.reshape(-1)[:] = np.arange(tensor.array.size) % 4
        assert np.array_equal(array(*filled(operator), tensor), tensor.array)


def test_a_part_of_an_array_lies_where_the_whole_one_does() -> None:
    operator = operator_over(IM2COL, [1])
    x = operator.tensors["x"]
    first, later = (place_arrays([(operator, operator.launches[number])]) for number in (0, 4))
    assert later.find(x.address).used > first.find(x.address).used == x.address
    assert [(one.address, one.size_bytes) for one in first.ranges] == [
        (one.address, one.size_bytes) for one in later.ranges
    ]
    assert first.find(x.address).move(x.address) == later.find(x.address).move(later.find(x.address).used)


def test_an_address_of_no_array_is_refused() -> None:
    operator = operator_over(PRIMITIVES["relu"], [0])
    (launch,) = operator.launches
    argument = next(one for one in launch.kernel.arguments if one.kind == "global_buffer")
    block = bytearray(launch.kernarg)
    struct.pack_into("<Q", block, argument.offset, 1 << 40)
    with pytest.raises(ValueError, match="in none of the launch's arrays"):
        place_arrays([(operator, replace(launch, kernarg=bytes(block)))])
