"""Kinds of layers that are products of matrices, convolutions among them: their passes as primitives."""

import math
from collections.abc import Mapping
from dataclasses import replace

from gpusim.config.network_run import DEFAULT_ALGORITHM
from gpusim.jobs.networks.case import PrimitiveUse, Row, StepContext
from workloads.networks.block_circulant import BlockCirculantConvolution
from workloads.networks.kind import Pass
from workloads.operators.activation import ActivationBackward, ActivationForward
from workloads.operators.bias import BiasForward
from workloads.operators.block_circulant import (
    BlockCirculantBackwardData,
    BlockCirculantBackwardWeights,
    BlockCirculantForward,
)
from workloads.operators.conv_algorithms import ALGORITHMS, ConvolutionAlgorithm
from workloads.operators.conv_passes import ConvolutionBackwardData
from workloads.operators.conv_winograd import POOLED, WinogradForward
from workloads.operators.convolution import Convolution
from workloads.operators.fully_connected import (
    FullyConnectedBackwardData,
    FullyConnectedBackwardWeights,
    FullyConnectedForward,
)
from workloads.operators.permuted_diagonal import (
    PermutedDiagonalBackwardData,
    PermutedDiagonalBackwardWeights,
    PermutedDiagonalForward,
)
from workloads.operators.pooling import PoolingForward


def build_convolution(case: StepContext) -> Convolution:
    """Return the convolution of a layer, including the batch."""
    kind = case.kind
    return Convolution(
        shape=case.input_shape,
        filters=kind.filters,
        kernel=kind.kernel,
        stride=kind.stride,
        padding=kind.padding,
        dilation=kind.dilation,
        groups=kind.groups,
    )


def explain_dense_pass(case: StepContext, sparse: ConvolutionAlgorithm, windows: Convolution) -> str:
    """Say why a pass of a convolution is not computed by an algorithm that skips zeros; '' where it is."""
    weights = sparse.sparse_weights if case.step.what is Pass.BACKWARD_WEIGHTS else None
    if case.step.what is not Pass.FORWARD and weights is None:
        return "gradients have no sparse algorithm"
    if weights is not None and not case.iteration.sparse_gradients:
        return "gradients of weights stay dense: sparse_gradients is false"
    if set(case.layer.inputs) & set(case.schedule.network.inputs):
        return "its input is the network's, no activation map"
    return sparse.refuses(windows) if weights is None else weights.refuses(windows)


def _relu_apart(case: StepContext, why: str) -> PrimitiveUse:
    """Return the ReLU that is joined to a step as a primitive of its own, over the step's result where it lies."""
    apart = case.step.joined[0], why
    if case.step.what is Pass.FORWARD:
        return PrimitiveUse(ActivationForward("relu", case.output_shape), {"x": "y"}, apart)
    return PrimitiveUse(ActivationBackward("relu", case.input_shape), {"y": "mask", "dy": "dx"}, apart)


def _pooling_apart(case: StepContext, why: str) -> tuple[PrimitiveUse, ...]:
    """Return the pooling that is joined to a step, if there is one, as a primitive of its own."""
    if len(case.step.joined) < 2:
        return ()
    places = "places" in case.step.writes
    pooling = PoolingForward(POOLED, case.output_shape, keep_places=places)
    return (PrimitiveUse(pooling, {"x": "y", "y": "pooled"}, (case.step.joined[1], why)),)


def _forward(case: StepContext, row: ConvolutionAlgorithm) -> tuple[PrimitiveUse, ...]:
    """Return the forward pass of a convolution with what is joined to it."""
    joined = case.step.joined
    forward = row.forward(build_convolution(case), bias=case.kind.bias, relu=bool(joined) and row.rectifies)
    why = f"the kernels of {row.name} end with no ReLU"
    if joined and not row.rectifies:
        return (PrimitiveUse(forward), _relu_apart(case, why), *_pooling_apart(case, why))
    if len(joined) > 1 and isinstance(forward, WinogradForward):
        return (PrimitiveUse(replace(forward, pools=True, kept="places" in case.step.writes)),)
    return (PrimitiveUse(forward), *_pooling_apart(case, f"the tiles of {row.name} do not consist of its windows"))


def _algorithm(case: StepContext, windows: Convolution) -> ConvolutionAlgorithm:
    """Return the dense algorithm of a step; the default where the one that is asked for does not compute it."""
    iteration = case.iteration
    wanted = ALGORITHMS[iteration.chosen.get((case.step.layer, case.step.what), iteration.convolution)]
    return ALGORITHMS[DEFAULT_ALGORITHM] if wanted.refuses(windows) else wanted


def _convolution(case: StepContext) -> PrimitiveUse | tuple[PrimitiveUse, ...]:
    iteration, windows = case.iteration, build_convolution(case)
    sparse = ALGORITHMS[iteration.sparse_convolution] if iteration.sparse_convolution is not None else None
    if sparse is not None and not explain_dense_pass(case, sparse, windows):
        weights = sparse.sparse_weights if case.step.what is Pass.BACKWARD_WEIGHTS else None
        return _forward(case, sparse) if weights is None else PrimitiveUse(weights(windows))
    row = _algorithm(case, windows).within(iteration.convolution_buffer_bytes).by(iteration.multiplier)
    if case.step.what is Pass.FORWARD:
        return _forward(case, row)
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return PrimitiveUse(row.backward_weights(windows))
    return _backward_data(
        case,
        made := row.backward_data(windows),
        "" if made.masks else f"the kernels of {made.algorithm} end with no mask",
    )


def _transposed_convolution(case: StepContext) -> PrimitiveUse | tuple[PrimitiveUse, ...]:
    """Run the passes of the convolution the other way: its gradient of the data goes forward."""
    kind, iteration = case.kind, case.iteration
    mirrored, shape = kind.mirrored(case.layer.input_shapes)
    windows = Convolution(
        shape=(case.schedule.batch, *shape),
        filters=mirrored.filters,
        kernel=kind.kernel,
        stride=kind.stride,
        padding=kind.padding,
        dilation=kind.dilation,
        groups=kind.groups,
    )
    row = _algorithm(case, windows).within(iteration.convolution_buffer_bytes).by(iteration.multiplier)
    if case.step.what is Pass.FORWARD:
        forward = PrimitiveUse(row.backward_data(windows), {"dy": "x", "dx": "y"})
        return (forward, PrimitiveUse(BiasForward(case.output_shape), {"x": "y"})) if kind.bias else forward
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return PrimitiveUse(row.backward_weights(windows), {"x": "dy", "dy": "x"})
    return PrimitiveUse(row.forward(windows, bias=False, relu=False), {"x": "dy", "y": "dx"})


def _backward_data(
    case: StepContext, made: ConvolutionBackwardData | FullyConnectedBackwardData | BlockCirculantBackwardData, why: str
) -> PrimitiveUse | tuple[PrimitiveUse, ...]:
    if not case.step.joined:
        return PrimitiveUse(made)
    if why or isinstance(made, BlockCirculantBackwardData):
        return PrimitiveUse(made), _relu_apart(case, why)
    return PrimitiveUse(replace(made, masked=True))


def _fully_connected(case: StepContext) -> PrimitiveUse | tuple[PrimitiveUse, ...]:
    shape, outputs, by = case.input_shape, case.kind.outputs, case.iteration.multiplier
    if case.kind.each:  # every position counts as an image
        shape = (math.prod(shape[:-1]), shape[-1])
    if case.step.what is Pass.FORWARD:
        half = case.kind.weights == "float16"
        forward = FullyConnectedForward(shape, outputs, bias=case.kind.bias, half=half, by=by)
        if not case.step.joined:
            return PrimitiveUse(forward)
        if why := forward.why_not_last:
            return (PrimitiveUse(forward), _relu_apart(case, why), *_pooling_apart(case, why))
        return PrimitiveUse(replace(forward, relu=True))
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return PrimitiveUse(FullyConnectedBackwardWeights(shape, outputs, by=by))
    return _backward_data(case, made := FullyConnectedBackwardData(shape, outputs, by=by), made.why_not_last)


def _block_circulant(case: StepContext) -> PrimitiveUse | tuple[PrimitiveUse, ...]:
    kind = case.kind
    windows = build_convolution(case) if isinstance(kind, BlockCirculantConvolution) else None
    shape = case.input_shape, windows.filters if windows else kind.outputs, kind.block, kind.flow, kind.lanes, windows
    why = "the kernels of circulant blocks end with transforms"
    if case.step.what is Pass.FORWARD:
        forward = BlockCirculantForward(*shape, bias=kind.bias)
        apart = (_relu_apart(case, why), *_pooling_apart(case, why)) if case.step.joined else ()
        return PrimitiveUse(forward), *apart
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return PrimitiveUse(BlockCirculantBackwardWeights(*shape))
    return _backward_data(case, BlockCirculantBackwardData(*shape), why)


def _permuted_diagonal(case: StepContext) -> PrimitiveUse | tuple[PrimitiveUse, ...]:
    shape = case.input_shape, case.kind.outputs, case.kind.block
    why = "the kernels of permuted diagonals end with sums"
    if case.step.what is Pass.FORWARD:
        forward = PermutedDiagonalForward(*shape, bias=case.kind.bias)
        apart = (_relu_apart(case, why), *_pooling_apart(case, why)) if case.step.joined else ()
        return PrimitiveUse(forward), *apart
    if case.step.what is Pass.BACKWARD_WEIGHTS:
        return PrimitiveUse(PermutedDiagonalBackwardWeights(*shape))
    made = PrimitiveUse(PermutedDiagonalBackwardData(*shape))
    return (made, _relu_apart(case, why)) if case.step.joined else made


PRODUCTS: Mapping[str, Row] = {
    "convolution": _convolution,
    "transposed_convolution": _transposed_convolution,
    "fully_connected": _fully_connected,
    "block_circulant": _block_circulant,
    "block_circulant_convolution": _block_circulant,
    "permuted_diagonal": _permuted_diagonal,
}
