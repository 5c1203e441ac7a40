"""Normalization: over neighbouring channels (LRN), the batch, features, groups of channels, or all values (softmax)."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from gpusim.base.spec import param
from workloads.networks.axes import axis_of
from workloads.networks.kind import LayerKind, LayerPass, LayerTensors, Pass, PassSpec, SavedTensor, ShapeError
from workloads.networks.onnx_node import Node, OnnxLayer, Parameter, UnsupportedNodeError, image_shape
from workloads.networks.tensor import elements, format_shape
from workloads.operators.batch_norm import BatchNormInference, BatchNormTraining
from workloads.operators.lrn import LrnForward
from workloads.operators.row_norm import RowNormForward
from workloads.operators.softmax import SoftmaxForward
from workloads.shapes import Shape


class Lrn(LayerKind):
    """y = x / (k + α/n · Σ x²)^β, the sum over the n channels around each (DNNMark, equation 5)."""

    NAME: ClassVar = "lrn"
    ONNX: ClassVar = ("LRN",)
    ONNX_NUMBERS: ClassVar = {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "k": ("bias", 1.0)}
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x", "dy"), ("dx",)),)

    size: int = param(5, "channels of a sum, n", "Krizhevsky 2012, section 3.3", ge=1, le=65536)
    alpha: float = param(1e-4, "α, divided by n as Caffe and cuDNN do", "Krizhevsky 2012, section 3.3", ge=0)
    beta: float = param(0.75, "β", "Krizhevsky 2012, section 3.3", ge=0)
    k: float = param(1.0, "k", "DNNMark, config_example/alexnet.dnnmark", gt=0)

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        shape = node.shape()
        if shape[0] != 1 or len(shape) < 3:
            raise UnsupportedNodeError(f"an input of {list(shape)}: must be batch × channels × ...")
        layer = super().from_onnx(node)
        return replace(layer, values={"size": int(node.attributes["size"]), **layer.values})

    def operations(self, inputs: Sequence[Shape]) -> int:
        return (2 * self.size + 4) * elements(inputs[0])

    def operator(self, layer: LayerPass) -> LrnForward:
        return LrnForward(layer.input_shape, self.size, self.alpha, self.beta, self.k)


class BatchNorm(LayerKind):
    """y = γ · (x − mean) / √(variance + ε) + β; mean and variance of the batch, in inference those that were kept."""

    NAME: ClassVar = "batch_norm"
    ONNX: ClassVar = ("BatchNormalization",)
    OPERATIONS: ClassVar = 4
    BACKWARD: ClassVar = (
        PassSpec(Pass.BACKWARD, ("x", "scale", "mean", "inverse_deviation", "dy"), ("dscale", "dbias", "dx")),
    )

    mode: Literal["spatial", "per_activation"] = param(
        "spatial", "a mean for each channel, or for each value of an image", "the usual one"
    )
    epsilon: float = param(1e-5, "ε", "PyTorch's and cuDNN's least", gt=0)
    momentum: float = param(0.1, "share of the batch's statistics in those that are kept", "PyTorch", ge=0, le=1)

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        shape = node.shape()
        if shape[0] != 1:
            raise UnsupportedNodeError(f"an input of {list(shape)}: must be batch × channels × ...")
        spatial = bool(node.attributes.get("spatial", 1))
        names = ("scale", "bias", "running_mean", "running_variance")
        axes = 1 if spatial else len(shape) - 1
        parameters = {role: Parameter(node.parameter(n, role, axes)[0]) for n, role in enumerate(names, 1)}
        values = {
            "mode": "spatial" if spatial else "per_activation",
            "epsilon": node.number("epsilon", 1e-5),
            # ONNX's is the share of what was kept
            "momentum": round(1 - node.number("momentum", 0.9), 9),
        }
        return OnnxLayer(cls.NAME, values, node.inputs[:1], shape, parameters)

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        """Return the shapes of scale and shift, of running statistics, and of the batch's, which are saved."""
        one = (inputs[0][0],) if self.mode == "spatial" else inputs[0]
        saved = SavedTensor(one, per_image=False)
        return LayerTensors(
            {"scale": one, "bias": one},
            {"running_mean": one, "running_variance": one},
            {"mean": saved, "inverse_deviation": saved},
        )

    def forward(self, training: bool) -> PassSpec:
        if not training:
            return PassSpec(Pass.FORWARD, ("x", "scale", "bias", "running_mean", "running_variance"), ("y",))
        running = ("running_mean", "running_variance")
        return PassSpec(Pass.FORWARD, ("x", "scale", "bias", *running), ("y", "mean", "inverse_deviation", *running))

    def operator(self, layer: LayerPass) -> BatchNormInference | BatchNormTraining:
        if layer.saves("mean"):
            return BatchNormTraining(layer.input_shape, self.mode, self.epsilon, self.momentum)
        return BatchNormInference(layer.input_shape, self.mode, self.epsilon)


class RowNorm(LayerKind):
    """A normalization whose statistics are an image's own; `scale` and `bias` are trained."""

    OPERATIONS: ClassVar = 4
    CENTRED: ClassVar[bool] = True  # the mean is subtracted

    epsilon: float = param(1e-5, "ε", "PyTorch", gt=0)

    @property
    def biased(self) -> bool:
        """Whether there is a bias."""
        return True

    @abstractmethod
    def parameters(self, shape: Shape) -> Shape:
        """Return the shape of scales."""

    def rows(self, shape: Shape) -> int:
        """Return the number of rows of an image, each with a mean and a deviation."""
        return elements(shape) // elements(self.parameters(shape))

    def output(self, inputs: Sequence[Shape]) -> Shape:
        self.parameters(inputs[0])
        return inputs[0]

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        one, saved = self.parameters(inputs[0]), SavedTensor((self.rows(inputs[0]),))
        held = {"scale": one} | ({"bias": one} if self.biased else {})
        return LayerTensors(held, saved={"mean": saved, "inverse_deviation": saved})

    def forward(self, training: bool) -> PassSpec:
        reads = ("x", "scale", "bias") if self.biased else ("x", "scale")
        return PassSpec(Pass.FORWARD, reads, ("y", "mean", "inverse_deviation") if training else ("y",))

    def backward(self) -> tuple[PassSpec, ...]:
        """Return one pass for all gradients."""
        reads, gradients = ("x", "dy", "scale", "mean", "inverse_deviation"), ("dx", "dscale")
        return (PassSpec(Pass.BACKWARD, reads, (*gradients, "dbias") if self.biased else gradients),)

    def operator(self, layer: LayerPass) -> RowNormForward:
        axes, groups = getattr(self, "axes", 1), getattr(self, "groups", 0)
        shape, keep = layer.input_shape, layer.saves("mean")
        return RowNormForward(shape, axes, groups, self.CENTRED, self.biased, epsilon=self.epsilon, keep=keep)


class LayerNorm(RowNorm):
    """y = γ · (x − mean) / √(variance + ε) + β over the last axes of every position (Ba 2016)."""

    NAME: ClassVar = "layer_norm"
    ONNX: ClassVar = ("LayerNormalization",)

    axes: int = param(1, "how many of the last axes are normalized together", "the usual one", ge=1, le=8)
    bias: bool = param(True, "β is added", "the usual one")

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        shape = node.shape()
        axes = len(shape) - node.axis(-1)
        if axes >= len(shape) and image_shape(shape) != shape:
            raise UnsupportedNodeError("axis = 0: must leave out the batch")
        parameters = {"scale": Parameter(node.parameter(1, "scale", axes)[0])}
        if node.has(2):
            parameters["bias"] = Parameter(node.parameter(2, "bias", axes)[0])
        values = {"epsilon": node.number("epsilon", 1e-5), "bias": "bias" in parameters}
        return OnnxLayer(cls.NAME, values | ({"axes": axes} if axes > 1 else {}), node.inputs[:1], shape, parameters)

    @property
    def biased(self) -> bool:
        return self.bias

    def parameters(self, shape: Shape) -> Shape:
        if self.axes > len(shape):
            raise ShapeError(f"axes = {self.axes} of an input of {format_shape(shape)}: at most {len(shape)}")
        return shape[-self.axes :]


class RmsNorm(RowNorm):
    """y = γ · x / √(mean of x² + ε) over the last axis of every position (Zhang and Sennrich 2019)."""

    NAME: ClassVar = "rms_norm"
    CENTRED: ClassVar = False

    @property
    def biased(self) -> bool:
        return False

    def parameters(self, shape: Shape) -> Shape:
        return shape[-1:]


class GroupNorm(RowNorm):
    """y = γ · (x − mean) / √(variance + ε) + β over groups of an image's channels (Wu and He 2018)."""

    NAME: ClassVar = "group_norm"
    ONNX: ClassVar = ("InstanceNormalization", "GroupNormalization")

    groups: int = param(..., "groups of channels; as many as channels: instance normalization", "the network", ge=1)

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        shape = node.shape()
        if shape[0] != 1 or len(shape) < 3:
            raise UnsupportedNodeError(f"an input of {list(shape)}: must be batch × channels × ...")
        parameters = {role: Parameter(node.parameter(n, role, 1)[0]) for n, role in enumerate(("scale", "bias"), 1)}
        by_group = node.operator == "GroupNormalization"
        groups = int(node.attributes["num_groups"]) if by_group else shape[1]
        values = {"groups": groups, "epsilon": node.number("epsilon", 1e-5)}
        # of opset 18, whose operator was withdrawn with opset 21, each group has one scale and one bias
        of_group = by_group and node.opset < 21
        count, whose = (groups, "group") if of_group else (shape[1], "channel")
        for number, role in enumerate(parameters, 1):
            if by_group and node.stored(node.inputs[number]) != (count,):
                raise UnsupportedNodeError(
                    f"{role} is {list(node.stored(node.inputs[number]) or ())}: must be one for each of {count}"
                    f" {whose}s in opset {node.opset}"
                )
        if of_group and shape[1] % groups == 0:
            size = shape[1] // groups
            parameters = {
                role: replace(one, shape=(shape[1],), taken=lambda array: array.repeat(size))
                for role, one in parameters.items()
            }
        return OnnxLayer(cls.NAME, values, node.inputs[:1], shape, parameters)

    def parameters(self, shape: Shape) -> Shape:
        if shape[0] % self.groups:
            raise ShapeError(f"{shape[0]} channels do not divide into {self.groups} groups")
        return shape[:1]

    def rows(self, shape: Shape) -> int:
        return self.groups


class Softmax(LayerKind):
    """e^x over the sum of e^x of all channels (DNNMark, equation 11), of another axis, or of all values."""

    NAME: ClassVar = "softmax"
    ONNX: ClassVar = ("Softmax",)
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)

    over: Literal["channels", "all"] = param(
        "channels", "what each sum is over", "DNNMark; ONNX before opset 13 has all"
    )
    axis: int = param(0, "with over channels: the axis, without the batch; negative: from the end", "the channels")

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        shape = node.shape()
        axis = node.axis(-1 if node.opset >= 13 else 1)
        # before opset 13, the axis is where the tensor is flattened to a matrix, whose rows are normalized
        if node.opset < 13 and axis != len(shape) - 1 and (axis != 1 or shape[0] != 1):
            raise UnsupportedNodeError(f"axis = {axis}: must be 1 or the last before opset 13")
        if node.opset < 13 and axis == 1 and shape[0] == 1:
            return OnnxLayer(cls.NAME, {"over": "all"}, node.inputs[:1], shape)
        source, (axis,) = node.of_image([axis])
        return OnnxLayer(cls.NAME, {"over": "channels"} | ({"axis": axis} if axis else {}), (source,), shape)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        axis_of(inputs[0], self.axis)
        return inputs[0]

    def planes(self, shape: Shape) -> tuple[int, int, int]:
        """Return how many sums stand before the axis, of how many values each is, and how many stand side by side."""
        if self.over == "all":
            return 1, elements(shape), 1
        axis = axis_of(shape, self.axis)
        return elements(shape[:axis]), shape[axis], elements(shape[axis + 1 :])

    def operations(self, inputs: Sequence[Shape]) -> int:
        outer, values, inner = self.planes(inputs[0])
        return values * values * outer * inner

    def ends_with_softmax(self, shape: Shape, classes: int | None) -> bool:
        return self.planes(shape)[1] == classes

    def operator(self, layer: LayerPass) -> SoftmaxForward:
        outer, values, inner = self.planes(layer.shape)
        rows = layer.batch * outer
        return SoftmaxForward((rows, values, inner) if inner > 1 else (rows, values))
