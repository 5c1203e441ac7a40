"""The page on the architecture shows the structure as it is."""

import pytest

from tests.structure.plan import IN_README, PAGE, README, drawn_anew


@pytest.mark.generated
def test_the_drawn_structure_is_the_code_s() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert drawn_anew(page) == page, "run .ci/generate, or python -m tests.structure.plan"


def test_the_readme_has_the_packages() -> None:
    page = README.read_text(encoding="utf-8")
    assert drawn_anew(page, IN_README) == page, "run python -m tests.structure.plan"
