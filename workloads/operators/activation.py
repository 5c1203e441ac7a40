"""Functions of one number, element by element, forward and backward: activations, and what formulas are made of."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusim.base.errors import unknown_name
from workloads.operators.launching import elementwise
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, OperatorError, ReferenceValue
from workloads.operators.tensor import Operand, SampleFunction, Tensor, normal, positive
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape


@dataclass(frozen=True)
class ActivationFunction:
    """An activation y = f(x) with its derivative as a function of y."""

    forward: Callable[[np.ndarray], np.ndarray]
    """Computes f(x)."""
    slope: Callable[[np.ndarray], np.ndarray]
    """Computes the derivative from y."""
    error: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Bound on the error of the kernel's f(x) at x, y; the derivative adds a few roundings."""
    operations: int
    """Operations of f(x) for one element."""
    slope_operations: int
    """Operations of the derivative for one element."""


Numbers = np.ndarray


@dataclass(frozen=True)
class InputFunction:
    """An activation f(x) with two parameters a and b, and its derivative as a function of x."""

    forward: Callable[[Numbers, float, float], Numbers]
    """Computes f(x) from x, a, b."""
    slope: Callable[[Numbers, float, float], Numbers]
    """Computes f'(x) from x, a, b."""
    error: Callable[[Numbers, float, float], Numbers]
    """Bound on the error of the kernel's f(x), in units of roundoff."""
    slope_error: Callable[[Numbers, float, float], Numbers]
    """Bound on the error of the kernel's f'(x), in units of roundoff."""
    operations: int
    """Operations of f(x) for one element."""
    slope_operations: int
    """Operations of the derivative for one element."""
    data: SampleFunction = normal
    """Draws x."""


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        y: Numbers = 1.0 / (1.0 + np.exp(-x))
    return y


def _sigmoid_error(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # at minus infinity the error is none
        bound: Numbers = (8.0 + 2.0 * np.abs(x)) * np.abs(y)
    return bound


# e^x is 2^(x log2 e) with the product rounded, which is |x| roundings of the result, and v_exp_f32 and v_rcp_f32 are
# good to 1 ULP each (GCN3 ISA manual, section 12.8)
FUNCTIONS: Mapping[str, ActivationFunction] = {
    "relu": ActivationFunction(
        lambda x: np.where(x < 0, 0.0, x), lambda y: (y > 0).astype(np.float64), lambda x, y: np.zeros_like(y), 1, 1
    ),
    "sigmoid": ActivationFunction(_sigmoid, lambda y: y * (1.0 - y), _sigmoid_error, 4, 2),
    "tanh": ActivationFunction(np.tanh, lambda y: 1.0 - y * y, lambda x, y: 24.0 * np.minimum(np.abs(x), 1.0), 5, 2),
}


_erf = np.vectorize(math.erf, otypes=[np.float64])


def _normal_share(x: Numbers) -> Numbers:
    """Return the standard normal distribution's share below x."""
    share: Numbers = 0.5 * (1.0 + _erf(x / math.sqrt(2.0)))
    return share


def _silu_slope(x: Numbers, a: float, b: float) -> Numbers:
    s = _sigmoid(x)
    return s * (1.0 + x * (1.0 - s))


def _gelu_slope(x: Numbers, a: float, b: float) -> Numbers:
    slope: Numbers = _normal_share(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return slope


def _gelu_argument(x: Numbers) -> Numbers:
    return math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)


def _gelu_tanh_slope(x: Numbers, a: float, b: float) -> Numbers:
    t: Numbers = np.tanh(_gelu_argument(x))
    slope: Numbers = 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * math.sqrt(2.0 / math.pi) * (1.0 + 3 * 0.044715 * x * x)
    return slope


def _none(x: Numbers, a: float, b: float) -> Numbers:
    return np.zeros_like(x)


def _few(x: Numbers, a: float, b: float) -> Numbers:
    bound: Numbers = 4.0 * (1.0 + np.abs(x))
    return bound


FLUSHED = SMALLEST_NORMAL / UNIT_ROUNDOFF  # units of a factor that is below the normal numbers, and so becomes 0
# erf is that of Abramowitz and Stegun 7.1.26, 2.6 units off; what is multiplied with x is as far off times |x|, what
# goes through an exponential of x² as far times x² more, of a value that falls as fast
INPUT_FUNCTIONS: Mapping[str, InputFunction] = {
    "clip": InputFunction(
        lambda x, a, b: np.where(x < a, a, np.where(x > b, b, x)),
        lambda x, a, b: ((x > a) & (x < b)).astype(np.float64),
        _none,
        _none,
        2,
        2,
    ),
    "leaky_relu": InputFunction(
        lambda x, a, b: np.where(x < 0, a * x, x),
        lambda x, a, b: np.where(x > 0, 1.0, a),
        lambda x, a, b: np.abs(a * x) * 2,
        lambda x, a, b: np.full_like(x, abs(a)),
        2,
        1,
    ),
    "hard_sigmoid": InputFunction(
        lambda x, a, b: np.clip(a * x + b, 0.0, 1.0),
        lambda x, a, b: np.where((a * x + b > 0) & (a * x + b < 1), a, 0.0),
        lambda x, a, b: 3 * (np.abs(a * x) + abs(b)),
        lambda x, a, b: np.full_like(x, abs(a)),
        4,
        4,
    ),
    "hard_swish": InputFunction(
        lambda x, a, b: x * np.clip(x / 6 + 0.5, 0.0, 1.0),
        lambda x, a, b: np.where(x <= -3, 0.0, np.where(x >= 3, 1.0, x / 3 + 0.5)),
        lambda x, a, b: 4 * np.abs(x) * (np.abs(x) + 1),
        _few,
        5,
        4,
    ),
    "silu": InputFunction(
        lambda x, a, b: x * _sigmoid(x),
        _silu_slope,
        lambda x, a, b: (10 + 2 * np.abs(x)) * np.abs(x * _sigmoid(x)) + FLUSHED * np.abs(x),
        lambda x, a, b: (16 + 4 * np.abs(x)) * (1 + np.abs(x)) * _sigmoid(x) + FLUSHED * (1 + np.abs(x)),
        5,
        8,
    ),
    "gelu": InputFunction(
        lambda x, a, b: x * _normal_share(x),
        _gelu_slope,
        lambda x, a, b: 8 * np.abs(x),
        lambda x, a, b: 10 + 4 * np.abs(x) * np.exp(-0.5 * x * x) * (4 + x * x),
        14,
        20,
    ),
    "gelu_tanh": InputFunction(
        lambda x, a, b: 0.5 * x * (1.0 + np.tanh(_gelu_argument(x))),
        _gelu_tanh_slope,
        lambda x, a, b: 20 * np.abs(x),
        lambda x, a, b: 40 + 40 * np.abs(x) * (1 + x * x) * (1 - np.tanh(_gelu_argument(x)) ** 2 + 1e-6),
        10,
        16,
    ),
    "affine": InputFunction(
        lambda x, a, b: a * x + b,
        lambda x, a, b: np.full_like(x, a),
        lambda x, a, b: 3 * (np.abs(a * x) + abs(b)),
        lambda x, a, b: np.full_like(x, abs(a)),
        2,
        0,
    ),
    "square": InputFunction(lambda x, a, b: x * x, lambda x, a, b: 2 * x, lambda x, a, b: 2 * x * x, _none, 1, 1),
    "square_root": InputFunction(
        forward=lambda x, a, b: np.sqrt(x),
        slope=lambda x, a, b: 0.5 / np.sqrt(x),
        error=lambda x, a, b: 2 * np.sqrt(x),
        slope_error=lambda x, a, b: 3 / np.sqrt(x),
        operations=1,
        slope_operations=2,
        data=positive,
    ),
    "reciprocal": InputFunction(
        forward=lambda x, a, b: 1.0 / x,
        slope=lambda x, a, b: -1.0 / (x * x),
        error=lambda x, a, b: 2 / np.abs(x),
        slope_error=lambda x, a, b: 6 / (x * x),
        operations=1,
        slope_operations=2,
        data=positive,
    ),
    "exponential": InputFunction(
        lambda x, a, b: np.exp(x),
        lambda x, a, b: np.exp(x),
        lambda x, a, b: (5 + 2 * np.abs(x)) * np.exp(x),
        lambda x, a, b: (5 + 2 * np.abs(x)) * np.exp(x),
        2,
        2,
    ),
    "erf": InputFunction(
        lambda x, a, b: _erf(x),
        lambda x, a, b: 2 / math.sqrt(math.pi) * np.exp(-x * x),
        lambda x, a, b: np.full_like(x, 12.0),
        lambda x, a, b: 8 * (1 + x * x) * np.exp(-x * x),
        12,
        3,
    ),
}
NAMES = (*FUNCTIONS, *INPUT_FUNCTIONS)


@dataclass(frozen=True)
class _Activation(ArrayPrimitive):
    """A function of FUNCTIONS or INPUT_FUNCTIONS over an array."""

    function: str
    """Name of the function."""
    shape: Shape
    """Shape of the array."""
    a: float = 0.0
    """First parameter."""
    b: float = 0.0
    """Second parameter."""

    def __post_init__(self) -> None:
        if self.function not in NAMES:
            raise OperatorError(unknown_name("activation", self.function, NAMES))

    @property
    def of_input(self) -> bool:
        """Whether the gradient is a function of what the function is applied to, and not of its result."""
        return self.function in INPUT_FUNCTIONS

    @property
    def arguments(self) -> Mapping[str, float]:
        """The kernel's arguments beside arrays and their size."""
        return {"a": self.a, "b": self.b} if self.of_input else {}

    @property
    def argument(self) -> Operand:
        """What the function is applied to."""
        return Operand(self.shape, data=INPUT_FUNCTIONS[self.function].data) if self.of_input else self.x


@dataclass(frozen=True)
class ActivationForward(_Activation):
    """y = f(x); y may take x's place."""

    in_place: ClassVar = {"y": "x"}

    @property
    def name(self) -> str:
        return f"{self.function} forward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"x": self.argument}

    @property
    def operations(self) -> int:
        function = INPUT_FUNCTIONS.get(self.function) or FUNCTIONS[self.function]
        return function.operations * self.x.size

    def backward(self) -> "ActivationBackward":
        return ActivationBackward(self.function, self.shape, self.a, self.b)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        values = {**tensors, **self.arguments, "n": self.x.size}
        return (elementwise("activation", f"{self.function}_forward", values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs["x"].astype(np.float64)
        if self.of_input:
            of_x = INPUT_FUNCTIONS[self.function]
            y = of_x.forward(x, self.a, self.b)
            # a and b are rounded to FP32, too
            return {
                "y": ReferenceValue(y, UNIT_ROUNDOFF * (of_x.error(x, self.a, self.b) + np.abs(y)) + SMALLEST_NORMAL)
            }
        function = FUNCTIONS[self.function]
        y = function.forward(x)
        return {"y": ReferenceValue(y, UNIT_ROUNDOFF * function.error(x, y) + SMALLEST_NORMAL)}


@dataclass(frozen=True)
class ActivationBackward(_Activation):
    """dx = dy f'(x), from y = f(x), or from x; dx may take dy's place."""

    in_place: ClassVar = {"dx": "dy"}
    writes = ("dx",)

    @property
    def name(self) -> str:
        return f"{self.function} backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        if self.needs_dy_alone:
            return {"dy": self.x}
        return {"x" if self.of_input else "y": self.argument, "dy": self.x}

    @property
    def needs_dy_alone(self) -> bool:
        """Whether the function has the same slope everywhere."""
        return self.of_input and not INPUT_FUNCTIONS[self.function].slope_operations

    @property
    def operations(self) -> int:
        function = INPUT_FUNCTIONS.get(self.function) or FUNCTIONS[self.function]
        return (function.slope_operations + 1) * self.x.size

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        values = {**tensors, **self.arguments, "n": self.x.size}
        if self.needs_dy_alone:
            values["x"] = tensors["dy"]  # the kernel has the parameter, and no load of it
        return (elementwise("activation", f"{self.function}_backward", values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy = inputs["dy"].astype(np.float64)
        if self.of_input:
            function = INPUT_FUNCTIONS[self.function]
            x = inputs["dy" if self.needs_dy_alone else "x"].astype(np.float64)
            dx = dy * function.slope(x, self.a, self.b)
            off = np.abs(dy) * function.slope_error(x, self.a, self.b) + 2 * np.abs(dx)
            return {"dx": ReferenceValue(dx, UNIT_ROUNDOFF * off + SMALLEST_NORMAL)}
        y = inputs["y"].astype(np.float64)
        dx = dy * FUNCTIONS[self.function].slope(y)
        return {"dx": ReferenceValue(dx, 4 * UNIT_ROUNDOFF * np.abs(dy) * (1.0 + y * y) + SMALLEST_NORMAL)}
