"""Pooling: the largest or the mean value under a window."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import model_validator

from gpusim.base.spec import param
from workloads.networks.kind import LayerKind, LayerPass, LayerTensors, Pass, PassSpec, SavedTensor, ShapeError
from workloads.networks.onnx_node import Node, OnnxLayer, ReshapedTensor, TensorSource, UnsupportedNodeError
from workloads.networks.onnx_volumes import is_volume, pooled_volume
from workloads.networks.tensor import elements, format_shape
from workloads.networks.windows import WindowPair, WindowSides, onnx_padding, positions
from workloads.operators.pooling import BYTE_WINDOW, Pooling, PoolingForward
from workloads.shapes import Shape


class PoolingLayer(LayerKind):
    """A window that moves over each channel, or covers all of it."""

    MODE: ClassVar[str]  # what is taken of a window: workloads/operators/pooling.py

    kernel: WindowPair | None = param(None, "rows and columns of the window; one number for both", "the network")
    stride: WindowPair | None = param(None, "distance between windows; none: the kernel's size", "PyTorch's rule")
    padding: WindowSides = param(
        (0, 0, 0, 0), "around the maps: one number, [rows, columns] or [top, left, bottom, right]", "the usual one"
    )
    ceil: bool = param(False, "a last window that hangs over the end counts (Caffe)", "cuDNN's rule is false")
    whole: bool = param(False, "one window over all rows and columns (global pooling)", "the usual one")

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        if node.operator.startswith("Global"):
            shape = node.shape()
            if len(shape) < 3 or shape[0] != 1:
                raise UnsupportedNodeError(f"an input of {list(shape)}: must be batch × channels × ...")
            source: TensorSource = ReshapedTensor(node.inputs[0], (shape[1], elements(shape[2:-1]), shape[-1]))
            return OnnxLayer(cls.NAME, {"whole": True}, (source,), (*shape[:2], *(1 for _ in shape[2:])))
        if set(node.ints("dilations", [1])) != {1}:
            raise UnsupportedNodeError(f"dilations = {node.ints('dilations', [])}: must be 1")
        if "kernel_shape" not in node.attributes:
            raise UnsupportedNodeError("kernel_shape is missing")
        kernel = node.by_axis("kernel_shape", 1)
        if is_volume(node):
            return pooled_volume(cls.NAME, node, kernel, {"ceil": bool(node.attributes.get("ceil_mode", 0))})
        source, is_line = node.maps()
        values = {
            "kernel": kernel,
            "stride": node.by_axis("strides", 1),
            "padding": onnx_padding(node, kernel),
            "ceil": bool(node.attributes.get("ceil_mode", 0)),
        }
        return OnnxLayer(cls.NAME, values, (source,), None, is_line=is_line)

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

    @property
    def includes_padding(self) -> bool:
        """Whether padding counts as values of the window."""
        return True

    def why_after_relu_apart(self) -> str:
        side_by_side = self.kernel == (2, 2) == (self.stride or self.kernel) and not any(self.padding) and not self.ceil
        return "" if self.MODE == "max" and side_by_side else "its windows are no maxima of 2 × 2 values, side by side"

    def output(self, inputs: Sequence[Shape]) -> Shape:
        window = self.window(inputs)
        rows, columns = positions(inputs[0], window, self.stride or window, self.padding, ceil=self.ceil)
        return inputs[0][0], rows, columns

    def operations(self, inputs: Sequence[Shape]) -> int:
        rows, columns = self.window(inputs)
        return elements(self.output(inputs)) * rows * columns

    def operator(self, layer: LayerPass) -> PoolingForward:
        window = self.window(layer.inputs)
        stride = self.stride or window
        pooling = Pooling(self.MODE, window, stride, self.padding, self.ceil, self.includes_padding)
        return PoolingForward(pooling, layer.input_shape, keep_places=layer.saves("places"))


class MaxPool(PoolingLayer):
    """The largest value; in training its place in the window is kept, and the gradient goes there."""

    NAME: ClassVar = "max_pool"
    ONNX: ClassVar = ("MaxPool", "GlobalMaxPool")
    MODE: ClassVar = "max"
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("places", "dy"), ("dx",)),)

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        rows, columns = self.window(inputs)
        dtype = "uint8" if rows * columns <= BYTE_WINDOW else "uint32"
        return LayerTensors(saved={"places": SavedTensor(self.output(inputs), dtype)})

    def forward(self, training: bool) -> PassSpec:
        return PassSpec(Pass.FORWARD, ("x",), ("y", "places") if training else ("y",))


class AveragePool(PoolingLayer):
    """The mean value under each window."""

    NAME: ClassVar = "average_pool"
    ONNX: ClassVar = ("AveragePool", "GlobalAveragePool")
    MODE: ClassVar = "average"
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",)),)

    counts_padding: bool = param(
        False, "padding counts as values of the window", "cuDNN has both; PyTorch and Caffe count it"
    )

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        layer = super().from_onnx(node)
        counted = (
            {} if "whole" in layer.values else {"counts_padding": bool(node.attributes.get("count_include_pad", 0))}
        )
        inputs = tuple(
            replace(one, values={**one.values, **counted}) if isinstance(one, OnnxLayer) else one
            for one in layer.inputs
        )
        return replace(layer, values={**layer.values, **counted}, inputs=inputs)

    @property
    def includes_padding(self) -> bool:
        return self.counts_padding
