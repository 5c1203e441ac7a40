"""What a code object's ELF file holds: notes, symbols, and the bytes that are loaded (LLVM AMDGPU guide, ELF)."""

import struct
from dataclasses import dataclass

from isa.object.elf_file import (
    PT_LOAD,
    SHN_LORESERVE,
    SHN_UNDEF,
    SHT_DYNSYM,
    SHT_NOTE,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    ElfFile,
    Section,
)

EM_AMDGPU = 224
ELFOSABI_AMDGPU_HSA = 64
MACH_MASK, MACH_GFX803 = 0xFF, 0x2A
STT_OBJECT, STT_FUNC, STT_KERNEL = 1, 2, 10  # the last is the kernel symbol of version 2 (STT_LOOS)
SHF_EXECINSTR = 4
MAX_IMAGE_BYTES = 1 << 28  # far above any kernel; keeps a corrupt header from asking for terabytes
MAX_SYMBOLS = 1 << 16

_R_ABS64, _R_RELATIVE64 = 3, 13


class MalformedError(Exception):
    """A code object that cannot be used; the message says what is wrong, not in which file."""


@dataclass(frozen=True)
class Symbol:
    """A symbol of the symbol table; `address` as linked."""

    name: str
    address: int
    size: int
    kind: int
    section: int | None


@dataclass(frozen=True)
class Image:
    """The parts of the file that matter here. `relocations` are (offset in image, addend): add the load base."""

    abi_version: int
    text: bytes
    text_address: int
    text_section: int
    image: bytes
    image_address: int
    relocations: tuple[tuple[int, int], ...]
    symbols: tuple[Symbol, ...]
    notes: tuple[tuple[str, int, bytes], ...]  # (owner, type, contents)

    def read(self, address: int, size: int, what: str) -> bytes:
        """Bytes at a linked address; MalformedError where the file loads none."""
        start = address - self.image_address
        if start < 0 or start + size > len(self.image):
            raise MalformedError(f"{what} at 0x{address:x} lies outside the loaded image")
        return self.image[start : start + size]


def read_image(data: bytes) -> Image:
    """Parses an ELF file. Raises MalformedError, or whatever the ELF parser raises on broken structures."""
    if data[:4] != b"\x7fELF":
        raise MalformedError("not an ELF file")
    if data[4:6] != b"\x02\x01":
        raise MalformedError("not a 64-bit little-endian ELF file")
    elf = ElfFile(data)
    _check_target(elf, data)
    segments = _segments(elf, data)
    image_address = min(address for address, _, _ in segments)
    end = max(address + size for address, _, size in segments)
    if end - image_address > MAX_IMAGE_BYTES:
        raise MalformedError(f"loads {end - image_address} bytes, more than the limit of {MAX_IMAGE_BYTES}")
    image = bytearray(end - image_address)
    for address, contents, _ in segments:
        image[address - image_address : address - image_address + len(contents)] = contents
    index, text = _text_section(elf)
    text_address, text_size = text.address, text.size
    if text_address < image_address or text_address + text_size > end or text_size == 0:
        raise MalformedError("the text section lies outside the loaded segments")
    relocations = _relocate(elf, image, image_address)
    start = text_address - image_address
    return Image(
        data[8],
        bytes(image[start : start + text_size]),
        text_address,
        index,
        bytes(image),
        image_address,
        relocations,
        _symbols(elf),
        _notes(elf),
    )


def _check_target(elf: ElfFile, data: bytes) -> None:
    header = elf.header
    if header.machine != EM_AMDGPU:
        raise MalformedError(f"ELF machine {header.machine}, not AMDGPU ({EM_AMDGPU})")
    if data[7] != ELFOSABI_AMDGPU_HSA:
        raise MalformedError(f"ELF OS ABI {data[7]}, not AMDGPU HSA ({ELFOSABI_AMDGPU_HSA})")
    if header.kind == 1:
        raise MalformedError("a relocatable object: link it first (ld.lld -shared FILE.o -o FILE.hsaco)")
    if header.kind != 3:
        raise MalformedError(f"ELF type {header.kind}, not a shared object")
    if header.flags & MACH_MASK != MACH_GFX803:
        raise MalformedError(
            f"built for another GPU (EF_AMDGPU_MACH 0x{header.flags & MACH_MASK:x}), not gfx803 (0x2a)"
        )


def _segments(elf: ElfFile, data: bytes) -> list[tuple[int, bytes, int]]:
    """(address, contents, size in memory) of each loaded segment."""
    segments = []
    for segment in elf.segments:
        if segment.kind != PT_LOAD or segment.memory_bytes == 0:
            continue
        if segment.file_bytes > segment.memory_bytes or segment.offset + segment.file_bytes > len(data):
            raise MalformedError(f"truncated: the segment at 0x{segment.address:x} ends after the end of the file")
        contents = data[segment.offset : segment.offset + segment.file_bytes]
        segments.append((segment.address, contents, segment.memory_bytes))
    if not segments:
        raise MalformedError("has no loadable segment")
    return segments


def _text_section(elf: ElfFile) -> tuple[int, Section]:
    found = [
        (index, section)
        for index, section in enumerate(elf.sections)
        if section.flags & SHF_EXECINSTR and section.kind == SHT_PROGBITS
    ]
    if not found:
        raise MalformedError("has no executable section")
    for index, section in found:
        if section.name == ".text":
            return index, section
    return found[0]


def _symbols(elf: ElfFile) -> tuple[Symbol, ...]:
    tables = (elf.section(".symtab"), elf.section(".dynsym"))
    table = next((t for t in tables if t is not None and t.kind in (SHT_SYMTAB, SHT_DYNSYM)), None)
    if table is None:
        raise MalformedError("has no symbol table")
    count = elf.symbol_count(table)
    if count > MAX_SYMBOLS:
        raise MalformedError(f"has {count} symbols, more than the limit of {MAX_SYMBOLS}")
    symbols = []
    for found in (elf.symbol(table, number) for number in range(count)):
        section = found.section if SHN_UNDEF < found.section < SHN_LORESERVE else None
        symbols.append(Symbol(found.name, found.value, found.size, found.kind, section))
    return tuple(symbols)


def _notes(elf: ElfFile) -> tuple[tuple[str, int, bytes], ...]:
    notes = []
    for section in elf.sections:
        if section.kind != SHT_NOTE:
            continue
        data, offset = elf.contents(section), 0
        while offset + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("<III", data, offset)
            name_at = offset + 12
            contents_at = name_at + (name_size + 3 & ~3)
            if contents_at + size > len(data):
                raise MalformedError("truncated: a note record ends after the end of its section")
            owner = data[name_at : name_at + name_size].rstrip(b"\0").decode("ascii")
            notes.append((owner, kind, data[contents_at : contents_at + size]))
            offset = contents_at + (size + 3 & ~3)
    return tuple(notes)


def _relocate(elf: ElfFile, image: bytearray, image_address: int) -> tuple[tuple[int, int], ...]:
    """Applies the dynamic relocations for a load at the linked addresses; returns where and what they wrote."""
    written = []
    for table in elf.sections:
        if table.kind == SHT_REL and table.size:
            raise MalformedError(f"section '{table.name}': relocations without addends are not supported")
        if table.kind != SHT_RELA:
            continue
        for relocation in elf.relocations(table):
            value = relocation.addend
            if relocation.kind == _R_ABS64:
                symbol = elf.symbol(elf.sections[table.link], relocation.symbol)
                if symbol.section == SHN_UNDEF:
                    raise MalformedError(f"refers to the undefined symbol '{symbol.name}'")
                value += symbol.value
            elif relocation.kind != _R_RELATIVE64:
                raise MalformedError(f"has a dynamic relocation of type {relocation.kind}, which is not supported")
            offset = relocation.offset - image_address
            if not 0 <= offset <= len(image) - 8:
                raise MalformedError(f"relocates 0x{relocation.offset:x}, outside the loaded image")
            image[offset : offset + 8] = (value & (1 << 64) - 1).to_bytes(8, "little")
            written.append((offset, value))
    return tuple(written)
