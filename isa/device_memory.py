"""Device memory: one flat image, its allocations, and the per-line permission map that accesses are checked with."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.host_memory import zeroed
from isa.addresses import VIRTUAL_BASE as VIRTUAL_BASE
from isa.trace import LINE_ADDRESS_MASK, LINE_BYTES

ALLOCATION_ALIGNMENT_BYTES = 4096
DEFAULT_ARCHITECTURE = "gfx803"  # of shipped code objects
GUARD_BYTES = 4096

READABLE, WRITABLE, PARTIAL, SLACK = 1, 2, 4, 8


class DeviceMemoryError(UserError):
    """Out of device memory, or an access outside every allocation."""


def _with_guard(end: int) -> int:
    """Return the first offset at which another allocation may begin after one that ends at `end`."""
    return -(-(end + GUARD_BYTES) // ALLOCATION_ALIGNMENT_BYTES) * ALLOCATION_ALIGNMENT_BYTES


def successive_addresses(sizes: Sequence[int]) -> list[int]:
    """Return the addresses that an empty device memory gives to allocations of these sizes in bytes, in order."""
    ends = [GUARD_BYTES]
    for size_bytes in sizes:
        ends.append(_with_guard(ends[-1] + size_bytes))
    return [VIRTUAL_BASE + start for start in ends[:-1]]


@dataclass(frozen=True)
class Allocation:
    """A named range of device memory: `address` and `size_bytes`."""

    name: str
    """Name for messages."""
    address: int
    """Device address of the first byte."""
    size_bytes: int
    """Size."""
    writable: bool = True
    """Kernels may write it."""

    @property
    def end(self) -> int:
        """First address after the allocation."""
        return self.address + self.size_bytes


class StrayAccess(NamedTuple):
    """Accesses of one launch that a GPU does not stop."""

    kind: str
    """Kind of the accesses: 'memory', 'LDS load' or 'LDS store'."""
    text: str
    """Description of the first one."""
    lanes: int
    """Number of lanes that made such accesses."""


def _reserved(capacity_bytes: int) -> np.ndarray:
    """Reserve addresses for an image; pages take host memory once they are touched. Raises DeviceMemoryError."""
    try:
        return zeroed(capacity_bytes, huge_pages=True)
    except (OSError, MemoryError) as error:
        raise DeviceMemoryError(
            f"device memory of {capacity_bytes >> 20} MiB: the host reserves no such range of addresses"
            f" ({getattr(error, 'strerror', None) or error}); a smaller gpu.memory_mib or a higher `ulimit -v` may help"
        ) from None


class DeviceMemory:
    """The device's memory image of `capacity_bytes`, addressed from `VIRTUAL_BASE`.

    `image` holds the bytes, `permissions` one byte per 64-byte line (READABLE | WRITABLE | PARTIAL, the last for a line
    whose end lies outside its allocation; or SLACK). Pages that were never touched take no host memory.

    Args:
        image: Zeroed bytes from the start of a page that other processes see too, in place of this process's own.
        clear: Zeroes the bytes of `image` between two offsets.
        slack_bytes: Memory comes in chunks of so many bytes, and an access in one with an allocation, but in none of
            its allocations, is let through and noted (0: it is a fault).
        architecture: The device's, as compilers name it: which code its kernels have.
    """

    def __init__(
        self,
        capacity_bytes: int,
        image: np.ndarray | None = None,
        clear: Callable[[int, int], None] | None = None,
        slack_bytes: int = 0,
        architecture: str = DEFAULT_ARCHITECTURE,
    ) -> None:
        most = LINE_ADDRESS_MASK * LINE_BYTES - VIRTUAL_BASE
        if capacity_bytes > most:
            raise DeviceMemoryError(
                f"{capacity_bytes} bytes of device memory: the line numbers of a trace reach {most}"
            )
        self.capacity_bytes = capacity_bytes
        if image is not None and (
            image.shape != (capacity_bytes,) or image.dtype != np.uint8 or image.ctypes.data % 4096
        ):
            raise ValueError(f"an image of {capacity_bytes} bytes of device memory starts on a page and is as long")
        self.image = _reserved(capacity_bytes) if image is None else image
        self._clear = clear  # not a method of its own: the cycle would hold the image until Python looks for cycles
        self.slack_bytes, self.architecture = slack_bytes, architecture
        self.drops_lds = False  # accesses beyond a workgroup's LDS are as on a GPU: they read 0 and write nothing
        self.strays: list[StrayAccess] = []  # accesses that were let through, for whoever tells of them
        self.permissions = np.zeros(capacity_bytes // LINE_BYTES, np.uint8)
        self._held: dict[int, Allocation] = {}  # by address
        self._starts: list[int] = []  # addresses of the allocations, ordered
        self._ends: list[int] = []  # likewise
        self._next = GUARD_BYTES
        self._uncomputed: dict[int, str] = {}  # addresses of allocations, with why they may hold what nothing computed
        self._free: list[tuple[int, int]] = []  # (start, end) offsets that were given back, ordered, never adjacent

    def allocate(self, size_bytes: int, name: str, writable: bool = True, addressed: bool = True) -> Allocation:
        """Reserve `size_bytes`, zeroed; raises DeviceMemoryError when the device is full.

        addressed: False for memory that kernels reach in ways with checks of their own, and by no address.
        """
        if size_bytes <= 0:
            raise DeviceMemoryError(f"allocation '{name}': size {size_bytes} must be positive")
        start = self._reuse(size_bytes)
        if start is None:
            start = self._next
            end = start + size_bytes
            if end + GUARD_BYTES > self.capacity_bytes:
                free = max(0, self.capacity_bytes - start - GUARD_BYTES)
                raise DeviceMemoryError(
                    f"allocation '{name}': {size_bytes} bytes do not fit, {free} of {self.capacity_bytes} are free"
                )
            self._next = _with_guard(end)
        allocation = Allocation(name, VIRTUAL_BASE + start, size_bytes, writable)
        self._held[allocation.address] = allocation
        insort(self._starts, allocation.address)
        insort(self._ends, allocation.end)
        if self.slack_bytes:
            self._cleared(start, start + size_bytes)
        if addressed:
            self._set_permissions(allocation)
        return allocation

    def allocate_at(self, address: int, size_bytes: int, name: str) -> Allocation:
        """Reserve `size_bytes`, zeroed, at an address behind all that was ever allocated; raise DeviceMemoryError."""
        start = address - VIRTUAL_BASE
        if start < self._next or start % ALLOCATION_ALIGNMENT_BYTES:
            raise DeviceMemoryError(f"allocation '{name}': {address:#x} is not free, or not at the start of a page")
        if start > self._next:
            self._free.append((self._next, start))
            self._next = start
        held, self._free = self._free, []
        try:
            return self.allocate(size_bytes, name)
        finally:
            self._free = held

    def free(self, allocation: Allocation) -> None:
        """Give an allocation back: accesses to it fault from now on; DeviceMemoryError if it is not allocated."""
        if self._held.get(allocation.address) != allocation:
            raise DeviceMemoryError(f"allocation '{allocation.name}' is not allocated")
        del self._held[allocation.address]
        at = bisect_left(self._starts, allocation.address)
        del self._starts[at], self._ends[at]
        self.set_computed(allocation)
        start = allocation.address - VIRTUAL_BASE
        end = _with_guard(start + allocation.size_bytes)
        self.permissions[start // LINE_BYTES : end // LINE_BYTES] = 0
        if self.slack_bytes:
            self._set_slack(start, end)
        top = end
        k = bisect_left(self._free, (start, end))
        if k < len(self._free) and self._free[k][0] == end:
            _, end = self._free.pop(k)
        if k and self._free[k - 1][1] == start:
            k -= 1
            start, _ = self._free.pop(k)
        if end == self._next:
            self._next = start
            self._cleared(start, top)
        else:
            self._free.insert(k, (start, end))

    def _reuse(self, size_bytes: int) -> int | None:
        """Take the first freed range that is large enough, zeroed; returns its start, None if there is none."""
        needed = _with_guard(size_bytes)
        for k, (start, end) in enumerate(self._free):
            if end - start >= needed:
                self._free[k : k + 1] = [(start + needed, end)] if end - start > needed else []
                self._cleared(start, start + size_bytes)
                return start
        return None

    def discard(self, address: int, size_bytes: int) -> None:
        """Zero bytes that are needed no more with `clear`, if there is one, which gives their pages back."""
        if self._clear is not None:
            start = address - VIRTUAL_BASE
            self._clear(start, start + size_bytes)

    def _cleared(self, start: int, end: int) -> None:
        (self._clear or self._write_zeros)(start, end)

    def _write_zeros(self, start: int, end: int) -> None:
        self.image[start:end] = 0

    def upload(self, array: np.ndarray, name: str, writable: bool = True) -> Allocation:
        """Allocate memory, writable or not, and copy `array`'s bytes into it (in its own memory order)."""
        flat = array.ravel(order="K")
        allocation = self.allocate(flat.nbytes, name, writable)
        self.view(allocation, flat.dtype)[:] = flat
        return allocation

    def protect(self, allocation: Allocation) -> None:
        """Refuse stores to the allocation from now on."""
        if self._held.get(allocation.address) != allocation:
            raise DeviceMemoryError(f"allocation '{allocation.name}' is not allocated")
        self._held[allocation.address] = protected = replace(allocation, writable=False)
        self._set_permissions(protected)

    @property
    def allocations(self) -> list[Allocation]:
        """The present allocations, oldest first."""
        return list(self._held.values())

    @property
    def ends(self) -> np.ndarray:
        """First addresses after the allocations, in ascending order: int64."""
        return np.array(self._ends, np.int64)

    def at(self, address: int) -> Allocation | None:
        """Return the allocation that begins at an address, None if there is none."""
        return self._held.get(address)

    def view(self, allocation: Allocation, dtype: np.typing.DTypeLike = np.uint8) -> np.ndarray:
        """Return the allocation's bytes as a flat array of `dtype`, shared with the image."""
        start = allocation.address - VIRTUAL_BASE
        return self.image[start : start + allocation.size_bytes].view(dtype)

    def set_uncomputed(self, kernarg: bytes, why: str) -> None:
        """Note, for the allocations of a launch's arguments, that the launch has not computed all that it should have.

        Those are the allocations that an argument points into and that a kernel may write to. why: the reason.
        """
        words = np.frombuffer(kernarg[: len(kernarg) // 8 * 8], "<u8")
        for allocation in self.allocations:
            if allocation.writable and ((words >= allocation.address) & (words < allocation.end)).any():
                self._uncomputed[allocation.address] = why

    def set_computed(self, allocation: Allocation) -> None:
        """Note that an allocation has been written as a whole."""
        self._uncomputed.pop(allocation.address, None)

    def explain_uncomputed(self, allocation: Allocation) -> str:
        """Return why an allocation may hold what no workgroup has computed; empty if it does not."""
        return self._uncomputed.get(allocation.address, "")

    @property
    def has_uncomputed(self) -> bool:
        """Whether any allocation may hold what no workgroup has computed."""
        return bool(self._uncomputed)

    def uncomputed(self, addresses: Sequence[int]) -> list[Allocation]:
        """Return the allocations at some addresses that may hold what no workgroup has computed."""
        held = [self._held[address] for address in self._uncomputed if address in self._held]
        return [one for one in held if any(one.address <= address < one.end for address in addresses)]

    def nearest(self, address: int) -> Allocation | None:
        """Return the allocation that holds `address`, or else the one closest to it."""
        ordered = sorted(self.allocations, key=lambda a: a.address)
        i = bisect_right([a.address for a in ordered], address)
        around = ordered[max(0, i - 1) : i + 1]
        return min(around, key=lambda a: max(a.address - address, address - a.end + 1, 0), default=None)

    def _set_permissions(self, allocation: Allocation) -> None:
        start = allocation.address - VIRTUAL_BASE
        first, last = start // LINE_BYTES, (start + allocation.size_bytes - 1) // LINE_BYTES
        rights = READABLE | (WRITABLE if allocation.writable else 0)
        if self.slack_bytes:
            self._set_slack(start, start + allocation.size_bytes)
        self.permissions[first : last + 1] = rights
        if (start + allocation.size_bytes) % LINE_BYTES:
            self.permissions[last] = rights | PARTIAL

    def _set_slack(self, start: int, end: int) -> None:
        """Mark what is not allocated of the chunks from offset `start` to `end`, where they hold an allocation."""
        size = self.slack_bytes
        for chunk in {start // size * size, (end - 1) // size * size}:
            address = VIRTUAL_BASE + chunk
            k = bisect_right(self._ends, address)
            held = k < len(self._ends) and self._starts[k] < address + size
            lines = self.permissions[chunk // LINE_BYTES : (chunk + size) // LINE_BYTES]
            lines[(lines == 0) | (lines == SLACK)] = SLACK if held else 0
