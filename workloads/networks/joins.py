"""Layers that join others' outputs or pass one on: sum, product, concatenation, flattening, copy."""

import math
from collections.abc import Sequence
from typing import ClassVar

from workloads.networks.kind import LayerKind, Pass, PassSpec, ShapeError
from workloads.networks.tensor import Shape, elements, shown


class Add(LayerKind):
    """The sum of its inputs, as at the end of a residual block; each input's gradient is that of the sum."""

    ARITY: ClassVar = (2, None)
    SHARES_GRADIENT: ClassVar = True
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))

    def output(self, inputs: Sequence[Shape]) -> Shape:
        self.one_shape(inputs)
        return inputs[0]

    def operations(self, inputs: Sequence[Shape]) -> int:
        return (len(inputs) - 1) * elements(inputs[0])


class Multiply(LayerKind):
    """The product of its two inputs, element by element, as gates of recurrent cells are applied."""

    ARITY: ClassVar = (2, 2)
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x*", "dy"), ("dx*",)),)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        self.one_shape(inputs)
        return inputs[0]


class Concat(LayerKind):
    """The channels of its inputs, those of one input after those of another."""

    ARITY: ClassVar = (1, None)
    OPERATIONS: ClassVar = 0
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx*",)),)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """Return the output's shape: the inputs' channels added up, and the rows and columns that all must share."""
        if len({shape[1:] for shape in inputs}) > 1 or len({len(shape) for shape in inputs}) > 1:
            raise ShapeError(f"inputs of shapes {', '.join(map(shown, inputs))}: only their channels may differ")
        return sum(shape[0] for shape in inputs), *inputs[0][1:]


class Flatten(LayerKind):
    """Maps as a vector, in the same memory."""

    SHARES_GRADIENT: ClassVar = True
    OPERATIONS: ClassVar = 0

    def output(self, inputs: Sequence[Shape]) -> Shape:
        return (math.prod(inputs[0]),)

    def forward(self, training: bool) -> None:
        """Return None: the output is the input."""


class Bypass(LayerKind):
    """A copy of its input, as DNNMark's layer of this name is."""

    OPERATIONS: ClassVar = 0
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",)),)
