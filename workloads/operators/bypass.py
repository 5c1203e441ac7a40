"""Copies within device memory: a runtime's between two of its buffers, and a layer that passes its input on.

Such a layer is one forward as well as backward, where the planner cannot let both be one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isa.device_memory import DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.launching import GROUP, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import ArrayPrimitive, LaunchTuple, ReferenceValue
from workloads.operators.tensor import Tensor
from workloads.shapes import Shape

BYTES_PER_ITEM = 16


@dataclass(frozen=True)
class Bypass(ArrayPrimitive):
    """A copy, y = x."""

    shape: Shape
    """Shape of x and y."""
    same_gradient = ("x",)
    name = "bypass"

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        x, y = tensors["x"], tensors["y"]
        return (copy_launch(x.memory, x.address, y.address, x.size_bytes),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return {"y": ReferenceValue(inputs["x"])}


def copy_launch(memory: DeviceMemory, source: int, target: int, size_bytes: int) -> Launch:
    """Return the launch that copies `size_bytes` from device address `source` to `target`, both multiples of 16.

    Args:
        memory: Device memory.
        source: Device address, a multiple of 16.
        target: Device address, a multiple of 16.
        size_bytes: Bytes, a multiple of 16.
    """
    values = {"from": Pointer(source), "to": Pointer(target), "bytes": size_bytes}
    return launch("device_copy", "device_copy", memory, (-(-size_bytes // (BYTES_PER_ITEM * GROUP)),), values)
