"""What a code object's ELF file holds: notes, symbols, and the bytes that are loaded (LLVM AMDGPU guide, ELF)."""

import io
import struct
from typing import NamedTuple

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, Section, SymbolTableSection

from isa.object.line_table import LineTable
from isa.object.targets import GPU, gpu_of

EM_AMDGPU = 224
ELFOSABI_AMDGPU_HSA = 64
STT_OBJECT, STT_FUNC, STT_KERNEL = "STT_OBJECT", "STT_FUNC", "STT_LOOS"  # STT_LOOS is the version 2 kernel symbol
SHF_EXECINSTR = 4
MAX_IMAGE_BYTES = 1 << 28  # far above any kernel; keeps a corrupt header from asking for terabytes
MAX_SYMBOLS = 1 << 16

_R_ABS64, _R_RELATIVE64 = 3, 13
_SYMBOL = "<IBBHQQ"  # Elf64_Sym
_KINDS = {1: STT_OBJECT, 2: STT_FUNC, 10: STT_KERNEL}
_FIRST_RESERVED_SECTION = 0xFF00


class MalformedError(Exception):
    """A code object that cannot be used; the message says what is wrong, not in which file."""


class Symbol(NamedTuple):
    """A symbol of the symbol table; `address` as linked."""

    name: str
    address: int
    size: int
    kind: str
    section: int | None


class Image(NamedTuple):
    """The parts of an ELF file that code objects use.

    `relocations` are (offset in image, addend): add the load base.
    """

    abi_version: int
    text: bytes
    text_address: int
    text_section: int
    image: bytes
    image_address: int
    relocations: tuple[tuple[int, int], ...]
    symbols: tuple[Symbol, ...]
    notes: tuple[tuple[str, int, bytes], ...]  # (owner, type, contents)
    lines: LineTable | None

    def read(self, address: int, size: int, what: str) -> bytes:
        """Return the bytes at a linked address; MalformedError where the file loads none."""
        start = address - self.image_address
        if start < 0 or start + size > len(self.image):
            raise MalformedError(f"{what} at 0x{address:x} lies outside the loaded image")
        return self.image[start : start + size]


def read_image(data: bytes) -> Image:
    """Parse an ELF file. Raises MalformedError, or whatever the ELF parser raises on broken structures."""
    if data[:4] != b"\x7fELF":
        raise MalformedError("not an ELF file")
    elf = ELFFile(io.BytesIO(data))
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
    text_address, text_size = text["sh_addr"], text["sh_size"]
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
        LineTable.of(data),
    )


def _check_target(elf: ELFFile, data: bytes) -> None:
    if elf.elfclass != 64 or not elf.little_endian:
        raise MalformedError("not a 64-bit little-endian ELF file")
    machine = int.from_bytes(data[18:20], "little")
    if machine != EM_AMDGPU:
        raise MalformedError(f"ELF machine {machine}, not AMDGPU ({EM_AMDGPU})")
    if data[7] != ELFOSABI_AMDGPU_HSA:
        raise MalformedError(f"ELF OS ABI {data[7]}, not AMDGPU HSA ({ELFOSABI_AMDGPU_HSA})")
    found = gpu_of(int.from_bytes(data[48:52], "little"), lambda: _notes(elf))
    if found is None:
        raise MalformedError(f"names no GPU, neither in its header's flags nor in a note; not known to be for {GPU}")
    if found != GPU:
        raise MalformedError(f"built for {found}, not {GPU}")
    kind = int.from_bytes(data[16:18], "little")
    if kind == 1:
        raise MalformedError("a relocatable object: link it first (ld.lld -shared FILE.o -o FILE.hsaco)")
    if kind != 3:
        raise MalformedError(f"ELF type {kind}, not a shared object")


def _segments(elf: ELFFile, data: bytes) -> list[tuple[int, bytes, int]]:
    """Return (address, contents, size in memory) of each loaded segment."""
    segments = []
    for segment in elf.iter_segments():
        header = segment.header
        if header.p_type != "PT_LOAD" or header.p_memsz == 0:
            continue
        if header.p_filesz > header.p_memsz or header.p_offset + header.p_filesz > len(data):
            raise MalformedError(f"truncated: the segment at 0x{header.p_vaddr:x} ends after the end of the file")
        contents = data[header.p_offset : header.p_offset + header.p_filesz]
        segments.append((header.p_vaddr, contents, header.p_memsz))
    if not segments:
        raise MalformedError("has no loadable segment")
    return segments


def _text_section(elf: ELFFile) -> tuple[int, Section]:
    found = [
        (index, section)
        for index, section in enumerate(elf.iter_sections())
        if section["sh_flags"] & SHF_EXECINSTR and section["sh_type"] == "SHT_PROGBITS"
    ]
    if not found:
        raise MalformedError("has no executable section")
    for index, section in found:
        if section.name == ".text":
            return index, section
    return found[0]


def _symbols(elf: ELFFile) -> tuple[Symbol, ...]:
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        table = elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        raise MalformedError("has no symbol table")
    if table.num_symbols() > MAX_SYMBOLS:
        raise MalformedError(f"has {table.num_symbols()} symbols, more than the limit of {MAX_SYMBOLS}")
    names = elf.get_section(table["sh_link"]).data()
    # not through the parser's iterator: libraries have thousands of symbols, and that takes a millisecond for ten
    return tuple(
        Symbol(
            names[name : names.index(b"\0", name)].decode("utf-8", "replace"),
            address,
            size,
            _KINDS.get(info & 0xF, f"STT_{info & 0xF}"),
            section if section < _FIRST_RESERVED_SECTION and section else None,
        )
        for name, info, _, section, address, size in struct.iter_unpack(_SYMBOL, table.data())
    )


def _notes(elf: ELFFile) -> tuple[tuple[str, int, bytes], ...]:
    """Read the notes from the raw section, as the ELF parser does not understand their contents."""
    notes = []
    for section in elf.iter_sections():
        if not isinstance(section, NoteSection):
            continue
        data, offset = section.data(), 0
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


def _relocate(elf: ELFFile, image: bytearray, image_address: int) -> tuple[tuple[int, int], ...]:
    """Apply the dynamic relocations for a load at the linked addresses; returns where and what they wrote."""
    written = []
    for section in elf.iter_sections():
        if not isinstance(section, RelocationSection):
            continue
        symbols = elf.get_section(section["sh_link"])
        for relocation in section.iter_relocations():
            kind, value = relocation["r_info_type"], relocation["r_addend"]
            if kind == _R_ABS64 and isinstance(symbols, SymbolTableSection):
                symbol = symbols.get_symbol(relocation["r_info_sym"])
                if symbol["st_shndx"] == "SHN_UNDEF":
                    raise MalformedError(f"refers to the undefined symbol '{symbol.name}'")
                value += symbol["st_value"]
            elif kind != _R_RELATIVE64:
                raise MalformedError(f"has a dynamic relocation of type {kind}, which is not supported")
            offset = relocation["r_offset"] - image_address
            if not 0 <= offset <= len(image) - 8:
                raise MalformedError(f"relocates 0x{relocation['r_offset']:x}, outside the loaded image")
            image[offset : offset + 8] = (value & (1 << 64) - 1).to_bytes(8, "little")
            written.append((offset, value))
    return tuple(written)
