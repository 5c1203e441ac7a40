"""The mask of causal attention: a query sees no key after its own place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import LaunchTuple, MappingPrimitive, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.shapes import Shape

MASKED = -3.0e38  # a finite number whose exponential is 0 beside any score


@dataclass(frozen=True)
class CausalMask(MappingPrimitive):
    """y = x [N, ..., queries, keys] where the key is not after the query, else MASKED; backward dx = dy there, else 0.

    The last query sees the last key: with more keys than queries, those before come from earlier steps. y may take x's
    place, dx dy's.
    """

    shape: Shape
    """Shape of x and y."""
    gradient: bool = False
    """It is the backward pass."""
    in_place: ClassVar = {"y": "x", "dx": "dy"}

    def __post_init__(self) -> None:
        if len(self.shape) < 3 or self.shape[-1] < self.shape[-2]:
            raise self.refuse(f"x has shape {list(self.shape)}; it must be [N, ..., queries, keys], keys not fewer")

    @property
    def name(self) -> str:
        return f"causal mask {self.way}"

    @property
    def seen(self) -> np.ndarray:
        """The mask [queries, keys]."""
        queries, keys = self.shape[-2:]
        return np.arange(keys)[None, :] <= np.arange(queries)[:, None] + keys - queries

    @property
    def read_bytes(self) -> int:
        count = Operand(self.shape[:-2]).size
        return 4 * count * int(self.seen.sum())

    @property
    def operations(self) -> int:
        return Operand(self.shape).size

    def backward(self) -> "CausalMask":
        return CausalMask(self.shape, True)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        x, y = tensors[self.operand], tensors[self.result]
        queries, keys = self.shape[-2:]
        values = {"x": x, "y": y, "by_keys": divisor(keys), "by_queries": divisor(queries), "before": keys - queries}
        n = Operand(self.shape).size
        values |= {"masked": 0.0 if self.gradient else MASKED, "n": n}
        return (launch("causal_mask", "causal_mask", x.memory, (-(-n // GROUP),), values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        masked = 0.0 if self.gradient else float(np.float32(MASKED))
        return {self.result: ReferenceValue(np.where(self.seen, inputs[self.operand].astype(np.float64), masked))}
