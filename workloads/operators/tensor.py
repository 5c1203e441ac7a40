"""Arrays of operators: what a primitive takes and gives, and where such an array lies in device memory."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer
from workloads.shapes import Shape

SampleFunction = Callable[[np.random.Generator, Shape], np.ndarray]
FLOAT = np.dtype(np.float32)
HALF = np.dtype(np.float16)
BYTE = np.dtype(np.uint8)
INDEX = np.dtype(np.uint32)


def normal(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Draw normal numbers, mean 0, variance 1."""
    return random.standard_normal(shape, np.float32)


def positive(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Draw numbers uniformly from 0.5 to 1.5, for variances and scales."""
    return random.random(shape, np.float32) + np.float32(0.5)


def below(limit: int) -> SampleFunction:
    """Return a function that draws whole numbers from 0 to `limit` - 1: labels, positions in a window, bits."""
    return lambda random, shape: random.integers(0, limit, shape)


@dataclass(frozen=True)
class Operand:
    """An array without a memory address."""

    shape: Shape
    """Shape."""
    dtype: np.dtype = FLOAT
    """Type of the elements."""
    data: SampleFunction = normal
    """Draws values, for operators with operands of their own."""
    by_image: bool = True
    """Axis 0 counts images; otherwise all images share the whole array, as for parameters."""

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """The size without padding."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True)
class Tensor:
    """A contiguous array in device memory, the last axis fastest: images are [N, C, H, W]."""

    memory: DeviceMemory
    """Device memory."""
    address: int
    """Device address of the first element."""
    shape: Shape
    """Shape."""
    dtype: np.dtype = FLOAT
    """Element type."""

    @classmethod
    def allocate(cls, memory: DeviceMemory, operand: Operand, name: str) -> "Tensor":
        """Allocate a zeroed tensor; raise DeviceMemoryError when the device is too small."""
        return cls(memory, memory.allocate(operand.size_bytes, name).address, operand.shape, operand.dtype)

    @property
    def size_bytes(self) -> int:
        """The size without padding."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def array(self) -> np.ndarray:
        """The elements, shared with the device."""
        from isa.device_memory import Allocation

        held = Allocation("", self.address, self.size_bytes)
        return self.memory.view(held, self.dtype).reshape(self.shape)

    @property
    def pointer(self) -> Pointer:
        """The tensor as a kernel's argument."""
        return Pointer(self.address, self.dtype)

    def overlaps(self, other: "Tensor") -> bool:
        """Tell whether the two tensors share memory."""
        return self.address < other.address + other.size_bytes and other.address < self.address + self.size_bytes
