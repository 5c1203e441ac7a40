"""Which functions of HIP the vendor's files link, and which of these gpusim has: by the files' dynamic symbols.

    python -m tests.vendor.linked FOLDER...

prints the table of docs/how-to/hip.md for what lies in the folders. What a file looks up by name while it runs is not
seen.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from docs._site.pages import table
from gpusim.jobs.hip.functions import functions

RUNTIME = "libamdhip64.so."  # the library whose version nodes a function of HIP is bound to
_HIDDEN = 0x7FFF  # without the bit of a version that only old programs are bound to
_PROGRAMS = "libexec"
_ELF = b"\x7fELF"


@dataclass(frozen=True)
class Linked:
    """What a file takes of the runtime: its functions with the version nodes that they are bound to."""

    file: Path
    functions: frozenset[tuple[str, str]]


def linked(file: Path) -> Linked | None:
    """A file's functions of HIP; None for one that takes nothing of the runtime, or is no ELF file."""
    with file.open("rb") as stream:
        if stream.read(len(_ELF)) != _ELF:
            return None
        try:
            found = frozenset(_bound(ELFFile(stream)))
        except ELFError:
            return None
    return Linked(file, found) if found else None


def _bound(elf: ELFFile) -> Iterator[tuple[str, str]]:
    """Undefined symbols that are bound to a node of the runtime."""
    symbols = elf.get_section_by_name(".dynsym")
    versions, needed = elf.get_section_by_name(".gnu.version"), elf.get_section_by_name(".gnu.version_r")
    if not (
        isinstance(symbols, SymbolTableSection)
        and isinstance(versions, GNUVerSymSection)
        and isinstance(needed, GNUVerNeedSection)
    ):
        return
    nodes = {
        node["vna_other"]: node.name
        for library, held in needed.iter_versions()
        if library.name.startswith(RUNTIME)
        for node in held
    }
    for number, symbol in enumerate(symbols.iter_symbols()):
        version = versions.get_symbol(number)["ndx"]
        if symbol["st_shndx"] == "SHN_UNDEF" and isinstance(version, int) and version & _HIDDEN in nodes:
            yield symbol.name, nodes[version & _HIDDEN]


def linked_in(*folders: Path) -> Iterator[Linked]:
    """All files below the folders that take something, in their order; a link is not another file."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and (one := linked(path)) is not None:
                yield one


def linked_table(*folders: Path) -> str:
    """A line for each library, and for the programs of each package."""
    rows: dict[str, list[Linked]] = {}
    for one in linked_in(*folders):
        parts = one.file.parts
        rows.setdefault(one.file.parent.name if _PROGRAMS in parts else one.file.name, []).append(one)
    lines = [_row(f"`{name}`", held) for name, held in rows.items()]
    every = [one for held in rows.values() for one in held]
    head = ("library, or package of programs", "files", "functions", "of them gpusim has", "has not")
    return table(head, [*lines, _row("all", every)])


def _row(name: str, held: list[Linked]) -> tuple[str, ...]:
    there = {(function.name, function.node) for function in functions() if function.implemented}
    wanted = frozenset[tuple[str, str]]().union(*(one.functions for one in held))
    missing = ", ".join(f"`{function}`" for function, _ in sorted(wanted - there))
    return name, str(len(held)), str(len(wanted)), str(len(wanted & there)), missing


if __name__ == "__main__":
    if not sys.argv[1:] or not all(Path(folder).is_dir() for folder in sys.argv[1:]):
        raise SystemExit(__doc__)
    print(linked_table(*map(Path, sys.argv[1:])))
