"""Embedding: rows of a table by number, and the table's gradient."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, Primitive, ReferenceValue
from workloads.operators.tensor import INDEX, Operand, Tensor, below
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape


@dataclass(frozen=True)
class _Embedding(Primitive):
    """A table of `rows` by `width`, and x [N, ...] of row numbers."""

    shape: Shape
    rows: int
    width: int

    @property
    def x(self) -> Operand:
        """The row numbers."""
        return Operand(self.shape, INDEX, below(self.rows))

    @property
    def weight(self) -> Operand:
        """The table of rows."""
        return Operand((self.rows, self.width), by_image=False)

    @property
    def y(self) -> Operand:
        """The rows that are taken."""
        return Operand((*self.shape, self.width))

    def numbers(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the row numbers; raise OperatorError for one that is none."""
        x = inputs["x"].astype(np.int64)
        if x.max(initial=0) >= self.rows:
            raise self.refuse(f"number {x.max()}; allowed are 0 to {self.rows - 1}")
        return x


@dataclass(frozen=True)
class EmbeddingForward(_Embedding):
    """y = the table's rows."""

    reads = ("x", "weight")
    name = "embedding forward"

    @property
    def read_bytes(self) -> int:
        return self.x.size_bytes + 4 * self.width  # at least: all may be one row

    def backward(self) -> "EmbeddingBackward":
        return EmbeddingBackward(self.shape, self.rows, self.width)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        n = self.y.size
        values = {**tensors, "rows": self.rows, "by_width": divisor(self.width), "n": n}
        return (launch("embedding", "embedding_forward", tensors["y"].memory, (-(-n // GROUP),), values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return {"y": ReferenceValue(inputs["weight"].astype(np.float64)[self.numbers(inputs)])}


@dataclass(frozen=True)
class EmbeddingBackward(_Embedding):
    """dweight = the sum of dy over the places where a row was taken, in their order; 0 for rows that were not."""

    divisible = DivisionAxis.NOTHING
    reads, writes = ("x", "dy"), ("dweight",)
    name = "embedding backward"

    @property
    def operations(self) -> int:
        return self.y.size

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        values = {**tensors, "count": prod(self.shape), "width": self.width}
        groups = (-(-self.width // GROUP), self.rows)
        return (launch("embedding", "embedding_backward", tensors["dy"].memory, groups, values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        numbers, dy = self.numbers(inputs).reshape(-1), inputs["dy"].astype(np.float64).reshape(-1, self.width)
        total, magnitude = np.zeros(self.weight.shape), np.zeros(self.weight.shape)
        np.add.at(total, numbers, dy)
        np.add.at(magnitude, numbers, np.abs(dy))
        most = np.bincount(numbers).max()
        return {"dweight": ReferenceValue(total, most * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL)}
