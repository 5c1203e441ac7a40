"""Do kernels compute operators and their gradients by definition? References and operators' parameters are left out."""

import math
from collections.abc import Callable
from operator import add, mul, sub, truediv

import numpy as np
import pytest

from gpusim.jobs.host.command_processor import execute
from isa.device_memory import DeviceMemory
from tests.support.operator_oracles import (
    Arrays,
    Case,
    Definition,
    added,
    appended,
    attended,
    causal,
    combined,
    connected,
    connected_by_diagonals,
    connected_in_circles,
    convolved,
    cross_entropy,
    cut_out,
    elementwise,
    gelu_by_tanh,
    gradient,
    joined,
    looked_up,
    lrn,
    multiplied,
    normal_share,
    normalised,
    normalised_by_running,
    normalised_groups,
    normalised_rows,
    permuted,
    pooled,
    sigmoid,
    softmax,
    spread_out,
    summed_up,
    turned_by_place,
    with_bias,
)
from tests.support.primitives import public_primitives
from workloads.operators.activation import NAMES, ActivationForward
from workloads.operators.add import Add
from workloads.operators.attention import ATTENTION_ALGORITHMS
from workloads.operators.batch_norm import BatchNormInference, BatchNormTraining
from workloads.operators.batched_product import BatchedProductForward
from workloads.operators.bias import BiasForward
from workloads.operators.block_circulant import BlockCirculantForward
from workloads.operators.bypass import Bypass
from workloads.operators.causal_mask import CausalMask
from workloads.operators.combine import OPERATIONS, CombineForward
from workloads.operators.concat import Append, Concat
from workloads.operators.conv_algorithms import ALGORITHMS, SPARSE_WEIGHTS
from workloads.operators.conv_sparse_weights import SparseBackwardWeights
from workloads.operators.convolution import Convolution
from workloads.operators.count_zeros import CountZeros
from workloads.operators.dropout import DropoutForward
from workloads.operators.embedding import EmbeddingForward
from workloads.operators.fully_connected import FullyConnectedForward
from workloads.operators.lrn import LrnForward
from workloads.operators.move import Permute, StoredParameter, StridedSlice
from workloads.operators.multiply import MultiplyForward
from workloads.operators.operator import GpuFacts
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.permuted_diagonal import PermutedDiagonalForward
from workloads.operators.pooling import Pooling, PoolingForward
from workloads.operators.primitive import Primitive, build
from workloads.operators.reductions import Repeat, Sum
from workloads.operators.rotary import Rotary
from workloads.operators.row_norm import RowNormForward
from workloads.operators.softmax import SoftmaxForward, SoftmaxLossForward

GPU = GpuFacts(compute_units=36, lds_bytes=1 << 16)
IMAGES = (2, 3, 5, 6)
ODD = (2, 2, 7, 8)
CONVOLUTIONS = (
    ("3x3", Convolution((2, 4, 6, 5), 6, (3, 3), padding=(1, 1, 1, 1)), convolved((1, 1), (1, 1, 1, 1), (1, 1), 1)),
    (
        "uneven",
        Convolution((2, 4, 6, 5), 2, (3, 2), (2, 3), (1, 0, 2, 1), (1, 2), 2),
        convolved((2, 3), (1, 0, 2, 1), (1, 2), 2),
    ),
    ("64-weights", Convolution((1, 16, 4, 3), 5, (2, 2)), convolved((1, 1), (0, 0, 0, 0), (1, 1), 1)),
    (
        "64-channels",
        Convolution((1, 64, 2, 3), 3, (2, 1), padding=(1, 0, 0, 0)),
        convolved((1, 1), (1, 0, 0, 0), (1, 1), 1),
    ),
)
WHOLE_BLOCKS = (  # of 64 windows
    (
        "3x3-blocks",
        Convolution((2, 3, 8, 4), 4, (3, 3), padding=(1, 1, 1, 1)),
        convolved((1, 1), (1, 1, 1, 1), (1, 1), 1),
    ),
    (
        "uneven-blocks",
        Convolution((4, 4, 7, 11), 2, (3, 2), (2, 3), (1, 0, 2, 1), (1, 2), 2),
        convolved((2, 3), (1, 0, 2, 1), (1, 2), 2),
    ),
    ("two-blocks", Convolution((1, 2, 9, 17), 3, (2, 2)), convolved((1, 1), (0, 0, 0, 0), (1, 1), 1)),
)
# name, its numbers a and b, the definition
ACTIVATIONS: tuple[tuple[str, tuple[float, ...], Callable[[float], float]], ...] = (
    ("clip", (-0.75, 1.25), lambda x: sorted((-0.75, x, 1.25))[1]),
    ("leaky_relu", (0.3,), lambda x: x if x > 0 else 0.3 * x),
    ("hard_sigmoid", (0.4, 0.6), lambda x: sorted((0.0, 0.4 * x + 0.6, 1.0))[1]),
    ("hard_swish", (), lambda x: x * min(max(x + 3, 0.0), 6.0) / 6),
    ("silu", (), lambda x: x * sigmoid(x)),
    ("gelu", (), lambda x: x * normal_share(x)),
    ("gelu_tanh", (), gelu_by_tanh),
    ("affine", (1.75, -0.6), lambda x: 1.75 * x - 0.6),
    ("square", (), lambda x: x**2),
    ("erf", (), math.erf),
)
OPERATORS = {"add": add, "subtract": sub, "multiply": mul, "divide": truediv}
# left, right, the result's shape, which of them is a parameter
SHAPES = (
    ((3, 7), (3, 7), (3, 7), ""),
    ((2, 3, 8), (2, 3, 8), (2, 3, 8), ""),
    ((2, 3, 1, 4), (2, 1, 5, 4), (2, 3, 5, 4), ""),
    ((2, 1, 1), (2, 3, 5), (2, 3, 5), ""),
    ((2, 3, 5), (3, 1), (2, 3, 5), "x1"),
    ((5,), (2, 3, 5), (2, 3, 5), "x0"),
)
# left, right, the result's shape, whether the right ones are stored transposed
PRODUCTS = (
    ((2, 3, 4), (2, 4, 5), (2, 3, 5), False),
    ((2, 3, 4), (2, 5, 4), (2, 3, 5), True),
    ((2, 2, 3, 4), (2, 1, 4, 2), (2, 2, 3, 2), False),
    ((2, 1, 3, 4), (2, 3, 2, 4), (2, 3, 3, 2), True),
    ((2, 3, 2, 5), (3, 5, 3), (2, 3, 2, 3), False),
)
# source, starts, steps, sizes, fill
CUTS = (
    ((2, 5, 7), (0, 1, 2), (1, 1, 1), (2, 3, 4), 0.0),
    ((2, 5, 7), (0, 4, 6), (1, -1, -2), (2, 5, 4), 0.0),
    ((2, 5, 7), (0, -1, -3), (1, 1, 2), (2, 8, 7), 1.5),
    ((2, 3, 7), (0, 5, 0), (1, -3, 3), (2, 3, 3), -2.0),
    ((2, 3, 8), (0, -1, 4), (1, 1, 1), (2, 5, 8), 0.5),
)

CASES = (
    Case("relu", ActivationForward("relu", (3, 7)), elementwise(lambda x: max(x, 0.0))),
    Case("sigmoid", ActivationForward("sigmoid", (3, 7)), elementwise(sigmoid)),
    Case("tanh", ActivationForward("tanh", (3, 7)), elementwise(math.tanh)),
    Case(
        "max-ceil",
        PoolingForward(Pooling("max", (3, 2), (2, 3), (1, 1), ceil_mode=True), ODD),
        pooled(False, (3, 2), (2, 3), (1, 1, 1, 1), ceil=True),
    ),
    Case(
        "max-floor",
        PoolingForward(Pooling("max", (2, 2), (2, 2), (1, 0)), ODD),
        pooled(False, (2, 2), (2, 2), (1, 0, 1, 0)),
    ),
    Case(
        "average-with-padding",
        PoolingForward(Pooling("average", (3, 3), (2, 2), (1, 0, 0, 2)), ODD),
        pooled(True, (3, 3), (2, 2), (1, 0, 0, 2)),
    ),
    Case(
        "average-ceil-with-padding",
        PoolingForward(Pooling("average", (3, 3), (2, 2), (1, 1), ceil_mode=True), ODD),
        pooled(True, (3, 3), (2, 2), (1, 1, 1, 1), ceil=True),
    ),
    Case(
        "average-ceil-without-padding",
        PoolingForward(Pooling("average", (2, 3), (3, 1), (1, 2), ceil_mode=True, count_padding=False), ODD),
        pooled(True, (2, 3), (3, 1), (1, 2, 1, 2), ceil=True, count_padding=False),
    ),
    Case(
        "max-of-plane",
        PoolingForward(Pooling.over_plane("max", ODD), ODD),
        pooled(False, (7, 8), (1, 1), (0, 0, 0, 0)),
    ),
    Case(
        "average-of-plane",
        PoolingForward(Pooling.over_plane("average", ODD), ODD),
        pooled(True, (7, 8), (1, 1), (0, 0, 0, 0)),
    ),
    Case("lrn-over-size", LrnForward((2, 11, 2, 2), 5, 0.3, 0.6, 2.0), lrn(5, 0.6, 2.0, 0.3 / 5)),
    Case(
        "lrn-alpha-itself",
        LrnForward((2, 11, 2, 2), 3, 0.3, 0.75, 1.5, alpha_over_size=False),
        lrn(3, 0.75, 1.5, 0.3),
    ),
    Case("bias", BiasForward(IMAGES), with_bias, ("x", "bias")),
    Case(
        "batch-norm",
        BatchNormTraining(IMAGES, epsilon=0.01, factor=0.3),
        normalised(0.01, 0.3),
        ("x", "scale", "bias"),
        positive=("running_variance",),
    ),
    Case(
        "batch-norm-by-activation",
        BatchNormTraining((4, 3, 2, 2), "per_activation", epsilon=0.01, factor=0.3),
        normalised(0.01, 0.3, by_activation=True),
        ("x", "scale", "bias"),
        positive=("running_variance",),
    ),
    Case(
        "batch-norm-inference",
        BatchNormInference(IMAGES, epsilon=0.05),
        normalised_by_running(0.05),
        (),
        positive=("running_variance",),
    ),
    Case("softmax-of-rows", SoftmaxForward((3, 7)), softmax),
    Case("softmax-of-pixels", SoftmaxForward(IMAGES), softmax),
    Case("loss", SoftmaxLossForward((5, 7)), cross_entropy, whole={"labels": 7}, output="loss"),
    Case("add", Add((3, 7), 3), added, ("x0", "x1", "x2")),
    Case("multiply", MultiplyForward((3, 7)), lambda a: {"y": a["x0"] * a["x1"]}, ("x0", "x1")),
    Case("concat", Concat((2, 9, 2), (4, 2, 3)), joined, ("x0", "x1", "x2")),
    Case("append", Append((2, 9, 2), 3, 4), appended, ()),
    Case("bypass", Bypass((3, 7)), lambda a: {"y": a["x"]}),
    Case(
        "block-circulant",
        BlockCirculantForward((2, 20), 18, 16, "baseline", bias=True),
        connected_in_circles,
        ("x", "weight", "bias"),
    ),
    Case(
        "permuted-diagonal",
        PermutedDiagonalForward((2, 20), 18, 16, bias=True),
        connected_by_diagonals,
        ("x", "weight", "bias"),
    ),
    Case("fully-connected", FullyConnectedForward((3, 2, 2, 2), 5, bias=True), connected, ("x", "weight", "bias")),
    *(
        Case(
            f"{row.name}-{name}",
            row.forward(c, bias=c.groups == 1),
            definition,
            ("x", "weight", "bias") if c.groups == 1 else ("x", "weight"),
            whole={"x": 4},  # exact in FP16, to which sparse algorithms round
            tolerance=1e-3,
        )
        for row in ALGORITHMS.values()
        for name, c, definition in CONVOLUTIONS
        if not row.refuses(c)
    ),
    *(
        Case(name, ActivationForward(name, (3, 17), *numbers), elementwise(of_x), times={"x": 3.0})
        for name, numbers, of_x in ACTIVATIONS
    ),
    Case("square_root", ActivationForward("square_root", (3, 7)), elementwise(math.sqrt), positive=("x",)),
    Case("reciprocal", ActivationForward("reciprocal", (3, 7)), elementwise(lambda x: 1 / x)),
    Case("exponential", ActivationForward("exponential", (3, 7)), elementwise(math.exp)),
    *(
        Case(
            f"{name}-{number}",
            CombineForward(name, left, right, stored),
            combined(of_two, shape),
            ("x0", "x1"),
            positive=("x1",) if name == "divide" else (),
        )
        for name, of_two in OPERATORS.items()
        for number, (left, right, shape, stored) in enumerate(SHAPES)
    ),
    *(
        Case(f"products-{number}", BatchedProductForward(*two, turned), multiplied(shape, turned), ("x0", "x1"))
        for number, (*two, shape, turned) in enumerate(PRODUCTS)
    ),
    *(
        Case(f"attention-{name}-{number}", made(*two, causal, factor), attended(causal, factor), ("x0", "x1", "x2"))
        for number, (*two, causal, factor) in enumerate(
            (
                ((1, 2, 2, 16), (1, 1, 3, 16), True, 0.3),
                ((1, 1, 2, 16), (1, 1, 9, 16), False, 0.2),
            )
        )
        for name, made in ATTENTION_ALGORITHMS.items()
    ),
    *(
        Case(f"permute-{''.join(map(str, order))}", Permute(shape, order), permuted(order))
        for shape, order in (((2, 3, 4), (0, 2, 1)), ((2, 3, 4, 5), (0, 3, 1, 2)), ((2, 3, 2, 8), (0, 2, 1, 3)))
    ),
    *(
        Case(f"cut-{number}", StridedSlice(source, starts, steps, sizes, fill), cut_out(starts, steps, sizes, fill))
        for number, (source, starts, steps, sizes, fill) in enumerate(CUTS)
    ),
    Case("repeat", Repeat((2, 3, 1, 5), (2, 3, 4, 5), 0.75), spread_out((2, 3, 4, 5), 0.75)),
    Case("repeat-two-axes", Repeat((2, 1, 4, 1), (2, 3, 4, 5)), spread_out((2, 3, 4, 5))),
    Case("repeat-none", Repeat((2, 3, 4), (2, 3, 4), -1.5), spread_out((2, 3, 4), -1.5)),
    Case("stored", StoredParameter((3, 7)), spread_out((3, 7), name="bias"), ("bias",)),
    Case("sum-of-rows", Sum((2, 3, 5), (2,), 0.2), summed_up((2,), 0.2)),
    Case("sum-of-columns", Sum((2, 3, 4, 5), (1, 3)), summed_up((1, 3))),
    Case("sum-in-parts", Sum((1, 70, 3), (1,), -0.5), summed_up((1,), -0.5)),
    Case("embedding", EmbeddingForward((2, 6), 5, 3), looked_up, ("weight",), whole={"x": 5}),
    Case("rotary", Rotary((2, 3, 6)), turned_by_place(0, 10000.0)),
    Case("rotary-of-heads", Rotary((2, 2, 5, 8), 7, 500.0), turned_by_place(7, 500.0)),
    Case("causal-mask", CausalMask((2, 4, 4)), causal),
    Case("causal-mask-after-others", CausalMask((2, 2, 3, 5)), causal),
    Case(
        "layer-norm",
        RowNormForward((2, 3, 6), epsilon=0.02, keep=True),
        normalised_rows(0.02),
        ("x", "scale", "bias"),
    ),
    Case(
        "layer-norm-of-two-axes",
        RowNormForward((3, 2, 5), axes=2, biased=False, epsilon=0.02, keep=True),
        normalised_rows(0.02, axes=2),
        ("x", "scale"),
    ),
    Case(
        "layer-norm-of-long-rows",
        RowNormForward((1, 1030), epsilon=0.02, keep=True),
        normalised_rows(0.02),
        ("x", "scale", "bias"),
    ),
    Case(
        "rms-norm",
        RowNormForward((2, 3, 6), centred=False, biased=False, epsilon=0.02, keep=True),
        normalised_rows(0.02, centred=False),
        ("x", "scale"),
    ),
    Case(
        "group-norm",
        RowNormForward((2, 6, 3, 2), groups=3, epsilon=0.02, keep=True),
        normalised_groups(0.02, 3),
        ("x", "scale", "bias"),
    ),
)
PARAMETERISED = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def operands(case: Case) -> Arrays:
    """Draw an operator's operands in FP32."""
    random, found = np.random.default_rng(11), {}
    for name, operand in case.forward.takes.items():
        values = random.standard_normal(operand.shape) * case.times.get(name, 1.0)
        if name in case.positive:
            values = random.uniform(0.5, 2.0, operand.shape)
        if name in case.whole:
            values = random.integers(0, case.whole[name], operand.shape).astype(np.float64)
        found[name] = values.astype(np.float32)
    return found


def dy_of(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(12).standard_normal(shape).astype(np.float32)


def computed(primitive: Primitive, inputs: Arrays) -> Arrays:
    """Run the kernels."""
    made = build(primitive, DeviceMemory(1 << 22), GPU, {name: inputs[name] for name in primitive.takes})
    for launch in made.launches:
        execute(launch)
    return {name: array.copy() for name, array in made.outputs.items()}


def exact(inputs: Arrays) -> Arrays:
    return {name: array.astype(np.float64) for name, array in inputs.items()}


GRADIENTS: dict[tuple[Definition, tuple[tuple[int, ...], ...]], Arrays] = {}


def gradients(case: Case) -> Arrays:
    """Differentiate a definition, once for all cases that have it: algorithms of one convolution."""
    key = case.definition, tuple(operand.shape for operand in case.forward.takes.values())
    if key not in GRADIENTS:
        inputs = exact(operands(case))
        y = case.definition(inputs)[case.output]
        dy = np.ones(1) if case.output == "loss" else dy_of(y.shape).astype(np.float64)
        GRADIENTS[key] = {n: gradient(case.definition, inputs, n, case.output, dy) for n in case.differentiable}
    return GRADIENTS[key]


@PARAMETERISED
def test_results_are_those_of_the_definition_and_gradients_are_its_differences(case: Case) -> None:
    inputs = operands(case)
    results, wanted = computed(case.forward, inputs), case.definition(exact(inputs))
    assert set(results) - set(wanted) <= {"places"}  # gradients show what these are
    for name, array in wanted.items():
        np.testing.assert_allclose(results[name], array, case.tolerance, case.tolerance / 10, err_msg=name)
    dy = dy_of(results["y"].shape)
    found = dict.fromkeys(case.forward.same_gradient, dy)
    for backward in case.forward.backward_passes():
        given = computed(backward, {**inputs, **results, "dy": dy})
        found |= {name.removeprefix("d"): array for name, array in given.items()}
    assert set(found) == set(case.differentiable)
    for name, array in gradients(case).items():
        np.testing.assert_allclose(found[name], array, case.tolerance, case.tolerance, err_msg=name)


@pytest.mark.parametrize(
    ("made", "c", "definition"),
    [
        pytest.param(made, c, definition, id=f"{made.algorithm}-{name}")
        for made in SPARSE_WEIGHTS
        for name, c, definition in (*CONVOLUTIONS, *WHOLE_BLOCKS)
        if not made.refuses(c)
    ],
)
def test_sparse_gradients_of_weights_are_differences_of_the_definition(
    made: type[SparseBackwardWeights], c: Convolution, definition: Definition
) -> None:
    """Whole numbers of x are exact in FP16, to which it is rounded."""
    inputs = operands(Case("", ALGORITHMS["implicit"].forward(c), definition, whole={"x": 3}))
    dy = dy_of(definition(exact(inputs))["y"].shape)
    found = computed(made(c), {**inputs, "dy": dy})["dweight"]
    wanted = gradient(definition, exact(inputs), "weight", "y", dy.astype(np.float64))
    np.testing.assert_allclose(found, wanted, 1e-3, 1e-3)


def test_stored_values_are_those_of_every_image() -> None:
    """A bias of two axes: the gradient is that of as many channels."""
    forward = StoredParameter((2, 3, 5))
    bias, dy = dy_of((3, 5)), dy_of((2, 15))
    np.testing.assert_array_equal(computed(forward, {"bias": bias})["y"], np.stack([bias, bias]))
    np.testing.assert_allclose(computed(forward.backward(), {"dy": dy})["dbias"], dy[0] + dy[1], 1e-6)


def test_dropout_keeps_the_mean_and_passes_gradients_where_it_keeps() -> None:
    """A fifth is dropped: what is kept grows by 5/4."""
    ones = np.ones((100, 1000), np.float32)
    forward = DropoutForward(ones.shape, 0.2, seed=3, stream=4)
    found = computed(forward, {"x": ones})
    kept = found["mask"] != 0
    assert abs(kept.mean() - 0.8) < 0.0051  # four standard deviations
    np.testing.assert_array_equal(found["y"], np.where(kept, np.float32(1.25), np.float32(0)))
    dy = dy_of(ones.shape)
    given = computed(forward.backward(), {"dy": dy, "mask": found["mask"]})
    np.testing.assert_array_equal(given["dx"], np.where(kept, dy * np.float32(1.25), np.float32(0)))


def test_an_element_is_kept_from_the_probability_on() -> None:
    """Philox's published answer to counter and key 0 is 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8."""
    forward = DropoutForward((4,), 0x9B00_DBD8 / 2**32)
    assert computed(forward, {"x": np.ones(4, np.float32)})["mask"].tolist() == [0, 1, 1, 1]
    assert forward.kept(0, 4).tolist() == [False, True, True, True]


def test_zeros_are_counted() -> None:
    x = np.zeros((9, 1000), np.float32)
    x[::2, ::3] = -1.5  # 5 rows of 334
    assert computed(CountZeros(x.shape), {"x": x})["zeros"].tolist() == [9 * 1000 - 5 * 334]


@pytest.mark.parametrize("momentum", [0.0, 0.75])
def test_three_steps_of_gradient_descent(momentum: float) -> None:
    """Rate 0.1, decay 0.5: the velocity, from 0, takes up gradient and decay; the step is the rate's share of it."""
    w, velocity = 2.0, 0.0
    held = {"w": np.full(5, w, np.float32), "velocity": np.zeros(5, np.float32)}
    for gradient_now in (1.0, -0.5, 3.0):
        velocity = momentum * velocity + gradient_now + 0.5 * w
        w -= 0.1 * velocity
        step = Sgd((5,), rate=0.1, momentum=momentum, decay=0.5)
        held |= computed(step, {**held, "dw": np.full(5, gradient_now, np.float32)})
        np.testing.assert_allclose(held["w"], w, rtol=1e-6)
        np.testing.assert_allclose(held["velocity"], velocity if momentum else 0, rtol=1e-6)


def test_three_steps_of_adam() -> None:
    """Kingma and Ba 2015, algorithm 1, with the decay as a part of the gradient."""
    w, mean, square = 2.0, 0.0, 0.0
    held = {name: np.full(5, value, np.float32) for name, value in (("w", w), ("mean", mean), ("square", square))}
    for t, gradient_now in enumerate((1.0, -0.5, 3.0), 1):
        g = gradient_now + 0.5 * w
        mean, square = 0.8 * mean + 0.2 * g, 0.9 * square + 0.1 * g**2
        w -= 0.1 * (mean / (1 - 0.8**t)) / (math.sqrt(square / (1 - 0.9**t)) + 0.05)
        step = Adam((5,), step=t, rate=0.1, beta1=0.8, beta2=0.9, epsilon=0.05, decay=0.5)
        held |= computed(step, {**held, "dw": np.full(5, gradient_now, np.float32)})
        for name, value in (("w", w), ("mean", mean), ("square", square)):
            np.testing.assert_allclose(held[name], value, rtol=2e-6, err_msg=name)


def test_every_primitive_has_an_oracle() -> None:
    forward = [case.forward for case in CASES] + [DropoutForward((1,), 0.2)]
    tried = {type(p) for p in forward} | {type(b) for p in forward for b in p.backward_passes()}
    assert public_primitives() == tried | {CountZeros, Sgd, Adam, *SPARSE_WEIGHTS}


def test_every_activation_and_operation_has_an_oracle() -> None:
    forward = [case.forward for case in CASES]
    assert {p.function for p in forward if isinstance(p, ActivationForward)} == set(NAMES)
    assert {p.operation for p in forward if isinstance(p, CombineForward)} == set(OPERATIONS)
