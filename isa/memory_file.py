"""Device memory around a launch as a file: its argument block and what each allocation held.

A file of `numpy.savez`: `arguments` (uint8), `code` (where the code object is loaded: device address less linked
address), and each allocation by its address and name, `0x100001000 hipMalloc of 400 bytes` (uint8). One of memory after
the launch has the allocations alone that the launch has changed.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gpusim.base.errors import UserError
from isa.device_memory import Allocation, DeviceMemory

_ARGUMENTS, _CODE = "arguments", "code"


@dataclass(frozen=True)
class AllocationContent:
    """An allocation's content: name and bytes (uint8)."""

    name: str
    """Name of the allocation."""
    content: np.ndarray
    """Bytes, uint8."""


@dataclass(frozen=True, eq=False)
class MemoryFile:
    """Contents of a memory file."""

    pieces: Mapping[int, AllocationContent] = field(default_factory=dict)
    """Allocations by ascending address."""
    arguments: bytes = b""
    """Kernel argument block."""
    code: int = 0
    """Load offset of the code object: device address minus linked address."""

    def packed(self) -> bytes:
        """Return the file's bytes."""
        arrays = {f"{address:#x} {piece.name}": piece.content for address, piece in self.pieces.items()}
        arrays[_ARGUMENTS] = np.frombuffer(self.arguments, np.uint8)
        arrays[_CODE] = np.array(self.code, np.int64)
        out = io.BytesIO()
        np.savez_compressed(out, allow_pickle=False, **arrays)
        return out.getvalue()

    @classmethod
    def read(cls, path: Path) -> "MemoryFile":
        """Read a file; raise UserError for one of another kind."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                stored = {name: arrays[name] for name in arrays.files}
            arguments, code = stored.pop(_ARGUMENTS).tobytes(), int(stored.pop(_CODE))
            contents = {}
            for key, content in stored.items():
                address, _, name = key.partition(" ")
                contents[int(address, 16)] = name, content.astype(np.uint8, casting="no").ravel()
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
        except MemoryError:
            raise
        except Exception:  # readers of archives raise all kinds on a damaged file
            raise UserError(f"{path}: holds no device memory as gpusim hip --record writes it") from None
        pieces = {address: AllocationContent(*contents[address]) for address in sorted(contents)}
        return cls(pieces, arguments, code)

    def place(self, memory: DeviceMemory) -> list[Allocation]:
        """Put all allocations where they were, into a device memory that has none; raise DeviceMemoryError."""
        placed = []
        for address, piece in self.pieces.items():
            allocation = memory.allocate_at(address, len(piece.content), piece.name)
            memory.view(allocation)[:] = piece.content
            placed.append(allocation)
        return placed


def contents(memory: DeviceMemory, allocations: list[Allocation]) -> dict[int, AllocationContent]:
    """Copy what some allocations hold.

    Args:
        memory: the device memory.
        allocations: which of them.

    Returns:
        Contents by address.
    """
    ordered = sorted(allocations, key=lambda one: one.address)
    return {one.address: AllocationContent(one.name, memory.view(one).copy()) for one in ordered}
