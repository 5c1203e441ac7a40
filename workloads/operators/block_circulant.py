"""Layers whose matrix consists of circulant blocks (Dong 2020, chapter 7), and their gradients.

The weights are [p, q, block]: the first column of each block. A fully connected layer multiplies an image's values, a
convolution the rows of im2col, one for each position of the filters. Values become frequencies, which are multiplied,
added up and become values; all flows but the baseline keep the frequencies of forward passes for the gradients.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log2, prod
from typing import ClassVar

import numpy as np

from gpusim.base.errors import unknown_name
from isa.launch import Launch
from workloads import circulant as matrices
from workloads.circulant import BASELINE, DATA, FORWARD, FUSED, WEIGHTS, CirculantBlocks, CirculantProduct
from workloads.operators import circulant
from workloads.operators.bias import BiasForward
from workloads.operators.circulant_rows import from_rows, gather, gathered, scatter, scattered, to_rows, transpose
from workloads.operators.convolution import Convolution
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, Primitive, ReferenceValue
from workloads.operators.tensor import Operand, Tensor, normal
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

TRANSFORM = 16.0  # roundings of a transform's stage (Higham 2002, theorem 24.2, with factors that are products)


def spectrum(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Draw frequencies of real values: the first and the last of a block are real."""
    drawn = normal(random, shape)
    if shape[-1] == 2:
        drawn[..., [0, -1], 1] = 0.0
    return drawn


@dataclass(frozen=True)
class BlockCirculant(Primitive):
    """A pass of a block-circulant layer over x [N, ...]."""

    shape: Shape
    """Shape of x."""
    outputs: int
    """Number of results for each vector."""
    block: int
    """Side of a circulant block."""
    flow: str = FUSED
    """Division into launches: one of FLOWS (workloads.circulant)."""
    lanes: str = "source"
    """Assignment of work to lanes: one of LANES (workloads.circulant)."""
    windows: Convolution | None = None
    """Convolution whose filters are the outputs; None: a fully connected layer."""
    product: ClassVar[CirculantProduct]
    """Product of the pass."""
    purpose: ClassVar[str]
    """Name of the pass."""

    def __post_init__(self) -> None:
        if problem := self.blocks.problem:
            raise self.refuse(problem)
        for name, value, among in (("flow", self.flow, matrices.FLOWS), ("lanes", self.lanes, matrices.LANES)):
            if value not in among:
                raise self.refuse(f"{name}: {unknown_name('value', value, among)}")
        if self.windows is not None and (self.windows.groups > 1 or self.windows.shape != self.shape):
            raise self.refuse(f"{self.windows.groups} groups of channels; allowed is one, over x {list(self.shape)}")

    @property
    def name(self) -> str:
        what = "convolution" if self.windows else "fully connected"
        return f"block-circulant {what} {self.purpose} ({self.flow})"

    @property
    def keeps(self) -> bool:
        """Whether gradients take frequencies that were there already."""
        return self.flow != BASELINE

    @cached_property
    def blocks(self) -> CirculantBlocks:
        """The matrix and the vectors."""
        c = self.windows
        vectors = self.shape[0] * (c.positions if c else 1)
        return CirculantBlocks(vectors, c.depth if c else prod(self.shape[1:]), self.outputs, self.block)

    @property
    def x(self) -> Operand:
        """The operand x [N, ...]."""
        return Operand(self.shape)

    @property
    def y(self) -> Operand:
        """The operand y [N, outputs], or [N, outputs, rows, columns]."""
        plane = self.windows.outputs if self.windows else ()
        return Operand((self.shape[0], self.outputs, *plane))

    @property
    def weight(self) -> Operand:
        """The operand weight [p, q, block]."""
        sizes = self.blocks.sizes
        return Operand((sizes["i"], sizes["j"], self.block), by_image=False)

    def frequencies(self, layout: str) -> Operand:
        """Return the operand of an array's frequencies: [N, ..., bins, 2] of vectors, [p, q, bins, 2] of weights."""
        shape = matrices.get_frequency_shape(self.blocks, self.flow, layout)
        if "b" not in layout:
            return Operand(shape, data=spectrum, by_image=False)
        positions = (self.windows.positions,) if self.windows else ()
        return Operand((self.shape[0], *positions, *shape[1:]), data=spectrum)

    @property
    def macs(self) -> int:
        return self.blocks.vectors * self.blocks.inputs * self.outputs

    @property
    def needed_macs(self) -> int:
        return min(self.macs, self.blocks.macs)

    def value_bytes(self, kernel: str) -> int:
        """Return the bytes of a frequency for the products and sums of frequencies; 0 for other kernels."""
        of_frequencies = kernel.startswith(("circulant_multiply", "circulant_fused", "circulant_reorganise"))
        return 8 if of_frequencies or kernel == "circulant_sum" else 0

    @property
    def workspace(self) -> Mapping[str, Operand]:
        spare = matrices.left(self.blocks, self.flow, self.product, self.windows is not None)
        return {name: Operand(shape, by_image=False) for name, shape in spare.items()}

    def multiply(
        self, tensors: Mapping[str, Tensor], frequencies: Mapping[str, Tensor],
        result: Tensor, width: int, gpu: GpuFacts,
    ) -> list[Launch]:  # fmt: skip
        """Return the launches from two arrays' frequencies, by layout, to the values of the third.

        width: values of a row of the result.
        """
        blocks, product, flow = self.blocks, self.product, self.flow
        if flow == BASELINE:
            layouts = (product.shared, product.other, "bij")
            operands = frequencies[product.shared], frequencies[product.other], tensors["products"]
            return [
                circulant.multiply(blocks, product, layouts, operands, flow, self.lanes),
                circulant.inverse(blocks, tensors["products"], tensors["values"], blocks.products, 1, self.block),
                circulant.add_up_values(blocks, product, tensors["values"], result, width),
            ]
        held = dict(frequencies)
        made, names = [], {layout: layout for layout in frequencies}
        for layout in matrices.reorganised(flow, product):
            made.append(circulant.reorganise(blocks, held[layout], tensors[f"reorganised_{layout}"], layout))
            held[layout], names[layout] = tensors[f"reorganised_{layout}"], layout[::-1]
        shared, other, sums = held[product.shared], held[product.other], tensors["sums"]
        if flow == FUSED:
            made.append(circulant.fused(blocks, product, (shared, other, sums), self.lanes, gpu))
        else:
            layout = matrices.products_layout(flow, product)
            layouts = names[product.shared], names[product.other], layout
            operands = shared, other, tensors["products"]
            made.append(circulant.multiply(blocks, product, layouts, operands, flow, self.lanes))
            made.append(circulant.add_up(blocks, product, layout, tensors["products"], sums))
        rows, of_row = (blocks.sizes[index] for index in product.result)
        return [*made, circulant.inverse(blocks, sums, result, rows, of_row, width)]

    # NumPy in FP64

    def vectors_of(self, x: np.ndarray) -> np.ndarray:
        """Return the vectors that the matrix multiplies, [vectors, inputs]."""
        x = x.astype(np.float64)
        return to_rows(gathered(self.windows, x)) if self.windows else x.reshape(len(x), -1)

    def outputs_of(self, dy: np.ndarray) -> np.ndarray:
        """Return the vectors of results, [vectors, outputs], of an array with the shape of y."""
        return to_rows(dy.reshape(len(dy), self.outputs, -1).astype(np.float64))

    def spectra(self, rows: np.ndarray) -> np.ndarray:
        """Return the frequencies of rows of values, [rows, blocks, bins]."""
        blocks = -(-rows.shape[-1] // self.block)
        filled = np.zeros((len(rows), blocks * self.block))
        filled[:, : rows.shape[-1]] = rows
        return np.fft.rfft(filled.reshape(len(rows), blocks, self.block), axis=-1)

    def apart(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the weights' frequencies with the zeros between their rows."""
        return np.pad(frequencies, ((0, 0), (0, matrices.count_padding_blocks(self.blocks, self.flow)), (0, 0)))

    def multiplied(self, shared: np.ndarray, other: np.ndarray, given: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of the sums [rows, values], and the error that FP32 may leave in each.

        given: frequencies are operands, else they are made of operands by FP32 too.
        """
        product, length = self.product, self.block
        if product.conjugated:
            other = other.conj()
        layouts = f"{product.shared}f,{product.other}f->{product.result}f"
        values = np.fft.irfft(np.einsum(layouts, shared, other, optimize=True), length, axis=-1)
        norms = np.einsum(layouts.replace("f", ""), self._norms(shared), self._norms(other), optimize=True)
        depth = self.blocks.sizes[product.summed]
        stages = TRANSFORM * log2(length) * ((0 if given else 2) + length**0.5)
        bound = norms * UNIT_ROUNDOFF * (stages + depth + 8) + 64 * depth * SMALLEST_NORMAL
        rows = values.reshape(len(values), -1)
        return rows, np.repeat(bound, length, axis=-1).reshape(rows.shape)

    def _norms(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the Euclidean norms of blocks of values, from their frequencies (Parseval)."""
        squares = np.abs(frequencies) ** 2
        both = 2 * squares.sum(axis=-1) - squares[..., 0] - squares[..., -1]
        return np.asarray(np.sqrt(both / self.block))

    def kept(self, frequencies: np.ndarray, operand: Operand) -> ReferenceValue:
        """Return what is kept of frequencies, as pairs, with the error of a transform."""
        norms = self._norms(frequencies) * self.block**0.5
        bound = norms * (TRANSFORM * log2(self.block) * UNIT_ROUNDOFF) + 64 * SMALLEST_NORMAL
        pairs = np.stack([frequencies.real, frequencies.imag], axis=-1)
        shape = (-1, *operand.shape[1:])
        return ReferenceValue(pairs.reshape(shape), np.broadcast_to(bound[..., None, None], pairs.shape).reshape(shape))


def _complex(pairs: np.ndarray) -> np.ndarray:
    """Return frequencies [rows, blocks, bins] of what is kept of them."""
    pairs = pairs.astype(np.float64).reshape(-1, *pairs.shape[-3:])
    return pairs[..., 0] + 1j * pairs[..., 1]


@dataclass(frozen=True)
class BlockCirculantForward(BlockCirculant):
    """y = the matrix times x, and bias if there is one (7.1); unless the flow is the baseline, with the frequencies."""

    bias: bool = False
    """A bias is added."""
    product, purpose = FORWARD, "forward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        bias = {"bias": Operand((self.outputs,), by_image=False)} if self.bias else {}
        return {"x": self.x, "weight": self.weight, **bias}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {"y": self.y, **(self._kept if self.keeps else {})}

    @property
    def _kept(self) -> Mapping[str, Operand]:
        return {"weight_transform": self.frequencies("ij"), "x_transform": self.frequencies("bj")}

    @property
    def operations(self) -> int:
        return self.y.size * self.bias

    @property
    def read_bytes(self) -> int:
        read = {name: operand.size_bytes for name, operand in self.takes.items()}
        if self.windows:
            read["x"] = 4 * self.windows.met_x
        return sum(read.values())

    @property
    def passed_on_bytes(self) -> int:
        return super().passed_on_bytes + (self.y.size_bytes if self.bias else 0)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        blocks, c, y = self.blocks, self.windows, tensors["y"]
        n, p, q = (blocks.sizes[index] for index in "bij")
        x = tensors["x_rows"] if c else tensors["x"]
        made = [gather(c, tensors["x"], x)] if c else []
        frequencies = {"ij": tensors["weight_transform"], "bj": tensors["x_transform"]}
        of_row = q + matrices.count_padding_blocks(blocks, self.flow)
        made.append(circulant.transform(blocks, tensors["weight"], frequencies["ij"], p, of_row, q * self.block))
        made.append(circulant.transform(blocks, x, frequencies["bj"], n, q, blocks.inputs))
        made += self.multiply(tensors, frequencies, tensors["y_rows"] if c else y, blocks.outputs, gpu)
        if c:
            made.append(transpose(tensors["y_rows"], y, self.shape[0], c.positions, self.outputs))
        if self.bias:
            made += BiasForward(y.shape).launches({"x": y, "bias": tensors["bias"], "y": y}, gpu)
        return tuple(made)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        spectra = self.spectra(self.vectors_of(inputs["x"])), np.fft.rfft(inputs["weight"].astype(np.float64), axis=-1)
        rows, bound = (part[:, : self.outputs] for part in self.multiplied(*spectra, given=False))
        if self.bias:
            rows, bound = rows + inputs["bias"], bound + 2 * UNIT_ROUNDOFF * (np.abs(rows) + np.abs(inputs["bias"]))
        images = len(inputs["x"])
        shape = (images, *self.y.shape[1:])
        y = ReferenceValue(*(from_rows(part, images).reshape(shape) for part in (rows, bound)))
        if not self.keeps:
            return {"y": y}
        kept = self._kept
        return {
            "y": y,
            "weight_transform": self.kept(self.apart(spectra[1]), kept["weight_transform"]),
            "x_transform": self.kept(spectra[0], kept["x_transform"]),
        }

    def backward_passes(self) -> tuple[Primitive, ...]:
        same = self.shape, self.outputs, self.block, self.flow, self.lanes, self.windows
        bias = (BiasForward(self.y.shape).backward(),) if self.bias else ()
        return BlockCirculantBackwardWeights(*same), *bias, BlockCirculantBackwardData(*same)


@dataclass(frozen=True)
class _Gradient(BlockCirculant):
    """Base of the gradients: frequencies of dy, which the gradient of the weights makes for that of the data."""

    def _dy(self, tensors: Mapping[str, Tensor], made: list[Launch]) -> Tensor:
        """Add the launches that make the frequencies of dy."""
        blocks, dy, spectrum = self.blocks, tensors["dy"], tensors["dy_transform"]
        if self.windows:
            made.append(transpose(dy, tensors["dy_rows"], self.shape[0], self.outputs, self.windows.positions))
            dy = tensors["dy_rows"]
        made.append(circulant.transform(blocks, dy, spectrum, blocks.vectors, blocks.sizes["i"], self.outputs))
        return spectrum

    def _reordered(self, tensors: Mapping[str, Tensor], x: Tensor, made: list[Launch], width: int) -> Tensor:
        """Add the baseline's launches that reorder the array beside dy and make its frequencies."""
        blocks, layout = self.blocks, self.product.other
        name = "weight" if layout == "ij" else "x"
        reordered, transformed = tensors[f"{name}_reordered"], tensors[f"{name}_transform"]
        rows, of_row = (blocks.sizes[index] for index in layout)
        made.append(circulant.reorder(blocks, x, reordered, rows, of_row, width))
        made.append(circulant.transform(blocks, reordered, transformed, rows, of_row, of_row * self.block))
        return transformed

    def _dy_spectra(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        if "dy_transform" in inputs:
            return _complex(inputs["dy_transform"])
        return self.spectra(self.outputs_of(inputs["dy"]))


@dataclass(frozen=True)
class BlockCirculantBackwardWeights(_Gradient):
    """dweight = the sum over vectors of dy convolved with x reordered (7.2)."""

    divisible = DivisionAxis.NOTHING
    product, purpose = WEIGHTS, "backward weights"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"x_transform": self.frequencies("bj"), "dy": self.y} if self.keeps else {"x": self.x, "dy": self.y}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {"dweight": self.weight, **({"dy_transform": self.frequencies("bi")} if self.keeps else {})}

    @property
    def read_bytes(self) -> int:
        if self.windows and not self.keeps:
            return 4 * self.windows.met_x + self.y.size_bytes
        return super().read_bytes

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        made: list[Launch] = []
        frequencies = {"bi": self._dy(tensors, made)}
        if self.keeps:
            frequencies["bj"] = tensors["x_transform"]
        else:
            x = tensors["x"]
            if self.windows:
                made.append(gather(self.windows, x, tensors["x_rows"]))
                x = tensors["x_rows"]
            frequencies["bj"] = self._reordered(tensors, x, made, self.blocks.inputs)
        width = self.blocks.sizes["j"] * self.block
        return tuple(made + self.multiply(tensors, frequencies, tensors["dweight"], width, gpu))

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy = self._dy_spectra(inputs)
        x = _complex(inputs["x_transform"]) if self.keeps else self.spectra(self.vectors_of(inputs["x"]))
        products = self.multiplied(dy, x, given=False)
        dweight = ReferenceValue(*(part.reshape(self.weight.shape) for part in products))
        kept = {"dy_transform": self.kept(dy, self.frequencies("bi"))} if self.keeps else {}
        return {"dweight": dweight, **kept}


@dataclass(frozen=True)
class BlockCirculantBackwardData(_Gradient):
    """dx = the sum over rows of blocks of dy convolved with the weights reordered (7.3)."""

    product, purpose = DATA, "backward data"
    writes = ("dx",)

    @property
    def takes(self) -> Mapping[str, Operand]:
        if self.keeps:
            return {"weight_transform": self.frequencies("ij"), "dy_transform": self.frequencies("bi")}
        return {"weight": self.weight, "dy": self.y}

    @property
    def read_bytes(self) -> int:
        zeros = 8 * self.blocks.bins * self.blocks.sizes["i"] * matrices.count_padding_blocks(self.blocks, self.flow)
        return super().read_bytes - zeros

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        made: list[Launch] = []
        if self.keeps:
            frequencies = {"bi": tensors["dy_transform"], "ij": tensors["weight_transform"]}
        else:
            frequencies = {"bi": self._dy(tensors, made)}
            width = self.blocks.sizes["j"] * self.block
            frequencies["ij"] = self._reordered(tensors, tensors["weight"], made, width)
        dx = tensors["dx_rows"] if self.windows else tensors["dx"]
        made += self.multiply(tensors, frequencies, dx, self.blocks.inputs, gpu)
        if self.windows:
            made.append(scatter(self.windows, dx, tensors["dx"]))
        return tuple(made)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy = self._dy_spectra(inputs)
        if self.keeps:
            weight = _complex(inputs["weight_transform"])[:, : self.blocks.sizes["j"]]
        else:
            weight = np.fft.rfft(inputs["weight"].astype(np.float64), axis=-1)
        products = [part[:, : self.blocks.inputs] for part in self.multiplied(dy, weight, given=self.keeps)]
        images = len(next(iter(inputs[name] for name in ("dy", "dy_transform") if name in inputs)))
        shape = (images, *self.shape[1:])
        c = self.windows
        if c is None:
            return {"dx": ReferenceValue(*(part.reshape(shape) for part in products))}
        value, bound = (scattered(c, from_rows(part, images)) for part in products)
        magnitude = scattered(c, from_rows(np.abs(products[0]), images))
        return {"dx": ReferenceValue(value, bound + UNIT_ROUNDOFF * c.taps * magnitude)}
