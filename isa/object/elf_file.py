"""The structure of an ELF file of 64 bits, little-endian: segments, sections, symbols, relocations.

System V ABI, chapters 4 and 5; ELF-64 Object File Format. What is cut off raises struct.error, as a field that lies
outside the file does.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

SHT_PROGBITS, SHT_SYMTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 1, 2, 4, 7, 8, 9, 11
PT_LOAD = 1
SHN_UNDEF, SHN_LORESERVE = 0, 0xFF00

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")


@dataclass(frozen=True)
class Header:
    """What the file is: `kind` (e_type), machine, flags of the machine."""

    kind: int
    machine: int
    flags: int


@dataclass(frozen=True)
class Segment:
    """What is loaded: `file_bytes` from `offset` on to `address`, zeros up to `memory_bytes`."""

    kind: int
    offset: int
    address: int
    file_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Section:
    """A section header; `link` is the number of the section that it refers to."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class ElfSymbol:
    """A symbol; `section` is the number of the one that defines it, or a reserved number."""

    name: str
    kind: int
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class Relocation:
    """What is to be written at address `offset`."""

    offset: int
    kind: int
    symbol: int
    addend: int


class ElfFile:
    """A file's headers; its tables are read when they are asked for. struct.error for a file that is cut off."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        _, kind, machine, _, _, segments_at, sections_at, flags, *sizes = _HEADER.unpack_from(data)
        _, segment_bytes, segments, section_bytes, sections, names = sizes
        self.header = Header(kind, machine, flags)
        self._segments_at = [segments_at + k * segment_bytes for k in range(segments)]
        self._sections_at = [sections_at + k * section_bytes for k in range(sections)]
        self._names = names  # the section that holds the sections' names

    @cached_property
    def segments(self) -> list[Segment]:
        """All segments."""
        rows = [_SEGMENT.unpack_from(self._data, at) for at in self._segments_at]
        return [
            Segment(kind, offset, address, file_bytes, memory_bytes)
            for kind, _, offset, address, _, file_bytes, memory_bytes, _ in rows
        ]

    @cached_property
    def sections(self) -> list[Section]:
        """All sections, by number."""
        rows = [_SECTION.unpack_from(self._data, at) for at in self._sections_at]
        text = rows[self._names][4] if self._names < len(rows) else len(self._data)
        return [
            Section(self._text(text + name), kind, flags, address, offset, size, link)
            for name, kind, flags, address, offset, size, link, *_ in rows
        ]

    def section(self, name: str) -> Section | None:
        """The first section of a name."""
        return next((section for section in self.sections if section.name == name), None)

    def contents(self, section: Section) -> bytes:
        """A section's bytes in the file."""
        return self._data[section.offset : section.offset + section.size]

    def symbol_count(self, table: Section) -> int:
        """Entries of a symbol table."""
        return table.size // _SYMBOL.size

    def symbol(self, table: Section, number: int) -> ElfSymbol:
        """One entry of a symbol table."""
        name, info, _, section, value, size = _SYMBOL.unpack_from(self._data, table.offset + number * _SYMBOL.size)
        return ElfSymbol(self._text(self.sections[table.link].offset + name), info & 0xF, section, value, size)

    def relocations(self, table: Section) -> Iterator[Relocation]:
        """Entries of a table of relocations with addends."""
        for k in range(table.size // _RELOCATION.size):
            offset, kind, symbol, addend = _RELOCATION.unpack_from(self._data, table.offset + k * _RELOCATION.size)
            yield Relocation(offset, kind, symbol, addend)

    def _text(self, at: int) -> str:
        end = self._data.find(b"\0", at)
        return self._data[at : end if end >= 0 else at].decode("utf-8", "replace")
