"""Layers that join others' outputs or pass one on: sum, product, combination, concatenation, flattening, copy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from gpusim.base.spec import param
from workloads.networks.axes import Sizes, axis_of
from workloads.networks.kind import LayerKind, LayerPass, LayerTensors, Pass, PassSpec, PrimitiveUse, ShapeError
from workloads.networks.tensor import elements, format_shape, with_leading_ones
from workloads.operators.add import Add
from workloads.operators.bypass import Bypass
from workloads.operators.combine import CombineBackward, CombineForward
from workloads.operators.concat import Append, Concat
from workloads.operators.move import StoredParameter
from workloads.operators.multiply import MultiplyForward
from workloads.shapes import Shape


class AddLayer(LayerKind):
    """The sum of its inputs, as at the end of a residual block; each input's gradient is that of the sum."""

    NAME: ClassVar = "add"
    ARITY: ClassVar = (2, None)
    SHARES_GRADIENT: ClassVar = True
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))

    def output(self, inputs: Sequence[Shape]) -> Shape:
        self.check_one_shape(inputs)
        return inputs[0]

    def operations(self, inputs: Sequence[Shape]) -> int:
        return (len(inputs) - 1) * elements(inputs[0])

    def operator(self, layer: LayerPass) -> Add:
        return Add(layer.output_shape, len(layer.inputs))


class Multiply(LayerKind):
    """The product of its two inputs, element by element, as gates of recurrent cells are applied."""

    NAME: ClassVar = "multiply"
    ARITY: ClassVar = (2, 2)
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x*", "dy"), ("dx*",)),)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        self.check_one_shape(inputs)
        return inputs[0]

    def operator(self, layer: LayerPass) -> MultiplyForward:
        return MultiplyForward(layer.output_shape)


class Combine(LayerKind):
    """Two inputs, or one and stored values, combined element by element.

    One of them may be repeated along axes where it has size 1, or that it does not have (NumPy's rule).
    """

    NAME: ClassVar = "combine"
    ARITY: ClassVar = (1, 2)

    operation: Literal["add", "subtract", "multiply", "divide"] = param(..., "what is done", "the network")
    stored: Sizes | None = param(None, "shape of stored values that take the second input's place", "the network")
    trained: bool = param(True, "whether stored values are trained", "the usual one")
    stored_first: bool = param(False, "stored values are the first of the two", "the network")

    @property
    def role(self) -> str:
        """The role of what is stored: biases are added, scales multiplied."""
        return "bias" if self.operation in ("add", "subtract") else "scale"

    def operands(self, inputs: Sequence[Shape]) -> tuple[Shape, Shape]:
        """Return the shapes of the two operands."""
        if (self.stored is None) != (len(inputs) == 2):
            raise ShapeError(f"has {len(inputs)} inputs: must be two, or one and `stored`")
        pair = (*inputs, self.stored) if self.stored is not None else tuple(inputs)
        left, right = pair[::-1] if self.stored_first else pair
        return left, right

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """Return the shape that both have once repeated; raise ShapeError where there is none."""
        left, right = self.operands(inputs)
        most = max(len(left), len(right))
        full = [(1,) * (most - len(shape)) + shape for shape in (left, right)]
        if any(a != b and 1 not in (a, b) for a, b in zip(*full, strict=True)):
            raise ShapeError(
                f"{format_shape(left)} and {format_shape(right)}: sizes must be equal, or 1 where one is repeated"
            )
        joined_shape = tuple(max(a, b) for a, b in zip(*full, strict=True))
        if self.stored is not None and len(self.stored) > len(inputs[0]):
            raise ShapeError(
                f"stored values of {format_shape(self.stored)} have more axes than an input of"
                f" {format_shape(inputs[0])}"
            )
        return joined_shape

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        if self.stored is None:
            return LayerTensors()
        held = {self.role: self.stored}
        return LayerTensors(held) if self.trained else LayerTensors(state=held)

    def forward(self, training: bool) -> PassSpec:
        return PassSpec(Pass.FORWARD, ("x*",) if self.stored is None else ("x", self.role), ("y",))

    def backward(self) -> tuple[PassSpec, ...]:
        """Return one pass for both gradients, or one for each of data and stored values, which read what they need."""
        multiplies = self.operation in ("multiply", "divide")
        if self.stored is None:
            return (PassSpec(Pass.BACKWARD_DATA, ("x*", "dy") if multiplies else ("dy",), ("dx*",)),)
        reads = ("x", self.role, "dy") if multiplies else ("dy",)
        data = PassSpec(Pass.BACKWARD_DATA, reads, ("dx",))
        if not self.trained:
            return (data,)
        return (PassSpec(Pass.BACKWARD_WEIGHTS, reads, (f"d{self.role}",)), data)

    @property
    def stored_operand(self) -> str:
        """The operand that is stored; empty where there is none."""
        return "" if self.stored is None else "x0" if self.stored_first else "x1"

    def operator(self, layer: LayerPass) -> CombineForward:
        shapes = [(layer.batch, *shape) for shape in layer.inputs]
        if self.stored is None:  # an axis that an operand does not have stands behind the images
            axes = len(layer.shape)
            left, right = ((layer.batch, *with_leading_ones(shape[1:], axes)) for shape in shapes)
        else:
            left, right = (self.stored, *shapes) if self.stored_first else (*shapes, self.stored)
        return CombineForward(self.operation, left, right, self.stored_operand)

    def roles(self, layer: LayerPass) -> Mapping[str, str]:
        name = "" if self.stored is None else self.role
        return {"x0": "x0", "x1": "x1"} if not name else {"x0": "x", "x1": "x", self.stored_operand: name}

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        """Return the primitive of a pass; a gradient that the pass alone needs is computed alone."""
        (use,) = super().primitives(layer)
        if layer.is_forward:
            return (use,)
        assert isinstance(use.primitive, CombineBackward)
        wanted = [f"d{name}" for name in ("x0", "x1") if use.roles[f"d{name}"] in layer.writes]
        return (replace(use, primitive=replace(use.primitive, only=wanted[0] if len(wanted) == 1 else "")),)


class StoredParameterLayer(LayerKind):
    """Trained values without any input, the same for every image: a class token."""

    NAME: ClassVar = "stored"
    ARITY: ClassVar = (0, 0)
    OPERATIONS: ClassVar = 0
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("weight",), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_WEIGHTS, ("dy",), ("dweight",)),)

    shape: Sizes = param(..., "shape of an image's values", "the network")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        return self.shape

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return LayerTensors({"weight": self.shape})

    def operator(self, layer: LayerPass) -> StoredParameter:
        return StoredParameter(layer.output_shape)

    def roles(self, layer: LayerPass) -> Mapping[str, str]:
        return {"bias": "weight"}


class ConcatLayer(LayerKind):
    """Its inputs one after another along an axis, the channels if it is not said."""

    NAME: ClassVar = "concat"
    ARITY: ClassVar = (1, None)
    OPERATIONS: ClassVar = 0
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x*",), ("y",))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx*",)),)

    axis: int = param(0, "the axis, without the batch; negative: from the end", "the channels, as the usual one")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """Return the output's shape: the inputs' sizes along the axis added up, and all others, which they share."""
        axis = axis_of(inputs[0], self.axis)
        if len({(*shape[:axis], *shape[axis + 1 :]) for shape in inputs}) > 1 or len({len(s) for s in inputs}) > 1:
            what = "their channels" if axis == 0 else f"sizes along axis {axis}"
            raise ShapeError(f"inputs of shapes {', '.join(map(format_shape, inputs))}: only {what} may differ")
        return *inputs[0][:axis], sum(shape[axis] for shape in inputs), *inputs[0][axis + 1 :]

    def operator(self, layer: LayerPass) -> Concat:
        axis = axis_of(layer.shape, self.axis)
        return Concat(_from_axis(layer, axis), tuple(shape[axis] for shape in layer.inputs))

    def roles(self, layer: LayerPass) -> Mapping[str, str]:
        return {"x0": "x"} if len(layer.inputs) == 1 else {}


class AppendLayer(LayerKind):
    """The first input, one of the network's, with the second's values in their place along an axis, in the same memory.

    What a step of decoding adds to keys and values that are kept: the rest of them is neither read nor written.
    """

    NAME: ClassVar = "append"
    ARITY: ClassVar = (2, 2)
    WRITES_INPUT: ClassVar = True
    OPERATIONS: ClassVar = 0
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x1",), ("y",))

    axis: int = param(0, "the axis, without the batch; negative: from the end", "as that of concat")
    at: int | None = param(
        None, "where along it the first value goes; none: the last go to the end", "the network", ge=0
    )

    def start(self, inputs: Sequence[Shape]) -> int:
        """Return where along the axis the first value goes."""
        axis = axis_of(inputs[0], self.axis)
        return inputs[0][axis] - inputs[1][axis] if self.at is None else self.at

    def output(self, inputs: Sequence[Shape]) -> Shape:
        kept, new = inputs
        axis = axis_of(kept, self.axis)
        if len(kept) != len(new) or any(a != b for k, (a, b) in enumerate(zip(kept, new, strict=True)) if k != axis):
            raise ShapeError(
                f"inputs of shapes {format_shape(kept)}, {format_shape(new)}: only sizes along axis {axis} may differ"
            )
        if not 0 <= (start := self.start(inputs)) <= kept[axis] - new[axis]:
            raise ShapeError(
                f"{new[axis]} values from {start} on along axis {axis}: {format_shape(kept)} has no such place"
            )
        return kept

    def operator(self, layer: LayerPass) -> Append:
        axis = axis_of(layer.shape, self.axis)
        return Append(_from_axis(layer, axis), layer.inputs[1][axis], self.start(layer.inputs))

    def roles(self, layer: LayerPass) -> Mapping[str, str]:
        return {"x": "x1"}


def _from_axis(layer: LayerPass, axis: int) -> Shape:
    """Return the output's shape with an image's axes before `axis` counted as images."""
    shape = layer.output_shape
    return (math.prod(shape[: axis + 1]), *shape[axis + 1 :])


class Flatten(LayerKind):
    """Maps as a vector, in the same memory."""

    NAME: ClassVar = "flatten"
    SHARES_GRADIENT: ClassVar = True
    OPERATIONS: ClassVar = 0

    def output(self, inputs: Sequence[Shape]) -> Shape:
        return (math.prod(inputs[0]),)

    def forward(self, training: bool) -> None:
        """Return None: the output is the input."""


class BypassLayer(LayerKind):
    """A copy of its input, as DNNMark's layer of this name is."""

    NAME: ClassVar = "bypass"
    ONNX: ClassVar = ("Identity",)
    OPERATIONS: ClassVar = 0
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",)),)

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        """Return the copy, of the input or of the output's gradient."""
        return (PrimitiveUse(Bypass(layer.output_shape), {} if layer.is_forward else {"x": "dy", "y": "dx"}),)
