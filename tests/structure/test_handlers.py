"""Is an error of the program's own ever called damage of a user's file?

A handler of KeyError, TypeError, AttributeError, IndexError or Exception cannot distinguish a wrong file from a wrong
program once functions of the project run inside it. So such a handler may stand around calls of other libraries alone,
or pass the error on; readers check a file's form first (`gpusim.base.plain_data.parse_as`).
"""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.structure.imports import parsed

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gpusim", "isa", "memory", "spartan", "workloads")
BROAD = {"Exception", "BaseException", "KeyError", "IndexError", "LookupError", "TypeError", "AttributeError"}
_DEFINED = re.compile(r"^\s*(?:def|class) (\w+)", re.MULTILINE)
_CAUGHT = re.compile(rf"\b(?:except\b(?=\s*:|[^\n]*(?:{'|'.join(BROAD)}))|suppress\([^\n]*(?:{'|'.join(BROAD)}))")
PLAIN_TYPES = (str, bytes, int, float, dict, list, tuple, set, Path)

# file and function of handlers around the project's own functions, each with the reason why nothing is blamed on a user
ALLOWED = {
    ("gpusim/base/children.py", "_work"): "the parent process raises it as an internal error",
    ("gpusim/base/expressions.py", "_apply"): "the function is one of Python's operators",
    ("gpusim/cli/main.py", "_invoke"): "what is no error of the command line's parser is raised again",
    ("gpusim/study/sweep/cluster.py", "gpusim_point"): "a worker's gpusim may be of any version; its error is quoted",
    ("isa/object/line_table.py", "_read"): "the functions inside do nothing but walk the objects of the parser",
    ("workloads/networks/onnx_evaluator.py", "evaluate"): "nothing is blamed: the second reading is said to be missing",
    (
        "workloads/vendor/kernel_selection.py",
        "_tables",
    ): "a vendor's file of gigabytes is indexed piece by piece inside",
    ("workloads/networks/torch_module.py", "_called"): "calls the user's function; its error is quoted as theirs",
}
# methods of other libraries' objects that share a name with a method of the project: file, call as written
FOREIGN_METHODS = {
    ("gpusim/lab/capture/photographs.py", "opened.convert"): "Pillow's image",
    ("gpusim/study/sweep/cluster.py", "self._client.close"): "Dask's client",
    ("workloads/networks/torch_module.py", "part.train"): "PyTorch's module",
    ("workloads/networks/torch_module.py", "torch.onnx.export"): "PyTorch's exporter, of a module that is passed",
    ("workloads/networks/onnx_file.py", "checker.check_node"): "onnx's checker",
}


class Handler(NamedTuple):
    """A broad handler with the project's functions that are called inside."""

    file: str
    function: str
    line: int
    calls: tuple[str, ...]


def _caught(kind: ast.expr | None) -> set[str]:
    """Return the names of the classes that a handler names; a bare one catches BaseException."""
    if kind is None:
        return {"BaseException"}
    parts = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return {part.id if isinstance(part, ast.Name) else getattr(part, "attr", "") for part in parts}


@cache
def _own_functions() -> frozenset[str]:
    """Return the names of all functions, methods and classes of the packages."""
    return frozenset(name for text in _texts().values() for name in _DEFINED.findall(text))


@cache
def _texts() -> dict[str, str]:
    """Return the packages' files with their texts."""
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def _imports(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names that a file imports from the packages, and those from elsewhere."""
    own: set[str] = set()
    foreign: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                (own if alias.name.split(".")[0] in PACKAGES else foreign).add(
                    alias.asname or alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            names = own if (node.module or "").split(".")[0] in PACKAGES else foreign
            names.update(alias.asname or alias.name for alias in node.names)
    return own, foreign


def _root(expression: ast.expr) -> str:
    while isinstance(expression, ast.Attribute | ast.Call):
        expression = expression.value if isinstance(expression, ast.Attribute) else expression.func
    return expression.id if isinstance(expression, ast.Name) else ""


def _own_calls(body: list[ast.stmt], own: set[str], foreign: set[str]) -> Iterator[str]:
    """Yield the calls in a block that may run the project's functions."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    raised = {id(node.exc) for node in nodes if isinstance(node, ast.Raise)}  # making an error that the user gets
    if any(isinstance(node, ast.Yield) for node in nodes):
        yield "yield"  # of a context manager: whatever runs in its block
    for call in (node for node in nodes if isinstance(node, ast.Call) and id(node) not in raised):
        if isinstance(call.func, ast.Name):
            name = call.func.id
            if name in own or not (name in foreign or hasattr(builtins, name)):
                yield name
        elif isinstance(call.func, ast.Attribute):
            root, name = _root(call.func), call.func.attr
            plain = any(hasattr(kind, name) for kind in PLAIN_TYPES)
            if root not in foreign and (root in own or (name in _own_functions() and (root == "self" or not plain))):
                yield ast.unparse(call.func)
        else:
            yield ast.unparse(call.func)


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler ends by raising what it caught."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and (
        last.exc is None or (isinstance(last.exc, ast.Name) and last.exc.id == handler.name)
    )


def _blocks(function: ast.AST) -> Iterator[tuple[ast.ExceptHandler | ast.With, list[ast.stmt]]]:
    """Yield the broad handlers of a function with what they stand around."""
    for node in ast.walk(function):
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                if _caught(handler.type) & BROAD and not _passes_on(handler):
                    yield handler, node.body
        elif isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if (
                    isinstance(call, ast.Call)
                    and getattr(call.func, "attr", getattr(call.func, "id", "")) == "suppress"
                ):
                    if set().union(*(_caught(one) for one in call.args)) & BROAD:
                        yield node, node.body


def handlers(text: str, file: str) -> Iterator[Handler]:
    """Yield the broad handlers of a file that stand around the project's own functions."""
    tree = parsed(text)
    own, foreign = _imports(tree)
    own |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for place, body in _blocks(tree):
        found = dict.fromkeys(_own_calls(body, own, foreign))
        calls = tuple(call for call in found if (file, call) not in FOREIGN_METHODS)
        if calls:
            line = place.lineno
            inside = [f for f in functions if f.lineno <= line <= (f.end_lineno or 0)]
            yield Handler(file, max(inside, key=lambda f: f.lineno).name if inside else "", line, calls)


def _all_handlers() -> list[Handler]:
    return [one for file, text in _texts().items() if _CAUGHT.search(text) for one in handlers(text, file)]


def test_broad_handlers_stand_around_other_libraries_alone() -> None:
    found = _all_handlers()
    assert [one for one in found if (one.file, one.function) not in ALLOWED] == []
    assert set(ALLOWED) <= {(one.file, one.function) for one in found}, "no longer needed"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("import json\ntry:\n    json.loads(t)\nexcept TypeError:\n    pass", ()),
        ("from gpusim.a import parse\ntry:\n    parse(t)\nexcept (OSError, KeyError):\n    pass", ("parse",)),
        ("from gpusim.a import parse\ntry:\n    parse(t)\nexcept KeyError:\n    note()\n    raise", ()),
        ("from gpusim.a import parse\ntry:\n    parse(t)\nexcept OSError:\n    pass", ()),
        ("from gpusim import a\nwith suppress(OSError, TypeError):\n    a.parse(t)", ("a.parse",)),
        ("try:\n    held['x']\nexcept KeyError:\n    pass", ()),
        ("class A:\n    pass\ntry:\n    A(**held)\nexcept TypeError:\n    pass", ("A",)),
        ("from gpusim.a import E\ntry:\n    raise E('x')\nexcept Exception:\n    pass", ()),
        ("try:\n    yield\nexcept Exception:\n    pass", ("yield",)),
        ("def f(read):\n    try:\n        read()\n    except:\n        pass", ("read",)),
    ],
)
def test_every_kind_of_handler_is_seen(text: str, calls: tuple[str, ...]) -> None:
    assert [one.calls for one in handlers(text, "a.py")] == ([calls] if calls else [])


def test_every_foreign_method_is_called() -> None:
    files = {file: (ROOT / file).read_text(encoding="utf-8") for file, _ in FOREIGN_METHODS}
    assert [(file, call) for file, call in FOREIGN_METHODS if f"{call}(" not in files[file]] == []
