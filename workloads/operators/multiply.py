"""The product of two arrays, element by element, and its backward pass, as gates of recurrent cells need them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloads.operators.launching import elementwise
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, ReferenceValue
from workloads.operators.tensor import Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape


def _product(left: np.ndarray, right: np.ndarray) -> ReferenceValue:
    """Return what one rounding may leave of the product."""
    exact = left.astype(np.float64) * right.astype(np.float64)
    return ReferenceValue(exact, UNIT_ROUNDOFF * np.abs(exact) + SMALLEST_NORMAL)


@dataclass(frozen=True)
class MultiplyForward(ArrayPrimitive):
    """y = x0 · x1, element by element; y may take x0's place."""

    shape: Shape
    """Shape of the operands."""
    in_place: ClassVar = {"y": "x0"}
    reads = ("x0", "x1")
    name = "product of elements forward"

    @property
    def operations(self) -> int:
        return self.x.size

    def backward(self) -> "MultiplyBackward":
        return MultiplyBackward(self.shape)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (elementwise("multiply", "multiply_forward", {**tensors, "n": self.x.size}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return {"y": _product(inputs["x0"], inputs["x1"])}


@dataclass(frozen=True)
class MultiplyBackward(ArrayPrimitive):
    """dx0 = dy · x1, dx1 = dy · x0; dx0 may take dy's place."""

    shape: Shape
    """Shape of the operands."""
    in_place: ClassVar = {"dx0": "dy"}
    reads, writes = ("x0", "x1", "dy"), ("dx0", "dx1")
    name = "product of elements backward"

    @property
    def operations(self) -> int:
        return 2 * self.x.size

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (elementwise("multiply", "multiply_backward", {**tensors, "n": self.x.size}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy = inputs["dy"]
        return {"dx0": _product(dy, inputs["x1"]), "dx1": _product(dy, inputs["x0"])}
