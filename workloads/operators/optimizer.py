"""Updates of parameters, where they lie: stochastic gradient descent with momentum, and Adam, with weight decay.

Both are PyTorch's: the velocity is momentum * velocity + gradient, the step rate * velocity; Adam's decay is part of
the gradient (Kingma and Ba 2015, algorithm 1).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpusim.base.formats import GENERAL
from workloads.operators.launching import elementwise
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, Primitive, ReferenceValue
from workloads.operators.tensor import Operand, Tensor, positive
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape


class _Update(ArrayPrimitive):
    @property
    def gives(self) -> Mapping[str, Operand]:
        return {name: operand for name, operand in self.takes.items() if name != "dw"}


@dataclass(frozen=True)
class Sgd(_Update):
    """w -= rate * velocity, velocity = momentum * velocity + dw + decay * w; without momentum there is no velocity."""

    shape: Shape
    """Shape of the parameter."""
    rate: float = 0.01
    """Learning rate."""
    momentum: float = 0.9
    """Momentum; 0: none."""
    decay: float = 0.0
    """Weight decay."""
    name = "SGD"

    def __post_init__(self) -> None:
        _check_range(self, "rate", self.rate, 0.0, np.inf)
        _check_range(self, "momentum", self.momentum, 0.0, 1.0)
        _check_range(self, "decay", self.decay, 0.0, np.inf)

    @property
    def takes(self) -> Mapping[str, Operand]:
        return dict.fromkeys(("w", "dw", "velocity") if self.momentum else ("w", "dw"), self.x)

    @property
    def macs(self) -> int:
        return (3 if self.momentum else 2) * self.x.size

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        values = {**tensors, "rate": self.rate, "decay": self.decay, "n": self.x.size}
        if not self.momentum:
            return (elementwise("optimizer", "sgd", values),)
        return (elementwise("optimizer", "sgd_momentum", {**values, "momentum": self.momentum}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        held = {name: array.astype(np.float64) for name, array in inputs.items()}
        w, gradient = held["w"], held["dw"] + self.decay * held["w"]
        moving = self.momentum * held.get("velocity", np.zeros(())) + gradient
        size = np.abs(held["dw"]) + np.abs(self.decay * w) + np.abs(self.momentum * held.get("velocity", np.zeros(())))
        off = 6 * UNIT_ROUNDOFF * size + SMALLEST_NORMAL
        step = w - self.rate * moving
        found = {"w": ReferenceValue(step, self.rate * off + 3 * UNIT_ROUNDOFF * (np.abs(w) + self.rate * size))}
        return {**found, "velocity": ReferenceValue(moving, off)} if self.momentum else found


@dataclass(frozen=True)
class Adam(_Update):
    """w -= rate * (mean corrected) / (sqrt(square corrected) + epsilon), for step 1, 2, ..."""

    shape: Shape
    """Shape of the parameter."""
    step: int = 1
    """Number of the update, from 1."""
    rate: float = 0.001
    """Learning rate."""
    beta1: float = 0.9
    """Decay of the mean."""
    beta2: float = 0.999
    """Decay of the mean square."""
    epsilon: float = 1e-8
    """Added to the root."""
    decay: float = 0.0
    """Weight decay."""
    macs_each, operations_each = 4, 7
    name = "Adam"

    def __post_init__(self) -> None:
        if self.step < 1:
            raise self.refuse(f"step is {self.step}; it must be at least 1")
        _check_range(self, "rate", self.rate, 0.0, np.inf)
        _check_range(self, "beta1", self.beta1, 0.0, 1.0)
        _check_range(self, "beta2", self.beta2, 0.0, 1.0)
        _check_range(self, "decay", self.decay, 0.0, np.inf)
        if not self.epsilon > 0:
            raise self.refuse(f"epsilon is {self.epsilon}; it must be larger than 0")

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {**dict.fromkeys(("w", "dw", "mean"), self.x), "square": Operand(self.shape, data=positive)}

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        betas = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon, "decay": self.decay}
        corrected = {"rate": self._rate, "square_scale": self._square_scale}
        return (elementwise("optimizer", "adam", {**tensors, **betas, **corrected, "n": self.x.size}),)

    @property
    def _rate(self) -> float:
        return self.rate / (1.0 - self.beta1**self.step)

    @property
    def _square_scale(self) -> float:
        return float(1.0 / np.sqrt(1.0 - self.beta2**self.step))

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        w, dw, mean, square = (inputs[name].astype(np.float64) for name in ("w", "dw", "mean", "square"))
        gradient = dw + self.decay * w
        new_mean = mean + (1.0 - self.beta1) * (gradient - mean)
        new_square = self.beta2 * square + (1.0 - self.beta2) * np.square(gradient)
        size = np.abs(dw) + np.abs(self.decay * w)
        mean_off = 6 * UNIT_ROUNDOFF * (size + np.abs(mean)) + SMALLEST_NORMAL
        square_off = 8 * UNIT_ROUNDOFF * (square + np.square(size)) + SMALLEST_NORMAL
        root = np.sqrt(new_square) * self._square_scale
        change = self._rate * new_mean / (root + self.epsilon)
        # the root moves by half of what its square does; what is off in the mean moves the change in proportion
        relative = 8 * UNIT_ROUNDOFF + square_off / np.maximum(new_square, SMALLEST_NORMAL)
        off = np.abs(change) * relative + self._rate * mean_off / (root + self.epsilon)
        return {
            "w": ReferenceValue(w - change, off + 2 * UNIT_ROUNDOFF * np.abs(w)),
            "mean": ReferenceValue(new_mean, mean_off),
            "square": ReferenceValue(new_square, square_off),
        }


def _check_range(primitive: Primitive, name: str, value: float, least: float, limit: float) -> None:
    if not least <= value < limit:
        upper = "" if limit == np.inf else f" and less than {GENERAL(limit)}"
        raise primitive.refuse(f"{name} is {value}; it must be at least {GENERAL(least)}{upper}")
