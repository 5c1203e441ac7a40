"""Fully connected layers: y = x times the weights transposed, and its gradients, as matrix products."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

import numpy as np

from workloads.operators.bias import BiasForward
from workloads.operators.few_rows import few_rows, longest_sum, product_of_few_rows
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, Primitive, ReferenceValue
from workloads.operators.tensor import HALF, Operand, Tensor
from workloads.operators.tiles import (
    DepthSplit,
    Multiplier,
    product,
    split_product,
    sum_parts,
    sum_parts_masked,
    sum_parts_rectified,
)
from workloads.operators.verify import inner_product_bound
from workloads.shapes import Shape

HALVES = 8  # FP16 weights that are read at a time
MAX_BYTES = (1 << 32) - (1 << 20)  # of an array: 32-bit offsets


@dataclass(frozen=True)
class FullyConnected(Primitive):
    """A layer over x [N, ...], with each image as a vector."""

    shape: Shape
    """Shape of x."""
    outputs: int
    """Number of results for each image."""
    by: Multiplier | None = field(default=None, kw_only=True)
    """Kernels of the product; None: ours."""
    layout: ClassVar[str]
    """Layout of the product c = a·b, in the terms of workloads/kernels/sgemm.cl."""
    operands: ClassVar[tuple[str, str, str]]
    """Names of a, b and c."""

    def __post_init__(self) -> None:
        if len(self.shape) < 2:
            raise self.refuse(f"x has shape {list(self.shape)}; it must be [N, values] or [N, ...]")
        if self.outputs < 1:
            raise self.refuse(f"{self.outputs} outputs; allowed are at least 1")
        for name, operand in {**self.takes, **self.gives}.items():
            if operand.size_bytes > MAX_BYTES:
                raise self.refuse(f"{name} has {operand.size_bytes} bytes; allowed are at most {MAX_BYTES}")

    @property
    def inputs(self) -> int:
        """Values of an image."""
        return prod(self.shape[1:])

    @property
    def x(self) -> Operand:
        """The operand x [N, ...]."""
        return Operand(self.shape)

    @property
    def weight(self) -> Operand:
        """The operand weight [outputs, values of an image]."""
        return Operand((self.outputs, self.inputs), by_image=False)

    @property
    def y(self) -> Operand:
        """The operand y [N, outputs]."""
        return Operand((self.shape[0], self.outputs))

    @property
    def macs(self) -> int:
        return self.shape[0] * self.inputs * self.outputs

    @property
    @abstractmethod
    def columns_rows_depth(self) -> tuple[int, int, int]:
        """Sizes of the product, whose result is [rows, columns]."""

    @property
    def split(self) -> DepthSplit:
        """The split of the product's sums."""
        if self.by is not None:
            return DepthSplit(self.columns_rows_depth[2], self.columns_rows_depth[2])
        return split_product(*self.columns_rows_depth)

    @property
    def longest(self) -> int:
        """Additions that an element's value goes through at most."""
        return self.split.longest

    @property
    def why_not_last(self) -> str:
        """Why a ReLU, or its gradient, can be no last step of the kernels, '' where it can."""
        return "" if self.split.parts > 1 else "its sums are in one part, and the product's kernel ends with no ReLU"

    @property
    def workspace(self) -> Mapping[str, Operand]:
        columns, rows, _ = self.columns_rows_depth
        parts = self.split.parts
        return {"sums": Operand((parts, rows * columns), by_image=False)} if parts > 1 else {}

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        a, b, c = (tensors[name] for name in self.operands)
        leading = (prod(a.shape[1:]), prod(b.shape[1:]))  # elements between stored rows
        if self.by is not None:
            sizes, pointers = self.columns_rows_depth, (a.pointer, b.pointer, c.pointer)
            return self.by.launches(self.layout, pointers, a.memory, sizes, (*leading, sizes[0]), add=False)
        sums = tensors.get("sums", c)
        first = product(self.layout, (a, b, sums), a.memory, self.columns_rows_depth, leading, gpu, self.split)
        return (first, *sum_parts(sums, c, self.split))

    def bounded(self, value: np.ndarray, magnitude: np.ndarray, more: int = 0) -> ReferenceValue:
        """Return the value with the error bound of a product of its terms and `more` further ones."""
        depth = self.columns_rows_depth[2] + more
        return ReferenceValue(value, inner_product_bound(float(self.longest + more), magnitude, depth))


@dataclass(frozen=True)
class FullyConnectedForward(FullyConnected):
    """y[n] = weight · x[n], with an optional bias.

    Few images have a kernel of their own (workloads.operators.few_rows), which also applies bias and ReLU.
    """

    bias: bool = False
    """Add a bias."""
    relu: bool = False
    """Apply a ReLU, in the kernel that adds up partial sums, of which there must be several."""
    half: bool = False
    """Weights are FP16; kernels convert them to FP32 on reading, and all else is FP32."""
    layout, operands = "tn", ("weight", "x", "y")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.half and self.by is not None:
            raise self.refuse("weights of float16 by a library's products; allowed with products=own alone")
        if self.half and self.inputs % HALVES:
            raise self.refuse(f"weights of float16, {self.inputs} values an image; allowed are multiples of {HALVES}")
        if self.relu and (problem := self.why_not_last):
            raise self.refuse(problem)

    @property
    def name(self) -> str:
        return f"fully connected{' (float16)' if self.half else ''}{' + relu' if self.relu else ''} forward"

    @property
    def weight(self) -> Operand:
        return replace(super().weight, dtype=HALF) if self.half else super().weight

    @property
    def takes(self) -> Mapping[str, Operand]:
        bias = {"bias": Operand((self.outputs,), by_image=False)} if self.bias else {}
        return {"x": self.x, "weight": self.weight, **bias}

    @property
    def columns_rows_depth(self) -> tuple[int, int, int]:
        return self.outputs, self.shape[0], self.inputs

    @property
    def few(self) -> bool:
        """Whether images are so few that weights are streamed by the kernel for that."""
        return self.by is None and few_rows(self.shape[0], self.inputs)

    @property
    def split(self) -> DepthSplit:
        return DepthSplit(self.inputs, self.inputs) if self.few else super().split.by_lines

    @property
    def longest(self) -> int:
        return longest_sum(self.inputs, self.half) if self.few else super().longest

    @property
    def why_not_last(self) -> str:
        return "" if self.few else super().why_not_last

    @property
    def operations(self) -> int:
        return self.y.size * (self.bias + self.relu)

    @property
    def passed_on_bytes(self) -> int:
        apart = self.bias and not self.relu and not self.few  # the bias is added by a launch of its own
        return super().passed_on_bytes + (self.y.size_bytes if apart else 0)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        y = tensors["y"]
        if self.few:
            operands, sizes = (tensors["weight"], tensors["x"], y), self.columns_rows_depth
            leading = (self.inputs, self.inputs)
            return (product_of_few_rows(operands, tensors.get("bias"), y.memory, sizes, leading, self.relu),)
        made = super().launches(tensors, gpu)
        if self.relu:
            return made[0], sum_parts_rectified(tensors["sums"], tensors.get("bias"), y, self.split)
        if self.bias:
            made += BiasForward(y.shape).launches({"x": y, "bias": tensors["bias"], "y": y}, gpu)
        return made

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x, weight = inputs["x"].reshape(len(inputs["x"]), -1), inputs["weight"]
        weight = weight.astype(np.float32) if self.half else weight
        y = x.astype(np.float64) @ weight.T.astype(np.float64)
        magnitude = np.abs(x) @ np.abs(weight).T
        if self.bias:
            y, magnitude = y + inputs["bias"], magnitude + np.abs(inputs["bias"])
        if self.relu:  # no further from the exact value than its argument is
            y = np.maximum(y, 0.0)
        return {"y": self.bounded(y, magnitude, int(self.bias))}

    def backward_passes(self) -> tuple[Primitive, ...]:
        """Return the passes after that of the ReLU, if there is one, whose gradient takes the place of dy.

        There are none over FP16 weights.
        """
        if self.half:
            return ()
        weights = FullyConnectedBackwardWeights(self.shape, self.outputs, by=self.by)
        data = FullyConnectedBackwardData(self.shape, self.outputs, by=self.by)
        return (weights, BiasForward(self.y.shape).backward(), data) if self.bias else (weights, data)


@dataclass(frozen=True)
class FullyConnectedBackwardData(FullyConnected):
    """dx[n] = the weights transposed · dy[n].

    With `masked`, the kernel that adds up partial sums applies the gradient of the ReLU.
    """

    masked: bool = False
    """Also apply the gradient of a ReLU: dx is 0 where `mask` is not positive; needs several partial sums."""
    layout, operands = "nn", ("weight", "dy", "dx")
    writes = ("dx",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.masked and (problem := self.why_not_last):
            raise self.refuse(problem)

    @property
    def name(self) -> str:
        return f"fully connected{' + relu' if self.masked else ''} backward data"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"weight": self.weight, "dy": self.y, **({"mask": self.x} if self.masked else {})}

    @property
    def columns_rows_depth(self) -> tuple[int, int, int]:
        return self.inputs, self.shape[0], self.outputs

    @property
    def operations(self) -> int:
        return self.x.size if self.masked else 0

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        made = super().launches(tensors, gpu)
        if not self.masked:
            return made
        return made[0], sum_parts_masked(tensors["sums"], tensors["mask"], tensors["dx"], self.split)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy, weight = inputs["dy"], inputs["weight"]
        shape = (len(dy), *self.shape[1:])
        dx = (dy.astype(np.float64) @ weight.astype(np.float64)).reshape(shape)
        if self.masked:
            dx = np.where(inputs["mask"] > 0, dx, 0.0)
        return {"dx": self.bounded(dx, (np.abs(dy) @ np.abs(weight)).reshape(shape))}


@dataclass(frozen=True)
class FullyConnectedBackwardWeights(FullyConnected):
    """dweight = the sum over images of dy[n] times x[n]; each output's weights have a row of their own."""

    divisible = DivisionAxis.CHANNELS
    layout, operands = "nt", ("x", "dy", "dweight")
    undivided = frozenset({"x"})
    reads, writes = ("x", "dy"), ("dweight",)
    name = "fully connected backward weights"

    @property
    def columns_rows_depth(self) -> tuple[int, int, int]:
        return self.inputs, self.outputs, self.shape[0]

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x, dy = inputs["x"].reshape(len(inputs["x"]), -1), inputs["dy"]
        dweight = dy.T.astype(np.float64) @ x.astype(np.float64)
        return {"dweight": self.bounded(dweight, np.abs(dy).T @ np.abs(x))}
