"""Who reads and writes which field of the machine record, found in the source.

The record is `m` everywhere, as a parameter or as an attribute (`self.m`, `self._m`). Parts of it are followed through
local names (`wave = m.cu.wave[w]`), through the arguments of the project's own functions and through what these return,
until nothing new is found. An array whose address is taken counts as read: what is written through the address is not
seen here.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path

import numpy as np

from tests.structure.imports import ROOT, parsed, sources, walked

_RECORD_NAMES = ("m", "_m")
_OTHERS = "isa."  # its interpreter has a record of its own, of the same name
_TOOLS = "gpusim.base.jit"  # what it does with an array or its address, it does for its caller
READ, WRITTEN, ADDED = "reads", "writes", "adds to"  # ADDED: counted up, or raised to a maximum


@dataclass(frozen=True)
class Part:
    """Part of the machine record: the fields that lead to it and the indices that it still takes."""

    path: tuple[str, ...]
    kind: np.dtype
    dims: int

    @property
    def is_value(self) -> bool:
        """A number, no longer a part of the record once it is read."""
        return self.kind.names is None and self.dims == 0

    def field(self, name: str) -> "Part | None":
        """One of its fields, None if it has none of the name."""
        if self.kind.names is None or name not in self.kind.names:
            return None
        kind = self.kind[name]
        return Part((*self.path, name), kind.base, self.dims + len(kind.shape))


@dataclass(frozen=True)
class Access:
    """A field that a module's function reads, writes or adds to."""

    field: str
    use: str
    module: str
    function: str
    line: int
    compiled: bool

    @property
    def written(self) -> bool:
        """Whether the field changes."""
        return self.use != READ

    @property
    def component(self) -> str:
        """The unit's state in the machine record."""
        return self.field.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.module}:{self.line} ({self.function}) {self.use} m.{self.field}"


class _Function:
    """One function and which parts of the record its names stand for."""

    def __init__(self, module: str, node: ast.FunctionDef | ast.Module, name: str) -> None:
        self.module, self.node, self.name = module, node, name
        self.parameters = [a.arg for a in node.args.args] if isinstance(node, ast.FunctionDef) else []
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        self.compiled = any("jit" in ast.unparse(decorator) for decorator in decorators)
        self.parts: dict[str, set[Part]] = {}
        self.returned: set[Part] = set()

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the body but those of functions and classes defined in it."""
        todo: list[ast.AST] = list(self.node.body)
        found = []
        while todo:
            node = todo.pop()
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.append(node)
                todo += ast.iter_child_nodes(node)
        return found


class Accesses:
    """All accesses to a record of type `machine` in the sources below `root`."""

    def __init__(self, machine: np.dtype, root: Path = ROOT) -> None:
        self._record = Part((), machine, 0)
        self._functions: dict[tuple[str, str], _Function] = {}
        self._all: list[_Function] = []
        self._name_it: set[str] = set()  # modules in whose text the record's names are
        self._names: dict[str, dict[str, tuple[str, str]]] = {}  # module → name → (module, function) it stands for
        for module, path in sources(root):
            if not module.startswith(_OTHERS):
                text = path.read_text(encoding="utf-8")
                self._enter(module, parsed(text))
                if re.search(rf"\b({'|'.join(_RECORD_NAMES)})\b", text):
                    self._name_it.add(module)
        self._changed = True
        while self._changed:
            self._changed = False
            for function in self._near():
                self._follow(function)
        self.found = sorted(
            {access for function in self._near() for access in self._accesses(function)},
            key=lambda a: (a.field, a.module, a.line, a.use),
        )

    def _enter(self, module: str, tree: ast.Module) -> None:
        names, of_node = self._names.setdefault(module, {}), dict[ast.FunctionDef, _Function]()
        for node in walked(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names.update({n.asname or n.name: (node.module, n.name) for n in node.names})
            elif isinstance(node, ast.FunctionDef):
                of_node[node] = _Function(module, node, node.name)
        self._all += of_node.values()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self._functions[module, node.name] = of_node[node]
                names[node.name] = module, node.name

    def _near(self) -> list[_Function]:
        """The functions in which anything may stand for a part of the record, as far as is known."""
        given = {
            module
            for module, names in self._names.items()
            if any((called := self._named(module, name)) and called.returned for name in names)
        }
        return [f for f in self._all if f.module in self._name_it | given or any(f.parts.values())]

    def _called(self, function: _Function, call: ast.Call) -> _Function | None:
        return self._named(function.module, call.func.id) if isinstance(call.func, ast.Name) else None

    def _named(self, module: str, name: str) -> _Function | None:
        """The function that a name in a module stands for."""
        target, before = self._names[module].get(name), set()
        while target and target not in self._functions and target not in before:
            before.add(target)  # a package that hands on what a module of it defines
            target = self._names.get(target[0], {}).get(target[1])
        return self._functions.get(target) if target and not target[0].startswith(_TOOLS) else None

    def _parts(self, function: _Function, node: ast.expr) -> set[Part]:
        """The parts of the record that an expression may stand for."""
        if isinstance(node, ast.Name):
            return {self._record} if node.id in _RECORD_NAMES else function.parts.get(node.id, set())
        if isinstance(node, ast.Attribute):
            if node.attr in _RECORD_NAMES:
                return {self._record}
            return {p for part in self._parts(function, node.value) if (p := part.field(node.attr))}
        if isinstance(node, ast.Subscript):
            return self._indexed(self._parts(function, node.value), node.slice)
        if isinstance(node, ast.IfExp):
            return self._parts(function, node.body) | self._parts(function, node.orelse)
        if isinstance(node, ast.Call):
            if ast.unparse(node.func) == "np.asarray":  # host code that takes a field of all records at once
                return self._parts(function, node.args[0])
            called = self._called(function, node)
            return set(called.returned) if called else set()
        return set()

    @staticmethod
    def _indexed(parts: set[Part], index: ast.expr) -> set[Part]:
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return {p for part in parts if (p := part.field(index.value))}
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        taken = sum(not isinstance(i, ast.Slice) for i in indices)
        return {Part(part.path, part.kind, part.dims - taken) for part in parts if part.dims >= taken}

    def _add(self, parts: set[Part], more: set[Part]) -> None:
        more = {p for p in more if not p.is_value} - parts
        if more:
            parts |= more
            self._changed = True

    def _follow(self, function: _Function) -> None:
        """Bind the function's names, and the parameters of what it calls, to the parts they stand for."""
        for node in function.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts, strict=False))
                    for name, value in pairs:
                        if isinstance(name, ast.Name):
                            self._add(function.parts.setdefault(name.id, set()), self._parts(function, value))
            elif isinstance(node, ast.Return) and node.value:
                self._add(function.returned, self._parts(function, node.value))
            elif isinstance(node, ast.Call) and (called := self._called(function, node)):
                bound = list(zip(called.parameters, node.args, strict=False))
                bound += [(k.arg, k.value) for k in node.keywords if k.arg]
                for name, value in bound:
                    self._add(called.parts.setdefault(name, set()), self._parts(function, value))

    def _accesses(self, function: _Function) -> Iterator[Access]:
        passed_on = set()  # parts that only get another name
        for node in function.nodes:
            if isinstance(node, ast.Attribute | ast.Subscript):
                passed_on.add(id(node.value))
            elif isinstance(node, ast.Assign):
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                passed_on |= {id(value) for value in values}
            elif isinstance(node, ast.Call) and (
                self._called(function, node) or ast.unparse(node.func) == "np.asarray"
            ):
                passed_on |= {id(value) for value in [*node.args, *(k.value for k in node.keywords)]}
        uses = dict(self._changes(function))
        for node in function.nodes:
            if not isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
                continue
            stored = isinstance(node.ctx, ast.Store)
            if isinstance(node, ast.Name) and stored:
                continue
            for part in self._parts(function, node):
                if len(part.path) < 2 or (not stored and not part.is_value and id(node) in passed_on):
                    continue
                field = ".".join(part.path)
                for use in uses.get(id(node), (WRITTEN,) if stored else (READ,)):
                    yield Access(field, use, function.module, function.name, node.lineno, function.compiled)

    @staticmethod
    def _changes(function: _Function) -> Iterator[tuple[int, tuple[str, ...]]]:
        """What is done to a field that a statement changes by itself; nothing where it stands on the right hand."""
        for node in function.nodes:
            if isinstance(node, ast.AugAssign):
                yield id(node.target), (ADDED,) if isinstance(node.op, ast.Add) else (READ, WRITTEN)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                target, call = ast.unparse(node.targets[0]), node.value
                again = [argument for argument in call.args if ast.unparse(argument) == target]
                if ast.unparse(call.func) == "max" and again:
                    yield id(node.targets[0]), (ADDED,)
                    yield from ((id(argument), ()) for argument in again)


@cache
def machine_accesses() -> tuple[Access, ...]:
    """Every access of the project's code to the machine record."""
    from gpusim.model.core.machine import machine_dtype

    return tuple(Accesses(machine_dtype()).found)


@cache
def owners() -> dict[str, str]:
    """For each component of the machine record the module that declares its state."""
    from gpusim.model.core.machine import MACHINE

    found = {}
    for module, path in sources():
        text = path.read_text(encoding="utf-8")
        for node in parsed(text).body if "State(" in text else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("State("):
                declared = getattr(import_module(module), ast.unparse(node.targets[0]))
                found |= {state.name: module for state in MACHINE if state is declared}
    return found
