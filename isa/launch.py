"""A kernel launch: what a workload hands to the simulated machine."""

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isa.grid import GridError
from isa.region import SparseRegion

if TYPE_CHECKING:
    from isa.device_memory import DeviceMemory
    from isa.object.code_object import Kernel

# Before a wavefront counts as an endless loop: a hundred times a long kernel's, reached in seconds
MAX_WAVEFRONT_INSTRUCTIONS = 1 << 26
POINTERS = ("global_buffer", "dynamic_shared_pointer")  # kinds of arguments that are addresses, if they have 8 bytes


@dataclass(frozen=True)
class Residency:
    """Largest resident part of a launch on a machine."""

    workgroups: int
    """Largest number of resident workgroups."""
    wavefront_slots: int
    """Number of slots for wavefronts: registers and private memory."""
    workgroup_slots: int
    """Number of slots for workgroups: LDS."""


@dataclass(frozen=True)
class Launch:
    """One kernel over one grid."""

    kernel: "Kernel"
    """Kernel."""
    memory: "DeviceMemory"
    """Device memory."""
    kernarg: bytes
    """Kernel argument block in the layout of the code object's metadata."""
    global_size: tuple[int, int, int]
    """Work-items of the grid in x, y, z."""
    local_size: tuple[int, int, int]
    """Work-items of a workgroup in x, y, z."""
    dynamic_lds_bytes: int = 0
    """LDS after the kernel's own, in bytes."""
    regions: tuple[SparseRegion, ...] = field(default=())
    """Sparse regions registered with the compaction engine; empty: the engine is off and sparse loads are ordinary."""
    dimensions: int = 0
    """Number of dimensions that the kernel reads, 1 to 3; 0: up to the last dimension larger than 1."""

    def __post_init__(self) -> None:
        if not self.dimensions:
            _, y, z = self.global_size
            object.__setattr__(self, "dimensions", 3 if z > 1 else 2 if y > 1 else 1)
        for axis, total, local in zip("xyz", self.global_size, self.local_size, strict=True):
            if total < 1 or local < 1:
                raise GridError(f"launch of '{self.kernel.name}': size along {axis} must be at least 1")

    @property
    def workgroups(self) -> tuple[int, int, int]:
        """Workgroups in x, y, z; a last one may be partial."""
        x, y, z = (-(-g // w) for g, w in zip(self.global_size, self.local_size, strict=True))
        return x, y, z

    @property
    def is_whole(self) -> bool:
        """Whether no workgroup is cut at the grid's edge, so that all wavefronts have work-items."""
        return all(g % w == 0 for g, w in zip(self.global_size, self.local_size, strict=True))

    @property
    def pointers(self) -> list[int]:
        """The addresses among the kernel's arguments, in order."""
        return [
            struct.unpack_from("<Q", self.kernarg, argument.offset)[0]
            for argument in self.kernel.arguments
            if argument.kind in POINTERS and argument.size == 8
        ]

    @property
    def workgroup_at_a_time(self) -> Residency:
        """The residency of one workgroup after another."""
        return Residency(1, self.wavefronts_per_workgroup, 1)

    @property
    def wavefronts_per_workgroup(self) -> int:
        """Wavefronts of 64 lanes in a full workgroup."""
        x, y, z = self.local_size
        return -(-x * y * z // 64)
