"""Is the work of every primitive what its definition takes, counted here again from the shapes of its arrays?

Multiply-accumulates are counted by loops over the definition's indices, other operations for each value that the
definition computes. `needed_macs` is counted where a class says that kernels leave some out.
"""

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from tests.support.primitives import CASES
from workloads.operators.primitive import Primitive

Count = Callable[[Any], int]


def size(shape: tuple[int, ...]) -> int:
    """The values of an array."""
    return prod(shape)


def taken(name: str = "x") -> Count:
    return lambda one: size(one.takes[name].shape)


def given(name: str = "y") -> Count:
    return lambda one: size(one.gives[name].shape)


def each(number: int, count: Count) -> Count:
    return lambda one: number * count(one)


def largest(one: Any) -> int:
    """Values of the largest array, forward and backward the same."""
    return max(size(array.shape) for array in (*one.takes.values(), *one.gives.values()))


def nothing(one: Any) -> int:
    return 0


def convolved(one: Any) -> int:
    """Taps of every result, those on padding included."""
    weight = (one.takes.get("weight") or one.gives["dweight"]).shape
    maps = (one.takes.get("dy") or one.gives["y"]).shape
    return size(maps) * size(weight[1:])


def fully_connected(one: Any) -> int:
    values = (one.takes.get("x") or one.gives["dx"]).shape
    results = (one.takes.get("dy") or one.gives["y"]).shape
    return sum(size(values[1:]) for _ in np.ndindex(*results))


def multiplied(one: Any) -> int:
    """Products of pairs: every result is a sum over the common axis."""
    results = one.gives["y"].shape if "y" in one.gives else one.takes["dy"].shape
    return size(results) * one.takes["x0"].shape[-1]


def attended(one: Any, seen_only: bool = False) -> int:
    """Pairs of a query and a key that are multiplied, times the width of a head: a query sees no later keys."""
    (images, heads, queries, width), keys = one.takes["x0"].shape, one.takes["x1"].shape[2]
    pairs = [key - keys <= query - queries for query, key in product(range(queries), range(keys))]
    return images * heads * width * (sum(pairs) if seen_only and one.causal else len(pairs))


def pairs(one: Any) -> int:
    return attended(one) // one.takes["x0"].shape[3]


def frequencies(one: Any) -> int:
    """Real products of the blocks' spectra: a pair of complex values takes four, one of real values one."""
    vectors, values = one.shape[0], size(one.shape[1:])
    if one.windows is not None:
        vectors, values = vectors * one.windows.positions, one.windows.depth
    blocks = vectors, len(range(0, one.outputs, one.block)), len(range(0, values, one.block))
    places = [1 if 2 * place % one.block == 0 else 4 for place in range(one.block) if 2 * place <= one.block]
    return sum(sum(places) for _ in np.ndindex(*blocks))


def dense(one: Any) -> int:
    """What the matrix would take without blocks."""
    if getattr(one, "windows", None) is not None:
        c = one.windows
        return c.shape[0] * c.positions * c.depth * one.outputs
    return one.shape[0] * size(one.shape[1:]) * one.outputs


def diagonals(one: Any) -> int:
    weight = (one.takes.get("weight") or one.gives["dweight"]).shape
    return one.shape[0] * size(weight)


def neighbours(one: Any) -> int:
    """Channels in the window around each value."""
    images, channels, *plane = one.shape
    near = sum(abs(a - b) <= one.size // 2 for a, b in product(range(channels), range(channels)))
    return images * near * size(tuple(plane))


def in_windows(one: Any) -> int:
    """Values of x in windows, once for each window."""
    (images, channels, *plane), pooling = one.shape, one.pooling
    results = (one.takes.get("dy") or one.gives["y"]).shape[2:]
    counted = 1
    top, left = pooling.sides[:2]
    for axis, (values, count, before) in enumerate(zip(plane, results, (top, left), strict=True)):
        starts = (number * pooling.stride[axis] - before for number in range(count))
        counted *= sum(0 <= start + tap < values for start in starts for tap in range(pooling.kernel[axis]))
    return images * channels * counted


def pooled(one: Any) -> int:
    results = given()(one) if "y" in one.gives else taken("dy")(one)
    if one.pooling.mode != "max":
        return in_windows(one)
    return in_windows(one) - results if "y" in one.gives else results


def summed(one: Any) -> int:
    return taken()(one) - given()(one)


def activated(one: Any) -> int:
    return {"relu": 1}.get(one.function, 0) * taken()(one)


def combined_back(one: Any) -> int:
    """Sums over what an operand was repeated for, and of products a multiplication for each value and operand."""
    results = taken("dy")(one)
    sums = sum(results - size(operand.shape) for operand in one.gives.values())
    return sums + (results * len(one.gives) if one.operation in ("multiply", "divide") else 0)


def repeated_back(one: Any) -> int:
    """Additions of the values that each operand was repeated for, after the products for all of them."""
    left, right = one.takes["x0"].shape, one.takes["x1"].shape
    images = tuple(np.broadcast_shapes(left[:-2], right[:-2]))
    return sum(size(images) * size(shape[-2:]) - size(shape) for shape in (left, right))


def biased(one: Any) -> int:
    return given()(one) * (bool(getattr(one, "bias", False)) + bool(getattr(one, "relu", False)))


def masked(one: Any) -> int:
    return given("dx")(one) if getattr(one, "masked", False) else 0


# by the class that says how much it is: multiply-accumulates, then other operations
STATEMENTS: dict[str, tuple[Count, Count]] = {
    "CombineForward": (nothing, given()),
    "CombineBackward": (nothing, combined_back),
    "Permute": (nothing, nothing),
    "StridedSlice": (nothing, nothing),
    "StridedSliceBackward": (nothing, nothing),
    "StoredParameter": (nothing, nothing),
    "Concat": (nothing, nothing),
    "Append": (nothing, nothing),
    "Split": (nothing, nothing),
    "Bypass": (nothing, nothing),
    "Repeat": (nothing, lambda one: largest(one) if one.scale != 1 else 0),
    "RowNormForward": (taken(), lambda one: (4 if one.centred else 2) * taken()(one)),
    "RowNormBackward": (each(2, taken()), each(6, taken())),
    "BatchedProductForward": (multiplied, nothing),
    "BatchedProductBackward": (each(2, multiplied), repeated_back),
    "EmbeddingForward": (nothing, nothing),
    "EmbeddingBackward": (nothing, taken("dy")),
    "Rotary": (each(2, largest), nothing),  # a value times a cosine, and its partner times a sine
    "ComposedAttention": (each(2, attended), each(6, pairs)),
    "AttentionByQuery": (each(2, attended), each(6, pairs)),
    "AttentionByKey": (each(2, attended), each(6, pairs)),
    "AttentionBackward": (each(5, attended), each(11, pairs)),
    "CausalMask": (nothing, largest),
    "PoolingForward": (nothing, pooled),
    "PoolingBackward": (nothing, pooled),
    "BiasForward": (nothing, given()),
    "BiasBackward": (nothing, lambda one: taken("dy")(one) - given("dbias")(one)),
    "BatchNormTraining": (each(2, taken()), each(3, taken())),
    "BatchNormInference": (taken(), taken()),
    "BatchNormBackward": (each(2, taken()), each(5, taken())),
    "SoftmaxForward": (nothing, each(5, taken())),
    "SoftmaxBackward": (taken("y"), each(2, taken("y"))),
    "SoftmaxLossForward": (nothing, lambda one: 5 * taken()(one) + 3 * taken("labels")(one)),
    "SoftmaxLossBackward": (nothing, lambda one: taken("y")(one) + taken("labels")(one)),
    "DropoutForward": (nothing, taken()),
    "DropoutBackward": (nothing, taken("dy")),
    "Add": (nothing, lambda one: (len(one.takes) - 1) * given()(one)),
    "MultiplyForward": (nothing, given()),
    "MultiplyBackward": (nothing, lambda one: sum(size(gradient.shape) for gradient in one.gives.values())),
    "LrnForward": (lambda one: neighbours(one) + taken()(one), each(4, taken())),
    "LrnBackward": (
        lambda one: neighbours(one) + 2 * taken()(one),
        lambda one: 8 * taken()(one) + neighbours(one) - taken()(one),
    ),
    "Sgd": (lambda one: (3 if one.momentum else 2) * taken("w")(one), nothing),
    "Adam": (each(4, taken("w")), each(7, taken("w"))),
    "CountZeros": (nothing, lambda one: 2 * taken()(one) - 1),
    "FullyConnectedForward": (fully_connected, biased),
    "FullyConnectedBackwardData": (fully_connected, masked),
    "FullyConnectedBackwardWeights": (fully_connected, nothing),
    "BlockCirculantForward": (dense, lambda one: given()(one) * one.bias),
    "BlockCirculantBackwardData": (dense, nothing),
    "BlockCirculantBackwardWeights": (dense, nothing),
    "PermutedDiagonalForward": (dense, lambda one: given()(one) * one.bias),
    "PermutedDiagonalBackwardData": (dense, nothing),
    "PermutedDiagonalBackwardWeights": (dense, nothing),
    **{f"{name}Forward": (convolved, biased) for name in (
        "Implicit", "Im2col", "Im2colChunked", "Direct", "EllpackDib", "EllpackDibRegisters", "EllpackDibSoftware",
        "EllpackDibSoftwareRegisters", "EllpackDibFused", "EllpackDibImplicit", "EllpackDibSoftwareImplicit",
        "PaddingFree", "EllpackDibPaddingFree", "EllpackDibSoftwarePaddingFree",
    )},
    **{f"{name}BackwardData": (convolved, masked) for name in (
        "Implicit", "Im2col", "Im2colChunked", "Direct", "Winograd", "PaddingFree",
    )},
    **{f"{name}BackwardWeights": (convolved, nothing) for name in (
        "Implicit", "Im2col", "Im2colChunked", "Winograd", "EllpackDibRegisters", "EllpackDibFused", "PaddingFree",
        "EllpackDibPaddingFree", "EllpackDibSoftwarePaddingFree",
    )},
}  # fmt: skip
# where kernels leave some out; convolutions' and sparse ones' are counted in test_convolution and test_conv_sparse
NEEDED: dict[str, Count] = {
    "AttentionByQuery": lambda one: 2 * attended(one, seen_only=True),
    "AttentionByKey": lambda one: 2 * attended(one, seen_only=True),
    **{f"BlockCirculant{kind}": lambda one: min(frequencies(one), dense(one)) for kind in (
        "Forward", "BackwardData", "BackwardWeights",
    )},
    **{f"PermutedDiagonal{kind}": diagonals for kind in ("Forward", "BackwardData", "BackwardWeights")},
}  # fmt: skip
# figures without a second statement, each with the reason
WITHOUT = {
    "ActivationForward": "how many operations a function counts for is a convention, in a table of its own",
    "ActivationBackward": "how many operations a slope counts for is a convention, in a table of its own",
    "Sum": "what is counted for a scale depends on the steps that a sum takes",
    "WinogradForward": "its pooling's operations are those of PoolingForward, which are counted",
}


def test_every_primitive_has_a_second_statement_or_a_reason() -> None:
    classes = {type(one).__name__ for one in CASES}
    assert classes == STATEMENTS.keys() | WITHOUT.keys()
    assert not STATEMENTS.keys() & WITHOUT.keys()


def of_class(name: str) -> list[Primitive]:
    return [one for one in CASES if type(one).__name__ == name]


@pytest.mark.parametrize("name", STATEMENTS)
def test_macs_and_operations_are_those_of_the_definition(name: str) -> None:
    macs, operations = STATEMENTS[name]
    for one in of_class(name):
        assert (one.macs, one.operations) == (macs(one), operations(one)), one


@pytest.mark.parametrize("name", NEEDED)
def test_needed_macs_are_what_is_left(name: str) -> None:
    for one in of_class(name):
        assert one.needed_macs == NEEDED[name](one), one
