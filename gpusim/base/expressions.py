"""Expressions over values by their paths: what a sweep's point has to fulfil, what is looked for, what is drawn."""

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from gpusim.base.errors import UserError, nearest, unknown_name
from gpusim.base.intervals import Estimate

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
_MOST_NAMED = 40  # of known paths, in a message


class Expression:
    """Arithmetic, comparisons and logic over values by their paths.

    Raises UserError for other paths, and for texts that are no such expression.

    Args:
        section: Section of the sweep's file, for messages.
        what: The purpose, such as 'condition'.
        known: Paths that the expression may name.
    """

    def __init__(self, text: str, known: Collection[str], section: str, what: str) -> None:
        self.text, self._section, self._what = text, section, what
        self.paths: list[str] = []
        try:
            self._body = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._no_expression() from None
        self._check(self._body, known)

    def value(self, values: Mapping[str, Any]) -> Any:
        """Return the expression's value; raise UserError where the values do not go together."""
        return self._value(self._body, values)

    def estimate(self, values: Mapping[str, Any], widths: Mapping[str, float]) -> Estimate:
        """Return the value, and its largest error when each of its terms is off by its half-width.

        Raise UserError where the values do not go together.
        """
        value, off = float(self.value(values)), 0.0
        for path, width in widths.items():
            if width and path in self.paths:
                more, less = (self.value({**values, path: values[path] + way * width}) for way in (1, -1))
                off += abs(more - less) / 2
        return value, off

    def _no_expression(self) -> UserError:
        return UserError(f"{self._section}: '{self.text}': is no {self._what} (allowed: {_ALLOWED})")

    def _check(self, node: ast.AST, known: Collection[str]) -> None:
        path = _path(node)
        if path is not None:
            if path not in known:
                raise UserError(f"{self._section}: '{self.text}': {_unknown(path, known)}")
            self.paths.append(path)
            return
        if not isinstance(node, _NODES):
            raise self._no_expression()
        operators = [getattr(node, "op", None), *getattr(node, "ops", [])]
        for one in operators:
            if one is not None and type(one) not in (*_BINARY, ast.And, ast.Or, ast.Not, ast.USub):
                raise self._no_expression()
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
            return not value if isinstance(node.op, ast.Not) else self._apply(operator.neg, value)
        if isinstance(node, ast.BoolOp):
            parts = (self._value(part, values) for part in node.values)
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        if isinstance(node, ast.BinOp):
            sides = [self._value(part, values) for part in (node.left, node.right)]
            if not isinstance(node.op, ast.Add) and any(isinstance(side, str | list) for side in sides):
                raise UserError(f"{self._section}: '{self.text}': texts and lists can be joined by + alone")
            return self._apply(_BINARY[type(node.op)], *sides)
        assert isinstance(node, ast.Compare)
        sides = [self._value(part, values) for part in (node.left, *node.comparators)]
        pairs = zip(node.ops, sides[:-1], sides[1:], strict=True)
        return all(self._apply(_BINARY[type(sign)], left, right) for sign, left, right in pairs)

    def _apply(self, function: Callable[..., Any], *sides: Any) -> Any:
        """Apply one of Python's operators; raise UserError for values that it does not take."""
        try:
            return function(*sides)
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise UserError(f"{self._section}: '{self.text}': {error}") from None


def condition(text: str, known: Collection[str]) -> Expression:
    """Parse what a point has to fulfil, as in 'engine.sib_kib <= gpu.l2.size_kib / 2'.

    Args:
        text: a comparison.
        known: paths that it may name.

    Returns:
        The condition.
    """
    return Expression(text, known, "constraints", "condition")


def _path(node: ast.AST) -> str | None:
    """Return the dotted path that a name or an attribute spells; None for any other node."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _path(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None


def _unknown(path: str, known: Collection[str]) -> str:
    if len(known) <= _MOST_NAMED:
        return unknown_name("value", path, known)
    guess = nearest(path, known)
    return f"unknown value '{path}'" + (f"; did you mean '{guess}'?" if guess else "")
