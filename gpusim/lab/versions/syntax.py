"""A hash of what Python source computes, which comments, docstrings and names of local variables leave as it is.

A module is hashed by its syntax tree. Left out are texts that stand alone (docstrings, descriptions of fields), what
only type checkers read (`if TYPE_CHECKING`, return types), and the names of local variables, which are replaced by
numbers. Types of parameters stay: compiled functions are specialised by them. So does a return type of None, which
tells the compiler that a function is void.

Names of parameters stay, as calls may use them. A local variable keeps its name where something else in the module, or
a builtin, has the same one: it could be either.
"""

import ast
import builtins
import hashlib
from collections.abc import Iterator, Mapping

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEFT_OUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_STORED = (ast.Store, ast.Del)
FORM = 1  # of the hash: counts up with each change of what is left out
MACHINE = "m"  # the machine record, whose type the compiler knows without an annotation


def meaning_hash(source: str) -> str:
    """Hash a module's source by what it computes; raise SyntaxError for a text that is no Python."""
    tree = ast.parse(source)
    return hashlib.sha256("\0".join(_tokens(tree, _names_outside_functions(tree), None)).encode()).hexdigest()


def _tokens(node: object, fixed: frozenset[str], names: Mapping[str, str] | None) -> Iterator[str]:
    """Yield the texts that a node consists of.

    Args:
        node: Node, list of nodes, or value of a field.
        fixed: Names that no local variable's number may replace.
        names: Numbers of local variables by name; None outside of functions.
    """
    if isinstance(node, list):
        yield "["
        for item in node:
            if not _is_for_people(item):
                yield from _tokens(item, fixed, names)
        yield "]"
    elif isinstance(node, ast.AST):
        if names is None and isinstance(node, _FUNCTIONS):
            names = _number_locals(node, fixed)
        yield f"({type(node).__name__}"
        for field in node._fields:
            value = getattr(node, field, None)
            if value is None or value == [] or field in _LEFT_OUT or _is_type(node, field, value):
                continue
            yield field
            if names is not None and isinstance(node, ast.Name) and field == "id":
                yield names.get(node.id, node.id)
            else:
                yield from _tokens(value, fixed, names)
        yield ")"
    else:
        yield repr(node)


def _is_for_people(statement: object) -> bool:
    """Tell whether a statement is a text that stands alone, or is read by type checkers alone."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return isinstance(statement.value.value, str)
    if isinstance(statement, ast.If) and not statement.orelse:
        return isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
    return False


def _is_type(node: ast.AST, field: str, value: object) -> bool:
    """Tell whether a field is a type that neither the compiler nor a class's fields follow from."""
    if field == "returns":
        return not (isinstance(value, ast.Constant) and value.value is None)
    return field == "annotation" and isinstance(node, ast.arg) and node.arg == MACHINE


def _names_outside_functions(tree: ast.Module) -> frozenset[str]:
    """Return the builtins, and the names that are bound in a module and its classes."""
    names, nodes = set(dir(builtins)), list[ast.AST](tree.body)
    while nodes:
        node = nodes.pop()
        names |= _bound(node)
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            nodes += ast.iter_child_nodes(node)
    return frozenset(names)


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a node itself binds, or declares as those of another scope."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, _STORED) else set()
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    if isinstance(node, ast.Global | ast.Nonlocal):
        return set(node.names)
    if isinstance(node, ast.keyword):
        return set()
    return {value for field in ("name", "arg", "rest") if isinstance(value := getattr(node, field, None), str)}


def _number_locals(function: ast.FunctionDef | ast.AsyncFunctionDef, fixed: frozenset[str]) -> Mapping[str, str]:
    """Return a number for each name that only variables of a function, and of functions in it, have."""
    stored, others = set[str](), set(fixed)
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            stored |= _bound(node)
        elif isinstance(node, ast.ClassDef):
            others |= {name for inner in ast.walk(node) for name in _bound(inner)}
        else:
            others |= _bound(node)
    order = dict.fromkeys(node.id for node in ast.walk(function) if isinstance(node, ast.Name))
    return {name: f"local {number}" for number, name in enumerate(n for n in order if n in stored - others)}
