"""Fully connected layers: a matrix times all values of an image."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from gpusim.base.spec import param
from workloads.networks.kind import Gemm, LayerKind, LayerTensors, PassSpec, weighted_backward, weighted_forward
from workloads.networks.tensor import Shape, elements

Weights = Literal["float32", "float16"]
WEIGHTS_MEANING = "how weights are stored; float16: products and sums stay FP32, forward alone"
MAX_OUTPUTS = 1 << 24


class FullyConnectedLayer(LayerKind):
    """Each output is a weighted sum of all inputs; maps are taken as a vector, or each position by itself."""

    HALF: ClassVar[bool] = True  # whether there are kernels for weights of float16

    outputs: int = param(..., "values of the output", "the network", ge=1, le=MAX_OUTPUTS)
    bias: bool = param(True, "a value for each output is added", "the usual one")
    each: bool = param(False, "the values of the last axis are the inputs, at every position", "transformers")
    shares: str = param("", "the layer whose weights and bias it uses; empty: its own", "recurrent networks")

    weights: Weights = param("float32", WEIGHTS_MEANING, "the usual one")

    @model_validator(mode="after")
    def _has_kernels(self) -> Self:
        if self.weights != "float32" and not self.HALF:
            raise ValueError(f"weights = {self.weights} is not allowed: its kernels read float32 alone")
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

    def gemm(self, inputs: Sequence[Shape]) -> Gemm:
        values = self.values(inputs)
        return Gemm(self.outputs, values, elements(inputs[0]) // values, wider=True)

    def forward(self, training: bool) -> PassSpec:
        return weighted_forward(self.bias)

    def backward(self) -> tuple[PassSpec, ...]:
        """Return the passes of dW = dY·Xᵀ, db = the sum of dY over the batch, dX = Wᵀ·dY (DNNMark, (9) and (10))."""
        return weighted_backward(self.bias)
