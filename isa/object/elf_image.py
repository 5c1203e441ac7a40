"""What a code object's ELF file holds: notes, symbols, and the bytes that are loaded (LLVM AMDGPU guide, ELF)."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from isa.object.line_table import LineTable
from isa.object.targets import (
    XNACK_VARIABLE,
    architecture_of,
    device_target,
    features_of,
    gpu_of,
    is_runnable,
    supported,
)
from isa.opcodes import Architecture

EM_AMDGPU = 224
ELFOSABI_AMDGPU_HSA = 64
STT_OBJECT, STT_FUNC, STT_KERNEL = "STT_OBJECT", "STT_FUNC", "STT_LOOS"  # STT_LOOS is the version 2 kernel symbol
SHF_EXECINSTR = 4
MAX_IMAGE_BYTES = 1 << 30  # far above any kernel; keeps a corrupt header from asking for terabytes
MAX_SYMBOLS = 1 << 22  # Tensile leaves its labels: 1,162,642 in rocBLAS 5.5.1's library for gfx908

_R_ABS64, _R_RELATIVE64 = 3, 13
_HEADER = (
    "<QQIHHHHHH"  # the end of Elf64_Ehdr, from e_phoff on: places and sizes of the tables of segments and sections
)
_HEADER_AT = 32
_SEGMENT, _SECTION, _SYMBOL, _RELOCATION = "<IIQQQQQQ", "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"  # Elf64_Phdr, Shdr, Sym, Rela
_SYMBOL_BYTES = struct.calcsize(_SYMBOL)
_PT_LOAD = 1
_SHT_PROGBITS, _SHT_SYMTAB, _SHT_RELA, _SHT_NOTE, _SHT_REL, _SHT_DYNSYM = 1, 2, 4, 7, 9, 11
_KINDS = {1: STT_OBJECT, 2: STT_FUNC, 10: STT_KERNEL}
_FIRST_RESERVED_SECTION = 0xFF00


class MalformedError(Exception):
    """A code object that cannot be used; the message says what is wrong, not in which file."""


class ElfSection(NamedTuple):
    """A section of an ELF file."""

    name: str
    """Name."""
    kind: int
    """ELF's sh_type."""
    flags: int
    """ELF's sh_flags."""
    address: int
    """Linked address."""
    size: int
    """Size in bytes."""
    link: int
    """Index of an associated section."""
    contents: memoryview
    """Contents."""


class Symbol(NamedTuple):
    """A symbol of the symbol table; `address` as linked."""

    name: str
    """Name of the symbol."""
    address: int
    """Address as linked."""
    size: int
    """Bytes."""
    kind: str
    """Kind of the symbol."""
    section: int | None
    """Number of its section; None: none."""


class ElfImage(NamedTuple):
    """The parts of an ELF file that code objects use."""

    architecture: Architecture
    """Architecture."""
    abi_version: int
    """ELF's EI_ABIVERSION."""
    text: bytes
    """Contents of the text section."""
    text_address: int
    """Linked address of the text section."""
    text_section: int
    """Index of the text section."""
    image: bytes
    """All loaded bytes."""
    image_address: int
    """Linked address of `image`."""
    relocations: tuple[tuple[int, int], ...]
    """(offset in `image`, addend): locations that receive the load base plus the addend."""
    symbols: tuple[Symbol, ...]
    """Symbol table."""
    notes: tuple[tuple[str, int, bytes], ...]
    """Notes: (owner, type, contents)."""
    lines: LineTable | None
    """Line table; None: compiled without -g."""

    def read(self, address: int, size: int, what: str) -> bytes:
        """Return the bytes at a linked address; MalformedError where the file loads none."""
        start = address - self.image_address
        if start < 0 or start + size > len(self.image):
            raise MalformedError(f"{what} at 0x{address:x} lies outside the loaded image")
        return self.image[start : start + size]


def read_image(data: bytes) -> ElfImage:
    """Parse an ELF file; raises MalformedError."""
    if data[:4] != b"\x7fELF":
        raise MalformedError("not an ELF file")
    segment_table, section_table, *_ = header = _unpack(_HEADER, data, _HEADER_AT, "the ELF header")
    sections = _sections(data, section_table, *header[6:])
    architecture = _target(data, sections)
    segments = _segments(data, segment_table, *header[4:6])
    image_address = min(address for address, _, _ in segments)
    end = max(address + size for address, _, size in segments)
    if end - image_address > MAX_IMAGE_BYTES:
        raise MalformedError(f"loads {end - image_address} bytes, more than the limit of {MAX_IMAGE_BYTES}")
    image = bytearray(end - image_address)
    for address, contents, _ in segments:
        image[address - image_address : address - image_address + len(contents)] = contents
    index, text = _text_section(sections)
    if text.size and (text.address < image_address or text.address + text.size > end):  # nothing of it may lie anywhere
        raise MalformedError("the text section lies outside the loaded segments")
    relocations = _relocate(sections, image, image_address)
    start = text.address - image_address if text.size else 0
    return ElfImage(
        architecture=architecture,
        abi_version=data[8],
        text=bytes(image[start : start + text.size]),
        text_address=text.address,
        text_section=index,
        image=bytes(image),
        image_address=image_address,
        relocations=relocations,
        symbols=_symbols(sections),
        notes=_notes(sections),
        lines=LineTable.of(data),
    )


def _sections(data: bytes, at: int, size: int, count: int, named_in: int) -> list[ElfSection]:
    if at + size * count > len(data):
        raise MalformedError("truncated: the table of sections ends after the end of the file")
    rows = [_unpack(_SECTION, data, at + size * number, "the table of sections") for number in range(count)]
    if rows and named_in >= len(rows):
        raise MalformedError(f"names its sections by section {named_in} of {len(rows)}")
    names_at = rows[named_in][4] if rows else 0
    whole, sections = memoryview(data), []
    for name, kind, flags, address, offset, bytes_, link, *_ in rows:
        sections.append(
            ElfSection(
                name=_text(data, names_at + name),
                kind=kind,
                flags=flags,
                address=address,
                size=bytes_,
                link=link,
                contents=whole[offset : offset + bytes_],
            )
        )
    return sections


def _target(data: bytes, sections: list[ElfSection]) -> Architecture:
    """Return the architecture of the GPU that the file is for; MalformedError for another machine."""
    if data[4] != 2 or data[5] != 1:
        raise MalformedError("not a 64-bit little-endian ELF file")
    machine = int.from_bytes(data[18:20], "little")
    if machine != EM_AMDGPU:
        raise MalformedError(f"ELF machine {machine}, not AMDGPU ({EM_AMDGPU})")
    if data[7] != ELFOSABI_AMDGPU_HSA:
        raise MalformedError(f"ELF OS ABI {data[7]}, not AMDGPU HSA ({ELFOSABI_AMDGPU_HSA})")
    gpu = gpu_of(int.from_bytes(data[48:52], "little"), lambda: _notes(sections))
    if gpu is None:
        raise MalformedError(
            f"names no GPU, neither in its header's flags nor in a note; not known to be for {supported()}"
        )
    architecture = architecture_of(gpu)
    if architecture is None:
        raise MalformedError(f"built for {gpu}, not {supported()}")
    features = features_of(int.from_bytes(data[48:52], "little"), data[8])
    if not is_runnable(features, architecture):
        built = "".join(f":{name}{state}" for name, state in sorted(features.items()))
        raise MalformedError(
            f"built for {gpu}{built}, and the device is {device_target(architecture)}; code for either setting is built"
            f" for {gpu}, and {XNACK_VARIABLE}=1 has page faults replayed (xnack+)"
        )
    kind = int.from_bytes(data[16:18], "little")
    if kind == 1:
        raise MalformedError("a relocatable object: link it first (ld.lld -shared FILE.o -o FILE.hsaco)")
    if kind != 3:
        raise MalformedError(f"ELF type {kind}, not a shared object")
    return architecture


def _segments(data: bytes, at: int, size: int, count: int) -> list[tuple[int, bytes, int]]:
    """Return (address, contents, size in memory) of each loaded segment."""
    segments = []
    for number in range(count):
        row = _unpack(_SEGMENT, data, at + size * number, "the table of segments")
        kind, _, offset, address, _, file_size, memory_size, _ = row
        if kind != _PT_LOAD or memory_size == 0:
            continue
        if file_size > memory_size or offset + file_size > len(data):
            raise MalformedError(f"truncated: the segment at 0x{address:x} ends after the end of the file")
        segments.append((address, data[offset : offset + file_size], memory_size))
    if not segments:
        raise MalformedError("has no loadable segment")
    return segments


def _text_section(sections: list[ElfSection]) -> tuple[int, ElfSection]:
    sections_of_code = [
        (index, section)
        for index, section in enumerate(sections)
        if section.flags & SHF_EXECINSTR and section.kind == _SHT_PROGBITS
    ]
    if not sections_of_code:
        raise MalformedError("has no executable section")
    return next((candidate for candidate in sections_of_code if candidate[1].name == ".text"), sections_of_code[0])


def _symbols(sections: list[ElfSection]) -> tuple[Symbol, ...]:
    named = {section.name: section for section in sections if section.kind in (_SHT_SYMTAB, _SHT_DYNSYM)}
    table = named.get(".symtab") or named.get(".dynsym")
    if table is None:
        raise MalformedError("has no symbol table")
    count = table.size // _SYMBOL_BYTES
    if count > MAX_SYMBOLS:
        raise MalformedError(f"has {count} symbols, more than the limit of {MAX_SYMBOLS}")
    names = bytes(_linked(sections, table).contents)
    return tuple(
        Symbol(
            _text(names, name),
            address,
            size,
            _KINDS.get(info & 0xF, f"STT_{info & 0xF}"),
            section if section < _FIRST_RESERVED_SECTION and section else None,
        )
        for name, info, _, section, address, size in _records(_SYMBOL, table)
    )


def _text(names: bytes, at: int) -> str:
    """Return the text at a place in a table of texts."""
    end = names.find(b"\0", at)
    if end < 0:
        raise MalformedError("truncated: a name ends after the end of its table")
    return names[at:end].decode("utf-8", "replace")


def _linked(sections: list[ElfSection], section: ElfSection) -> ElfSection:
    """Return the section that another one is linked with."""
    if section.link >= len(sections):
        raise MalformedError(f"section '{section.name}' is linked with section {section.link} of {len(sections)}")
    return sections[section.link]


def _unpack(layout: str, data: bytes | memoryview, at: int, what: str) -> tuple[int, ...]:
    """Return the numbers at a place; raise MalformedError that names what ends after the end of the data."""
    if at + struct.calcsize(layout) > len(data):
        raise MalformedError(f"truncated: {what} ends after the end of the file")
    return struct.unpack_from(layout, data, at)


def _records(layout: str, section: ElfSection) -> Iterator[tuple[int, ...]]:
    """Return the rows of a section that is a table."""
    if len(section.contents) % struct.calcsize(layout):
        raise MalformedError(f"truncated: a row of section '{section.name}' ends after its end")
    return struct.iter_unpack(layout, section.contents)


def _notes(sections: list[ElfSection]) -> tuple[tuple[str, int, bytes], ...]:
    notes = []
    for section in sections:
        if section.kind != _SHT_NOTE:
            continue
        data, offset = bytes(section.contents), 0
        while offset + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("<III", data, offset)
            name_at = offset + 12
            contents_at = name_at + (name_size + 3 & ~3)
            if contents_at + size > len(data):
                raise MalformedError("truncated: a note record ends after the end of its section")
            owner = data[name_at : name_at + name_size].rstrip(b"\0").decode("ascii", "replace")
            notes.append((owner, kind, data[contents_at : contents_at + size]))
            offset = contents_at + (size + 3 & ~3)
    return tuple(notes)


def _relocate(sections: list[ElfSection], image: bytearray, image_address: int) -> tuple[tuple[int, int], ...]:
    """Apply the dynamic relocations for a load at the linked addresses; returns where and what they wrote."""
    written = []
    for section in sections:
        if section.kind == _SHT_REL and section.size:
            raise MalformedError("has dynamic relocations without addends, which are not supported")
        if section.kind != _SHT_RELA:
            continue
        symbols = _linked(sections, section)
        for address, info, value in _records(_RELOCATION, section):
            kind, number = info & 0xFFFFFFFF, info >> 32
            if kind == _R_ABS64 and symbols.kind in (_SHT_SYMTAB, _SHT_DYNSYM):
                entry = _unpack(_SYMBOL, symbols.contents, number * _SYMBOL_BYTES, "a relocation's symbol")
                name, _, _, defined_in, symbol_value, _ = entry
                if not defined_in:
                    named = _text(bytes(_linked(sections, symbols).contents), name)
                    raise MalformedError(f"refers to the undefined symbol '{named}'")
                value += symbol_value
            elif kind != _R_RELATIVE64:
                raise MalformedError(f"has a dynamic relocation of type {kind}, which is not supported")
            offset = address - image_address
            if not 0 <= offset <= len(image) - 8:
                raise MalformedError(f"relocates 0x{address:x}, outside the loaded image")
            image[offset : offset + 8] = (value & (1 << 64) - 1).to_bytes(8, "little")
            written.append((offset, value))
    return tuple(written)
