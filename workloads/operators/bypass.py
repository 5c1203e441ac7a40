"""A layer that passes its input on: a copy, forward as well as backward, where the planner cannot let both be one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workloads.operators.copy import copy_launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import Primitive, Value
from workloads.operators.tensor import Operand, Shape, Tensor

if TYPE_CHECKING:
    from isa.launch import Launch


@dataclass(frozen=True)
class Bypass(Primitive):
    """A copy, y = x."""

    shape: Shape
    same_gradient = ("x",)
    name = "bypass"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"x": Operand(self.shape)}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {"y": Operand(self.shape)}

    @property
    def operations(self) -> int:
        return 0

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        x, y = tensors["x"], tensors["y"]
        return (copy_launch(x.memory, x.address, y.address, x.size_bytes),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        return {"y": Value(inputs["x"])}
