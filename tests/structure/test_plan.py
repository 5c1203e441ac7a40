"""The page on the architecture shows the structure as it is."""

import re
from pathlib import Path

import pytest

from tests.structure.imports import ROOT
from tests.structure.plan import IN_README, PAGE, README, drawn_anew


@pytest.mark.generated
def test_the_drawn_structure_is_the_code_s() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert drawn_anew(page) == page, "run .ci/generate, or python -m tests.structure.plan"


def test_the_readme_has_the_packages() -> None:
    page = README.read_text(encoding="utf-8")
    assert drawn_anew(page, IN_README) == page, "run python -m tests.structure.plan"


def _defines(folder: Path, name: str) -> bool:
    """Tell whether a package has a module of the name, a name in a module, or a function or class anywhere."""
    module, _, part = name.partition(".")
    files = [*folder.glob(f"{module}.py"), *(folder / module).glob("*.py")]
    if files and not part:
        return True
    pattern = re.compile(rf"^ *(async )?(def|class) {part if files else module}\b", re.MULTILINE)
    return any(pattern.search(path.read_text(encoding="utf-8")) for path in files or folder.glob("*.py"))


def test_the_walks_name_packages_and_functions_that_are_there() -> None:
    walks = PAGE.read_text(encoding="utf-8").partition("## Three walks")[2].partition("\n## ")[0]
    steps = re.findall(r"^\| (`.*?) \| (.*?) \|", walks, re.MULTILINE)
    assert len(steps) > 20
    missing = [
        (packages, name)
        for packages, functions in steps
        for name in re.findall(r"`([\w.]+)`", functions)
        if not any(_defines(ROOT / each.replace(".", "/"), name) for each in re.findall(r"`([\w.]+)`", packages))
    ]
    assert missing == []
