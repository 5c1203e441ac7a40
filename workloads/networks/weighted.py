"""What layers with weights have in common: their passes, and what is joined to them.

A schedule may join a ReLU, and a pooling after it, to such a layer. Where the layer's kernels cannot end with their
work, it takes launches of its own, over the result where it lies.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from workloads.networks.kind import Gemm, LayerKind, LayerPass, Pass, PassSpec, PrimitiveUse
from workloads.operators.activation import ActivationBackward, ActivationForward
from workloads.operators.conv_passes import ConvolutionBackwardData
from workloads.operators.conv_winograd import POOLED
from workloads.operators.fully_connected import FullyConnectedBackwardData
from workloads.operators.pooling import PoolingForward
from workloads.operators.primitive import Primitive
from workloads.shapes import Shape


class WeightedLayer(LayerKind):
    """A layer with weights, and a bias or none, with a pass each for the gradients of weights, bias and data."""

    if TYPE_CHECKING:
        bias: bool  # each kind declares it, among its other fields

    JOINS_RELU: ClassVar = True

    @abstractmethod
    def gemm(self, inputs: Sequence[Shape]) -> Gemm: ...

    def vectors(self, layer: "LayerPass") -> Shape:
        """Return the shape of what the weights are applied to, with the batch first."""
        return layer.input_shape

    def forward(self, training: bool) -> PassSpec:
        return PassSpec(Pass.FORWARD, ("x", "weight", "bias") if self.bias else ("x", "weight"), ("y",))

    def backward(self) -> tuple[PassSpec, ...]:
        """Return the passes of dW = dY·Xᵀ, db = the sum of dY over the batch, dX = Wᵀ·dY (DNNMark, (9) and (10))."""
        weights = PassSpec(Pass.BACKWARD_WEIGHTS, ("x", "dy"), ("dweight",))
        bias = PassSpec(Pass.BACKWARD_BIAS, ("dy",), ("dbias",))
        data = PassSpec(Pass.BACKWARD_DATA, ("weight", "dy"), ("dx",))
        return (weights, bias, data) if self.bias else (weights, data)


def with_joined(layer: LayerPass, primitive: Primitive, why: str) -> tuple[PrimitiveUse, ...]:
    """Return a pass whose joined layers, if there are any, are primitives of their own for the reason `why`."""
    if not layer.joined:
        return (PrimitiveUse(primitive),)
    apart = layer.joined[0], why
    if layer.is_forward:
        relu = PrimitiveUse(ActivationForward("relu", layer.output_shape), {"x": "y"}, apart)
        return PrimitiveUse(primitive), relu, *with_pooling(layer, why)
    relu = PrimitiveUse(ActivationBackward("relu", layer.input_shape), {"y": "mask", "dy": "dx"}, apart)
    return PrimitiveUse(primitive), relu


def with_pooling(layer: LayerPass, why: str) -> tuple[PrimitiveUse, ...]:
    """Return the pooling that is joined to a forward pass, if there is one, as a primitive of its own."""
    if len(layer.joined) < 2:
        return ()
    pooling = PoolingForward(POOLED, layer.output_shape, keep_places="places" in layer.writes)
    return (PrimitiveUse(pooling, {"x": "y", "y": "pooled"}, (layer.joined[1], why)),)


def with_mask(
    layer: LayerPass, primitive: ConvolutionBackwardData | FullyConnectedBackwardData, why: str
) -> tuple[PrimitiveUse, ...]:
    """Return a pass to the data whose kernels end with the mask of a joined ReLU, unless `why` says why not."""
    if layer.joined and not why:
        return (PrimitiveUse(replace(primitive, masked=True)),)
    return with_joined(layer, primitive, why)
