"""Names and documentation of classes, and how they are called: one meaning for each name."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.structure.imports import ROOT, TOPS, parsed, walked

# participles, pronouns, adjectives and figures of speech: nobody can search for them, and a debugger shows them alone
_NO_NAMES = """
About After Along Around Asked Awaited Before Beside Checked Chosen Compared Done Drawn Elsewhere Expected Found
Given Guess Held How Inside Kept Known Laid Lean Left Like Listed Looked Made Mark Measured Moment Moved Next Of
Parcel Part Piece Place Placed Planned Ran Said Same Shelf Shown Spent Stopped Stretch Taken Told Took Trained
Tried Wanted Way What Which Whole
"""
NO_NAMES = set(_NO_NAMES.split())
# what a variable is not called if it is used over more lines than a glance takes in: it says nothing of what it is
NO_VARIABLES = {"held", "found", "said", "told", "laid", "one"}
LONG_LIFE_LINES = 5
MOST_POSITIONAL = 6
FIELD_LISTS = 3
_LISTED = re.compile(r"(?:^|[.;] )[a-z_]\w*(?:, [a-z_]\w*)*: ")


@cache
def trees() -> dict[str, ast.Module]:
    """Parse every file of the product, by its path from the root."""
    paths = (path for top in TOPS for path in sorted((ROOT / top).rglob("*.py")))
    return {str(path.relative_to(ROOT)): parsed(path.read_text(encoding="utf-8")) for path in paths}


def files_of(top: str) -> Iterator[tuple[str, ast.Module]]:
    return ((path, tree) for path, tree in trees().items() if path.startswith(f"{top}/"))


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in walked(tree) if isinstance(node, ast.ClassDef))


def fields(node: ast.ClassDef) -> Iterator[tuple[ast.AnnAssign, bool]]:
    """Yield the annotated fields of a class, and whether a docstring follows each."""
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign):
            documented = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            yield statement, documented


def is_record(node: ast.ClassDef) -> bool:
    """Tell whether a class is a dataclass or a NamedTuple."""
    return any("dataclass" in ast.unparse(each) for each in node.decorator_list) or any(
        ast.unparse(base) == "NamedTuple" for base in node.bases
    )


def vague_variables(tree: ast.Module) -> Iterator[str]:
    """Yield the name, function and first line of each variable that lives long under a name of NO_VARIABLES."""
    functions = (node for node in walked(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    for name, nodes in (("the module", own_nodes(tree)), *((node.name, ast.walk(node)) for node in functions)):
        lines: dict[str, list[int]] = {}
        bound = set()
        for node in nodes:
            if isinstance(node, ast.Name | ast.arg):
                variable = node.id if isinstance(node, ast.Name) else node.arg
                lines.setdefault(variable, []).append(node.lineno)
                if isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store):
                    bound.add(variable)
        for variable in sorted(bound & NO_VARIABLES):
            if max(lines[variable]) - min(lines[variable]) > LONG_LIFE_LINES:
                yield f"{variable} in {name}, line {min(lines[variable])}"


def own_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module that stand in none of its functions and classes."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node
                waiting.append(node)


@cache
def class_names() -> Counter[str]:
    return Counter(node.name for tree in trees().values() for node in classes(tree) if not node.name.startswith("_"))


def test_no_public_class_name_stands_for_two_classes() -> None:
    assert [name for name, count in class_names().items() if count > 1] == []


def type_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module gives to types: `Name = tuple[...]`."""
    for node in tree.body:
        names = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for name in names:
            if isinstance(name, ast.Name) and re.fullmatch(r"[A-Z][a-z]+[A-Za-z]*", name.id):
                yield name.id


def test_no_name_of_a_type_stands_for_two() -> None:
    names = Counter(name for tree in trees().values() for name in type_names(tree))
    assert [name for name, count in names.items() if count > 1 or name in class_names()] == []


def test_class_names_are_nouns() -> None:
    names = {node.name.lstrip("_") for tree in trees().values() for node in classes(tree)}
    assert sorted(names & NO_NAMES) == []


@pytest.mark.parametrize("top", TOPS)
def test_a_class_is_called_with_few_positional_arguments(top: str) -> None:
    long = [
        f"{path}:{node.lineno}: {ast.unparse(node.func)} with {len(node.args)}"
        for path, tree in files_of(top)
        for node in walked(tree)
        if isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL
        if re.match("cls$|_?[A-Z][a-z]", ast.unparse(node.func).rpartition(".")[2])
    ]
    assert long == []


def unpacks_literal(node: ast.AST) -> bool:
    """Tell whether a node unpacks a tuple or a list that stands there, or gives a call names of parameters as text."""
    if isinstance(node, ast.Call):
        texts = (keyword.value for keyword in node.keywords if keyword.arg is None)
        keys = [key for text in texts if isinstance(text, ast.Dict) for key in text.keys]
        return bool(keys) and all(isinstance(key, ast.Constant) and str(key.value).isidentifier() for key in keys)
    if not isinstance(node, ast.Starred):
        return False
    value = node.value
    if isinstance(value, ast.IfExp):
        return any(isinstance(arm, ast.Tuple) and arm.elts for arm in (value.body, value.orelse))
    if isinstance(value, ast.BinOp):
        return isinstance(value.left, ast.Tuple)
    return isinstance(value, ast.Tuple | ast.List)


@pytest.mark.parametrize(
    "text", ["f(*(a, b))", "(*[a], b)", "(*((a,) if b else ()), c)", "f(*(1,) * n)", "f(**{'a': b})"]
)
def test_a_literal_that_is_unpacked_is_seen(text: str) -> None:
    assert any(unpacks_literal(node) for node in walked(parsed(text)))


@pytest.mark.parametrize("text", ["f(*a)", "(*([a] if b else []), c)", "f(*[1] * n)", "f(**{'a.b': c})", "f(**a)"])
def test_what_has_no_other_form_may_be_unpacked(text: str) -> None:
    assert not any(unpacks_literal(node) for node in walked(parsed(text)))


@pytest.mark.parametrize("top", [*TOPS, "docs"])
def test_no_literal_is_unpacked(top: str) -> None:
    """`f(*(a, b), c)` is `f(a, b, c)`, `(*(a, b), c)` is `(a, b, c)`, and `**{"a": b}` of a call is `a=b`.

    A list of one element that may be left out, `*([a] if b else [])`, and a repeated one, `*[a] * n`, stand for what
    has no other form; tuples do not.
    """
    pages = ((str(path), parsed(path.read_text(encoding="utf-8"))) for path in (ROOT / "docs").rglob("*.py"))
    unpacked = [
        f"{path}:{node.lineno}"
        for path, tree in (pages if top == "docs" else files_of(top))
        for node in walked(tree)
        if unpacks_literal(node)
    ]
    assert unpacked == []


@pytest.mark.parametrize("top", TOPS)
def test_fields_are_documented_at_the_field(top: str) -> None:
    """A public record documents each of its fields, a private one all or none; none lists them in a paragraph."""
    wrong = []
    for path, tree in files_of(top):
        for node in filter(is_record, classes(tree)):
            listed = _LISTED.findall(ast.get_docstring(node) or "")
            named = {field.target.id for field, _ in fields(node) if isinstance(field.target, ast.Name)}
            listed = [text for text in listed if set(re.findall(r"\w+", text)) <= named]
            if any("typer.Option" in ast.unparse(field.annotation) for field, _ in fields(node)):
                continue  # options of a command, which their help documents
            documented = [known for field, known in fields(node) if "ClassVar" not in ast.unparse(field.annotation)]
            needed = not node.name.startswith("_") or any(documented)
            if len(listed) >= FIELD_LISTS or (needed and not all(documented)):
                wrong.append(f"{path}:{node.lineno} {node.name}")
    assert wrong == []


def listed_arguments(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """Return the arguments, of a class those of its constructor, that a docstring lists in a paragraph."""
    constructors = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    function = node if isinstance(node, ast.FunctionDef) else next(constructors, None)
    if function is None:
        return []
    names = {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    text = re.sub(r"(?m)^(Args|Attributes|Raises|Returns|Yields):\n(    .*\n?|\n)*", "", ast.get_docstring(node) or "")
    return [
        name
        for listed in _LISTED.findall(" ".join(text.split()))
        for name in re.findall(r"\w+", listed)
        if name in names
    ]


def test_arguments_are_documented_in_a_section_of_their_own() -> None:
    nodes = (
        (f"{path}:{node.lineno} {node.name}", listed_arguments(node))
        for path, tree in trees().items()
        for node in walked(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    assert {name: listed for name, listed in nodes if len(listed) > 1} == {}


def test_listed_arguments_are_recognised() -> None:
    source = 'def f(a, b):\n    """Add.\n\n    a: one; b: other.\n    """\n'
    (function,) = parsed(source).body
    assert isinstance(function, ast.FunctionDef) and listed_arguments(function) == ["a", "b"]
    (function,) = parsed(source.replace("    a: one; b: other.", "    Args:\n        a: one.\n        b: other.")).body
    assert isinstance(function, ast.FunctionDef) and listed_arguments(function) == []


@pytest.mark.parametrize(
    ("text", "listed"),
    [("A run. kind: its command; title: for people; gpu: its name.", 3), ("A run: what it is. Raises: UserError.", 0)],
)
def test_a_list_of_fields_is_recognised(text: str, listed: int) -> None:
    found = _LISTED.findall(text)
    assert len([each for each in found if each.strip(".; ").islower()]) == listed


def test_the_files_are_read() -> None:
    assert len(trees()) > 700 and str(Path("gpusim/__init__.py")) in trees()


def test_a_variable_that_lives_long_says_what_it_is() -> None:
    assert [f"{path}: {each}" for path, tree in trees().items() for each in vague_variables(tree)] == []


def test_a_vague_variable_is_seen_in_whatever_way_it_is_bound() -> None:
    gap = "    pass\n" * LONG_LIFE_LINES
    long = f"def f():\n    held = 1\n{gap}    return held\n"
    assert list(vague_variables(parsed(long))) == ["held in f, line 2"]
    argument = f"def f(found):\n{gap}    return found\n"
    assert list(vague_variables(parsed(argument))) == ["found in f, line 1"]
    assert list(vague_variables(parsed(argument.replace("    pass\n", "", 1)))) == []
    assert list(vague_variables(parsed(f"one = 1\n{gap[4:].replace('    ', '')}print(one)\n"))) == [
        "one in the module, line 1"
    ]
    assert list(vague_variables(parsed(f"async {long}"))) == ["held in f, line 2"]
    assert list(vague_variables(parsed(f"def f(self):\n    self.held = 1\n{gap}    return self.held\n"))) == []
