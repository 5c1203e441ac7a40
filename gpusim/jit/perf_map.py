"""Names of compiled functions for Linux's `perf`, which otherwise sees addresses only."""

import io
import os
import re
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from gpusim.jit.cache import cache_dir, domain_of

_PART = re.compile(r"(\d+)([a-z_])")


def write_perf_map(entry_points: tuple[Any, ...]) -> Path:
    """Write where the functions inside compiled `entry_points` lie to the file in which perf looks them up.

    Their machine code is read from the cache: it holds the functions' names and sizes, the process their addresses.
    """
    target = Path(f"/tmp/perf-{os.getpid()}.map")
    with target.open("w", encoding="utf-8") as file:
        for dispatcher in entry_points:
            library = next(iter(dispatcher.overloads.values())).library
            engine = library.codegen._engine._ee
            for path in sorted(cache_dir(domain_of(dispatcher.__module__)).rglob(f"*.{dispatcher.__name__}-*.nbc")):
                contents = path.read_bytes()
                start = contents.find(b"\x7fELF")
                if start < 0:
                    continue
                symbols: Any = ELFFile(io.BytesIO(contents[start:])).get_section_by_name(".symtab")
                for symbol in symbols.iter_symbols():
                    if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                        if address := engine.get_function_address(symbol.name):
                            file.write(f"{address:x} {symbol['st_size']:x} {_plain(symbol.name)}\n")
    return target


def _plain(mangled: str) -> str:
    """'memory.dram._advance' for what the compiler made of it; other names as they are."""
    parts, at = [], mangled.find("N") + 1
    while at > 0 and (match := _PART.match(mangled, at)):
        length = int(match[1])
        parts.append(mangled[match.start(2) : match.start(2) + length])
        at = match.start(2) + length
    return ".".join(parts) or mangled
