"""Which test files may notice an error in a module: those that import it, and little beside it, found in the tree."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from gpusim.base.jit.cache import DOMAINS
from tests.structure.imports import ROOT, imports, module_in, named_in, package_of, sources

FOLDERS = ("unit", "exact", "corpus", "system")  # of tests; damaged inputs and vendors' packages are for other commands
MOST_FILES = 3  # for a module
COMPILER = "gpusim.base.jit"  # after an error in it no compiled code fits
TIMED, EXACT = ("gpusim/model/core/", "memory/", "spartan/"), "tests/exact/"


def without_compiler(package: str) -> bool:
    """Tell whether errors in a package are tried without the compiler: it holds code that is compiled."""
    path = f"{package.replace('.', '/')}/"
    return package != COMPILER and any(path.startswith(f"{place}/") for places in DOMAINS.values() for place in places)


def mode_of(package: str) -> str:
    """Return how errors in a package are tried: "plain" or "compiled"; "fresh": compiled, but nothing is kept."""
    return "plain" if without_compiler(package) else "fresh" if package == COMPILER else "compiled"


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
def imports_of_tests() -> dict[str, frozenset[str]]:
    """Return, for each test file by its path, the project's modules that it imports."""
    found = {}
    for module, path in _modules().items():
        if path.name.startswith("test_") and path.relative_to(ROOT).parts[1] in FOLDERS:
            seen = (other for other in _reached(module, set()) if not other.startswith("tests."))
            found[str(path.relative_to(ROOT))] = frozenset(seen)
    return found


@cache
def _importers() -> dict[str, set[str]]:
    """Return which modules import each module of the project."""
    found: dict[str, set[str]] = {}
    for each in imports():
        found.setdefault(each.imported, set()).add(each.module)
    return found


def _distances(module: str) -> dict[str, int]:
    """Return how far each test file is from a module: 0 where it imports it, 1 where it imports who does, and so on."""
    found: dict[str, int] = {}
    level, seen, distance = {module}, {module}, 0
    while level:
        for file, modules in imports_of_tests().items():
            if modules & level:
                found.setdefault(file, distance)
        # a module that nobody imports by its name is loaded as one of its package
        level = (
            set().union(*(_importers().get(one) or _importers().get(package_of(one), set()) for one in level)) - seen
        )
        seen |= level
        distance += 1
    return found


def judges_of_module(module: str, most: int = MOST_FILES) -> list[str]:
    """Return the nearest test files to a module, `most` and those that the alphabet alone puts behind them.

    Those in a folder of tests that has the name of one of its packages are one step nearer, and so are those that have
    the module's name in theirs, and those that have its package's; of equally near ones those are first that import the
    fewest modules.
    """
    names = module.split(".")
    own, distances = {f"tests/unit/{package}" for package in names}, _distances(module)

    def order(file: str) -> tuple[int, int]:
        folder, _, test = file.rpartition("/")
        far = distances[file] + (folder not in own) + sum(name not in test for name in names[-2:])
        return far, len(imports_of_tests()[file])

    nearest = sorted(sorted(distances), key=order)
    return nearest[:most] + [file for file in nearest[most:] if order(file) == order(nearest[most - 1])]


def judges(files: Iterable[str], most: int = MOST_FILES) -> tuple[str, ...]:
    """Return the test files that judge errors in files of the project: those of each one's module.

    Files of the timed machine are judged by the exact cases beside these, which run all of it.
    """
    found: dict[str, None] = {}
    for file in sorted(set(files)):
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        found |= dict.fromkeys(judges_of_module(module, most))
        if file.startswith(TIMED):
            found |= dict.fromkeys(sorted(test for test in imports_of_tests() if test.startswith(EXACT)))
    return tuple(found)
