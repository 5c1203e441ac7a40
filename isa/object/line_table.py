"""Source lines: which line of which file an instruction was compiled from (DWARF 4 and 5, section 6.2).

A compiler writes the tables when it is asked to (`clang -g`). They are read when somebody asks for the first line, so
that a run which names none does not pay for them. An instruction that was inlined from a library's header has the line
of the user's call: the innermost call site outside libraries (section 3.3.8.2), or the outermost if all are within.
"""

import hashlib
import io
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

_SECTION = b".debug_line"
_LIBRARIES = re.compile(r"^/(usr|opt)/(?!src/)|/lib/clang/|/rocm[^/]*/")
_Interval = tuple[int, int]


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
    """File."""
    number: int
    """Number of the line."""
    inlined: str = ""
    """Line of a library's header from which the code was inlined, as text; empty: none."""

    def __str__(self) -> str:
        return f"{PurePosixPath(self.file.path).name}:{self.number}"


def is_library(file: SourceFile) -> bool:
    """Tell whether a file is a library's header, which a user does not change."""
    return _LIBRARIES.search(str(PurePosixPath(file.folder) / file.path)) is not None


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
        states = [entry.state for entry in program.get_entries() if entry.state is not None]
        in_library = {number for number, file in files.items() if is_library(file)}
        calls = _CallSites(())
        if any(state.file in in_library for state in states if not state.end_sequence):
            calls = _CallSites(_inlined_calls(dwarf, unit, files))
        for state, following in zip(states, [*states[1:], None], strict=True):
            known = not state.end_sequence and state.line > 0
            line = SourceLine(files[state.file], state.line) if known else None
            if line is None or state.file not in in_library:
                yield state.address, not state.end_sequence, line
                continue
            end = state.address + 1 if following is None else following.address
            for address in (state.address, *calls.changes(state.address, end)):
                yield address, True, calls.user_line(line, address)


class _InlinedCall(NamedTuple):
    """A call that the compiler replaced by the function's code, outer calls before those within them."""

    intervals: tuple[_Interval, ...]
    """Addresses of the code: first ones and ends."""
    line: SourceLine
    """Line of the call."""


def _inlined_calls(dwarf: Any, unit: Any, files: Mapping[int, SourceFile]) -> Iterator[_InlinedCall]:
    """Yield the inlined calls of a compilation unit, in the order of its entries: outer ones first."""
    base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    for entry in unit.iter_DIEs():
        if entry.tag != "DW_TAG_inlined_subroutine":
            continue
        attributes = entry.attributes
        file = files.get(attributes["DW_AT_call_file"].value) if "DW_AT_call_file" in attributes else None
        if file is not None and "DW_AT_call_line" in attributes:
            intervals = tuple(_intervals(dwarf, unit, attributes, base.value if base else 0))
            yield _InlinedCall(intervals, SourceLine(file, attributes["DW_AT_call_line"].value))


def _intervals(dwarf: Any, unit: Any, attributes: Mapping[str, Any], base: int) -> Iterator[_Interval]:
    """Yield the addresses of an entry's code: first ones and ends."""
    if "DW_AT_ranges" in attributes:
        for entry in dwarf.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            else:
                start = 0 if getattr(entry, "is_absolute", False) else base
                yield start + entry.begin_offset, start + entry.end_offset
    elif "DW_AT_low_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value


class _CallSites:
    """Which inlined calls each address belongs to."""

    def __init__(self, calls: Iterable[_InlinedCall]) -> None:
        numbered = list(enumerate(calls))
        self._lines = [call.line for _, call in numbered]
        events = [(at, number) for number, call in numbered for interval in call.intervals for at in interval]
        self._starts: list[int] = []
        self._around: list[tuple[int, ...]] = []
        active: set[int] = set()
        for at, group in groupby(sorted(events), key=lambda event: event[0]):
            for _, number in group:  # an interval that ends where the call's next one begins cancels it out
                active ^= {number}
            self._starts.append(at)
            self._around.append(tuple(sorted(active)))

    def changes(self, first: int, end: int) -> Sequence[int]:
        """Return the addresses between two others from which on there are other calls."""
        return self._starts[bisect_right(self._starts, first) : bisect_left(self._starts, end)]

    def user_line(self, line: SourceLine, address: int) -> SourceLine:
        """Return the innermost line outside libraries of the calls that an address belongs to, else the outermost one.

        Args:
            line: The address's own line, in a library.
            address: Address as linked.

        Returns:
            The line of the user's call, with the library's line as text; the line itself where no call is known.
        """
        row = bisect_right(self._starts, address) - 1
        around = [self._lines[number] for number in self._around[row]] if row >= 0 else []
        if not around:
            return line
        users = [one for one in around if not is_library(one.file)]
        return (users[-1] if users else around[0])._replace(inlined=str(line))


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
