"""Which test files may notice an error in a room: those that import it, and little beside it, found in the tree."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gpusim.jit.cache import DOMAINS
from tests.structure.imports import ROOT, module_in, named_in, room_of, sources

FOLDERS = ("unit", "exact", "corpus", "system")  # of tests; damaged inputs and vendors' packages are for other commands
MOST_FILES = 12
TIMED, EXACT = ("gpusim.core", "memory", "spartan"), "tests/exact/"
THROUGH = {"isa.semantics": "isa.lanes"}  # a room whose modules are loaded by a name that is made up: who loads it


def without_compiler(room: str) -> bool:
    """Tell whether errors in a room are tried without the compiler: it holds code that is compiled."""
    path = f"{room.replace('.', '/')}/"
    return any(path.startswith(f"{place}/") for places in DOMAINS.values() for place in places)


@cache
def _modules() -> dict[str, Path]:
    tests = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in (ROOT / "tests").rglob("*.py")}
    return {**dict(sources()), **tests}


@cache
def _offered(module: str) -> dict[str, str]:
    """Return which other module each name of a package comes from."""
    tree = ast.parse(_modules()[module].read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {name.asname or name.name: f"{node.module}" for node in found for name in node.names}


def _named(tree: ast.Module, module: str) -> Iterator[str]:
    yield from (dotted for _, dotted in named_in(tree, module))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gpusim":
            yield f"gpusim.{node.attr}"


@cache
def _imported(module: str) -> frozenset[str]:
    """Return the modules that a module of the tests imports, past the packages that only hand names on."""
    modules, found = frozenset(_modules()), set()
    for dotted in _named(ast.parse(_modules()[module].read_text(encoding="utf-8")), module):
        held = module_in(dotted, modules)
        if held and _modules()[held].name == "__init__.py" and held != dotted:
            held = _offered(held).get(dotted.rpartition(".")[2], held)
        if held in modules and held != module:
            found.add(held)
    return frozenset(found)


def _reached(module: str, seen: set[str]) -> set[str]:
    """Add what a test imports, itself or through the tests' own helpers, to `seen`."""
    for other in _imported(module) - seen:
        seen.add(other)
        if other.startswith("tests."):
            _reached(other, seen)
    return seen


@cache
def imports_of_tests() -> dict[str, Counter[str]]:
    """Return, for each test file by its path, how many modules it imports from each room."""
    found = {}
    for module, path in _modules().items():
        if path.name.startswith("test_") and path.relative_to(ROOT).parts[1] in FOLDERS:
            seen = (other for other in _reached(module, set()) if not other.startswith("tests."))
            found[str(path.relative_to(ROOT))] = Counter(room_of(other) for other in seen)
    return found


def judges(room: str, most: int = MOST_FILES) -> tuple[str, ...]:
    """Return the test files that import most from a room and least from others, at most so many.

    Rooms of the timed machine are judged by the exact cases beside these, which run all of it.
    """
    seen = THROUGH.get(room, room)
    timed = any(f"{room}.".startswith(f"{name}.") for name in TIMED)
    exact = [file for file in sorted(imports_of_tests()) if timed and file.startswith(EXACT)]
    imported = {file: rooms for file, rooms in imports_of_tests().items() if rooms[seen] and file not in exact}
    found = sorted(imported, key=lambda file: (-imported[file][seen] / imported[file].total(), file))
    return (*found[:most], *exact)
