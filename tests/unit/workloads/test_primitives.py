"""Do networks' primitives compute what NumPy computes, and are their gradients those of what they compute?"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs._site.rooflines import measure
from gpusim.base.errors import UserError
from gpusim.jobs.host.command_processor import execute
from isa.device_memory import DeviceMemory
from tests.support.daily import given_daily, parametrize_daily
from tests.support.operator_contract import OperatorCase, OperatorContract, compiled_only
from tests.support.primitives import (
    CASES,
    CUTS,
    DENSE_MAX,
    MAX_3,
    PAIRS,
    PERMUTATIONS,
    POOLINGS,
    PRODUCTS,
    ROW_NORMS,
    poolings,
    primitives,
    public_primitives,
)
from workloads.operators.activation import FUNCTIONS, INPUT_FUNCTIONS, ActivationBackward, ActivationForward
from workloads.operators.add import Add
from workloads.operators.attention import AttentionByKey, AttentionByQuery, ComposedAttention
from workloads.operators.batch_norm import MODES as BATCH_NORM_MODES
from workloads.operators.batch_norm import BatchNormTraining
from workloads.operators.batched_product import BatchedProductForward
from workloads.operators.bias import BiasBackward, BiasForward
from workloads.operators.block_circulant import BlockCirculantForward
from workloads.operators.bypass import Bypass
from workloads.operators.causal_mask import CausalMask
from workloads.operators.combine import OPERATIONS, CombineForward
from workloads.operators.concat import Concat
from workloads.operators.conv_algorithms import ALGORITHMS
from workloads.operators.conv_implicit import ImplicitForward
from workloads.operators.conv_passes import ConvolutionForward
from workloads.operators.conv_winograd import WinogradForward
from workloads.operators.convolution import Convolution
from workloads.operators.count_zeros import GROUP_ELEMENTS, CountZeros
from workloads.operators.dropout import DropoutForward, philox
from workloads.operators.embedding import EmbeddingForward
from workloads.operators.fully_connected import FullyConnectedBackwardWeights, FullyConnectedForward
from workloads.operators.launching import divisor
from workloads.operators.lrn import SIZES, LrnForward
from workloads.operators.move import Permute, StoredParameter
from workloads.operators.multiply import MultiplyForward
from workloads.operators.operator import GpuFacts, before
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.permuted_diagonal import PermutedDiagonalForward
from workloads.operators.pooling import MODES, Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import (
    MAX_ELEMENTS,
    OperatorError,
    Primitive,
    TensorOperator,
    build,
    place,
)
from workloads.operators.reductions import Repeat, Sum
from workloads.operators.rotary import Rotary
from workloads.operators.row_norm import RowNormForward
from workloads.operators.softmax import SoftmaxForward, SoftmaxLossForward
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.verify import Verification, verify
from workloads.shapes import Shape

MEMORY_BYTES = 1 << 22
GPU = GpuFacts(compute_units=36, lds_bytes=1 << 16)


def case(primitive: Primitive, in_place: bool) -> OperatorCase:
    shape = "x".join(map(str, next(iter(primitive.takes.values())).shape))
    name = f"{primitive.name}-{shape}{'-in-place' if in_place else ''}".replace(" ", "-")
    return OperatorCase(name, lambda memory, gpu: build(primitive, memory, gpu, in_place=in_place))


BUILT = [case(p, in_place) for p in CASES for in_place in (False, True) if p.in_place or not in_place]
# of each primitive some are daily; the others execute no instruction of a kernel and no line of workloads/ that none of
# these does, though sizes and layouts differ
NIGHTLY = (Path(__file__).parent / "nightly_primitives.txt").read_text(encoding="utf-8").splitlines()
DAILY = [number for number, one in enumerate(BUILT) if one.name not in NIGHTLY]


@parametrize_daily("case", BUILT, DAILY, ids=lambda case: case.name)
class TestPrimitives(OperatorContract):
    """The contract, for all of them, and in place where they may be."""


def test_every_primitive_has_a_daily_case_and_what_is_listed_for_the_night_is_there() -> None:
    shapeless = [one.name.replace("-in-place", "").rpartition("-")[0] for one in BUILT]
    assert {shapeless[number] for number in DAILY} == set(shapeless)
    assert sorted({one.name for one in BUILT} & set(NIGHTLY)) == NIGHTLY


def test_every_primitive_has_a_case() -> None:
    assert {type(primitive) for primitive in CASES} == public_primitives()


def executed(primitive: Primitive, **data: np.ndarray) -> tuple[TensorOperator, Verification]:
    operator = build(primitive, DeviceMemory(MEMORY_BYTES), GPU, data)
    inputs = before(operator)
    for launch in operator.launches:
        execute(launch)
    return operator, verify(operator, inputs)


@given_daily(70, 200, primitives())
def test_any_shape_gives_what_numpy_gives(primitive: Primitive) -> None:
    _, checked = executed(primitive)
    assert checked.passed, checked.mismatches


# Extreme operands


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 88.0, -88.0, 1e-4], np.float32)


@pytest.mark.parametrize("function", ["relu", "sigmoid", "tanh"])
def test_activations_of_anything(function: str) -> None:
    _, checked = executed(ActivationForward(function, SPECIAL.shape), x=SPECIAL)
    assert checked.passed, checked.mismatches


def test_a_gate_that_is_below_the_normal_numbers_is_zero() -> None:
    """Of x near -88 the sigmoid is flushed: what is missing is |x| times a number below the smallest normal one."""
    x = np.linspace(-95.0, -80.0, 301, dtype=np.float32)
    found, checked = executed(ActivationForward("silu", x.shape), x=x)
    assert checked.passed, checked.mismatches
    assert (found.outputs["y"] == 0).any() and (found.outputs["y"] < 0).any()
    _, checked = executed(ActivationBackward("silu", x.shape), x=x, dy=np.ones_like(x))
    assert checked.passed, checked.mismatches


def test_no_number_stays_the_maximum_of_its_window() -> None:
    x = np.tile(SPECIAL, 12).reshape(1, 1, 12, 12)
    for pooling in (
        Pooling("max", (2, 2), (1, 1)),
        Pooling("max", (3, 3), (2, 2), (1, 1)),
        Pooling("max", (3, 2), (1, 1)),
        Pooling("max", (12, 12), (1, 1)),
    ):
        found, checked = executed(PoolingForward(pooling, x.shape), x=x)
        assert checked.passed, checked.mismatches
        assert np.isnan(found.outputs["y"]).any()


def test_of_equal_elements_the_first_is_the_maximum() -> None:
    for pooling in (MAX_3, Pooling("max", (3, 2), (1, 1)), DENSE_MAX, Pooling.over_plane("max", (1, 1, 7, 9))):
        found, _ = executed(PoolingForward(pooling, (1, 1, 7, 9)), x=np.full((1, 1, 7, 9), -np.inf, np.float32))
        top, left = pooling.padding
        begin = np.maximum(np.arange(found.outputs["places"].shape[2]) * -pooling.stride[0] + top, 0)[:, None]
        along = np.maximum(np.arange(found.outputs["places"].shape[3]) * -pooling.stride[1] + left, 0)[None, :]
        np.testing.assert_array_equal(found.outputs["places"][0, 0], begin * pooling.kernel[1] + along)


@pytest.mark.parametrize("shape", [(2, 300), (2, 6, 3, 3)])
def test_softmax_of_large_numbers_does_not_overflow(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).uniform(-3e4, 3e4, shape).astype(np.float32)
    found, checked = executed(SoftmaxForward(shape), x=x)
    assert checked.passed, checked.mismatches
    np.testing.assert_allclose(found.outputs["y"].sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("shape", [(300, 3), (4, 3, 5, 5), (20, 3, 11, 11), (20, 3, 12, 12)])
def test_the_variance_of_numbers_far_from_zero_does_not_cancel(shape: tuple[int, ...]) -> None:
    x = 1e4 + np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    found, checked = executed(BatchNormTraining(shape), x=x)
    assert checked.passed, checked.mismatches
    deviation = x.astype(np.float64).std(axis=(0, *range(2, x.ndim)))
    np.testing.assert_allclose(found.outputs["inverse_deviation"], 1.0 / deviation, rtol=1e-4)


# What kernels and references have in common


@pytest.mark.parametrize(("over_size", "scale"), [(True, 2.0 + 0.5), (False, 2.0 + 5 * 0.5)])
def test_lrn_of_ones_has_alpha_as_it_is_told(over_size: bool, scale: float) -> None:
    found, _ = executed(LrnForward((1, 9), 5, 0.5, 0.75, 2.0, over_size), x=np.ones((1, 9), np.float32))
    np.testing.assert_allclose(found.outputs["y"][0, 4], scale**-0.75, rtol=1e-6)


@given_daily(40, 100, poolings(), st.integers(1, 20))
def test_there_is_an_output_for_every_window_that_fits(drawn: tuple[Pooling, Shape], size: int) -> None:
    """Within the padded plane, or, rounding up, beginning on the plane or in the padding before it."""
    pooling = drawn[0]
    for axis in (0, 1):
        kernel, stride = pooling.kernel[axis], pooling.stride[axis]
        before, after = pooling.sides[axis], pooling.sides[axis + 2]
        begins = range(-before, size + after, stride)
        fitting = [begin for begin in begins if begin + kernel <= size + after]
        if fitting and pooling.ceil_mode and fitting[-1] + kernel < size + after:
            fitting += [begin for begin in begins if begin == fitting[-1] + stride and begin < size]
        # a window on the padding alone, past the plane, is none
        wanted = [begin for begin in fitting if begin < size] if pooling.ceil_mode else fitting
        assert pooling.outputs(size, axis) == len(wanted)


# How near they come to their bounds, at a size that is small for that (docs/results/kernels.md has larger ones). On
# MI6's eight channels without a hash streams that advance side by side share some and leave
# others idle (decision 11).


STREAMED = (4, 32, 96, 96)


@compiled_only
@parametrize_daily(
    "primitive, least",
    [
        (ActivationForward("relu", STREAMED), 0.7),
        (BiasBackward(STREAMED), 0.7),
        (BatchNormTraining(STREAMED), 0.7),
        (PoolingForward(Pooling("max", (2, 2), (2, 2)), STREAMED), 0.65),
        (PoolingBackward(Pooling("max", (3, 3), (2, 2)), STREAMED), 0.5),
        (DropoutForward(STREAMED), 0.7),
        (LrnForward(STREAMED), 0.65),
        (CountZeros(STREAMED), 0.6),
    ],
    (0, 1, 3, 7),  # of elements, of sums over images, of windows, of groups
    ids=lambda value: getattr(value, "name", ""),
)
def test_streaming_kernels_keep_dram_busy(primitive: Primitive, least: float) -> None:
    assert measure(primitive).shares["dram"] > least


# Random numbers


@pytest.mark.parametrize("size", [7, GROUP_ELEMENTS + 7])
def test_both_zeros_count_and_the_smallest_numbers_do_not(size: int) -> None:
    x = np.resize(np.array([0.0, -0.0, 1e-45, -1e-45, np.nan, np.inf, 1.0], np.float32), size)
    operator, checked = executed(CountZeros((size,)), x=x)
    assert checked.passed
    assert operator.outputs["zeros"][0] == 2 * (size // 7) + min(size % 7, 2)


def test_philox_is_the_published_one() -> None:
    """The known answers of its authors' library (Random123, kat_vectors)."""
    ones = 0xFFFF_FFFF
    for counter, key, answer in (
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, (ones,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ):
        assert tuple(philox(np.array([counter], np.uint64), key)[0]) == answer


def test_dropout_drops_as_many_as_it_says() -> None:
    shape = (100, 1000)
    kept = DropoutForward(shape, 0.3).kept(0, 100_000)
    assert abs(kept.mean() - 0.7) < 0.006  # four standard deviations
    assert (kept != DropoutForward(shape, 0.3, stream=1).kept(0, 100_000)).any()
    assert DropoutForward(shape, 0.0).kept(0, 100_000).all()


# Gradients: by finite differences of the reference that the kernels are held to


def numeric(forward: Primitive, inputs: dict[str, np.ndarray], of: str, output: str, weights: np.ndarray) -> np.ndarray:
    """The gradient of sum(weights * output) by operand `of`, by central differences in FP64."""
    gradient, step = np.zeros(inputs[of].shape), 1e-6
    for at in np.ndindex(gradient.shape):
        results = []
        for sign in (1, -1):
            moved = {**inputs, of: inputs[of].copy()}
            moved[of][at] += sign * step
            results.append(forward.reference(moved)[output].value)
        gradient[at] = ((results[0] - results[1]) * weights).sum() / (2 * step)
    return gradient


def sampled(primitive: Primitive) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    found = {name: operand.data(random, operand.shape) for name, operand in primitive.takes.items()}
    return {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in found.items()}


def dy_of(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(4).standard_normal(shape)


def gradients(forward: Primitive) -> dict[str, np.ndarray]:
    """Of operands with one, as the backward pass and `same_gradient` have them, for weights of the result as dy."""
    inputs = sampled(forward)
    results = {name: value.value for name, value in forward.reference(inputs).items()}
    found = {name: dy_of(results["y"].shape) for name in forward.same_gradient}
    held = {**inputs, **results, "dy": dy_of(results["y"].shape)}
    for backward in forward.backward_passes():
        values = backward.reference({name: held[name] for name in backward.takes})
        held |= {name: value.value for name, value in values.items()}  # a pass may leave something for the next one
        found.update({name.removeprefix("d"): value.value for name, value in values.items()})
    return {name: value for name, value in found.items() if name in inputs}


IMAGES = (2, 3, 5, 6)
SMALL = (
    Convolution((1, 2, 5, 6), 2, (3, 3), padding=(1, 1, 1, 1)),
    Convolution((2, 4, 6, 5), 2, (3, 2), (2, 3), (1, 0, 2, 1), (1, 2), 2),
)
DIFFERENTIABLE: tuple[Primitive, ...] = (
    *(ActivationForward(name, (3, 7)) for name in FUNCTIONS),
    *(ActivationForward(name, (3, 7), -0.7, 0.9) for name in INPUT_FUNCTIONS),
    *(CombineForward(op, *pair) for op in OPERATIONS for pair in PAIRS if max(pair[0]) < 100),
    *(Permute(*case) for case in PERMUTATIONS),
    *CUTS,
    Repeat((2, 1, 3), (2, 5, 3), 0.5),
    StoredParameter((2, 5)),
    Sum((2, 3, 5, 7), (1, 3), 0.5),
    *(RowNormForward(**case, keep=True) for case in ROW_NORMS if max(case["shape"]) < 40 and len(case["shape"]) < 4),
    RowNormForward((2, 6, 3, 3), groups=3, keep=True),
    *(BatchedProductForward(*case) for case in PRODUCTS if max(case[0]) < 40),
    ComposedAttention((2, 2, 3, 4), (2, 1, 5, 4), True, 0.6),
    ComposedAttention((1, 2, 2, 3), (1, 2, 4, 3), False, 0.6),
    *(made((1, 2, 2, 16), (1, 1, 3, 16), True, 0.3) for made in (AttentionByQuery, AttentionByKey)),
    EmbeddingForward((2, 5), 4, 3),
    CausalMask((2, 3, 5)),
    Rotary((2, 3, 6), 2),
    *(PoolingForward(pooling, IMAGES) for pooling in POOLINGS if max(pooling.kernel) < 5),
    *(PoolingForward(Pooling.over_plane(mode, IMAGES), IMAGES) for mode in MODES),
    BiasForward(IMAGES),
    *(BatchNormTraining(IMAGES, mode) for mode in BATCH_NORM_MODES),
    SoftmaxForward((3, 7)),
    SoftmaxForward(IMAGES),
    SoftmaxLossForward((3, 7)),
    DropoutForward(IMAGES, 0.3),
    Add((3, 7), 3),
    MultiplyForward((3, 7)),
    Concat((2, 9, 2), (4, 2, 3)),
    *(LrnForward((2, 11, 2, 2), size, 0.3, alpha_over_size=size != 5) for size in SIZES),
    Bypass((3, 7)),
    *(
        row.forward(c, bias=True)
        for row in ALGORITHMS.values()
        for c in SMALL
        if not row.sparse and not row.refuses(c)  # of what is rounded to FP16 there are no small differences
    ),
    FullyConnectedForward((3, 2, 2, 2), 5, bias=True),
    BlockCirculantForward((2, 17), 18, 16, "fused", bias=True),
    PermutedDiagonalForward((2, 17), 18, 16, bias=True),
    BlockCirculantForward((2, 2, 5, 4), 16, 16, "baseline", windows=Convolution((2, 2, 5, 4), 16, (3, 3), (2, 1))),
)


# algorithms of convolution have one reference, and so one gradient
REFERENCES = [
    number
    for number, one in enumerate(DIFFERENTIABLE)
    if not isinstance(one, ConvolutionForward) or type(one) in (ImplicitForward, WinogradForward)
]


@parametrize_daily("forward", DIFFERENTIABLE, REFERENCES, ids=lambda p: case(p, False).name)
def test_gradients_are_finite_differences(forward: Primitive) -> None:
    inputs = sampled(forward)
    output = "loss" if "loss" in forward.gives else "y"
    shape = forward.gives[output].shape
    weights = np.ones(shape) if output == "loss" else dy_of(shape)
    for name, gradient in gradients(forward).items():
        difference = numeric(forward, inputs, name, output, weights)
        np.testing.assert_allclose(gradient, difference, rtol=1e-4, atol=1e-6, err_msg=name)


def test_every_gradient_is_tested() -> None:
    tested = {type(primitive) for primitive in DIFFERENTIABLE}
    backward = {type(made) for primitive in DIFFERENTIABLE for made in primitive.backward_passes()}
    # of what is rounded to FP16 there are no small differences
    exact = [p for p in CASES if not p.skips_zeros_of]
    assert backward == {type(p) for p in exact if "backward" in p.name or p.name == "split"}
    kept = [p for p in CASES if not isinstance(p, PoolingForward) or p.keep_places]
    kept = [p for p in kept if not isinstance(p, RowNormForward) or p.keep]
    kept = [p for p in kept if not p.skips_zeros_of]  # whose backward passes are the default's
    assert tested == {type(p) for p in kept if p.backward_passes() or p.same_gradient}


# What cannot be


def allocated(shape: tuple[int, ...], dtype: np.dtype | None = None, memory: DeviceMemory | None = None) -> Tensor:
    operand = Operand(shape) if dtype is None else Operand(shape, dtype)
    return Tensor.allocate(memory or DeviceMemory(MEMORY_BYTES), operand, "x")


def relu_over(**tensors: Tensor) -> TensorOperator:
    return place(ActivationForward("relu", (2, 3)), tensors, GPU)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: ActivationForward("rleu", (1,)), "activation 'rleu'; did you mean 'relu'"),
        (lambda: Pooling("maximum", (2, 2), (2, 2)), "pooling 'maximum'"),
        (lambda: Pooling("max", (0, 2), (2, 2)), "kernel (0, 2); each must be at least 1"),
        (lambda: Pooling("max", (2, 2), (2, 0)), "stride (2, 0); each must be at least 1"),
        (lambda: Pooling("max", (2, 2), (2, 2), (2, 0)), "padding (2, 0) with kernel (2, 2); allowed is less"),
        (
            lambda: PoolingForward(Pooling("max", (3, 3), (1, 1)), (1, 1, 2, 9)),
            "does not fit planes that are padded to [2, 9]",
        ),
        (
            lambda: PoolingForward(Pooling("max", (2, 2), (2, 2)), (1, 1, 2, 2), keep_places=False).backward(),
            "no backward pass of maxima whose places are not kept",
        ),
        (lambda: PoolingForward(Pooling("max", (3, 3), (1, 1)), (1, 2)), "[1, 2]; it must be [N, C, H, W]"),
        (lambda: BiasBackward((3,)), "[3]; it must be [N, C] or [N, C, ...]"),
        (lambda: BatchNormTraining((1, 3)), "[1, 3] has statistics over 1 of its elements; it must be at least 2"),
        (lambda: BatchNormTraining((2, 3), "spacial"), "'spacial'; did you mean 'spatial'"),
        (lambda: BatchNormTraining((2, 3), epsilon=0.0), "epsilon is 0.0; it must be larger than 0"),
        (lambda: BatchNormTraining((2, 3), factor=1.5), "factor is 1.5; it must be from 0 to 1"),
        (lambda: SoftmaxForward((3,)), "[3]; it must be [N, C]"),
        (lambda: SoftmaxLossForward((3, 2, 2, 2)), "[3, 2, 2, 2]; it must be [N, C]: one label an image"),
        (lambda: DropoutForward((3,), 1.0), "probability is 1.0; it must be at least 0 and less than 1"),
        (lambda: DropoutForward((3,), seed=-1), "seed is -1; it must be at least 0 and less than 2^64"),
        (
            lambda: DropoutForward((3,), stream=1 << 32),
            "stream is 4294967296; it must be at least 0 and less than 2^32",
        ),
        (lambda: Add((3,), 1), "1 arrays; it must be at least 2"),
        (lambda: Concat((2, 5, 3), (2, 2)), "2 + 2 channels do not make up the whole of [2, 5, 3]"),
        (lambda: LrnForward((1, 4), 4), "size is 4; allowed are 3, 5, 7, 9"),
        (lambda: LrnForward((1, 4), k=0.0), "k is 0.0; it must be larger than 0"),
        (lambda: Sgd((3,), momentum=1.0), "momentum is 1.0; it must be at least 0 and less than 1"),
        (lambda: Sgd((3,), rate=-0.1), "rate is -0.1; it must be at least 0"),
        (lambda: Adam((3,), step=0), "step is 0; it must be at least 1"),
        (lambda: Adam((3,), beta1=1.0), "beta1 is 1.0; it must be at least 0 and less than 1"),
        (
            lambda: build(Add((3, 0)), DeviceMemory(MEMORY_BYTES), GPU),
            "x0 has shape [3, 0]; each size must be at least 1",
        ),
        (
            lambda: build(Add((MAX_ELEMENTS + 1,)), DeviceMemory(MEMORY_BYTES), GPU),
            f"{MAX_ELEMENTS + 1} elements; allowed are at most {MAX_ELEMENTS}",
        ),
        (lambda: build(Add((3,)), DeviceMemory(MEMORY_BYTES), GPU, {"x2": np.zeros(3)}), "operand 'x2'"),
        (
            lambda: build(Add((3,)), DeviceMemory(MEMORY_BYTES), GPU, {"x0": np.zeros(4)}),
            "x0 has shape [4]; it must be [3]",
        ),
        (lambda: relu_over(x=allocated((2, 3))), "relu forward: no tensor for y"),
        (lambda: relu_over(x=allocated((2, 3)), z=allocated((2, 3))), "tensor 'z'"),
        (
            lambda: relu_over(x=allocated((3, 2)), y=allocated((2, 3))),
            "x is [3, 2] of float32; it must be [2, 3] of float32",
        ),
        (lambda: relu_over(x=allocated((2, 3), np.dtype(np.uint8)), y=allocated((2, 3))), "x is [2, 3] of uint8"),
        (lambda: relu_over(x=allocated((2, 3)), y=allocated((2, 3))), "lie in more than one device memory"),
        (lambda: executed(SoftmaxLossForward((2, 3)), labels=np.array([0, 3])), "label 3; allowed are 0 to 2"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: "Callable[[], object]", part: str) -> None:
    with pytest.raises(UserError) as caught:
        make()
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_results_share_memory_with_operands_only_where_they_may() -> None:
    memory = DeviceMemory(MEMORY_BYTES)
    x = allocated((2, 3), memory=memory)
    assert relu_over(x=x, y=x).launches
    shifted = Tensor(memory, x.address + 16, (2, 3))
    with pytest.raises(OperatorError, match="y and x share memory"):
        relu_over(x=x, y=shifted)
    with pytest.raises(OperatorError, match=r"x lies at 0x[0-9a-f]+; it must begin at a multiple of 16"):
        relu_over(x=Tensor(memory, x.address + 4, (2, 3)), y=allocated((2, 3), memory=memory))
    with pytest.raises(OperatorError, match="y and x share memory"):
        place(LrnForward((2, 3)), {"x": x, "y": x}, GPU)


def test_operators_over_tensors_of_one_allocation_and_a_workspace_that_is_given() -> None:
    memory = DeviceMemory(MEMORY_BYTES)
    arena = memory.allocate(1 << 18, "arena")
    norm = BatchNormTraining((30, 5, 9, 9))
    tensors, at = {}, arena.address
    for name, operand in {**norm.takes, **norm.gives, **norm.workspace}.items():
        tensors[name] = Tensor(memory, at, operand.shape, operand.dtype)
        tensors[name].array[...] = operand.data(np.random.default_rng(at), operand.shape)
        at += -(-operand.size_bytes // 256) * 256
    operator = place(norm, tensors, GPU)
    assert memory.allocations == [arena]
    inputs = before(operator)
    for launch in operator.launches:
        execute(launch)
    assert verify(operator, inputs).passed
    with pytest.raises(ValueError, match="running_mean, running_variance must be kept"):
        verify(operator)


@pytest.mark.parametrize("all_cases", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_large_reference_goes_by_images_or_channels(all_cases: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that have parts, or one of each kind."""
    cases = list(filter(_has_parts, CASES))
    for primitive in cases if all_cases else {type(one): one for one in cases}.values():
        monkeypatch.setattr("workloads.operators.primitive.REFERENCE_ELEMENTS", 1 << 22)
        operator = build(primitive, DeviceMemory(MEMORY_BYTES), GPU)
        whole = {part.output: part for part in operator.expected(operator.inputs)}
        monkeypatch.setattr("workloads.operators.primitive.REFERENCE_ELEMENTS", 45)
        parts = list(operator.expected(operator.inputs))
        assert len(parts) > len(whole)
        for part in parts:
            of_whole = whole[part.output].value[part.where]
            np.testing.assert_allclose(part.value, of_whole, rtol=1e-12, atol=1e-14)


def test_a_gradient_of_weights_goes_by_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.operators.primitive.REFERENCE_ELEMENTS", 45)
    operator = build(FullyConnectedBackwardWeights((3, 20), 7), DeviceMemory(MEMORY_BYTES), GPU)
    parts = list(operator.expected(operator.inputs))
    assert [part.where for part in parts] == [(slice(n, min(n + 2, 7)),) for n in range(0, 7, 2)]
    x, dy = operator.inputs["x"], operator.inputs["dy"]
    whole = dy.T.astype(np.float64) @ x.astype(np.float64)
    np.testing.assert_allclose(np.concatenate([part.value for part in parts]), whole, rtol=1e-12)


def test_parameters_count_no_images(monkeypatch: pytest.MonkeyPatch) -> None:
    operator, _ = executed(FullyConnectedForward((3, 8), 64))
    monkeypatch.setattr("workloads.operators.primitive.REFERENCE_ELEMENTS", 45)
    parts = list(operator.expected(operator.inputs))
    assert [part.where[0] for part in parts] == [slice(0, 1), slice(1, 2), slice(2, 3)]


def _has_parts(primitive: Primitive) -> bool:
    axis = primitive.divisible.value
    largest = max([*primitive.takes.values(), *primitive.gives.values()], key=lambda operand: operand.size)
    if axis is None or largest.size <= 90:
        return False
    return all(one.shape[axis] > 1 for one in (largest, *primitive.gives.values()) if len(one.shape) > axis)


@given(st.integers(1, (1 << 31) - 1), st.integers(0, (1 << 31) - 1))
def test_division_by_multiplication_is_division(number: int, by: int) -> None:
    by = max(by, 1)
    _, multiplier, shift = (int(part) for part in divisor(by))
    assert (2 * number * multiplier >> 32) >> shift == number // by
