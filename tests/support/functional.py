"""Running the test kernels functionally: arguments from NumPy arrays and numbers."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from isa.device_memory import Allocation, DeviceMemory
from isa.execution.emulator import FunctionalResult, run_functional
from isa.launch import Launch
from isa.object.code_object import Kernel, load_code_object

KERNELS = Path(__file__).resolve().parents[1] / "data" / "kernels"


@cache
def kernel(file: str, name: str) -> Kernel:
    """A kernel of tests/data/kernels."""
    return load_code_object(KERNELS / f"{file}.hsaco").kernels[name]


class Device:
    """Device memory with named buffers, and launches on it."""

    def __init__(self, capacity_bytes: int = 1 << 24) -> None:
        self.memory = DeviceMemory(capacity_bytes)
        self.buffers: dict[str, tuple[Allocation, np.dtype]] = {}

    def put(self, name: str, array: np.ndarray, writable: bool = True) -> int:
        """Upload an array; its address."""
        allocation = self.memory.upload(array, name, writable)
        self.buffers[name] = (allocation, array.dtype)
        return allocation.address

    def get(self, name: str) -> np.ndarray:
        """A buffer's contents."""
        allocation, dtype = self.buffers[name]
        return self.memory.view(allocation, dtype).copy()

    def launch(self, k: Kernel, global_size: Any, local_size: Any, *arguments: Any, **more: Any) -> Launch:
        """A launch: buffer names, integers (of the argument's size) or NumPy scalars as arguments."""
        block = bytearray(k.kernarg_bytes)
        explicit = [a for a in k.arguments if not a.kind.startswith("hidden_")]
        for argument, value in zip(explicit, arguments, strict=True):
            if isinstance(value, str):
                value = self.buffers[value][0].address
            raw = value.tobytes() if isinstance(value, np.generic) else int(value).to_bytes(argument.size, "little")
            block[argument.offset : argument.offset + argument.size] = raw
        return Launch(k, self.memory, bytes(block), _three(global_size), _three(local_size), **more)

    def run(self, k: Kernel, global_size: Any, local_size: Any, *arguments: Any, **more: Any) -> FunctionalResult:
        """Execute a kernel."""
        return run_functional(self.launch(k, global_size, local_size, *arguments), **more)


def _three(size: Any) -> tuple[int, int, int]:
    whole = (size,) if isinstance(size, int) else tuple(size)
    return (*whole, *([1] * (3 - len(whole))))  # type: ignore[return-value]
