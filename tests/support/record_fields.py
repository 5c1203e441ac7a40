"""What the compiled core does with each field of the machine record, from its source."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("gpusim/core", "memory", "spartan")
ADDED, READ, WRITTEN = "added", "read", "written"  # counted up or raised to a maximum; used; set

FieldPath = tuple[str, ...]


def field_uses() -> dict[FieldPath, dict[str, set[str]]]:
    """Path of a field in the record, such as ('l1', 'hits') → what is done with it → in which compiled functions."""
    uses: dict[FieldPath, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for function, where in _compiled_functions():
        for path, use in _Uses(function).found:
            uses[path][use].add(where)
    return uses


def _compiled_functions() -> Iterator[tuple[ast.FunctionDef, str]]:
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in node.decorator_list):
                    yield node, f"{file.relative_to(ROOT)}:{node.name}"


class _Uses:
    """Uses of the record's fields in one function; a local such as `l1 = m.l1` stands for what it was set to."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._locals: dict[str, FieldPath] = {"m": ()}
        self.found: list[tuple[FieldPath, str]] = []
        nodes = list(ast.walk(function))
        for node in nodes:
            if isinstance(node, ast.Assign):
                self._name_locals(node)
        accumulating = {id(part) for node in nodes for part in self._accumulation(node)}
        for node in nodes:
            path = self._path(node) if isinstance(node, ast.Attribute) else None
            if path and id(node) not in accumulating:
                self.found.append((path, READ if isinstance(node.ctx, ast.Load) else WRITTEN))

    def _name_locals(self, node: ast.Assign) -> None:
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for name, value in pairs:
                path = self._path(value)
                if isinstance(name, ast.Name) and path:
                    self._locals[name.id] = path

    def _accumulation(self, node: ast.AST) -> list[ast.expr]:
        """The field's mentions in `field += n` and `field = max(field, n)`."""
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            mentions = [node.target]
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) == "max"
            and ast.unparse(node.targets[0]) in map(ast.unparse, node.value.args)
        ):
            target = ast.unparse(node.targets[0])
            mentions = [node.targets[0], *(a for a in node.value.args if ast.unparse(a) == target)]
        else:
            return []
        path = self._path(mentions[0])
        if path:
            self.found.append((path, ADDED))
        return [_without_index(mention) for mention in mentions]

    def _path(self, node: ast.AST) -> FieldPath | None:
        node = _without_index(node)
        if isinstance(node, ast.Name):
            return self._locals.get(node.id)
        if isinstance(node, ast.Attribute):
            holder = self._path(node.value)
            return None if holder is None else (*holder, node.attr)
        return None


def _without_index(node: ast.AST) -> ast.AST:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
