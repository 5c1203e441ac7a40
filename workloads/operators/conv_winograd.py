"""Convolution with filters of 3 x 3 by Winograd's minimal filtering, for as many images at a time as a buffer holds.

Backward to the data it is the same convolution over dy, with the filters turned round and the channels in the filters'
place; the gradient of the weights is a minimal filtering of its own, over the same windows (workloads/operators/
winograd.py). Between the transforms (workloads/kernels/winograd.cl) are matrix products, one for each place of a window
and group of channels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from isa.launch import Launch
from workloads.operators.conv_buffer import BUFFER_BYTES, MAX_BYTES, at
from workloads.operators.conv_passes import (
    ConvolutionBackwardData,
    ConvolutionBackwardWeights,
    ConvolutionForward,
    ConvolutionPass,
)
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.pooling import Pooling, PoolingForward
from workloads.operators.primitive import LaunchTuple, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import Batch, DepthSplit, products, split_sum
from workloads.operators.winograd import SIZES, TAPS, ProductError, product_error
from workloads.operators.winograd_tiles import TransformedArray, WinogradTiling, over_tiles

Chunk = tuple[int, int]
FEW = 256  # channels, below which filters follow one another: their rows then meet in many channels of memory anyway
POOLED = Pooling("max", (2, 2), (2, 2))  # the windows of which tiles consist


def refuses(c: Convolution, size: int) -> str:
    """Return why F(size x size, 3 x 3) cannot compute the convolution, '' where it can."""
    if c.kernel != (TAPS, TAPS) or c.stride != (1, 1) or c.dilation != (1, 1):
        kind = f"kernel {list(c.kernel)}, stride {list(c.stride)}, dilation {list(c.dilation)}"
        return f"{kind}; allowed is a kernel of [3, 3] with stride and dilation 1"
    if max(c.padding) >= TAPS:
        return f"padding {list(c.padding)}; each must be at most {TAPS - 1}"
    if WinogradTiling(c, size).too_large or WinogradTiling(_turned(c), size).too_large:
        return f"the windows of an image have more than {MAX_BYTES} bytes"
    return ""


def _turned(c: Convolution) -> Convolution:
    """Return the convolution over dy that gives dx."""
    top, left, bottom, right = (TAPS - 1 - side for side in c.padding)
    shape = (c.shape[0], c.filters, *c.outputs)
    return replace(c, shape=shape, filters=c.shape[1], padding=(top, left, bottom, right))


@dataclass(frozen=True)
class _WinogradPass(ConvolutionPass):
    """Base of the three passes, over chunks of as many images as the buffer can hold."""

    size: int = SIZES[0]
    """Size of a tile."""
    buffer_bytes: int = BUFFER_BYTES
    """Size of the buffer for transformed windows and products, or tiles of dy, in bytes."""

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise self.refuse(f"tiles of {self.size}; allowed are {', '.join(map(str, SIZES))}")
        if problem := refuses(self.convolution, self.size):
            raise self.refuse(problem)

    @property
    def algorithm(self) -> str:
        return f"winograd_{self.size}x{self.size}"

    @property
    def tiled(self) -> WinogradTiling:
        """Tiles and chunks of the convolution that is computed."""
        return WinogradTiling(self.convolution, self.size, self.buffer_bytes)

    @property
    def filters(self) -> TransformedArray:
        """The transformed filters, or the sums that become their gradient, in the order of the weights."""
        c = self.convolution
        return TransformedArray(self.tiled.filtering.places, c.filters, c.group_channels, apart=c.group_channels >= FEW)

    @property
    def needed_macs(self) -> int:
        return min(self.convolution.needed_macs, self.tiled.macs)

    def _launch(self, kernel: str, of: Tensor, items: int, values: Mapping[str, object]) -> Launch:
        return launch("winograd", f"winograd_{kernel}_{self.size}", of.memory, (-(-items // GROUP),), values)

    def _filters(self, kernel: str, weight: Tensor, values: Mapping[str, object]) -> Launch:
        of = self.filters
        count, gaps = of.rows * of.columns, {"by_channels": divisor(of.columns), "gap": of.pitch - of.columns}
        return self._launch(kernel, weight, count, {**values, "count": count, "place_bytes": 4 * of.step, **gaps})

    def _windows(self, x: Tensor, chunk: Chunk, windows: Tensor) -> Launch:
        tiled, c = self.tiled, self.tiled.convolution
        w = tiled.words(chunk[1], c.shape[1], (c.shape[2], c.shape[3]), tiled.windows, (c.padding[0], c.padding[1]))
        values = {"x": at(x, chunk[0]), "windows": windows, "w": w}
        return self._launch("windows", x, c.shape[1] * tiled.windows.pitch, values)


@dataclass(frozen=True)
class _WinogradConvolution(_WinogradPass):
    """The passes that are a convolution: filters once, then windows, products and results of each chunk."""

    @property
    def workspace(self) -> Mapping[str, Operand]:
        tiled = self.tiled
        held = {"filters": self.filters, "windows": tiled.windows, "products": tiled.products}
        return {name: places.operand for name, places in held.items()}

    @property
    def passed_on_bytes(self) -> int:
        return self.filters.values_bytes + self.tiled.transformed_bytes

    @property
    def _rectified(self) -> bool:
        return False

    def _convolve(
        self, x: Tensor, y: Tensor, tensors: Mapping[str, Tensor], gpu: GpuFacts, turned: bool
    ) -> LaunchTuple:
        tiled, c = self.tiled, self.tiled.convolution
        windows, sums, filters = tiled.windows, tiled.products, self.filters
        values = {"weight": tensors["weight"], "filters": tensors["filters"], "turned": int(turned)}
        made = [self._filters("filters", tensors["weight"], values)]
        group = filters.pitch * filters.rows // c.groups
        batch = Batch(
            windows.places,
            c.groups,
            (windows.step, windows.pitch * c.group_channels),
            (filters.step, group),
            (sums.step, sums.pitch * c.group_filters),
        )
        layout, leading = "nt" if turned else "nn", (windows.pitch, filters.pitch, sums.pitch)
        operands = tuple(tensors[name].pointer for name in ("windows", "filters", "products"))
        for chunk in tiled.chunks:
            sizes = (tiled.rounded(chunk[1]), c.group_filters, c.group_channels)
            made.append(self._windows(x, chunk, tensors["windows"]))
            made.append(products(layout, operands, x.memory, sizes, leading, batch, gpu))
            made.append(self._results(y, chunk, tensors))
        return tuple(made)

    def _results(self, y: Tensor, chunk: Chunk, tensors: Mapping[str, Tensor]) -> Launch:
        tiled, c, sums = self.tiled, self.tiled.convolution, tensors["products"]
        bias, pooled = tensors.get("bias"), tensors.get("pooled")
        w = tiled.words(chunk[1], c.filters, c.outputs, tiled.products, (0, 0))
        held = {name: at(tensors[name], chunk[0]) if name in tensors else sums for name in ("mask", "pooled", "places")}
        values: dict[str, object] = {"products": sums, "bias": bias or sums, "y": at(y, chunk[0]), "w": w, **held}
        values |= {"biases": prod(bias.shape) if bias else 0, "relu": int(self._rectified)}
        values |= {"masked": int("mask" in tensors), "kept": int("places" in tensors)}
        values["pooled_bytes"] = pooled.size_bytes // pooled.shape[0] * chunk[1] if pooled else 0
        return self._launch("results", y, c.filters * tiled.products.pitch, values)


@dataclass(frozen=True)
class WinogradForward(_WinogradConvolution, ConvolutionForward):
    """y by F(m x m, 3 x 3); bias and ReLU are applied to the tiles."""

    pools: bool = False
    """Also take the largest value of each window of POOLED."""
    kept: bool = True
    """y and the positions of the largest values are results too."""

    @property
    def _pooling(self) -> PoolingForward:
        return PoolingForward(POOLED, self.convolution.y.shape, keep_places=self.kept)

    @property
    def _ends(self) -> str:
        return super()._ends + (" + max pooling" if self.pools else "")

    @property
    def gives(self) -> Mapping[str, Operand]:
        if not self.pools:
            return super().gives
        kept = {"y": self.convolution.y, "places": self._pooling.places} if self.kept else {}
        return {"pooled": self._pooling.y, **kept}

    @property
    def operations(self) -> int:
        return super().operations + (self._pooling.operations if self.pools else 0)

    @property
    def _rectified(self) -> bool:
        return self.relu

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        y = tensors["y"] if "y" in tensors else tensors["pooled"]
        return self._convolve(tensors["x"], y, tensors, gpu, turned=False)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        bound = self.tiled.error(inputs["x"], _by_group(self.convolution, inputs["weight"]), inputs.get("bias"))
        y = super().reference(inputs, first)["y"].value
        return self._pooled(y, bound) if self.pools else {"y": ReferenceValue(y, bound)}

    def _pooled(self, y: np.ndarray, bound: np.ndarray) -> Mapping[str, ReferenceValue]:
        """Return the results of pooling y, which is off by `bound`; where that may hide which is the largest, any place
        may be.
        """
        pooling = self._pooling
        best = pooling.reference({"x": y})
        off = np.max(list(pooling.windows(bound)), axis=0)
        values = {"pooled": ReferenceValue(best["y"].value, off)}
        if not self.kept:
            return values
        places = best["places"].value
        near = [
            (places != place) & (value + of_value >= best["y"].value - off)
            for place, (value, of_value) in enumerate(zip(pooling.windows(y), pooling.windows(bound), strict=True))
        ]
        return {**values, "y": ReferenceValue(y, bound), "places": ReferenceValue(places, 3.0 * np.any(near, axis=0))}

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        c, size, buffer_bytes = self.convolution, self.size, self.buffer_bytes
        weights = WinogradBackwardWeights(c, size=size, buffer_bytes=buffer_bytes)
        return weights, WinogradBackwardData(c, size=size, buffer_bytes=buffer_bytes)


@dataclass(frozen=True)
class WinogradBackwardData(_WinogradConvolution, ConvolutionBackwardData):
    """dx by F(m x m, 3 x 3) over dy, with the filters turned round."""

    @property
    def tiled(self) -> WinogradTiling:
        return WinogradTiling(_turned(self.convolution), self.size, self.buffer_bytes)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return self._convolve(tensors["dy"], tensors["dx"], tensors, gpu, turned=True)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        turned = _by_group(self.convolution, inputs["weight"])[..., ::-1, ::-1].swapaxes(1, 2)
        bound = self.tiled.error(inputs["dy"], turned)
        return {"dx": ReferenceValue(super().reference(inputs, first)["dx"].value, bound)}


@dataclass(frozen=True)
class WinogradBackwardWeights(_WinogradPass, ConvolutionBackwardWeights):
    """dweight by F(3 x 3, m x m): the sums over tiles are split, and their parts added up before the last transform."""

    def _split(self, images: int) -> DepthSplit:
        """Return the split of a sum over a chunk of so many images; the parts of all chunks have the same length."""
        c, tiled = self.convolution, self.tiled
        per_image, matrices = prod(tiled.tiles), tiled.filtering.places * c.groups
        whole = split_sum(c.group_channels, c.group_filters, matrices, tiled.chunk * per_image)
        return DepthSplit(images * per_image, whole.part_depth)

    @property
    def _parts(self) -> int:
        return self._split(self.tiled.chunk).parts

    @property
    def workspace(self) -> Mapping[str, Operand]:
        tiled, sums = self.tiled, self.filters
        held = {"windows": tiled.windows.operand, "gradients": tiled.products.operand}
        return {**held, "sums": Operand((self._parts, *sums.operand.shape), by_image=False)}

    @property
    def passed_on_bytes(self) -> int:
        parts = sum(self._split(count).parts for _, count in self.tiled.chunks)
        return self.tiled.transformed_bytes + parts * self.filters.values_bytes

    @property
    def longest(self) -> int:
        split = self._split(self.tiled.chunk)
        return len(self.tiled.chunks) * min(split.part_depth, split.depth) + split.parts

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        """Return each chunk's windows, tiles of dy and products, added to those before; then the weights' launch."""
        c, tiled, memory = self.convolution, self.tiled, tensors["x"].memory
        windows, gradients, sums = tiled.windows, tiled.products, self.filters
        batch = Batch(
            windows.places,
            c.groups,
            (windows.step, windows.pitch * c.group_channels),
            (gradients.step, gradients.pitch * c.group_filters),
            (sums.step, sums.pitch * c.group_filters),
            sums.places * sums.step,
        )
        leading = (windows.pitch, gradients.pitch, sums.pitch)
        operands = tuple(tensors[name].pointer for name in ("windows", "gradients", "sums"))
        made = []
        for chunk in tiled.chunks:
            split = self._split(chunk[1])
            sizes = (c.group_channels, c.group_filters, split.depth)
            made.append(self._windows(tensors["x"], chunk, tensors["windows"]))
            made.append(self._gradients(tensors["dy"], chunk, tensors["gradients"]))
            made.append(products("tn", operands, memory, sizes, leading, batch, gpu, split, chunk[0] > 0))
        values = {"sums": tensors["sums"], "dweight": tensors["dweight"], "parts": self._parts}
        made.append(self._filters("weights", tensors["dweight"], values))
        return tuple(made)

    def _gradients(self, dy: Tensor, chunk: Chunk, gradients: Tensor) -> Launch:
        tiled, c = self.tiled, self.convolution
        w = tiled.words(chunk[1], c.filters, c.outputs, tiled.products, (0, 0))
        values = {"dy": at(dy, chunk[0]), "gradients": gradients, "w": w}
        return self._launch("gradients", dy, c.filters * tiled.products.pitch, values)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        c, tiled, filtering = self.convolution, self.tiled, self.tiled.filtering
        shape = (c.groups, c.group_filters, c.group_channels, filtering.window, filtering.window)
        whole = ProductError(np.zeros(shape), np.zeros(shape))
        for part in c.chunks(len(inputs["x"])):
            tiles_of_dy = (filtering.gradients, tiled.tiles_of(inputs["dy"][part]))
            windows = (filtering.windows, tiled.windows_of(inputs["x"][part]))
            off = product_error(tiles_of_dy, windows, self.longest, over_tiles)
            whole = ProductError(whole.exact + off.exact, whole.off + off.off)
        bound = whole.through(filtering.weights).reshape(c.weight.shape)
        return {"dweight": ReferenceValue(super().reference(inputs, first)["dweight"].value, bound)}


def _by_group(c: Convolution, weight: np.ndarray) -> np.ndarray:
    return weight.reshape(c.groups, c.group_filters, c.group_channels, *c.kernel)
