"""Kinds of layers that are not among `products`: their passes as primitives."""

import math
from collections.abc import Callable, Mapping
from functools import partial

from gpusim.config.network_run import DEFAULT_ATTENTION
from gpusim.jobs.networks.case import PrimitiveUse, Row, StepContext
from workloads.networks.axes import axes_of, axis_of
from workloads.networks.kind import Pass
from workloads.networks.kinds import KINDS as KIND_CLASSES
from workloads.networks.pointwise import FunctionOfInput
from workloads.operators.activation import ActivationBackward, ActivationForward
from workloads.operators.add import Add
from workloads.operators.attention import ATTENTION_ALGORITHMS, AttentionBackward
from workloads.operators.batch_norm import BatchNormBackward, BatchNormInference, BatchNormTraining
from workloads.operators.batched_product import BatchedProductBackward, BatchedProductForward
from workloads.operators.bypass import Bypass
from workloads.operators.causal_mask import CausalMask
from workloads.operators.combine import CombineBackward, CombineForward
from workloads.operators.concat import Append, Concat, Split
from workloads.operators.dropout import DropoutBackward, DropoutForward
from workloads.operators.embedding import EmbeddingBackward, EmbeddingForward
from workloads.operators.lrn import LrnBackward, LrnForward
from workloads.operators.move import Permute, Repeat, StoredParameter, StridedSlice
from workloads.operators.multiply import MultiplyBackward, MultiplyForward
from workloads.operators.pooling import Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import Primitive
from workloads.operators.reductions import Sum
from workloads.operators.rotary import Rotary
from workloads.operators.row_norm import RowNormBackward, RowNormForward
from workloads.operators.softmax import SoftmaxBackward, SoftmaxForward


def _activation(function: str, case: StepContext) -> PrimitiveUse:
    if case.step.what is Pass.FORWARD:
        return PrimitiveUse(ActivationForward(function, case.output_shape))
    return PrimitiveUse(ActivationBackward(function, case.output_shape))


def _of_input(case: StepContext) -> PrimitiveUse:
    made = ActivationForward if case.step.what is Pass.FORWARD else ActivationBackward
    return PrimitiveUse(made(case.kind.function, case.output_shape, *case.kind.numbers))


def _pooling(mode: str, case: StepContext) -> PrimitiveUse:
    kind = case.kind
    window = kind.window(case.layer.input_shapes)
    counted = mode == "max" or kind.counts_padding
    pooling = Pooling(mode, window, kind.stride or window, kind.padding, kind.ceil, counted)
    if case.step.what is Pass.FORWARD:
        return PrimitiveUse(PoolingForward(pooling, case.input_shape, keep_places="places" in case.step.writes))
    return PrimitiveUse(PoolingBackward(pooling, case.input_shape))


def _lrn(case: StepContext) -> PrimitiveUse:
    primitive = LrnForward if case.step.what is Pass.FORWARD else LrnBackward
    kind = case.kind
    return PrimitiveUse(primitive(case.input_shape, kind.size, kind.alpha, kind.beta, kind.k))


def _batch_norm(case: StepContext) -> PrimitiveUse:
    kind, shape = case.kind, case.input_shape
    if case.step.what is Pass.BACKWARD:
        return PrimitiveUse(BatchNormBackward(shape, kind.mode, kind.epsilon))
    if "mean" in case.step.writes:
        return PrimitiveUse(BatchNormTraining(shape, kind.mode, kind.epsilon, kind.momentum))
    return PrimitiveUse(BatchNormInference(shape, kind.mode, kind.epsilon))


def _softmax(case: StepContext) -> PrimitiveUse:
    primitive = SoftmaxForward if case.step.what is Pass.FORWARD else SoftmaxBackward
    outer, values, inner = case.kind.planes(case.layer.shape)
    rows = case.schedule.batch * outer
    return PrimitiveUse(primitive((rows, values, inner) if inner > 1 else (rows, values)))


def _row_norm(case: StepContext) -> PrimitiveUse:
    kind, shape = case.kind, case.input_shape
    axes, groups = getattr(kind, "axes", 1), getattr(kind, "groups", 0)
    same = shape, axes, groups, case.layer.kind_name != "rms_norm", kind.biased, kind.epsilon
    if case.step.what is Pass.FORWARD:
        return PrimitiveUse(RowNormForward(*same, keep="mean" in case.step.writes))
    return PrimitiveUse(RowNormBackward(*same))


def _combine(case: StepContext) -> PrimitiveUse:
    kind, batch = case.kind, case.schedule.batch
    shapes = [(batch, *shape) for shape in case.layer.input_shapes]
    names, stored = {"x0": "x0", "x1": "x1"}, ""
    axes = len(case.layer.shape)
    if kind.stored is None:  # an axis that an operand does not have stands behind the images
        shapes = [(batch, *(1,) * (axes + 1 - len(shape)), *shape[1:]) for shape in shapes]
        left, right = shapes
    else:
        stored = "x0" if kind.stored_first else "x1"
        other = "x1" if kind.stored_first else "x0"
        names = {stored: kind.role, other: "x"}
        left, right = (kind.stored, *shapes) if kind.stored_first else (*shapes, kind.stored)
    if case.step.what is Pass.FORWARD:
        return PrimitiveUse(CombineForward(kind.operation, left, right, stored), names)
    roles = names | {f"d{name}": f"d{role}" for name, role in names.items()}
    wanted = [f"d{name}" for name in names if f"d{names[name]}" in case.step.writes]
    only = wanted[0] if len(wanted) == 1 else ""
    return PrimitiveUse(CombineBackward(kind.operation, left, right, stored, only), roles)


def _stored(case: StepContext) -> PrimitiveUse:
    forward = StoredParameter(case.output_shape)
    roles = {"bias": "weight", "dbias": "dweight"}
    return PrimitiveUse(forward if case.step.what is Pass.FORWARD else forward.backward(), roles)


def _matmul(case: StepContext) -> PrimitiveUse:
    batch = case.schedule.batch
    left, right = case.layer.input_shapes
    axes = len(case.layer.shape)
    shapes = [(batch, *(1,) * (axes - len(shape)), *shape) for shape in (left, right)]
    made = BatchedProductForward if case.step.what is Pass.FORWARD else BatchedProductBackward
    return PrimitiveUse(made(shapes[0], shapes[1], case.kind.turned))


def _attention(case: StepContext) -> PrimitiveUse:
    batch, inputs = case.schedule.batch, case.layer.input_shapes
    queries, keys = ((batch, *shape) for shape in inputs[:2])
    values = queries, keys, case.kind.causal, case.kind.scale(inputs)
    if case.step.what is not Pass.FORWARD:
        return PrimitiveUse(AttentionBackward(*values))
    iteration = case.iteration
    wanted = ATTENTION_ALGORITHMS[iteration.chosen.get((case.step.layer, case.step.what), iteration.attention)]
    made = ATTENTION_ALGORITHMS[DEFAULT_ATTENTION] if wanted.why_not(queries[-1]) else wanted
    return PrimitiveUse(made(*values))


def _embedding(case: StepContext) -> PrimitiveUse:
    made = EmbeddingForward if case.step.what is Pass.FORWARD else EmbeddingBackward
    return PrimitiveUse(made(case.input_shape, case.kind.rows, case.kind.width))


def _causal_mask(case: StepContext) -> PrimitiveUse:
    return PrimitiveUse(CausalMask(case.output_shape, case.step.what is not Pass.FORWARD))


def _rotary(case: StepContext) -> PrimitiveUse:
    return PrimitiveUse(Rotary(case.output_shape, case.kind.first, case.kind.base, case.step.what is not Pass.FORWARD))


def _one_way(row: "Callable[[StepContext], Primitive]") -> Row:
    """Make the row of a kind whose backward pass is what its forward pass's primitive says."""

    def use(case: StepContext) -> PrimitiveUse:
        forward = row(case)
        if case.step.what is Pass.FORWARD:
            return PrimitiveUse(forward)
        (backward,) = forward.backward_passes()
        return PrimitiveUse(backward)

    return use


def _permute(case: StepContext) -> Primitive:
    return Permute(case.input_shape, (0, *(axis + 1 for axis in case.kind.order)))


def _slice(case: StepContext) -> Primitive:
    kind, shape = case.kind, case.input_shape
    axis = axis_of(shape[1:], kind.axis) + 1
    taken = kind.taken(shape[axis])
    starts, steps = [0] * len(shape), [1] * len(shape)
    starts[axis], steps[axis] = taken[0], taken.step
    return StridedSlice(shape, tuple(starts), tuple(steps), case.output_shape)


def _pad(case: StepContext) -> Primitive:
    starts = (0, *(-count for count in case.kind.before))
    return StridedSlice(case.input_shape, starts, (1,) * len(starts), case.output_shape, case.kind.value)


def _repeat(case: StepContext) -> Primitive:
    return Repeat(case.input_shape, case.output_shape)


def _reduce(case: StepContext) -> Primitive:
    shape = case.input_shape
    axes = tuple(axis + 1 for axis in axes_of(shape[1:], case.kind.axes))
    count = math.prod(shape[axis] for axis in axes)
    return Sum(shape, axes, 1.0 / count if case.kind.operation == "mean" else 1.0)


def _dropout(case: StepContext) -> PrimitiveUse:
    kind, shape = case.kind, case.output_shape
    if case.step.what is Pass.BACKWARD_DATA:
        return PrimitiveUse(DropoutBackward(shape, kind.probability))
    # a stream of random numbers for each layer and iteration
    layers = case.schedule.network.layers
    stream = (case.iteration.number - 1) * len(layers) + layers.index(case.layer)
    return PrimitiveUse(DropoutForward(shape, kind.probability, kind.seed, stream % (1 << 32)))


def _add(case: StepContext) -> PrimitiveUse:
    return PrimitiveUse(Add(case.output_shape, len(case.layer.inputs)))


def _multiply(case: StepContext) -> PrimitiveUse:
    primitive = MultiplyForward if case.step.what is Pass.FORWARD else MultiplyBackward
    return PrimitiveUse(primitive(case.output_shape))


def _numbered(case: StepContext, name: str) -> dict[str, str]:
    """Map the numbered name to the plain role, for a layer with one input; its role has no number."""
    return {f"{name}0": name} if len(case.layer.inputs) == 1 else {}


def _concat(case: StepContext) -> PrimitiveUse:
    axis, shape = axis_of(case.layer.shape, case.kind.axis) + 1, case.output_shape
    parts = tuple(one[axis - 1] for one in case.layer.input_shapes)
    whole = (math.prod(shape[:axis]), *shape[axis:])  # what stands before the axis counts as images
    if case.step.what is Pass.FORWARD:
        return PrimitiveUse(Concat(whole, parts), _numbered(case, "x"))
    return PrimitiveUse(Split(whole, parts), _numbered(case, "dx"))


def _append(case: StepContext) -> PrimitiveUse:
    axis, shape, inputs = axis_of(case.layer.shape, case.kind.axis) + 1, case.output_shape, case.layer.input_shapes
    whole = (math.prod(shape[:axis]), *shape[axis:])
    return PrimitiveUse(Append(whole, inputs[1][axis - 1], case.kind.start(inputs)), {"x": "x1"})


def _bypass(case: StepContext) -> PrimitiveUse:
    forward = case.step.what is Pass.FORWARD
    return PrimitiveUse(Bypass(case.output_shape), {} if forward else {"x": "dy", "y": "dx"})


OPERATORS: Mapping[str, Row] = {
    "max_pool": partial(_pooling, "max"),
    "average_pool": partial(_pooling, "average"),
    "lrn": _lrn,
    "batch_norm": _batch_norm,
    "relu": partial(_activation, "relu"),
    "sigmoid": partial(_activation, "sigmoid"),
    "tanh": partial(_activation, "tanh"),
    "softmax": _softmax,
    "dropout": _dropout,
    **dict.fromkeys([name for name, kind in KIND_CLASSES.items() if issubclass(kind, FunctionOfInput)], _of_input),
    **dict.fromkeys(("layer_norm", "rms_norm", "group_norm"), _row_norm),
    "causal_mask": _causal_mask,
    "rotary": _rotary,
    "combine": _combine,
    "stored": _stored,
    "matmul": _matmul,
    "attention": _attention,
    "embedding": _embedding,
    "permute": _one_way(_permute),
    "slice": _one_way(_slice),
    "pad": _one_way(_pad),
    "repeat": _one_way(_repeat),
    "reduce": _one_way(_reduce),
    "add": _add,
    "multiply": _multiply,
    "concat": _concat,
    "append": _append,
    "bypass": _bypass,
}
