"""Arrays [images, channels, plane]: how the kernels tell an element's channel, and reduce over all else in two steps.

The geometry is that of workloads/kernels/channels.h. It depends on the shape alone, so that a sum is added up in the
same order on every GPU.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workloads.operators.launching import GROUP, divisor
from workloads.operators.primitive import ArrayPrimitive
from workloads.operators.tensor import Operand
from workloads.shapes import Shape

WAVEFRONT = 64
LANE_STEPS = 6  # of a sum over a wavefront's lanes
PER_ITEM = 32  # elements of a lane in a slice
LEAST_PLANE = 64  # elements: smaller ones are taken as columns


@dataclass(frozen=True)
class Channels:
    """images x channels x size elements."""

    images: int
    """Number of images."""
    channels: int
    """Number of channels."""
    size: int
    """Elements of a channel's plane."""

    @classmethod
    def of(cls, shape: Shape) -> "Channels":
        """Return the channels of an array [N, C, ...]."""
        return cls(shape[0], shape[1], prod(shape[2:]))

    @property
    def count(self) -> int:
        """Elements of a channel."""
        return self.images * self.size

    @property
    def columns(self) -> int:
        """Columns of one element each into which a channel is divided; 1 where it is taken by planes."""
        return self.size if self.size < LEAST_PLANE else 1

    @property
    def form(self) -> str:
        """The form of a reducing kernel, as its name ends."""
        return "columns" if self.size < LEAST_PLANE else "planes" if self.size % 4 else "planes4"

    @property
    def slice_elements(self) -> int:
        """Elements of a channel, or of a column, in a slice."""
        return PER_ITEM if self.form == "columns" else WAVEFRONT * PER_ITEM

    @property
    def slices(self) -> int:
        """Slices of a channel or a column; the last one may be shorter."""
        return -(-(self.count // self.columns) // self.slice_elements)

    @property
    def parts(self) -> int:
        """Results of slices that are merged for each channel."""
        return self.slices * self.columns

    @property
    def longest(self) -> int:
        """Additions, at most, that an element's value goes through in a sum over the channel."""
        over_lanes = 0 if self.form == "columns" else LANE_STEPS
        merging = -(-self.parts // WAVEFRONT) + LANE_STEPS if self.parts > 1 else 0
        return min(PER_ITEM + over_lanes + merging, self.count + 1)

    @property
    def groups(self) -> tuple[int, int]:
        """Workgroups of the first step, with neighbouring channels or columns next to each other."""
        across = GROUP if self.form == "columns" else GROUP // WAVEFRONT
        return -(-self.channels * self.columns // across), self.slices

    @property
    def merging_groups(self) -> tuple[int]:
        """Workgroups of the second step: a wavefront a channel."""
        return (-(-self.channels * WAVEFRONT // GROUP),)

    @property
    def per_part(self) -> Operand:
        """A number for each part that is merged."""
        return Operand((self.slices, self.channels * self.columns), by_image=False)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the first step's kernels."""
        size = self.size // self.columns
        planes = np.array([self.images, self.channels * self.columns, size], np.uint32)
        return {"shape": planes, "by_size": divisor(size)}

    @property
    def merging(self) -> np.ndarray:
        """The argument of the second step's kernel."""
        return np.array([self.channels, self.slices, *divisor(self.columns)], np.uint32)

    @property
    def elementwise_arguments(self) -> dict[str, Any]:
        """Arguments of element-wise kernels, with four elements a work-item."""
        planes = np.array([self.images, self.channels, self.size], np.uint32)
        divisors = {"by_size": divisor(self.size), "by_channels": divisor(self.channels)}
        return {"shape": planes, **divisors, "n": self.count * self.channels}


class ChannelPrimitive(ArrayPrimitive):
    """A primitive over arrays [N, C, ...]."""

    def __post_init__(self) -> None:
        if len(self.shape) < 2:
            raise self.refuse(f"x has shape {list(self.shape)}; it must be [N, C] or [N, C, ...]")

    @property
    def channels(self) -> Channels:
        """The array as planes of channels."""
        return Channels.of(self.shape)
