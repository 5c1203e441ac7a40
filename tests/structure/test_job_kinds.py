"""Do report, commands, store and studies leave what differs between kinds of jobs to the kinds?"""

import ast
import inspect
from pathlib import Path

import pytest

from gpusim.base.extensions import job_kind, job_kinds, load
from tests.structure.imports import parsed

ROOT = Path(__file__).parents[2]
# a sweep's file says of what it is by one of three keys, each with paths of its own: a table in study/sweep/tasks.py
PLACES = ("gpusim/results", "gpusim/cli", "gpusim/study/compare", "gpusim/study/sweep/costs.py", "gpusim/lab/checks")
KINDS = {"run", *job_kinds()}  # as results name them: the kinds that `gpusim run` has are one


def names_kind(node: ast.expr) -> bool:
    """Tell whether an expression is a variable or a field called 'kind'."""
    return (isinstance(node, ast.Name) and node.id == "kind") or (
        isinstance(node, ast.Attribute) and node.attr == "kind"
    )


def named_kinds(node: ast.expr) -> set[str]:
    """Return the kinds of jobs that are written out in an expression."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value in KINDS}


def distinguished(source: str) -> list[int]:
    """Return the lines that compare a kind with the name of one, or look it up in a mapping of such names."""
    tree = parsed(source)
    written = {
        target.id: named_kinds(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple | ast.List | ast.Set | ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def says(node: ast.expr) -> bool:
        return bool(named_kinds(node) or (isinstance(node, ast.Name) and written.get(node.id)))

    lines = []
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            parts = [node.value, node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            parts = [node.func.value, *node.args]
        elif isinstance(node, ast.Match):
            parts = [node.subject, *(one.value for one in ast.walk(node) if isinstance(one, ast.MatchValue))]
        if any(map(names_kind, parts)) and any(map(says, parts)):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("place", PLACES)
def test_no_kind_of_job_is_distinguished_by_its_name(place: str) -> None:
    files = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
    assert files
    found = {str(path.relative_to(ROOT)): distinguished(path.read_text(encoding="utf-8")) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}, "a kind of job brings its views"


@pytest.mark.parametrize(
    ("source", "is_fault"),
    [
        ('result.kind == "net"', True),
        ('"hip" != kind', True),
        ('spec.kind in ("run", "exec")', True),
        ('MANY = ("net", "hip")\nif kind in MANY: pass', True),
        ('{"hip": 1, "net": 2}[result.kind]', True),
        ('{"hip": 1, "net": 2}.get(result.kind, 3)', True),
        ('match kind:\n  case "net": pass', True),
        ('choice.kind == "heat-map"', False),
        ("job_kinds().get(result.kind)", False),
        ('row["kind"] in job_kinds()', False),
    ],
)
def test_what_distinguishes_kinds(source: str, is_fault: bool) -> None:
    assert bool(distinguished(source)) is is_fault


MADE = [
    (str(path.relative_to(ROOT)), node)
    for path in sorted((ROOT / "gpusim").rglob("*.py"))
    for node in ast.walk(parsed(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "make_job"
    if isinstance(node.args[0], ast.Constant)
]


@pytest.mark.parametrize(("path", "call"), MADE, ids=[path for path, _ in MADE])
def test_a_job_is_made_of_what_its_factory_takes(path: str, call: ast.Call) -> None:
    """A factory is named by text: no other check sees a parameter that it lost."""
    (kind,) = named_kinds(call.args[0])
    inspect.signature(load(job_kind(kind).factory)).bind(*call.args[1:])
