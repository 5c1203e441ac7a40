"""Residual addition: the sum of arrays of one shape. Its gradient is dy for each of them, which takes no kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloads.operators.launching import elementwise
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

MOST_AT_ONCE = 4  # arrays that a kernel adds: workloads/kernels/add.cl


@dataclass(frozen=True)
class Add(ArrayPrimitive):
    """y = x0 + x1 + ..., from the left; y may take x0's place. A tensor's gradients by several users are added so."""

    shape: Shape
    """Shape of y."""
    count: int = 2
    """Number of terms."""
    in_place: ClassVar = {"y": "x0"}
    name = "add"

    def __post_init__(self) -> None:
        if self.count < 2:
            raise self.refuse(f"{self.count} arrays; it must be at least 2")

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {f"x{k}": self.x for k in range(self.count)}

    @property
    def same_gradient(self) -> tuple[str, ...]:
        return tuple(self.takes)

    @property
    def operations(self) -> int:
        return (self.count - 1) * self.x.size

    @property
    def passed_on_bytes(self) -> int:
        return (self._steps - 1) * self.x.size_bytes

    @property
    def _steps(self) -> int:
        return -(-(self.count - 1) // (MOST_AT_ONCE - 1))

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        y, rest = tensors["y"], [tensors[f"x{k}"] for k in range(1, self.count)]
        launches, so_far = [], tensors["x0"]
        while rest:
            some, rest = [so_far, *rest[: MOST_AT_ONCE - 1]], rest[MOST_AT_ONCE - 1 :]
            values = {f"x{k}": tensor for k, tensor in enumerate(some)}
            launches.append(elementwise("add", f"add{len(some)}", {**values, "y": y, "n": self.x.size}))
            so_far = y
        return tuple(launches)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        arrays = [inputs[name].astype(np.float64) for name in self.takes]
        magnitude = np.sum([np.abs(array) for array in arrays], axis=0)
        return {"y": ReferenceValue(np.sum(arrays, axis=0), self.count * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL)}
