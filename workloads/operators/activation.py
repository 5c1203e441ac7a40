"""Activations, element by element: ReLU, sigmoid and tanh, forward and backward."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gpusim.base.errors import unknown_name
from workloads.operators.launching import elementwise
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, OperatorError, Value
from workloads.operators.tensor import Shape, Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF

if TYPE_CHECKING:
    from isa.launch import Launch


@dataclass(frozen=True)
class Function:
    """An activation: f(x), and its derivative as a function of y = f(x); operations: of each, for one element.

    error: bound on that of the kernel's f(x) at x, y; the derivative's is a few roundings of the result.
    """

    forward: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    error: Callable[[np.ndarray, np.ndarray], np.ndarray]
    operations: int
    slope_operations: int


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-x))


def _sigmoid_error(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # at minus infinity the error is none
        return (8.0 + 2.0 * np.abs(x)) * np.abs(y)


# e^x is 2^(x log2 e) with the product rounded, which is |x| roundings of the result, and v_exp_f32 and v_rcp_f32 are
# good to 1 ULP each (GCN3 ISA manual, section 12.8)
FUNCTIONS: Mapping[str, Function] = {
    "relu": Function(
        lambda x: np.where(x < 0, 0.0, x), lambda y: (y > 0).astype(np.float64), lambda x, y: np.zeros_like(y), 1, 1
    ),
    "sigmoid": Function(_sigmoid, lambda y: y * (1.0 - y), _sigmoid_error, 4, 2),
    "tanh": Function(np.tanh, lambda y: 1.0 - y * y, lambda x, y: 24.0 * np.minimum(np.abs(x), 1.0), 5, 2),
}


@dataclass(frozen=True)
class _Activation(ArrayPrimitive):
    """An activation of FUNCTIONS over arrays of any shape."""

    function: str
    shape: Shape

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise OperatorError(unknown_name("activation", self.function, FUNCTIONS))


@dataclass(frozen=True)
class ActivationForward(_Activation):
    """y = f(x); y may take x's place."""

    in_place: ClassVar = {"y": "x"}

    @property
    def name(self) -> str:
        return f"{self.function} forward"

    @property
    def operations(self) -> int:
        return FUNCTIONS[self.function].operations * self.x.size

    def backward(self) -> "ActivationBackward":
        return ActivationBackward(self.function, self.shape)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        return (elementwise("activation", f"{self.function}_forward", {**tensors, "n": self.x.size}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        function, x = FUNCTIONS[self.function], inputs["x"].astype(np.float64)
        y = function.forward(x)
        return {"y": Value(y, UNIT_ROUNDOFF * function.error(x, y) + SMALLEST_NORMAL)}


@dataclass(frozen=True)
class ActivationBackward(_Activation):
    """dx = dy f'(x), from y = f(x); dx may take dy's place."""

    in_place: ClassVar = {"dx": "dy"}
    reads, writes = ("y", "dy"), ("dx",)

    @property
    def name(self) -> str:
        return f"{self.function} backward"

    @property
    def operations(self) -> int:
        return (FUNCTIONS[self.function].slope_operations + 1) * self.x.size

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        return (elementwise("activation", f"{self.function}_backward", {**tensors, "n": self.x.size}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        y, dy = (inputs[name].astype(np.float64) for name in ("y", "dy"))
        dx = dy * FUNCTIONS[self.function].slope(y)
        return {"dx": Value(dx, 4 * UNIT_ROUNDOFF * np.abs(dy) * (1.0 + y * y) + SMALLEST_NORMAL)}
