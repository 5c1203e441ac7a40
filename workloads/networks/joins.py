"""Layers that join others' outputs or pass one on: sum, concatenation, flattening, copy."""

import math
from collections.abc import Sequence
from typing import ClassVar

from workloads.networks.kind import LayerKind, Pass, PassSpec, ShapeError
from workloads.networks.tensor import Shape, elements, shown


class Add(LayerKind):
    """The sum of its inputs, as at the end of a residual block; the gradient of each is that of the sum."""

    ARITY: ClassVar = (2, None)
    SHARES_GRADIENT: ClassVar = True

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """That of each input."""
        self.one_shape(inputs)
        return inputs[0]

    def operations(self, inputs: Sequence[Shape]) -> int:
        """An addition a value, for each input after the first."""
        return (len(inputs) - 1) * elements(inputs[0])

    def forward(self, training: bool) -> PassSpec:
        """All inputs."""
        return PassSpec(Pass.FORWARD, ("x*",), ("y",))


class Concat(LayerKind):
    """The channels of its inputs, one input's after the other's."""

    ARITY: ClassVar = (1, None)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """Channels add up, rows and columns are the same."""
        if len({shape[1:] for shape in inputs}) > 1 or len({len(shape) for shape in inputs}) > 1:
            raise ShapeError(f"inputs of shapes {', '.join(map(shown, inputs))}: only their channels may differ")
        return sum(shape[0] for shape in inputs), *inputs[0][1:]

    def operations(self, inputs: Sequence[Shape]) -> int:
        """Nothing is computed."""
        return 0

    def forward(self, training: bool) -> PassSpec:
        """All inputs."""
        return PassSpec(Pass.FORWARD, ("x*",), ("y",))

    def backward(self) -> tuple[PassSpec, ...]:
        """Each input's part."""
        return (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx*",)),)


class Flatten(LayerKind):
    """Maps as a vector: the same memory."""

    SHARES_GRADIENT: ClassVar = True

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """All values in a row."""
        return (math.prod(inputs[0]),)

    def operations(self, inputs: Sequence[Shape]) -> int:
        """Nothing is computed."""
        return 0

    def forward(self, training: bool) -> None:
        """Nothing is done."""


class Bypass(LayerKind):
    """A copy of its input, as DNNMark's layer of this name is."""

    def operations(self, inputs: Sequence[Shape]) -> int:
        """Nothing is computed."""
        return 0

    def backward(self) -> tuple[PassSpec, ...]:
        """A copy, too."""
        return (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",)),)
