"""Code objects: AMDGPU ELF files and the kernels in them (LLVM AMDGPU guide, code-object versions 2 to 6)."""

import io
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from gpusim.base.errors import UserError
from isa.object.bundle import code_objects
from isa.object.elf_image import STT_FUNC, STT_KERNEL, STT_OBJECT, ElfImage, MalformedError, Symbol, read_image
from isa.object.kernel_descriptor import (
    DESCRIPTOR_BYTES,
    KERNEL_CODE_BYTES,
    PRELOAD_SKIPS,
    STACK_BYTES,
    Descriptor,
    read_descriptor,
    read_kernel_code,
    user_sgprs,
)
from isa.object.kernel_metadata import KernelArgument, Metadata, read_metadata
from isa.object.line_table import LineTable, SourceLine
from isa.object.names import parameter_types, short
from isa.opcodes import ARCHITECTURES, GFX803, Architecture


class CodeObjectError(UserError):
    """A file that is not a usable code object; the message names file, place and what is wrong."""


@dataclass(frozen=True)
class Kernel:
    """A kernel: its code and the initial state that the hardware sets up (LLVM AMDGPU guide, kernel descriptor)."""

    name: str
    """Name."""
    code: bytes
    """Machine code of the whole text section."""
    entry: int
    """Byte offset in `code` of the kernel's first instruction."""
    code_address: int
    """Virtual address at which the text section was linked."""
    sgprs: int
    """Number of scalar registers."""
    vgprs: int
    """Number of vector registers."""
    lds_bytes: int
    """LDS of a workgroup in bytes."""
    private_segment_bytes: int
    """Private memory of a work-item in bytes."""
    kernarg_bytes: int
    """Size of the argument block in bytes."""
    float_mode: int
    """MODE[7:0]: rounding of FP32 and of FP16/64, denormals of FP32 and of FP16/64."""
    ieee_mode: bool
    """MODE.IEEE: quiet NaNs by IEEE 754."""
    dx10_clamp: bool
    """MODE.DX10_CLAMP: clamp NaN to 0."""
    enable_private_segment_buffer: bool
    """SGPRs with the buffer resource of private memory."""
    enable_dispatch_ptr: bool
    """SGPRs with the address of the dispatch packet."""
    enable_queue_ptr: bool
    """SGPRs with the address of the queue."""
    enable_kernarg_segment_ptr: bool
    """SGPRs with the address of the argument block."""
    enable_dispatch_id: bool
    """SGPRs with the number of the dispatch."""
    enable_flat_scratch_init: bool
    """SGPRs with the initial FLAT_SCRATCH."""
    enable_private_segment_size: bool
    """SGPR with the size of private memory."""
    enable_workgroup_id: tuple[bool, bool, bool]
    """SGPRs with the workgroup's number in x, y, z."""
    enable_workgroup_info: bool
    """SGPR with information about the workgroup."""
    enable_private_segment_wave_offset: bool
    """SGPR with the wavefront's offset in private memory."""
    workitem_id_components: int
    """Work-item numbers in vector registers: 1: x in v0; 2: also y in v1; 3: also z in v2."""
    code_object_version: int
    """Version of the code object format."""
    arguments: tuple[KernelArgument, ...] = ()
    """Arguments from the metadata."""
    required_workgroup_size: tuple[int, int, int] | None = None
    """Required workgroup size in x, y, z; None: any."""
    max_workgroup_size: int | None = None
    """Largest number of work-items in a workgroup; None: not stated."""
    enable_grid_workgroup_count: tuple[bool, bool, bool] = (False, False, False)
    """User SGPRs with the grid's workgroups in x, y, z; version 2 only."""
    preloaded_arguments: tuple[int, int] = (0, 0)
    """First and number of the dwords of arguments in SGPRs."""
    user_sgprs: int = 0
    """Number of SGPRs before the workgroup numbers."""
    functions: tuple[int, ...] = ()
    """Offsets in `code` of functions that are not kernels."""
    code_pointers: tuple[int, ...] = ()
    """Offsets in `code` that pointers in the data refer to."""
    code_end: int = 0
    """Offset in `code` of the end of the kernel's own code; 0: not stated."""
    image: bytes = b""
    """All loaded bytes (constants, variables and code), relocated to linked addresses."""
    image_address: int = 0
    """Linked address of `image`."""
    relocations: tuple[tuple[int, int], ...] = ()
    """(offset in `image`, 64-bit value): values that move with the load address."""
    lines: LineTable | None = field(default=None, compare=False, repr=False)
    """Line table; None: compiled without -g."""
    gpu: str = GFX803.name
    """Name of the GPU that the code targets."""

    @property
    def architecture(self) -> Architecture:
        """The architecture of the GPU that the code is for."""
        return ARCHITECTURES[self.gpu]

    @property
    def short_name(self) -> str:
        """The name as a person reads it: a C++ name is without return type and parameters."""
        return short(self.name)

    def source_line(self, address: int) -> SourceLine | None:
        """Return the source line of the instruction at an address as linked; None where the object does not tell."""
        return None if self.lines is None else self.lines.at(address)

    def image_at(self, load_base: int) -> bytes:
        """Return the image for a load at `load_base` + image_address: linked pointers in it move by `load_base`."""
        return _moved(self.image, self.relocations, load_base)


@dataclass(frozen=True)
class ModuleImage:
    """Loaded bytes of a code object without kernels: variables alone."""

    name: str
    """Name, for people."""
    image: bytes
    """All loaded bytes, relocated to linked addresses."""
    image_address: int
    """Linked address of `image`."""
    relocations: tuple[tuple[int, int], ...]
    """(offset in `image`, 64-bit value): values that move with the load address."""

    def image_at(self, load_base: int) -> bytes:
        """Return the image for a load at `load_base` + image_address, as of a kernel."""
        return _moved(self.image, self.relocations, load_base)


def _moved(image: bytes, relocations: tuple[tuple[int, int], ...], load_base: int) -> bytes:
    moved = bytearray(image)
    for offset, value in relocations:
        moved[offset : offset + 8] = (value + load_base & (1 << 64) - 1).to_bytes(8, "little")
    return bytes(moved)


class CodeObject(NamedTuple):
    """A loaded code object: `source` (path or description) and its kernels by name."""

    source: str
    """Path or description."""
    kernels: dict[str, Kernel]
    """Kernels by name."""


_VERSIONS = {0: 2, 1: 3, 2: 4, 3: 5, 4: 6}  # by EI_ABIVERSION


def load_code_object(source: str | Path | bytes, gpu: str | None = None) -> CodeObject:
    """Read a code object: an AMDGPU ELF file, or a bundle or fat binary with some.

    Args:
        source: a file's path, or its bytes.
        gpu: whose code objects of a bundle are read; None: those of the first of ARCHITECTURES that has some.

    Returns:
        The code object. A name that several code objects of a fat binary give a kernel gets '@' and the object's
            number.

    Raises:
        CodeObjectError: whatever is wrong with the file.
    """
    name = "code object in memory" if isinstance(source, bytes) else str(source)
    with _errors_of(name):
        with io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file:
            found = code_objects(file, gpu)
        if len(found) == 1:
            return CodeObject(name, _kernels(read_image(found[0])))
        return CodeObject(name, _together([_kernels_if_any(read_image(data)) for data in found]))


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Turn whatever is wrong with a code object into a CodeObjectError that names it."""
    try:
        yield
    except OSError as error:
        raise CodeObjectError(f"{name}: cannot be read: {error.strerror or error}") from None
    except MalformedError as error:
        raise CodeObjectError(f"{name}: {error}") from None


def _together(objects: list[dict[str, Kernel]]) -> dict[str, Kernel]:
    """Return the kernels of all translation units by name; kernels that share a name get a number."""
    times = Counter(name for kernels in objects for name in kernels)
    together = {}
    for number, kernels in enumerate(objects):
        for name, kernel in kernels.items():
            if times[name] > 1:
                kernel = replace(kernel, name=f"{name}@{number}")
            together[kernel.name] = kernel
    if not together:
        raise MalformedError("has no kernel")
    return together


def _kernels_if_any(image: ElfImage) -> dict[str, Kernel]:
    """Read kernels as `_kernels` does, but allow a translation unit of device functions or variables alone."""
    has = any(s.kind == STT_KERNEL or (s.kind == STT_OBJECT and s.name.endswith(".kd")) for s in image.symbols)
    return _kernels(image) if has else {}


def _kernels(image: ElfImage) -> dict[str, Kernel]:
    kernels = dict(Kernels(image))
    if not kernels:
        raise MalformedError("has no kernel")
    return kernels


class Kernels(Mapping[str, Kernel]):
    """The kernels of an image by name, none if it has none, each read when it is asked for; raises MalformedError."""

    def __init__(self, image: ElfImage) -> None:
        version = _VERSIONS.get(image.abi_version)
        if version is None:
            raise MalformedError(f"code object ABI version {image.abi_version}, not one of {sorted(_VERSIONS)}")
        self.image, self._version = image, version
        self._read: dict[str, Kernel] = {}
        self._metadata = read_metadata(image)
        self._found: dict[str, tuple[Symbol, Descriptor]] = {}
        for symbol in image.symbols:
            if version == 2 and symbol.kind == STT_KERNEL:
                self._found[symbol.name] = symbol, _version_2(image, symbol)
            elif version > 2 and symbol.kind == STT_OBJECT and symbol.name.endswith(".kd"):
                contents = image.read(symbol.address, DESCRIPTOR_BYTES, f"the descriptor '{symbol.name}'")
                self._found[symbol.name.removesuffix(".kd")] = (
                    symbol,
                    _named(symbol, read_descriptor, contents, image.architecture),
                )
        entries = {symbol.address + descriptor.entry_offset for symbol, descriptor in self._found.values()}
        self._functions, self._ends = _functions(image, entries), _code_ends(image)

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._read:
            symbol, descriptor = self._found[name]
            self._read[name] = _kernel(
                name, self.image, symbol, descriptor, self._metadata, self._version, self._functions, self._ends
            )
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def load_kernels(data: bytes, gpu: str | None = None) -> Kernels:
    """Return the kernels of one code object in memory, or in a bundle there; each is read when it is needed.

    Args:
        data: the bytes.
        gpu: whose code objects of a bundle are read; None: those of the first of ARCHITECTURES that has some.

    Returns:
        The kernels by name.

    Raises:
        CodeObjectError: the object is damaged.
        MalformedError: a kernel is; raised when it is read.
    """
    with _errors_of("code object in memory"):
        found = code_objects(io.BytesIO(data), gpu)
        if len(found) != 1:
            raise MalformedError(f"holds {len(found)} code objects")
        return Kernels(read_image(found[0]))


def _version_2(image: ElfImage, symbol: Symbol) -> Descriptor:
    contents = image.read(symbol.address, KERNEL_CODE_BYTES, f"the header of kernel '{symbol.name}'")
    return _named(symbol, read_kernel_code, contents, image.architecture)


def _named(
    symbol: Symbol, read: Callable[[bytes, Architecture], Descriptor], contents: bytes, architecture: Architecture
) -> Descriptor:
    try:
        return read(contents, architecture)
    except MalformedError as error:
        raise MalformedError(f"kernel '{symbol.name.removesuffix('.kd')}': {error}") from None


def _functions(image: ElfImage, entries: set[int]) -> tuple[int, ...]:
    """Return the offsets in the text at which functions begin that kernels may call."""
    return _in_text(
        image,
        {
            symbol.address
            for symbol in image.symbols
            if symbol.kind == STT_FUNC and symbol.section == image.text_section and symbol.address not in entries
        },
    )


def _in_text(image: ElfImage, addresses: set[int]) -> tuple[int, ...]:
    """Return the offsets in the text, ascending, of those addresses that lie there at a multiple of 4 bytes."""
    offsets = (address - image.text_address for address in addresses)
    return tuple(sorted(offset for offset in offsets if 0 <= offset < len(image.text) and offset % 4 == 0))


def _code_ends(image: ElfImage) -> Callable[[int], int]:
    """Return a function from a kernel's entry to the offset in the text at which its code ends.

    That is the end of its symbol, else the next symbol, else the end of the text.
    """
    sizes = {s.address: s.size for s in image.symbols if s.kind in (STT_FUNC, STT_KERNEL)}
    starts = sorted({s.address for s in image.symbols if s.section == image.text_section})

    def code_end(entry: int) -> int:
        address = image.text_address + entry
        for start in (address, address - KERNEL_CODE_BYTES):  # version 2's symbol names the header before the code
            if sizes.get(start):
                return min(start + sizes[start] - image.text_address, len(image.text))
        after = bisect_right(starts, address)
        return starts[after] - image.text_address if after < len(starts) else len(image.text)

    return code_end


def _arguments(name: str, described: Metadata) -> tuple[KernelArgument, ...]:
    """Return the arguments as the metadata gives them, with types from the mangled name where it has none (HIP)."""
    arguments = described.arguments
    explicit = [argument for argument in arguments if not argument.kind.startswith("hidden_")]
    types = () if any(argument.type_name for argument in explicit) else parameter_types(name)
    if len(types) != len(explicit):
        return arguments
    return tuple(a._replace(type_name=t) for a, t in zip(explicit, types, strict=True)) + arguments[len(explicit) :]


def _kernel(
    name: str,
    image: ElfImage,
    symbol: Symbol,
    descriptor: Descriptor,
    metadata: dict[str, Metadata],
    version: int,
    functions: tuple[int, ...],
    code_end: Callable[[int], int],
) -> Kernel:
    first, preloaded = descriptor.preloaded
    entry = symbol.address + descriptor.entry_offset - image.text_address + (PRELOAD_SKIPS if preloaded else 0)
    if not 0 <= entry < len(image.text) or entry % 4:
        raise MalformedError(
            f"kernel '{name}': its entry at 0x{entry + image.text_address:x} is not in the text section"
        )
    described = metadata.get(name, Metadata())
    kernarg_bytes = descriptor.kernarg_bytes or described.kernarg_bytes or 0
    if preloaded and 4 * (first + preloaded) > kernarg_bytes:
        raise MalformedError(f"kernel '{name}': asks for arguments in registers past its {kernarg_bytes} bytes of them")
    arguments = _arguments(name, described)
    for argument in arguments:
        if argument.offset + argument.size > kernarg_bytes:
            raise MalformedError(
                f"kernel '{name}': argument '{argument.name or argument.kind}' ends at byte"
                f" {argument.offset + argument.size} of an argument block of {kernarg_bytes}"
            )
    rsrc1, rsrc2 = descriptor.rsrc1, descriptor.rsrc2
    return Kernel(
        name=name,
        code=image.text,
        entry=entry,
        code_address=image.text_address,
        sgprs=descriptor.sgprs,
        vgprs=descriptor.vgprs,
        lds_bytes=descriptor.lds_bytes,
        private_segment_bytes=descriptor.private_segment_bytes + (STACK_BYTES if descriptor.asks(11) else 0),
        kernarg_bytes=kernarg_bytes,
        float_mode=rsrc1 >> 12 & 0xFF,
        ieee_mode=bool(rsrc1 >> 23 & 1),
        dx10_clamp=bool(rsrc1 >> 21 & 1),
        enable_private_segment_buffer=descriptor.asks(0),
        enable_dispatch_ptr=descriptor.asks(1),
        enable_queue_ptr=descriptor.asks(2),
        enable_kernarg_segment_ptr=descriptor.asks(3),
        enable_dispatch_id=descriptor.asks(4),
        enable_flat_scratch_init=descriptor.asks(5),
        enable_private_segment_size=descriptor.asks(6),
        enable_grid_workgroup_count=(descriptor.asks(7), descriptor.asks(8), descriptor.asks(9)),
        enable_workgroup_id=(bool(rsrc2 >> 7 & 1), bool(rsrc2 >> 8 & 1), bool(rsrc2 >> 9 & 1)),
        enable_workgroup_info=bool(rsrc2 >> 10 & 1),
        enable_private_segment_wave_offset=bool(rsrc2 & 1) and not descriptor.architecture.architected_scratch,
        preloaded_arguments=(first, preloaded),
        workitem_id_components=(rsrc2 >> 11 & 3) + 1,
        user_sgprs=user_sgprs(descriptor),
        code_object_version=version,
        arguments=arguments,
        required_workgroup_size=described.required_workgroup_size,
        max_workgroup_size=described.max_workgroup_size,
        functions=functions,
        code_pointers=_in_text(image, {value for _, value in image.relocations}),
        code_end=code_end(entry),
        image=image.image,
        image_address=image.image_address,
        relocations=image.relocations,
        lines=image.lines,
        gpu=image.architecture.name,
    )
