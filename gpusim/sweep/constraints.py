"""What a point has to fulfil: 'engine.sib_kib + engine.prefetch_buffer_kib <= gpu.l2.size_kib / 2'."""

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from gpusim.base.errors import UserError, unknown_name

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_NODES = (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.List, ast.Tuple)
_ALLOWED = "numbers, texts, paths, + - * / // %, comparisons, in, and, or, not, parentheses"


class Constraint:
    """A condition over the values of a point. known: paths of axes and fixed values; raises UserError for any other."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self.text = text
        try:
            self._body = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            raise UserError(f"constraints: '{text}': is no condition (allowed: {_ALLOWED})") from None
        self._check(self._body, known)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether a point is allowed; raises UserError where the values do not go together."""
        try:
            return bool(self._value(self._body, values))
        except (TypeError, ZeroDivisionError) as error:
            raise UserError(f"constraints: '{self.text}': {error}") from None

    def _check(self, node: ast.AST, known: Collection[str]) -> None:
        path = _path(node)
        if path is not None:
            if path not in known:
                raise UserError(f"constraints: '{self.text}': {unknown_name('value', path, known)}")
            return
        if not isinstance(node, _NODES):
            raise UserError(f"constraints: '{self.text}': is no condition (allowed: {_ALLOWED})")
        operators = [getattr(node, "op", None), *getattr(node, "ops", [])]
        for one in operators:
            if one is not None and type(one) not in (*_BINARY, ast.And, ast.Or, ast.Not, ast.USub):
                raise UserError(f"constraints: '{self.text}': is no condition (allowed: {_ALLOWED})")
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._check(part, known)

    def _value(self, node: ast.AST, values: Mapping[str, Any]) -> Any:
        path = _path(node)
        if path is not None:
            return values[path]
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(part, values) for part in node.elts]
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, values)
            return not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BoolOp):
            parts = (self._value(part, values) for part in node.values)
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        if isinstance(node, ast.BinOp):
            return _BINARY[type(node.op)](self._value(node.left, values), self._value(node.right, values))
        assert isinstance(node, ast.Compare)
        sides = [self._value(part, values) for part in (node.left, *node.comparators)]
        return all(_BINARY[type(op)](a, b) for op, a, b in zip(node.ops, sides[:-1], sides[1:], strict=True))


def _path(node: ast.AST) -> str | None:
    """The dotted path that a name or an attribute spells."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _path(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None
