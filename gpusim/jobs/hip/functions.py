"""What the libraries export: names, version nodes, and which of them gpusim implements (functions.txt, opencl.txt,
comgr.txt).
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("functions.txt")
OPENCL_TABLE = Path(__file__).with_name("opencl.txt")
COMGR_TABLE = Path(__file__).with_name("comgr.txt")
STAND_IN_TABLE = Path(__file__).with_name("stand_ins.txt")
# what the library of comgr and gpusim_spartan.py call of the runtime library
BRIDGE = ("gpusim_architecture", "gpusim_translate", "gpusim_sparse_region")
BRIDGE_NODE = "gpusim"


@dataclass(frozen=True)
class RuntimeFunction:
    """A function that the runtime library exports."""

    name: str
    """Symbol."""
    node: str
    """Version node of the symbol."""
    implemented: bool
    """gpusim implements the function."""
    exported: bool = True
    """Symbol of the library; False: an entry of the ICD's dispatch table only."""
    parameters: int | None = None
    """Position of an unimplemented function's error-code parameter; 0: it has none; None: it returns the code."""


class StandIn(NamedTuple):
    """A library whose functions do nothing, for programs that are linked with it and can do without."""

    library: str
    """Name of the library."""
    node: str
    """Version node of its symbols; '-': they have none."""
    code: int
    """Error code of what the library does not support."""
    succeeding: dict[str, bool]
    """Functions: whether one succeeds; the others report their names."""

    @property
    def source(self) -> str:
        """The C++ source."""
        lines = ['#include "stand_in.h"']
        for name, succeeds in self.succeeding.items():
            lines.append(f"SUCCEEDING({name})" if succeeds else f'MISSING({name}, "{self.library}", {self.code})')
        return "\n".join((*lines, ""))

    @property
    def version_script(self) -> str:
        """The linker's version script; empty: none."""
        return "" if self.node == "-" else f"{self.node} {{ global: *; }};\n"


@cache
def stand_ins() -> tuple[StandIn, ...]:
    """Read the libraries of stand_ins.txt."""
    libraries: list[StandIn] = []
    for line in STAND_IN_TABLE.read_text().splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if line.startswith("  "):
            libraries[-1].succeeding[words[0]] = words[1:] == ["0"]
        else:
            libraries.append(StandIn(words[0], words[1], int(words[2]), {}))
    return tuple(libraries)


@cache
def functions(table: Path = TABLE) -> tuple[RuntimeFunction, ...]:
    """Read every function of a table; raises ValueError for a line that does not describe one."""
    listed, node = [], ""
    for line in table.read_text().splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if len(words) == 1:
            node = words[0]
        elif len(words) in (2, 3) and words[0] in "+-." and node:
            parameters = int(words[2]) if words[2:] else None
            listed.append(RuntimeFunction(words[1], node, words[0] == "+", words[0] != ".", parameters))
        else:
            raise ValueError(f"{table.name}: not a function: {line!r}")
    return tuple(listed)


def _number(node: str) -> tuple[int, ...]:
    return tuple(int(part) for part in node.rpartition("_")[2].split("."))


def version_script(table: Path = TABLE) -> str:
    """Return the linker's version script: each node inherits the previous one, all other symbols are local."""
    text, before = "", ""
    for node in sorted({f.node for f in functions(table)}, key=_number):
        names = "".join(f"    {f.name};\n" for f in functions(table) if f.node == node and f.exported)
        hidden = "" if before else "  local: *;\n"
        text += f"{node} {{\n  global:\n{names}{hidden}}}{f' {before}' if before else ''};\n"
        before = node
    return text


def runtime_script() -> str:
    """Return the version script of the runtime library: HIP's nodes, OpenCL's, and what comgr's library calls."""
    names = "".join(f"    {name};\n" for name in BRIDGE)
    opencl = version_script(OPENCL_TABLE).replace("  local: *;\n", "")
    return f"{version_script()}{opencl}{BRIDGE_NODE} {{\n  global:\n{names}}};\n"


def stubs(table: Path = TABLE) -> str:
    """Return the C++ source of functions that are not implemented: each reports its name once and returns "not
    supported".
    """
    lines = [f'STUB({f.name}, "{f.name}")' for f in functions(table) if not f.implemented]
    return "\n".join(('#include "stub.h"', *lines, ""))


def opencl_dispatch() -> str:
    """Return the C++ source of OpenCL's functions that are not implemented, and of the ICD's dispatch table of all."""
    table, names = functions(OPENCL_TABLE), [f.name for f in functions(OPENCL_TABLE)]
    lines = ['#include "opencl_stub.h"']
    for f in table:
        if f.implemented:
            lines.append(f'extern "C" int {f.name}();')
        elif f.parameters is None:
            lines.append(f"REFUSED({f.name})")
        else:
            words = ", ".join(["long"] * (f.parameters - 1) + ["int* code"] * bool(f.parameters))
            lines.append(f"REFUSED_OBJECT({f.name}, ({words}), {'code' if f.parameters else 'nullptr'})")
    slots = "".join(f"    reinterpret_cast<const void*>({name}),\n" for name in names)
    pairs = "".join(f'    "{f.name}",\n' if f.exported else "    nullptr,\n" for f in table)
    lines.append("extern const void* const gpusim_opencl_functions[];\nextern const char* const gpusim_opencl_names[];")
    lines.append(f"extern const int gpusim_opencl_count;\nconst int gpusim_opencl_count = {len(names)};")
    lines.append(f"const void* const gpusim_opencl_functions[] = {{\n{slots}}};")
    lines.append(f"const char* const gpusim_opencl_names[] = {{\n{pairs}}};")
    return "\n".join((*lines, ""))
