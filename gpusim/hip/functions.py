"""What the libraries export: names, version nodes, and which of them gpusim implements (functions.txt, comgr.txt)."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("functions.txt")
COMGR_TABLE = Path(__file__).with_name("comgr.txt")
BRIDGE = ("gpusim_architecture", "gpusim_translate")  # what the library of comgr calls of the runtime library
BRIDGE_NODE = "gpusim"


@dataclass(frozen=True)
class Function:
    """An exported function: its symbol, the version node it is bound to, whether gpusim implements it."""

    name: str
    node: str
    implemented: bool


@cache
def functions(table: Path = TABLE) -> tuple[Function, ...]:
    """Read every function of a table; raises ValueError for a line that does not describe one."""
    found, node = [], ""
    for line in table.read_text().splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if len(words) == 1:
            node = words[0]
        elif len(words) == 2 and words[0] in "+-" and node:
            found.append(Function(words[1], node, words[0] == "+"))
        else:
            raise ValueError(f"{table.name}: not a function: {line!r}")
    return tuple(found)


def _number(node: str) -> tuple[int, ...]:
    return tuple(int(part) for part in node.rpartition("_")[2].split("."))


def version_script(table: Path = TABLE) -> str:
    """Return the linker's version script: each node inherits the previous one, all other symbols are local."""
    text, before = "", ""
    for node in sorted({f.node for f in functions(table)}, key=_number):
        names = "".join(f"    {f.name};\n" for f in functions(table) if f.node == node)
        hidden = "" if before else "  local: *;\n"
        text += f"{node} {{\n  global:\n{names}{hidden}}}{f' {before}' if before else ''};\n"
        before = node
    if table == TABLE:
        names = "".join(f"    {name};\n" for name in BRIDGE)
        text += f"{BRIDGE_NODE} {{\n  global:\n{names}}};\n"
    return text


def stubs(table: Path = TABLE) -> str:
    """Return the C++ source of functions that are not implemented: each reports its name once and returns "not
    supported".
    """
    lines = [f'STUB({f.name}, "{f.name}")' for f in functions(table) if not f.implemented]
    return "\n".join(('#include "stub.h"', *lines, ""))
