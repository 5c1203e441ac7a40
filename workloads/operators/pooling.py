"""Max and average pooling, forward and backward; a window over the whole plane is global pooling."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.base.errors import unknown_name
from isa.launch import Launch
from workloads.operators.launching import GROUP, divisor, elementwise, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, OperatorError, ReferenceValue
from workloads.operators.tensor import BYTE, INDEX, Operand, Tensor, below
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

MODES = ("max", "average")
SQUARES = ((2, 2), (3, 3))  # windows that have kernels without branches
BLOCKS = ((1, 1), (2, 2))  # strides whose backward pass takes inputs by blocks
PLANES_PER_GROUP = 16  # workloads/kernels/pooling.cl: four wavefronts, four planes each
BYTE_WINDOW = 256  # largest window whose places a byte holds


@dataclass(frozen=True)
class Pooling:
    """Pooling windows; sizes are (rows, columns)."""

    mode: str
    """Operation: maximum or average."""
    kernel: tuple[int, int]
    """Size of a window."""
    stride: tuple[int, int]
    """Stride."""
    padding: tuple[int, int] | tuple[int, int, int, int] = (0, 0)
    """Padding: (rows, columns) or (top, left, bottom, right)."""
    ceil_mode: bool = False
    """Round the output size up, unless the last window would begin outside the plane."""
    count_padding: bool = True
    """An average includes padding zeros, as in PyTorch; cuDNN and Caffe agree if all windows end within the padding."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise OperatorError(unknown_name("pooling", self.mode, MODES))
        for name, least in (("kernel", 1), ("stride", 1), ("padding", 0)):
            if min(getattr(self, name)) < least:
                raise OperatorError(f"{self.mode} pooling: {name} {getattr(self, name)}; each must be at least {least}")
        if any(pad >= size for pad, size in zip(self.sides, (*self.kernel, *self.kernel), strict=True)):
            raise OperatorError(
                f"{self.mode} pooling: padding {self.padding} with kernel {self.kernel}; allowed is less padding than"
                " the kernel's size"
            )

    @classmethod
    def over_plane(cls, mode: str, shape: Shape) -> "Pooling":
        """Return global pooling of [N, C, H, W]."""
        return cls(mode, (shape[2], shape[3]), (1, 1))

    @property
    def sides(self) -> tuple[int, int, int, int]:
        """Padding at the top, left, bottom and right."""
        top, left, bottom, right = self.padding if len(self.padding) == 4 else (*self.padding, *self.padding)
        return top, left, bottom, right

    def outputs(self, size: int, axis: int) -> int:
        """Count outputs along axis 0 (rows) or 1 (columns) of a plane of `size`; 0: the window is larger than it."""
        kernel, stride, pad = self.kernel[axis], self.stride[axis], self.sides[axis]
        left = size + pad + self.sides[axis + 2] - kernel
        if left < 0:
            return 0
        count = -(-left // stride) + 1 if self.ceil_mode else left // stride + 1
        return count - 1 if (count - 1) * stride >= size + pad else count

    def covered(self, size: int, axis: int) -> np.ndarray:
        """Tell which of the plane's rows or columns are in which window; bool [outputs, size]."""
        begin = np.arange(self.outputs(size, axis))[:, None] * self.stride[axis] - self.sides[axis]
        place = np.arange(size)[None, :]
        return (begin <= place) & (place < begin + self.kernel[axis])

    def count_averaged(self, size: int, axis: int) -> np.ndarray:
        """Count the elements, along one axis, over which each window's average is taken; int [outputs]."""
        if not self.count_padding:
            return np.asarray(self.covered(size, axis).sum(axis=1))
        begin = np.arange(self.outputs(size, axis)) * self.stride[axis]
        return np.minimum(self.kernel[axis], size + self.sides[axis] + self.sides[axis + 2] - begin)


@dataclass(frozen=True)
class _Pooling(ArrayPrimitive):
    """Pooling of x [N, C, H, W]."""

    pooling: Pooling
    shape: Shape

    def __post_init__(self) -> None:
        if len(self.shape) != 4:
            raise self.refuse(f"x has shape {list(self.shape)}; it must be [N, C, H, W]")
        if 0 in self.out_shape[2:]:
            sides = self.pooling.sides
            padded = [size + sides[axis] + sides[axis + 2] for axis, size in enumerate(self.shape[2:])]
            raise self.refuse(f"kernel {self.pooling.kernel} does not fit planes that are padded to {padded}")

    @property
    def out_shape(self) -> Shape:
        """[N, C, rows, columns] of the outputs."""
        return (*self.shape[:2], *(self.pooling.outputs(size, axis) for axis, size in enumerate(self.shape[2:])))

    @property
    def over_plane(self) -> bool:
        """Whether there is one window a plane, which covers the plane."""
        return self.pooling.kernel == self.shape[2:] and not any(self.pooling.sides)

    @property
    def y(self) -> Operand:
        """The result, or its gradient."""
        return Operand(self.out_shape)

    @property
    def places(self) -> Operand:
        """The place of each maximum in its window, counted row by row."""
        window = self.pooling.kernel[0] * self.pooling.kernel[1]
        return Operand(self.out_shape, BYTE if window <= BYTE_WINDOW else INDEX, below(window))

    @property
    def places_bits(self) -> int:
        """Bits of a place, 8 or 32, as the kernels' variants are named."""
        return 8 * self.places.dtype.itemsize

    @property
    def square(self) -> str:
        """The end of the names of kernels for this window alone; '' for windows that have none."""
        return "_{}x{}".format(*self.pooling.kernel) if self.pooling.kernel in SQUARES else ""

    @property
    def taps(self) -> int:
        """Elements of x in windows, each counted once for every window it is in."""
        rows, columns = (int(self.pooling.covered(size, axis).sum()) for axis, size in enumerate(self.shape[2:]))
        return self.shape[0] * self.shape[1] * rows * columns

    @property
    def sizes(self) -> np.ndarray:
        """The words of Pooling (workloads/kernels/pooling.cl)."""
        p, (rows, columns), (top, left, bottom, right) = self.pooling, self.shape[2:], self.pooling.sides
        ends = (rows + bottom, columns + right)
        return np.array([rows, columns, *self.out_shape[2:], *p.kernel, *p.stride, top, left, *ends], np.uint32)

    def windows(self, padded: np.ndarray) -> Iterator[np.ndarray]:
        """Yield, for each place in a window, that element of all windows: views [N, C, rows, columns] of `padded`."""
        rows, columns = self.out_shape[2:]
        for r in range(self.pooling.kernel[0]):
            for c in range(self.pooling.kernel[1]):
                down = slice(r, r + (rows - 1) * self.pooling.stride[0] + 1, self.pooling.stride[0])
                along = slice(c, c + (columns - 1) * self.pooling.stride[1] + 1, self.pooling.stride[1])
                yield padded[:, :, down, along]

    def padded(self, images: int, fill: float) -> tuple[np.ndarray, np.ndarray]:
        """Return an FP64 array that holds all windows, full of `fill`, and the view of it that is the plane."""
        p = self.pooling
        ends = [
            max((out - 1) * stride + kernel, pad + size)
            for out, stride, kernel, pad, size in zip(
                self.out_shape[2:], p.stride, p.kernel, p.sides[:2], self.shape[2:], strict=True
            )
        ]
        whole = np.full((images, self.shape[1], *ends), fill)
        (top, left), (rows, columns) = p.sides[:2], self.shape[2:]
        return whole, whole[:, :, top : top + rows, left : left + columns]

    @property
    def weights(self) -> np.ndarray:
        """Weights [rows, columns]: 1 / the number of elements that each window's average is over."""
        rows, columns = (self.pooling.count_averaged(size, axis) for axis, size in enumerate(self.shape[2:]))
        return 1.0 / np.outer(rows, columns)


@dataclass(frozen=True)
class PoolingForward(_Pooling):
    """The result y, and each maximum's place in the window where a backward pass will follow."""

    keep_places: bool = True
    """Write each maximum's place in its window."""

    @property
    def name(self) -> str:
        return f"{self.pooling.mode} pooling forward"

    @property
    def gives(self) -> Mapping[str, Operand]:
        with_places = self.pooling.mode == "max" and self.keep_places
        return {"y": self.y, "places": self.places} if with_places else {"y": self.y}

    @property
    def operations(self) -> int:
        return self.taps - self.y.size if self.pooling.mode == "max" else self.taps

    @property
    def read_bytes(self) -> int:
        planes = self.shape[0] * self.shape[1]
        rows, columns = (self.pooling.covered(size, axis).any(axis=0) for axis, size in enumerate(self.shape[2:]))
        return 4 * planes * int(rows.sum()) * int(columns.sum())

    def backward(self) -> "PoolingBackward":
        if self.pooling.mode == "max" and not self.keep_places:
            raise self.refuse("there is no backward pass of maxima whose places are not kept (keep_places)")
        return PoolingBackward(self.pooling, self.shape)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        if self.over_plane:
            return (self._by_plane(tensors),)
        n, (rows, columns) = self.y.size, self.out_shape[2:]
        values = {**tensors, "p": self.sizes, "by_out_columns": divisor(columns), "by_out_rows": divisor(rows), "n": n}
        kernel = f"{self.pooling.mode}_pooling"
        if "places" in self.gives:
            kernel += f"_places{self.places_bits}"
        kernel += self.square
        if self.pooling.mode == "average":
            values["count_padding"] = int(self.pooling.count_padding)
        return (launch("pooling", kernel, tensors["x"].memory, (-(-n // GROUP),), values),)

    def _by_plane(self, tensors: Mapping[str, Tensor]) -> Launch:
        planes, size = self.y.size, self.shape[2] * self.shape[3]
        values: dict[str, Any] = {**tensors, "planes": planes, "size": size}
        kernel = f"{self.pooling.mode}_pooling_planes"
        if self.pooling.mode == "max":
            values.setdefault("places", None)
            kernel += str(self.places_bits)
        else:
            values["weight"] = 1.0 / size
        groups = -(-planes // PLANES_PER_GROUP)
        return launch("pooling", kernel, tensors["x"].memory, (groups,), values)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs["x"]
        if self.pooling.mode == "average":
            return {"y": self._average(x)}
        whole, plane = self.padded(len(x), -np.inf)
        plane[...] = x
        _, inside = marks = self.padded(1, 0.0)
        inside[...] = 1.0
        shape = (len(x), *self.out_shape[1:])
        best, places = np.full(shape, -np.inf), np.full(shape, -1)
        for place, (value, there) in enumerate(zip(self.windows(whole), self.windows(marks[0]), strict=True)):
            # the window's first element, until one is larger or no number; what is no number stays
            larger = ~(best >= value) & ~np.isnan(best) | ((places < 0) & (there > 0))
            best, places = np.where(larger, value, best), np.where(larger, place, places)
        return {
            name: value
            for name, value in (("y", ReferenceValue(best)), ("places", ReferenceValue(places)))
            if name in self.gives
        }

    def _average(self, x: np.ndarray) -> ReferenceValue:
        whole, plane = self.padded(len(x), 0.0)
        plane[...] = x
        sums = np.zeros((len(x), *self.out_shape[1:]))
        magnitude = np.zeros_like(sums)
        for value in self.windows(whole):
            sums += value
            magnitude += np.abs(value)
        roundings = self.pooling.kernel[0] * self.pooling.kernel[1] + 3
        return ReferenceValue(
            sums * self.weights, roundings * UNIT_ROUNDOFF * magnitude * self.weights + SMALLEST_NORMAL
        )


@dataclass(frozen=True)
class PoolingBackward(_Pooling):
    """dx from dy, and for maxima from the places that the forward pass kept."""

    writes = ("dx",)

    @property
    def name(self) -> str:
        return f"{self.pooling.mode} pooling backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"dy": self.y, "places": self.places} if self.pooling.mode == "max" else {"dy": self.y}

    @property
    def operations(self) -> int:
        return self.y.size if self.pooling.mode == "max" else self.taps

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        p, (rows, columns) = self.pooling, self.shape[2:]
        if self.over_plane:
            return (self._spread(tensors),)
        values: dict[str, Any] = {**tensors, "p": self.sizes}
        if p.stride in BLOCKS:
            side = p.stride[0]
            form = f"blocks{side}_" if p.mode == "max" else f"blocks{side}"
            rows, columns = (-(-(size + pad) // side) for size, pad in zip(self.shape[2:], p.sides[:2], strict=True))
            values |= {"by_columns": divisor(columns), "by_lines": divisor(rows)}
        else:
            form = "backward"
            values |= {"by_columns": divisor(columns), "by_rows": divisor(rows)}
            values |= {"by_stride_rows": divisor(p.stride[0]), "by_stride_columns": divisor(p.stride[1])}
        n = self.shape[0] * self.shape[1] * rows * columns
        kernel = f"{p.mode}_pooling_{form}"
        if p.mode == "max":
            kernel += str(self.places_bits)
        else:
            values["count_padding"] = int(p.count_padding)
        if p.stride in BLOCKS:
            kernel += self.square
        return (launch("pooling", kernel, tensors["dx"].memory, (-(-n // GROUP),), {**values, "n": n}),)

    def _spread(self, tensors: Mapping[str, Tensor]) -> Launch:
        size = self.shape[2] * self.shape[3]
        values: dict[str, Any] = {**tensors, "by_size": divisor(size), "n": self.x.size}
        if self.pooling.mode == "max":
            return elementwise("pooling", f"max_pooling_spread{self.places_bits}", values)
        return elementwise("pooling", "average_pooling_spread", {**values, "weight": 1.0 / size})

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy = inputs["dy"].astype(np.float64)
        if self.pooling.mode == "average":
            dy = dy * self.weights
        whole, dx = self.padded(len(dy), 0.0)
        sums, magnitude = self.padded(len(dy), 0.0)
        for place, (part, size) in enumerate(zip(self.windows(whole), self.windows(sums), strict=True)):
            share = dy if self.pooling.mode == "average" else np.where(inputs["places"] == place, dy, 0.0)
            part += share
            size += np.abs(share)
        roundings = self.pooling.kernel[0] * self.pooling.kernel[1] + 3
        return {"dx": ReferenceValue(dx, roundings * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL)}
