"""Fully connected layers: a matrix times all values of an image."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from gpusim.base.spec import param
from workloads.networks.kind import Gemm, LayerPass, LayerTensors, Pass, PrimitiveUse
from workloads.networks.tensor import elements
from workloads.networks.weighted import WeightedLayer, with_joined, with_mask
from workloads.operators.fully_connected import (
    FullyConnectedBackwardData,
    FullyConnectedBackwardWeights,
    FullyConnectedForward,
)
from workloads.shapes import Shape

Weights = Literal["float32", "float16"]
WEIGHTS_MEANING = "how weights are stored; float16: products and sums stay FP32, forward alone"
MAX_OUTPUTS = 1 << 24


class FullyConnectedLayer(WeightedLayer):
    """Each output is a weighted sum of all inputs; maps are taken as a vector, or each position by itself."""

    NAME: ClassVar = "fully_connected"
    HALF: ClassVar[bool] = True  # whether there are kernels for weights of float16
    SHARES: ClassVar[bool] = True  # whether it can use another layer's weights

    outputs: int = param(..., "values of the output", "the network", ge=1, le=MAX_OUTPUTS)
    bias: bool = param(True, "a value for each output is added", "the usual one")
    each: bool = param(False, "the values of the last axis are the inputs, at every position", "transformers")
    shares: str = param("", "the layer whose weights and bias it uses; empty: its own", "recurrent networks")

    weights: Weights = param("float32", WEIGHTS_MEANING, "the usual one")

    @model_validator(mode="after")
    def _has_kernels(self) -> Self:
        if self.weights != "float32" and not self.HALF:
            raise ValueError(f"weights = {self.weights} is not allowed: its kernels read float32 alone")
        if self.shares and not self.SHARES:
            raise ValueError(f"shares = {self.shares} is not allowed: a matrix of blocks has weights of its own")
        return self

    @property
    def forward_alone(self) -> str:
        return "" if self.weights == "float32" else f"its weights are {self.weights}"

    def dtype_of(self, role: str) -> str:
        return self.weights if role == "weight" else super().dtype_of(role)

    @property
    def shared_with(self) -> str:
        return self.shares

    def output(self, inputs: Sequence[Shape]) -> Shape:
        return (*inputs[0][:-1], self.outputs) if self.each else (self.outputs,)

    def values(self, inputs: Sequence[Shape]) -> int:
        """Return the number of values that an output is a sum of."""
        return inputs[0][-1] if self.each else elements(inputs[0])

    def _parameters(self, inputs: Sequence[Shape]) -> Mapping[str, Shape]:
        bias = {"bias": (self.outputs,)} if self.bias else {}
        return {"weight": (self.outputs, self.values(inputs)), **bias}

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return LayerTensors({} if self.shares else self._parameters(inputs))

    def shared(self, inputs: Sequence[Shape]) -> Mapping[str, Shape]:
        return self._parameters(inputs) if self.shares else {}

    @property
    def is_plain(self) -> bool:
        """Whether its matrix could be one of blocks: dense, of float32, and its own."""
        return type(self) is FullyConnectedLayer and self.weights == "float32" and not self.shares

    def vectors(self, layer: LayerPass) -> Shape:
        shape = layer.input_shape
        return (prod(shape[:-1]), shape[-1]) if self.each else shape  # every position counts as an image

    def gemm(self, inputs: Sequence[Shape]) -> Gemm:
        values = self.values(inputs)
        return Gemm(self.outputs, values, elements(inputs[0]) // values, wider=True)

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        shape, by = self.vectors(layer), layer.settings.multiplier
        if layer.is_forward:
            half = self.weights == "float16"
            forward = FullyConnectedForward(shape, self.outputs, bias=self.bias, half=half, by=by)
            why = forward.why_not_last
            if layer.joined and not why:
                return (PrimitiveUse(replace(forward, relu=True)),)
            return with_joined(layer, forward, why)
        if layer.what is Pass.BACKWARD_WEIGHTS:
            return (PrimitiveUse(FullyConnectedBackwardWeights(shape, self.outputs, by=by)),)
        data = FullyConnectedBackwardData(shape, self.outputs, by=by)
        return with_mask(layer, data, data.why_not_last)
