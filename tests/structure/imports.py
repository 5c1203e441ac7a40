"""Who imports whom: every import in the source, wherever it stands.

A *package* is a folder with Python modules; a module belongs to the folder it lies in. Counted are imports at the top
of a module, inside functions and for type checking alike, and modules that are named in strings, as `import_module` and
code for another process do.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOPS = ("gpusim", "isa", "memory", "spartan", "workloads")
_IN_TEXT = re.compile(rf"\b(?:from|import)\s+((?:{'|'.join(TOPS)})(?:\.\w+)*)")
_FILES = ("gpusim.db", "gpusim.toml")  # of a user's folder: no modules
_DOTTED = re.compile(rf"(?:{'|'.join(TOPS)})(?:\.\w+)+")


@dataclass(frozen=True)
class Import:
    """A module, the line on which it names another one, and whether that is an import at the module's top."""

    module: str
    line: int
    imported: str
    at_top: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.imported}"


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a source, made once for all tests of a process that read it."""
    return ast.parse(text)


@cache
def walked(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a tree of `parsed`, found once for all tests of a process that look at them."""
    return tuple(ast.walk(tree))


@cache
def sources(root: Path = ROOT) -> tuple[tuple[str, Path], ...]:
    """Every module's dotted name and file."""
    return tuple(_sources(root))


def _sources(root: Path) -> Iterator[tuple[str, Path]]:
    for top in TOPS:
        for path in sorted((root / top).rglob("*.py")):
            if root == ROOT and not path.with_name("__init__.py").exists():
                continue  # a program of the user's process: no module of the project
            parts = path.relative_to(root).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def package_of(module: str, root: Path = ROOT) -> str:
    """The package that a module belongs to, of an `__init__` its own."""
    return module if (root / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]


def packages(root: Path = ROOT) -> set[str]:
    """Every folder that holds Python modules."""
    return {package_of(module, root) for module, _ in sources(root)}


def docstring(package: str) -> str:
    """What the package says of itself."""
    text = (ROOT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")
    return ast.get_docstring(parsed(text)) or ""


def module_in(dotted: str, modules: frozenset[str]) -> str | None:
    """The module that a dotted name lies in: itself, or the part before a name that the module defines."""
    while dotted and dotted not in modules:
        dotted = dotted.rpartition(".")[0]
    return dotted or None


def named_in(tree: ast.Module, module: str) -> Iterator[tuple[ast.AST, str]]:
    """The statement and dotted name of everything a module imports, in whatever way."""
    docstrings: set[int] = set()  # constants that are nobody's value; a statement comes before its parts
    for node in walked(tree):
        if isinstance(node, ast.Expr):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.Import):
            yield from ((node, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{module}:{node.lineno}: relative import; packages are named in full")
            yield from ((node, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if _DOTTED.fullmatch(node.value) and node.value not in _FILES:
                yield node, node.value
            yield from ((node, dotted) for dotted in _IN_TEXT.findall(node.value))


@cache
def imports(root: Path = ROOT) -> tuple[Import, ...]:
    """Every import of one of the project's modules by another."""
    files = dict(sources(root))
    modules = frozenset(files)
    found = []
    for module, path in files.items():
        tree = parsed(path.read_text(encoding="utf-8"))
        for node, dotted in named_in(tree, module):
            imported = module_in(dotted, modules)
            if imported and imported != module:
                found.append(Import(module, node.lineno, imported, node in tree.body))
    return tuple(found)


@cache
def arrows(root: Path = ROOT) -> dict[str, dict[str, list[Import]]]:
    """For each package, the other packages that it imports from, and by which imports."""
    found: dict[str, dict[str, list[Import]]] = {package: {} for package in sorted(packages(root))}
    for each in imports(root):
        here, there = package_of(each.module, root), package_of(each.imported, root)
        if here != there:
            found[here].setdefault(there, []).append(each)
    return found
