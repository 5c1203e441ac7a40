"""CI lists the tests that no run has run, by reason."""

import json
import subprocess
import sys
from pathlib import Path

from tests.structure.imports import ROOT
from tests.support.skips import lines, never_run

TESTS = """
import os
import pytest

def test_that_runs(): pass

@pytest.mark.skipif(os.environ.get("TIER") == "plain", reason="nothing is compiled")
def test_of_one_tier(): pass

@pytest.mark.parametrize("number", [1, 2])
def test_without_its_tool(number): pytest.skip("no browser")
"""


def test_what_one_run_skips_and_the_other_runs_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.importorskip('no_such_package')\n")
    runs = []
    for tier in ("plain", "compiled"):
        file = tmp_path / f"{tier}.json"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.skips", "--skips", str(file)]
        environment = {"TIER": tier, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        subprocess.run([*command, "-p", "no:cacheprovider", "."], cwd=tmp_path, env=environment, check=True)
        runs.append(json.loads(file.read_text()))
    assert "nothing is compiled" in runs[0]["skipped"].values()
    printed = lines(never_run(runs))
    assert printed[:2] == ["2 skipped: no browser", "    test_it.py: 2"]
    assert printed[2].startswith("1 skipped: could not import 'no_such_package'")
    assert printed[3:] == ["    test_whole.py: the file"]


def test_both_runs_of_the_test_command_are_listed() -> None:
    command = (ROOT / ".ci/test").read_text()
    assert command.count("python -m pytest") == command.count('-p tests.support.skips --skips "$skips/$1.json"') == 1
    assert 'python -m tests.support.skips "$skips"/*.json' in command
