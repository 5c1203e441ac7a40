"""Layers whose matrix consists of permuted diagonal blocks, and their gradients (Dong 2020, section 8.1, names them).

Row r of block (i, j) has one value, in column (r + i + j) mod `block` (Deng et al., PermDNN, 2018; there each block's
permutation is stored, here it follows from the block's place). The weights are [p, q, block]: of each block its rows'
values. As of circulant blocks, rows and columns that are no multiple of the block are filled up with zeros.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from isa.launch import Launch
from workloads.circulant import CirculantBlocks
from workloads.operators.bias import BiasForward
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, Primitive, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.verify import inner_product_bound
from workloads.shapes import Shape

IMAGES = 8  # of a work-item: workloads/kernels/permuted_diagonal.cl


@dataclass(frozen=True)
class PermutedDiagonal(Primitive):
    """A pass over x [N, ...] with `outputs` results for each vector."""

    shape: Shape
    """Shape of x, [N, ...]."""
    outputs: int
    """Results of a vector."""
    block: int
    """Side of a block."""

    def __post_init__(self) -> None:
        if problem := self.blocks.problem:
            raise self.refuse(problem)

    @cached_property
    def blocks(self) -> CirculantBlocks:
        """The matrix and the vectors."""
        return CirculantBlocks(self.shape[0], prod(self.shape[1:]), self.outputs, self.block)

    @property
    def x(self) -> Operand:
        """The operand x [N, ...]."""
        return Operand(self.shape)

    @property
    def y(self) -> Operand:
        """The operand y [N, outputs]."""
        return Operand((self.shape[0], self.outputs))

    @property
    def weight(self) -> Operand:
        """The operand weight [p, q, block]."""
        sizes = self.blocks.sizes
        return Operand((sizes["i"], sizes["j"], self.block), by_image=False)

    @property
    def macs(self) -> int:
        return self.blocks.vectors * self.blocks.inputs * self.outputs

    @property
    def needed_macs(self) -> int:
        return self.blocks.products * self.block

    def product(self, weight: Tensor, x: Tensor, y: Tensor, transposed: bool) -> Launch:
        """Return the launch that multiplies all vectors by the matrix, or by its transpose."""
        sizes, widths = self.blocks.sizes, (self.blocks.inputs, self.outputs)
        x_width, y_width = widths[::-1] if transposed else widths
        of_y, summed = ("j", "i") if transposed else ("i", "j")
        across = sizes[of_y] * self.block
        values: dict[str, Any] = {"w": weight, "x": x, "y": y, "shift": self.block.bit_length() - 1}
        values |= {
            "columns": sizes["j"],
            "sums": sizes[summed],
            "across": across,
            "x_width": x_width,
            "y_width": y_width,
        }
        groups = (-(-across // GROUP), -(-self.shape[0] // IMAGES))
        kernel = f"permuted_diagonal{'_transposed' if transposed else ''}"
        return launch("permuted_diagonal", kernel, x.memory, groups, {**values, "images": self.shape[0]})

    def matrix(self, weight: np.ndarray) -> np.ndarray:
        """Return the matrix in FP64, without what fills it up."""
        p, q, block = weight.shape
        i, j, r = np.ogrid[:p, :q, :block]
        filled = np.zeros((p * block, q * block))
        filled[i * block + r, j * block + (r + i + j) % block] = weight
        return filled[: self.outputs, : self.blocks.inputs]

    def values_of(self, matrix: np.ndarray) -> np.ndarray:
        """Return the values [p, q, block] of a matrix that has others, too; those that fill it up are 0."""
        p, q, block = self.weight.shape
        i, j, r = np.ogrid[:p, :q, :block]
        filled = np.zeros((p * block, q * block))
        filled[: matrix.shape[0], : matrix.shape[1]] = matrix
        return np.asarray(filled[i * block + r, j * block + (r + i + j) % block])


@dataclass(frozen=True)
class PermutedDiagonalForward(PermutedDiagonal):
    """y = the matrix times x, and bias if there is one."""

    bias: bool = False
    """A bias is added."""
    name = "permuted diagonal fully connected forward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        bias = {"bias": Operand((self.outputs,), by_image=False)} if self.bias else {}
        return {"x": self.x, "weight": self.weight, **bias}

    @property
    def operations(self) -> int:
        return self.y.size * self.bias

    @property
    def passed_on_bytes(self) -> int:
        return self.y.size_bytes if self.bias else 0

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        y = tensors["y"]
        made: tuple[Launch, ...] = (self.product(tensors["weight"], tensors["x"], y, transposed=False),)
        if self.bias:
            made += BiasForward(y.shape).launches({"x": y, "bias": tensors["bias"], "y": y}, gpu)
        return made

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x, matrix = inputs["x"].reshape(len(inputs["x"]), -1).astype(np.float64), self.matrix(inputs["weight"])
        y, magnitude, depth = x @ matrix.T, np.abs(x) @ np.abs(matrix).T, self.blocks.sizes["j"]
        if self.bias:
            y, magnitude, depth = y + inputs["bias"], magnitude + np.abs(inputs["bias"]), depth + 1
        return {"y": ReferenceValue(y, inner_product_bound(float(depth), magnitude, depth))}

    def backward_passes(self) -> tuple[Primitive, ...]:
        same = self.shape, self.outputs, self.block
        bias = (BiasForward(self.y.shape).backward(),) if self.bias else ()
        return PermutedDiagonalBackwardWeights(*same), *bias, PermutedDiagonalBackwardData(*same)


@dataclass(frozen=True)
class PermutedDiagonalBackwardWeights(PermutedDiagonal):
    """dweight = the sum over vectors of dy at a value's row times x at its column."""

    divisible = DivisionAxis.NOTHING
    reads, writes = ("x", "dy"), ("dweight",)
    name = "permuted diagonal fully connected backward weights"

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        count = self.weight.size
        values: dict[str, Any] = {"x": tensors["x"], "dy": tensors["dy"], "dw": tensors["dweight"]}
        values |= {"by_row": divisor(self.blocks.sizes["j"] * self.block), "shift": self.block.bit_length() - 1}
        values |= {"count": count, "x_width": self.blocks.inputs, "y_width": self.outputs, "images": self.shape[0]}
        groups = (-(-count // GROUP),)
        return (launch("permuted_diagonal", "permuted_diagonal_weights", tensors["x"].memory, groups, values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x, dy = inputs["x"].reshape(self.shape[0], -1).astype(np.float64), inputs["dy"].astype(np.float64)
        found, depth = self.values_of(dy.T @ x), self.shape[0]
        magnitude = self.values_of(np.abs(dy).T @ np.abs(x))
        return {"dweight": ReferenceValue(found, inner_product_bound(float(depth), magnitude, depth))}


@dataclass(frozen=True)
class PermutedDiagonalBackwardData(PermutedDiagonal):
    """dx = the transposed matrix times dy."""

    reads, writes = ("weight", "dy"), ("dx",)
    name = "permuted diagonal fully connected backward data"

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (self.product(tensors["weight"], tensors["dy"], tensors["dx"], transposed=True),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy, matrix = inputs["dy"].astype(np.float64), self.matrix(inputs["weight"])
        shape, depth = (len(dy), *self.shape[1:]), self.blocks.sizes["i"]
        magnitude = (np.abs(dy) @ np.abs(matrix)).reshape(shape)
        return {"dx": ReferenceValue((dy @ matrix).reshape(shape), inner_product_bound(float(depth), magnitude, depth))}
