"""The modules that a module reaches by imports, and by dotted names in texts, as kinds of jobs name theirs.

A point depends on no code that its own kind of job does not reach. Imports count wherever they stand in a module. A
name such as `isa.opcodes.{name}`, put together while a program runs, stands for the whole package.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

_DOTTED = re.compile(r"(?:gpusim|isa|memory|spartan|workloads)(?:\.\w+)+\.?")


def list_reached(start: Iterable[str], sources: Mapping[str, str]) -> frozenset[str]:
    """List the modules that some modules reach, these included.

    Args:
        start: Dotted names of modules.
        sources: Texts of all modules that may be reached, by dotted name; that of a package is its `__init__`.

    Returns:
        Dotted names.
    """
    reached, pending = set[str](), [*start]
    while pending:
        name = pending.pop()
        if name in sources and name not in reached:
            reached.add(name)
            pending += _list_named(sources[name], sources)
            pending += [name.rpartition(".")[0]]  # importing a module imports its package
    return frozenset(reached)


def _list_named(source: str, sources: Mapping[str, str]) -> Iterator[str]:
    """Yield the modules that a module's source names."""
    tree = ast.parse(source)
    descriptions = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (_module_of(alias.name, sources) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, "packages import by full names"
            yield from (_module_of(f"{node.module}.{alias.name}", sources) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in descriptions:
            for dotted in _DOTTED.findall(node.value):
                if dotted.endswith("."):
                    yield from (name for name in sources if name.startswith(dotted))
                else:
                    yield _module_of(dotted, sources)


def _module_of(dotted: str, sources: Mapping[str, str]) -> str:
    """Return the module that a dotted name lies in; empty where it lies in none."""
    while dotted and dotted not in sources:
        dotted = dotted.rpartition(".")[0]
    return dotted
