"""Primitives of every kind at shapes that meet their kernels' edges: for the contract, and by chance."""

import inspect
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from workloads.circulant import FLOWS
from workloads.operators import operator
from workloads.operators.activation import FUNCTIONS, INPUT_FUNCTIONS, ActivationBackward, ActivationForward
from workloads.operators.add import Add
from workloads.operators.attention import ATTENTION_ALGORITHMS, AttentionBackward
from workloads.operators.batch_norm import MODES as BATCH_NORM_MODES
from workloads.operators.batch_norm import BatchNormBackward, BatchNormInference, BatchNormTraining
from workloads.operators.batched_product import BatchedProductBackward, BatchedProductForward
from workloads.operators.bias import BiasBackward, BiasForward
from workloads.operators.block_circulant import (
    BlockCirculantBackwardData,
    BlockCirculantBackwardWeights,
    BlockCirculantForward,
)
from workloads.operators.bypass import Bypass
from workloads.operators.causal_mask import CausalMask
from workloads.operators.combine import OPERATIONS, CombineBackward, CombineForward
from workloads.operators.concat import Append, Concat, Split
from workloads.operators.conv_algorithms import ALGORITHMS, ConvolutionAlgorithm
from workloads.operators.conv_buffer import BUFFER_BYTES
from workloads.operators.conv_winograd import WinogradForward
from workloads.operators.convolution import Convolution
from workloads.operators.count_zeros import GROUP_ELEMENTS, CountZeros
from workloads.operators.dropout import DropoutBackward, DropoutForward
from workloads.operators.embedding import EmbeddingBackward, EmbeddingForward
from workloads.operators.fully_connected import (
    FullyConnectedBackwardData,
    FullyConnectedBackwardWeights,
    FullyConnectedForward,
)
from workloads.operators.lrn import SIZES, LrnBackward, LrnForward
from workloads.operators.move import Permute, StoredParameter, StridedSlice, StridedSliceBackward
from workloads.operators.multiply import MultiplyBackward, MultiplyForward
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.permuted_diagonal import (
    PermutedDiagonalBackwardData,
    PermutedDiagonalBackwardWeights,
    PermutedDiagonalForward,
)
from workloads.operators.pooling import MODES, Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import Primitive
from workloads.operators.reductions import Repeat, Sum
from workloads.operators.rotary import Rotary
from workloads.operators.row_norm import RowNormBackward, RowNormForward
from workloads.operators.softmax import SoftmaxBackward, SoftmaxForward, SoftmaxLossBackward, SoftmaxLossForward
from workloads.shapes import Shape

MAX_3 = Pooling("max", (3, 3), (2, 2))
MAX_ODD = Pooling("max", (3, 2), (2, 3), (1, 1), ceil_mode=True)
AVERAGE_3 = Pooling("average", (3, 3), (2, 2), (1, 1))
AVERAGE_ODD = Pooling("average", (2, 3), (3, 1), (1, 2), ceil_mode=True, count_padding=False)
LARGE_WINDOW = Pooling("max", (17, 16), (2, 2))  # places past a byte
SPREAD_OUT = Pooling("max", (1, 2), (3, 3))  # elements in no window
DENSE_MAX = Pooling("max", (3, 3), (1, 1), (2, 2))
DENSE_AVERAGE = Pooling("average", (2, 4), (1, 1), (0, 1))
SMALL_MAX = Pooling("max", (2, 2), (2, 2), (1, 0), ceil_mode=True)
LOPSIDED = Pooling("average", (3, 3), (2, 2), (0, 1, 2, 0))
LARGE_DENSE = Pooling("max", (16, 17), (1, 1))
POOLINGS = (
    *(MAX_3, MAX_ODD, AVERAGE_3, AVERAGE_ODD, LARGE_WINDOW, SPREAD_OUT),
    *(DENSE_MAX, DENSE_AVERAGE, SMALL_MAX, LOPSIDED, LARGE_DENSE),
)

# channels by eights and not; planes of multiples of four and not; more than a tile of pixels, filters and weights;
# strides with taps that meet nothing between windows; windows in the padding alone; a sum in parts
CONVOLUTIONS = (
    Convolution((2, 3, 9, 8), 5, (3, 3), padding=(1, 1, 1, 1)),
    Convolution((3, 8, 6, 6), 70, (3, 3), padding=(1, 1, 1, 1)),
    Convolution((3, 4, 17, 15), 6, (3, 2), (4, 2), (1, 0, 2, 1), (2, 3), 2),
    Convolution((2, 3, 7, 7), 4, (2, 1), (3, 3)),
    Convolution((8, 3, 10, 9), 20, (5, 5), padding=(2, 2, 2, 2)),
    Convolution((2, 130, 1, 1), 3, (2, 2), padding=(2, 2, 2, 2)),
    Convolution((2, 6, 5, 5), 4, (1, 1), groups=2),
    Convolution((3, 6, 7, 11), 4, (3, 3), padding=(0, 2, 1, 0), groups=2),
    Convolution((2, 16, 5, 4), 5, (2, 2)),  # 64 weights of a filter
    Convolution((2, 128, 3, 4), 6, (2, 1), padding=(1, 0, 0, 0), groups=2),  # 64 channels of a group
)
WHOLE_BLOCKS = Convolution((2, 8, 8, 8), 6, (3, 3), padding=(1, 1, 1, 1))  # of windows that an engine compacts
WHOLE_IMAGES = Convolution((64, 2, 4, 3), 3, (2, 2), padding=(1, 1, 1, 1))  # a block of images
SMALL_BUFFER = 1 << 16  # bytes: chunks of some of the images of CHUNKED
CHUNKED = Convolution((7, 5, 9, 10), 6, (3, 3), padding=(1, 1, 1, 1))


def passes(algorithm: ConvolutionAlgorithm, c: Convolution, bias: bool) -> tuple[Primitive, ...]:
    """Forward, backward to the data, backward to the weights."""
    return algorithm.forward(c, bias=bias), algorithm.backward_data(c), algorithm.backward_weights(c)


# each once: passes that an algorithm has none of its own for are another one's
CONVOLVED: tuple[Primitive, ...] = tuple(
    dict.fromkeys(
        [
            *(
                made
                for algorithm in ALGORITHMS.values()
                for c in CONVOLUTIONS
                if not algorithm.refuses(c)
                for made in passes(algorithm, c, bias=c.groups == 1)
            ),
            *(
                made
                for algorithm in ALGORITHMS.values()
                if algorithm.resized
                for made in passes(algorithm.within(SMALL_BUFFER), CHUNKED, bias=True)
            ),
            *(
                algorithm.sparse_weights(c)
                for algorithm in ALGORITHMS.values()
                for c in (*CONVOLUTIONS[:2], WHOLE_BLOCKS, WHOLE_IMAGES)
                if algorithm.sparse_weights is not None and not algorithm.sparse_weights.refuses(c)
            ),
            *(
                algorithm.forward(c, bias=c.kernel != (5, 5), relu=True)
                for algorithm in ALGORITHMS.values()
                for c in CONVOLUTIONS
                if algorithm.rectifies and not algorithm.refuses(c)
            ),
            *(
                replace(made, masked=True)
                for algorithm in ALGORITHMS.values()
                for c in CONVOLUTIONS
                if not algorithm.refuses(c) and (made := algorithm.backward_data(c)).masks
            ),
            *(
                algorithm.within(SMALL_BUFFER).forward(CHUNKED, bias=True, relu=True)
                for algorithm in ALGORITHMS.values()
                if algorithm.resized
            ),
            *(
                WinogradForward(c, c.groups == 1, relu, size, buffer_bytes, pools=True, kept=kept)
                for c, buffer_bytes in ((CONVOLUTIONS[0], BUFFER_BYTES), (CHUNKED, SMALL_BUFFER))
                for size, relu, kept in ((2, True, True), (4, True, True), (2, False, True), (4, True, False))
            ),
            *(
                replace(algorithm.within(SMALL_BUFFER).backward_data(CHUNKED), masked=True)
                for algorithm in ALGORITHMS.values()
                if algorithm.resized
            ),
        ]
    )
)
FULLY_CONNECTED = (((3, 7), 5), ((2, 2, 3, 3), 130), ((70, 600), 9))

# few rows: of each kernel as many as it has and fewer; sums of less than a workgroup takes at a time, and of several
FEW_ROWS = (
    (1, 128, False, False), (1, 5000, True, True), (1, 1300, True, False), (1, 1301, False, True),
    (2, 2055, False, False), (2, 132, False, True), (3, 3072, True, False), (4, 517, True, True),
    (5, 2052, False, False), (8, 1030, True, False),
)  # fmt: skip
# FP16 weights of as many values: few rows by each kernel, and by tiles, sums in one part and in several
HALVES = (
    ((1, 136), 7, False, True), ((1, 4104), 7, True), ((2, 2056), 6, True, True), ((4, 128), 7), ((7, 2200), 9, True),
    ((1, 8), 5), ((9, 72), 70, True), ((70, 1704), 130, True, True),
)  # fmt: skip

# each flow, block and pass: rows and columns that fill blocks and not, more and fewer blocks than a workgroup has
CIRCULANT = (
    *((flow, 16, "source", (3, 70), 90, None) for flow in FLOWS),
    *((flow, 64, "source", (2, 3, 130), 70, None) for flow in ("baseline", "fused")),
    *((flow, 32, "wavefront", (3, 64), 100, None) for flow in ("o1_sum", "o2_sum", "fused")),
    *((flow, 16, "source", c.shape, c.filters, c) for flow in ("baseline", "o2", "fused") for c in CONVOLUTIONS[1:2]),
    ("fused", 32, "source", (2, 9, 7, 8), 33, Convolution((2, 9, 7, 8), 33, (3, 2), (2, 1), (1, 0, 0, 1), (1, 2))),
)


def circulant_passes(case: tuple[Any, ...]) -> tuple[Primitive, ...]:
    """Forward, with bias, backward to the weights and to the data."""
    flow, block, lanes, shape, outputs, windows = case
    same = shape, outputs, block, flow, lanes, windows
    return (
        BlockCirculantForward(*same, bias=True),
        BlockCirculantBackwardWeights(*same),
        BlockCirculantBackwardData(*same),
    )


# vectors fewer and more than a work-item has; rows and columns that are multiples of the block, and that are none
PERMUTED = (((3, 2, 25), 35, 16), ((9, 64), 96, 32), ((8, 70), 64, 64))


def permuted_passes(shape: Shape, outputs: int, block: int) -> tuple[Primitive, ...]:
    """Forward, with bias, backward to the weights and to the data."""
    forward = PermutedDiagonalForward(shape, outputs, block, bias=True)
    weights, data = PermutedDiagonalBackwardWeights(shape, outputs, block), PermutedDiagonalBackwardData
    return forward, weights, data(shape, outputs, block)


# repeated on either side, along some axes, all, or none; parameters; by fours and not; sums in parts
PAIRS: tuple[tuple[Shape, Shape, str], ...] = (
    ((2, 3, 5, 7), (2, 3, 1, 1), ""),
    ((2, 6, 4), (2, 1, 4), ""),
    ((2, 1, 5), (2, 3, 1), ""),
    ((2, 3, 8), (8,), "x1"),
    ((3, 1, 1), (2, 3, 4, 4), "x0"),
    ((2, 130, 5), (130, 5), "x1"),
    ((2, 3, 5), (2, 3, 5), ""),
)
# axes that merge and that do not; by fours and not
PERMUTATIONS = (
    ((2, 3, 4, 5), (0, 2, 3, 1)),
    ((2, 3, 4, 5, 8), (0, 1, 3, 2, 4)),
    ((2, 3, 5, 2, 2, 3), (0, 4, 3, 2, 5, 1)),
    ((2, 3, 4), (0, 1, 2)),
)
CUTS = (
    StridedSlice((2, 5, 8), (0, 1, 4), (1, 1, 1), (2, 3, 4)),
    StridedSlice((2, 5, 9), (0, 4, 1), (1, -2, 3), (2, 3, 2)),
    StridedSlice((2, 3, 4), (0, -1, -2), (1, 1, 1), (2, 6, 7), 1.5),
    StridedSlice((2, 3, 8), (0, 0, -4), (1, 1, 1), (2, 2, 16)),
)
# rows of a wavefront and of a workgroup, longer than what is held; channels of one and of more elements; sums in parts
ROW_NORMS: tuple[dict[str, Any], ...] = (
    {"shape": (2, 3, 5)},
    {"shape": (2, 3, 4, 50), "axes": 2, "biased": False},
    {"shape": (3, 30, 12)},
    {"shape": (2, 2, 800), "centred": False, "biased": False},
    {"shape": (2, 3500), "epsilon": 1e-3},
    {"shape": (2, 2200, 2)},
    {"shape": (2, 6, 3, 3), "groups": 3},
    {"shape": (2, 4, 20, 20), "groups": 1},
)
# one matrix an image and several; stored as they are and turned; one operand for several of the other
# queries, keys, whether the mask is causal, the factor: whole chunks and parts of them, one query and more than 64 of
# the heads that share keys, a width that no fused kernel has
ATTENTIONS: tuple[tuple[Shape, Shape, bool, float], ...] = (
    ((2, 2, 5, 6), (2, 2, 7, 6), False, 0.4),
    ((2, 4, 9, 16), (2, 2, 9, 16), True, 0.25),
    ((1, 6, 25, 32), (1, 2, 70, 32), True, 0.2),
    ((1, 2, 3, 64), (1, 1, 300, 64), False, 0.125),
    ((2, 4, 1, 64), (2, 2, 8, 64), True, 0.125),
    ((1, 2, 35, 128), (1, 1, 40, 128), True, 0.09),
)
PRODUCTS = (
    ((2, 5, 7), (2, 7, 6), False),
    ((2, 3, 5, 70), (2, 3, 9, 70), True),
    ((2, 2, 3, 5, 4), (2, 2, 1, 6, 4), True),
    ((2, 2, 2, 5, 4), (2, 2, 1, 4, 3), False),
)

# what decides a kernel's form: planes of one element, small, odd, multiples of four; more than a slice; few and many
# channels; sizes with and without a tail
CASES: tuple[Primitive, ...] = (
    *(ActivationForward(name, (3, 5, 7, 11)) for name in FUNCTIONS),
    *(ActivationBackward(name, (3, 5, 7, 11)) for name in FUNCTIONS),
    ActivationForward("relu", (1,)),
    *(
        made(name, (3, 5, 7, 11), -0.7, 0.9)
        for name in INPUT_FUNCTIONS
        for made in (ActivationForward, ActivationBackward)
    ),
    *(made(op, *pair) for op in OPERATIONS for pair in PAIRS for made in (CombineForward, CombineBackward)),
    *(Permute(*case) for case in PERMUTATIONS),
    Permute((2, 3, 4, 5), (0, 3, 1, 2), True),
    *(made for cut in CUTS for made in (cut, StridedSliceBackward(cut))),
    Repeat((2, 3, 1, 1), (2, 3, 4, 8), 0.25),
    Repeat((2, 1, 3), (2, 5, 3)),
    Repeat((2, 1, 3), (2, 5, 3), 0.5, True),
    StoredParameter((2, 3, 4)),
    Sum((2, 3, 5, 70), (2, 3), 1 / 350),
    Sum((2, 3, 5, 7), (1, 3)),
    Sum((2, 3000, 2), (1,)),
    Sum((2, 3, 4000), (2,), gradient=True),
    *(RowNormForward(**case, keep=keep) for case in ROW_NORMS for keep in (False, True)),
    *(RowNormBackward(**case) for case in ROW_NORMS),
    *(made(*case) for case in PRODUCTS for made in (BatchedProductForward, BatchedProductBackward)),
    EmbeddingForward((2, 35), 9, 20),
    EmbeddingBackward((2, 35), 9, 20),
    EmbeddingBackward((3,), 4, 300),
    *(Rotary((2, 3, 70, 6), 5, gradient=gradient) for gradient in (False, True)),
    Rotary((1, 2, 8), 4000),
    *(made(*case) for case in ATTENTIONS for made in ATTENTION_ALGORITHMS.values() if not made.why_not(case[0][-1])),
    *(AttentionBackward(*case) for case in ATTENTIONS),
    *(CausalMask(shape, gradient) for shape in ((2, 3, 4, 4), (2, 3, 7)) for gradient in (False, True)),
    *(PoolingForward(pooling, (2, 3, 17, 18)) for pooling in POOLINGS),
    *(PoolingBackward(pooling, (2, 3, 17, 18)) for pooling in POOLINGS),
    *(PoolingForward(pooling, (2, 3, 9, 8), keep_places=False) for pooling in (MAX_3, SMALL_MAX, MAX_ODD)),
    *(PoolingForward(Pooling.over_plane(mode, (2, 9, 7, 7)), (2, 9, 7, 7)) for mode in MODES),
    *(PoolingBackward(Pooling.over_plane(mode, (2, 9, 7, 7)), (2, 9, 7, 7)) for mode in MODES),
    PoolingForward(Pooling.over_plane("max", (1, 3, 17, 16)), (1, 3, 17, 16), keep_places=False),
    PoolingForward(Pooling.over_plane("max", (1, 3, 17, 16)), (1, 3, 17, 16)),
    PoolingBackward(Pooling.over_plane("max", (1, 3, 17, 16)), (1, 3, 17, 16)),
    BiasForward((2, 5, 3, 3)),
    BiasForward((3, 7)),
    BiasBackward((70, 9)),
    BiasBackward((3, 5, 2, 3)),
    BiasBackward((3, 5, 8, 8)),
    BiasBackward((30, 5, 9, 9)),
    BiasBackward((1, 300)),
    *(BatchNormTraining(shape) for shape in ((40, 9), (5, 6, 3, 5), (3, 5, 8, 8), (30, 5, 9, 9))),
    BatchNormTraining((4, 3, 2, 2), "per_activation", factor=0.5),
    *(BatchNormInference(shape) for shape in ((4, 9), (3, 5, 3, 4), (2, 3, 3, 3))),
    BatchNormInference((4, 3, 2, 2), "per_activation"),
    *(BatchNormBackward(shape) for shape in ((40, 9), (5, 6, 3, 5), (3, 5, 8, 8), (30, 5, 9, 9))),
    BatchNormBackward((4, 3, 2, 2), "per_activation"),
    *(SoftmaxForward(shape) for shape in ((3, 10), (1, 2500), (2, 7, 5, 5), (1, 40, 3, 3))),
    *(SoftmaxBackward(shape) for shape in ((3, 10), (1, 2500), (2, 7, 5, 5), (1, 40, 3, 3))),
    SoftmaxLossForward((5, 10)),
    SoftmaxLossForward((300, 3, 1, 1)),
    SoftmaxLossBackward((5, 10)),
    DropoutForward((3, 5, 7), 0.3, seed=(1 << 63) + 5, stream=9),
    DropoutBackward((3, 5, 7), 0.3),
    *(Add((3, 5, 7), count) for count in (2, 3, 4, 5, 8)),
    MultiplyForward((3, 5, 7)),
    MultiplyBackward((3, 5, 7)),
    Concat((2, 9, 3, 3), (4, 2, 3)),
    Concat((3, 12, 2, 2), (5, 7)),
    Append((3, 12, 2, 2), 2, 5),
    Append((3, 7, 3), 2, 5),
    Split((2, 9, 3, 3), (4, 2, 3)),
    Split((3, 12, 2, 2), (5, 7)),
    *(LrnForward((2, 37, 5, 5), size, alpha=0.3, alpha_over_size=size != 5) for size in SIZES),
    *(LrnBackward((2, 37, 5, 5), size, alpha=0.3, alpha_over_size=size != 5) for size in SIZES),
    LrnForward((2, 2), 5, alpha=1.0),
    LrnBackward((2, 2), 5, alpha=1.0),
    Sgd((5, 7), momentum=0.0, decay=0.1),
    Sgd((5, 7), decay=0.1),
    Adam((5, 7), step=3, decay=0.1),
    Bypass((5, 7)),
    *(CountZeros((size,)) for size in (1, GROUP_ELEMENTS, 2 * GROUP_ELEMENTS + 5)),
    CountZeros((3, 5, 7, 11)),
    *CONVOLVED,
    *(FullyConnectedForward(shape, outputs, bias=len(shape) > 2) for shape, outputs in FULLY_CONNECTED),
    *(FullyConnectedForward((9, 1700), outputs, bias, relu=True) for outputs, bias in ((9, True), (64, False))),
    *(FullyConnectedForward((rows, width), 7, bias, relu) for rows, width, bias, relu in FEW_ROWS),
    *(FullyConnectedForward(shape, *rest, half=True) for shape, *rest in HALVES),
    *(FullyConnectedBackwardData(shape, outputs) for shape, outputs in FULLY_CONNECTED),
    *(FullyConnectedBackwardData((3, inputs), 1700, masked=True) for inputs in (9, 64)),
    *(FullyConnectedBackwardWeights(shape, outputs) for shape, outputs in FULLY_CONNECTED),
    *(made for case in CIRCULANT for made in circulant_passes(case)),
    *(made for case in PERMUTED for made in permuted_passes(*case)),
)


def shapes(axes: int, least: int = 1, most: int = 9) -> st.SearchStrategy[Shape]:
    """Of images: each size from `least` to `most`."""
    return st.tuples(*[st.integers(least, most)] * axes)


@st.composite
def poolings(draw: st.DrawFn) -> tuple[Pooling, Shape]:
    """Windows of any kind, and planes that they fit."""
    kernel = draw(st.one_of(st.sampled_from(((2, 2), (3, 3))), shapes(2, 1, 5)))
    sides = (*kernel, *kernel) if draw(st.booleans()) else kernel
    padding = tuple(draw(st.integers(0, size - 1)) for size in sides)
    both = [padding[axis] + padding[axis - 2] for axis in (0, 1)]
    planes = (draw(st.integers(max(1, size - pad), 12)) for size, pad in zip(kernel, both, strict=True))
    shape = (*draw(shapes(2, 1, 3)), *planes)
    stride = draw(st.one_of(st.sampled_from(((1, 1), (2, 2))), shapes(2, 1, 4)))
    mode, ceil_mode, count_padding = draw(st.sampled_from(MODES)), draw(st.booleans()), draw(st.booleans())
    return Pooling(mode, kernel, stride, padding, ceil_mode, count_padding), shape


@st.composite
def primitives(draw: st.DrawFn) -> Primitive:
    """Of any kind and shape, forward or backward."""
    shape = draw(st.one_of(shapes(4), shapes(2, 1, 40)))
    kind = draw(
        st.sampled_from(("activation", "pooling", "bias", "norm", "softmax", "loss", "dropout", "concat", "lrn"))
    )
    forward = draw(st.booleans())
    if kind == "activation":
        function = draw(st.sampled_from(sorted(FUNCTIONS)))
        return (ActivationForward if forward else ActivationBackward)(function, shape)
    if kind == "pooling":
        return (PoolingForward if forward else PoolingBackward)(*draw(poolings()))
    if kind == "bias":
        return (BiasForward if forward else BiasBackward)(shape)
    if kind == "norm":
        mode = draw(st.sampled_from(BATCH_NORM_MODES))
        of = draw(st.sampled_from((BatchNormTraining, BatchNormInference, BatchNormBackward)))
        return of((shape[0] + 1, *shape[1:]), mode)
    if kind == "softmax":
        return (SoftmaxForward if forward else SoftmaxBackward)(shape)
    if kind == "loss":
        return (SoftmaxLossForward if forward else SoftmaxLossBackward)(shape[:2])
    if kind == "dropout":
        probability = draw(st.floats(0, 0.9))
        if not forward:
            return DropoutBackward(shape, probability)
        return DropoutForward(shape, probability, draw(st.integers(0, (1 << 64) - 1)), draw(st.integers(0, 1 << 31)))
    if kind == "concat":
        parts = draw(shapes(draw(st.integers(1, 4)), 1, 6))
        return (Concat if forward else Split)((shape[0], sum(parts), *shape[2:]), parts)
    size, over_size = draw(st.sampled_from(SIZES)), draw(st.booleans())
    return (LrnForward if forward else LrnBackward)(shape, size, draw(st.floats(0, 2)), 0.75, 1.0, over_size)


def public_primitives() -> set[type[Primitive]]:
    """Return the classes of primitives that a network or a configuration can have."""
    files = Path(operator.__file__).parent.glob("*.py")
    modules = [import_module(f"workloads.operators.{file.stem}") for file in files]
    members = [
        held for module in modules for name, held in inspect.getmembers(module, inspect.isclass) if name[0] != "_"
    ]
    return {held for held in members if issubclass(held, Primitive) and not inspect.isabstract(held)}
