"""Convolution: its windows, what they meet, and its three passes by NumPy."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from workloads.operators.primitive import OperatorError
from workloads.operators.tensor import Operand
from workloads.shapes import Shape

Pair = tuple[int, int]
Sides = tuple[int, int, int, int]
REFERENCE_ELEMENTS = 1 << 22  # of what taps meet, at a time: bounds the FP64 copies of the reference


@dataclass(frozen=True)
class Convolution:
    """Filters over images [N, C, H, W]; sizes are (rows, columns)."""

    shape: Shape
    """Shape of the images."""
    filters: int
    """Number of filters."""
    kernel: Pair
    """Size of a filter."""
    stride: Pair = (1, 1)
    """Stride."""
    padding: Sides = (0, 0, 0, 0)
    """Zeros at the top, left, bottom and right."""
    dilation: Pair = (1, 1)
    """Dilation."""
    groups: int = 1
    """Groups of channels, each with its own share of the filters."""

    def __post_init__(self) -> None:
        if len(self.shape) != 4:
            raise self.refuse(f"x has shape {list(self.shape)}; it must be [N, C, H, W]")
        for name, least in (("kernel", 1), ("stride", 1), ("padding", 0), ("dilation", 1)):
            if min(getattr(self, name)) < least:
                raise self.refuse(f"{name} {getattr(self, name)}; each must be at least {least}")
        for name, count in (("channels", self.shape[1]), ("filters", self.filters)):
            if self.groups < 1 or count < 1 or count % self.groups:
                raise self.refuse(f"{count} {name} do not divide into {self.groups} groups")
        if min(self.outputs) < 1:
            raise self.refuse(
                f"kernel {list(self.kernel)} with dilation {list(self.dilation)} does not fit planes that are padded to"
                f" {[self.shape[2 + axis] + self._pads(axis) for axis in (0, 1)]}"
            )

    def refuse(self, problem: str) -> OperatorError:
        """Return the error that says what is not possible."""
        return OperatorError(f"convolution: {problem}")

    def _pads(self, axis: int) -> int:
        return self.padding[axis] + self.padding[axis + 2]

    @property
    def outputs(self) -> Pair:
        """The rows and columns of windows."""
        rows, columns = (
            (self.shape[2 + axis] + self._pads(axis) - self.dilation[axis] * (self.kernel[axis] - 1) - 1)
            // self.stride[axis]
            + 1
            for axis in (0, 1)
        )
        return rows, columns

    @property
    def positions(self) -> int:
        """Windows of an image."""
        return prod(self.outputs)

    @property
    def taps(self) -> int:
        """Elements of a channel under a filter."""
        return prod(self.kernel)

    @property
    def group_channels(self) -> int:
        """Input channels of a group."""
        return self.shape[1] // self.groups

    @property
    def group_filters(self) -> int:
        """Filters of a group."""
        return self.filters // self.groups

    @property
    def depth(self) -> int:
        """Weights of a filter."""
        return self.group_channels * self.taps

    @property
    def macs(self) -> int:
        """Multiply-accumulates of any of the passes, those with the padding's zeros included."""
        return self.shape[0] * self.filters * self.positions * self.depth

    @cached_property
    def _meeting(self) -> tuple[np.ndarray, np.ndarray]:
        """Along either axis, int [windows, taps]: the row or column that a tap of a window meets, -1 in the padding."""
        rows, columns = (
            np.arange(self.outputs[axis])[:, None] * self.stride[axis]
            + np.arange(self.kernel[axis])[None, :] * self.dilation[axis]
            - self.padding[axis]
            for axis in (0, 1)
        )
        return (
            np.where((rows >= 0) & (rows < self.shape[2]), rows, -1),
            np.where((columns >= 0) & (columns < self.shape[3]), columns, -1),
        )

    @property
    def needed_macs(self) -> int:
        """Multiply-accumulates of taps that meet the planes."""
        pairs = prod(int((met >= 0).sum()) for met in self._meeting)
        return self.shape[0] * self.filters * self.group_channels * pairs

    @property
    def met_x(self) -> int:
        """Elements of x that some window meets."""
        return prod(self.shape[:2]) * prod(len(set(met[met >= 0].tolist())) for met in self._meeting)

    @property
    def met_weights(self) -> int:
        """Weights of taps that meet something."""
        return self.filters * self.group_channels * prod(int((met >= 0).any(axis=0).sum()) for met in self._meeting)

    @property
    def met_y(self) -> int:
        """Elements of y whose windows are not in the padding alone."""
        return self.shape[0] * self.filters * prod(int((met >= 0).any(axis=1).sum()) for met in self._meeting)

    @property
    def x(self) -> Operand:
        """The operand x [N, C, H, W]."""
        return Operand(self.shape)

    @property
    def weight(self) -> Operand:
        """The operand weight [filters, channels of a group, rows, columns]."""
        return Operand((self.filters, self.group_channels, *self.kernel), by_image=False)

    @property
    def y(self) -> Operand:
        """The operand y [N, filters, rows, columns]."""
        return Operand((self.shape[0], self.filters, *self.outputs))

    @property
    def bias(self) -> Operand:
        """The operand bias [filters]."""
        return Operand((self.filters,), by_image=False)

    @cached_property
    def _padded(self) -> Pair:
        """Rows and columns that hold every window, and those that a stride leaves over."""
        rows, columns = (
            max(
                self.shape[2 + axis] + self._pads(axis),
                (self.outputs[axis] - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1,
            )
            for axis in (0, 1)
        )
        return rows, columns

    def get_tap_view(self, padded: np.ndarray, tap: Pair) -> np.ndarray:
        """Return what a tap of every window meets: a view [n, groups, channels of a group, rows, columns]."""
        at = []
        for axis in (0, 1):
            begin, step = tap[axis] * self.dilation[axis], self.stride[axis]
            at.append(slice(begin, begin + (self.outputs[axis] - 1) * step + 1, step))
        some = padded[:, :, at[0], at[1]]
        return some.reshape(len(padded), self.groups, self.group_channels, *self.outputs)

    def pad(self, x: np.ndarray) -> np.ndarray:
        """Return images with the zeros around them."""
        out = np.zeros((*x.shape[:2], *self._padded), x.dtype)
        self.inside(out, x.shape)[...] = x
        return out

    def inside(self, padded: np.ndarray, shape: Shape) -> np.ndarray:
        """Return the view of `padded` without its padding."""
        top, left = self.padding[:2]
        return padded[:, :, top : top + shape[2], left : left + shape[3]]

    def chunks(self, images: int) -> Iterator[slice]:
        """Yield slices of the images, each with few enough of them for the reference's memory."""
        held = max(self.shape[1] * prod(self._padded), max(self.filters, self.shape[1]) * self.positions)
        step = max(1, REFERENCE_ELEMENTS // held)
        for start in range(0, images, step):
            yield slice(start, min(start + step, images))

    def all_taps(self) -> Iterator[Pair]:
        """Yield (row, column) of each tap."""
        return ((i, j) for i in range(self.kernel[0]) for j in range(self.kernel[1]))

    # the passes by NumPy in the type of their operands, for n images

    def forward(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Compute y [n, filters, rows, columns]."""
        y = np.zeros((len(x), self.groups, self.group_filters, self.positions), x.dtype)
        grouped = weight.reshape(self.groups, self.group_filters, self.group_channels, *self.kernel)
        for part in self.chunks(len(x)):
            padded = self.pad(x[part])
            for tap in self.all_taps():
                met = np.ascontiguousarray(self.get_tap_view(padded, tap)).reshape(
                    *padded.shape[:1], self.groups, -1, self.positions
                )
                y[part] += grouped[None, :, :, :, *tap] @ met
        return y.reshape(len(x), self.filters, *self.outputs)

    def backward_data(self, dy: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Compute dx [n, channels, rows, columns]."""
        dx = np.zeros((len(dy), *self.shape[1:]), dy.dtype)
        grouped = weight.reshape(self.groups, self.group_filters, self.group_channels, *self.kernel)
        flat = dy.reshape(len(dy), self.groups, self.group_filters, self.positions)
        for part in self.chunks(len(dy)):
            padded = np.zeros((len(dx[part]), self.shape[1], *self._padded), dy.dtype)
            for tap in self.all_taps():
                met = self.get_tap_view(padded, tap)
                met += (grouped[None, :, :, :, *tap].swapaxes(2, 3) @ flat[part]).reshape(met.shape)
            dx[part] = self.inside(padded, self.shape)
        return dx

    def backward_weights(self, x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        """Compute dweight of all images; each image's products are added up in `dtype` of the operands."""
        dweight = np.zeros((self.groups, self.group_filters, self.group_channels, *self.kernel), x.dtype)
        flat = dy.reshape(len(dy), self.groups, self.group_filters, self.positions)
        for part in self.chunks(len(x)):
            padded = self.pad(x[part])
            for tap in self.all_taps():
                met = np.ascontiguousarray(self.get_tap_view(padded, tap)).reshape(
                    *padded.shape[:1], self.groups, -1, self.positions
                )
                dweight[..., *tap] += (flat[part] @ met.swapaxes(2, 3)).sum(axis=0)
        return dweight.reshape(self.weight.shape)
