"""A linker for one relocatable AMDGPU object, for machines without `ld.lld`.

Writes what this simulator's loader reads (`isa.object.elf_image`): segments, sections, symbols, notes, load-time
relocations. It has no dynamic section, so that other loaders want the output of a full linker. Relocations as LLVM's
AMDGPU guide defines them.
"""

import io
import struct
from dataclasses import dataclass, field

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from workloads.toolchain.errors import KernelBuildError

_PAGE_BYTES = 4096
_HEADER_BYTES, _SEGMENT_BYTES, _SECTION_BYTES = 64, 56, 64
_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR = 1, 2, 4
_SHT_PROGBITS, _SHT_SYMTAB, _SHT_STRTAB, _SHT_RELA = 1, 2, 3, 4
_PT_LOAD, _PF_X, _PF_W, _PF_R = 1, 1, 2, 4
_ET_DYN = 3
_SHN_RESERVED = 0xFF00
# relocation types
_ABS64, _REL32, _REL64, _RELATIVE64 = 3, 4, 5, 13
_GOT = {7: 0, 8: 0, 9: 32}  # GOTPCREL, _LO, _HI: the shift of the value
_REL = {_REL32: 0, 10: 0, 11: 32}


@dataclass
class _OutputSection:
    """A section of the output; its address is also its offset in the file."""

    name: str
    kind: int
    flags: int
    contents: bytearray
    alignment: int
    address: int = 0
    link: int = 0
    info: int = 0
    entry_bytes: int = 0


@dataclass
class _Output:
    pieces: list[_OutputSection] = field(default_factory=list)
    by_index: dict[int, _OutputSection] = field(default_factory=dict)  # by section number of the input
    slots: dict[str, int] = field(default_factory=dict)  # offset in the table of addresses, by symbol
    relative: list[tuple[int, int]] = field(default_factory=list)  # (address, value): add the load base


def link(relocatable: bytes) -> bytes:
    """Link one relocatable object into a loadable one; raise KernelBuildError for what it cannot resolve."""
    try:
        elf = ELFFile(io.BytesIO(relocatable))
    except ELFError as error:
        raise KernelBuildError(f"the relocatable object is damaged ({error})") from None
    symbols = elf.get_section_by_name(".symtab")
    if not isinstance(symbols, SymbolTableSection):
        raise KernelBuildError("the relocatable object has no symbol table")
    out = _Output()
    for index, section in enumerate(elf.iter_sections()):
        if section["sh_flags"] & _SHF_ALLOC and section["sh_size"]:
            kind = _SHT_PROGBITS if section["sh_type"] == "SHT_NOBITS" else section.header["sh_type"]
            contents = bytearray(section.data())
            piece = _OutputSection(section.name, _number(kind), section["sh_flags"], contents, section["sh_addralign"])
            out.by_index[index] = piece
            out.pieces.append(piece)
    relocations = [
        (out.by_index[section["sh_info"]], relocation, symbols.get_symbol(relocation["r_info_sym"]))
        for section in elf.iter_sections()
        if isinstance(section, RelocationSection) and section["sh_info"] in out.by_index
        for relocation in section.iter_relocations()
    ]
    _reserve_addresses(out, relocations)
    _place(out)
    for piece, relocation, symbol in relocations:
        _relocate(out, piece, relocation, symbol)
    got = next((piece for piece in out.pieces if piece.name == ".got"), None)
    if got is not None:
        for name, offset in out.slots.items():
            value = _address(out, next(s for s in symbols.iter_symbols() if s.name == name))
            struct.pack_into("<Q", got.contents, offset, value)
            out.relative.append((got.address + offset, value))
    return _write(out, relocatable, symbols)


def _number(kind: str | int) -> int:
    names = {"SHT_PROGBITS": _SHT_PROGBITS, "SHT_NOTE": 7}
    return kind if isinstance(kind, int) else names.get(kind, _SHT_PROGBITS)


def _reserve_addresses(out: _Output, relocations: list) -> None:  # type: ignore[type-arg]
    for _, relocation, symbol in relocations:
        if relocation["r_info_type"] in _GOT:
            out.slots.setdefault(symbol.name, 8 * len(out.slots))
    if out.slots:
        got = _OutputSection(".got", _SHT_PROGBITS, _SHF_ALLOC | _SHF_WRITE, bytearray(8 * len(out.slots)), 8)
        out.pieces.append(got)


def _place(out: _Output) -> None:
    """Give the sections addresses: read-only data, then code, then writable data, each kind from a new page on."""
    rank = {0: 0, _SHF_EXECINSTR: 1, _SHF_WRITE: 2}
    out.pieces.sort(key=lambda piece: rank[piece.flags & (_SHF_EXECINSTR | _SHF_WRITE)])
    at, before = _HEADER_BYTES + 3 * _SEGMENT_BYTES, 0
    for piece in out.pieces:
        kind = piece.flags & (_SHF_EXECINSTR | _SHF_WRITE)
        alignment = max(1, piece.alignment, _PAGE_BYTES if kind != before else 1)
        before = kind
        at = piece.address = -(-at // alignment) * alignment
        at += len(piece.contents)


def _address(out: _Output, symbol) -> int:  # type: ignore[no-untyped-def]
    index = symbol["st_shndx"]
    if index == "SHN_ABS":
        return int(symbol["st_value"])
    if index == "SHN_UNDEF":
        raise KernelBuildError(f"symbol '{symbol.name}' is not defined: there is no device library to link with")
    if not isinstance(index, int) or index >= _SHN_RESERVED or index not in out.by_index:
        raise KernelBuildError(f"symbol '{symbol.name}' lies in section {index}, which needs a full linker (ld.lld)")
    return int(out.by_index[index].address + symbol["st_value"])


def _relocate(out: _Output, piece: _OutputSection, relocation, symbol) -> None:  # type: ignore[no-untyped-def]
    kind, offset, addend = relocation["r_info_type"], relocation["r_offset"], relocation["r_addend"]
    place = piece.address + offset
    if kind in _GOT:
        got = next(p for p in out.pieces if p.name == ".got")
        value = (got.address + out.slots[symbol.name] + addend - place) >> _GOT[kind]
    elif kind in _REL:
        value = (_address(out, symbol) + addend - place) >> _REL[kind]
    elif kind == _REL64:
        value = _address(out, symbol) + addend - place
    elif kind == _ABS64:
        value = _address(out, symbol) + addend
        out.relative.append((place, value))
    else:
        raise KernelBuildError(f"{piece.name}: relocation type {kind} needs a full linker (ld.lld)")
    size = 8 if kind in (_REL64, _ABS64) else 4
    piece.contents[offset : offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def _symbol_table(out: _Output, symbols: SymbolTableSection, strings: bytearray) -> tuple[bytearray, int]:
    """Build the table of the defined symbols, local ones first; return it with the first one's index that is not."""
    number = {id(piece): k + 1 for k, piece in enumerate(out.pieces)}
    table, locals_ = bytearray(24), 1
    kinds = {"STT_NOTYPE": 0, "STT_OBJECT": 1, "STT_FUNC": 2, "STT_LOOS": 10}
    for wanted in ("STB_LOCAL", ""):
        for symbol in symbols.iter_symbols():
            local, index = symbol["st_info"]["bind"] == "STB_LOCAL", symbol["st_shndx"]
            kind = kinds.get(symbol["st_info"]["type"])
            if local != bool(wanted) or kind is None or not symbol.name:
                continue
            if index != "SHN_ABS" and index not in out.by_index:
                continue
            section = 0xFFF1 if index == "SHN_ABS" else number[id(out.by_index[index])]
            name = len(strings)
            strings += symbol.name.encode() + b"\0"
            info = kind | (0 if local else 0x10)
            other = {"STV_HIDDEN": 2, "STV_PROTECTED": 3}.get(symbol["st_other"]["visibility"], 0)
            table += struct.pack("<IBBHQQ", name, info, other, section, _address(out, symbol), symbol["st_size"])
            locals_ += local
    return table, locals_


def _write(out: _Output, relocatable: bytes, symbols: SymbolTableSection) -> bytes:
    strings = bytearray(b"\0")
    table, locals_ = _symbol_table(out, symbols, strings)
    tables = [
        _OutputSection(".symtab", _SHT_SYMTAB, 0, table, 8, link=len(out.pieces) + 2, info=locals_, entry_bytes=24),
        _OutputSection(".strtab", _SHT_STRTAB, 0, strings, 1),
    ]
    if out.relative:
        rows = b"".join(struct.pack("<QQq", at, _RELATIVE64, value) for at, value in sorted(out.relative))
        tables.append(
            _OutputSection(".rela.dyn", _SHT_RELA, 0, bytearray(rows), 8, link=len(out.pieces) + 1, entry_bytes=24)
        )
    names = bytearray(b"\0")
    every = [*out.pieces, *tables, _OutputSection(".shstrtab", _SHT_STRTAB, 0, names, 1)]
    name_at = []
    for piece in every:
        name_at.append(len(names))
        names += piece.name.encode() + b"\0"
    at = max(piece.address + len(piece.contents) for piece in out.pieces)
    for piece in every[len(out.pieces) :]:
        at = piece.address = -(-at // piece.alignment) * piece.alignment
        at += len(piece.contents)
    headers_at = -(-at // 8) * 8
    image = bytearray(headers_at)
    for piece in every:
        image[piece.address : piece.address + len(piece.contents)] = piece.contents
    image += bytes(_SECTION_BYTES)
    for piece, name in zip(every, name_at, strict=True):
        address = piece.address if piece.flags & _SHF_ALLOC else 0
        sizes = (piece.address, len(piece.contents), piece.link, piece.info, piece.alignment, piece.entry_bytes)
        image += struct.pack("<IIQQQQIIQQ", name, piece.kind, piece.flags, address, *sizes)
    segments = _segments(out)
    identity = relocatable[:16]
    machine, flags = relocatable[18:20], relocatable[48:52]
    image[:_HEADER_BYTES] = (
        identity
        + struct.pack("<H", _ET_DYN)
        + machine
        + struct.pack("<IQQQ", 1, 0, _HEADER_BYTES, headers_at)
        + flags
        + struct.pack("<6H", 64, _SEGMENT_BYTES, len(segments), _SECTION_BYTES, len(every) + 1, len(every))
    )
    packed = b"".join(segments)
    image[_HEADER_BYTES : _HEADER_BYTES + len(packed)] = packed
    return bytes(image)


def _segments(out: _Output) -> list[bytes]:
    """Build a loaded segment for each kind of section."""
    segments = []
    for kind, access in ((0, _PF_R), (_SHF_EXECINSTR, _PF_R | _PF_X), (_SHF_WRITE, _PF_R | _PF_W)):
        pieces = [p for p in out.pieces if p.flags & (_SHF_EXECINSTR | _SHF_WRITE) == kind]
        if pieces:
            start, end = pieces[0].address, pieces[-1].address + len(pieces[-1].contents)
            sizes = (start, start, start, end - start, end - start, 1 if kind == 0 else _PAGE_BYTES)
            segments.append(struct.pack("<IIQQQQQQ", _PT_LOAD, access, *sizes))
    return segments
