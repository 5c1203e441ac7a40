"""From a step of a schedule to primitives: one row for each kind of layer and pass.

The roles of a step are the names of its primitive's operands; a row says so where they are not. A step may need several
primitives, run one after another. A result that the step leaves out, since nothing needs it, is stored into the step's
workspace.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gpusim.base.errors import UserError
from gpusim.config.network_run import AUTO, DEFAULT_ALGORITHM, DEFAULT_ATTENTION, NetworkSettings, TrainingSpec
from gpusim.networks.library import library_multiplier
from workloads.networks.axes import axes_of, axis_of
from workloads.networks.block_circulant import BlockCirculantConvolution
from workloads.networks.graph import Layer
from workloads.networks.kind import Pass
from workloads.networks.kinds import KINDS as KIND_CLASSES
from workloads.networks.pointwise import OfInput
from workloads.networks.schedule import Schedule, Step, classes_of
from workloads.operators.activation import ActivationBackward, ActivationForward
from workloads.operators.add import Add
from workloads.operators.attention import ATTENTION_ALGORITHMS, AttentionBackward
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
from workloads.operators.combine import CombineBackward, CombineForward
from workloads.operators.concat import Append, Concat, Split
from workloads.operators.conv_algorithms import ALGORITHMS, ConvolutionAlgorithm
from workloads.operators.conv_buffer import BUFFER_BYTES
from workloads.operators.conv_passes import ConvolutionBackwardData
from workloads.operators.conv_winograd import POOLED, WinogradForward
from workloads.operators.convolution import Convolution
from workloads.operators.dropout import DropoutBackward, DropoutForward
from workloads.operators.embedding import EmbeddingBackward, EmbeddingForward
from workloads.operators.fully_connected import (
    FullyConnectedBackwardData,
    FullyConnectedBackwardWeights,
    FullyConnectedForward,
)
from workloads.operators.lrn import LrnBackward, LrnForward
from workloads.operators.move import Cut, Permute, Repeat, Stored
from workloads.operators.multiply import MultiplyBackward, MultiplyForward
from workloads.operators.optimizer import Adam, Sgd
from workloads.operators.permuted_diagonal import (
    PermutedDiagonalBackwardData,
    PermutedDiagonalBackwardWeights,
    PermutedDiagonalForward,
)
from workloads.operators.pooling import Pooling, PoolingBackward, PoolingForward
from workloads.operators.primitive import Primitive
from workloads.operators.reductions import Sum
from workloads.operators.rotary import Rotary
from workloads.operators.row_norm import RowNormBackward, RowNormForward
from workloads.operators.softmax import SoftmaxBackward, SoftmaxForward, SoftmaxLossBackward, SoftmaxLossForward
from workloads.operators.tensor import Shape
from workloads.operators.tiles import Multiplier


@dataclass(frozen=True)
class Part:
    """A primitive of a step. tensors: for each operand and result that is a tensor of the schedule, that
    tensor's name; apart: the layer that is joined to the step although its primitive is this one, and why.
    """

    primitive: Primitive
    tensors: Mapping[str, str]
    apart: tuple[str, str] | None = None


@dataclass(frozen=True)
class Iteration:
    """What a step's primitives depend on besides the schedule.

    number: of the iteration, from 1; training: how parameters are updated; convolution: the algorithm of layers that it
    can compute; sparse_convolution: the algorithm of forward passes over activation maps, where it can compute them;
    None: there is none; sparse_gradients: whether it computes the weights' gradients too, where it can;
    convolution_buffer_bytes: for algorithms that work on chunks of images; attention: the algorithm of attention,
    forward; chosen: another algorithm than `convolution` or `attention` by layer and pass; multiplier: whose kernels
    compute matrix products; None: ours.
    """

    number: int = 1
    training: TrainingSpec = field(default_factory=TrainingSpec)
    convolution: str = DEFAULT_ALGORITHM
    sparse_convolution: str | None = None
    sparse_gradients: bool = False
    convolution_buffer_bytes: int = BUFFER_BYTES
    attention: str = DEFAULT_ATTENTION
    chosen: Mapping[tuple[str, Pass], str] = field(default_factory=dict)
    multiplier: Multiplier | None = None

    @classmethod
    def under(
        cls,
        settings: NetworkSettings,
        number: int = 1,
        sparse: bool = False,
        chosen: Mapping[tuple[str, Pass], str] | None = None,
    ) -> "Iteration":
        """Make an iteration from the settings. sparse: skip zeros of activation maps; chosen: by
        `gpusim.networks.choice`.
        """
        skipping = settings.sparse_convolution if sparse else None
        usual = DEFAULT_ALGORITHM if settings.convolution == AUTO else settings.convolution
        buffer, gradients = settings.convolution_buffer_bytes, settings.sparse_gradients
        multiplier = library_multiplier(settings.products, settings.gpu)
        attention = DEFAULT_ATTENTION if settings.attention == AUTO else settings.attention
        return cls(number, settings.training, usual, skipping, gradients, buffer, attention, chosen or {}, multiplier)


@dataclass(frozen=True)
class Case:
    """A step in its schedule: the argument of every row."""

    schedule: Schedule
    step: Step
    iteration: Iteration

    @property
    def layer(self) -> Layer:
        """The layer to which the step belongs."""
        return self.schedule.network[self.step.layer]

    @property
    def kind(self) -> Any:
        """The layer's kind, with its values."""
        return self.layer.kind

    def shape(self, role: str) -> Shape:
        """Return the shape of the tensor with a role, including the batch."""
        step = self.step
        return self.schedule.tensors[step.reads[role] if role in step.reads else step.writes[role]].shape

    @property
    def input_shape(self) -> Shape:
        """The shape of the layer's first input, including the batch."""
        return (self.schedule.batch, *self.layer.input_shapes[0])

    @property
    def output_shape(self) -> Shape:
        """The shape of the layer's output, including the batch."""
        return (self.schedule.batch, *self.layer.shape)

    def refuse(self, problem: str) -> UserError:
        """Return the error that says what is not possible in this step."""
        source = self.schedule.network.source
        return UserError(f"{source}: layer '{self.step.layer}' ({self.layer.kind_name}, {self.step.what}): {problem}")


@dataclass(frozen=True)
class Use:
    """A primitive, and the roles of those of its operands and results that have other names.

    apart: as of its Part.
    """

    primitive: Primitive
    roles: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, str] | None = None


Row = Callable[[Case], Use | tuple[Use, ...]]


def parts_of(schedule: Schedule, step: Step, iteration: Iteration = Iteration()) -> tuple[Part, ...]:
    """Return the primitives of a step, in order; raises UserError that names the layer if it cannot be computed."""
    case = Case(schedule, step, iteration)
    row = COMMON.get(step.what) or KINDS.get((case.layer.kind_name, step.what))
    if row is None:
        raise case.refuse("there is no operator for it")
    try:
        uses = row(case)
    except UserError as error:
        if str(error).startswith(schedule.network.source):
            raise
        raise case.refuse(str(error)) from None
    return tuple(_part(case, use) for use in (uses if isinstance(uses, tuple) else (uses,)))


def _part(case: Case, use: Use) -> Part:
    held = {}
    for name in use.primitive.takes:
        role = use.roles.get(name, name)
        # a later primitive of the step may take what an earlier one gave
        held[name] = case.step.reads[role] if role in case.step.reads else case.step.writes[role]
    for name in use.primitive.gives:
        role = use.roles.get(name, name)
        if role in case.step.writes:
            held[name] = case.step.writes[role]
    return Part(use.primitive, held, use.apart)


def _by_label(case: Case) -> Shape:
    """Return the shape of the classes' values of every label."""
    classes = classes_of(case.layer.shape) or 1
    return case.schedule.batch * math.prod(case.layer.shape) // classes, classes


def _loss(case: Case) -> Use:
    return Use(SoftmaxLossForward(_by_label(case)))


def _loss_gradient(case: Case) -> Use:
    return Use(SoftmaxLossBackward(_by_label(case)))


def _gradient_sum(case: Case) -> Use:
    return Use(Add(case.shape("y"), len(case.step.reads)))


def _update(case: Case) -> Use:
    shape, wanted = case.shape("w"), case.iteration.training
    if "square" in case.step.reads:
        return Use(Adam(shape, case.iteration.number, wanted.rate, decay=wanted.decay))
    return Use(Sgd(shape, wanted.rate, wanted.momentum, wanted.decay))


def _activation(function: str, case: Case) -> Use:
    if case.step.what is Pass.FORWARD:
        return Use(ActivationForward(function, case.output_shape))
    return Use(ActivationBackward(function, case.output_shape))


def _of_input(case: Case) -> Use:
    made = ActivationForward if case.step.what is Pass.FORWARD else ActivationBackward
    return Use(made(case.kind.function, case.output_shape, *case.kind.numbers))


def _pooling(mode: str, case: Case) -> Use:
    kind = case.kind
    window = kind.window(case.layer.input_shapes)
    counted = mode == "max" or kind.counts_padding
    pooling = Pooling(mode, window, kind.stride or window, kind.padding, kind.ceil, counted)
    if case.step.what is Pass.FORWARD:
        return Use(PoolingForward(pooling, case.input_shape, keep_places="places" in case.step.writes))
    return Use(PoolingBackward(pooling, case.input_shape))


def _lrn(case: Case) -> Use:
    primitive = LrnForward if case.step.what is Pass.FORWARD else LrnBackward
    kind = case.kind
    return Use(primitive(case.input_shape, kind.size, kind.alpha, kind.beta, kind.k))


def _batch_norm(case: Case) -> Use:
    kind, shape = case.kind, case.input_shape
    if case.step.what is Pass.BACKWARD:
        return Use(BatchNormBackward(shape, kind.mode, kind.epsilon))
    if "mean" in case.step.writes:
        return Use(BatchNormTraining(shape, kind.mode, kind.epsilon, kind.momentum))
    return Use(BatchNormInference(shape, kind.mode, kind.epsilon))


def _softmax(case: Case) -> Use:
    primitive = SoftmaxForward if case.step.what is Pass.FORWARD else SoftmaxBackward
    outer, values, inner = case.kind.planes(case.layer.shape)
    rows = case.schedule.batch * outer
    return Use(primitive((rows, values, inner) if inner > 1 else (rows, values)))


def _row_norm(case: Case) -> Use:
    kind, shape = case.kind, case.input_shape
    axes, groups = getattr(kind, "axes", 1), getattr(kind, "groups", 0)
    same = shape, axes, groups, case.layer.kind_name != "rms_norm", kind.biased, kind.epsilon
    if case.step.what is Pass.FORWARD:
        return Use(RowNormForward(*same, keep="mean" in case.step.writes))
    return Use(RowNormBackward(*same))


def _combine(case: Case) -> Use:
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
        return Use(CombineForward(kind.operation, left, right, stored), names)
    roles = names | {f"d{name}": f"d{role}" for name, role in names.items()}
    wanted = [f"d{name}" for name in names if f"d{names[name]}" in case.step.writes]
    only = wanted[0] if len(wanted) == 1 else ""
    return Use(CombineBackward(kind.operation, left, right, stored, only), roles)


def _stored(case: Case) -> Use:
    forward = Stored(case.output_shape)
    roles = {"bias": "weight", "dbias": "dweight"}
    return Use(forward if case.step.what is Pass.FORWARD else forward.backward(), roles)


def _matmul(case: Case) -> Use:
    batch = case.schedule.batch
    left, right = case.layer.input_shapes
    axes = len(case.layer.shape)
    shapes = [(batch, *(1,) * (axes - len(shape)), *shape) for shape in (left, right)]
    made = BatchedProductForward if case.step.what is Pass.FORWARD else BatchedProductBackward
    return Use(made(shapes[0], shapes[1], case.kind.turned))


def _attention(case: Case) -> Use:
    batch, inputs = case.schedule.batch, case.layer.input_shapes
    queries, keys = ((batch, *shape) for shape in inputs[:2])
    values = queries, keys, case.kind.causal, case.kind.scale(inputs)
    if case.step.what is not Pass.FORWARD:
        return Use(AttentionBackward(*values))
    iteration = case.iteration
    wanted = ATTENTION_ALGORITHMS[iteration.chosen.get((case.step.layer, case.step.what), iteration.attention)]
    made = ATTENTION_ALGORITHMS[DEFAULT_ATTENTION] if wanted.why_not(queries[-1]) else wanted
    return Use(made(*values))


def _embedding(case: Case) -> Use:
    made = EmbeddingForward if case.step.what is Pass.FORWARD else EmbeddingBackward
    return Use(made(case.input_shape, case.kind.rows, case.kind.width))


def _causal_mask(case: Case) -> Use:
    return Use(CausalMask(case.output_shape, case.step.what is not Pass.FORWARD))


def _rotary(case: Case) -> Use:
    return Use(Rotary(case.output_shape, case.kind.first, case.kind.base, case.step.what is not Pass.FORWARD))


def _one_way(row: "Callable[[Case], Primitive]") -> Row:
    """Make the row of a kind whose backward pass is what its forward pass's primitive says."""

    def use(case: Case) -> Use:
        forward = row(case)
        if case.step.what is Pass.FORWARD:
            return Use(forward)
        (backward,) = forward.backward_passes()
        return Use(backward)

    return use


def _permute(case: Case) -> Primitive:
    return Permute(case.input_shape, (0, *(axis + 1 for axis in case.kind.order)))


def _slice(case: Case) -> Primitive:
    kind, shape = case.kind, case.input_shape
    axis = axis_of(shape[1:], kind.axis) + 1
    taken = kind.taken(shape[axis])
    starts, steps = [0] * len(shape), [1] * len(shape)
    starts[axis], steps[axis] = taken[0], taken.step
    return Cut(shape, tuple(starts), tuple(steps), case.output_shape)


def _pad(case: Case) -> Primitive:
    starts = (0, *(-count for count in case.kind.before))
    return Cut(case.input_shape, starts, (1,) * len(starts), case.output_shape, case.kind.value)


def _repeat(case: Case) -> Primitive:
    return Repeat(case.input_shape, case.output_shape)


def _reduce(case: Case) -> Primitive:
    shape = case.input_shape
    axes = tuple(axis + 1 for axis in axes_of(shape[1:], case.kind.axes))
    count = math.prod(shape[axis] for axis in axes)
    return Sum(shape, axes, 1.0 / count if case.kind.operation == "mean" else 1.0)


def _dropout(case: Case) -> Use:
    kind, shape = case.kind, case.output_shape
    if case.step.what is Pass.BACKWARD_DATA:
        return Use(DropoutBackward(shape, kind.probability))
    # a stream of random numbers for each layer and iteration
    layers = case.schedule.network.layers
    stream = (case.iteration.number - 1) * len(layers) + layers.index(case.layer)
    return Use(DropoutForward(shape, kind.probability, kind.seed, stream % (1 << 32)))


def _add(case: Case) -> Use:
    return Use(Add(case.output_shape, len(case.layer.inputs)))


def _multiply(case: Case) -> Use:
    primitive = MultiplyForward if case.step.what is Pass.FORWARD else MultiplyBackward
    return Use(primitive(case.output_shape))


def _numbered(case: Case, name: str) -> dict[str, str]:
    """Map the numbered name to the plain role, for a layer with one input; its role has no number."""
    return {f"{name}0": name} if len(case.layer.inputs) == 1 else {}


def _concat(case: Case) -> Use:
    axis, shape = axis_of(case.layer.shape, case.kind.axis) + 1, case.output_shape
    parts = tuple(one[axis - 1] for one in case.layer.input_shapes)
    whole = (math.prod(shape[:axis]), *shape[axis:])  # what stands before the axis counts as images
    if case.step.what is Pass.FORWARD:
        return Use(Concat(whole, parts), _numbered(case, "x"))
    return Use(Split(whole, parts), _numbered(case, "dx"))


def _append(case: Case) -> Use:
    axis, shape, inputs = axis_of(case.layer.shape, case.kind.axis) + 1, case.output_shape, case.layer.input_shapes
    whole = (math.prod(shape[:axis]), *shape[axis:])
    return Use(Append(whole, inputs[1][axis - 1], case.kind.start(inputs)), {"x": "x1"})


def _bypass(case: Case) -> Use:
    forward = case.step.what is Pass.FORWARD
    return Use(Bypass(case.output_shape), {} if forward else {"x": "dy", "y": "dx"})


def _windows(case: Case) -> Convolution:
    kind = case.kind
    return Convolution(
        case.input_shape, kind.filters, kind.kernel, kind.stride, kind.padding, kind.dilation, kind.groups
    )


def why_dense(schedule: Schedule, step: Step, iteration: Iteration) -> str:
    """Say why a convolution's step skips no zeros although the iteration should.

    The text is empty if the step does skip them, or is not such a step.
    """
    case = Case(schedule, step, iteration)
    passes = (Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS)
    if iteration.sparse_convolution is None or step.what not in passes or case.layer.kind_name != "convolution":
        return ""
    return _why_dense(case, ALGORITHMS[iteration.sparse_convolution], _windows(case))


def _why_dense(case: Case, sparse: ConvolutionAlgorithm, windows: Convolution) -> str:
    weights = sparse.sparse_weights if case.step.what is Pass.BACKWARD_WEIGHTS else None
    if case.step.what is not Pass.FORWARD and weights is None:
        return "gradients have no sparse algorithm"
    if weights is not None and not case.iteration.sparse_gradients:
        return "gradients of weights stay dense: sparse_gradients is false"
    if set(case.layer.inputs) & set(case.schedule.network.inputs):
        return "its input is the network's, no activation map"
    return sparse.refuses(windows) if weights is None else weights.refuses(windows)


def why_apart(schedule: Schedule, step: Step, iteration: Iteration) -> dict[str, str]:
    """Say why layers that are joined to a step take launches of their own, by their names."""
    if not step.joined:
        return {}
    return dict(part.apart for part in parts_of(schedule, step, iteration) if part.apart is not None)


def _relu_apart(case: Case, why: str) -> Use:
    """Return the ReLU that is joined to a step as a primitive of its own, over the step's result where it lies."""
    apart = case.step.joined[0], why
    if case.step.what is Pass.FORWARD:
        return Use(ActivationForward("relu", case.output_shape), {"x": "y"}, apart)
    return Use(ActivationBackward("relu", case.input_shape), {"y": "mask", "dy": "dx"}, apart)


def _pooling_apart(case: Case, why: str) -> tuple[Use, ...]:
    """Return the pooling that is joined to a step, if there is one, as a primitive of its own."""
    if len(case.step.joined) < 2:
        return ()
    places = "places" in case.step.writes
    pooling = PoolingForward(POOLED, case.output_shape, keep_places=places)
    return (Use(pooling, {"x": "y", "y": "pooled"}, (case.step.joined[1], why)),)


def _forward(case: Case, row: ConvolutionAlgorithm) -> tuple[Use, ...]:
    """Return the forward pass of a convolution with what is joined to it."""
    joined = case.step.joined
    forward = row.forward(_windows(case), bias=case.kind.bias, relu=bool(joined) and row.rectifies)
    why = f"the kernels of {row.name} end with no ReLU"
    if joined and not row.rectifies:
        return (Use(forward), _relu_apart(case, why), *_pooling_apart(case, why))
    if len(joined) > 1 and isinstance(forward, WinogradForward):
        return (Use(replace(forward, pools=True, kept="places" in case.step.writes)),)
    return (Use(forward), *_pooling_apart(case, f"the tiles of {row.name} do not consist of its windows"))


def _algorithm(case: Case, windows: Convolution) -> ConvolutionAlgorithm:
    """Return the dense algorithm of a step; the default where the one that is asked for does not compute it."""
    iteration = case.iteration
    wanted = ALGORITHMS[iteration.chosen.get((case.step.layer, case.step.what), iteration.convolution)]
    return ALGORITHMS[DEFAULT_ALGORITHM] if wanted.refuses(windows) else wanted


def _convolution(case: Case) -> Use | tuple[Use, ...]:
    iteration, windows = case.iteration, _windows(case)
    sparse = ALGORITHMS[iteration.sparse_convolution] if iteration.sparse_convolution is not None else None
    if sparse is not None and not _why_dense(case, sparse, windows):
        weights = sparse.sparse_weights if case.step.what is Pass.BACKWARD_WEIGHTS else None
        return _forward(case, sparse) if weights is None else Use(weights(windows))
    row = _algorithm(case, windows).within(iteration.convolution_buffer_bytes).by(iteration.multiplier)
    if case.step.what is Pass.FORWARD:
        return _forward(case, row)
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return Use(row.backward_weights(windows))
    return _backward_data(
        case,
        made := row.backward_data(windows),
        "" if made.masks else f"the kernels of {made.algorithm} end with no mask",
    )


def _transposed_convolution(case: Case) -> Use | tuple[Use, ...]:
    """Run the passes of the convolution the other way: its gradient of the data goes forward."""
    kind, iteration = case.kind, case.iteration
    mirrored, shape = kind.mirrored(case.layer.input_shapes)
    windows = Convolution(
        (case.schedule.batch, *shape),
        mirrored.filters,
        kind.kernel,
        kind.stride,
        kind.padding,
        kind.dilation,
        kind.groups,
    )
    row = _algorithm(case, windows).within(iteration.convolution_buffer_bytes).by(iteration.multiplier)
    if case.step.what is Pass.FORWARD:
        forward = Use(row.backward_data(windows), {"dy": "x", "dx": "y"})
        return (forward, Use(BiasForward(case.output_shape), {"x": "y"})) if kind.bias else forward
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return Use(row.backward_weights(windows), {"x": "dy", "dy": "x"})
    return Use(row.forward(windows, bias=False, relu=False), {"x": "dy", "y": "dx"})


def _backward_data(
    case: Case, made: ConvolutionBackwardData | FullyConnectedBackwardData | BlockCirculantBackwardData, why: str
) -> Use | tuple[Use, ...]:
    if not case.step.joined:
        return Use(made)
    if why or isinstance(made, BlockCirculantBackwardData):
        return Use(made), _relu_apart(case, why)
    return Use(replace(made, masked=True))


def _fully_connected(case: Case) -> Use | tuple[Use, ...]:
    shape, outputs, by = case.input_shape, case.kind.outputs, case.iteration.multiplier
    if case.kind.each:  # every position counts as an image
        shape = (math.prod(shape[:-1]), shape[-1])
    if case.step.what is Pass.FORWARD:
        half = case.kind.weights == "float16"
        forward = FullyConnectedForward(shape, outputs, bias=case.kind.bias, half=half, by=by)
        if not case.step.joined:
            return Use(forward)
        if why := forward.why_not_last:
            return (Use(forward), _relu_apart(case, why), *_pooling_apart(case, why))
        return Use(replace(forward, relu=True))
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return Use(FullyConnectedBackwardWeights(shape, outputs, by=by))
    return _backward_data(case, made := FullyConnectedBackwardData(shape, outputs, by=by), made.why_not_last)


def _block_circulant(case: Case) -> Use | tuple[Use, ...]:
    kind = case.kind
    windows = _windows(case) if isinstance(kind, BlockCirculantConvolution) else None
    shape = case.input_shape, windows.filters if windows else kind.outputs, kind.block, kind.flow, kind.lanes, windows
    why = "the kernels of circulant blocks end with transforms"
    if case.step.what is Pass.FORWARD:
        forward = BlockCirculantForward(*shape, bias=kind.bias)
        apart = (_relu_apart(case, why), *_pooling_apart(case, why)) if case.step.joined else ()
        return Use(forward), *apart
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return Use(BlockCirculantBackwardWeights(*shape))
    return _backward_data(case, BlockCirculantBackwardData(*shape), why)


def _permuted_diagonal(case: Case) -> Use | tuple[Use, ...]:
    shape = case.input_shape, case.kind.outputs, case.kind.block
    why = "the kernels of permuted diagonals end with sums"
    if case.step.what is Pass.FORWARD:
        forward = PermutedDiagonalForward(*shape, bias=case.kind.bias)
        apart = (_relu_apart(case, why), *_pooling_apart(case, why)) if case.step.joined else ()
        return Use(forward), *apart
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return Use(PermutedDiagonalBackwardWeights(*shape))
    made = Use(PermutedDiagonalBackwardData(*shape))
    return (made, _relu_apart(case, why)) if case.step.joined else made


def _bias_gradient(case: Case) -> Use:
    shape = case.output_shape
    return Use(BiasBackward((math.prod(shape[:-1]), shape[-1]) if getattr(case.kind, "each", False) else shape))


# passes that are the same for layers of every kind
COMMON: Mapping[Pass, Row] = {
    Pass.LOSS: _loss,
    Pass.LOSS_GRADIENT: _loss_gradient,
    Pass.GRADIENT_SUM: _gradient_sum,
    Pass.UPDATE: _update,
    Pass.BACKWARD_BIAS: _bias_gradient,
}
_OF_KIND: Mapping[str, Row] = {
    "convolution": _convolution,
    "transposed_convolution": _transposed_convolution,
    "fully_connected": _fully_connected,
    "block_circulant": _block_circulant,
    "block_circulant_convolution": _block_circulant,
    "permuted_diagonal": _permuted_diagonal,
    "max_pool": partial(_pooling, "max"),
    "average_pool": partial(_pooling, "average"),
    "lrn": _lrn,
    "batch_norm": _batch_norm,
    "relu": partial(_activation, "relu"),
    "sigmoid": partial(_activation, "sigmoid"),
    "tanh": partial(_activation, "tanh"),
    "softmax": _softmax,
    "dropout": _dropout,
    **dict.fromkeys([name for name, kind in KIND_CLASSES.items() if issubclass(kind, OfInput)], _of_input),
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
_PASSES = (Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS, Pass.BACKWARD)
KINDS: Mapping[tuple[str, Pass], Row] = {(kind, what): row for kind, row in _OF_KIND.items() for what in _PASSES}
