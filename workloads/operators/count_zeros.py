"""How many elements of an array are zero: what a measurement of the sparsity monitor takes on the device."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workloads.operators.launching import GROUP, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, DivisionAxis, LaunchTuple, ReferenceValue
from workloads.operators.tensor import INDEX, Operand, SampleFunction, Tensor
from workloads.shapes import Shape

GROUP_ELEMENTS = GROUP * 8 * 4  # workloads/kernels/count_zeros.cl: LOADS


def rectified(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Draw normal numbers with the negative half replaced by zero, as after a ReLU."""
    return np.maximum(random.standard_normal(shape, np.float32), np.float32(0.0))


@dataclass(frozen=True)
class CountZeros(ArrayPrimitive):
    """zeros[0], uint32, of x: elements that are 0 or -0, as the compaction engine's test has it."""

    shape: Shape
    """Shape of x."""
    data: SampleFunction = rectified
    """Draws x where it is not given."""
    divisible = DivisionAxis.NOTHING
    name = "count zeros"

    @property
    def groups(self) -> int:
        """Workgroups, each with a count."""
        return -(-self.x.size // GROUP_ELEMENTS)

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"x": Operand(self.shape, data=self.data)}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {"zeros": Operand((1,), INDEX, by_image=False)}

    @property
    def workspace(self) -> Mapping[str, Operand]:
        return {"counts": Operand((self.groups,), INDEX, by_image=False)} if self.groups > 1 else {}

    @property
    def operations(self) -> int:
        return 2 * self.x.size - 1

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        x, zeros = tensors["x"], tensors["zeros"]
        counts = tensors.get("counts", zeros)
        values = {"x": x, "counts": counts, "n": self.x.size}
        count = launch("count_zeros", "count_zeros", x.memory, (self.groups,), values)
        if counts is zeros:
            return (count,)
        values = {"counts": counts, "zeros": zeros, "n": self.groups}
        return count, launch("count_zeros", "add_counts", x.memory, (1,), values)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs["x"]
        return {"zeros": ReferenceValue(np.array([x.size - np.count_nonzero(x)], np.float64))}
