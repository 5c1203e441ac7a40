"""Layers that put values elsewhere or add them up along axes: transposition, reshaping, slices, padding, means."""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import model_validator

from gpusim.base.spec import param
from workloads.networks.axes import Axes, AxisCounts, Sizes, axes_of, axis_of
from workloads.networks.kind import LayerKind, LayerPass, Pass, PassSpec, ShapeError
from workloads.networks.tensor import elements, format_shape
from workloads.operators.move import Permute, StridedSlice
from workloads.operators.reductions import Repeat, Sum
from workloads.shapes import Shape


class MoveLayer(LayerKind):
    """A layer whose output has values of its input at other places."""

    OPERATIONS: ClassVar = 0
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",)),)


class PermuteLayer(MoveLayer):
    """Axes in another order: axis k of the output is the input's axis order[k]."""

    NAME: ClassVar = "permute"

    order: Axes = param(..., "an axis of the input for each of the output, without the batch", "the network")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        (shape,) = inputs
        if sorted(self.order) != list(range(len(shape))):
            raise ShapeError(f"order {list(self.order)} of an input of {format_shape(shape)}: must have each axis once")
        return tuple(shape[axis] for axis in self.order)

    def operator(self, layer: LayerPass) -> Permute:
        return Permute(layer.input_shape, (0, *(axis + 1 for axis in self.order)))


class Reshape(LayerKind):
    """The same values in the same memory under another shape."""

    NAME: ClassVar = "reshape"
    SHARES_GRADIENT: ClassVar = True
    OPERATIONS: ClassVar = 0

    shape: Sizes = param(..., "the shape of an image", "the network")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        (shape,) = inputs
        if elements(shape) != elements(self.shape):
            raise ShapeError(
                f"an input of {format_shape(shape)} has {elements(shape)} values; {format_shape(self.shape)} has others"
            )
        return self.shape

    def forward(self, training: bool) -> None:
        """Return None: the output is the input."""


class SliceLayer(MoveLayer):
    """Of an axis the values from `start` to before `end`, every `step`-th; a negative step goes backwards."""

    NAME: ClassVar = "slice"

    axis: int = param(..., "the axis, without the batch; negative: from the end", "the network")
    start: int = param(0, "the first value; negative: from the end", "the usual one")
    end: int | None = param(None, "where it ends; none: with the axis", "the usual one")
    step: int = param(1, "distance between values that are taken", "the usual one")

    def taken(self, size: int) -> range:
        """Return the places that are taken of an axis of so many values."""
        return range(size)[self.start : self.end : self.step]

    @model_validator(mode="after")
    def _goes_on(self) -> "SliceLayer":
        if self.step == 0:
            raise ValueError("step = 0 is not allowed: must be another whole number")
        return self

    def output(self, inputs: Sequence[Shape]) -> Shape:
        (shape,) = inputs
        axis = axis_of(shape, self.axis)
        taken = self.taken(shape[axis])
        if not taken:
            raise ShapeError(f"nothing of axis {axis} of an input of {format_shape(shape)} is taken")
        return *shape[:axis], len(taken), *shape[axis + 1 :]

    def operator(self, layer: LayerPass) -> StridedSlice:
        shape = layer.input_shape
        axis = axis_of(shape[1:], self.axis) + 1
        taken = self.taken(shape[axis])
        starts, steps = [0] * len(shape), [1] * len(shape)
        starts[axis], steps[axis] = taken[0], taken.step
        return StridedSlice(shape, tuple(starts), tuple(steps), layer.output_shape)


class Pad(MoveLayer):
    """Values of one number before and after each axis."""

    NAME: ClassVar = "pad"

    before: AxisCounts = param(..., "values before, a count for each axis without the batch", "the network")
    after: AxisCounts = param(..., "values after", "the network")
    value: float = param(0.0, "the number", "the usual one")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        (shape,) = inputs
        if not len(shape) == len(self.before) == len(self.after):
            raise ShapeError(f"before {list(self.before)}, after {list(self.after)}: must have an entry for each axis")
        return tuple(b + size + a for b, size, a in zip(self.before, shape, self.after, strict=True))

    def operator(self, layer: LayerPass) -> StridedSlice:
        starts = (0, *(-count for count in self.before))
        return StridedSlice(layer.input_shape, starts, (1,) * len(starts), layer.output_shape, self.value)


class RepeatLayer(MoveLayer):
    """Axes of size 1 repeated until the output has `shape`."""

    NAME: ClassVar = "repeat"

    shape: Sizes = param(..., "the shape of an image", "the network")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        (shape,) = inputs
        fits = len(shape) == len(self.shape) and all(a in (b, 1) for a, b in zip(shape, self.shape, strict=True))
        if not fits:
            raise ShapeError(
                f"an input of {format_shape(shape)} cannot become {format_shape(self.shape)}: axes of 1 alone may grow"
            )
        return self.shape

    def operator(self, layer: LayerPass) -> Repeat:
        return Repeat(layer.input_shape, layer.output_shape)


class Reduce(MoveLayer):
    """The sum or the mean along axes, which stay with size 1 or go."""

    NAME: ClassVar = "reduce"
    OPERATIONS: ClassVar = 1

    operation: Literal["mean", "sum"] = param("mean", "what is computed", "the usual one")
    axes: Axes = param(..., "the axes, without the batch; negative: from the end", "the network")
    keep: bool = param(False, "the axes stay, with size 1", "the usual one")

    def output(self, inputs: Sequence[Shape]) -> Shape:
        (shape,) = inputs
        axes = axes_of(shape, self.axes)
        left = tuple(1 if k in axes else size for k, size in enumerate(shape))
        return left if self.keep else tuple(size for k, size in enumerate(shape) if k not in axes) or (1,)

    def operations(self, inputs: Sequence[Shape]) -> int:
        return elements(inputs[0])

    def operator(self, layer: LayerPass) -> Sum:
        shape = layer.input_shape
        axes = tuple(axis + 1 for axis in axes_of(shape[1:], self.axes))
        count = math.prod(shape[axis] for axis in axes)
        return Sum(shape, axes, 1.0 / count if self.operation == "mean" else 1.0)
