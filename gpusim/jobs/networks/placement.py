"""Where a launch's arrays lie while it is timed: in a device memory of its own, laid out as the launch alone says.

Which L2 channels, sets, DRAM banks and TLB sets the lines of arrays meet in decides up to half of a small launch's
time. In a network's memory that follows from the whole plan, so that a launch would take another time for each image
and each network around it. A memory of its own has the arrays in the order of the kernel's arguments, as a program that
runs the kernel alone allocates them, and behind them the code: equal launches are then equal to the byte.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gpusim.base.host_memory import returnable, zeroed
from isa.device_memory import VIRTUAL_BASE, DeviceMemory, successive_addresses
from isa.launch import Launch
from isa.trace import LINE_BYTES
from workloads.operators.primitive import TensorOperator
from workloads.operators.tensor import Tensor
from workloads.shapes import round_up

OVERHEAD_BYTES = 1 << 20  # of address space for kernel arguments and guards
GLOBAL_POINTER = "global_buffer"  # kind of the arguments that are addresses in device memory
HUGE_PAGE_BYTES = 1 << 24  # of arrays from which on the host's huge pages pay: to touch one writes 2 MiB of zeros
PAGE_BYTES = 4096  # at whose start an allocation begins
DRAWN_PAGES = 512  # that another draw of the machine leaves free at most between two arrays: 2 MiB
DRAWN_BLOCKS, BLOCK_BYTES = 16, 256  # where in a page an array may begin then: what a network's plan aligns to


class ArrayRange(NamedTuple):
    """Arrays that overlap in the network's memory, and their place in a launch's own."""

    begin: int
    """First address of the arrays in the network's memory."""
    end: int
    """First address after them there."""
    used: int
    """Lowest address there that a launch points to: what is before it has no place."""
    lead_bytes: int
    """Bytes from the allocation's start to the place of `used`, which stays where it is in its cache line."""
    address: int
    """Start of the allocation in the launch's own memory."""

    @property
    def size_bytes(self) -> int:
        """Size of the allocation: for a launch that takes an array by parts the same whichever part it is."""
        return self.lead_bytes + self.end - self.begin

    def move(self, address: int) -> int:
        """Return the place of an address of the network's memory."""
        return self.address + self.lead_bytes + address - self.used


@dataclass(frozen=True)
class LaunchPlacement:
    """Places of the arrays of launches that run one after another in a memory of their own."""

    ranges: tuple[ArrayRange, ...]
    """Ranges of memory, in the order in which the launches' arguments name them first."""

    def find(self, address: int) -> ArrayRange:
        """Return the range of an address of the network's memory; raise ValueError where there is none."""
        return self.ranges[_extent_of(address, [(one.begin, one.end) for one in self.ranges])]

    def move_arguments(self, launch: Launch) -> bytes:
        """Return a launch's arguments with the places of its arrays."""
        block = bytearray(launch.kernarg)
        for offset, address in _pointers(launch):
            struct.pack_into("<Q", block, offset, self.find(address).move(address))
        return bytes(block)

    def move_regions(self, launch: Launch) -> Launch:
        """Return a launch whose sparse regions are at the places of its arrays."""
        regions = (replace(one, address=self.find(one.address).move(one.address)) for one in launch.regions)
        return replace(launch, regions=tuple(regions))

    def move(self, launch: Launch, memory: DeviceMemory) -> Launch:
        """Return a launch over its arrays' places in `memory`."""
        return replace(self.move_regions(launch), memory=memory, kernarg=self.move_arguments(launch))

    def allocate(self, architecture: str, beside_bytes: int) -> DeviceMemory:
        """Return a zeroed memory for GPUs of an architecture, with an allocation for each range.

        Args:
            architecture: the GPU's.
            beside_bytes: what code and private memory of the launches need beside the ranges.

        Returns:
            The memory.
        """
        end = max((array.address + array.size_bytes for array in self.ranges), default=VIRTUAL_BASE)
        size = round_up(end - VIRTUAL_BASE + beside_bytes, PAGE_BYTES) + OVERHEAD_BYTES
        small = end - VIRTUAL_BASE < HUGE_PAGE_BYTES
        image = (zeroed(size, huge_pages=False), None) if small else returnable(size)
        memory = DeviceMemory(size, *image, architecture=architecture)
        for number, array in enumerate(self.ranges):
            memory.allocate_at(array.address, array.size_bytes, f"array {number}")
        return memory


def place_arrays(launches: Sequence[tuple[TensorOperator, Launch]], draw: int = 0) -> LaunchPlacement:
    """Place the arrays of launches.

    Args:
        launches: each with its operator, in order.
        draw: of the machine (`gpusim.model.core.perturbation`): 0 places arrays one after another, others leave gaps.

    Returns:
        The places.

    Raises:
        ValueError: an argument points into none of the operator's arrays.
    """
    addresses = list(dict.fromkeys(address for _, launch in launches for address in _addresses(launch)))
    extents = {(t.address, t.address + t.size_bytes) for one in launches for t in pointed_tensors(*one).values()}
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(extents):
        if merged and begin < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    named: dict[tuple[int, int], int] = {}  # with the lowest address in it that is used
    for address in addresses:
        extent = merged[_extent_of(address, merged)]
        named[extent] = min(named.get(extent, address), address)
    random = np.random.default_rng(draw) if draw else None
    leads, gaps = [], []
    for used in named.values():
        drawn = 0 if random is None else BLOCK_BYTES * int(random.integers(DRAWN_BLOCKS))
        leads.append(used % LINE_BYTES + drawn)
        gaps.append(0 if random is None else PAGE_BYTES * int(random.integers(DRAWN_PAGES)))
    sizes = [lead + end - begin for (begin, end), lead in zip(named, leads, strict=True)]
    starts = successive_addresses(sizes)
    shifts = np.cumsum(gaps, dtype=np.int64).tolist()
    return LaunchPlacement(
        tuple(
            ArrayRange(begin=begin, end=end, used=used, lead_bytes=lead, address=start + shift)
            for ((begin, end), used), lead, start, shift in zip(named.items(), leads, starts, shifts, strict=True)
        )
    )


def pointed_tensors(operator: TensorOperator, launch: Launch) -> dict[str, Tensor]:
    """Return the operator's tensors that a launch points into, by name."""
    extents = [(tensor.address, tensor.address + tensor.size_bytes) for tensor in operator.tensors.values()]
    pointed = {extents[_extent_of(address, extents)] for address in _addresses(launch)}
    return {
        name: tensor
        for (name, tensor), extent in zip(operator.tensors.items(), extents, strict=True)
        if extent in pointed
    }


def _extent_of(address: int, extents: Sequence[tuple[int, int]]) -> int:
    """Return the number of the extent, begin and end, that an address lies in, else of one that it is the end of.

    A part without elements begins at its array's end. Raises ValueError where there is none.
    """
    for least in (1, 0):
        for number, (begin, end) in enumerate(extents):
            if begin <= address <= end - least:
                return number
    raise ValueError(f"{address:#x} is in none of the launch's arrays")


def _addresses(launch: Launch) -> Iterator[int]:
    """Yield the addresses in device memory that a launch names: its pointers, then its sparse regions."""
    for _, address in _pointers(launch):
        yield address
    for region in launch.regions:
        yield region.address


def _pointers(launch: Launch) -> Iterator[tuple[int, int]]:
    """Yield offset and value of the pointers to device memory among a launch's arguments, but for null pointers."""
    for argument in launch.kernel.arguments:
        if argument.kind == GLOBAL_POINTER and argument.size == 8:
            (address,) = struct.unpack_from("<Q", launch.kernarg, argument.offset)
            if address:
                yield argument.offset, address
