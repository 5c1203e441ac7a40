"""Copying within device memory as an operator: what a runtime's copy between two of its buffers is."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isa.kernarg import Pointer
from workloads.operators.launching import GROUP, launch
from workloads.operators.operator import Work
from workloads.operators.verify import Expected

if TYPE_CHECKING:
    from isa.device_memory import Allocation, DeviceMemory
    from isa.launch import Launch

BYTES_PER_ITEM = 16


@dataclass(frozen=True)
class CopyOperator:
    """A copy of the bytes of `source` into `target`, of the same size (workloads.operators.operator.Operator)."""

    memory: "DeviceMemory"
    source: "Allocation"
    target: "Allocation"
    name: str = "device_copy"

    @property
    def launches(self) -> "tuple[Launch, ...]":
        """The only launch, which copies."""
        return (copy_launch(self.memory, self.source.address, self.target.address, self.source.size_bytes),)

    @property
    def decisive(self) -> Collection[int]:
        """The empty set, since there is a single launch."""
        return ()

    @property
    def inputs(self) -> Mapping[str, np.ndarray]:
        """The source's bytes."""
        return {"source": self.memory.view(self.source)}

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """The target's bytes."""
        return {"target": self.memory.view(self.target)}

    @property
    def work(self) -> Work:
        """Cost of reading and writing each byte."""
        size = self.source.size_bytes
        return Work(macs=0, needed_macs=0, read_bytes=size, written_bytes=size, stored_bytes=size)

    def expected(self, inputs: Mapping[str, np.ndarray]) -> Iterator[Expected]:
        """Yield the source's bytes, which the target's must equal."""
        yield Expected("target", (slice(None),), inputs["source"], 0.0)


def copy_launch(memory: "DeviceMemory", source: int, target: int, size_bytes: int) -> "Launch":
    """Return the launch that copies `size_bytes` from device address `source` to `target`, both multiples of 16."""
    values = {"from": Pointer(source), "to": Pointer(target), "bytes": size_bytes}
    return launch("device_copy", "device_copy", memory, (-(-size_bytes // (BYTES_PER_ITEM * GROUP)),), values)
