"""Types: the checker is strict, installed packages have types, and the machine record's fields are known to it."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.structure.imports import ROOT, TOPS, parsed, walked

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# packages in which each parameter that takes the machine record says so; others may call another thing `m`
TYPED = ("memory", "spartan", "gpusim/model/core", "gpusim/results/live", "gpusim/results/timeline")
COMPILED = ("isa.", "memory.", "spartan.", "gpusim.model.core.", "gpusim.base.jit.")


def test_types_are_checked_strictly_but_for_arguments_of_compiled_code() -> None:
    mypy = SETTINGS["tool"]["mypy"]
    assert mypy["strict"]
    assert set(mypy["packages"]) == set(TOPS)
    for override in mypy["overrides"]:
        if not override.get("disallow_untyped_defs", True):
            assert all(module.startswith(COMPILED) for module in override["module"])


@pytest.mark.parametrize("top", TOPS)
def test_a_package_says_that_it_has_types(top: str) -> None:
    assert (ROOT / top / "py.typed").exists()
    assert top in SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_a_misspelt_field_of_the_machine_record_is_reported(tmp_path: Path) -> None:
    source = """
from gpusim.base.jit import Machine, jit

@jit
def right(m: Machine, w):
    return m.wheel.now + m.cu.wave[w].pc + m.l2.rows[3]

@jit
def wrong(m: Machine, w):
    return m.wheel.later + m.cu.wave[w].counter
"""
    (tmp_path / "unit.py").write_text(source)
    jit = ROOT / "gpusim/base/jit"  # nothing else is read: all of it would take ten seconds
    files = [str(path) for path in (jit / "__init__.py", jit / "machine.pyi", tmp_path / "unit.py")]
    command = [sys.executable, "-m", "mypy", "--follow-imports", "skip", *files]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in ran.stdout.splitlines() if "[attr-defined]" in line]
    assert [line.partition(" error: ")[2] for line in errors] == [
        '"WheelRecord" has no attribute "later"  [attr-defined]',
        '"CuWaveRecord" has no attribute "counter"  [attr-defined]',
    ], ran.stdout


@pytest.mark.parametrize("package", TYPED)
def test_the_machine_record_has_its_type_wherever_it_is_passed(package: str) -> None:
    untyped = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in walked(parsed(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for argument in node.args.args
        if argument.arg == "m" and (argument.annotation is None or ast.unparse(argument.annotation) != "Machine")
    ]
    assert untyped == []
