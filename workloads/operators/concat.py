"""Concatenation along channels, its backward pass, which splits, and what is appended in place: copies of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from isa.launch import Launch
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.shapes import Shape

WIDE = 4  # elements of a copy where everything is a multiple of it


@dataclass(frozen=True)
class _Concat(ArrayPrimitive):
    """Base of both passes."""

    shape: Shape
    """Shape of the whole: [N, C, ...]."""
    channels: tuple[int, ...]
    """Channels of each part, in order."""

    def __post_init__(self) -> None:
        if len(self.shape) < 2 or not self.channels or min(self.channels) < 1 or sum(self.channels) != self.shape[1]:
            parts = " + ".join(map(str, self.channels)) or "no"
            raise self.refuse(f"{parts} channels do not make up the whole of {list(self.shape)}")

    @property
    def parts(self) -> list[Operand]:
        """The arrays of the parts."""
        return [Operand((self.shape[0], channels, *self.shape[2:])) for channels in self.channels]

    @property
    def starts(self) -> list[int]:
        """The first channel of each part in the whole."""
        return [sum(self.channels[:k]) for k in range(len(self.channels))]

    def copies(self, whole: Tensor, parts: list[Tensor], split: bool) -> LaunchTuple:
        """Return a copy for each part, into the whole or out of it."""
        places = zip(parts, self.starts, strict=True)
        return tuple(_copy(whole, self.shape, part, start, split) for part, start in places)


def _copy(whole: Tensor, shape: Shape, part: Tensor, start: int, split: bool = False) -> Launch:
    """Return the copy of a part into the channels from `start` on of a whole of this shape; split: out of them."""
    size = prod(shape[2:])
    lengths = (prod(part.shape[1:]), shape[1] * size, start * size)
    wide = all(length % WIDE == 0 for length in lengths)
    row, distance, offset = (length // WIDE if wide else length for length in lengths)
    ends = [(part, row, 0), (whole, distance, offset)]
    (source, source_distance, source_offset), (target, target_distance, target_offset) = (
        reversed(ends) if split else ends
    )
    n = shape[0] * row
    values = {
        "from": source,
        "from_distance": source_distance,
        "from_offset": source_offset,
        "to": target,
        "to_distance": target_distance,
        "to_offset": target_offset,
        "by_length": divisor(row),
        "n": n,
    }
    kernel = "copy_rows4" if wide else "copy_rows"
    return launch("concat", kernel, part.memory, (-(-n // GROUP),), values)


@dataclass(frozen=True)
class Concat(_Concat):
    """y = x0, x1, ... behind one another."""

    name = "concatenation"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {f"x{k}": part for k, part in enumerate(self.parts)}

    def backward(self) -> "Split":
        return Split(self.shape, self.channels)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return self.copies(tensors["y"], [tensors[name] for name in self.takes], split=False)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return {"y": ReferenceValue(np.concatenate([inputs[name] for name in self.takes], axis=1))}


@dataclass(frozen=True)
class Split(_Concat):
    """dx0, dx1, ...: each array's channels of dy."""

    reads = ("dy",)
    name = "split"

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {f"dx{k}": part for k, part in enumerate(self.parts)}

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return self.copies(tensors["dy"], [tensors[name] for name in self.gives], split=True)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        pieces = np.split(inputs["dy"], self.starts[1:], axis=1)
        return {name: ReferenceValue(piece) for name, piece in zip(self.gives, pieces, strict=True)}


@dataclass(frozen=True)
class Append(ArrayPrimitive):
    """y, where it lies, with x [N, channels, ...] in place of its channels from `start` on; the others stay."""

    shape: Shape
    """Shape of y."""
    channels: int
    """Channels of x."""
    start: int
    """First channel of y that is written."""
    writes = ("y",)
    name = "append"

    def __post_init__(self) -> None:
        if len(self.shape) < 2 or self.channels < 1 or not 0 <= self.start <= self.shape[1] - self.channels:
            raise self.refuse(f"{self.channels} channels from {self.start} on are not in {list(self.shape)}")

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"y": self.x, "x": Operand((self.shape[0], self.channels, *self.shape[2:]))}

    @property
    def read_bytes(self) -> int:
        return self.takes["x"].size_bytes

    @property
    def kept_bytes(self) -> int:
        return self.x.size_bytes - self.read_bytes

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (_copy(tensors["y"], self.shape, tensors["x"], self.start),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        y = inputs["y"].copy()
        y[:, self.start : self.start + self.channels] = inputs["x"]
        return {"y": ReferenceValue(y)}
