"""Concatenation along channels, and its backward pass, which splits: copies of rows of images."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, Value
from workloads.operators.tensor import Operand, Shape, Tensor

if TYPE_CHECKING:
    from isa.launch import Launch

WIDE = 4  # elements of a copy where everything is a multiple of it


@dataclass(frozen=True)
class _Concat(ArrayPrimitive):
    """Base of both passes. shape: of the whole, [N, C, ...]; channels: of the parts, in order."""

    shape: Shape
    channels: tuple[int, ...]

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

    def copies(self, whole: Tensor, parts: list[Tensor], split: bool) -> "tuple[Launch, ...]":
        """Return a copy for each part, into the whole or out of it."""
        size = prod(self.shape[2:])
        found = []
        for part, channels, start in zip(parts, self.channels, self.starts, strict=True):
            lengths = (channels * size, self.shape[1] * size, start * size)
            wide = all(length % WIDE == 0 for length in lengths)
            row, distance, offset = (length // WIDE if wide else length for length in lengths)
            ends = [(part, row, 0), (whole, distance, offset)]
            (source, source_distance, source_offset), (target, target_distance, target_offset) = (
                reversed(ends) if split else ends
            )
            n = self.shape[0] * row
            values = {
                **{"from": source, "from_distance": source_distance, "from_offset": source_offset},
                **{"to": target, "to_distance": target_distance, "to_offset": target_offset},
                **{"by_length": divisor(row), "n": n},
            }
            kernel = "copy_rows4" if wide else "copy_rows"
            found.append(launch("concat", kernel, part.memory, (-(-n // GROUP),), values))
        return tuple(found)


@dataclass(frozen=True)
class Concat(_Concat):
    """y = x0, x1, ... behind one another."""

    name = "concatenation"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {f"x{k}": part for k, part in enumerate(self.parts)}

    def backward(self) -> "Split":
        return Split(self.shape, self.channels)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        return self.copies(tensors["y"], [tensors[name] for name in self.takes], split=False)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        return {"y": Value(np.concatenate([inputs[name] for name in self.takes], axis=1))}


@dataclass(frozen=True)
class Split(_Concat):
    """dx0, dx1, ...: each array's channels of dy."""

    reads = ("dy",)
    name = "split"

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {f"dx{k}": part for k, part in enumerate(self.parts)}

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        return self.copies(tensors["dy"], [tensors[name] for name in self.gives], split=True)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, Value]:
        pieces = np.split(inputs["dy"], self.starts[1:], axis=1)
        return {name: Value(piece) for name, piece in zip(self.gives, pieces, strict=True)}
