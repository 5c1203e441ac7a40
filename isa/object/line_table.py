"""Source lines: which line of which file an instruction was compiled from (DWARF 4 and 5, section 6.2).

A compiler writes the tables when it is asked to (`clang -g`). They are read when somebody asks for the first line, so
that a run which names none does not pay for them.
"""

import hashlib
import io
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

_SECTION = b".debug_line"


class SourceFile(NamedTuple):
    """A compiled source file."""

    path: str
    """Path as given to the compiler."""
    folder: str = ""
    """Working folder of the compiler."""
    md5: bytes | None = None
    """MD5 of the contents; None: not recorded."""

    def places(self, beside: Path) -> list[Path]:
        """Return where the file may be, likeliest first. beside: folder of the code object."""
        path, name = Path(self.path), PurePosixPath(self.path).name
        found = [Path(self.folder) / path, beside / path, beside / name, path, Path(name)]
        return list(dict.fromkeys(found))

    def find(self, beside: Path) -> Path | None:
        """Return the first of the file's places where it exists, None if there is none."""
        return next((place for place in self.places(beside) if place.is_file()), None)

    def is_contents(self, contents: bytes) -> bool:
        """Tell whether these are the contents that were compiled; True where the tables do not tell."""
        return self.md5 is None or hashlib.md5(contents, usedforsecurity=False).digest() == self.md5


class SourceLine(NamedTuple):
    """A line of a file, counted from 1. As text: the file's name without folders, and the line."""

    file: SourceFile
    number: int

    def __str__(self) -> str:
        return f"{PurePosixPath(self.file.path).name}:{self.number}"


class LineTable:
    """The line tables of a code object. If they are damaged, `problem` says how, and no address has a line."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @classmethod
    def of(cls, data: bytes) -> "LineTable | None":
        """Return the tables of an ELF file, None if it has none. They are not read yet."""
        return cls(data) if _SECTION in data else None

    @property
    def problem(self) -> str:
        """What is wrong with the tables, empty if nothing is."""
        return self._read[2]

    def at(self, address: int) -> SourceLine | None:
        """Return the line of the instruction at an address as linked; None for code added by the compiler."""
        addresses, lines, _ = self._read
        row = bisect_right(addresses, address) - 1
        return lines[row] if row >= 0 else None

    @cached_property
    def _read(self) -> tuple[list[int], list[SourceLine | None], str]:
        """Addresses in ascending order, the line from each of them on, what is wrong."""
        try:
            rows = sorted(_rows(self._data), key=lambda row: row[:2])  # where one sequence ends another may begin
        except Exception as error:  # the parser raises all kinds on damaged tables
            return [], [], f"{type(error).__name__}: {error}"
        finally:
            del self._data
        return [row[0] for row in rows], [row[2] for row in rows], ""


def _rows(data: bytes) -> Iterator[tuple[int, bool, SourceLine | None]]:
    """Yield (address, False for the end of a sequence, line from there on) of every sequence, in the tables' order."""
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(data))
    if not elf.has_dwarf_info():
        return
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        attributes = unit.get_top_DIE().attributes
        folder = _text(attributes["DW_AT_comp_dir"].value) if "DW_AT_comp_dir" in attributes else ""
        files = _files(program.header, folder)
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            known = not state.end_sequence and state.line > 0
            yield state.address, not state.end_sequence, SourceLine(files[state.file], state.line) if known else None


def _files(header: Any, folder: str) -> dict[int, SourceFile]:
    """Return the files of a line program by number: from 0 in version 5, from 1 before."""
    first = 0 if header.version >= 5 else 1
    folders = [_text(name) for name in header.include_directory]
    if first:
        folders.insert(0, folder)
    files = {}
    for number, entry in enumerate(header.file_entry, first):
        md5 = header.file_names[number].get("DW_LNCT_MD5") if header.version >= 5 else None
        within = "" if entry.dir_index == 0 else folders[entry.dir_index]
        path = str(PurePosixPath(within) / _text(entry.name))
        files[number] = SourceFile(path, folder, None if md5 is None else bytes(md5))
    return files


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
