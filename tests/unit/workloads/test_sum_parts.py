"""Do sums of parts reach every element and none beyond, plain, with a bias behind a ReLU, and before a ReLU's mask?"""

import numpy as np
import pytest

from isa.device_memory import DeviceMemory
from isa.execution.emulator import run_functional
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import DepthSplit, sum_parts, sum_parts_masked, sum_parts_rectified

PARTS, COLUMNS = 3, 5
SPLIT = DepthSplit(24, 8)


@pytest.mark.parametrize("kind", ["plain", "rectified", "masked"])
@pytest.mark.parametrize("rows", [1, 204, 205, 256, 1229])  # 205 · 5 elements: one more than a workgroup adds
def test_every_element_is_the_sum_of_its_parts(kind: str, rows: int) -> None:
    memory, random = DeviceMemory(1 << 20), np.random.default_rng(rows)
    assert SPLIT.parts == PARTS
    sums = Tensor.allocate(memory, Operand((PARTS, rows, COLUMNS)), "sums")
    bias, mask = Tensor.allocate(memory, Operand((COLUMNS,)), "bias"), Tensor.allocate(memory, Operand((rows, 5)), "m")
    total = Tensor.allocate(memory, Operand((rows, COLUMNS)), "total")
    for one in (sums, bias, mask):
        one.array[...] = random.integers(-9, 10, one.shape)  # whose sums are exact
    total.array[...] = np.nan
    wanted = sums.array.sum(axis=0)
    if kind == "plain":
        (made,) = sum_parts(sums, total, SPLIT)
    elif kind == "rectified":
        made, wanted = sum_parts_rectified(sums, bias, total, SPLIT), np.maximum(wanted + bias.array, 0)
    else:
        made, wanted = sum_parts_masked(sums, mask, total, SPLIT), np.where(mask.array > 0, wanted, 0)
    run_functional(made)
    np.testing.assert_array_equal(total.array, wanted)
