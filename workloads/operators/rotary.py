"""Rotary position embedding (Su 2021), in the form of Llama: an element and the one half a row further are turned."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import LaunchTuple, MappingPrimitive, ReferenceValue
from workloads.operators.tensor import Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

SINE_ERROR = 2.0**-17  # of v_sin_f32 and v_cos_f32, absolute


@dataclass(frozen=True)
class Rotary(MappingPrimitive):
    """x [N, ..., positions, width] with each pair rotated by (position + first) · base^(-2 d / width)."""

    shape: Shape
    """Shape of x."""
    first: int = 0
    """Offset of the first position."""
    base: float = 10000.0
    """Base of the angles."""
    gradient: bool = False
    """The pass from dy to dx, which rotates back."""
    in_place: ClassVar = {"y": "x", "dx": "dy"}
    """y may use x's memory, and dx that of dy."""

    def __post_init__(self) -> None:
        if len(self.shape) < 3 or self.shape[-1] % 2:
            raise self.refuse(f"x has shape {list(self.shape)}; it must be [N, ..., positions, an even width]")

    @property
    def name(self) -> str:
        return f"rotary embedding {self.way}"

    @property
    def macs(self) -> int:
        return 2 * prod(self.shape)

    def backward(self) -> "Rotary":
        return Rotary(self.shape, self.first, self.base, True)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        x, y = tensors[self.operand], tensors[self.result]
        positions, half = self.shape[-2], self.shape[-1] // 2
        n = prod(self.shape) // 2
        values = {"x": x, "y": y, "by_half": divisor(half), "by_positions": divisor(positions), "n": n}
        values |= {"first": float(self.first), "log2_base_share": math.log2(self.base) / half}
        values["turn"] = -1.0 if self.gradient else 1.0
        return (launch("rotary", "rotary", x.memory, (-(-n // GROUP),), values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs[self.operand].astype(np.float64)
        half = self.shape[-1] // 2
        places = np.arange(self.shape[-2])[:, None] + self.first
        shares = np.arange(half) / half * math.log2(self.base)
        angles = places * 2.0**-shares
        c, s = np.cos(angles), np.sin(angles) * (-1.0 if self.gradient else 1.0)
        left, right = x[..., :half], x[..., half:]
        y = np.concatenate([left * c - right * s, right * c + left * s], axis=-1)
        # the angle in turns: an exponential of a rounded exponent, and two products
        off = angles * (8 + 2 * shares) * UNIT_ROUNDOFF + SINE_ERROR + 4 * UNIT_ROUNDOFF
        magnitude = np.abs(left) + np.abs(right)
        bound = np.concatenate([magnitude * off] * 2, axis=-1) + SMALLEST_NORMAL
        return {self.result: ReferenceValue(y, bound)}
