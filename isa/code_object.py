"""Code objects: AMDGPU ELF files and the kernels in them."""

from dataclasses import dataclass


class CodeObjectError(Exception):
    """A file that is not a usable gfx803 code object; the message names file, place and what is wrong."""


@dataclass(frozen=True)
class KernelArgument:
    """One argument of the kernel argument block.

    kind: 'by_value', 'global_buffer', 'dynamic_shared_pointer' or a hidden kind's metadata name ('hidden_...').
    """

    name: str
    kind: str
    offset: int
    size: int
    type_name: str = ""
    alignment: int = 0


@dataclass(frozen=True)
class Kernel:
    """One kernel: its code and what the hardware must set up for it (LLVM AMDGPU guide, kernel descriptor).

    code: the machine code of the whole text section; entry: byte offset of the kernel's first instruction in it;
    code_address: virtual address the text section was linked at.
    """

    name: str
    code: bytes
    entry: int
    code_address: int
    sgprs: int
    vgprs: int
    lds_bytes: int
    private_segment_bytes: int
    kernarg_bytes: int
    float_mode: int  # MODE[7:0]: FP32 round, FP16/64 round, FP32 denormals, FP16/64 denormals
    ieee_mode: bool
    dx10_clamp: bool
    enable_private_segment_buffer: bool
    enable_dispatch_ptr: bool
    enable_queue_ptr: bool
    enable_kernarg_segment_ptr: bool
    enable_dispatch_id: bool
    enable_flat_scratch_init: bool
    enable_private_segment_size: bool
    enable_workgroup_id: tuple[bool, bool, bool]
    enable_workgroup_info: bool
    enable_private_segment_wave_offset: bool
    workitem_id_components: int  # 1: x, 2: x and y, 3: x, y and z in v0, v1, v2
    code_object_version: int
    arguments: tuple[KernelArgument, ...] = ()
    required_workgroup_size: tuple[int, int, int] | None = None
    max_workgroup_size: int | None = None
    functions: tuple[int, ...] = ()  # offsets in `code` of the functions that are no kernels
    rodata: bytes = b""
    rodata_address: int = 0


@dataclass(frozen=True)
class CodeObject:
    """A loaded code object: `source` (path or description) and its kernels by name."""

    source: str
    kernels: dict[str, Kernel]
