"""Layers that treat every value by itself: functions of one number, the mask of causal attention, dropout."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from gpusim.base.spec import param
from workloads.networks.kind import LayerKind, LayerPass, LayerTensors, Pass, PassSpec, SavedTensor, ShapeError
from workloads.networks.onnx_node import Node, OnnxLayer
from workloads.networks.tensor import elements, format_shape
from workloads.operators.activation import INPUT_FUNCTIONS, ActivationForward
from workloads.operators.causal_mask import CausalMask
from workloads.operators.dropout import DropoutForward
from workloads.operators.rotary import Rotary
from workloads.shapes import Shape

LARGEST = 3.4028234e38  # of FP32: a bound that is none


class Activation(LayerKind):
    """A function of one number, which has the kind's name in workloads/operators/activation.py."""

    @property
    def function(self) -> str:
        """The operator's name for the function."""
        return self.NAME

    @property
    def numbers(self) -> tuple[float, float]:
        """The two numbers that the function has besides, 0 where it has none."""
        return 0.0, 0.0

    def operator(self, layer: LayerPass) -> ActivationForward:
        return ActivationForward(self.function, layer.output_shape, *self.numbers)


class Relu(Activation):
    """max(0, x), in place as Caffe's networks have it."""

    NAME: ClassVar = "relu"
    ONNX: ClassVar = ("Relu",)
    IS_RELU: ClassVar = True
    NEEDS_SIGN_ALONE: ClassVar = True
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",), in_place=("dy", "dx")),)


class Sigmoid(Activation):
    """1 / (1 + e^−x)."""

    NAME: ClassVar = "sigmoid"
    ONNX: ClassVar = ("Sigmoid",)
    OPERATIONS: ClassVar = 4
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)


class Tanh(Activation):
    """Hyperbolic tangent, tanh x."""

    NAME: ClassVar = "tanh"
    ONNX: ClassVar = ("Tanh",)
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)


class FunctionOfInput(Activation):
    """A function of one number whose gradient is one of what it is applied to."""

    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x", "dy"), ("dx",), in_place=("dy", "dx")),)

    def operations(self, inputs: Sequence[Shape]) -> int:
        return INPUT_FUNCTIONS[self.NAME].operations * elements(inputs[0])


def _bound(node: Node, attribute: str, number: int, default: float) -> float:
    if node.has(number):
        return max(-LARGEST, min(LARGEST, float(node.values(number, attribute).reshape(-1)[0])))
    return node.number(attribute, default)


class Clip(FunctionOfInput):
    """The nearest value between two bounds: ReLU6 with 0 and 6. The gradient passes on strictly between them.

    Where the lower bound is above the upper one, every value becomes the upper one (ONNX, PyTorch).
    """

    NAME: ClassVar = "clip"
    ONNX: ClassVar = ("Clip",)

    least: float = param(0.0, "lower bound", "Sandler 2018: ReLU6")
    most: float = param(6.0, "upper bound", "Sandler 2018: ReLU6")

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        values = {"least": _bound(node, "min", 1, -LARGEST), "most": _bound(node, "max", 2, LARGEST)}
        return OnnxLayer(cls.NAME, values, node.inputs[:1], node.shape())

    @property
    def numbers(self) -> tuple[float, float]:
        return min(self.least, self.most), self.most


class LeakyRelu(FunctionOfInput):
    """x where it is positive, else slope · x."""

    NAME: ClassVar = "leaky_relu"
    ONNX: ClassVar = ("LeakyRelu",)
    ONNX_NUMBERS: ClassVar = {"slope": ("alpha", 0.01)}

    slope: float = param(0.01, "slope below 0", "Maas 2013; ONNX's and PyTorch's default")

    @property
    def numbers(self) -> tuple[float, float]:
        return self.slope, 0.0


class HardSigmoid(FunctionOfInput):
    """slope · x + shift, held between 0 and 1."""

    NAME: ClassVar = "hard_sigmoid"
    ONNX: ClassVar = ("HardSigmoid",)
    ONNX_NUMBERS: ClassVar = {"slope": ("alpha", 0.2), "shift": ("beta", 0.5)}

    slope: float = param(1 / 6, "slope", "Howard 2019; ONNX's default is 0.2")
    shift: float = param(0.5, "value at 0", "Howard 2019")

    @property
    def numbers(self) -> tuple[float, float]:
        return self.slope, self.shift


class HardSwish(FunctionOfInput):
    """x times the hard sigmoid of x with slope 1/6 (Howard 2019)."""

    NAME: ClassVar = "hard_swish"
    ONNX: ClassVar = ("HardSwish",)


class Silu(FunctionOfInput):
    """x times the sigmoid of x (Elfwing 2018), also called Swish."""

    NAME: ClassVar = "silu"


class Gelu(FunctionOfInput):
    """x times the share of a normal distribution below x (Hendrycks and Gimpel 2016)."""

    NAME: ClassVar = "gelu"
    ONNX: ClassVar = ("Gelu",)

    approximate: Literal["none", "tanh"] = param("none", "tanh: by a hyperbolic tangent, as GPT-2 has it", "PyTorch")

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        return OnnxLayer(cls.NAME, {"approximate": node.text("approximate", "none")}, node.inputs[:1], node.shape())

    @property
    def function(self) -> str:
        return self.NAME if self.approximate == "none" else f"{self.NAME}_tanh"


class Affine(FunctionOfInput):
    """factor · x + shift, with two numbers for all values."""

    NAME: ClassVar = "affine"
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",), in_place=("dy", "dx")),)

    factor: float = param(1.0, "factor", "the network")
    shift: float = param(0.0, "what is added", "the network")

    @property
    def numbers(self) -> tuple[float, float]:
        return self.factor, self.shift


class Square(FunctionOfInput):
    """The square of x, x²."""

    NAME: ClassVar = "square"


class SquareRoot(FunctionOfInput):
    """The square root of x, √x."""

    NAME: ClassVar = "square_root"
    ONNX: ClassVar = ("Sqrt",)


class Reciprocal(FunctionOfInput):
    """The reciprocal of x, 1 / x."""

    NAME: ClassVar = "reciprocal"
    ONNX: ClassVar = ("Reciprocal",)


class Exponential(FunctionOfInput):
    """The exponential of x, e^x."""

    NAME: ClassVar = "exponential"
    ONNX: ClassVar = ("Exp",)


class Erf(FunctionOfInput):
    """The error function erf x."""

    NAME: ClassVar = "erf"
    ONNX: ClassVar = ("Erf",)


class CausalMaskLayer(LayerKind):
    """Scores [..., queries, keys] in which a key after its query gets a number that softmax turns into 0.

    The last query sees the last key, so that earlier steps' keys may stand before.
    """

    NAME: ClassVar = "causal_mask"
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",), in_place=("dy", "dx")),)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        shape = inputs[0]
        if len(shape) < 2 or shape[-1] < shape[-2]:
            raise ShapeError(f"an input of shape {format_shape(shape)}: it needs ... × queries × keys, keys not fewer")
        return shape

    def operator(self, layer: LayerPass) -> CausalMask:
        return CausalMask(layer.output_shape)


class RotaryLayer(LayerKind):
    """Rotary position embedding of [..., positions, width], as Llama has it: pairs half a row apart turn (Su 2021)."""

    NAME: ClassVar = "rotary"
    OPERATIONS: ClassVar = 3
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",), in_place=("dy", "dx")),)

    base: float = param(10000.0, "base of the frequencies", "Su 2021", gt=1)
    first: int = param(0, "number of the first position: keys that come from earlier steps", "the usual one", ge=0)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        shape = inputs[0]
        if len(shape) < 2 or shape[-1] % 2:
            raise ShapeError(f"an input of shape {format_shape(shape)}: it needs ... × positions × an even width")
        return shape

    def operator(self, layer: LayerPass) -> Rotary:
        return Rotary(layer.output_shape, self.first, self.base)


class Dropout(LayerKind):
    """In training, a share of the values becomes zero and the others grow so that the mean stays; not in inference."""

    NAME: ClassVar = "dropout"
    ONNX: ClassVar = ("Dropout",)
    KEEPS_SIGN: ClassVar = True
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("mask", "dy"), ("dx",), in_place=("dy", "dx")),)

    probability: float = param(0.5, "share of values that become zero", "Srivastava 2014", ge=0, lt=1)
    seed: int = param(0, "seed of the choice", "DNNMark, core/include/dnn_param.h", ge=0, lt=2**63)

    @classmethod
    def from_onnx(cls, node: Node) -> OnnxLayer:
        ratio = node.number("ratio", 0.5)
        if node.has(1):
            ratio = float(node.array(node.parameter(1, "ratio", 0)[0]))
        values = {"probability": ratio, "seed": int(node.attributes.get("seed", 0))}
        return OnnxLayer(cls.NAME, values, node.inputs[:1], node.shape())

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return LayerTensors(saved={"mask": SavedTensor(inputs[0], "uint8")})

    def forward(self, training: bool) -> PassSpec | None:
        return PassSpec(Pass.FORWARD, ("x",), ("y", "mask"), in_place=("x", "y")) if training else None

    def operator(self, layer: LayerPass) -> DropoutForward:
        return DropoutForward(layer.output_shape, self.probability, self.seed, layer.stream)
