"""The head of a package: each says in its docstring what it holds, and names nothing that is not there."""

import re

import pytest

from tests.structure.imports import ROOT, docstring, packages, sources

PACKAGES = sorted(packages())


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_holds(package: str) -> None:
    first = docstring(package).partition("\n")[0]
    assert first.endswith("."), f"{package}/__init__.py: the first line says in a sentence what the package holds"


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_map_names_is_there(package: str) -> None:
    folder = ROOT / package.replace(".", "/")
    modules = {module for module, _ in sources()}
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if path.name != "__init__.py")
    text += "".join((folder / "__init__.py").read_text(encoding="utf-8").rpartition('"""')[2:])
    missing = [
        name
        for name in re.findall(r"`(\w[\w./]*)`", docstring(package))
        if name not in modules and f"{package}.{name}" not in modules and not re.search(rf"\b{re.escape(name)}\b", text)
        if not (folder / name).exists() and not (ROOT / name).exists()
    ]
    assert missing == []
