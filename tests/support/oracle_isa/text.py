"""A code object as LLVM prints it: instructions by address, kernel descriptors, hidden arguments, what is loaded."""

import re
import shutil
import struct
import subprocess
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

_LINE = re.compile(r"^\s+(\S.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)")
_MODIFIERS = re.compile(
    r"(?<=\s)(?:(clamp|glc|slc|tfe|gds|lds|offen|idxen|row_mirror|row_half_mirror)(?=\s|$)"
    r"|(offset[01]?|mul|div|row_shl|row_shr|row_ror|row_bcast|wave_shl|wave_shr|wave_rol|wave_ror|row_mask|bank_mask"
    r"|bound_ctrl|dst_sel|dst_unused|src0_sel|src1_sel):(\S+)"
    r"|(quad_perm):\[([^\]]*)\])"
)


class NotStatedError(Exception):
    """Something that the second statement does not say."""


@dataclass(frozen=True)
class Line:
    """An instruction: address, bytes, mnemonic without the form's suffix, operands and modifiers as texts."""

    address: int
    size: int
    name: str
    operands: tuple[str, ...]
    modifiers: dict[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def target(self) -> int:
        """Where a branch goes."""
        words = int(self.operands[0], 0)
        return self.address + 4 + 4 * (words - 0x10000 if words > 0x7FFF else words)


def parsed(text: str, address: int, size: int) -> Line:
    """An instruction of the disassembler's text."""
    name, _, rest = text.partition(" ")
    modifiers = {}
    rest = " " + rest.strip()
    for found in _MODIFIERS.finditer(rest):
        flag, key, value, quad, lanes = found.groups()
        modifiers[flag or key or quad] = value or lanes or ""
    rest = _MODIFIERS.sub("", rest)
    operands = tuple(one.strip() for one in re.split(r",(?![^(\[]*[)\]])", rest) if one.strip())
    return Line(address, size, re.sub(r"_(e32|e64|sdwa|dpp)$", "", name), operands, modifiers, text)


def to_number(line: Line, word: int) -> Line:
    """Give a branch to a symbol, whose name the disassembler prints, the distance that its word has."""
    branch = line.name.startswith(("s_branch", "s_cbranch")) and not line.operands[-1][0].isdigit()
    return replace(line, operands=(str(word & 0xFFFF),)) if branch and len(line.operands) == 1 else line


def tool(name: str) -> str | None:
    """An LLVM tool's path, of the newest release that the disassembly was tried with."""
    return next((path for one in (f"{name}-19", name, f"{name}-14") if (path := shutil.which(one))), None)


@cache
def disassembled(path: Path, gpu: str, start: int, end: int) -> dict[int, Line]:
    """The instructions of a code object between two linked addresses, by address."""
    program = tool("llvm-objdump")
    if program is None:
        raise NotStatedError("llvm-objdump is not installed")
    limits = [f"--start-address={start}", f"--stop-address={end}"]
    done = subprocess.run(
        [program, "-d", f"--mcpu={gpu}", *limits, str(path)], capture_output=True, text=True, check=True
    )
    lines = {}
    for printed in done.stdout.splitlines():
        if found := _LINE.match(printed):
            address = int(found[2], 16)
            words = found[3].split()
            line = parsed(" ".join(found[1].split()), address, 4 * len(words))
            lines[address] = to_number(line, int(words[0], 16))
    return lines


@dataclass(frozen=True)
class Symbol:
    """A name of the object's: linked address and bytes."""

    address: int
    size: int


@dataclass(frozen=True)
class Elf:
    """What of a code object's ELF file is needed: segments to load, names, relocations that add the load address."""

    segments: tuple[tuple[int, bytes], ...]
    symbols: dict[str, Symbol]
    relative: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """The first linked address behind all segments."""
        return max(address + len(content) for address, content in self.segments)

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a linked address."""
        for start, content in self.segments:
            if start <= address < start + len(content):
                return content[address - start : address - start + size]
        raise NotStatedError(f"nothing is loaded at {address:#x}")


_LOAD, _SYMBOLS, _RELOCATIONS, _DYNAMIC_SYMBOLS, _ALLOCATED = 1, 2, 4, 11, 2  # ELF's numbers
_RELATIVE64 = 13  # R_AMDGPU_RELATIVE64


def elf(path: Path) -> Elf:
    """Read a code object (ELF-64, little-endian): the segments to load, symbols, relocations of the dynamic section."""
    data = path.read_bytes()
    programs, sections = struct.unpack_from("<QQ", data, 32)
    size, count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)
    segments = []
    for k in range(count):
        kind, _, offset, address, _, in_file, in_memory, _ = struct.unpack_from("<IIQQQQQQ", data, programs + k * size)
        if kind == _LOAD:
            segments.append((address, data[offset : offset + in_file] + bytes(in_memory - in_file)))
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + k * section_size) for k in range(section_count)]
    symbols, relative = {}, []
    for _, kind, flags, _, offset, length, link, _, _, _ in headers:
        held = data[offset : offset + length]
        if kind in (_SYMBOLS, _DYNAMIC_SYMBOLS):
            names = data[headers[link][4] :]
            for name_at, _, _, section, address, bytes_ in struct.iter_unpack("<IBBHQQ", held):
                if section:
                    name = names[name_at : names.index(b"\0", name_at)].decode()
                    symbols[name] = Symbol(address, bytes_)
        elif kind == _RELOCATIONS and flags & _ALLOCATED:
            for offset_, info, addend in struct.iter_unpack("<QQq", held):
                if info != _RELATIVE64:
                    raise NotStatedError(f"a relocation of kind {info & 0xFFFFFFFF}")
                relative.append((offset_, addend))
    return Elf(tuple(segments), symbols, tuple(relative))


@dataclass(frozen=True)
class Descriptor:
    """A kernel descriptor (LLVM AMDGPU guide, code object version 3 and later)."""

    lds_bytes: int
    private_bytes: int
    kernarg_bytes: int
    entry: int  # linked address of the first instruction
    rsrc1: int
    rsrc2: int
    properties: int

    def asks(self, bit: int) -> bool:
        """Whether the kernel asks for one of the user SGPRs' contents, or has another property."""
        return bool(self.properties >> bit & 1)


def descriptor(held: Elf, name: str) -> Descriptor:
    """The descriptor of a kernel."""
    symbol = held.symbols.get(f"{name}.kd")
    if symbol is None:
        raise NotStatedError(f"'{name}' has no kernel descriptor (code objects of version 2 have none)")
    raw = held.read(symbol.address, 64)
    lds, private, kernarg, entry = struct.unpack_from("<IIIxxxxq", raw)
    rsrc1, rsrc2, properties = struct.unpack_from("<IIH", raw, 48)
    return Descriptor(lds, private, kernarg, symbol.address + entry, rsrc1, rsrc2, properties)


@cache
def hidden_arguments(path: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """Of each kernel its hidden arguments, kind to offset and bytes, as LLVM prints the object's metadata."""
    program = tool("llvm-readelf")
    if program is None:
        raise NotStatedError("llvm-readelf is not installed")
    done = subprocess.run([program, "--notes", str(path)], capture_output=True, text=True, check=True)
    found: dict[str, dict[str, tuple[int, int]]] = {}
    held: dict[str, tuple[int, int]] = {}
    offset = size = 0
    for line in done.stdout.splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(":")
        value = value.strip().strip("'\"")
        if key == ".args":
            held = {}
        elif key == ".offset":
            offset = int(value)
        elif key == ".size":
            size = int(value)
        elif key == ".value_kind" and value.startswith("hidden_"):
            held[value] = (offset, size)
        elif key == ".symbol":
            found[value.removesuffix(".kd")] = held
            held = {}
    return found
