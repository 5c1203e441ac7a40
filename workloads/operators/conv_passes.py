"""What the three passes of a convolution are, whatever algorithm computes them.

How they are computed is a class for each pass and algorithm; workloads/operators/conv_algorithms.py has them by name.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloads.operators.bias import BiasForward
from workloads.operators.convolution import Convolution
from workloads.operators.primitive import DivisionAxis, Primitive, ReferenceValue
from workloads.operators.tensor import Operand
from workloads.operators.verify import inner_product_bound


@dataclass(frozen=True)
class ConvolutionPass(Primitive):
    """A pass of a convolution."""

    convolution: Convolution
    """Convolution."""
    purpose: ClassVar[str]
    """Name of the pass, such as 'backward data'."""

    @property
    @abstractmethod
    def algorithm(self) -> str:
        """The name of the algorithm in workloads/operators/conv_algorithms.py."""

    @property
    def name(self) -> str:
        return f"convolution {self.purpose} ({self.algorithm})"

    def get_operand(self, name: str) -> Operand:
        operand: Operand = getattr(self.convolution, name.removeprefix("d"))
        return operand

    @property
    def products(self) -> int:
        """How many matrix products are launched one by one, for images and groups; launches of chunks count as one."""
        return 1

    @property
    def macs(self) -> int:
        return self.convolution.macs

    @property
    def needed_macs(self) -> int:
        return self.convolution.needed_macs


@dataclass(frozen=True)
class ConvolutionForward(ConvolutionPass):
    """y[n, m] = bias[m] + the sum over channels and taps of weight[m] times the elements of x[n] in the window."""

    bias: bool = False
    """Add a bias."""
    relu: bool = False
    """Apply a ReLU as the last step of the kernels."""
    purpose = "forward"

    @property
    def name(self) -> str:
        return f"convolution{self._ends} forward ({self.algorithm})"

    @property
    def _ends(self) -> str:
        """What the kernels do last, for the name."""
        return " + relu" if self.relu else ""

    @property
    def takes(self) -> Mapping[str, Operand]:
        c = self.convolution
        return {"x": c.x, "weight": c.weight, **({"bias": c.bias} if self.bias else {})}

    @property
    def read_bytes(self) -> int:
        c = self.convolution
        return 4 * (c.met_x + c.met_weights + (c.filters if self.bias else 0))

    @property
    def operations(self) -> int:
        return self.convolution.y.size * (self.bias + self.relu)

    @abstractmethod
    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        """Return the passes that give the gradients of the weights and of the data."""

    def backward_passes(self) -> tuple[Primitive, ...]:
        """Return the passes after that of the ReLU, if there is one, whose gradient takes the place of dy."""
        weights, data = self.gradients()
        return (weights, BiasForward(self.convolution.y.shape).backward(), data) if self.bias else (weights, data)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        c, x, weight = self.convolution, inputs["x"], inputs["weight"]
        y = c.forward(x.astype(np.float64), weight.astype(np.float64))
        magnitude = c.forward(np.abs(x), np.abs(weight))
        if self.bias:
            bias = inputs["bias"].reshape(1, -1, 1, 1)
            y, magnitude = y + bias, magnitude + np.abs(bias)
        if self.relu:  # no further from the exact value than its argument is
            y = np.maximum(y, 0.0)
        return {"y": ReferenceValue(y, inner_product_bound(float(c.depth + self.bias), magnitude, c.depth + self.bias))}


@dataclass(frozen=True)
class ConvolutionBackwardData(ConvolutionPass):
    """dx from dy and the weights.

    With `masked`, the last step of the kernels applies the gradient of the ReLU.
    """

    masked: bool = False
    """Also apply the gradient of a ReLU: dx is 0 where `mask`, the ReLU's output, is not positive."""
    purpose = "backward data"
    writes = ("dx",)

    @property
    def name(self) -> str:
        return f"convolution{' + relu' if self.masked else ''} backward data ({self.algorithm})"

    @property
    def masks(self) -> bool:
        """Whether the kernels have that last step."""
        return True

    @property
    def takes(self) -> Mapping[str, Operand]:
        c = self.convolution
        return {"weight": c.weight, "dy": c.y, **({"mask": c.x} if self.masked else {})}

    @property
    def read_bytes(self) -> int:
        c = self.convolution
        return 4 * (c.met_weights + c.met_y + (c.x.size if self.masked else 0))

    @property
    def operations(self) -> int:
        return self.convolution.x.size if self.masked else 0

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        c, dy, weight = self.convolution, inputs["dy"], inputs["weight"]
        dx = c.backward_data(dy.astype(np.float64), weight.astype(np.float64))
        terms = c.group_filters * c.taps
        if self.masked:
            dx = np.where(inputs["mask"] > 0, dx, 0.0)
        return {
            "dx": ReferenceValue(
                dx, inner_product_bound(float(terms), c.backward_data(np.abs(dy), np.abs(weight)), terms)
            )
        }


@dataclass(frozen=True)
class ConvolutionBackwardWeights(ConvolutionPass):
    """dweight from x and dy, of all images."""

    divisible = DivisionAxis.NOTHING
    purpose = "backward weights"
    reads, writes = ("x", "dy"), ("dweight",)

    @property
    def read_bytes(self) -> int:
        c = self.convolution
        return 4 * (c.met_x + c.met_y)

    @property
    def longest(self) -> int:
        """Additions that an element's value goes through at most."""
        return self.convolution.shape[0] * self.convolution.positions

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        c, x, dy = self.convolution, inputs["x"], inputs["dy"]
        dweight = c.backward_weights(x.astype(np.float64), dy.astype(np.float64))
        magnitude = c.backward_weights(np.abs(x), np.abs(dy))
        terms = c.shape[0] * c.positions
        return {"dweight": ReferenceValue(dweight, inner_product_bound(float(self.longest), magnitude, terms))}
