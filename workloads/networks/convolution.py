"""Convolution: filters of any size over channels in groups, and the other way round."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from gpusim.base.spec import param
from workloads.networks.kind import Gemm, LayerPass, LayerTensors, Pass, PrimitiveUse, ShapeError
from workloads.networks.onnx_node import Node, OnnxLayer, Parameter, UnsupportedNodeError
from workloads.networks.tensor import format_shape
from workloads.networks.weighted import WeightedLayer, with_joined, with_mask, with_pooling
from workloads.networks.windows import Ends, WindowPair, WindowSides, format_padding, onnx_padding, positions
from workloads.operators.bias import BiasForward
from workloads.operators.conv_algorithms import ALGORITHMS, DEFAULT_ALGORITHM, DENSE_ALGORITHMS, ConvolutionAlgorithm
from workloads.operators.conv_winograd import WinogradForward
from workloads.operators.convolution import Convolution
from workloads.shapes import Shape

MAX_FILTERS = 1 << 20


def dense_algorithm(layer: LayerPass, convolution: Convolution) -> ConvolutionAlgorithm:
    """Return the dense algorithm of a pass: the chosen one where it computes the convolution, else the default."""
    settings = layer.settings
    chosen = ALGORITHMS[layer.choose(settings.convolution)]
    made = ALGORITHMS[DEFAULT_ALGORITHM] if chosen.refuses(convolution) else chosen
    return made.within(settings.convolution_buffer_bytes).by(settings.multiplier)


def _weights(node: Node) -> tuple[Shape, OnnxLayer]:
    """Return the shape of a node's weights, with rows, and the layer with what both kinds of convolution have."""
    source, is_line = node.maps()
    weight, shape = node.parameter(1, "weights", len(node.shape()))
    given = node.ints("kernel_shape", list(shape[2:]))
    if given != list(shape[2:]):
        raise UnsupportedNodeError(f"kernel_shape = {given}: the weights' is {list(shape[2:])}")
    shape = (*shape[:2], 1, shape[2]) if is_line else shape
    parameters = {"weight": Parameter(weight, shape=shape)}
    if node.has(2):
        parameters["bias"] = Parameter(node.parameter(2, "bias", 1)[0])
    values = {
        "kernel": list(shape[2:]),
        "stride": node.by_axis("strides", 1),
        "dilation": node.by_axis("dilations", 1),
        "groups": int(node.attributes.get("group", 1)),
        "bias": "bias" in parameters,
    }
    return shape, OnnxLayer("", values, (source,), None, parameters, is_line)


class ConvolutionLayer(WeightedLayer):
    """Each output channel is the sum of its filter over the input channels of its group."""

    NAME: ClassVar = "convolution"
    ONNX: ClassVar = ("Conv",)
    ALGORITHMS: ClassVar[Sequence[str]] = DENSE_ALGORITHMS

    filters: int = param(..., "output channels", "the network", ge=1, le=MAX_FILTERS)
    kernel: WindowPair = param(..., "rows and columns of a filter; one number for both", "the network")
    stride: WindowPair = param((1, 1), "distance between filter positions", "the usual one")
    padding: WindowSides = param(
        (0, 0, 0, 0),
        "zeros around the maps: one number, [rows, columns] or [top, left, bottom, right]",
        "the usual one",
    )
    dilation: WindowPair = param((1, 1), "distance between the values under a filter", "the usual one")
    groups: int = param(1, "groups of channels that see nothing of one another", "the usual one", ge=1, le=MAX_FILTERS)
    bias: bool = param(True, "a value for each output channel is added", "the usual one")
    shares: str = param("", "the layer whose weights and bias it uses; empty: its own", "planes of volumes")
    propagation: bool = param(
        True, "whether the layers before get a gradient", "DNNMark, core/include/dnn_param.h (keyword `propagation`)"
    )

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        shape, layer = _weights(node)
        own = {"filters": shape[0], "padding": onnx_padding(node, list(shape[2:]))}
        return replace(layer, kind=cls.NAME, values={**layer.values, **own})

    @property
    def propagates(self) -> bool:
        return self.propagation

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """Return the output's shape, filters × rows × columns; raise ShapeError where groups do not divide channels."""
        (shape,) = inputs
        rows, columns = positions(shape, self.kernel, self.stride, self.padding, self.dilation)
        for what, count in (("input channels", shape[0]), ("filters", self.filters)):
            if count % self.groups:
                raise ShapeError(f"{count} {what} do not divide into {self.groups} groups")
        return self.filters, rows, columns

    @property
    def shared_with(self) -> str:
        return self.shares

    def _parameters(self, inputs: Sequence[Shape]) -> Mapping[str, Shape]:
        bias = {"bias": (self.filters,)} if self.bias else {}
        return {"weight": (self.filters, inputs[0][0] // self.groups, *self.kernel), **bias}

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return LayerTensors({} if self.shares else self._parameters(inputs))

    def shared(self, inputs: Sequence[Shape]) -> Mapping[str, Shape]:
        return self._parameters(inputs) if self.shares else {}

    def gemm(self, inputs: Sequence[Shape]) -> Gemm:
        """Return the product of a group's filters and im2col of its channels, one for each image and group."""
        _, rows, columns = self.output(inputs)
        reduced = inputs[0][0] // self.groups * self.kernel[0] * self.kernel[1]
        return Gemm(self.filters // self.groups, reduced, rows * columns, self.groups)

    def convolution(self, shape: Shape) -> Convolution:
        """Return the convolution of maps of this shape, which has the batch."""
        return Convolution(
            shape=shape,
            filters=self.filters,
            kernel=self.kernel,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        convolution = self.convolution(layer.input_shape)
        if layer.settings.sparse_convolution is not None and not self.why_dense(layer):
            sparse = ALGORITHMS[layer.settings.sparse_convolution]
            if layer.is_forward:
                return self._forward(layer, sparse, convolution)
            assert sparse.sparse_weights is not None
            return (PrimitiveUse(sparse.sparse_weights(convolution)),)
        algorithm = dense_algorithm(layer, convolution)
        if layer.is_forward:
            return self._forward(layer, algorithm, convolution)
        if layer.what is Pass.BACKWARD_WEIGHTS:
            return (PrimitiveUse(algorithm.backward_weights(convolution)),)
        data = algorithm.backward_data(convolution)
        return with_mask(layer, data, "" if data.masks else f"the kernels of {data.algorithm} end with no mask")

    def _forward(
        self, layer: LayerPass, algorithm: ConvolutionAlgorithm, convolution: Convolution
    ) -> tuple[PrimitiveUse, ...]:
        joined = layer.joined
        forward = algorithm.forward(convolution, bias=self.bias, relu=bool(joined) and algorithm.rectifies)
        if not algorithm.rectifies:
            return with_joined(layer, forward, f"the kernels of {algorithm.name} end with no ReLU")
        if len(joined) > 1 and isinstance(forward, WinogradForward):
            return (PrimitiveUse(replace(forward, pools=True, kept="places" in layer.writes)),)
        return (
            PrimitiveUse(forward),
            *with_pooling(layer, f"the tiles of {algorithm.name} do not consist of its windows"),
        )

    def why_dense(self, layer: LayerPass) -> str:
        if layer.settings.sparse_convolution is None:
            return ""
        sparse = ALGORITHMS[layer.settings.sparse_convolution]
        weights = sparse.sparse_weights if layer.what is Pass.BACKWARD_WEIGHTS else None
        if not layer.is_forward and weights is None:
            return "gradients have no sparse algorithm"
        if weights is not None and not layer.settings.sparse_gradients:
            return "gradients of weights stay dense: sparse_gradients is false"
        if layer.reads_input:
            return "its input is the network's, no activation map"
        convolution = self.convolution(layer.input_shape)
        return sparse.refuses(convolution) if weights is None else weights.refuses(convolution)

    def workspace(self, what: Pass, inputs: Sequence[Shape], batch: int = 1, training: bool = False) -> Shape:
        """Return the shape of im2col of one image, as Caffe has it; (0,) where that is the image, or other passes."""
        if what not in (Pass.FORWARD, Pass.BACKWARD_DATA, Pass.BACKWARD_WEIGHTS) or self.is_matrix:
            return (0,)
        _, rows, columns = self.output(inputs)
        return inputs[0][0] * self.kernel[0] * self.kernel[1], rows * columns

    @property
    def is_matrix(self) -> bool:
        """Whether im2col changes nothing: filters are 1 × 1, the stride is 1, and there is no padding."""
        return self.kernel == (1, 1) == self.stride and not any(self.padding)


class TransposedConvolution(WeightedLayer):
    """Each input value times its filter is added to the output: what a convolution's gradient does (Zeiler 2010).

    It goes forward as the gradient of the data of a convolution from its output to its input, `mirrored`.
    """

    NAME: ClassVar = "transposed_convolution"
    ONNX: ClassVar = ("ConvTranspose",)
    ALGORITHMS: ClassVar[Sequence[str]] = DENSE_ALGORITHMS
    JOINS_RELU: ClassVar = False

    filters: int = param(..., "output channels", "the network", ge=1, le=MAX_FILTERS)
    kernel: WindowPair = param(..., "rows and columns of a filter; one number for both", "the network")
    stride: WindowPair = param((1, 1), "distance between what neighbouring inputs are added to", "the usual one")
    padding: WindowSides = param(
        (0, 0, 0, 0),
        "what is cut off around the maps: one number, [rows, columns] or [top, left, bottom, right]",
        "the usual one",
    )
    more: Ends = param((0, 0), "rows and columns after the last: ONNX's output_padding", "the usual one")
    dilation: WindowPair = param((1, 1), "distance between the values under a filter", "the usual one")
    groups: int = param(1, "groups of channels that see nothing of one another", "the usual one", ge=1, le=MAX_FILTERS)
    bias: bool = param(True, "a value for each output channel is added", "the usual one")

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        shape, layer = _weights(node)
        how = node.text("auto_pad", "NOTSET")
        if how not in ("NOTSET", "VALID"):
            raise UnsupportedNodeError(f"auto_pad = {how}: must be NOTSET or VALID, with pads")
        own = {
            "filters": shape[1] * layer.values["groups"],
            "padding": onnx_padding(node, list(shape[2:])),
            "more": node.by_axis("output_padding", 0),
        }
        return replace(layer, kind=cls.NAME, values={**layer.values, **own})

    def mirrored(self, inputs: Sequence[Shape]) -> tuple[ConvolutionLayer, Shape]:
        """Return the convolution that goes the other way, and the shape of what it reads."""
        top, left, bottom, right = self.padding
        convolution = ConvolutionLayer(
            filters=inputs[0][0], kernel=self.kernel, stride=self.stride, padding=(top, left, bottom, right),
            dilation=self.dilation, groups=self.groups, bias=False,
        )  # fmt: skip
        return convolution, self.output(inputs)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        """Return the output's shape; raise ShapeError where nothing is left or groups do not divide channels."""
        (shape,) = inputs
        if len(shape) != 3:
            raise ShapeError(f"an input of shape {format_shape(shape)}: it needs channels × rows × columns")
        for what, count in (("input channels", shape[0]), ("filters", self.filters)):
            if count % self.groups:
                raise ShapeError(f"{count} {what} do not divide into {self.groups} groups")
        for one, stride, dilation in zip(self.more, self.stride, self.dilation, strict=True):
            if one >= max(stride, dilation):
                raise ShapeError(f"more {list(self.more)}: must be less than the stride or the dilation")
        sizes = [
            (shape[axis + 1] - 1) * self.stride[axis]
            + self.dilation[axis] * (self.kernel[axis] - 1) + 1
            + self.more[axis] - self.padding[axis] - self.padding[axis + 2]
            for axis in (0, 1)
        ]  # fmt: skip
        if min(sizes) < 1:
            raise ShapeError(
                f"padding {format_padding(self.padding)} leaves nothing of an input of {format_shape(shape)}"
            )
        return self.filters, sizes[0], sizes[1]

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        bias = {"bias": (self.filters,)} if self.bias else {}
        return LayerTensors({"weight": (inputs[0][0], self.filters // self.groups, *self.kernel), **bias})

    def fan_in(self, weight: Shape) -> int:
        """Return the inputs whose filters may meet in an output."""
        return weight[0] // self.groups * weight[2] * weight[3]

    def gemm(self, inputs: Sequence[Shape]) -> Gemm:
        """Return the product of a group's filters, turned over, and its channels: im2col of the output."""
        channels, rows, columns = inputs[0]
        taps = self.filters // self.groups * self.kernel[0] * self.kernel[1]
        return Gemm(taps, channels // self.groups, rows * columns, self.groups)

    def primitives(self, layer: LayerPass) -> tuple[PrimitiveUse, ...]:
        """Return those of the convolution the other way: its gradient of the data goes forward."""
        mirrored, shape = self.mirrored(layer.inputs)
        convolution = mirrored.convolution((layer.batch, *shape))
        algorithm = dense_algorithm(layer, convolution)
        if layer.is_forward:
            forward = PrimitiveUse(algorithm.backward_data(convolution), {"dy": "x", "dx": "y"})
            return (forward, PrimitiveUse(BiasForward(layer.output_shape), {"x": "y"})) if self.bias else (forward,)
        if layer.what is Pass.BACKWARD_WEIGHTS:
            return (PrimitiveUse(algorithm.backward_weights(convolution), {"x": "dy", "dy": "x"}),)
        return (PrimitiveUse(algorithm.forward(convolution, bias=False, relu=False), {"x": "dy", "y": "dx"}),)

    def workspace(self, what: Pass, inputs: Sequence[Shape], batch: int = 1, training: bool = False) -> Shape:
        """Return that of the convolution the other way."""
        convolution, shape = self.mirrored(inputs)
        return convolution.workspace(what, [shape], batch, training)
