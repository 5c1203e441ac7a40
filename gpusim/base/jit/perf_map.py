"""Names of compiled functions for Linux's `perf`, which otherwise sees addresses only."""

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from gpusim.base.jit.entry_points import read
from gpusim.base.jit.functions import CoreFunction

_PART = re.compile(r"(\d+)([a-z_])")


def write_perf_map(entry_points: Sequence[CoreFunction]) -> Path:
    """Write perf's map file of the functions inside loaded `entry_points`, and return its path.

    Their machine code is read from the cache: it holds the functions' names and sizes, the process their addresses.
    """
    target = Path(f"/tmp/perf-{os.getpid()}.map")
    with target.open("w", encoding="utf-8") as file:
        for function in entry_points:
            found = read(function)
            if found is None or function.code is None:
                continue  # compiled without being kept: its names are Numba's to know
            symbols: Any = ELFFile(io.BytesIO(found[1])).get_section_by_name(".symtab")
            for symbol in symbols.iter_symbols():
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                    if address := function.code.address(symbol.name):
                        file.write(f"{address:x} {symbol['st_size']:x} {_plain(symbol.name)}\n")
    return target


def _plain(mangled: str) -> str:
    """Return a mangled symbol as a dotted name, such as 'memory.dram._advance'; other names unchanged."""
    parts, at = [], mangled.find("N") + 1
    while at > 0 and (match := _PART.match(mangled, at)):
        length = int(match[1])
        parts.append(mangled[match.start(2) : match.start(2) + length])
        at = match.start(2) + length
    return ".".join(parts) or mangled
