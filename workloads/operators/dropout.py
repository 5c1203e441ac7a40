"""Dropout with counter-based random numbers: whether an element is kept follows from seed, stream and place alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloads.operators.launching import elementwise
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, ReferenceValue
from workloads.operators.tensor import BYTE, Operand, Tensor, below
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
WORD = 0xFFFF_FFFF


def philox(counters: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Compute Philox4x32-10 (Salmon et al. 2011) of counters uint64 [n, 4], 32-bit words; same shape."""
    x, (key0, key1) = [counters[:, k].astype(np.uint64) for k in range(4)], key
    for _ in range(ROUNDS):
        first, second = (np.uint64(m) * word for m, word in zip(MULTIPLIERS, (x[0], x[2]), strict=True))
        high0, high1 = first >> np.uint64(32), second >> np.uint64(32)
        low0, low1 = first & np.uint64(WORD), second & np.uint64(WORD)
        x = [high1 ^ x[1] ^ np.uint64(key0), low1, high0 ^ x[3] ^ np.uint64(key1), low0]
        key0, key1 = (key0 + KEY_STEPS[0]) & WORD, (key1 + KEY_STEPS[1]) & WORD
    return np.stack(x, axis=1)


@dataclass(frozen=True)
class _Dropout(ArrayPrimitive):
    """Dropout on arrays of any shape: zero with `probability`, other elements grow by 1 / (1 - probability)."""

    shape: Shape
    probability: float = 0.5
    operations_each: ClassVar = 1

    def __post_init__(self) -> None:
        if not 0 <= self.probability < 1:
            raise self.refuse(f"probability is {self.probability}; it must be at least 0 and less than 1")

    @property
    def mask(self) -> Operand:
        """The mask, 1 where an element is kept."""
        return Operand(self.shape, BYTE, below(2))

    @property
    def scale(self) -> np.float32:
        """The factor for elements that are kept, rounded as in the kernels."""
        return np.float32(1.0 / (1.0 - self.probability))


@dataclass(frozen=True)
class DropoutForward(_Dropout):
    """y and the mask."""

    seed: int = 0
    """Seed of the run, below 2^64."""
    stream: int = 0
    """Number of the layer and step, below 2^32."""
    in_place: ClassVar = {"y": "x"}
    """y may use x's memory."""
    writes = ("y", "mask")
    name = "dropout forward"

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, value, bits in (("seed", self.seed, 64), ("stream", self.stream, 32)):
            if not 0 <= value < 1 << bits:
                raise self.refuse(f"{what} is {value}; it must be at least 0 and less than 2^{bits}")

    @property
    def threshold(self) -> int:
        """The least random number of 32 bits with which an element is kept."""
        return min(round(self.probability * (1 << 32)), WORD)

    def backward(self) -> "DropoutBackward":
        return DropoutBackward(self.shape, self.probability)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        seeds = {"seed_low": self.seed & WORD, "seed_high": self.seed >> 32, "stream": self.stream}
        values = {**tensors, **seeds, "threshold": self.threshold, "scale": self.scale, "n": self.x.size}
        return (elementwise("dropout", "dropout_forward", values),)

    def kept(self, start: int, size: int) -> np.ndarray:
        """Tell which of `size` elements from `start` on, in memory's order, are kept; bool [size]."""
        blocks = np.arange(start // 4, -(-(start + size) // 4), dtype=np.uint64)
        counters = np.zeros((len(blocks), 4), np.uint64)
        counters[:, 0], counters[:, 2] = blocks, self.stream
        numbers = philox(counters, (self.seed & WORD, self.seed >> 32)).reshape(-1)
        return numbers[start % 4 : start % 4 + size] >= self.threshold

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs["x"]
        kept = self.kept(first * (x.size // len(x)), x.size).reshape(x.shape)
        y = np.where(kept, x * np.float64(self.scale), 0.0)
        return {
            "y": ReferenceValue(y, UNIT_ROUNDOFF * np.abs(y) + SMALLEST_NORMAL),
            "mask": ReferenceValue(kept.astype(np.uint8)),
        }


@dataclass(frozen=True)
class DropoutBackward(_Dropout):
    """dx from dy and the mask; dx may take dy's place."""

    in_place: ClassVar = {"dx": "dy"}
    writes = ("dx",)
    reads = ("dy", "mask")
    name = "dropout backward"

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (elementwise("dropout", "dropout_backward", {**tensors, "scale": self.scale, "n": self.x.size}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dx = np.where(inputs["mask"] != 0, inputs["dy"] * np.float64(self.scale), 0.0)
        return {"dx": ReferenceValue(dx, UNIT_ROUNDOFF * np.abs(dx) + SMALLEST_NORMAL)}
