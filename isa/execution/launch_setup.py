"""What a launch puts into device memory, and the user SGPRs that point to it (LLVM AMDGPU guide; HSA runtime)."""

import struct
import weakref
from typing import TYPE_CHECKING

from isa.device_memory import Allocation, DeviceMemory, DeviceMemoryError
from isa.execution.state import MAX_USER_SGPRS
from isa.kernarg import KernargError
from isa.object.code_object import CodeObjectError, Kernel, ModuleImage

if TYPE_CHECKING:
    from isa.launch import Launch

PACKET_BYTES = 64  # hsa_kernel_dispatch_packet_t
QUEUE_BYTES = 256  # amd_queue_t
_QUEUE_APERTURES = 0x40  # group_segment_aperture_base_hi, private_segment_aperture_base_hi
_BLOCK_ALIGNMENT = 64
_BLOCK, _PRIVATE = "kernel arguments and dispatch packet", "private memory"  # names of a launch's own allocations
_PAGE_BYTES = 4096
_PACKET_HEADER = 0x1502  # kernel dispatch, system-scope acquire and release fences
# private segment buffer resource: words 1 and 3 (GCN3 ISA manual, section 8.1.8; LLVM SIISelLowering for HSA)
_SWIZZLE_ENABLE = 1 << 31
_ALL_RECORDS = 0xFFFF_FFFF

_images: "weakref.WeakKeyDictionary[DeviceMemory, dict[tuple[bytes, int], int]]" = weakref.WeakKeyDictionary()
_free: "weakref.WeakKeyDictionary[DeviceMemory, dict[tuple[str, int], list[Allocation]]]" = weakref.WeakKeyDictionary()


def load_image(memory: DeviceMemory, kernel: Kernel | ModuleImage) -> int:
    """Load a kernel's code object, once into a device memory.

    Args:
        memory: the device memory.
        kernel: the kernel, or a code object without one.

    Returns:
        The load base: device address minus linked address.
    """
    loaded = _images.setdefault(memory, {})
    key = (kernel.image, kernel.image_address)
    if key not in loaded:
        lead = kernel.image_address % _PAGE_BYTES
        allocation = memory.allocate(lead + len(kernel.image), f"code object of '{kernel.name}'")
        base = allocation.address + lead - kernel.image_address
        image = kernel.image_at(base)
        memory.view(allocation)[lead:] = memoryview(image)
        loaded[key] = base
    return loaded[key]


def adopt_image(memory: DeviceMemory, kernel: Kernel, load_base: int) -> None:
    """Take what lies in memory for a kernel's code object, in place of loading it.

    Args:
        memory: the device memory.
        kernel: the kernel.
        load_base: device address minus linked address.
    """
    _images.setdefault(memory, {})[(kernel.image, kernel.image_address)] = load_base


def is_of_a_launch(allocation: Allocation) -> bool:
    """Tell whether an allocation is a launch's own: its block, or its private memory."""
    return allocation.name in (_BLOCK, _PRIVATE)


def unload_image(memory: DeviceMemory, kernel: Kernel | ModuleImage) -> None:
    """Free the memory of a kernel's code object, if it was loaded; once loaded again, its variables are as at first.

    Args:
        memory: the device memory.
        kernel: the kernel, or a code object without one.
    """
    base = _images.get(memory, {}).pop((kernel.image, kernel.image_address), None)
    if base is not None:
        address = base + kernel.image_address // _PAGE_BYTES * _PAGE_BYTES
        image = memory.at(address)
        if image is not None:
            memory.free(image)


def _give_back(memory: DeviceMemory, held: dict[tuple[str, int], list[Allocation]]) -> None:
    """Free the memory that is kept for later launches."""
    for kept in held.values():
        while kept:
            memory.free(kept.pop())


class LaunchBlock:
    """The device memory of one launch: kernel arguments, dispatch packet, queue, private memory.

    Raises KernargError if the kernel argument block is shorter than the kernel's, DeviceMemoryError without space.
    """

    def __init__(self, launch: "Launch", scratch_bytes: int) -> None:
        kernel = launch.kernel
        if len(launch.kernarg) < kernel.kernarg_bytes:
            raise KernargError(
                f"kernel '{kernel.name}' takes {kernel.kernarg_bytes} bytes of arguments, got {len(launch.kernarg)}"
            )
        self._memory = weakref.ref(launch.memory)
        self._taken: list[tuple[tuple[str, int], Allocation]] = []
        kernarg_bytes = -(-max(len(launch.kernarg), 1) // _BLOCK_ALIGNMENT) * _BLOCK_ALIGNMENT
        block = self._take(launch.memory, _BLOCK, PACKET_BYTES + QUEUE_BYTES + kernarg_bytes)
        self.packet_address = block.address
        self.queue_address = block.address + PACKET_BYTES
        self.kernarg_address = block.address + PACKET_BYTES + QUEUE_BYTES
        view = launch.memory.view(block)
        view[:] = 0
        view[:PACKET_BYTES] = memoryview(self._packet(launch))
        architecture = kernel.architecture
        apertures = struct.pack("<II", architecture.shared_aperture_high, architecture.private_aperture_high)
        at = PACKET_BYTES + _QUEUE_APERTURES
        view[at : at + len(apertures)] = memoryview(apertures)
        at = PACKET_BYTES + QUEUE_BYTES
        self.kernarg = self._with_hidden(launch)
        view[at : at + len(self.kernarg)] = memoryview(self.kernarg)
        self.scratch_address = 0
        if scratch_bytes:
            self.scratch_address = self._take(launch.memory, _PRIVATE, scratch_bytes, addressed=False).address

    def _take(self, memory: DeviceMemory, name: str, size_bytes: int, addressed: bool = True) -> Allocation:
        key = (name, size_bytes)
        pools = _free.setdefault(memory, {})
        free = pools.setdefault(key, [])
        if free:
            allocation = free.pop()
        else:
            try:
                allocation = memory.allocate(size_bytes, name, addressed=addressed)
            except DeviceMemoryError:
                _give_back(memory, pools)
                allocation = memory.allocate(size_bytes, name, addressed=addressed)
        self._taken.append((key, allocation))
        return allocation

    def release(self) -> None:
        """Let later launches on the same memory use the block again."""
        memory = self._memory()
        if memory is not None:
            for key, allocation in self._taken:
                _free[memory][key].append(allocation)
        self._taken.clear()

    def _with_hidden(self, launch: "Launch") -> bytes:
        """Return the argument block with the hidden arguments that are facts of the launch and the machine."""
        values = {
            "hidden_queue_ptr": self.queue_address,
            "hidden_private_base": launch.kernel.architecture.private_aperture_high,
            "hidden_shared_base": launch.kernel.architecture.shared_aperture_high,
            "hidden_dynamic_lds_size": launch.dynamic_lds_bytes,
            "hidden_grid_dims": launch.dimensions,
        }
        for axis, total, local in zip("xyz", launch.global_size, launch.local_size, strict=True):
            values[f"hidden_block_count_{axis}"] = total // local  # complete workgroups
            values[f"hidden_group_size_{axis}"] = local
            values[f"hidden_remainder_{axis}"] = total % local
        block = bytearray(launch.kernarg)
        for argument in launch.kernel.arguments:
            if argument.kind in values:
                raw = values[argument.kind].to_bytes(8, "little")[: argument.size]
                block[argument.offset : argument.offset + argument.size] = raw
        return bytes(block)

    def _packet(self, launch: "Launch") -> bytes:
        kernel = launch.kernel
        return struct.pack(
            "<HHHHHHIIIIIQQQQ",
            _PACKET_HEADER,
            launch.dimensions,
            *launch.local_size,
            0,
            *launch.global_size,
            kernel.private_segment_bytes,
            kernel.lds_bytes + launch.dynamic_lds_bytes,
            0,  # kernel object: the descriptor's address, which kernels do not read
            self.kernarg_address,
            0,
            0,
        )


def user_data(launch: "Launch", block: LaunchBlock) -> list[int]:
    """Return the user SGPRs' values in their order, as many as the kernel asks for."""
    kernel = launch.kernel
    out: list[int] = []

    def pair(value: int) -> None:
        out.extend((value & 0xFFFF_FFFF, value >> 32))

    if kernel.enable_private_segment_buffer:
        base = block.scratch_address
        out += [base & 0xFFFF_FFFF, base >> 32 | _SWIZZLE_ENABLE, _ALL_RECORDS, kernel.architecture.resource_word3]
    if kernel.enable_dispatch_ptr:
        pair(block.packet_address)
    if kernel.enable_queue_ptr:
        pair(block.queue_address)
    if kernel.enable_kernarg_segment_ptr:
        pair(block.kernarg_address)
    if kernel.enable_dispatch_id:
        pair(0)
    if kernel.enable_flat_scratch_init:
        if kernel.architecture.flat_scratch_address:
            pair(block.scratch_address)
        else:  # offset from the hidden private base, bytes of a work-item
            out += [0, kernel.private_segment_bytes]
    if kernel.enable_private_segment_size:
        out.append(kernel.private_segment_bytes)
    for enabled, count in zip(kernel.enable_grid_workgroup_count, launch.workgroups, strict=True):
        if enabled:
            out.append(count)
    first, preloaded = kernel.preloaded_arguments
    if preloaded:
        out += struct.unpack_from(f"<{preloaded}I", block.kernarg, 4 * first)
    if len(out) > MAX_USER_SGPRS:
        raise CodeObjectError(f"kernel '{kernel.name}' asks for {len(out)} user SGPRs, at most {MAX_USER_SGPRS} exist")
    out += [0] * (min(kernel.user_sgprs, MAX_USER_SGPRS) - len(out))
    return out
