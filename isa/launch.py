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
    """How much of a launch a machine holds at a time.

    workgroups: at most; wavefront_slots, workgroup_slots: places for their registers and private memory, for their LDS.
    """

    workgroups: int
    wavefront_slots: int
    workgroup_slots: int


@dataclass(frozen=True)
class Launch:
    """One kernel over one grid.

    kernarg: the kernel argument block, laid out as the code object's metadata says;
    global_size, local_size: work-items in x, y, z; regions: the sparse regions the command processor registers
    with the compaction engine (none: the engine stays off and sparse loads are ordinary loads); dimensions: what the
    kernel reads as the number of the grid's dimensions, 1 to 3 (0: those up to the last one larger than 1).
    """

    kernel: "Kernel"
    memory: "DeviceMemory"
    kernarg: bytes
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    dynamic_lds_bytes: int = 0
    regions: tuple[SparseRegion, ...] = field(default=())
    dimensions: int = 0

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
