"""Tensors: what a layer reads and writes, by shape, type of element and what they are for."""

import math
from dataclasses import dataclass
from enum import StrEnum

from workloads.shapes import Shape

BYTES = {"float32": 4, "float16": 2, "uint32": 4, "uint8": 1}


class TensorRole(StrEnum):
    """The purpose of a tensor."""

    INPUT = "input"  # comes from outside before the iteration: images, labels, gradients that are given
    PARAMETER = "parameter"  # trained: weights, biases, scales, shifts
    STATE = "state"  # kept over iterations and not trained: running means, the optimizer's moments
    ACTIVATION = "activation"
    SAVED = "saved"  # made by a layer's forward pass for its backward pass
    GRADIENT = "gradient"  # of the loss by an activation
    PARAMETER_GRADIENT = "parameter_gradient"
    WORKSPACE = "workspace"  # of one step
    LOSS = "loss"


@dataclass(frozen=True)
class ScheduleTensor:
    """A tensor of an iteration."""

    name: str
    """Name."""
    shape: Shape
    """Shape for the whole batch."""
    role: TensorRole
    """Role."""
    layer: str
    """Name of its layer or input."""
    dtype: str = "float32"
    """Type of the elements."""

    @property
    def elements(self) -> int:
        """The number of elements in the tensor."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The size in device memory."""
        return self.elements * BYTES[self.dtype]


def elements(shape: Shape) -> int:
    """Return the number of elements of a tensor of this shape."""
    return math.prod(shape)


def format_shape(shape: Shape) -> str:
    """Return the shape as text, such as '96×55×55'."""
    return "×".join(map(str, shape))


def maps(shape: Shape) -> tuple[int, int, int]:
    """Return channels, rows and columns; features alone are channels of one value each."""
    if len(shape) == 3:
        return shape[0], shape[1], shape[2]
    return elements(shape), 1, 1


def with_leading_ones(shape: Shape, axes: int) -> Shape:
    """Return a shape of so many axes that broadcasts as this one does: axes of length 1 stand before its own."""
    return (1,) * (axes - len(shape)) + shape
