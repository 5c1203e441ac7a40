"""Faults of a running wavefront: codes that compiled code returns, and the errors a user reads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT
from isa.execution.resident import WavefrontGroup, format_source
from isa.object.line_table import SourceLine
from isa.object.names import short

if TYPE_CHECKING:
    from isa.device_memory import DeviceMemory
    from isa.encoding.instruction import Instruction
    from isa.object.code_object import Kernel

(
    FAULT_UNMAPPED,
    FAULT_READ_ONLY,
    FAULT_LDS,
    FAULT_MISALIGNED,
    FAULT_SPARSE,
    FAULT_BRANCH,
    FAULT_LIMIT,
    FAULT_REGISTER,
    FAULT_LINES,
    FAULT_PRIVATE,
    FAULT_TRAP,
    FAULT_NO_END,
    FAULT_PASSAGE,
    FAULT_GRID_BARRIER,
    FAULT_IMAGE,
) = range(-1, -16, -1)

# An endless loop is one of a wavefront, or of all of a full GPU, which would reach the limit of one after hours
WAVEFRONTS_TO_LIMIT = 64  # instructions of all wavefronts, as a multiple of those of one, without one of them ending

_TEXT = {
    FAULT_UNMAPPED: "access outside every allocation",
    FAULT_READ_ONLY: "write to read-only memory",
    FAULT_LDS: "access outside the workgroup's LDS",
    FAULT_MISALIGNED: "misaligned access",
    FAULT_SPARSE: "sparse load outside every registered sparse region",
    FAULT_BRANCH: "jump to an address that is no instruction of the kernel",
    FAULT_LIMIT: "instruction limit of a wavefront reached (endless loop? max_instructions sets the limit)",
    FAULT_NO_END: "instruction limit of all wavefronts reached: none has ended within "
    f"{WAVEFRONTS_TO_LIMIT} times max_instructions (endless loop?)",
    FAULT_REGISTER: "register index out of range",
    FAULT_LINES: "one instruction touches more than 128 memory lines",
    FAULT_PRIVATE: "access outside the work-item's private memory",
    FAULT_PASSAGE: "a loop is not as long, or not the same every time, as its first wavefront's",
    FAULT_GRID_BARRIER: "the grid's barrier waits for wavefronts that never come: it needs all workgroups of the grid "
    "resident at once, and all of them at the barrier",
    FAULT_IMAGE: "image resource or sampler that is not supported",
    FAULT_TRAP: "the kernel stopped itself (trap)",
}
# what of an image resource or sampler is not supported: the number of each is a fault's size
(
    IMAGE_TYPE,
    IMAGE_TILING,
    IMAGE_LEVELS,
    IMAGE_FORMAT,
    IMAGE_FILTER,
    IMAGE_TWO_FILTERS,
    IMAGE_INTEGER_FILTER,
    IMAGE_CLAMP,
    IMAGE_BORDER,
    IMAGE_ATOMIC,
    IMAGE_COMPARE,
    IMAGE_SWIZZLED,
) = range(1, 13)
_OF_IMAGE = {
    IMAGE_TYPE: "the resource's TYPE is none of 1D, 2D, 3D, 1D array, 2D array",
    IMAGE_TILING: "the resource's tiling is not linear",
    IMAGE_LEVELS: "the resource has several mipmap levels; one is allowed",
    IMAGE_FORMAT: "the resource's DATA_FORMAT with its NUM_FORMAT is none of 8, 16, 32, 8_8, 16_16, 32_32, 8_8_8_8,"
    " 16_16_16_16, 32_32_32_32 with UNORM, SNORM (8 and 16 bits), UINT, SINT, FLOAT (16 and 32 bits)",
    IMAGE_FILTER: "the sampler's filter is neither point nor bilinear",
    IMAGE_TWO_FILTERS: "the sampler has one filter for magnification and another for minification",
    IMAGE_INTEGER_FILTER: "the sampler's filter is linear, the resource's numbers are integers",
    IMAGE_CLAMP: "the sampler's CLAMP is none of WRAP, MIRROR, CLAMP_LAST_TEXEL, MIRROR_ONCE_LAST_TEXEL, CLAMP_BORDER,"
    " MIRROR_ONCE_BORDER",
    IMAGE_BORDER: "the sampler's border colour comes from a table",
    IMAGE_ATOMIC: "an atomic on texels that are not one number of 32 bits",
    IMAGE_COMPARE: "a comparison with texels that are not one floating-point number",
    IMAGE_SWIZZLED: "the buffer resource is swizzled",
}
ENDLESS = {FAULT_LIMIT, FAULT_NO_END}
_OF_SIZE = {**dict.fromkeys(ENDLESS, " instructions"), FAULT_GRID_BARRIER: " more would have to come"}
_WITH_ADDRESS = {FAULT_UNMAPPED, FAULT_READ_ONLY, FAULT_LDS, FAULT_MISALIGNED, FAULT_SPARSE, FAULT_PRIVATE}

_NULL_BYTES = 4096
_OF_THE_HOST = {"hidden_hostcall_buffer", "hidden_printf_buffer", "hidden_heap_v1", "hidden_default_queue"}


class ExecutionFault(UserError):
    """A kernel did what the machine does not allow; attributes say who, where and what.

    Args:
        code: One of FAULT_...
        kernel: Name of the kernel.
        instruction: Text of the instruction.
        program_counter: Byte address of the instruction as linked.
        workgroup: Linear number of the workgroup.
        wavefront: Number within the workgroup.
        lane: Number of the lane, or -1.
        address: Byte address in device memory (LDS: byte offset), or None.
        source: The instruction's line, or None.

    Attributes:
        resident: Where all wavefronts stand, for an endless loop and the grid's barrier alone.
    """

    def __init__(
        self,
        code: int,
        kernel: str,
        program_counter: int,
        instruction: str,
        workgroup: int,
        wavefront: int,
        lane: int,
        address: int | None,
        size_bytes: int,
        where: str,
        source: SourceLine | None = None,
    ) -> None:
        self.code = code
        self.kernel = kernel
        self.program_counter = program_counter
        self.instruction = instruction
        self.workgroup = workgroup
        self.wavefront = wavefront
        self.lane = lane
        self.address = address
        self.size_bytes = size_bytes
        self.source = source
        self.resident: Sequence[WavefrontGroup] = ()
        text = (
            f"kernel '{short(kernel)}', pc {program_counter:#x} ({instruction}){format_source(source)}: {_TEXT[code]}"
        )
        text += f"; workgroup {workgroup}, wavefront {wavefront}"
        if lane >= 0:
            text += f", lane {lane}"
        if code == FAULT_IMAGE:
            text += f": {_OF_IMAGE[size_bytes]}"
        elif address is not None:
            text += f", address {address:#x}{f' ({size_bytes} bytes)' if size_bytes else ''}{where}"
        elif size_bytes:
            text += f", {COUNT(size_bytes)}{_OF_SIZE.get(code, '')}"
        super().__init__(text)


def has_address(code: int) -> bool:
    """Tell whether a fault of this code is about a memory address."""
    return code in _WITH_ADDRESS


def jump_text(kernel: "Kernel", instructions: Sequence["Instruction"], linked: int) -> str:
    """Describe the target of a jump, as a clause.

    linked: the target's address as `gpusim disasm` would print it.
    """
    inside = f", as linked {linked:#x}"
    for instruction in instructions:
        if instruction.address < linked < instruction.address + instruction.size:
            return f"{inside}, within {instruction.opcode.mnemonic} at {instruction.address:#x}"
    start, end = kernel.code_address, kernel.code_address + len(kernel.code)
    return inside if start <= linked < end else f", outside the code ({start:#x} to {end:#x} as linked)"


def null_text(kernel: "Kernel", address: int) -> str:
    """Describe a possible cause of a fault at an address close to null, as a clause."""
    if address >= _NULL_BYTES or not any(argument.kind in _OF_THE_HOST for argument in kernel.arguments):
        return ""
    return "; the kernel can call the host (printf, assert, malloc, enqueue on the device), and there is none"


def nearest_text(memory: "DeviceMemory", code: int, address: int, lds_bytes: int, private_bytes: int) -> str:
    """Describe the allocation closest to a faulting address, as a clause."""
    if code == FAULT_LDS:
        return f", the workgroup has {lds_bytes} bytes of LDS"
    if code == FAULT_PRIVATE:
        return f", a work-item has {private_bytes} bytes of private memory"
    nearest = memory.nearest(address)
    if nearest is None:
        return ", nothing is allocated"
    return f", nearest allocation '{nearest.name}' [{nearest.address:#x}, {nearest.end:#x})"
