"""Does the gallery's page show commands that `gpusim report` has?"""

import pytest

from docs._site.gallery import FIGURES
from gpusim.cli.main import invoke

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.compiled_tier  # host code


def test_the_commands_are_options_of_report(tmp_path: object, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["report", "--help"]) == 0
    options = capfd.readouterr().out
    assert len({one.name for one in FIGURES}) == 14
    for one in FIGURES:
        assert all(word in options for word in one.command.split() if word.startswith("--"))
