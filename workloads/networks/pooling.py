"""Pooling: the largest or the mean value under a window."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import model_validator

from gpusim.base.spec import param
from workloads.networks.kind import LayerKind, LayerTensors, Pass, PassSpec, SavedTensor, ShapeError
from workloads.networks.tensor import Shape, elements, format_shape
from workloads.networks.windows import Pair, Sides, positions

BYTE_WINDOW = 256  # values of the largest window whose places a byte holds


class PoolingLayer(LayerKind):
    """A window that moves over each channel, or covers all of it."""

    kernel: Pair | None = param(None, "rows and columns of the window; one number for both", "the network")
    stride: Pair | None = param(None, "distance between windows; none: the kernel's size", "PyTorch's rule")
    padding: Sides = param(
        (0, 0, 0, 0), "around the maps: one number, [rows, columns] or [top, left, bottom, right]", "the usual one"
    )
    ceil: bool = param(False, "a last window that hangs over the end counts (Caffe)", "cuDNN's rule is false")
    whole: bool = param(False, "one window over all rows and columns (global pooling)", "the usual one")

    @model_validator(mode="after")
    def _has_a_window(self) -> "PoolingLayer":
        given = [name for name in ("kernel", "stride", "padding", "ceil") if name in self.model_fields_set]
        if self.whole and given:
            raise ValueError(f"whole takes all rows and columns: {', '.join(given)} must not be given beside it")
        if not self.whole and self.kernel is None:
            raise ValueError("kernel is required but missing, or whole: true")
        if self.kernel is not None and any(p >= self.kernel[i % 2] for i, p in enumerate(self.padding)):
            raise ValueError(
                f"padding {format_shape(self.padding)} leaves windows without any value: at most the kernel less one"
            )
        return self

    def window(self, inputs: Sequence[Shape]) -> tuple[int, int]:
        """Return the rows and columns of the window."""
        if self.kernel is not None:
            return self.kernel
        if len(inputs[0]) != 3:
            raise ShapeError(f"an input of shape {format_shape(inputs[0])}: it needs channels × rows × columns")
        return inputs[0][1], inputs[0][2]

    def is_side_by_side(self, window: tuple[int, int]) -> bool:
        """Tell whether windows are this one, none overlaps another, and all lie within the maps."""
        return self.kernel == window == (self.stride or self.kernel) and not any(self.padding) and not self.ceil

    def output(self, inputs: Sequence[Shape]) -> Shape:
        window = self.window(inputs)
        rows, columns = positions(inputs[0], window, self.stride or window, self.padding, ceil=self.ceil)
        return inputs[0][0], rows, columns

    def operations(self, inputs: Sequence[Shape]) -> int:
        rows, columns = self.window(inputs)
        return elements(self.output(inputs)) * rows * columns


class MaxPool(PoolingLayer):
    """The largest value; in training its place in the window is kept, and the gradient goes there."""

    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("places", "dy"), ("dx",)),)

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        rows, columns = self.window(inputs)
        dtype = "uint8" if rows * columns <= BYTE_WINDOW else "uint32"
        return LayerTensors(saved={"places": SavedTensor(self.output(inputs), dtype)})

    def forward(self, training: bool) -> PassSpec:
        return PassSpec(Pass.FORWARD, ("x",), ("y", "places") if training else ("y",))


class AveragePool(PoolingLayer):
    """The mean value under each window."""

    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",)),)

    counts_padding: bool = param(
        False, "padding counts as values of the window", "cuDNN has both; PyTorch and Caffe count it"
    )
