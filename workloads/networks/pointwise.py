"""Layers that treat every value by itself: functions of one number, the mask of causal attention, dropout."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from gpusim.base.spec import param
from workloads.networks.kind import LayerKind, LayerTensors, Pass, PassSpec, SavedTensor, ShapeError
from workloads.networks.tensor import Shape, format_shape


class Relu(LayerKind):
    """max(0, x), in place as Caffe's networks have it."""

    NEEDS_SIGN_ALONE: ClassVar = True
    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",), in_place=("dy", "dx")),)


class Sigmoid(LayerKind):
    """1 / (1 + e^−x)."""

    OPERATIONS: ClassVar = 4
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)


class Tanh(LayerKind):
    """Hyperbolic tangent, tanh x."""

    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)


class FunctionOfInput(LayerKind):
    """A function of one number whose gradient is one of what it is applied to."""

    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x", "dy"), ("dx",), in_place=("dy", "dx")),)
    # the operator's name for it: workloads/operators/activation.py
    FUNCTION: ClassVar[str]

    @property
    def function(self) -> str:
        """The operator's name for the function."""
        return self.FUNCTION

    @property
    def numbers(self) -> tuple[float, float]:
        """The two numbers that the function has besides, 0 where it has none."""
        return 0.0, 0.0


class Clip(FunctionOfInput):
    """The nearest value between two bounds: ReLU6 with 0 and 6. The gradient passes on strictly between them."""

    OPERATIONS: ClassVar = 2
    FUNCTION: ClassVar = "clip"

    least: float = param(0.0, "lower bound", "Sandler 2018: ReLU6")
    most: float = param(6.0, "upper bound", "Sandler 2018: ReLU6")

    @property
    def numbers(self) -> tuple[float, float]:
        return self.least, self.most


class LeakyRelu(FunctionOfInput):
    """x where it is positive, else slope · x."""

    OPERATIONS: ClassVar = 2
    FUNCTION: ClassVar = "leaky_relu"

    slope: float = param(0.01, "slope below 0", "Maas 2013; ONNX's and PyTorch's default")

    @property
    def numbers(self) -> tuple[float, float]:
        return self.slope, 0.0


class HardSigmoid(FunctionOfInput):
    """slope · x + shift, held between 0 and 1."""

    OPERATIONS: ClassVar = 4
    FUNCTION: ClassVar = "hard_sigmoid"

    slope: float = param(1 / 6, "slope", "Howard 2019; ONNX's default is 0.2")
    shift: float = param(0.5, "value at 0", "Howard 2019")

    @property
    def numbers(self) -> tuple[float, float]:
        return self.slope, self.shift


class HardSwish(FunctionOfInput):
    """x times the hard sigmoid of x with slope 1/6 (Howard 2019)."""

    OPERATIONS: ClassVar = 5
    FUNCTION: ClassVar = "hard_swish"


class Silu(FunctionOfInput):
    """x times the sigmoid of x (Elfwing 2018), also called Swish."""

    OPERATIONS: ClassVar = 5
    FUNCTION: ClassVar = "silu"


class Gelu(FunctionOfInput):
    """x times the share of a normal distribution below x (Hendrycks and Gimpel 2016)."""

    OPERATIONS: ClassVar = 14

    approximate: Literal["none", "tanh"] = param("none", "tanh: by a hyperbolic tangent, as GPT-2 has it", "PyTorch")

    @property
    def function(self) -> str:
        return "gelu" if self.approximate == "none" else "gelu_tanh"


class Affine(FunctionOfInput):
    """factor · x + shift, with two numbers for all values."""

    OPERATIONS: ClassVar = 2
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",), in_place=("dy", "dx")),)
    FUNCTION: ClassVar = "affine"

    factor: float = param(1.0, "factor", "the network")
    shift: float = param(0.0, "what is added", "the network")

    @property
    def numbers(self) -> tuple[float, float]:
        return self.factor, self.shift


class Square(FunctionOfInput):
    """The square of x, x²."""

    FUNCTION: ClassVar = "square"


class SquareRoot(FunctionOfInput):
    """The square root of x, √x."""

    FUNCTION: ClassVar = "square_root"


class Reciprocal(FunctionOfInput):
    """The reciprocal of x, 1 / x."""

    FUNCTION: ClassVar = "reciprocal"


class Exponential(FunctionOfInput):
    """The exponential of x, e^x."""

    OPERATIONS: ClassVar = 2
    FUNCTION: ClassVar = "exponential"


class Erf(FunctionOfInput):
    """The error function erf x."""

    OPERATIONS: ClassVar = 12
    FUNCTION: ClassVar = "erf"


class CausalMaskLayer(LayerKind):
    """Scores [..., queries, keys] in which a key after its query gets a number that softmax turns into 0.

    The last query sees the last key, so that earlier steps' keys may stand before.
    """

    FORWARD: ClassVar = PassSpec(Pass.FORWARD, ("x",), ("y",), in_place=("x", "y"))
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("dy",), ("dx",), in_place=("dy", "dx")),)

    def output(self, inputs: Sequence[Shape]) -> Shape:
        shape = inputs[0]
        if len(shape) < 2 or shape[-1] < shape[-2]:
            raise ShapeError(f"an input of shape {format_shape(shape)}: it needs ... × queries × keys, keys not fewer")
        return shape


class RotaryLayer(LayerKind):
    """Rotary position embedding of [..., positions, width], as Llama has it: pairs half a row apart turn (Su 2021)."""

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


class Dropout(LayerKind):
    """In training, a share of the values becomes zero and the others grow so that the mean stays; not in inference."""

    KEEPS_SIGN: ClassVar = True
    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("mask", "dy"), ("dx",), in_place=("dy", "dx")),)

    probability: float = param(0.5, "share of values that become zero", "Srivastava 2014", ge=0, lt=1)
    seed: int = param(0, "seed of the choice", "DNNMark, core/include/dnn_param.h", ge=0, lt=2**63)

    def anatomy(self, inputs: Sequence[Shape]) -> LayerTensors:
        return LayerTensors(saved={"mask": SavedTensor(inputs[0], "uint8")})

    def forward(self, training: bool) -> PassSpec | None:
        return PassSpec(Pass.FORWARD, ("x",), ("y", "mask"), in_place=("x", "y")) if training else None
