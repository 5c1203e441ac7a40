"""Which errors can be put into a function: each a small piece of its source, and what replaces it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_CALLS = {"min": "max", "max": "min"}
_ROUND_ROBIN = "ctz_from"  # (mask, first): with `first` 0 the lowest bit always goes first
_HINTS = ("prefetch",)  # for the host's sake: no result depends on them


@dataclass(frozen=True)
class Mutation:
    """One error: the text from `start` to `end` (line, column) of a file becomes `text`."""

    file: str
    function: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    what: str

    @property
    def name(self) -> str:
        """How the command names it."""
        return f"{self.file}:{self.start[0]}:{self.start[1]} {self.what}"

    def applied(self, source: str) -> str:
        """The file's source with the error."""
        lines = source.splitlines(keepends=True)
        (first, left), (last, right) = self.start, self.end
        head = lines[first - 1].encode()[:left].decode()
        tail = lines[last - 1].encode()[right:].decode()
        return "".join([*lines[: first - 1], head + self.text + tail, *lines[last:]])


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


class _Finder:
    """The mutations of one function."""

    def __init__(self, file: str, name: str, body: Sequence[ast.AST], source: str) -> None:
        self.file, self.name, self.body, self.source = file, name, body, source

    def _replaced(self, node: ast.AST, text: str, what: str) -> Mutation:
        return Mutation(self.file, self.name, _start(node), _end(node), text, what)

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Mutation:
        """An operator that stands between two operands (whatever brackets there are stay)."""
        text = self._text((left.end_lineno or 0, left.end_col_offset or 0), _start(right))
        return Mutation(
            self.file, self.name, _end(left), _start(right), text.replace(old, new, 1), f"`{old}` → `{new}`"
        )

    def _text(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        lines = [line.encode() for line in self.source.splitlines(keepends=True)[start[0] - 1 : end[0]]]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][start[1] :]
        return b"".join(lines).decode()

    def _negated(self, condition: ast.expr) -> Mutation:
        text = ast.unparse(condition)
        return self._replaced(condition, f"not ({text})", f"not `{text}`")

    def _of_expression(self, node: ast.expr) -> Iterator[Mutation]:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            yield self._between(node.left, node.comparators[0], *_COMPARISONS[type(node.ops[0])])
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            yield self._between(node.left, node.right, *_OPERATORS[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield self._between(left, right, old, new)
        elif isinstance(node, ast.IfExp):
            yield self._negated(node.test)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield self._replaced(node, str(node.value + 1), f"`{node.value}` → `{node.value + 1}`")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _CALLS:
                yield self._replaced(node.func, _CALLS[node.func.id], f"`{node.func.id}` → `{_CALLS[node.func.id]}`")
            elif node.func.id == _ROUND_ROBIN:
                yield self._replaced(node.args[1], "0", "round robin → always the first")

    def _of_statement(self, node: ast.stmt) -> Iterator[Mutation]:
        shown = " ".join(ast.unparse(node).splitlines()[0].split())
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if not (isinstance(node.value.func, ast.Name) and node.value.func.id in _HINTS):
                yield self._replaced(node, "pass", f"without `{shown}`")
        elif isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Assign) and not any(isinstance(t, ast.Name | ast.Tuple) for t in node.targets)
        ):
            yield self._replaced(node, "pass", f"without `{shown}`")
        elif isinstance(node, ast.If):
            yield self._negated(node.test)
        elif isinstance(node, ast.Break):
            yield self._replaced(node, "continue", "`break` → `continue`")
        elif isinstance(node, ast.Continue):
            yield self._replaced(node, "break", "`continue` → `break`")

    def found(self) -> Iterator[Mutation]:
        """All mutations of the function, those of its messages and annotations left out."""
        todo = list(self.body)
        while todo:
            node = todo.pop()
            if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.FunctionDef):
                continue
            if isinstance(node, ast.stmt):
                yield from self._of_statement(node)
            elif isinstance(node, ast.expr):
                yield from self._of_expression(node)
            todo += ast.iter_child_nodes(node)


def _bodies(tree: ast.Module) -> Iterator[tuple[str, Sequence[ast.AST]]]:
    """Yield the name and body of each function, and of each row of a table: `vop(name, ...)(lambda ...)`."""
    yield from ((node.name, node.body) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    loops = [statement for statement in tree.body if isinstance(statement, ast.For)]
    for statement in (*tree.body, *(each for loop in loops for each in loop.body)):
        match statement:
            case ast.Expr(ast.Call(ast.Call(args=[name, *_]), [ast.Lambda(body=body)])):
                yield ast.literal_eval(name) if isinstance(name, ast.Constant) else ast.unparse(name), [body]


def mutations_of(file: str, root: Path) -> list[Mutation]:
    """All mutations of a file's functions, in the order of the text."""
    source = (root / file).read_text(encoding="utf-8")
    found = {m for name, body in _bodies(ast.parse(source)) for m in _Finder(file, name, body, source).found()}
    return sorted(found, key=lambda m: (m.start, m.end, m.what))
