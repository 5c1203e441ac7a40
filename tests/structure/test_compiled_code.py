"""Does compiled code keep clear of what may raise? Machine code that may raise refers to Python, and cannot be kept."""

import ast

import pytest

from tests.structure.imports import ROOT, parsed

COMPILED = ("memory", "spartan", "gpusim/model")  # in isa one step varies, among numbers that the compiler sees


def _is_jit(function: ast.FunctionDef) -> bool:
    names = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return any(isinstance(name, ast.Name) and name.id == "jit" for name in names)


def steps_that_vary(source: str) -> list[int]:
    """Lines of compiled functions with a range whose step is neither a number nor a constant of the module."""
    functions = (one for one in ast.walk(parsed(source)) if isinstance(one, ast.FunctionDef) and _is_jit(one))
    calls = (call for function in functions for call in ast.walk(function) if isinstance(call, ast.Call))
    found = []
    for call in calls:
        if isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) == 3:
            step = call.args[2].operand if isinstance(call.args[2], ast.UnaryOp) else call.args[2]
            if not (isinstance(step, ast.Constant) or (isinstance(step, ast.Name) and step.id.isupper())):
                found.append(call.lineno)
    return found


@pytest.mark.parametrize("package", COMPILED)
def test_the_step_of_a_range_is_a_constant(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    found = {path: steps_that_vary(path.read_text(encoding="utf-8")) for path in files}
    assert {str(path.relative_to(ROOT)): lines for path, lines in found.items() if lines} == {}


def test_a_step_that_varies_is_seen() -> None:
    source = "@jit\ndef f(m, step):\n    for k in range(0, 16, step):\n        pass\n"
    assert steps_that_vary(source) == [3]
    assert steps_that_vary(source.replace("16, step", "16, -4")) == steps_that_vary(source.replace("@jit\n", "")) == []
