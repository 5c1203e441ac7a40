"""Kernel descriptors: what a kernel's code asks the hardware to set up (LLVM AMDGPU guide, kernel descriptor).

Code objects from version 3 hold a 64-byte descriptor in read-only data (symbol `NAME.kd`); version 2 has the 256-byte
`amd_kernel_code_t` in front of the code. Both carry the same two resource registers and property bits.
"""

from typing import NamedTuple

from isa.object.elf_image import MalformedError
from isa.opcodes import Architecture

DESCRIPTOR_BYTES = 64
KERNEL_CODE_BYTES = 256

SGPR_UNIT = 8  # LLVM AMDGPU guide, compute_pgm_rsrc1 for GFX6 to GFX9
MAX_SGPRS = 112  # GRANULATED_WAVEFRONT_SGPR_COUNT for GFX6 to GFX9: at most 112
MAX_LDS_BYTES = 65536
MAX_PRIVATE_BYTES = 8191 * 1024 // 64  # COMPUTE_TMPRING_SIZE.WAVESIZE: 13 bits of 256 words a wavefront
MAX_KERNARG_BYTES = 1 << 20  # assumed; far above OpenCL's CL_DEVICE_MAX_PARAMETER_SIZE of any device
MAX_USER_SGPRS = 16
_WAVE32 = 1 << 10
STACK_BYTES = 16 << 10  # of a work-item of a kernel that says it cannot tell its own: the most that ROCclr gives one
_USER_SGPRS = (4, 2, 2, 2, 2, 2, 1)  # registers that property bits 0 to 6 ask for
_GRID_COUNT_BIT = 7
PRELOAD_SKIPS = 256  # bytes of code that load the arguments where the hardware has not done so


class Descriptor(NamedTuple):
    """A decoded kernel descriptor."""

    architecture: Architecture
    """Instruction set of the kernel."""
    entry_offset: int
    """Bytes from the descriptor to the first instruction."""
    lds_bytes: int
    """Static LDS."""
    private_segment_bytes: int
    """Private memory of a work-item."""
    kernarg_bytes: int
    """Bytes of the arguments."""
    rsrc1: int
    """Register COMPUTE_PGM_RSRC1."""
    rsrc2: int
    """Register COMPUTE_PGM_RSRC2."""
    properties: int
    """Properties of the kernel's code."""
    preload: int = 0
    """First and number of the preloaded dwords of arguments, packed."""

    @property
    def preloaded(self) -> tuple[int, int]:
        """First and number of the dwords of arguments that lie in scalar registers from the start."""
        return self.preload >> 7, self.preload & 127

    @property
    def vgprs(self) -> int:
        return ((self.rsrc1 & 63) + 1) * self.architecture.vgpr_granule

    @property
    def sgprs(self) -> int:
        granule = self.architecture.sgpr_granule
        return ((self.rsrc1 >> 6 & 15) * SGPR_UNIT // granule + 1) * granule

    def asks(self, bit: int) -> bool:
        """Tell whether a property bit is set.

        The bits are 0 private segment buffer, 1 dispatch, 2 queue, 3 kernarg, 4 id, 5 scratch init, 6 size,
        11 a stack whose size the kernel cannot tell (recursion, calls through pointers; code object version 5).
        """
        return bool(self.properties >> bit & 1)


def read_descriptor(data: bytes, architecture: Architecture) -> Descriptor:
    """Decode a `.kd` object of code-object version 3 and later; 64 bytes."""
    fields = (_int(data, at, size) for at, size in ((0, 4), (4, 4), (8, 4), (48, 4), (52, 4), (56, 2), (58, 2)))
    return _checked(Descriptor(architecture, _int(data, 16, 8, signed=True), *fields))


def read_kernel_code(data: bytes, architecture: Architecture) -> Descriptor:
    """Decode an amd_kernel_code_t of code-object version 2; 256 bytes. Raises MalformedError for another machine."""
    version, machine = _int(data, 0, 4), tuple(_int(data, 8 + 2 * i, 2) for i in range(4))
    if version != 1:
        raise MalformedError(f"kernel code header of version {version}, not 1")
    if machine != (1, *architecture.version):
        raise MalformedError(f"kernel code header for machine {machine[0]}:{machine[1:]}, not 1:{architecture.version}")
    fields = [_int(data, at, size) for at, size in ((64, 4), (60, 4), (72, 8), (48, 4), (52, 4))]
    fields = [_int(data, 16, 8, signed=True), *fields, _int(data, 56, 4) & 0x3FF]
    return _checked(Descriptor(architecture, *fields))


def user_sgprs(descriptor: Descriptor) -> int:
    """Return the number of SGPRs set up before the work-group ids, as the descriptor states it."""
    return descriptor.rsrc2 >> 1 & 31


def _int(data: bytes, offset: int, size: int, signed: bool = False) -> int:
    return int.from_bytes(data[offset : offset + size], "little", signed=signed)


def _checked(descriptor: Descriptor) -> Descriptor:
    limits = (
        ("LDS bytes", descriptor.lds_bytes, MAX_LDS_BYTES),
        ("private segment bytes", descriptor.private_segment_bytes, MAX_PRIVATE_BYTES),
        ("kernel argument bytes", descriptor.kernarg_bytes, MAX_KERNARG_BYTES),
        ("SGPRs", descriptor.sgprs, MAX_SGPRS),
        ("user SGPRs", user_sgprs(descriptor), MAX_USER_SGPRS),
    )
    for what, value, most in limits:
        if value > most:
            raise MalformedError(f"asks for {value} {what}, at most {most} exist")
    if descriptor.properties & _WAVE32:
        raise MalformedError(f"asks for wavefronts of 32 lanes, {descriptor.architecture.name} has 64")
    if descriptor.rsrc2 >> 11 & 3 == 3:
        raise MalformedError("asks for an undefined set of work-item ids (3)")
    needed = sum(count for bit, count in enumerate(_USER_SGPRS) if descriptor.asks(bit))
    needed += sum(descriptor.asks(_GRID_COUNT_BIT + axis) for axis in range(3))
    _, preloaded = descriptor.preloaded
    if preloaded and not descriptor.architecture.kernarg_preload:
        raise MalformedError(f"asks for arguments in scalar registers, which {descriptor.architecture.name} has not")
    needed += preloaded
    if needed > user_sgprs(descriptor):
        raise MalformedError(f"enables {needed} user SGPRs but states {user_sgprs(descriptor)}")
    return descriptor
